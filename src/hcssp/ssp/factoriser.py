"""Factors of policies' systems: what was found for one policy serves the next, as long as it does.

The systems are M-matrices, which need no pivoting. Where a step does not lead far, their patterns are nearly
symmetric, and an ordering for symmetric matrices halves the fill of the usual one. Finding it may take longer
than the elimination. Policies of one problem resemble one another, so in a large problem the ordering of one
serves the next, unless its graph says that factors would be less sparse, see :mod:`hcssp.cssp.fill_order`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.factorisation import eliminate
from hcssp.cssp.fill_order import fill_in_order
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.ssp.balance import Balance

MIN_STATES_TO_KEEP_ORDERING = 20_000
"""With fewer live states, an ordering is found about as fast as it is applied."""

MAX_FILL = 2.0
"""An ordering is found anew once factors have this many times the entries they had for its own policy."""


class Factors:
    """The factors of one policy's system ``A``.

    Parameters
    ----------
    lu
        The factors of the transpose of ``A``, its rows and columns in the given order.
    order
        The state at each place; None if states are in their own order.
    """

    def __init__(self, lu: SparseMatrix, order: IntArray | None) -> None:
        self._lu = lu
        self._order = order

    def solve(self, right: FloatArray) -> FloatArray:
        """``x`` with ``A x = right``."""
        return self._solve(right, "T")

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """``x`` with ``x A = right``."""
        return self._solve(right, "N")

    def _solve(self, right: FloatArray, trans: Literal["N", "T"]) -> FloatArray:
        solution: FloatArray
        if self._order is None:
            solution = self._lu.solve(right, trans=trans)
            return solution
        solution = np.empty_like(right)
        solution[self._order] = self._lu.solve(right[self._order], trans=trans)
        return solution


class Factoriser:
    """Factorises the systems of one problem's policies, with the ordering of an earlier one if it serves."""

    def __init__(self, balance: Balance) -> None:
        self._balance = balance
        self._order: IntArray | None = None
        self._place: IntArray = np.empty(0, dtype=np.int32)
        self._fill = 0

    def factorise(self, rows: IntArray) -> Factors:
        """The factors of the policy `rows`, one for each live state.

        Raises
        ------
        RuntimeError
            If the system is singular.
        """
        system = self._balance.matrix[rows]
        order = self._order
        if order is None or fill_in_order(system, self._place) > MAX_FILL * self._fill:
            lu = eliminate(system)
            if len(rows) > MIN_STATES_TO_KEEP_ORDERING:
                self._order = np.argsort(lu.perm_c)
                self._place = lu.perm_c
                self._fill = lu.nnz
            return Factors(lu, None)
        system = system[order]
        columns = self._place[system.indices].astype(system.indices.dtype)
        system = csr_array((system.data, columns, system.indptr), shape=system.shape)
        system.sort_indices()
        lu = eliminate(system, "NATURAL")
        if lu.nnz > MAX_FILL * self._fill:
            self._order = None
        return Factors(lu, order)
