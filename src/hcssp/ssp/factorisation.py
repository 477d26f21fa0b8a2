"""Sparse LU factorisations of the systems of one problem's policies.

The systems are M-matrices, which need no pivoting. Where a step does not lead far, their patterns are nearly
symmetric, and an ordering for symmetric matrices halves the fill of the usual one. Finding it may take longer
than the elimination. Policies of one problem resemble one another, so in a large problem the ordering of one
serves the next, as long as the factors stay about as sparse.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.ssp.balance import Balance

WORTH_KEEPING = 20_000
"""With fewer live states, an ordering is found about as fast as it is applied."""

MAX_FILL = 2.0  # times as many entries as with the ordering's own policy; beyond, it is found anew


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
    """Factorises the systems of one problem's policies."""

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
        order = self._order
        if order is None:
            lu = _eliminate(self._balance.matrix[rows], "MMD_AT_PLUS_A")
            if len(rows) > WORTH_KEEPING:
                self._order = np.argsort(lu.perm_c)
                self._place = lu.perm_c
                self._fill = lu.nnz
            return Factors(lu, None)
        system = self._balance.matrix[rows[order]]
        columns = self._place[system.indices].astype(system.indices.dtype)
        system = csr_array((system.data, columns, system.indptr), shape=system.shape)
        system.sort_indices()
        lu = _eliminate(system, "NATURAL")
        if lu.nnz > MAX_FILL * self._fill:
            self._order = None
        return Factors(lu, order)


def _eliminate(system: SparseMatrix, ordering: Literal["MMD_AT_PLUS_A", "NATURAL"]) -> SparseMatrix:
    # The transpose of a CSR matrix is the same arrays read as CSC: no conversion.
    transposed = csc_array((system.data, system.indices, system.indptr), shape=system.shape)
    return splu(
        transposed,
        permc_spec=ordering,
        diag_pivot_thresh=0.0,
        panel_size=4,  # with so little fill, wide panels are mostly zeros
        options={"SymmetricMode": True},
    )
