"""The steps of a grid: where each of the four directions leads from every cell."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import IntArray

DIRECTIONS = ("north", "east", "south", "west")
"""The actions in every cell, clockwise, so that a neighbour in the list is a side."""

_STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))
# States are numbered row by row, so neighbours in this order (4 is the cell itself) have increasing
# numbers, and the transition matrix is born sorted.
_IN_ORDER = (0, 3, 4, 1, 2)


def step_transitions(
    cells: IntArray, states: IntArray, acting: IntArray, left: float, right: float
) -> csr_array:
    """Transitions of the states `acting`, four rows each.

    Parameters
    ----------
    cells
        The column and row of every state.
    states
        The number of each cell's state, -1 in walls; one cell wider all around than the wall ring.
    acting
        The states that are no goals.
    left, right
        The probabilities of slipping to either side.
    """
    columns, rows = cells[acting].T
    neighbours = [states[rows + 1 + down, columns + 1 + across] for across, down in _STEPS]
    open_to = [neighbour >= 0 for neighbour in neighbours]
    # For each action, three neighbours and the cell itself; entries of zero are left out below.
    indices = np.empty((len(acting), 4, 4), dtype=np.int32)
    data = np.empty((len(acting), 4, 4))
    for action in range(4):
        chance = {action: 1.0 - left - right, (action - 1) % 4: left, (action + 1) % 4: right}
        slots = [direction for direction in _IN_ORDER if direction == 4 or direction in chance]
        stays = np.zeros(len(acting))
        for slot, direction in enumerate(slots):
            if direction != 4:
                indices[:, action, slot] = neighbours[direction]
                data[:, action, slot] = chance[direction] * open_to[direction]
                stays += chance[direction] * ~open_to[direction]
        own = slots.index(4)
        indices[:, action, own] = acting
        data[:, action, own] = stays
    possible = data > 0.0
    starts = np.zeros(4 * len(acting) + 1, dtype=np.int32)
    np.cumsum(sum(possible[:, :, slot].ravel() for slot in range(4)), dtype=np.int32, out=starts[1:])
    shape = (4 * len(acting), len(cells))
    return csr_array((data[possible], indices[possible], starts), shape=shape)
