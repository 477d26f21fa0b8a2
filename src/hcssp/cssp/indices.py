"""The integers that tell the places in sparse matrices: narrow ones, as long as they suffice.

Most of the time of a sparse product goes into reading the matrix, and wide integers make up half of it.
Sparse factorisations take narrow ones only.
"""

from __future__ import annotations

import numpy as np


def index_type(largest: int) -> type[np.int32 | np.int64]:
    """The narrowest integers that hold indices up to the `largest`.

    >>> index_type(1_000).__name__, index_type(2**40).__name__
    ('int32', 'int64')
    """
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64
