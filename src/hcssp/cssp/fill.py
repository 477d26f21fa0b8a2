"""Whether the system of a chain fills in when it is factorised: a look at its graph.

Eliminating a state connects its neighbours. Where steps lead nearby, as on a grid, a track or a line, small
sets of states separate large ones, and an ordering that eliminates those last keeps factors sparse. Where
steps lead anywhere, there are no such sets: half of the states are within a few steps of each other, their
part of the factors is dense, and a factorisation takes the cube of their number. The layers around a state
far from the others tell one from the other: each separates those before it from those behind it.

>>> count = 3_000
>>> line = csr_array((np.ones(count - 1), (np.arange(count - 1), np.arange(1, count))), shape=(count, count))
>>> Layers(line).fill_in
False
>>> heads = np.random.default_rng(0).integers(0, count, 3 * count)
>>> tails = np.repeat(np.arange(count), 3)
>>> Layers(csr_array((np.ones(3 * count), (tails, heads)), shape=(count, count))).fill_in
True
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix

Order = npt.NDArray[np.int32]

SMALL = 2_000
"""So many states are factorised in no time, whatever the fill."""

WIDE_SHARE = 0.3
"""Factors fill in if a layer has more than this share of the states. Graphs of random steps have layers of a
half to four fifths, those of a single policy there of two fifths; racetracks of a tenth, grids and lines of
next to nothing."""

MAX_LAYERS = 50
"""With more layers, each is small enough on the average."""

MIN_SEEN = 0.9
"""Layers tell about the whole if they hold at least this share of the states."""

GRID_WIDTH = 0.65
"""The mean width of a square grid, see :class:`Layers`, is this share of its side."""

SQUARE, MAX_SIDES = (0.9, 2.0), 10.0
"""As wide as a square grid is a graph with a width between these shares of its, and at most so many times
as many layers as its side is long. From the middle, layers are wider than from the edge, twice at most."""

NARROW = 20.0
"""Up to this mean width, eliminating layer after layer is faster than finding an ordering with less fill."""

HUB_FACTOR = 50.0
"""A state that this many times as many steps lead to as on the average is a place where one begins anew.
There are few, and they are eliminated last."""


class Layers:
    """The layers of a graph around a state at its edge, where they are narrower than in the middle.

    Nothing is searched before it is asked for, and nothing twice. (Cached properties would let one thread
    wait for another's graph.)

    Parameters
    ----------
    graph
        CSR: an entry for each step from a state to another that may be taken, whatever its value.
    start
        Any state from which the others are reached, or most of them.
    """

    def __init__(self, graph: SparseMatrix, start: int = 0) -> None:
        self._graph = graph
        self._start = start
        self._steps: SparseMatrix = graph
        self._nearest: Order | None = None
        self._found: tuple[Order, Order] | None = None
        self._mean_width: float | None = None
        self._width_of_square: float | None = None

    @property
    def fill_in(self) -> bool:
        """Whether factors are likely to be dense."""
        count = self._graph.shape[0]
        if count <= SMALL or self._square():
            return False
        widths = self._widths_from_the_edge(MAX_LAYERS + 1)
        return len(widths) <= MAX_LAYERS and float(np.max(widths)) > WIDE_SHARE * count

    @property
    def mean_width(self) -> float:
        """How many states are in the layer of a state, on the average; ``inf`` if that cannot be told.

        A state that is eliminated has its neighbours in its layer and the next, if layer after layer is:
        factors have at most some three times as many entries a state, however many states there are.

        >>> last = 3_000
        >>> line = csr_array((np.ones(last), (np.arange(last), np.arange(1, last + 1))), (last + 1, last + 1))
        >>> Layers(line).mean_width
        1.0
        """
        if self._mean_width is None:
            count = self._graph.shape[0]
            self._mean_width = self._square() or _mean(self._widths_from_the_edge(count), count)
        return self._mean_width

    @property
    def wider_than_grid(self) -> bool:
        """Whether layers are wider than those of a square grid with as many states, from its middle.

        >>> from scipy.sparse import diags_array, kronsum
        >>> side = 30
        >>> line = csr_array(diags_array([1.0], offsets=[1], shape=(side, side)))
        >>> plane = kronsum(line, line, format="csr")
        >>> Layers(csr_array(plane)).wider_than_grid
        False
        >>> Layers(csr_array(kronsum(line, plane, format="csr"))).wider_than_grid
        True
        """
        return self.mean_width > SQUARE[1] * GRID_WIDTH * float(np.sqrt(self._graph.shape[0]))

    def narrow_order(self) -> IntArray | None:
        """The states of a line or a corridor layer by layer, and last the places where one begins anew.

        Factors in this order are sparse for whatever part of the steps is taken, and lie in memory as the
        states do along the way, so that a state of a long line takes as long as one of a short line. None if
        layers are not narrow, or cannot be told.

        >>> line = csr_array((np.ones(4), ([0, 2, 4, 1], [2, 4, 1, 3])), shape=(5, 5))
        >>> Layers(line).narrow_order().tolist()
        [3, 1, 4, 2, 0]
        """
        if self.mean_width > NARROW:
            return None
        order, _ = self._from_the_edge()
        last = _is_hub(self._graph)
        last[np.setdiff1d(np.arange(self._graph.shape[0]), order, assume_unique=True)] = True
        return np.concatenate([order[~last[order]], np.flatnonzero(last)])

    def around_start(self, count: int) -> IntArray:
        """The states nearest to the start, as many as are wanted or as there are, ascending.

        >>> line = csr_array((np.ones(4), ([0, 2, 4, 1], [2, 4, 1, 3])), shape=(5, 5))
        >>> Layers(line, start=4).around_start(3).tolist()
        [1, 2, 4]
        """
        return np.sort(self._from_the_start()[:count]).astype(np.int64)

    def _square(self) -> float:
        """The mean width of a graph that is as wide as a square grid, and not filled in; 0 of others.

        It is told by a single search along the steps, where the others take two and steps both ways.
        """
        if self._width_of_square is None:
            count = self._graph.shape[0]
            side = float(np.sqrt(count))
            order, predecessors = breadth_first_order(self._graph, self._start)
            widths = _widths(order, predecessors, int(MAX_SIDES * side))
            mean = _mean(widths, count)
            least, most = SQUARE[0] * GRID_WIDTH * side, SQUARE[1] * GRID_WIDTH * side
            square = max(least, 2.0 * NARROW) <= mean <= most and len(widths) > MAX_LAYERS
            self._width_of_square = mean if square else 0.0
        return self._width_of_square

    def _from_the_start(self) -> Order:
        if self._nearest is None:
            self._steps = _without_hubs(self._graph)
            self._nearest, _ = breadth_first_order(self._steps, self._start, directed=False)
        return self._nearest

    def _from_the_edge(self) -> tuple[Order, Order]:
        """A search breadth first from the state that is found last from the start."""
        if self._found is None:
            edge = int(self._from_the_start()[-1])
            self._found = breadth_first_order(self._steps, edge, directed=False)
        return self._found

    def _widths_from_the_edge(self, most: int) -> FloatArray:
        order, predecessors = self._from_the_edge()
        return _widths(order, predecessors, most)


def _is_hub(graph: SparseMatrix) -> BoolArray:
    count = graph.shape[0]
    entries = np.bincount(graph.indices, minlength=count)
    hubs: BoolArray = entries > HUB_FACTOR * max(1.0, graph.nnz / count)
    return hubs


def _without_hubs(graph: SparseMatrix) -> SparseMatrix:
    hubs = _is_hub(graph)
    if not hubs.any():
        return graph
    kept = ~hubs[graph.indices]
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])[graph.indptr]
    pointers = pointers.astype(graph.indices.dtype)
    heads = graph.indices[kept]
    return csr_array((np.ones(len(heads)), heads, pointers), shape=graph.shape)


def _widths(order: Order, predecessors: Order, most: int) -> FloatArray:
    """The number of nodes in each layer of a search, or in the first layers if there are more than `most`."""
    place = np.empty(len(predecessors), dtype=np.int64)
    place[order] = np.arange(len(order))
    # Nodes are found in the order of those they are found from: after[n] nodes with those of the first n + 1.
    after = 1 + np.cumsum(np.bincount(place[predecessors[order[1:]]], minlength=len(order)))
    found, ends = after.tolist(), [0, 1]
    while ends[-1] < len(order) and len(ends) <= most:
        ends.append(found[ends[-1] - 1])
    return np.diff(ends).astype(np.float64)


def _mean(widths: FloatArray, count: int) -> float:
    """How many of `count` nodes a node has in its layer, on the average; ``inf`` if too few are in layers."""
    seen = widths.sum()
    return float(np.square(widths).sum() / seen) if seen >= MIN_SEEN * count else float(np.inf)
