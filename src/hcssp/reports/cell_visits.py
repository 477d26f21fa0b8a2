"""What a policy does in the cells of a grid, for pictures: where it goes, and how often it is there."""

from __future__ import annotations

import numpy as np

from hcssp.cssp.grid import DIRECTIONS, GridWorld
from hcssp.cssp.levels import LevelledGrid, PlacedGrid
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW

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
    if not isinstance(world, LevelledGrid):
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


def _headings(world: LevelledGrid, cssp: CSSP, states: IntArray, rows: IntArray) -> IntArray:
    """The direction that each row leads in, -1 if in none: by its name, or by the likeliest cell after it."""
    names = [cssp.action_labels[row] for row in rows.tolist()]
    found = np.array(
        [DIRECTIONS.index(str(name)) if name in DIRECTIONS else -1 for name in names], dtype=np.int64
    )
    unnamed = np.flatnonzero(found < 0)
    if isinstance(world, PlacedGrid) and len(unnamed):
        likeliest = np.asarray(cssp.transitions[rows[unnamed]].argmax(axis=1)).ravel()
        across, down = (world.cells[likeliest] - world.cells[states[unnamed]]).T
        north, east, south, west = range(4)
        sideways, lengthways = np.where(across > 0, east, west), np.where(down > 0, south, north)
        led = np.where(np.abs(across) >= np.abs(down), sideways, lengthways)
        moves = ((across != 0) | (down != 0)) & ~cssp.goals[likeliest]
        found[unnamed] = np.where(moves, led, -1)
    return found
