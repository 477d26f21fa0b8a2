r"""Values and visits of the policies of a small problem: a dense factorisation of each.

With a hundred states or so, a dense factorisation takes no longer than it takes to prepare the update of a
sparse one (:mod:`hcssp.ssp.policy_system`), and loses no digits. So every policy that is asked for is a
reference of its own.

The transposed system is eliminated. Its columns are diagonally dominant, so that partial pivoting leaves
every row where it is: it is the elimination without pivoting that suits M-matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.ssp.balance import Balance
from hcssp.ssp.factoriser import Factors
from hcssp.ssp.policy_system import PolicySystem

MAX_DENSE_STATES = 120
"""With more live states, updates of a sparse factorisation are quicker."""

MAX_DENSE_ENTRIES = 250_000
"""Nor are the rows of a problem kept as a dense matrix with more entries than this: two megabytes."""


class DenseSystem(PolicySystem):
    """Evaluates policies of one small problem, see :class:`hcssp.ssp.system.System`."""

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance)
        self._matrix: FloatArray = balance.matrix.toarray()
        self._costs: FloatArray = np.ascontiguousarray(balance.costs.T)

    @staticmethod
    def suits(balance: Balance) -> bool:
        """Whether the problem is small enough; of nothing at all LAPACK makes no factors."""
        size = balance.num_live
        return 0 < size <= MAX_DENSE_STATES and size * balance.num_rows <= MAX_DENSE_ENTRIES

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        if self._reference is None or not np.array_equal(rows, self._reference):
            return None
        return np.empty(0, dtype=np.int64)

    def _costs_of(self, rows: IntArray) -> FloatArray:
        return self._costs[rows]

    def _factorise(self, rows: IntArray) -> Factors:
        # The transpose of what lies row by row lies column by column, as LAPACK wants it.
        lu, pivots, singular = dgetrf(self._matrix[rows].T, overwrite_a=True)
        if singular:
            raise RuntimeError("the system is singular")
        return DenseFactors(lu, pivots)


class DenseFactors(Factors):
    """The factors of one policy's transposed system."""

    def __init__(self, lu: FloatArray, pivots: IntArray) -> None:
        super().__init__()
        self._dense, self._pivots = lu, pivots

    def solve(self, right: FloatArray) -> FloatArray:
        solution, _ = dgetrs(self._dense, self._pivots, right, trans=1)
        return np.asarray(solution)

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        solution, _ = dgetrs(self._dense, self._pivots, right, trans=0)
        return np.asarray(solution)
