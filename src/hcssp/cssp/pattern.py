"""Which states the rows of a table belong to and lead to: all of a table but its numbers and names.

Finding the order of rows and successors and laying out a matrix takes far longer than filling in a few
numbers, so tables that agree in this share one pattern; see :mod:`hcssp.cssp.alike_tables`.

>>> pattern = Pattern(2, [0, 0], [0, 1, 1], [1, 1, 0])
>>> pattern.filled(np.array([1.0, 0.75, 0.25])).toarray().tolist()
[[0.0, 1.0], [0.25, 0.75]]
>>> pattern.filled(np.array([1.0, 1.0, 0.0])) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.indices import index_type
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix


class Pattern:
    """Rows and transitions that come in any order, in the order in which arrays hold them.

    Parameters
    ----------
    num_states
        How many states there are.
    row_states
        The state of each row, as rows come.
    rows, successors
        The row of each transition and the state it leads to, as transitions come.

    Attributes
    ----------
    origin
        For each row in order, the number it came with.
    row_states
        The state of each row in order.
    """

    def __init__(
        self, num_states: int, row_states: Sequence[int], rows: Sequence[int], successors: Sequence[int]
    ) -> None:
        states = np.array(row_states, dtype=np.int64)
        # Stable, so that the actions of a state keep the order in which they were added.
        self.origin: IntArray = np.argsort(states, kind="stable")
        self.row_states: IntArray = states[self.origin]
        position = np.empty(len(states), dtype=np.int64)
        position[self.origin] = np.arange(len(states))
        self._shape = (len(states), num_states)
        self._rows: IntArray = position[np.array(rows, dtype=np.int64)]
        self._successors: IntArray = np.array(successors, dtype=np.int64)
        place = self._rows * num_states + self._successors
        # Most come in order; then nothing needs to be moved.
        self._order: IntArray | None = None
        if not (place[1:] > place[:-1]).all():
            self._order = np.argsort(place, kind="stable")
            place = place[self._order]
        self._filled: SparseMatrix | None = None
        if (place[1:] > place[:-1]).all():
            self._filled = self._laid_out()

    def filled(self, probabilities: FloatArray) -> SparseMatrix | None:
        """The matrix with these probabilities, given as transitions come; None if some are no entries of it.

        So it is if one of them is impossible, or two transitions of a row lead to the same state.
        """
        if self._filled is None or not probabilities.all():
            return None
        # A copy shares everything but the numbers, and is not checked again.
        matrix = copy(self._filled)
        matrix.data = probabilities if self._order is None else probabilities[self._order]
        return matrix

    def tidied(self, probabilities: FloatArray) -> SparseMatrix:
        """The matrix without what is impossible, and with what comes twice added up."""
        matrix = csr_array((probabilities, (self._rows, self._successors)), shape=self._shape)
        tidy(matrix)
        return matrix

    def _laid_out(self) -> SparseMatrix:
        """The matrix of all transitions, with any numbers."""
        num_rows, num_states = self._shape
        kind = index_type(max(num_rows, num_states, len(self._rows)))
        pointers = np.zeros(num_rows + 1, dtype=kind)
        np.cumsum(np.bincount(self._rows, minlength=num_rows), out=pointers[1:])
        ordered = self._successors if self._order is None else self._successors[self._order]
        return csr_array((np.ones(len(ordered)), ordered.astype(kind), pointers), shape=self._shape)


def tidy(transitions: csr_array) -> None:
    """Add up repeated successors and forget impossible ones, so that the pattern means reachability."""
    transitions.sum_duplicates()
    transitions.eliminate_zeros()
