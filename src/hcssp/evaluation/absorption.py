r"""Absorbing Markov chains: expected visits and costs-to-go, however long the absorption takes.

Problem: a chain that is absorbed almost surely, but perhaps after 1e15 steps. The textbook's
:math:`(I - Q)^{-1}` is then nearly singular, and an answer in double precision has no digit that is right,
though the answer itself is no more sensitive to the probabilities than any other: it is a sum of products of
them, divided by probabilities of leaving.

Method: never subtract.

- A state is left sooner or later, so its self-loop only says how long that takes. What is solved is the
  *jump chain*, whose probabilities are those of leaving, in proportion: nothing is computed as one minus a
  self-loop, and a row whose sum differs from one by rounding is normalised as well.
- That system is factorised, or solved by products with it where factors would be dense, and its solution is
  refined with residuals in extended precision. The inverse is not negative, so an error bound is verified
  like a solution: if :math:`(I - Q) e \ge (1 - \delta) r` holds for the absolute residual :math:`r`, then
  :math:`e / (1 - \delta)` bounds the error, however :math:`e` was computed.
- Where that bound is not small, the cause are states to which the chain returns often: those whose pivots
  are small. These *hubs* are taken out; the other states are left soon and are factorised. The hubs form a
  small chain, with the probabilities of going from one hub to the next. It is eliminated state by state by
  the method of Grassmann, Taksar and Heyman, in which every pivot is a sum of probabilities of leaving.

Reference: Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye 2002.

>>> a_billion_tries = csr_array(np.array([[1.0 - 1e-9, 1e-9], [0.0, 0.0]]))
>>> found = absorb(a_billion_tries, np.array([0]), np.array([1.0, 0.0]), np.array([[3.0]]))
>>> round(float(found.totals[0])), found.error < 1e-12
(3000000000, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.deadline import keep_time
from hcssp.evaluation.linear_systems import (
    Layers,
    Products,
    algebra_for,
    by_distance,
    eliminate,
)
from hcssp.numerics import LEAST_PIVOT, MAX_LACKING, NUDGE, ROUNDING, WANTED_ERROR

LongArray = npt.NDArray[np.longdouble]

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
        For every state the probability of being absorbed there; 0 at inner states.
    values
        The cost-to-go of each inner state, one column per cost.
    totals
        The expected sum of each cost from the start. It is exactly 0 only if no inner state costs
        anything.
    error
        How far off the totals may be, relatively.
    """

    visits: FloatArray
    ends: FloatArray
    values: FloatArray
    totals: FloatArray
    error: float


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
        # A cost that underflows is still a cost: only the graph decides whether it is 0.
        totals = np.maximum(totals, np.where(costs.any(axis=1), np.nextafter(0.0, 1.0), 0.0))
        visits = (departures * self.total).astype(np.float64)
        return Absorbed(visits, ends.astype(np.float64), values, totals, error)

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
        # At first the whole right-hand sides are missing.
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
            # A state that is rarely reached from the start needs a precise cost-to-go as well.
            errors = factors.solve(unpaid, trans="T")
            anywhere = _bounded(errors, unpaid, self._unpaid(unpaid, errors), values)
            if error <= WANTED_ERROR and anywhere <= WANTED_ERROR:
                return np.maximum(visits, 0.0), np.maximum(values, 0.0).astype(np.float64), error
        return None

    def _solvers(self, start: FloatArray) -> Iterator[Any]:
        """What solves the jump chain: its factors, after products with it if factors would be dense."""
        jumps = self.jumps()
        system = chain_system(jumps)
        layers = Layers(jumps, int(np.argmax(start)) if len(start) else 0)
        algebra = algebra_for(layers, lambda: system)
        if algebra.by_products:
            yield Products(system, by_distance(jumps, np.diff(self.outside.indptr) > 0))
        # What is no longer needed is as large as the chain, and factors are larger.
        del jumps, layers
        factors = _factors_of(system)
        if factors is not None:
            yield factors

    def _entering(self) -> LongArray:
        """What rounding may add to a state's visits: the number of terms times twice the unit roundoff."""
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
                # Between two hubs: the next hub, the costs on the way, and the first hub of a run.
                for column in range(0, len(hub), _COLUMNS_AT_ONCE):
                    keep_time()
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
    return _factors_of(chain_system(jumps, nudge))


def _factors_of(system: csr_array) -> Any:
    try:
        return eliminate(system)
    except RuntimeError:
        return None


def chain_system(jumps: csr_array, nudge: float = 0.0) -> csr_array:
    """``I - jumps``, and something on the diagonal."""
    # Jumps have no self-loops: the diagonal comes last in every row, and the rows are sorted afterwards.
    ends = jumps.indptr[1:]
    states = np.arange(len(ends), dtype=jumps.indices.dtype)
    data = np.insert(-jumps.data, ends, 1.0 + nudge)
    system = csr_array(
        (data, np.insert(jumps.indices, ends, states), jumps.indptr + np.arange(len(ends) + 1)),
        shape=jumps.shape,
    )
    system.sum_duplicates()
    return system


def hubs_of(jumps: csr_array) -> tuple[BoolArray, Any]:
    """States without which no pivot is small, and the factors of the others."""
    hubs = np.zeros(jumps.shape[0], dtype=np.bool_)
    while not hubs.all():
        keep_time()
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
    # From the last state to the first: what would enter it goes to its successors instead.
    leaving = np.zeros(size)
    for state in range(size - 1, -1, -1):
        keep_time()
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
    if lacking > MAX_LACKING or np.any(errors < 0.0):
        return float(np.inf)
    return relative(errors / (1.0 - lacking), np.abs(sizes))


def relative(errors: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> float:
    """The largest error relative to its size; 0 relative to 0 is no error."""
    if not (np.isfinite(errors).all() and np.isfinite(sizes).all()):
        return float(np.inf)
    shares = np.divide(
        errors, sizes, out=np.where(errors > 0.0, np.inf, 0.0).astype(errors.dtype), where=sizes > 0.0
    )
    return float(np.max(shares, initial=0.0))
