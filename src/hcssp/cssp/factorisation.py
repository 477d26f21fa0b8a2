"""Sparse factors that are waited for no longer than anybody listens.

SuperLU cannot be asked to stop, and where factors fill in it takes minutes. So large matrices are factorised
in a thread, and the deadline and Ctrl-C are heard meanwhile, see ``hcssp.deadline``.
"""

from __future__ import annotations

from typing import Any, Literal

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
