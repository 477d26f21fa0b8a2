"""What is known of a problem beyond its figures: the grids of its activities, their rooms, and a map of them.

Problems come from ready-made buildings and from files; pictures and pages see both as a :class:`Scene`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hcssp.cssp.grid import DIRECTIONS, GridWorld
from hcssp.cssp.grid_map import Cell
from hcssp.procedure import HCSSP

if TYPE_CHECKING:
    from hcssp.scenarios.building import Building


@dataclass(frozen=True, eq=False)
class Scene:
    """A problem and where it takes place.

    Attributes
    ----------
    name, description
        What people call it, and what it is.
    problem
        The problem.
    worlds
        The grid of each activity, by the activity's name; None, or nothing, for a table.
    rooms
        From an activity's name to the room it takes place in; one that is left out has a room of its own.
    positions
        Where a room's top-left wall cell lies on a map of them all, for the rooms of which that is known.
    """

    name: str
    problem: HCSSP
    worlds: Mapping[str, GridWorld | None] = field(default_factory=dict)
    rooms: Mapping[str, str] = field(default_factory=dict)
    positions: Mapping[str, Cell] = field(default_factory=dict)
    description: str = ""

    @classmethod
    def of_building(cls, name: str, building: Building, problem: HCSSP, description: str = "") -> Scene:
        """The scene of a problem that was made from `building`."""
        return cls(
            name=name,
            problem=problem,
            worlds=building.grids(),
            rooms={crossing.name: crossing.room for crossing in building.crossings},
            positions=building.corners(),
            description=description,
        )

    def room(self, activity: int) -> str:
        """The room of an activity, given by its index."""
        name = self.problem.activities[activity].name
        return self.rooms.get(name, name)

    def world(self, activity: int) -> GridWorld | None:
        """The grid of an activity, given by its index, if its states are that grid's cells."""
        cssp = self.problem.activities[activity].cssp
        world = self.worlds.get(self.problem.activities[activity].name)
        if world is None or len(world.cells) != cssp.num_states:
            return None
        return world if cssp.num_rows == len(DIRECTIONS) * int((~cssp.goals).sum()) else None
