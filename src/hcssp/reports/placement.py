"""Where everything lies on one sheet: the rooms whose positions are known as they stand, the others below.

A room with a position is one panel that all its activities share: the panels together are the map of the
building. Without positions every activity has a panel of its own, and the panels stand in lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from hcssp.cssp.grid import Cell, GridWorld
from hcssp.procedure import HCSSP

_TABLE_HEIGHT = 6
"""Cells that the box of an activity without a grid is high at most, which is half of its width; among small
grids it is smaller, as there is nothing in it but a name."""
_ASPECT = 1.6


@dataclass(frozen=True, eq=False)
class Panel:
    """A room on the sheet.

    Attributes
    ----------
    title
        The room's name, or the activity's where it has a panel of its own.
    corner
        The top-left cell on the sheet.
    width, height
        The size in cells, the wall ring included.
    world
        What is drawn; None for the box of a table.
    activities
        Those that take place here, by index.
    on_map
        Whether this is where the room stands.
    """

    title: str
    corner: Cell
    width: int
    height: int
    world: GridWorld | None
    activities: tuple[int, ...]
    on_map: bool


def place(problem: HCSSP, activities: Iterable[int] | None = None) -> list[Panel]:
    """The panels of all activities, or of some of them by index; no coordinate is negative."""
    by_room: dict[str, list[int]] = {}
    alone: list[int] = []
    placed = range(problem.num_activities) if activities is None else activities
    grids = {index: problem.world(index) for index in placed}
    rooms = {problem.activities[index].room for index, world in grids.items() if world is not None}
    for index, world in grids.items():
        room = problem.activities[index].room
        # A problem of one room needs no position for it.
        known = room in problem.positions or len(rooms) == 1
        if world is not None and known and _fits(grids, by_room.get(room, []), world):
            by_room.setdefault(room, []).append(index)
        else:
            alone.append(index)
    table = _table_size(grids.values())
    panels = [
        _panel(room, problem.positions.get(room, (0, 0)), grids[members[0]], members, table, on_map=True)
        for room, members in by_room.items()
    ]
    left = min((panel.corner[0] for panel in panels), default=0)
    top = min((panel.corner[1] for panel in panels), default=0)
    panels = [_moved(panel, (panel.corner[0] - left, panel.corner[1] - top)) for panel in panels]
    single = [
        _panel(problem.activities[index].name, (0, 0), grids[index], [index], table, on_map=False)
        for index in alone
    ]
    return [*panels, *_in_lines(single, *_extent(panels))]


def sheet_size(panels: Sequence[Panel]) -> tuple[int, int]:
    """The width and height of the sheet, in cells."""
    return _extent(panels)


def _fits(grids: dict[int, GridWorld | None], members: list[int], world: GridWorld) -> bool:
    """Whether a grid has the size of the others in its room, so that one drawing serves all of them."""
    first = grids[members[0]] if members else world
    return first is not None and (first.width, first.height) == (world.width, world.height)


def _table_size(grids: Iterable[GridWorld | None]) -> tuple[int, int]:
    """The width and height of tables' boxes beside such grids."""
    least = min((world.height for world in grids if world is not None), default=2 * _TABLE_HEIGHT)
    height = max(2, min(_TABLE_HEIGHT, least // 2))
    return 2 * height, height


def _panel(
    title: str,
    corner: Cell,
    world: GridWorld | None,
    members: list[int],
    table: tuple[int, int],
    *,
    on_map: bool,
) -> Panel:
    width, height = table if world is None else (world.width + 2, world.height + 2)
    return Panel(title, corner, width, height, world, tuple(members), on_map)


def _moved(panel: Panel, corner: Cell) -> Panel:
    return Panel(panel.title, corner, panel.width, panel.height, panel.world, panel.activities, panel.on_map)


def _extent(panels: Sequence[Panel]) -> tuple[int, int]:
    across = max((panel.corner[0] + panel.width for panel in panels), default=0)
    down = max((panel.corner[1] + panel.height for panel in panels), default=0)
    return across, down


def _in_lines(panels: list[Panel], across: int, down: int) -> list[Panel]:
    """The panels one after another, in lines below what is there already, with room for titles."""
    area = sum((panel.width + 2) * (panel.height + 4) for panel in panels)
    widest = max((panel.width for panel in panels), default=0)
    limit = max(across, widest, ceil(sqrt(_ASPECT * area)))
    title = 2 + limit // 30
    # The names of tables stand in their boxes, those of grids above them.
    above = title if any(panel.world is not None for panel in panels) else 0
    left, top, line = 0, down + (title if down else 0), 0
    placed = []
    for panel in panels:
        if left and left + panel.width > limit:
            left, top, line = 0, top + line + above, 0
        placed.append(_moved(panel, (left, top + above)))
        left += panel.width + title
        line = max(line, panel.height + title)
    return placed
