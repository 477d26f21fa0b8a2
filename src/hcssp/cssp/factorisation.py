"""Sparse factors of the systems of chains and policies, and orders of elimination that keep them sparse.

Eliminating a state connects its neighbours. Where steps lead nearby, as on a grid, a track or a line, small
sets of states separate large ones, and an ordering that eliminates those last keeps factors sparse. Where
steps lead anywhere, there are no such sets: half of the states are within a few steps of each other, their
part of the factors is dense, and a factorisation takes the cube of their number. Three things tell which it
is, and in which order to eliminate:

- :class:`Layers` of the graph: steps that lead anywhere, grids, lines and corridors;
- :func:`flow_order`: policies with few cycles, whose systems are nearly triangular;
- :func:`fills_in_nearby`: the factors of a small part, for what lies between.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.deadline import awaited

Ordering = Literal["COLAMD", "MMD_AT_PLUS_A", "NATURAL"]


def factorise(matrix: SparseMatrix, ordering: Ordering = "COLAMD", **options: Any) -> Any:
    """The factors of a square matrix in CSC, as ``scipy.sparse.linalg.splu`` makes them.

    SuperLU cannot be interrupted, and where factors fill in it takes minutes. So large matrices are
    factorised in a thread, while the caller watches the deadline and Ctrl-C, see ``hcssp.deadline``.

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

    Each layer separates the states before it from those behind it.

    >>> count = 3_000
    >>> line = csr_array((np.ones(count - 1), (np.arange(count - 1), np.arange(1, count))), (count, count))
    >>> Layers(line).fill_in
    False
    >>> heads = np.random.default_rng(0).integers(0, count, 3 * count)
    >>> tails = np.repeat(np.arange(count), 3)
    >>> Layers(csr_array((np.ones(3 * count), (tails, heads)), shape=(count, count))).fill_in
    True

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


Labels = npt.NDArray[Any]
"""Whole numbers, as narrow as a matrix has them."""

MAX_HUBS = 8
"""So many states are taken out at most; each may add a whole line to the factors."""

MAX_FILL = 4.0
"""What sets of states that lead to one another may add to the factors if they are eliminated as they stand,
as a multiple of the system's entries."""

STANDING_OUT = 8.0
"""A state that is entered from so many times as many others as is usual is a hub, beyond doubt."""

SHRINKING = 0.9
"""Unless the largest of these sets shrinks to this share when hubs are taken out, no more of them are."""

SMALL_SET = 32
"""So few states that lead to one another are eliminated as they stand."""

MAX_COMPONENT_SHARE = 0.25
"""Larger sets with more than this share of the states are ordered about as fast as all states are."""


class FlowOrder(NamedTuple):
    """An order to eliminate in.

    Attributes
    ----------
    states
        All of them.
    hubs
        Those at the end that most circles go through; some order of a similar policy is found at once with
        them.
    """

    states: IntArray
    hubs: IntArray


def flow_order(
    system: SparseMatrix, hubs: IntArray | None = None, max_fill: float = MAX_FILL
) -> FlowOrder | None:
    """An order in which the system of a policy with few cycles hardly fills in; None if it has too many.

    Most plans go forward: clocks, stages, tracks. What comes back, after a crash or a failure, comes back to
    few states. Without those *hubs* there are no cycles, or short ones. States in topological order, hubs
    last, then make a system that is nearly triangular. Large strongly connected components are ordered by
    themselves, unless they hold most of the states. The system is an M-matrix that is diagonally dominant by
    rows, so that no order loses digits.

    >>> crash = csr_array([[1.0, -1.0, 0.0], [-0.1, 1.0, -0.9], [-0.2, 0.0, 1.0]])
    >>> order = flow_order(crash, max_fill=0.0)
    >>> order.states.tolist(), order.hubs.tolist()
    ([1, 2, 0], [0])

    Parameters
    ----------
    system
        CSR, square, with an entry from each state to itself.
    hubs
        Of the order of a similar policy.
    max_fill
        As :data:`MAX_FILL`.
    """
    count = system.shape[0]
    own = np.repeat(np.arange(count, dtype=system.indices.dtype), np.diff(system.indptr))
    is_hub = np.zeros(count, dtype=np.bool_)
    if hubs is not None:
        is_hub[hubs] = True
    before, inside = count, np.zeros(count, dtype=np.int64)
    # Without the hubs that were taken out last.
    fewer: tuple[BoolArray, Labels, Labels, Labels] | None = None
    while True:
        # A hub that nothing leads to is on no circle.
        heads = np.where(is_hub[system.indices], own, system.indices) if is_hub.any() else system.indices
        graph = csr_array((system.data, heads, system.indptr), shape=system.shape)
        _, label = connected_components(graph, directed=True, connection="strong")
        sizes = np.bincount(label)
        if float(sizes @ sizes) - count <= max_fill * system.nnz:
            break
        largest = int(sizes.max())
        in_vain = largest > SHRINKING * before and is_hub.any()
        if np.count_nonzero(is_hub) == MAX_HUBS or in_vain:
            if in_vain and fewer is not None:
                is_hub, heads, label, sizes = fewer
            if float(sizes[sizes > SMALL_SET].sum()) > MAX_COMPONENT_SHARE * count:
                return None
            inside = _places_inside(system, label, sizes)
            break
        before, fewer = largest, (is_hub.copy(), heads, label, sizes)
        within = (label == np.argmax(sizes))[own] & (label[own] == label[heads]) & (own != heads)
        entered = np.bincount(heads[within], minlength=count)
        usual = np.count_nonzero(within) / largest
        if largest > max(SMALL_SET, MAX_COMPONENT_SHARE * count) and entered.max() <= STANDING_OUT * usual:
            # As on a grid: no few states break the circles that most of the others are on.
            return None
        often = np.argsort(-entered, kind="stable")[: MAX_HUBS - np.count_nonzero(is_hub)]
        # At least one; more if they stand out, since one of several hubs breaks few circles.
        stands_out = entered[often] > STANDING_OUT * usual
        stands_out[0] = True
        is_hub[often[stands_out]] = True
    if np.any(label[own] < label[heads]):
        # Sets are numbered from the last one on; should that ever change, this is no order.
        return None
    last = np.flatnonzero(is_hub)
    order = np.lexsort((inside, -label))
    return FlowOrder(np.concatenate([order[~is_hub[order]], last]), last)


def _places_inside(system: SparseMatrix, label: Labels, sizes: Labels) -> IntArray:
    """An order of the states of each large set among themselves that keeps its factors sparse.

    Parameters
    ----------
    system
        CSR.
    label, sizes
        The set of each state, and how many states each set has.
    """
    places = np.zeros(len(label), dtype=np.int64)
    states = np.flatnonzero((sizes > SMALL_SET)[label])
    part = system[states]
    number = np.zeros(len(label), dtype=part.indices.dtype)
    number[states] = np.arange(len(states))
    own = np.repeat(states, np.diff(part.indptr))
    # Steps to other sets count for nothing; with twice the diagonal no set without a way out is singular.
    kept = np.where(label[own] == label[part.indices], part.data, 0.0)
    kept[own == part.indices] *= 2.0
    sets = csr_array((kept, number[part.indices], part.indptr), shape=(len(states), len(states)))
    sets.eliminate_zeros()
    sets.sort_indices()
    places[states] = eliminate(sets).perm_c
    return places


SAMPLE = 4_000
"""So many states make up the part. Smaller systems are factorised in no time, whatever the fill."""

DENSE = 64.0
"""With more entries a state than this in the factors of the part, those of the whole are dense."""


def fills_in_nearby(system: SparseMatrix, layers: Layers) -> bool:
    """Whether factors are likely to be dense, by those of the states around the start.

    Between a grid and steps that lead anywhere lie problems in which several things move at once, such as a
    boat among ferries: their steps lead nearby, but in so many directions that factors have hundreds of
    entries a state. Those of grids, tracks and trees have about twenty.

    >>> from scipy.sparse import diags_array
    >>> line = csr_array(diags_array([np.ones(9_000), np.full(8_999, -0.5)], offsets=[0, 1]))
    >>> fills_in_nearby(line, Layers(line))
    False

    Parameters
    ----------
    system
        CSR, square, with a diagonal: the system of a policy, or of any choice of rows.
    layers
        Those of the steps that the policy may take.
    """
    if system.shape[0] <= SAMPLE:
        return False
    nearby = layers.around_start(SAMPLE)
    part = csr_array(system[nearby][:, nearby])
    part.sort_indices()
    # Fill is a matter of the pattern alone; with twice the diagonal no choice of rows is singular.
    part.setdiag(2.0 * part.diagonal())
    try:
        factors = eliminate(part)
    except RuntimeError:
        # Singular within rounding, which says nothing about the fill.
        return False
    return bool(factors.nnz > DENSE * len(nearby))
