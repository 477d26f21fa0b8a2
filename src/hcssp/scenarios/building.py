"""Buildings of rooms that are crossed one after another, as hierarchical problems.

A crossing goes through one room from one opening in its wall to another: it is an activity, a grid world
of its own. Where a crossing ends is an event; there the next crossing is chosen. A door may turn out to
be locked, and then another way must be taken. Every step takes one unit of time, every step from a
hazardous cell does damage, and the expected damage of the whole way is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isqrt

from hcssp.cssp.grid import Cell, GridWorld, Hazard, Rectangle
from hcssp.errors import InvalidProblem
from hcssp.parallel import parallel_map
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder

TIME, DAMAGE = "time", "damage"

MOST_CELLS = 20_000_000
"""Cells of all crossings together; more do not fit into the memory of most machines."""


@dataclass(frozen=True)
class Room:
    """A rectangular room.

    Attributes
    ----------
    place
        Where it stands among the other rooms, column and row, counted in rooms from the top left.
    width, height
        The size of the interior, in cells.
    hazards
        Rectangles ``(column, row, width, height)`` of interior cells.
    """

    place: tuple[int, int]
    width: int
    height: int
    hazards: tuple[Rectangle, ...] = ()

    def scaled(self, scale: int) -> Room:
        """The room with every length multiplied: a hazardous cell becomes a hazardous block."""
        hazards = tuple(
            (scale * (column - 1) + 1, scale * (row - 1) + 1, scale * width, scale * height)
            for column, row, width, height in self.hazards
        )
        return Room(self.place, scale * self.width, scale * self.height, hazards)

    def scaled_opening(self, opening: Cell, scale: int) -> Cell:
        """Where an opening of this room is once the room is scaled: in the same wall, as far along it."""
        column, row = opening
        return (
            scale * self.width + 1 if column == self.width + 1 else scale * column,
            scale * self.height + 1 if row == self.height + 1 else scale * row,
        )


@dataclass(frozen=True)
class Crossing:
    """A way through a room, from an opening to another: an activity between two events."""

    name: str
    room: str
    start: Cell
    goal: Cell
    leaves: str
    reaches: str


@dataclass(frozen=True)
class Door:
    """A door: trying it at event `at` leads to event `opened` or, if it turns out so, to `locked`."""

    name: str
    at: str
    opened: str
    locked: str


@dataclass(frozen=True, eq=False)
class Building:
    """Rooms, the crossings between their openings, and doors.

    Attributes
    ----------
    rooms
        The rooms by name.
    crossings, doors
        What leads from event to event. What leaves the same event is chosen from.
    events
        All events; the first is the start and the last the end.
    intended
        The probability that a step goes as intended; otherwise it goes 90 degrees to either side.
    locked
        The probability that a door turns out to be locked.
    damage
        The damage of every step from a hazardous cell.
    name, description
        What people call it, and what it is.
    """

    rooms: Mapping[str, Room]
    crossings: tuple[Crossing, ...]
    doors: tuple[Door, ...]
    events: tuple[str, ...]
    intended: float
    locked: float
    damage: float = 50.0
    name: str = ""
    description: str = ""

    def scaled(self, scale: int) -> Building:
        """The building with every length multiplied by `scale`, a whole number of at least one."""
        if scale != int(scale) or scale < 1:
            raise InvalidProblem([f"scale {scale}: give a whole number of at least 1"])
        cells = sum(self.rooms[each.room].width * self.rooms[each.room].height for each in self.crossings)
        if scale * scale * cells > MOST_CELLS:
            most = isqrt(MOST_CELLS // cells)
            raise InvalidProblem(
                [f"scale {scale}: the rooms would have {scale * scale * cells:,} cells; give at most {most}"]
            )
        crossings = tuple(
            Crossing(
                crossing.name,
                crossing.room,
                self.rooms[crossing.room].scaled_opening(crossing.start, scale),
                self.rooms[crossing.room].scaled_opening(crossing.goal, scale),
                crossing.leaves,
                crossing.reaches,
            )
            for crossing in self.crossings
        )
        rooms = {name: room.scaled(scale) for name, room in self.rooms.items()}
        return replace(self, rooms=rooms, crossings=crossings)

    def grids(self) -> dict[str, GridWorld]:
        """The grid world of each crossing, by the crossing's name."""
        return {crossing.name: self._grid(crossing) for crossing in self.crossings}

    def corners(self) -> dict[str, Cell]:
        """Where each room's top-left wall cell lies on a map of the whole building.

        Neighbouring rooms share the wall between them: cell ``(column, row)`` of a room is cell
        ``(corner[0] + column, corner[1] + row)`` of the map.
        """
        widths = _largest((room.place[0], room.width) for room in self.rooms.values())
        heights = _largest((room.place[1], room.height) for room in self.rooms.values())
        return {
            name: (_before(widths, room.place[0]), _before(heights, room.place[1]))
            for name, room in self.rooms.items()
        }

    def procedure(self, bound: float) -> HCSSP:
        """The problem of getting from the start to the end with at most `bound` expected damage."""
        plan = ProcedureBuilder(self.name, self.description, self.corners())
        events = {name: plan.add_event(name) for name in self.events}
        grids = self.grids()
        num_cells = sum(grid.width * grid.height for grid in grids.values())
        problems = parallel_map(GridWorld.to_cssp, grids.values(), num_cells)
        activities = [
            plan.add_activity(crossing.name, problem, crossing.room)
            for crossing, problem in zip(self.crossings, problems, strict=True)
        ]
        for crossing, activity in zip(self.crossings, activities, strict=True):
            outcome = Outcome(1.0, events[crossing.reaches], runs=activity)
            plan.add_choice(events[crossing.leaves], crossing.name, to=[outcome])
        for door in self.doors:
            outcomes = [
                Outcome(1.0 - self.locked, events[door.opened]),
                Outcome(self.locked, events[door.locked]),
            ]
            plan.add_choice(events[door.at], f"open-{door.name}", to=outcomes)
        plan.add_constraint(DAMAGE, at_most=bound, counts=dict.fromkeys(activities, DAMAGE))
        return plan.build(start=events[self.events[0]], end=events[self.events[-1]])

    def _grid(self, crossing: Crossing) -> GridWorld:
        room = self.rooms[crossing.room]
        return GridWorld(
            width=room.width,
            height=room.height,
            start=crossing.start,
            goal=crossing.goal,
            hazards=[Hazard(*rectangle, {DAMAGE: self.damage}) for rectangle in room.hazards],
            slip=1.0 - self.intended,
            cost_names=(TIME, DAMAGE),
        )


def _largest(sizes: Iterable[tuple[int, int]]) -> dict[int, int]:
    largest: dict[int, int] = {}
    for place, size in sizes:
        largest[place] = max(largest.get(place, 0), size)
    return largest


def _before(sizes: Mapping[int, int], place: int) -> int:
    """How far along a place begins: everything before it, each with the wall that follows it."""
    return sum(size + 1 for other, size in sizes.items() if other < place)
