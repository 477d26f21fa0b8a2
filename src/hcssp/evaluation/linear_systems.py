"""Linear systems of chains and policies: sparse factors, or products with the matrix if they would be dense.

**Factors.** Eliminating a state connects its neighbours. Where steps lead nearby, as on a grid, a track or a
line, small sets of states separate large ones, and an ordering that eliminates those last keeps factors
sparse. Where steps lead anywhere, there are no such sets: half of the states are within a few steps of each
other, their part of the factors is dense, and a factorisation takes the cube of their number. Two tests
decide which it is, and in which order to eliminate:

- :class:`Layers` of the graph: steps that lead anywhere, grids, lines and corridors;
- :func:`fills_in_nearby`: the factors of a small part, for what lies between.

**Products.** Where steps lead anywhere, a chain forgets in a few steps where it was, and a few dozen products
with its matrix give a solution (:func:`solve_by_products`: stabilised bi-conjugate gradients). Each product
is followed by a Gauss-Seidel sweep in the order of the distance to the goals: a chain that heads for its
goals is solved by a few sweeps, whatever its size. A chain that takes long to forget is given up, and the
caller factorises it.

**Reference.** van der Vorst, *Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG*, 1992.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import daxpy, dscal
from scipy.sparse import csc_array, csr_array, tril
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.deadline import awaited, keep_time
from hcssp.numerics import EXACT


@dataclass(frozen=True)
class EvaluationParameters:
    """The linear algebra that evaluates policies and chains, and the limits of its methods.

    Answers do not depend on them beyond rounding; what their precision rests on is in :mod:`hcssp.numerics`.

    Attributes
    ----------
    max_dense_states, max_dense_entries
        Policies of a problem with at most as many live states, and entries of its rows as a dense matrix (two
        megabytes), are factorised as dense matrices. Sparse updates are 1.2 times as slow on 100 activities.
    small
        Systems with as many states are factorised within milliseconds, whatever the fill.
    max_factorised
        Larger problems that are wider than a square grid are not factorised. Factors of a grid have 27
        entries a state at 150,000 states and 33 at 900,000. Where more than two quantities vary, the number
        grows with a power of the states, which a sample does not show.
    surely_sparse
        Below this product of states and mean width no sample is taken: layer by layer, factors have about
        three times as many entries. A grid reaches it at 25,000 states.
    sample, dense_fill
        The states of a sample, and the entries a state of its factors from which those of the whole count as
        dense. Grids, tracks and trees have about 20, problems in which several objects move hundreds.
    wide_share, max_layers
        Factors fill in if a graph has at most as many layers and one has more than this share of the states.
        Random graphs have layers of 0.5 to 0.8, those of a single policy there of 0.4, racetracks of 0.1.
    min_seen
        The share of the states that the layers must contain to describe the graph.
    grid_width, widest_grid
        The mean width of a square grid as a share of its side, and the multiple of it up to which a graph is
        no wider than a grid: layers from the middle are up to twice as wide as from the edge.
    hub_factor
        A state with this many times the mean number of predecessors is a restart, which no layer is made of.
    max_changed
        A policy that differs from the reference in more states becomes the reference. A solve takes 1/60 of a
        factorisation on grids.
    max_new_columns
        The same for columns that are not kept yet: as many take as long as a factorisation.
    max_padded_width, max_padded_entries
        Rows with more entries, or matrices with more in all, are not padded to equal length: it would take
        more memory than the matrix, and products of some rows gain less from it.
    max_padded_states
        With more states a policy is not multiplied by padded rows: picking its rows is little beside its
        sweeps, and nothing else may ever need the padding.
    column_bytes
        The memory of the columns kept for one reference.
    max_products, max_steps
        Products with a system before it is given up, and steps before its residual is computed again, since
        updates of the residual drift.
    ahead
        The updated residual must be this share of the wanted one before the residual is computed again.
    """

    max_dense_states: int = 120
    max_dense_entries: int = 250_000
    small: int = 2_000
    max_factorised: int = 400_000
    surely_sparse: float = 2.5e6
    sample: int = 4_000
    dense_fill: float = 64.0
    wide_share: float = 0.3
    max_layers: int = 50
    min_seen: float = 0.9
    grid_width: float = 0.65
    widest_grid: float = 2.0
    hub_factor: float = 50.0
    max_changed: int = 100
    max_new_columns: int = 40
    max_padded_width: int = 12
    max_padded_entries: int = 2_000_000
    max_padded_states: int = 10_000
    column_bytes: int = 32 * 2**20
    max_products: int = 400
    max_steps: int = 60
    ahead: float = 0.5


EVALUATION = EvaluationParameters()
"""The parameters of all evaluations."""

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
    if matrix.shape[0] <= EVALUATION.small:
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


Order = npt.NDArray[np.int32]


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

    Every search is made on demand and only once. (Cached properties would let one thread
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

    @property
    def num_states(self) -> int:
        """The number of states of the graph."""
        return int(self._graph.shape[0])

    @property
    def fill_in(self) -> bool:
        """Whether factors are likely to be dense."""
        count = self._graph.shape[0]
        if count <= EVALUATION.small:
            return False
        widths = self._widths_from_the_edge(EVALUATION.max_layers + 1)
        return len(widths) <= EVALUATION.max_layers and float(np.max(widths)) > EVALUATION.wide_share * count

    @property
    def mean_width(self) -> float:
        """How many states are in the layer of a state, on the average; ``inf`` if that is unknown.

        A state that is eliminated has its neighbours in its layer and the next, if layer after layer is:
        factors have at most some three times as many entries a state, however many states there are.

        >>> last = 3_000
        >>> line = csr_array((np.ones(last), (np.arange(last), np.arange(1, last + 1))), (last + 1, last + 1))
        >>> Layers(line).mean_width
        1.0
        """
        if self._mean_width is None:
            count = self._graph.shape[0]
            self._mean_width = _mean(self._widths_from_the_edge(count), count)
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
        side = float(np.sqrt(self._graph.shape[0]))
        return self.mean_width > EVALUATION.widest_grid * EVALUATION.grid_width * side

    def around_start(self, count: int) -> IntArray:
        """The states nearest to the start, as many as are wanted or as there are, ascending.

        >>> line = csr_array((np.ones(4), ([0, 2, 4, 1], [2, 4, 1, 3])), shape=(5, 5))
        >>> Layers(line, start=4).around_start(3).tolist()
        [1, 2, 4]
        """
        return np.sort(self._from_the_start()[:count]).astype(np.int64)

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
    hubs: BoolArray = entries > EVALUATION.hub_factor * max(1.0, graph.nnz / count)
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
    return float(np.square(widths).sum() / seen) if seen >= EVALUATION.min_seen * count else float(np.inf)


def fills_in_nearby(system: SparseMatrix, layers: Layers) -> bool:
    """Whether factors are likely to be dense, by those of the states around the start.

    Between a grid and steps that lead anywhere lie problems in which several things move at once, such as a
    boat among ferries: their steps lead nearby, but in many directions, and factors have hundreds of
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
    if system.shape[0] <= EVALUATION.sample:
        return False
    nearby = layers.around_start(EVALUATION.sample)
    part = csr_array(system[nearby][:, nearby])
    part.sort_indices()
    # Fill is a matter of the pattern alone; with twice the diagonal no choice of rows is singular.
    part.setdiag(2.0 * part.diagonal())
    try:
        factors = eliminate(part)
    except RuntimeError:
        # Singular within rounding, which is independent of the fill.
        return False
    return bool(factors.nnz > EVALUATION.dense_fill * len(nearby))


class Algebra(NamedTuple):
    """How the systems of a graph are solved.

    Attributes
    ----------
    by_products
        By products with the matrix, since factors would be dense; otherwise by sparse factors.
    mixes
        Whether steps lead anywhere, so that no order of the states is of use.
    """

    by_products: bool = False
    mixes: bool = False


def algebra_for(layers: Layers, system: Callable[[], SparseMatrix]) -> Algebra:
    """The fastest linear algebra for systems of a graph. How much factors fill in decides, not the size.

    ============================================ =================== =========================================
    graph                                        answer              measured without it
    ============================================ =================== =========================================
    steps lead anywhere (``layers.fill_in``)     products            12 times as slow on 10,000 random states
    above `max_factorised`, wider than a grid    products            fill grows with a power of the states
    dense factors around the start               products            factors of hundreds of entries a state
    all else                                     factors             -
    ============================================ =================== =========================================

    Small problems have dense factors instead, see :func:`hcssp.ssp.policy_evaluation.system_for`. The
    thresholds are in :class:`EvaluationParameters`.

    Parameters
    ----------
    layers
        Those of the graph.
    system
        Makes a system whose factors are sampled, of a policy or a chain.
    """
    if layers.fill_in:
        return Algebra(by_products=True, mixes=True)
    count = layers.num_states
    if count > EVALUATION.max_factorised and layers.wider_than_grid:
        return Algebra(by_products=True)
    if count <= EVALUATION.sample:
        return Algebra()
    may_fill = count * layers.mean_width > EVALUATION.surely_sparse
    return Algebra(by_products=may_fill and fills_in_nearby(system(), layers))


# Products with a system in place of factors that would be dense.


def solve_by_products(
    matrix: SparseMatrix, right: FloatArray, start: FloatArray, tolerance: float
) -> FloatArray | None:
    """``x`` with ``matrix @ x = right``; None if that takes too long.

    >>> matrix = csr_array(np.array([[1.0, -0.5], [-0.25, 1.0]]))
    >>> solve_by_products(matrix, np.array([1.0, 0.0]), np.zeros(2), 1e-14).round(9).tolist()
    [1.142857143, 0.285714286]

    Parameters
    ----------
    matrix
        Close to the identity.
    right, start
        The right-hand side, and something near the solution.
    tolerance
        How large the residual may be, relative to the largest number of the solution and the right-hand side.
    """
    solution = start.copy()
    scale = _largest(right)
    products, before = 0, np.inf
    while products < EVALUATION.max_products:
        residual = right - matrix @ solution
        products += 1
        left, enough = _largest(residual), tolerance * max(scale, _largest(solution))
        if left <= enough:
            return solution
        if not left < before:
            # Rounding, or no solution: the caller decides which.
            return None
        before = left
        products += _descend(matrix, solution, residual, EVALUATION.ahead * enough)
    return None


def _descend(matrix: SparseMatrix, solution: FloatArray, residual: FloatArray, enough: float) -> int:
    """Improve the solution and its residual, in place, until that is small by its updates; the products."""
    shadow, direction, product = residual.copy(), residual.copy(), residual
    weight, step, turn = float(shadow @ residual), 0.0, 0.0
    for steps in range(EVALUATION.max_steps):
        keep_time()
        if steps:
            if _largest(residual) <= enough or not turn:
                return 2 * steps
            after = float(shadow @ residual)
            factor = after / weight * (step / turn) if weight else 0.0
            # In place, as all that follows: new arrays would take as long as what is done with them.
            daxpy(product, direction, a=-turn)
            dscal(factor, direction)
            daxpy(residual, direction)
            weight = after
        product = matrix @ direction
        along = float(shadow @ product)
        step = weight / along if along else 0.0
        daxpy(product, residual, a=-step)
        pushed = matrix @ residual
        size = float(pushed @ pushed)
        turn = float(pushed @ residual) / size if size else 0.0
        daxpy(direction, solution, a=step)
        daxpy(residual, solution, a=turn)
        daxpy(pushed, residual, a=-turn)
    return 2 * EVALUATION.max_steps


def _largest(values: FloatArray) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


class Products:
    """In place of factors that would be dense: products with a system, preconditioned by Gauss-Seidel.

    Parameters
    ----------
    system
        CSR, the identity less the probabilities among inner states.
    order
        The states, those near a goal first; None makes no sweeps, which is twice as fast where steps lead
        anywhere.

    Raises
    ------
    RuntimeError
        If a state is never left.
    """

    def __init__(self, system: SparseMatrix, order: IntArray | None) -> None:
        self._order: IntArray | slice = slice(None) if order is None else order
        moved, self._sweep = csr_array(system), None
        if order is not None:
            moved = csr_array(moved[order][:, order])
            # The transpose of a CSR matrix is the same arrays read as CSC.
            lower = csc_array(tril(moved, format="csr").T)
            self._sweep = factorise(lower, "NATURAL", diag_pivot_thresh=0.0)
        self._systems: dict[str, csr_array] = {"T": moved}

    def solve(
        self,
        right: FloatArray,
        trans: Literal["N", "T"] = "N",
        start: FloatArray | None = None,
        tolerance: float = EXACT,
    ) -> FloatArray:
        """``x`` with ``x @ system = right``, transposed ``system @ x = right``; nan where it is too slow.

        Parameters
        ----------
        right
            One or several right-hand sides, one column each.
        trans
            Which of the systems.
        start
            Something near the solution; None if nothing is known.
        tolerance
            Of the residual, relative to the solution.
        """
        if not len(right):
            return right.copy()
        if trans not in self._systems:
            self._systems[trans] = csr_array(self._systems["T"].T)
        swept = _Swept(self._systems[trans], self._sweep, trans)
        found = np.full(right.shape, np.nan)
        near = np.zeros(right.shape) if start is None else start
        columns = (each[self._order].reshape(len(right), -1).T for each in (right, near))
        for column, begin, solution in zip(*columns, found.reshape(len(right), -1).T, strict=True):
            solved = solve_by_products(swept, swept.sweep(column), begin, tolerance)
            if solved is None:
                break
            solution[self._order] = solved
        return found


@dataclass(frozen=True, eq=False)
class _Swept:
    """A product with a matrix, followed by a sweep if there are factors for it."""

    matrix: csr_array
    factors: Any
    trans: Literal["N", "T"]

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return self.sweep(self.matrix @ right)

    def sweep(self, right: FloatArray) -> FloatArray:
        right = np.ascontiguousarray(right)
        return right if self.factors is None else np.asarray(self.factors.solve(right, trans=self.trans))


def by_distance(jumps: SparseMatrix, ends: BoolArray) -> IntArray:
    """The states in the order of the number of jumps to one of `ends`."""
    count = jumps.shape[0]
    into = csr_array(jumps.T)
    # One node more, the end, from which a search goes backwards.
    heads = np.concatenate([into.indices, np.flatnonzero(ends)])
    pointers = np.append(into.indptr, len(heads))
    order, _ = breadth_first_order(csr_array((np.ones(len(heads)), heads, pointers), (count + 1,) * 2), count)
    return order[1:].astype(np.int64)
