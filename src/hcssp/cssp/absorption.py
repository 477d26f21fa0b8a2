r"""What a Markov chain does until it is absorbed: visits and values, however long that takes.

Problem: a chain that is absorbed almost surely, but perhaps after 1e15 steps. The textbook's
:math:`(I - Q)^{-1}` is then nearly singular, and an answer in double precision has no digit that is right,
though the answer itself is no more sensitive to the probabilities than any other: it is a sum of products of
them, divided by probabilities of leaving.

Method: never subtract.

- A state is left sooner or later, so its self-loop only says how long that takes. What is solved is the
  *jump chain*, whose probabilities are those of leaving, in proportion: nothing is computed as one minus a
  self-loop, and a row that misses a sum of one by rounding is a row of proportions, too.
- That system is factorised, or solved by products with it where factors would be dense, and its solution is
  refined with residuals in extended precision. The inverse is not negative, so an error bound is verified
  like a solution: if :math:`(I - Q) e \ge (1 - \delta) r` holds for the absolute residual :math:`r`, then
  :math:`e / (1 - \delta)` bounds the error, however :math:`e` was computed.
- Where that bound is not small, states to which the chain keeps coming back make it so: those whose pivots
  are small. These *hubs* are taken out; what is left is soon over, and is factorised. Then the hubs see a
  small chain, with probabilities of going from one to the next, and it is eliminated state by state as
  Grassmann, Taksar and Heyman do, every pivot a sum of probabilities of leaving.

Reference: Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye 2002.

>>> a_billion_tries = csr_array(np.array([[1.0 - 1e-9, 1e-9], [0.0, 0.0]]))
>>> found = absorb(a_billion_tries, np.array([0]), np.array([1.0, 0.0]), np.array([[3.0]]))
>>> round(float(found.totals[0])), found.error < 1e-12
(3000000000, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, eye_array, tril
from scipy.sparse.csgraph import breadth_first_order

from hcssp.cssp.factorisation import SMALL, Layers, OrderedFactors, eliminate, factorise, fills_in_nearby
from hcssp.cssp.krylov import solve_by_products
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.numerics import ROUNDING

LongArray = npt.NDArray[np.longdouble]

WANTED_ERROR = 1e-12
"""A factorisation of the whole is good enough if its costs are proven to be as precise as this."""

LEAST_PIVOT = 1e-3
"""A state with a smaller pivot is a hub: what is left is known to some thirteen digits."""

NUDGE = 1e-6
"""What is added to the diagonal of a matrix that is singular in double precision, to see where it is so."""

RESIDUAL = 1e-13
"""Products with the system end at this residual, relative to the solution; refinement does the rest."""

_MAX_LACKING = 0.25
"""An error bound that explains less of a residual than the rest of this share is not used."""

_ROUNDS = 3
_COLUMNS_AT_ONCE = 128
_LONG_ROUNDING = np.finfo(np.longdouble).eps


@dataclass(frozen=True, eq=False)
class Absorbed:
    """A chain until it is absorbed.

    Attributes
    ----------
    visits
        How often each inner state is visited, in expectation.
    ends
        For every state the probability of being absorbed there; nought at inner ones.
    values
        What is still to come from each inner state, one column a cost.
    totals
        What each cost comes to from the start, in expectation. It is 0 exactly if no inner state costs
        anything.
    error
        How far off the totals may be, relatively.
    values_of
        The values of another cost, from what a visit to each inner state costs: as `values`, but rounded like
        any solution of equations. It keeps what was factorised.
    """

    visits: FloatArray
    ends: FloatArray
    values: FloatArray
    totals: FloatArray
    error: float
    values_of: Callable[[FloatArray], FloatArray]


def absorb(transitions: SparseMatrix, inner: IntArray, initial: FloatArray, costs: FloatArray) -> Absorbed:
    """Solve a chain that is absorbed almost surely, wherever it starts.

    Parameters
    ----------
    transitions
        From state to state; the rows of `inner` are taken as proportions.
    inner
        The states that do not absorb, ascending. From each of them one that does can be reached.
    initial
        The probability of starting in each state.
    costs
        The costs of a visit to each inner state, one row a cost.

    Raises
    ------
    OverflowError
        If an expectation is too large for double precision.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = _Chain(transitions, inner).solve(initial, costs)
    require_finite(found.visits, found.values, found.totals)
    return found


def require_finite(*expectations: FloatArray) -> None:
    """Raise :class:`OverflowError` if an expectation of a chain is too large for a number."""
    if not all(np.isfinite(each).all() for each in expectations):
        raise OverflowError("an expectation of the chain is too large for double precision")


class Visited(NamedTuple):
    """How often a chain visits its inner states before it is absorbed.

    Attributes
    ----------
    visits
        One for each inner state.
    error
        How far each of them may be off, relatively; and so any sum of them with weights that are not
        negative, whatever a visit costs.
    """

    visits: FloatArray
    error: float


def visited(transitions: SparseMatrix, inner: IntArray, initial: FloatArray) -> Visited | None:
    """As :func:`absorb`, only how often states are visited; None if that is not soon known precisely.

    >>> there_and_back = csr_array(np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> visited(there_and_back, np.array([0, 1]), np.array([1.0, 0.0, 0.0])).visits.round(9).tolist()
    [2.0, 1.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _Chain(transitions, inner).visited(initial)


class _Chain:
    """A chain without self-loops, and how long it stays in each state.

    Attributes
    ----------
    inside, outside
        The chances of going to inner states, and of being absorbed; self-loops are left out.
    total, leaving
        All chances of each inner state, and those of leaving it.
    """

    def __init__(self, transitions: SparseMatrix, inner: IntArray) -> None:
        rows = csr_array(transitions[inner])
        source = np.repeat(np.arange(len(inner)), np.diff(rows.indptr))
        moves = rows.indices != inner[source]
        chances = rows.data.astype(np.longdouble)
        # Every row has an entry, for it leads to where the chain is absorbed.
        self.total: LongArray = np.add.reduceat(chances, rows.indptr[:-1])
        self.leaving: LongArray = np.add.reduceat(np.where(moves, chances, 0.0), rows.indptr[:-1])
        place = np.full(transitions.shape[0], -1, dtype=np.int32)
        place[inner] = np.arange(len(inner), dtype=np.int32)
        among = place[rows.indices] >= 0
        self.inside = _entries(rows, source, moves & among, place[rows.indices], len(inner))
        self.outside = _entries(rows, source, moves & ~among, rows.indices, transitions.shape[0])
        self._inner = inner
        self._factors: Any = None

    def jumps(self) -> csr_array:
        """The jump chain among the inner states."""
        rows = self.inside
        share = rows.data / np.repeat(self.leaving, np.diff(rows.indptr))
        return csr_array((share.astype(np.float64), rows.indices, rows.indptr), shape=rows.shape)

    def exits(self) -> FloatArray:
        """The probability of being absorbed with the next jump."""
        return (self.outside @ np.ones(self.outside.shape[1], np.longdouble) / self.leaving).astype(
            np.float64
        )

    def solve(self, initial: FloatArray, costs: FloatArray) -> Absorbed:
        start = initial[self._inner]
        spent = self._spent(costs)
        jumps, values, error = self._by_factors(start, spent) or self._by_hubs(start, spent)
        departures = jumps / self.leaving
        ends = self.outside.T @ departures
        totals = (spent.T @ jumps).astype(np.float64)
        # A cost too small for a number is still a cost: only the graph says that there is none.
        totals = np.maximum(totals, np.where(costs.any(axis=1), np.nextafter(0.0, 1.0), 0.0))
        visits = (departures * self.total).astype(np.float64)
        return Absorbed(visits, ends.astype(np.float64), values, totals, error, self.values_of)

    def values_of(self, costs: FloatArray) -> FloatArray:
        """What is to come of another cost, from that of a visit to each inner state."""
        spent = self._spent(costs)
        if self._factors is None:
            return self._by_hubs(np.zeros(len(spent)), spent[:, np.newaxis])[1][:, 0]
        values: FloatArray = self._factors.solve(spent, trans="T")
        return values

    def _spent(self, costs: FloatArray) -> FloatArray:
        """The costs of a visit of the jump chain, a state a row: as many steps as it takes to leave."""
        return (costs * (self.total / self.leaving)).T.astype(np.float64)

    def _by_factors(self, start: FloatArray, spent: FloatArray) -> tuple[LongArray, FloatArray, float] | None:
        """Visits to the jump chain, values, and a bound on the relative error of the costs.

        None if no solver is precise enough.
        """
        for factors in self._solvers(start):
            found = self._refined(factors, start, spent)
            if found is not None:
                self._factors = factors
                return found
        return None

    def _refined(
        self, factors: Any, start: FloatArray, spent: FloatArray
    ) -> tuple[LongArray, FloatArray, float] | None:
        """As :meth:`_by_factors`, with one solver."""
        entering = self._entering()
        leaving = (np.diff(self.inside.indptr)[:, np.newaxis] + 4) * 2.0 * _LONG_ROUNDING
        visits: LongArray = np.zeros(len(start), dtype=np.longdouble)
        values: LongArray = np.zeros(spent.shape, dtype=np.longdouble)
        # Of nothing, all is missing.
        not_visited: npt.NDArray[Any] = start
        not_paid: npt.NDArray[Any] = spent
        for _ in range(_ROUNDS):
            visits = visits + factors.solve(not_visited.astype(np.float64))
            values = values + factors.solve(not_paid.astype(np.float64), trans="T")
            if not np.isfinite(values).all():
                return None
            not_visited, not_paid = self._missing(start, visits), self._unpaid(spent, values)
            missing = np.abs(not_visited) + entering * np.abs(visits)
            unpaid = (np.abs(not_paid) + leaving * np.abs(values)).astype(np.float64)
            error = relative(np.abs(values).T @ missing, spent.T @ np.abs(visits))
            # Few may come there from the start, but whoever is there wants to know what comes.
            errors = factors.solve(unpaid, trans="T")
            anywhere = _bounded(errors, unpaid, self._unpaid(unpaid, errors), values)
            if error <= WANTED_ERROR and anywhere <= WANTED_ERROR:
                return np.maximum(visits, 0.0), np.maximum(values, 0.0).astype(np.float64), error
        return None

    def visited(self, initial: FloatArray) -> Visited | None:
        """How often each state is visited; None if no solver is precise enough."""
        start = initial[self._inner]
        for factors in self._solvers(start):
            found = self._refined_visits(factors, start)
            if found is not None:
                return found
        return None

    def _refined_visits(self, factors: Any, start: FloatArray) -> Visited | None:
        """As :meth:`visited`, with one solver."""
        entering = self._entering()
        visits: LongArray = np.zeros(len(start), dtype=np.longdouble)
        not_visited: npt.NDArray[Any] = start
        for _ in range(_ROUNDS):
            visits = visits + factors.solve(not_visited.astype(np.float64))
            if not np.isfinite(visits).all():
                return None
            not_visited = self._missing(start, visits)
            missing = (np.abs(not_visited) + entering * np.abs(visits)).astype(np.float64)
            # What is missing somewhere is missing wherever one comes from there; beside nothing it is all.
            errors = factors.solve(missing)
            error = _bounded(errors, missing, self._missing(missing, errors), visits)
            if error <= WANTED_ERROR:
                found = (visits / self.leaving * self.total).astype(np.float64)
                return Visited(found, error + 4.0 * ROUNDING) if np.isfinite(found).all() else None
        return None

    def _solvers(self, start: FloatArray) -> Iterator[Any]:
        """What solves the jump chain: its factors, after products with it if factors would be dense."""
        jumps = self.jumps()
        begins = int(np.argmax(start)) if len(start) else 0
        system = _system(jumps)
        layers = Layers(jumps, begins)
        order = layers.narrow_order() if len(start) > SMALL else None
        if order is None and (layers.fill_in or fills_in_nearby(system, layers)):
            yield Products(jumps, np.diff(self.outside.indptr) > 0)
        # What is no longer needed is as large as the chain, and factors are larger.
        del jumps, layers
        factors = _factors_of(system, order)
        if factors is not None:
            yield factors

    def _entering(self) -> LongArray:
        """What rounding may add to a state's visits: so many terms are added, which amount to twice them."""
        terms = np.bincount(self.inside.indices, minlength=len(self._inner)) + 4
        rounding: LongArray = terms * 2.0 * _LONG_ROUNDING
        return rounding

    def _missing(self, start: FloatArray, visits: LongArray) -> LongArray:
        """How far visits are from those that the start and all jumps lead to."""
        missing: LongArray = start - visits + self.inside.T @ (visits / self.leaving)
        return missing

    def _unpaid(self, spent: FloatArray, values: LongArray) -> LongArray:
        """How far values are from what is spent at once and what comes after the next jump."""
        onwards: Any = self.inside @ values
        unpaid: LongArray = onwards / self.leaving[:, np.newaxis] - values + spent
        return unpaid

    def _by_hubs(self, start: FloatArray, spent: FloatArray) -> tuple[LongArray, FloatArray, float]:
        """The same without a subtraction that matters."""
        jumps, exits = self.jumps(), self.exits()
        hubs, factors = hubs_of(jumps)
        inside, hub = np.flatnonzero(~hubs), np.flatnonzero(hubs)
        visits, values = np.zeros(len(start)), np.zeros(spent.shape)
        if not len(hub):
            visits, values = factors.solve(start), factors.solve(spent, trans="T")
        else:
            to_hub, from_hub = csr_array(jumps[inside][:, hub]), csr_array(jumps[hub][:, inside])
            between = jumps[hub][:, hub].toarray()
            leaving, paid, begun = exits[hub], spent[hub], start[hub]
            first = np.zeros(0)
            if len(inside):
                # What happens between two hubs: where it leads, what it costs, and how it begins.
                for column in range(0, len(hub), _COLUMNS_AT_ONCE):
                    some = slice(column, column + _COLUMNS_AT_ONCE)
                    between[:, some] += from_hub @ factors.solve(to_hub[:, some].toarray(), trans="T")
                leaving = leaving + from_hub @ factors.solve(exits[inside], trans="T")
                paid = paid + from_hub @ factors.solve(spent[inside], trans="T")
                first = factors.solve(start[inside])
                begun = begun + to_hub.T @ first
            visits[hub], values[hub] = eliminated(between, leaving, begun, paid)
            if len(inside):
                visits[inside] = first + factors.solve(from_hub.T @ visits[hub])
                values[inside] = factors.solve(spent[inside] + to_hub @ values[hub], trans="T")
        there, back = spent.T @ visits, start @ values
        error = max(relative(np.abs(there - back), there), 8.0 * ROUNDING / LEAST_PIVOT)
        return visits.astype(np.longdouble), values, error


def _entries(
    rows: csr_array, source: IntArray, kept: BoolArray, columns: npt.NDArray[Any], width: int
) -> csr_array:
    """The entries `kept` of a matrix, in other columns."""
    counts = np.bincount(source[kept], minlength=rows.shape[0])
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return csr_array((rows.data[kept], columns[kept], pointers), shape=(rows.shape[0], width))


def factorised(jumps: csr_array, nudge: float = 0.0) -> Any:
    """The factors of the transpose of ``I - jumps``, or None if it is singular in double precision."""
    return _factors_of(_system(jumps, nudge))


def _factors_of(system: csr_array, order: IntArray | None = None) -> Any:
    try:
        return eliminate(system) if order is None else OrderedFactors(system, order)
    except RuntimeError:
        return None


def _system(jumps: csr_array, nudge: float = 0.0) -> csr_array:
    """``I - jumps``, and something on the diagonal."""
    # One expression, so that no step towards the matrix is kept.
    return csr_array((1.0 + nudge) * eye_array(jumps.shape[0], format="csr") - jumps)


class Products:
    """In place of factors that would be dense: products with the system, see :mod:`hcssp.cssp.krylov`.

    The system is preconditioned by a Gauss-Seidel sweep in the order of the number of jumps to the end. A
    chain that heads for its end is solved by a few sweeps; one that leads anywhere by a few products.

    Parameters
    ----------
    jumps
        The jump chain among the inner states.
    ends
        From where it may be absorbed with the next jump.
    """

    def __init__(self, jumps: csr_array, ends: BoolArray) -> None:
        self._order = _by_distance(jumps, ends)
        system = csr_array(_system(jumps)[self._order][:, self._order])
        # The transpose of a CSR matrix is the same arrays read as CSC.
        lower = csc_array(tril(system, format="csr").T)
        self._sweep = factorise(lower, "NATURAL", diag_pivot_thresh=0.0)
        self._systems = {"T": system, "N": csr_array(system.T)}

    def solve(self, right: FloatArray, trans: Literal["N", "T"] = "N") -> FloatArray:
        """``x`` with ``x - x @ jumps = right``, transposed ``x - jumps @ x = right``; nan if too slow."""
        swept = _Swept(self._systems[trans], self._sweep, trans)
        found = np.full(right.shape, np.nan)
        # One right-hand side after another, each in the place of its solution.
        columns = right[self._order].reshape(len(right), -1).T
        for column, solution in zip(columns, found.reshape(len(right), -1).T, strict=True):
            begin = self._sweep.solve(column, trans=trans)
            solved = solve_by_products(swept, begin, np.zeros(len(right)), RESIDUAL)
            if solved is not None:
                solution[self._order] = solved
        return found


@dataclass(frozen=True, eq=False)
class _Swept:
    """A product with a matrix, and a sweep after it."""

    matrix: csr_array
    sweep: Any
    trans: Literal["N", "T"]

    def __matmul__(self, right: FloatArray) -> FloatArray:
        swept: FloatArray = self.sweep.solve(self.matrix @ right, trans=self.trans)
        return swept


def _by_distance(jumps: csr_array, ends: BoolArray) -> IntArray:
    """The states in the order of the number of jumps to the end."""
    count = jumps.shape[0]
    into = csr_array(jumps.T)
    # One node more, the end, from which a search goes backwards.
    heads = np.concatenate([into.indices, np.flatnonzero(ends)])
    pointers = np.append(into.indptr, len(heads))
    order, _ = breadth_first_order(csr_array((np.ones(len(heads)), heads, pointers), (count + 1,) * 2), count)
    return order[1:].astype(np.int64)


def hubs_of(jumps: csr_array) -> tuple[BoolArray, Any]:
    """States without which no pivot is small, and the factors of the others."""
    hubs = np.zeros(jumps.shape[0], dtype=np.bool_)
    while not hubs.all():
        inside = np.flatnonzero(~hubs)
        among = csr_array(jumps[inside][:, inside])
        factors = factorised(among)
        slow = pivots(factors if factors is not None else factorised(among, NUDGE)) < LEAST_PIVOT
        if factors is None and not slow.any():
            slow[:] = True
        if not slow.any():
            return hubs, factors
        hubs[inside[slow]] = True
    return hubs, None


def pivots(factors: Any) -> FloatArray:
    """The pivot of each state; none at all where the elimination did not keep to the diagonal."""
    diagonal: FloatArray = factors.U.diagonal()[factors.perm_c]
    return np.where((factors.perm_r == factors.perm_c) & np.isfinite(diagonal), diagonal, 0.0)


def eliminated(
    jumps: FloatArray, exits: FloatArray, start: FloatArray, costs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Visits and values of a small chain by Grassmann, Taksar and Heyman's elimination.

    >>> back_and_forth = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> exits, start = np.array([0.0, 1e-18]), np.array([1.0, 0.0])
    >>> visits, values = eliminated(back_and_forth, exits, start, np.ones((2, 1)))
    >>> visits.tolist(), values[0].tolist()
    ([1e+18, 1e+18], [2e+18])

    Parameters
    ----------
    jumps, exits
        The probabilities of going from state to state, and of being absorbed; rows are proportions.
    start
        The probability of starting in each state.
    costs
        The costs of a visit, one column a cost.
    """
    jumps, exits, start, costs = jumps.copy(), exits.copy(), start.copy(), costs.copy()
    size = len(exits)
    total = jumps.sum(axis=1) + exits
    costs *= total[:, np.newaxis]
    # From the last state to the first: whoever would enter it goes on to where it leads.
    leaving = np.zeros(size)
    for state in range(size - 1, -1, -1):
        leaving[state] = jumps[state, :state].sum() + exits[state]
        onwards = jumps[:state, state] / leaving[state]
        jumps[:state, :state] += np.outer(onwards, jumps[state, :state])
        exits[:state] += onwards * exits[state]
        costs[:state] += np.outer(onwards, costs[state])
        start[:state] += start[state] / leaving[state] * jumps[state, :state]
    departures, values = np.zeros(size), np.zeros(costs.shape)
    for state in range(size):
        departures[state] = (start[state] + departures[:state] @ jumps[:state, state]) / leaving[state]
        values[state] = (costs[state] + jumps[state, :state] @ values[:state]) / leaving[state]
    return departures * total, values


def _bounded(errors: FloatArray, right: FloatArray, residual: LongArray, sizes: npt.NDArray[Any]) -> float:
    """A bound on the solution of a system whose inverse is not negative, relative to `sizes`.

    Parameters
    ----------
    errors
        About the solution, however it was computed. If its product with the system is at least a share of the
        right-hand side, it is at least that share of the solution.
    right, residual
        The right-hand side, which is not negative, and how far the product is below it.
    sizes
        What the bound is compared with.
    """
    lacking = relative(np.maximum(residual, 0.0), right)
    if lacking > _MAX_LACKING or np.any(errors < 0.0):
        return float(np.inf)
    return relative(errors / (1.0 - lacking), np.abs(sizes))


def relative(errors: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> float:
    """The largest error relative to the size beside it; nothing of nothing is no error."""
    if not (np.isfinite(errors).all() and np.isfinite(sizes).all()):
        return float(np.inf)
    shares = np.divide(
        errors, sizes, out=np.where(errors > 0.0, np.inf, 0.0).astype(errors.dtype), where=sizes > 0.0
    )
    return float(np.max(shares, initial=0.0))
