"""The signs of a map: arrows, a circle for a start, a star for a goal, and what they and the shades mean."""

from __future__ import annotations

from itertools import pairwise
from math import cos, pi, sin

import numpy as np

from hcssp.reports.notebook.markup import Markup, element, number
from hcssp.reports.notebook.svg import Point, filled, hatched, picture

BANDS = (1.0, 0.1, 0.01, 0.001, 1e-4)
"""Expected visits from which on a cell has the first shade, the second, ...; fewer are not drawn."""

_BAND_NAMES = ("1 visit or more", "0.1 to 1", "0.01 to 0.1", "0.001 to 0.01", "less")
_SIZES = (1.0, 0.92, 0.8, 0.68, 0.56)
_ARROW = ((0.0, -0.42), (0.3, 0.36), (0.0, 0.18), (-0.3, 0.36))
"""A slender arrow head towards the north."""


def arrow(middle: Point, heading: int, band: int, size: float) -> str:
    """The path of an arrow.

    Parameters
    ----------
    middle
        Where it lies.
    heading
        A position in :data:`hcssp.cssp.grid.DIRECTIONS`.
    band
        That of the expected visits, as a position in :data:`BANDS`.
    size
        How large the arrow of the first band is.
    """
    points = [_turned((x * size * _SIZES[band], y * size * _SIZES[band]), heading) for x, y in _ARROW]
    steps = (f"{number(b[0] - a[0])} {number(b[1] - a[1])}" for a, b in pairwise(points))
    return f"M{number(middle[0] + points[0][0])} {number(middle[1] + points[0][1])}l{' '.join(steps)}z"


def _turned(point: Point, quarters: int) -> Point:
    x, y = point
    return ((x, y), (-y, x), (-x, -y), (y, -x))[quarters]


def circle(x: float, y: float, radius: float) -> Markup:
    """The sign of a start."""
    return element("circle", {"class": "sign", "cx": x, "cy": y, "r": radius, "stroke-width": radius / 4})


def star(x: float, y: float, radius: float) -> Markup:
    """The sign of a goal."""
    points = (
        (x + reach * sin(at * pi / 5), y - reach * cos(at * pi / 5))
        for at in range(10)
        for reach in [radius if at % 2 == 0 else 0.45 * radius]
    )
    drawn = " ".join(f"{number(each[0])},{number(each[1])}" for each in points)
    return element("polygon", {"class": "sign goal", "points": drawn, "stroke-width": radius / 6})


def legend(with_visits: bool) -> Markup:
    """What the signs mean, and the shades where there are any."""
    cells = np.ones((1, 1), dtype=np.bool_)
    square = filled(cells, 0, 0)
    entries: list[tuple[Markup, str]] = []
    for band, name in enumerate(_BAND_NAMES if with_visits else ()):
        pointer = element("path", {"class": f"arrow-{band}", "d": arrow((0.5, 0.5), 0, band, 0.9)})
        shade = element("path", {"class": f"heat heat-{band}", "d": square})
        entries.append((element("g", {"class": "arrows"}, shade, pointer), name))
    stroke = element("path", {"class": "hatch", "d": hatched(cells, 0, 0)})
    entries.append((element("g", {}, element("path", {"class": "hazard", "d": square}), stroke), "hazard"))
    entries.append((circle(0.5, 0.5, 0.32), "start"))
    entries.append((star(0.5, 0.5, 0.5), "goal"))
    return element(
        "ul", {"class": "legend"},
        *(
            element("li", {}, picture((0.0, 0.0, 1.0, 1.0), (16.0, 16.0), name, drawn), name)
            for drawn, name in entries
        ),
    )  # fmt: skip
