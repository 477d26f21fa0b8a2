"""A picture of a sweep: a line for each combination of what varies besides, or a heat map of two axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.reports.figures import rounded
from hcssp.reports.pictures import INK, WARNING, literally, new_figure, save_picture, tidy
from hcssp.reports.sweep_tables import aim_of, axis_name, value_on
from hcssp.solving.sweep_grid import SweepAxis
from hcssp.solving.sweep_record import Sweep, SweepPoint

_MOST_LINES = 8
"""More lines cannot be told apart; the picture shows the first, the last and some between."""

_MARKS = "osD^vPX*"
_DASHES = ("-", "--", "-.", ":")
_FEWEST_FOR_A_MAP = 3
"""A heat map needs so many values on both axes; with fewer, lines say more."""


def save_sweep_picture(sweep: Sweep, path: str | Path) -> None:
    """Draw a sweep to a file; its suffix (.png, .svg, .pdf) says how.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    CannotWrite
        If the file cannot be written.
    """
    save_picture(Path(path), draw_sweep(sweep))


@literally
def draw_sweep(sweep: Sweep) -> Any:
    """Draw the least expected cost over what varies.

    Returns
    -------
    matplotlib.figure.Figure
        A heat map if two axes vary, each with three values or more; else lines over the longest axis.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    varied = sorted((axis for axis in sweep.axes if len(axis.values) > 1), key=lambda a: -len(a.values))
    primary = aim_of(sweep)
    if len(varied) == 2 and len(varied[1].values) >= _FEWEST_FOR_A_MAP:
        return _heat_map(sweep, varied[0], varied[1], primary)
    return _lines(sweep, varied, primary)


def _title(sweep: Sweep) -> str:
    claimed = sum(point.is_claimed for point in sweep.points)
    claims = f"\n{claimed} of {len(sweep.points)} points are claims, not checked" if claimed else ""
    return f"{sweep.problem}: {aim_of(sweep)}{claims}"


def _heat_map(sweep: Sweep, across: SweepAxis, down: SweepAxis, primary: str) -> Any:
    figure = new_figure(2.6 + 0.85 * len(across.values), 2.0 + 0.6 * len(down.values))
    axes = figure.add_subplot()
    grid = np.full((len(down.values), len(across.values)), nan)
    for point in sweep.points:
        row, column = (axis.numbers.index(point.at(axis)) for axis in (down, across))
        grid[row, column] = point.figure if point.found else nan
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap="Blues")
    axes.set_facecolor("0.93")
    axes.set_xticks(range(len(across.values)), [value_on(sweep, across, value) for value in across.numbers])
    axes.set_yticks(range(len(down.values)), [value_on(sweep, down, value) for value in down.numbers])
    axes.set_xlabel(axis_name(sweep, across))
    axes.set_ylabel(axis_name(sweep, down))
    known = grid[np.isfinite(grid)]
    middle = (known.min() + known.max()) / 2 if len(known) else 0.0
    for row, column in np.ndindex(*grid.shape):
        value = float(grid[row, column])
        text = rounded(value, 2) if isfinite(value) else "no plan"
        colour = WARNING if not isfinite(value) else "white" if value > middle else INK
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    figure.colorbar(image, ax=axes, label=primary)
    axes.set_title(_title(sweep), loc="left", fontsize=11)
    return figure


def _lines(sweep: Sweep, varied: list[SweepAxis], primary: str) -> Any:
    figure = new_figure(8.0, 4.6)
    axes = figure.add_subplot()
    tidy(axes)
    axes.set_ylabel(primary)
    axes.set_title(_title(sweep), loc="left", fontsize=11)
    if not varied:
        axes.text(0.5, 0.5, "nothing varies", transform=axes.transAxes, ha="center")
        return figure
    along, others = varied[0], varied[1:]
    groups: dict[tuple[float, ...], list[SweepPoint]] = {}
    for point in sweep.points:
        groups.setdefault(tuple(point.at(axis) for axis in others), []).append(point)
    shown = list(groups.items())
    if len(shown) > _MOST_LINES:
        picked = np.linspace(0, len(shown) - 1, _MOST_LINES).round().astype(int)
        shown = [shown[index] for index in picked.tolist()]
    for number, (where, points) in enumerate(shown):
        label = ", ".join(
            f"{axis_name(sweep, axis)} {value_on(sweep, axis, value)}"
            for axis, value in zip(others, where, strict=True)
        )
        _line(axes, along, points, label, number)
    axes.set_xlabel(axis_name(sweep, along))
    if others:
        axes.legend(frameon=False, fontsize=9)
    return figure


def _line(axes: Any, along: SweepAxis, points: list[SweepPoint], label: str, number: int) -> None:
    """The plans that were found, with whiskers to what is proven."""
    known = [point for point in points if point.found and isfinite(point.at(along))]
    if not known:
        return
    places = [point.at(along) for point in known]
    figures = np.array([point.figure for point in known])
    limits = np.array(
        [point.limit if point.reward_at_most is not None else max(point.limit, 0.0) for point in known]
    )
    proven = [np.maximum(figures - limits, 0.0), np.maximum(limits - figures, 0.0)]
    style: Mapping[str, Any] = {
        "marker": _MARKS[number % len(_MARKS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "markersize": 5,
        "capsize": 3,
    }
    axes.errorbar(places, figures, yerr=proven, label=label or None, **style)
