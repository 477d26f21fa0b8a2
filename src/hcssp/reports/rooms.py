"""A map of rooms as a picture by matplotlib, perhaps with a plan through them.

The rooms stand in their positions, or side by side where these are unknown; every cell carries the arrow of
the activity that passes it most often. Hazards are hatched, the start is a circle and the goal a star; arrows
and shading fade with the expected visits, so that the picture can be read without colour.

A cell ``(column, row)`` lies at that point of the axes, moved by the room's corner.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.grid import DIRECTIONS, Cell, GridWorld, PlacedGrid
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.product import Level, base_of
from hcssp.procedure import HCSSP
from hcssp.reports.charts import is_axes, literally, one_panel
from hcssp.reports.plan_text import by_state, in_brief
from hcssp.reports.procedure_graph import Panel, place, sheet_size, shortened

CellVisits = tuple[IntArray, IntArray, FloatArray]
"""Cells, the directions taken there (positions in `DIRECTIONS`), and the expected visits."""


def visited_cells(world: GridWorld, cssp: CSSP, rows: IntArray, visits: FloatArray) -> CellVisits:
    """The cells that a policy visits.

    Where several states lie in a cell, such as one for each level of a battery, their visits are added up,
    and the direction is that of the state which is visited most.

    Parameters
    ----------
    world, cssp
        The grid, and the problem made from it.
    rows
        The policy: a row of `cssp` for each state.
    visits
        The expected visits to each state.
    """
    acting = np.flatnonzero((rows != NO_ROW) & (visits > 0.0))
    if not isinstance(world, PlacedGrid):
        return world.cells[acting], rows[acting] - cssp.row_start[acting], visits[acting]
    headings = _headings(world, cssp, acting, rows[acting])
    # Giving up leads in no direction, nor does waiting.
    acting, headings = acting[headings >= 0], headings[headings >= 0]
    cells, where = np.unique(world.cells[acting], axis=0, return_inverse=True)
    where = where.ravel()
    total = np.zeros(len(cells))
    np.add.at(total, where, visits[acting])
    most_visited = np.zeros(len(cells), dtype=np.int64)
    order = np.argsort(visits[acting], kind="stable")
    # The last one written is the one that is visited most.
    most_visited[where[order]] = headings[order]
    return cells, most_visited, total


_CELL_NAME = re.compile(r"\((-?\d+), (-?\d+)\)(?:, (.+))?", re.DOTALL)
_MOST_CELLS = 1_000_000
"""States called like cells that lie further apart than this are no map."""


def part_of(label: Hashable) -> str:
    """What the name of a state says beside its cell and the levels of capacities; empty if nothing.

    >>> part_of("(1, 2), storm in track 3"), part_of((1, 2))
    ('storm in track 3', '')
    """
    found = _CELL_NAME.fullmatch(str(base_of(label)))
    modes = [each for each in getattr(label, "levels", ()) if not isinstance(each, Level)]
    return ", ".join([*([found[3]] if found and found[3] else []), *modes])


def drawn_world(cssp: CSSP) -> GridWorld | None:
    """The grid of an activity; without one, a grid of its states if these are called like cells.

    States such as ``(1, 2)`` or ``(1, 2), storm in track 3`` lie in the cell that they are called after.
    """
    if cssp.world is not None:
        return cssp.world
    named = [_CELL_NAME.fullmatch(str(base_of(label))) for label in cssp.state_labels]
    if not all(each or is_goal for each, is_goal in zip(named, cssp.goals.tolist(), strict=True)):
        return None
    places = np.array([(0, 0) if each is None else (int(each[1]), int(each[2])) for each in named])
    is_cell = np.array([each is not None for each in named])
    if not is_cell.any():
        return None
    low, high = places[is_cell].min(axis=0), places[is_cell].max(axis=0)
    width, height = (high - low + 1).tolist()
    if width * height > _MOST_CELLS:
        return None
    places = np.where(is_cell[:, None], places - low + 1, 1)
    starts = places[np.flatnonzero((cssp.initial > 0.0) & is_cell)]
    goals = places[np.flatnonzero(cssp.goals & is_cell)]
    world = GridWorld(
        width=width,
        height=height,
        start=dict.fromkeys(map(tuple, starts.tolist()), 1.0),
        goal=list(dict.fromkeys(map(tuple, goals.tolist()))),
        cost_names=cssp.cost_names,
        step_cost={},
    )
    return PlacedGrid.on(world, places)


def _headings(world: PlacedGrid, cssp: CSSP, states: IntArray, rows: IntArray) -> IntArray:
    """The direction that each row leads in, -1 if in none: by its name, or by the likeliest cell after it."""
    names = [cssp.action_labels[row] for row in rows.tolist()]
    found = np.array(
        [DIRECTIONS.index(str(name)) if name in DIRECTIONS else -1 for name in names], dtype=np.int64
    )
    unnamed = np.flatnonzero(found < 0)
    if len(unnamed):
        likeliest = np.asarray(cssp.transitions[rows[unnamed]].argmax(axis=1)).ravel()
        # An exit has no cell; it is a goal, so that it does not count below.
        across, down = (
            world.cells[np.minimum(likeliest, len(world.cells) - 1)] - world.cells[states[unnamed]]
        ).T
        north, east, south, west = range(4)
        sideways, lengthways = np.where(across > 0, east, west), np.where(down > 0, south, north)
        led = np.where(np.abs(across) >= np.abs(down), sideways, lengthways)
        moves = ((across != 0) | (down != 0)) & ~cssp.goals[likeliest]
        found[unnamed] = np.where(moves, led, -1)
    return found


_WALL, _INK = "0.25", "#10243f"


_HAZARD: dict[str, Any] = {"facecolor": "#f6d5c8", "edgecolor": "#b5451f", "hatch": "////"}


_SHADE = "#9db8d9"


_STEPS = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])
"""North, east, south, west, on axes whose rows go downwards."""


_FAINTEST = 2e-3
"""Visits below this share of the most visited cell are not drawn."""


_ARROWS_ACROSS = 42
"""Rooms with more cells than this side by side get an arrow for every second cell, or fewer."""


_LETTERS_PER_CELL = 7


_LARGE_ROOM = 12
"""Cells that a room must be wide and high for its name to stand inside."""


_START: dict[str, Any] = {"marker": "o", "color": "white", "markersize": 7}


_GOAL: dict[str, Any] = {"marker": "*", "color": "gold", "markersize": 12}


def draw_room(axes: Any, grid: GridWorld, corner: Cell, openings: Collection[Cell], title: str = "") -> None:
    """Draw the walls and the hazards of a room."""
    from matplotlib.patches import Rectangle

    left, top = corner

    def draw(place: tuple[int, int, int, int], **style: Any) -> None:
        column, row, width, height = place
        axes.add_patch(Rectangle((left + column - 0.5, top + row - 0.5), width, height, **style))

    ring = (
        *((0, row, grid.width + 2, 1) for row in (0, grid.height + 1)),
        *((column, 0, 1, grid.height + 2) for column in (0, grid.width + 1)),
    )
    for wall in (*ring, *grid.walls):
        draw(wall, facecolor=_WALL, linewidth=0, zorder=3)
    for column, row in openings:
        draw((column, row, 1, 1), facecolor="white", edgecolor="0.6", linewidth=0.4, zorder=4)
    for hazard in grid.hazards:
        draw(hazard.rectangle, **_HAZARD, linewidth=0.8, zorder=1)
    if title:
        _draw_title(axes, grid, corner, title)
    axes.update_datalim([(left - 0.5, top - 0.5), (left + grid.width + 1.5, top + grid.height + 1.5)])


def _draw_title(axes: Any, grid: GridWorld, corner: Cell, title: str) -> None:
    """The room's name: large and pale inside, or in the corner of the wall where the room is small."""
    middle = corner[0] + grid.width / 2 + 0.5
    style: dict[str, Any] = {"fontweight": "bold", "va": "center"}
    if min(grid.width, grid.height) >= _LARGE_ROOM:
        below = corner[1] + grid.height * 0.62
        axes.text(middle, below, title, fontsize=30, color="0.55", alpha=0.4, zorder=2, ha="center", **style)
    else:
        # From the edge inwards, since a name that is longer than the corner must not leave the picture.
        title = shortened(title, _LETTERS_PER_CELL * (grid.width + 1))
        axes.text(corner[0] - 0.4, corner[1], title, fontsize=14, color="white", zorder=7, ha="left", **style)


def draw_passage(axes: Any, passage: Passage, corner: Cell, most: float) -> None:
    """Draw where an activity goes: shading and arrows that fade with the visits.

    Parameters
    ----------
    axes, passage, corner
        Where to draw, what, and where its room's top-left wall cell lies.
    most
        The visits of the darkest cell.
    """
    from matplotlib.colors import to_rgba

    # Roots, since visits fall off fast: a cell of a hundredth of the visits is still seen.
    strength = np.sqrt(passage.visits / most)
    seen = passage.visits >= _FAINTEST * most
    places = passage.cells + np.array(corner)
    shade = np.zeros((passage.grid.height + 2, passage.grid.width + 2, 4))
    shade[..., :] = to_rgba(_SHADE, 0.0)
    columns, rows = passage.cells.T
    shade[rows, columns, 3] = 0.9 * strength
    left, top = corner
    extent = (left - 0.5, left + passage.grid.width + 1.5, top + passage.grid.height + 1.5, top - 0.5)
    axes.imshow(shade, extent=extent, origin="upper", interpolation="nearest", zorder=1.5, aspect="equal")
    stride = -(-max(passage.grid.width, passage.grid.height) // _ARROWS_ACROSS)
    seen &= np.all(passage.cells % stride == 0, axis=1)
    if not seen.any():
        return
    ink = np.tile(to_rgba(_INK), (int(seen.sum()), 1))
    ink[:, 3] = np.clip(0.12 + 0.88 * strength[seen], 0.0, 1.0)
    length = 0.85 * stride
    u, v = (_STEPS[passage.headings[seen]] * length).T
    axes.quiver(
        *places[seen].T, u, v, color=ink, angles="xy", scale_units="xy", scale=1, pivot="mid",
        units="xy", width=0.16 * stride, headwidth=4, headlength=3.5, headaxislength=3.2, zorder=5,
    )  # fmt: skip


def draw_mark(axes: Any, corner: Cell, cell: Cell, mark: Mapping[str, Any]) -> None:
    """Mark a start with a circle, a goal with a star."""
    x, y = corner[0] + cell[0], corner[1] + cell[1]
    axes.plot(x, y, zorder=6, clip_on=False, markeredgecolor="black", markeredgewidth=1.0, **mark)


def draw_door(axes: Any, corner: Cell, cell: Cell, name: str) -> None:
    """Write the name of an event beside its cell."""
    axes.annotate(
        name, (corner[0] + cell[0], corner[1] + cell[1]), xytext=(7, 0), textcoords="offset points",
        fontsize=9, va="center", zorder=7, bbox={"boxstyle": "round,pad=0.2", "facecolor": "white"},
    )  # fmt: skip


def draw_legend(figure: Any) -> None:
    """Explain the signs, beside the map."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    mark: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "black"}
    figure.legend(
        handles=[
            Line2D([], [], label="start", **mark, **_START),
            Line2D([], [], label="goal", **mark, **_GOAL),
            Patch(label="hazard", **_HAZARD),
            Line2D([], [], label="heading", marker=">", color=_INK, linestyle="none", markersize=9),
            Patch(facecolor=_SHADE, label="visited often"),
            Patch(facecolor=_SHADE, alpha=0.25, label="visited seldom"),
        ],
        loc="outside right upper",
        frameon=False,
        labelspacing=0.9,
    )


def finish(axes: Any) -> None:
    """Square cells, rows downwards, no ticks."""
    axes.set_aspect("equal")
    axes.autoscale_view()
    limits = axes.dataLim
    axes.set_xlim(limits.x0, limits.x1)
    axes.set_ylim(limits.y1, limits.y0)
    axes.set_anchor("N")
    axes.set_axis_off()


@dataclass(frozen=True, eq=False)
class Passage:
    """An activity that a plan runs.

    Attributes
    ----------
    name, grid
        The activity, and its grid world.
    cells
        The column and row of every cell that is visited.
    headings
        The direction taken there, as a position in :data:`hcssp.cssp.grid.DIRECTIONS`.
    visits
        The expected number of visits to it, over all executions.
    """

    name: str
    grid: GridWorld
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
    problem, found = plan.problem, []
    for index, activity in enumerate(problem.activities):
        grid = problem.world(index)
        if grid is None or not plan.costs.activities[index].expected_executions > 0.0:
            continue
        visits = by_state(problem, index, plan.costs.visits)
        rows = plan.policy.activities[index]
        found.append(Passage(activity.name, grid, *visited_cells(grid, activity.cssp, rows, visits)))
    return found


_LARGEST_MAP, _LARGEST_CELL = 12.0, 0.5
"""Inches that a map, and a cell of it, are wide and high at most."""


@literally
def draw_rooms(problem: HCSSP, plan: ProcedurePlan | None = None, on: Any = None) -> Any:
    """Draw the rooms of a problem, and where a plan goes in them.

    Parameters
    ----------
    problem
        The problem; without a plan all of its rooms are drawn.
    plan
        A plan for it. Rooms without a position are drawn if the plan runs their activities.
    on
        An empty figure, or axes.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    executed = [] if plan is None else passages(plan)
    names = {each.name for each in executed}
    idle = [index for index, each in enumerate(problem.activities) if plan and each.name not in names]
    panels = [panel for panel in place(problem, left_out=idle) if panel.world is not None]
    across, down = sheet_size(panels)
    scale = min(_LARGEST_CELL, _LARGEST_MAP / max(across, down, 1))
    axes = one_panel(max(3.0, scale * across) + (2.0 if plan else 0.0), max(2.0, scale * down) + 0.8, on)
    _draw_map(axes, problem, panels, plan, executed)
    title = problem.name if plan is None else in_brief(plan)
    letters = int(axes.figure.get_size_inches()[0] * _LETTERS_PER_INCH)
    axes.set_title(fill(title, letters), fontsize=10)
    if plan and not is_axes(on):
        draw_legend(axes.figure)
    return axes.figure


_LETTERS_PER_INCH = 9
"""Letters of a title that fit into an inch."""


def _draw_map(
    axes: Any, problem: HCSSP, panels: list[Panel], plan: ProcedurePlan | None, executed: Sequence[Passage]
) -> None:
    """All rooms, and where a plan goes, if there is one."""
    panel_of = {problem.activities[index].name: panel for panel in panels for index in panel.activities}
    for panel in panels:
        worlds = [world for index in panel.activities if (world := problem.world(index)) is not None]
        openings = {cell for world in worlds for cell in (*world.starts, *world.goals)}
        draw_room(axes, worlds[0], panel.corner, openings, title=panel.title if panel.on_map else "")
        if not panel.on_map:
            left, top = panel.corner
            axes.text(left - 0.5, top - 0.8, shortened(panel.title, 3 * panel.width), fontsize=6, va="bottom")
            axes.update_datalim([(left, top - 2.0)])
    shown = [passage for passage in executed if passage.name in panel_of]
    most = max((float(passage.visits.max()) for passage in shown), default=1.0)
    for passage in shown:
        panel = panel_of[passage.name]
        others = [other for other in shown if panel_of[other.name] is panel and other is not passage]
        draw_passage(axes, passage.where_busiest(others), panel.corner, most)
    forks = set() if plan is None else _forks(plan)
    for panel in panels:
        for index in panel.activities:
            world = problem.world(index)
            if world is None or (plan and not plan.costs.activities[index].expected_executions > 0.0):
                continue
            if problem.choices[int(problem.activity_choice[index])].event == problem.start:
                for cell in world.starts:
                    draw_mark(axes, panel.corner, cell, _START)
            for cell in world.goals:
                event = problem.activity_outcome[index].event_after(cell)
                if event == problem.end:
                    draw_mark(axes, panel.corner, cell, _GOAL)
                elif event in forks:
                    draw_door(axes, panel.corner, cell, problem.events[event])
    finish(axes)


def _forks(plan: ProcedurePlan) -> set[int]:
    """The events where the plan makes a choice of which chance decides the outcome."""
    return {
        event
        for (event, _), choice in plan.policy.choices.items()
        if len(plan.problem.choices[choice].outcomes) > 1
    }
