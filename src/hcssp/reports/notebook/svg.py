"""What drawings are made of: the picture, paths along the cells of a grid, and charts with their axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np

from hcssp.cssp.model import BoolArray
from hcssp.reports.notebook.markup import Markup, element, number

Point = tuple[float, float]


def picture(box: tuple[float, float, float, float], pixels: Point, label: str, *children: object) -> Markup:
    """A picture that shrinks with the page.

    Parameters
    ----------
    box
        The left, top, width and height of what is shown, in the drawing's own units.
    pixels
        How wide and high it is where there is room.
    label
        What it shows, for those who cannot see it.
    children
        Its elements.
    """
    attributes = {
        "viewBox": " ".join(number(each) for each in box),
        "width": round(pixels[0]),
        "height": round(pixels[1]),
        "role": "img",
        "aria-label": label,
    }
    return element("svg", attributes, *children)


def polyline(points: Iterable[Point]) -> str:
    """The path through `points`.

    >>> polyline([(0.0, 0.0), (1.0, 2.5)])
    'M0 0L1 2.5'
    """
    return "".join(f"{'L' if at else 'M'}{number(x)} {number(y)}" for at, (x, y) in enumerate(points))


def filled(mask: BoolArray, left: int, top: int, block: int = 1) -> str:
    """The path around the cells of a grid where `mask` is true.

    >>> filled(np.array([[True, True, False], [False, False, True]]), 0, 10)
    'M0 10h2v1h-2zM2 11h1v1h-1z'

    Parameters
    ----------
    mask
        ``mask[row, column]``.
    left, top
        Where the first cell lies.
    block
        How wide and high a cell is.
    """
    return "".join(
        f"M{left + block * first} {top + block * row}h{block * (last - first)}v{block}"
        f"h{-block * (last - first)}z"
        for row, first, last in _runs(mask)
    )


def hatched(mask: BoolArray, left: int, top: int, block: int = 1) -> str:
    """Strokes across the cells of a grid where `mask` is true, from below left to above right.

    >>> hatched(np.array([[False, True], [True, False]]), 0, 0)
    'M0 2l2-2'
    """
    height, width = mask.shape
    # Cells of one diagonal become a row, so that its strokes are drawn in one.
    slanted = np.zeros((height + width - 1, width), dtype=np.bool_)
    rows, columns = np.nonzero(mask)
    slanted[rows + columns, columns] = True
    return "".join(
        f"M{left + block * first} {top + block * (diagonal - first + 1)}"
        f"l{block * (last - first)}{-block * (last - first)}"
        for diagonal, first, last in _runs(slanted)
    )


def _runs(mask: BoolArray) -> list[tuple[int, int, int]]:
    """Each row's stretches of true cells: the row, the first column, and the one after the last."""
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = mask
    change = np.diff(padded, axis=1)
    rows, first = np.nonzero(change == 1)
    _, last = np.nonzero(change == -1)
    return list(zip(rows.tolist(), first.tolist(), last.tolist(), strict=True))


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two others, about `count` of them.

    >>> ticks(0.0, 10.0, 5), ticks(144.70, 144.98, 4)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [144.7, 144.8, 144.9])
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(1, count)
    power = 10.0 ** floor(log10(rough))
    step = next(each * power for each in (1.0, 2.0, 2.5, 5.0, 10.0) if each * power >= 0.999 * rough)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{at * step:.12g}") for at in range(first, last + 1)]


@dataclass(frozen=True)
class Chart:
    """A chart with axes on the left and below; lengths are pixels.

    Attributes
    ----------
    across, along
        The values at the left and right edge, and at the lower and upper one.
    titles
        Of the horizontal and of the vertical axis.
    height, width
        Of the whole.
    """

    across: tuple[float, float]
    along: tuple[float, float]
    titles: tuple[str, str]
    height: float = 260.0
    width: float = 720.0

    LEFT, RIGHT, TOP, BELOW = 70.0, 16.0, 24.0, 42.0

    @property
    def floor(self) -> float:
        """Where the horizontal axis lies."""
        return self.height - self.BELOW

    def place(self, x: float, y: float) -> Point:
        """Where a pair of values lies; values off the chart lie on its edge."""
        return (
            _scaled(x, self.across, self.LEFT, self.width - self.RIGHT),
            _scaled(y, self.along, self.floor, self.TOP),
        )

    def line(self, points: Sequence[Point], kind: str) -> Markup:
        """A line through pairs of values."""
        return element("path", {"class": kind, "d": polyline(self.place(*point) for point in points)})

    def area(self, points: Sequence[Point], kind: str) -> Markup:
        """What a line through pairs of values encloses."""
        drawn = polyline(self.place(*point) for point in points) + "z"
        return element("path", {"class": kind, "d": drawn})

    def draw(self, label: str, *children: object) -> Markup:
        """The chart with what is drawn in it."""
        right = self.width - self.RIGHT
        parts: list[object] = []
        for tick in ticks(*self.along, 4):
            _, y = self.place(self.across[0], tick)
            parts.append(element("line", {"class": "grid", "x1": self.LEFT, "x2": right, "y1": y, "y2": y}))
            parts.append(
                element("text", {"class": "end faint", "x": self.LEFT - 7, "y": y + 4}, f"{tick:.9g}")
            )
        for tick in ticks(*self.across, 7):
            x, _ = self.place(tick, self.along[0])
            below = {"x1": x, "x2": x, "y1": self.floor, "y2": self.floor + 5}
            parts.append(element("line", {"class": "axis", **below}))
            parts.append(
                element("text", {"class": "middle faint", "x": x, "y": self.floor + 18}, f"{tick:.9g}")
            )
        axis = {"x1": self.LEFT, "x2": right, "y1": self.floor, "y2": self.floor}
        parts += [
            *children,
            element("line", {"class": "axis", **axis}),
            element("text", {"class": "end", "x": right, "y": self.height - 6}, self.titles[0]),
            element("text", {"x": 2, "y": 13}, self.titles[1]),
        ]
        return picture((0.0, 0.0, self.width, self.height), (self.width, self.height), label, *parts)


def _scaled(value: float, values: tuple[float, float], first: float, last: float) -> float:
    low, high = values
    share = (value - low) / (high - low) if high > low else 0.5
    return first + min(1.0, max(0.0, share)) * (last - first)
