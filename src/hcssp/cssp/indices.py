"""The integers that tell the places in sparse matrices: narrow ones, as long as they suffice.

Most of the time of a sparse product goes into reading the matrix, and wide integers make up half of it.
Sparse factorisations take narrow ones only.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import SparseMatrix


def index_type(largest: int) -> type[np.int32 | np.int64]:
    """The narrowest integers that hold indices up to the `largest`.

    >>> index_type(1_000).__name__, index_type(2**40).__name__
    ('int32', 'int64')
    """
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def narrow_indices(matrix: SparseMatrix) -> None:
    """Let a CSR matrix have indices as narrow as its size and entries allow.

    >>> from scipy.sparse import csr_array
    >>> wide = np.arange(2, dtype=np.int64)
    >>> matrix = csr_array((np.ones(1), wide[:1], wide), shape=(1, 1))
    >>> matrix.indices = matrix.indices.astype(np.int64)
    >>> narrow_indices(matrix)
    >>> matrix.indices.dtype.name, matrix.indptr.dtype.name
    ('int32', 'int32')
    """
    narrow = index_type(max(*matrix.shape, matrix.nnz))
    matrix.indices = matrix.indices.astype(narrow, copy=False)
    matrix.indptr = matrix.indptr.astype(narrow, copy=False)
