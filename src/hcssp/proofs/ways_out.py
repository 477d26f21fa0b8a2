"""Who still gets out of an activity if some rows are forbidden: mostly whoever did before.

A search along the arrows takes as many steps as the activity is deep, and every leaf asks for one. But where
every state keeps a row that may bring it nearer to an exit, all of them still get there, and nothing has
changed but the forbidden rows.
"""

from __future__ import annotations

import numpy as np

from hcssp.checker.layout import Block
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.cssp.reachability import fewest_steps


class WaysOut:
    """The states of an activity from which an exit is reached almost surely, and the rows that allow it.

    Parameters
    ----------
    block
        The activity's arrays.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._states, self._rows = np.ones(block.num_states, np.bool_), np.ones(block.num_rows, np.bool_)
        distance = self._distances()
        if not np.isfinite(distance).all():
            # There are dead ends, which some rows may lead to.
            self._states, self._rows = block.almost_sure(self._rows)
            distance = self._distances()
        nearer = distance[block.successors] < distance[block.entry_state]
        self._nearer = self._rows & (np.bincount(block.entry_row[nearer], minlength=block.num_rows) > 0)
        self._acting = self._states & ~block.goals

    def without(self, forbidden: BoolArray) -> tuple[BoolArray, BoolArray]:
        """As :meth:`~hcssp.checker.layout.Block.almost_sure` finds it without the `forbidden` rows."""
        block = self._block
        kept = np.zeros(block.num_states, dtype=np.bool_)
        kept[block.row_state[self._nearer & ~forbidden]] = True
        if kept[self._acting].all():
            return self._states, self._rows & ~forbidden
        return block.almost_sure(~forbidden)

    def _distances(self) -> FloatArray:
        usable = self._rows[self._block.entry_row]
        return fewest_steps(
            self._block.entry_state[usable], self._block.successors[usable], self._block.goals
        )
