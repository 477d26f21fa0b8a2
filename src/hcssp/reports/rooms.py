"""A plan through rooms as a picture: the whole building, and every activity that the plan runs.

On the left the rooms stand where they stand, if that is known; every cell carries the arrow of the activity
that passes it most often. On the right each activity has a panel of its own, the likeliest first. Hazards are
hatched, the start is a circle and the goal a star; arrows and shading fade with the expected visits, so that
the picture can be read without colour.

Needs matplotlib (``pip install 'hcssp[plot]'``), which is imported when a picture is drawn.
"""

from __future__ import annotations

from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.reports.figures import given
from hcssp.reports.passages import Passage, passages
from hcssp.reports.pictures import new_figure, picture_formats, save_picture
from hcssp.reports.placement import Panel, place, sheet_size
from hcssp.reports.room_drawing import Marks, draw_legend, draw_marks, draw_passage, draw_room, finish
from hcssp.reports.scene import Scene

if TYPE_CHECKING:
    from hcssp.contract.result import Result
    from hcssp.procedure import HCSSP

__all__ = ["draw_rooms", "picture_formats", "save_rooms"]

_COLUMNS = 3
_PANEL = 3.4
"""Inches that a panel is wide and high, its title included."""
_NEGLIGIBLE = 5e-4


def save_rooms(path: Path, scene: Scene, result: Result) -> None:
    """Draw the plan of `result` and write it to `path`; its suffix (.png, .svg, .pdf) says how."""
    save_picture(path, draw_rooms(scene, result))


def draw_rooms(scene: Scene, result: Result) -> Any:
    """Draw a plan through rooms.

    Parameters
    ----------
    scene
        The problem that was solved, and where it takes place.
    result
        The answer.

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
    executed = passages(scene, result.policy, result.evaluation)
    # The likeliest first; among equals the order of the procedure.
    panels = sorted(executed, key=lambda passage: -passage.executions)
    columns = max(1, min(_COLUMNS, len(panels)))
    # One place more than panels: the legend has the last one.
    rows = max(2, ceil((len(panels) + 1) / columns))
    on_map = [panel for panel in place(scene) if panel.on_map]
    height, width = rows * _PANEL, 0.0
    if on_map:
        across, down = sheet_size(on_map)
        width = min(height * across / down, 3.5 * columns * _PANEL)
    figure = new_figure(width + columns * _PANEL, height + 0.8)
    figure.suptitle(_title(scene.problem, result), fontsize=15, fontweight="bold")
    parts = figure
    if on_map:
        whole, parts = figure.subfigures(1, 2, width_ratios=(width, columns * _PANEL))
        _draw_map(whole.add_subplot(), scene, on_map, executed, result)
    places = parts.subplots(rows, columns, squeeze=False).ravel()
    for axes in places:
        axes.set_axis_off()
    for axes, passage in zip(places, panels, strict=False):
        _draw_panel(axes, passage)
    draw_legend(places[-1])
    return figure


def _draw_map(axes: Any, scene: Scene, panels: list[Panel], executed: list[Passage], result: Result) -> None:
    """The map of the whole building."""
    problem = scene.problem
    corners = {panel.title: panel.corner for panel in panels}
    for panel in panels:
        worlds = [world for index in panel.activities if (world := scene.world(index)) is not None]
        openings = {cell for world in worlds for cell in (*world.starts, *world.goals)}
        draw_room(axes, worlds[0], panel.corner, openings, title=panel.title)
    shown = [passage for passage in executed if passage.room in corners]
    most = max((float(passage.visits.max()) for passage in shown), default=1.0)
    for passage in shown:
        others = [other for other in shown if other.room == passage.room and other is not passage]
        draw_passage(axes, passage.where_busiest(others), corners[passage.room], most)
    forks = _forks(problem, result)
    for panel in panels:
        for index in panel.activities:
            world = scene.world(index)
            if world is None or not result.evaluation.activities[index].expected_executions > 0.0:
                continue
            if problem.choices[int(problem.activity_choice[index])].event == problem.start:
                for cell in world.starts:
                    draw_marks(axes, panel.corner, Marks(start=cell))
            event = problem.activity_outcome[index].event
            for cell in world.goals:
                if event == problem.end:
                    draw_marks(axes, panel.corner, Marks(goal=cell))
                elif event in forks:
                    draw_marks(axes, panel.corner, Marks(door=(cell, problem.events[event])))
    axes.set_title("The building: where the plan goes, and how often", fontsize=12)
    finish(axes)


def _forks(problem: HCSSP, result: Result) -> set[int]:
    """The events where the plan makes a choice of which chance decides the outcome."""
    return {
        event
        for (event, _), choice in result.policy.choices.items()
        if len(problem.choices[choice].outcomes) > 1
    }


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
    room = "" if passage.room == passage.name else f" (room {passage.room})"
    axes.set_title(f"{passage.name}{room}\nexecuted {times}\neach: {each}", fontsize=9)
    finish(axes)


def _rounded(value: float) -> str:
    """Three decimals; a trace of something is neither nothing nor a power of ten."""
    return "below 0.001" if 0.0 < value < _NEGLIGIBLE else f"{value:.3f}"


def _title(problem: HCSSP, result: Result) -> str:
    figures = [f"expected {problem.primary_name} {result.upper_bound:.4f}"]
    for constraint in problem.constraints:
        expected = f"expected {constraint.name} {result.evaluation.cost(constraint.name):.4f}"
        if isfinite(constraint.at_most):
            expected += f" of at most {given(constraint.at_most)}"
        figures.append(expected)
    if result.status == "optimal":
        figures.append("proven optimal")
    elif isfinite(result.gap):
        figures.append(f"proven gap {100 * result.gap:.2g}%")
    return "   ·   ".join(figures)
