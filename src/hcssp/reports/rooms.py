"""A plan through a building as a picture: the whole building, and every activity that the plan runs.

On the left the rooms stand where they stand; every cell carries the arrow of the activity that passes it
most often. On the right each activity has a panel of its own, the likeliest first. Hazards are hatched,
the start is a circle and the goal a star; arrows and shading fade with the expected visits, so that the
picture can be read without colour.

Needs matplotlib (``pip install 'hcssp[plot]'``), which is imported when a picture is drawn.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.errors import MissingDependency
from hcssp.reports.passages import Passage, passages
from hcssp.reports.room_drawing import Marks, draw_legend, draw_marks, draw_passage, draw_room, finish

if TYPE_CHECKING:
    from hcssp.hierarchy import HCSSP
    from hcssp.scenarios.building import Building
    from hcssp.search.result import Result

_COLUMNS = 3
_PANEL = 3.4
"""Inches that a panel is wide and high, its title included."""
_NEGLIGIBLE = 5e-4


def require_matplotlib() -> None:
    """Import matplotlib.

    Raises
    ------
    MissingDependency
        If it is not installed; the message says how to.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "pictures need matplotlib, which is not installed; pip install 'hcssp[plot]'"
        ) from error


def picture_formats() -> list[str]:
    """The suffixes of the files that a picture can be written to, without their dots.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return sorted(FigureCanvasAgg.get_supported_filetypes())


def save_rooms(path: Path, building: Building, problem: HCSSP, result: Result) -> None:
    """Draw the plan of `result` and write it to `path`; its suffix (.png, .svg, .pdf) says how."""
    draw_rooms(building, problem, result).savefig(path, dpi=140)


def draw_rooms(building: Building, problem: HCSSP, result: Result) -> Any:
    """Draw a plan through a building.

    Parameters
    ----------
    building
        The rooms, and the crossings that are the problem's activities.
    problem, result
        What was solved, and the answer.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    NoSolution
        If the result has no plan.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    executed = passages(building, problem, result.policy, result.evaluation)
    # The likeliest first; among equals the order of the procedure.
    panels = sorted(executed, key=lambda passage: -passage.executions)
    columns = min(_COLUMNS, len(panels))
    # One place more than panels: the legend has the last one.
    rows = max(2, ceil((len(panels) + 1) / columns))
    corners = building.corners()
    across = max(corners[name][0] + room.width + 2 for name, room in building.rooms.items())
    down = max(corners[name][1] + room.height + 2 for name, room in building.rooms.items())
    height = rows * _PANEL
    width = min(height * across / down, 3.5 * columns * _PANEL)
    figure = Figure(figsize=(width + columns * _PANEL, height + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_title(problem, result), fontsize=15, fontweight="bold")
    subfigures: Any = figure.subfigures(1, 2, width_ratios=(width, columns * _PANEL))
    whole, parts = subfigures
    _draw_building(whole.add_subplot(), building, problem, executed)
    places = parts.subplots(rows, columns, squeeze=False).ravel()
    for axes in places:
        axes.set_axis_off()
    for axes, passage in zip(places, panels, strict=False):
        _draw_panel(axes, passage)
    draw_legend(places[-1])
    return figure


def _draw_building(axes: Any, building: Building, problem: HCSSP, executed: list[Passage]) -> None:
    """The map of the whole building."""
    corners = building.corners()
    grids = building.grids()
    for name, corner in corners.items():
        crossings = [crossing for crossing in building.crossings if crossing.room == name]
        openings = {cell for c in crossings for cell in (c.start, c.goal)}
        draw_room(axes, grids[crossings[0].name], corner, openings, title=name)
    most = max(passage.visits.max() for passage in executed)
    for passage in executed:
        others = [other for other in executed if other.room == passage.room and other is not passage]
        draw_passage(axes, passage.where_busiest(others), corners[passage.room], most)
    start, end = problem.events[problem.start], problem.events[problem.end]
    for crossing in building.crossings:
        corner = corners[crossing.room]
        if crossing.leaves == start:
            draw_marks(axes, corner, Marks(start=crossing.start))
        if crossing.reaches == end:
            draw_marks(axes, corner, Marks(goal=crossing.goal))
        for door in building.doors:
            if crossing.reaches == door.at:
                draw_marks(axes, corner, Marks(door=(crossing.goal, door.name)))
    axes.set_title("The building: where the plan goes, and how often", fontsize=12)
    finish(axes)


def _draw_panel(axes: Any, passage: Passage) -> None:
    """One activity: its room and its own arrows."""
    grid = passage.grid
    draw_room(axes, grid, (0, 0), {*grid.starts, *grid.goals})
    draw_passage(axes, passage, (0, 0), float(passage.visits.max()))
    for cell in grid.starts:
        draw_marks(axes, (0, 0), Marks(start=cell))
    for cell in grid.goals:
        draw_marks(axes, (0, 0), Marks(goal=cell))
    each = ", ".join(f"{name} {_rounded(value)}" for name, value in passage.each.items())
    times = "once" if passage.executions == 1.0 else f"{passage.executions:.4g} times"
    axes.set_title(f"{passage.name} (room {passage.room})\nexecuted {times}\neach: {each}", fontsize=9)
    finish(axes)


def _rounded(value: float) -> str:
    """Three decimals; a trace of something is neither nothing nor a power of ten."""
    return "below 0.001" if 0.0 < value < _NEGLIGIBLE else f"{value:.3f}"


def _title(problem: HCSSP, result: Result) -> str:
    figures = [f"expected {problem.primary_name} {result.upper_bound:.4f}"]
    for constraint in problem.constraints:
        expected = result.evaluation.cost(constraint.name)
        figures.append(f"expected {constraint.name} {expected:.4f} of at most {constraint.at_most:g}")
    proven = "proven optimal" if result.status == "optimal" else f"proven gap {100 * result.gap:.2g}%"
    return "   ·   ".join([*figures, proven])
