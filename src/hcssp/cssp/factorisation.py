"""Sparse factors that are waited for no longer than anybody listens.

SuperLU cannot be asked to stop, and where factors fill in it takes minutes. So large matrices are factorised
in a thread, and the deadline and Ctrl-C are heard meanwhile, see ``hcssp.deadline``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from hcssp.cssp.fill import SMALL
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.deadline import awaited

Ordering = Literal["COLAMD", "MMD_AT_PLUS_A", "NATURAL"]


def factorise(matrix: SparseMatrix, ordering: Ordering = "COLAMD", **options: Any) -> Any:
    """The factors of a square matrix in CSC, as ``scipy.sparse.linalg.splu`` makes them.

    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> factorise(csc_array([[4.0, 0.0], [1.0, 2.0]])).solve(np.array([4.0, 3.0])).tolist()
    [1.0, 1.0]

    Parameters
    ----------
    matrix
        It must not change until the factors are there.
    ordering
        Of the columns.
    options
        Further ones of ``splu``.

    Raises
    ------
    RuntimeError
        If the matrix is singular.
    OutOfTime
        If a deadline passes first.
    """
    if matrix.shape[0] <= SMALL:
        return splu(matrix, permc_spec=ordering, **options)
    return awaited(lambda: splu(matrix, permc_spec=ordering, **options))


def eliminate(system: SparseMatrix, ordering: Ordering = "MMD_AT_PLUS_A") -> Any:
    """The factors of the transpose of a policy's system, which is given in CSR.

    The system is a row diagonally dominant M-matrix, so no pivoting is needed. Then a symmetric ordering has
    2-3 times less fill than COLAMD on grids; with so little fill, panels of several columns are mostly zeros.

    Raises
    ------
    RuntimeError
        If the system is singular.
    OutOfTime
        If a deadline passes first.
    """
    # The transpose of a CSR matrix is the same arrays read as CSC: nothing is copied.
    indices, pointers = (each.astype(np.int32, copy=False) for each in (system.indices, system.indptr))
    transposed = csc_array((system.data, indices, pointers), shape=system.shape)
    return factorise(
        transposed, ordering, diag_pivot_thresh=0.0, panel_size=1, options={"SymmetricMode": True}
    )


class OrderedFactors:
    """The factors of the transpose of a policy's system whose states are eliminated in a given order.

    >>> from scipy.sparse import csr_array
    >>> there_and_back = csr_array([[1.0, -0.5], [-0.25, 1.0]])
    >>> OrderedFactors(there_and_back, np.array([1, 0])).solve(np.array([0.75, 0.5]), "T").tolist()
    [1.1428571428571428, 0.7857142857142857]

    Parameters
    ----------
    system
        CSR.
    order
        The state at each place.

    Raises
    ------
    RuntimeError
        If the system is singular.
    OutOfTime
        If a deadline passes first.
    """

    def __init__(self, system: SparseMatrix, order: IntArray) -> None:
        self._order = order
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        moved = system[order]
        moved = csr_array((moved.data, place[moved.indices], moved.indptr), shape=moved.shape)
        moved.sort_indices()
        self._lu = eliminate(moved, "NATURAL")

    @property
    def nnz(self) -> int:
        """The entries of both factors."""
        return int(self._lu.nnz)

    def solve(self, right: FloatArray, trans: Literal["N", "T"] = "N") -> FloatArray:
        """As ``scipy.sparse.linalg.SuperLU.solve``."""
        solution: FloatArray = np.empty_like(right)
        solution[self._order] = self._lu.solve(right[self._order], trans=trans)
        return solution
