"""Whether the system of a chain fills in when it is factorised: a look at its graph.

Eliminating a state connects its neighbours. Where steps lead nearby, as on a grid, a track or a line, small
sets of states separate large ones, and an ordering that eliminates those last keeps factors sparse. Where
steps lead anywhere, there are no such sets: half of the states are within a few steps of each other, their
part of the factors is dense, and a factorisation takes the cube of their number. The layers around a state
far from the others tell one from the other: each separates those before it from those behind it.

>>> count = 3_000
>>> line = csr_array((np.ones(count - 1), (np.arange(count - 1), np.arange(1, count))), shape=(count, count))
>>> fills_in(line)
False
>>> heads = np.random.default_rng(0).integers(0, count, 3 * count)
>>> tails = np.repeat(np.arange(count), 3)
>>> fills_in(csr_array((np.ones(3 * count), (tails, heads)), shape=(count, count)))
True
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix

SMALL = 2_000
"""So many states are factorised in no time, whatever the fill."""

WIDE_SHARE = 0.4
"""Factors fill in if a layer has more than this share of the states. Graphs of random steps have layers of a
half to four fifths, racetracks of a tenth, grids and lines of next to nothing."""

MAX_LAYERS = 50
"""With more layers, each is small enough on the average."""

MIN_SEEN = 0.9
"""Layers tell about the whole if they hold at least this share of the states."""

NARROW = 20.0
"""Up to this mean width, eliminating layer after layer is faster than finding an ordering with less fill."""

HUB_FACTOR = 50.0
"""A state that this many times as many steps lead to as on the average is a place where one begins anew.
There are few, and they are eliminated last."""


def fills_in(graph: SparseMatrix, start: int = 0) -> bool:
    """Whether factors are likely to be dense.

    Parameters
    ----------
    graph
        CSR: an entry for each step from a state to another that may be taken, whatever its value.
    start
        Any state from which the others are reached, or most of them.
    """
    count = graph.shape[0]
    if count <= SMALL:
        return False
    widths = _widths(*_from_the_edge(graph, start), MAX_LAYERS + 1)
    return len(widths) <= MAX_LAYERS and float(np.max(widths)) > WIDE_SHARE * count


def mean_width(graph: SparseMatrix, start: int = 0) -> float:
    """How many states are in the layer of a state, on the average; ``inf`` if that cannot be told.

    A state that is eliminated has its neighbours in its layer and the next, if layer after layer is: factors
    have at most some three times as many entries a state, however many states there are.

    >>> last = 3_000
    >>> line = csr_array((np.ones(last), (np.arange(last), np.arange(1, last + 1))), (last + 1, last + 1))
    >>> mean_width(line)
    1.0

    Parameters
    ----------
    graph, start
        As for :func:`fills_in`.
    """
    return _mean_width(*_from_the_edge(graph, start))


def narrow_order(graph: SparseMatrix, start: int = 0) -> IntArray | None:
    """The states of a line or a corridor layer by layer, and last the places where one begins anew.

    Factors in this order are sparse for whatever part of the steps is taken, and lie in memory as the states
    do along the way, so that a state of a long line takes as long as one of a short line. None if layers
    are not narrow, or cannot be told.

    >>> line = csr_array((np.ones(4), ([0, 2, 4, 1], [2, 4, 1, 3])), shape=(5, 5))
    >>> narrow_order(line).tolist()
    [3, 1, 4, 2, 0]

    Parameters
    ----------
    graph, start
        As for :func:`fills_in`.
    """
    order, predecessors = _from_the_edge(graph, start)
    if _mean_width(order, predecessors) > NARROW:
        return None
    last = _is_hub(graph)
    last[np.setdiff1d(np.arange(graph.shape[0]), order, assume_unique=True)] = True
    return np.concatenate([order[~last[order]], np.flatnonzero(last)])


def _from_the_edge(graph: SparseMatrix, start: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """A search breadth first from a state far from `start`: layers are narrower there than in the middle."""
    steps = _without_hubs(graph)
    order, _ = breadth_first_order(steps, start, directed=False)
    return breadth_first_order(steps, int(order[-1]), directed=False)


def _mean_width(order: npt.NDArray[np.int32], predecessors: npt.NDArray[np.int32]) -> float:
    """As :func:`mean_width`, of a search that has been made."""
    if len(order) < MIN_SEEN * len(predecessors):
        return float(np.inf)
    widths = _widths(order, predecessors, len(order))
    return float(np.square(widths).sum() / widths.sum())


def _is_hub(graph: SparseMatrix) -> BoolArray:
    count = graph.shape[0]
    entries = np.bincount(graph.indices, minlength=count)
    hubs: BoolArray = entries > HUB_FACTOR * max(1.0, graph.nnz / count)
    return hubs


def _without_hubs(graph: SparseMatrix) -> SparseMatrix:
    kept = ~_is_hub(graph)[graph.indices]
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])[graph.indptr]
    heads = graph.indices[kept]
    return csr_array((np.ones(len(heads)), heads, pointers), shape=graph.shape)


def _widths(order: npt.NDArray[np.int32], predecessors: npt.NDArray[np.int32], most: int) -> FloatArray:
    """The number of nodes in each layer of a search, or in the first layers if there are more than `most`."""
    place = np.full(len(predecessors), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    # Nodes are found in the order of those they are found from: after[n] nodes are found from the first n.
    after = 1 + np.searchsorted(place[predecessors[order[1:]]], np.arange(len(order) + 1))
    found, ends = after.tolist(), [0, 1]
    while ends[-1] < len(order) and len(ends) <= most:
        ends.append(found[ends[-1]])
    return np.diff(ends).astype(np.float64)
