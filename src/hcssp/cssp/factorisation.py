"""Sparse factors that are waited for no longer than anybody listens.

SuperLU cannot be asked to stop, and where factors fill in it takes minutes. So large matrices are factorised
in a thread, and the deadline and Ctrl-C are heard meanwhile, see ``hcssp.deadline``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from hcssp.cssp.fill import SMALL
from hcssp.cssp.model import SparseMatrix
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
    2-3 times less fill than COLAMD on grids; with so little fill, wide panels are mostly zeros.

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
        transposed, ordering, diag_pivot_thresh=0.0, panel_size=4, options={"SymmetricMode": True}
    )
