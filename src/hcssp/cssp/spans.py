"""Spans of an array that are picked out and put one after the other: the rows of states, the entries of rows.

Those of the k-th span begin at ``begins[k]`` among all that are picked out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def joined_spans(firsts: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The places in all spans, one span after the other, and where each of them begins there.

    >>> places, begins = joined_spans(np.array([5, 2]), np.array([3, 2]))
    >>> places.tolist(), begins.tolist()
    ([5, 6, 7, 2, 3], [0, 3])
    """
    begins = np.cumsum(lengths) - lengths
    places = np.repeat(firsts - begins, lengths)
    places += np.arange(len(places))
    return places, begins


def first_in_each(holds: BoolArray, begins: IntArray) -> IntArray:
    """The first place of each span where something holds; it must do so somewhere in each.

    >>> first_in_each(np.array([False, True, True, True, False]), np.array([0, 3])).tolist()
    [1, 3]
    """
    places = np.flatnonzero(holds)
    found: IntArray = places[np.searchsorted(places, begins)]
    return found
