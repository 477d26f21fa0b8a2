"""A plan through rooms as a picture: the whole building, and every activity that the plan runs.

On the left the rooms stand where they stand, if that is known; every cell carries the arrow of the activity
that passes it most often. On the right each activity has a panel of its own, the likeliest first. Hazards are
hatched, the start is a circle and the goal a star; arrows and shading fade with the expected visits, so that
the picture can be read without colour.

Needs matplotlib (``pip install 'hcssp[plot]'``), which is imported when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.grid import GridWorld
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.cell_visits import visited_cells
from hcssp.reports.figures import rounded
from hcssp.reports.measures import Measure
from hcssp.reports.pictures import literally, new_figure
from hcssp.reports.placement import Panel, place, sheet_size
from hcssp.reports.procedure_graph import shortened
from hcssp.reports.room_drawing import Marks, draw_legend, draw_marks, draw_passage, draw_room, finish
from hcssp.reports.words import quality_of


@dataclass(frozen=True, eq=False)
class Passage:
    """An activity that a plan runs.

    Attributes
    ----------
    name, room, grid
        The activity, its room, and its grid world.
    executions, each
        How often it is executed, and what one execution costs, by the cost's name; both in expectation.
    cells
        The column and row of every cell that is visited.
    headings
        The direction taken there, as a position in :data:`hcssp.cssp.grid.DIRECTIONS`.
    visits
        The expected number of visits to it, over all executions.
    """

    name: str
    room: str
    grid: GridWorld
    executions: float
    each: Mapping[str, float]
    cells: IntArray
    headings: IntArray
    visits: FloatArray

    def where_busiest(self, others: Sequence[Passage]) -> Passage:
        """The cells that no other passage of the same room visits more often."""
        visits = np.zeros((self.grid.height + 2, self.grid.width + 2))
        for other in others:
            columns, rows = other.cells.T
            np.maximum.at(visits, (rows, columns), other.visits)
        columns, rows = self.cells.T
        kept = self.visits >= visits[rows, columns]
        return replace(self, cells=self.cells[kept], headings=self.headings[kept], visits=self.visits[kept])


def passages(plan: ProcedurePlan) -> list[Passage]:
    """The activities on grids that the plan runs, in the problem's order."""
    problem, policy, evaluation = plan.problem, plan.policy, plan.costs
    flattening, aim = problem.flattening, Aim.of(problem)
    found = []
    for index, activity in enumerate(problem.activities):
        share = evaluation.activities[index]
        grid = problem.world(index)
        if grid is None or not share.expected_executions > 0.0:
            continue
        visits = np.zeros(activity.cssp.num_states)
        first, last = flattening.state_offset[index : index + 2]
        visits[~activity.cssp.goals] = evaluation.visits[first:last]
        cells, headings, often = visited_cells(grid, activity.cssp, policy.activities[index], visits)
        found.append(
            Passage(
                name=activity.name,
                room=activity.room,
                grid=grid,
                executions=share.expected_executions,
                each={
                    name: used / share.expected_executions
                    for name, used in ((aim.name, aim.share(share.cost, share.usage)), *share.usage.items())
                    if used is not None and name in aim.names
                },
                cells=cells,
                headings=headings,
                visits=often,
            )
        )
    return found


_COLUMNS = 3
_PANEL = 3.4
"""Inches that a panel is wide and high, its title included."""
_LETTERS = 44
"""Letters that fit over a panel."""
_BETWEEN = "   ·   "
_MOST_PANELS = 47
"""Activities that have a panel of their own, the likeliest; more are counted."""


@literally
def draw_rooms(plan: Plan) -> Any:
    """Draw a plan through rooms.

    Parameters
    ----------
    plan
        What is drawn; it must have a policy.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    NoSolution
        If the plan has no policy.
    """
    solved = plan.as_procedure()
    problem = solved.problem
    executed = passages(solved)
    # The likeliest first; among equals the order of the procedure.
    panels = sorted(executed, key=lambda passage: -passage.executions)[:_MOST_PANELS]
    columns = max(1, min(_COLUMNS, len(panels)))
    # One place more than panels: the legend has the last one.
    rows = max(2, ceil((len(panels) + 1) / columns))
    on_map = [panel for panel in place(problem) if panel.on_map]
    height, width = rows * _PANEL, 0.0
    if on_map:
        across, down = sheet_size(on_map)
        width = min(height * across / down, 3.5 * columns * _PANEL)
    figure = new_figure(width + columns * _PANEL, height + 0.8)
    # A letter of this size is some 0.13 inches wide.
    figure.suptitle(_title(solved, int(figure.get_size_inches()[0] / 0.13)), fontsize=15, fontweight="bold")
    parts = figure
    if on_map:
        whole, parts = figure.subfigures(1, 2, width_ratios=(width, columns * _PANEL))
        _draw_map(whole.add_subplot(), solved, on_map, executed)
    places = parts.subplots(rows, columns, squeeze=False).ravel()
    for axes in places:
        axes.set_axis_off()
    for axes, passage in zip(places, panels, strict=False):
        _draw_panel(axes, passage)
    draw_legend(places[-1], left_out=len(executed) - len(panels))
    return figure


def _draw_map(axes: Any, plan: ProcedurePlan, panels: list[Panel], executed: list[Passage]) -> None:
    """The map of the whole building."""
    problem = plan.problem
    corners = {panel.title: panel.corner for panel in panels}
    for panel in panels:
        worlds = [world for index in panel.activities if (world := problem.world(index)) is not None]
        openings = {cell for world in worlds for cell in (*world.starts, *world.goals)}
        draw_room(axes, worlds[0], panel.corner, openings, title=panel.title)
    shown = [passage for passage in executed if passage.room in corners]
    most = max((float(passage.visits.max()) for passage in shown), default=1.0)
    for passage in shown:
        others = [other for other in shown if other.room == passage.room and other is not passage]
        draw_passage(axes, passage.where_busiest(others), corners[passage.room], most)
    forks = _forks(plan)
    for panel in panels:
        for index in panel.activities:
            world = problem.world(index)
            if world is None or not plan.costs.activities[index].expected_executions > 0.0:
                continue
            if problem.choices[int(problem.activity_choice[index])].event == problem.start:
                for cell in world.starts:
                    draw_marks(axes, panel.corner, Marks(start=cell))
            for cell in world.goals:
                event = problem.activity_outcome[index].event_after(cell)
                if event == problem.end:
                    draw_marks(axes, panel.corner, Marks(goal=cell))
                elif event in forks:
                    draw_marks(axes, panel.corner, Marks(door=(cell, problem.events[event])))
    axes.set_title("The building: where the plan goes, and how often", fontsize=12)
    finish(axes)


def _forks(plan: ProcedurePlan) -> set[int]:
    """The events where the plan makes a choice of which chance decides the outcome."""
    return {
        event
        for (event, _), choice in plan.policy.choices.items()
        if len(plan.problem.choices[choice].outcomes) > 1
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
    each = [f"{shortened(name, 24)} {rounded(value, 3)}" for name, value in passage.each.items()]
    costs = "\n".join(in_lines([f"each: {each[0]}", *each[1:]], _LETTERS, between=", "))
    times = "once" if passage.executions == 1.0 else f"{passage.executions:.4g} times"
    room = "" if passage.room == passage.name else f" (room {passage.room})"
    title = shortened(f"{passage.name}{room}", _LETTERS)
    axes.set_title(f"{title}\nexecuted {times}\n{costs}", fontsize=9)
    finish(axes)


def _title(plan: ProcedurePlan, letters: int) -> str:
    """The figures that matter, in lines of so many letters at most."""
    problem, costs = plan.problem, plan.costs
    aim = Aim.of(problem)
    figures = [f"expected {called(problem, aim.name)} {rounded(aim.total(costs.costs))}"]
    for constraint in problem.constraints:
        if constraint.name not in aim.others:
            continue
        cost = costs.cost(constraint.name)
        told = Measure.of(problem, constraint.name)
        expected = f"{told.expected} {told.used(cost, constraint.at_most)}"
        if isfinite(constraint.at_most):
            expected += f" of at most {told.given(constraint.at_most)}"
        figures.append(expected)
    figures.append(quality_of(plan))
    return "\n".join(in_lines(list(filter(None, figures)), max(letters, 30), between=_BETWEEN))


def in_lines(parts: Sequence[str], letters: int, *, between: str) -> list[str]:
    """Texts one after the other, in lines of so many letters at most.

    >>> in_lines(["time 3", "damage 4", "smoke 0.123456789"], 16, between=", ")
    ['time 3, damage 4', 'smoke 0.1234567…']
    """
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{between}{part}" if lines else part
        if lines and len(longer) <= letters:
            lines[-1] = longer
        else:
            lines.append(shortened(part, letters))
    return lines
