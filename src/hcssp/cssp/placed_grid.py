"""A grid for the pictures of a problem whose states are more than cells: each lies in one of them.

>>> room = GridWorld(width=2, height=1, start=(1, 1), goal=(2, 1))
>>> placed = PlacedGrid.on(room, np.array([[1, 1], [2, 1], [1, 1]]))
>>> placed.cells.tolist(), placed.width
([[1, 1], [2, 1], [1, 1]], 2)
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.levels import LevelledGrid
from hcssp.cssp.model import IntArray


@dataclass(frozen=True, eq=False)
class PlacedGrid(LevelledGrid):
    """A grid world, for pictures, with any number of states in a cell."""

    places: IntArray = field(kw_only=True)

    @classmethod
    def on(cls, world: GridWorld, places: IntArray) -> PlacedGrid:
        """The same grid with a cell, its column and row, for every state of a problem.

        States for which there is none are exits of the grid, and lie where its goal does.
        """
        given = {each.name: getattr(world, each.name) for each in fields(GridWorld)}
        return cls(**given, places=np.asarray(places, dtype=np.int64))

    @cached_property
    def cells(self) -> IntArray:
        """The column and row of every state."""
        return self.places
