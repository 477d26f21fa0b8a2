r"""Scalar SSP by way of the states that good policies touch, above a floor that is known everywhere.

**Problem.** As :mod:`hcssp.ssp.policy_iteration`, with a *floor*: a potential :math:`h` of the whole problem
(:mod:`hcssp.ssp.potential`) for the weights at hand, and a policy near the answer.

**Method.** The *envelope* is a set of states that the present policy does not leave. The policy is evaluated
there, by a factorisation of that part alone, and improved there, where a step out of the envelope is taken to
cost what the floor says. A row that then promises most may lead out, and the envelope grows by where it leads
to. Once nothing improves, the values in the envelope and the floor elsewhere are a potential of the whole:
rows outside hold because they held for :math:`h`, and values are not below it.

**Guarantee.** The policy's costs come from a linear solve. The bound is certified on all rows of the whole
problem. Where the envelope grows too large, or a policy on the way may not end, there is no answer, and the
whole problem has to be solved.

**Reference.** Hansen and Zilberstein, *LAO\*: a heuristic search algorithm that finds solutions with loops*,
2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.reachability import closure
from hcssp.cssp.spans import first_in_each
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import LARGEST_VALUE, Factors
from hcssp.ssp.scalar_problem import ScalarProblem, tie

MAX_ENVELOPE_SHARE = 0.5
"""An envelope with more than this share of the states is not worth it."""

MAX_NEW_SHARE = 0.25
"""The rows of an envelope are picked out anew once it has grown by more than this share."""

MAX_ROUNDS = 60
RAISING_SWEEPS = 20

SMALL_ENVELOPE = 400
"""A factorisation of so few states takes no longer than sweeps do, and it does not pay to keep their rows."""

SWEEPS = 60
ENVELOPE_SWEEP_TOLERANCE = 1e-7
"""So many sweeps bring values near a policy's, fewer if they change by no more than this, relatively."""

MAX_RESIDUAL = 1e-9
"""Values whose residual is larger, relative to the largest value, are not trusted: the policy hardly ends."""


@dataclass(frozen=True, eq=False)
class EnvelopeOptimum:
    """The best policy of a region under given weights.

    Attributes
    ----------
    rows
        A row for each live state; outside of the envelope it does not matter which.
    states, values
        The live states of the envelope, and the policy's expected costs to go from each.
    potential
        What proves the bound: a number for each live state.
    bound
        A certified lower bound on the weighted cost of every policy of the region.
    visits
        Expected visits of each state of the envelope; None if the policy is the one that was given.
    """

    rows: IntArray
    states: IntArray
    values: FloatArray
    potential: FloatArray
    bound: float
    visits: FloatArray | None = None


def minimise_above(
    problem: ScalarProblem,
    floor: FloatArray,
    rows: IntArray,
    reached: BoolArray,
    values: FloatArray | None = None,
    precision: float = 0.0,
) -> EnvelopeOptimum | None:
    """The best policy of the region, or None if that is not to be found so.

    Parameters
    ----------
    problem
        The weights and the region.
    floor
        A potential of the whole problem under these weights.
    rows, reached, values
        A policy near the answer, the states it touches, and its expected costs to go from each of those,
        where they are known. It may use rows that the region forbids.
    precision
        The share of the bound that may be lost where that saves work.
    """
    visits = None
    envelope = _Envelope(problem, floor, rows.copy(), reached.copy())
    states = np.flatnonzero(reached)
    if values is not None:
        envelope.take(states, values @ problem.weights)
    if problem.allowed is not None and not np.all(problem.allowed[rows[states]]):
        envelope.switch(states[~problem.allowed[rows[states]]])
        values = None
    for _ in range(MAX_ROUNDS):
        states = np.flatnonzero(envelope.inside)
        if envelope.is_stuck or len(states) > MAX_ENVELOPE_SHARE * problem.balance.num_live:
            return None
        if values is None:
            if len(states) > SMALL_ENVELOPE:
                # Rough values tell where to go; a factorisation is for the end of the way.
                wrong = envelope.improvable(states, envelope.sweep(states))
                if len(wrong):
                    envelope.switch(wrong)
                    continue
            evaluated = envelope_values(problem.balance, states, envelope.rows)
            if evaluated is None:
                # The floor is so low that going in circles looks cheap.
                envelope.raise_floor(states)
                envelope.switch(states)
                continue
            values, visits = evaluated
            envelope.take(states, values @ problem.weights)
        wrong = envelope.improvable(states)
        if len(wrong) == 0:
            bound = problem.lower_bound(problem.estimate(envelope.potential), precision)
            return EnvelopeOptimum(envelope.rows, states, values, envelope.potential, bound, visits)
        envelope.switch(wrong)
        values = None
    return None


class _Envelope:
    """States that a policy does not leave, and a potential of the whole problem above the floor.

    Attributes
    ----------
    rows, inside
        The policy, and the states of the envelope.
    potential
        The values of the policy before its last switches in the envelope, and the floor elsewhere.
    is_stuck
        Whether the region allows no row in some state of the envelope.
    """

    def __init__(self, problem: ScalarProblem, floor: FloatArray, rows: IntArray, inside: BoolArray) -> None:
        self._problem = problem
        self._balance = problem.balance
        self._floor = floor.copy()
        self.rows = rows
        self.inside = inside
        self.potential = floor.copy()
        self.is_stuck = False
        self._kept: _Rows | None = None

    def take(self, states: IntArray, values: FloatArray) -> None:
        """The policy has these `values` in the envelope's `states`."""
        self.potential = self._floor.copy()
        self.potential[states] = np.maximum(self._floor[states], values)

    def raise_floor(self, states: IntArray) -> None:
        """Bellman sweeps over `states`, from the floor upwards: what comes out is a higher floor."""
        self.potential = self._floor
        for _ in range(RAISING_SWEEPS):
            _, least, _ = self._best(states)
            self._floor[states] += np.where(np.isfinite(least), np.maximum(least, 0.0), 0.0)
        self.potential = self._floor.copy()

    def sweep(self, states: IntArray) -> float:
        """Bring the potential near the policy's values; how far it may be off, about."""
        own = self.rows[states]
        system, costs = _part(self._balance, states, own), self._problem.row_costs[own]
        value, off = self.potential[states], 0.0
        for _ in range(SWEEPS):
            change = costs - system @ value
            value += change
            off = float(np.max(np.abs(change), initial=0.0))
            if off <= ENVELOPE_SWEEP_TOLERANCE * float(np.max(value, initial=0.0)):
                break
        self.take(states, value)
        return 10.0 * off

    def improvable(self, states: IntArray, off: float = 0.0) -> IntArray:
        """Those of `states` where some row is better than the policy's, if its values may be `off`."""
        wrong: IntArray = states[self._least(states) < -tie(self.potential)[states] - off]
        return wrong

    def _least(self, states: IntArray) -> FloatArray:
        """The least reduced cost of each state of the envelope."""
        if len(states) <= SMALL_ENVELOPE:
            return self._best(states)[1]
        kept = self._kept
        if kept is None or len(states) > (1.0 + MAX_NEW_SHARE) * len(kept.states):
            kept = self._kept = _Rows.of(self._problem, states)
        least = kept.least(self.potential)
        if len(states) == len(kept.states):
            return least
        # The envelope has grown, and never shrinks.
        every = np.full(self._balance.num_live, np.nan)
        every[kept.states] = least
        new = states[np.isnan(every[states])]
        every[new] = self._best(new)[1]
        return every[states]

    def switch(self, states: IntArray) -> None:
        """Take the most promising rows in `states`, and in those outside that they lead to."""
        while len(states):
            best, _, stuck = self._best(states)
            self.is_stuck |= stuck
            self.rows[states] = best
            self.inside[states] = True
            successors = self._balance.successors(best)
            states = np.unique(successors[~self.inside[successors]])

    def _best(self, states: IntArray) -> tuple[IntArray, FloatArray, bool]:
        """The first best row of each state, its reduced cost, and whether some state has none at all."""
        balance, problem = self._balance, self._problem
        rows, begins, counts = balance.rows_of(states)
        reduced = problem.row_costs[rows] - balance.times(rows, self.potential[:, np.newaxis])[:, 0]
        if problem.allowed is not None:
            reduced[~problem.allowed[rows]] = np.inf
        least = np.minimum.reduceat(reduced, begins)
        first = first_in_each(reduced == np.repeat(least, counts), begins)
        return rows[first], least, bool(np.isinf(least).any())


class _Rows(NamedTuple):
    """The rows of some states, picked out once to be looked at under many potentials.

    Attributes
    ----------
    states, begins
        The states, and where the rows of each begin.
    costs, matrix
        Of each row; the cost is ``inf`` where it is forbidden.
    """

    states: IntArray
    begins: IntArray
    costs: FloatArray
    matrix: SparseMatrix

    @classmethod
    def of(cls, problem: ScalarProblem, states: IntArray) -> _Rows:
        rows, begins, _ = problem.balance.rows_of(states)
        costs = problem.row_costs[rows]
        if problem.allowed is not None:
            costs[~problem.allowed[rows]] = np.inf
        return cls(states, begins, costs, problem.balance.matrix[rows])

    def least(self, potential: FloatArray) -> FloatArray:
        """The least reduced cost of each state."""
        least: FloatArray = np.minimum.reduceat(self.costs - self.matrix @ potential, self.begins)
        return least


def envelope_values(
    balance: Balance, states: IntArray, rows: IntArray
) -> tuple[FloatArray, FloatArray] | None:
    """Expected costs to go in `states`, which the policy `rows` does not leave, and the visits of each.

    None if it may not end.
    """
    costs = np.ascontiguousarray(balance.costs[:, rows[states]].T)
    factors = envelope_factors(balance, states, rows)
    if factors is None:
        return None
    values = factors.solve(costs)
    largest = costs.max(axis=0, initial=0.0)
    if not np.all((values >= -MAX_RESIDUAL * largest) & (values <= LARGEST_VALUE * largest)):
        return None
    return np.maximum(values, 0.0), _visits(factors, balance, states)


def envelope_visits(balance: Balance, states: IntArray, rows: IntArray) -> FloatArray:
    """Expected visits of each of `states`, which the policy `rows` does not leave."""
    factors = envelope_factors(balance, states, rows)
    return np.zeros(len(states)) if factors is None else _visits(factors, balance, states)


def envelope_reached(balance: Balance, states: IntArray, rows: IntArray) -> BoolArray:
    """Which live states the policy `rows`, which does not leave `states`, enters, however improbably."""
    reached = np.zeros(balance.num_live, dtype=np.bool_)
    reached[states] = closure(_part(balance, states, rows[states]), balance.initial[states] > 0.0)
    return reached


def _visits(factors: Factors, balance: Balance, states: IntArray) -> FloatArray:
    return np.maximum(factors.solve_transposed(balance.initial[states]), 0.0)


def envelope_factors(balance: Balance, states: IntArray, rows: IntArray) -> Factors | None:
    """The factors of the policy's system in `states`; None if it is singular."""
    try:
        return Factors.of(_part(balance, states, rows[states]))
    except RuntimeError:
        return None


def _part(balance: Balance, states: IntArray, rows: IntArray) -> SparseMatrix:
    """The system of `rows`, one for each of `states`, which they do not leave."""
    system = balance.matrix[rows]
    number = np.zeros(balance.num_live, dtype=system.indices.dtype)
    number[states] = np.arange(len(states))
    return csr_array((system.data, number[system.indices], system.indptr), shape=(len(states), len(states)))
