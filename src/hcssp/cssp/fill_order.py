"""How much factors fill in when states are eliminated in an order that was found for another matrix.

An ordering that keeps the factors of one policy sparse may be the worst for the next: where one goes along a
line and the other falls back by a few steps, the states that part the first hold nothing apart in the second.
The graph tells before anything is factorised. Once some states are eliminated, the neighbours of a connected
set of them are all connected with each other: they are a dense square of the factors. So a look at the
graph after seven of eight states, and after more, shows whether squares have become large.

>>> from scipy.sparse import csr_array
>>> count = 4_000
>>> state = np.arange(count)
>>> line = csr_array((np.ones(count - 1), (state[:-1], state[1:])), shape=(count, count))

Every second state first, then every second of what is left, and so on, is as good as going along the line:

>>> place = np.empty(count, dtype=np.int64)
>>> place[np.argsort(-(state & -state), kind="stable")[::-1]] = state
>>> fill_in_order(line, state) <= count, fill_in_order(line, place) <= 4 * count
(True, True)

With jumps of three steps beside those of one, it is not:

>>> jumps = csr_array((np.ones(count - 3), (state[:-3], state[3:])), shape=(count, count))
>>> fill_in_order(line + jumps, state) <= 9 * count, fill_in_order(line + jumps, place) > 50 * count
(True, True)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.model import SparseMatrix

LEFT = (1 / 8, 1 / 64)
"""The shares of states that are left when one looks. A square that is dense at the end was large before."""


def fill_in_order(graph: SparseMatrix, place: npt.NDArray[np.integer]) -> float:
    """About how many entries the factors have at least, both together, in a given order.

    Parameters
    ----------
    graph
        CSR, square: the pattern of the system.
    place
        When each state is eliminated: a permutation.
    """
    count = graph.shape[0]
    tails = place[np.repeat(np.arange(count), np.diff(graph.indptr))]
    heads = place[graph.indices]
    first, last = np.minimum(tails, heads), np.maximum(tails, heads)
    return max((_squares(first, last, count, int(count * (1.0 - left))) for left in LEFT), default=0.0)


def _squares(first: npt.NDArray[np.integer], last: npt.NDArray[np.integer], count: int, gone: int) -> float:
    """The entries of dense squares among the states that are left after so many, which may overlap."""
    inside, across = last < gone, (first < gone) & (last >= gone)
    links = csr_array(
        (np.ones(np.count_nonzero(inside), dtype=np.int8), (first[inside], last[inside])), shape=(gone, gone)
    )
    _, part = connected_components(links, directed=False)
    pairs = part[first[across]].astype(np.int64) * count + last[across]
    pairs.sort()
    # A neighbour of several states of a part counts once.
    new = np.concatenate([[True], pairs[1:] != pairs[:-1]])[: len(pairs)]
    return float(np.square(np.bincount(pairs[new] // count).astype(np.float64)).sum())
