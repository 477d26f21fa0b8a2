"""A procedure's policy evaluated activity by activity: in less memory, and none that was solved just before.

In a separable procedure every event is entered in one state, so that an activity begins anew with every
execution, whatever came before. Its expected costs and visits are those of its own chain, and the procedure
is a chain of a few events whose steps cost what the activities do. The flat chain is never made, and the
factors of one activity are given back before the next one is looked at.

Two policies that are evaluated one after the other mostly differ in a few activities, and so do plans before
and after the world has changed. How often an activity visits its states does not depend on what that costs;
what was solved last is kept, by the moves of its chain.

The errors add up: costs are sums of what is not negative, and each term is off by what its activity's costs
are off and by what the chain of the events adds, relatively.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import Absorbed, Visited, absorb, require_finite
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.evaluation.own_chain import OwnChain
from hcssp.numerics import ROUNDING
from hcssp.parallel import parallel_map
from hcssp.procedure.executions import chosen_outcomes, event_graph, executions_from_visits
from hcssp.procedure.policy import ProcedurePolicy

MIN_STATES = 100
"""Chains with fewer states for each activity are solved at once: so many small ones take longer."""

MOST_NUMBERS = 1_000_000
"""So many numbers are kept of the activities that were solved, those of the latest."""

SMALLEST = float(np.nextafter(0.0, 1.0))
"""A cost too small for a number is still a cost."""


@dataclass(frozen=True, eq=False)
class Composed:
    """What a policy costs from the start, and what it is composed of.

    Attributes
    ----------
    costs
        The expected costs.
    visits
        How often each flat state is visited.
    error
        How far off the costs may be, relatively.
    executions
        How often each activity is executed.
    shares
        What all executions of each activity cost.
    """

    costs: FloatArray
    visits: FloatArray
    error: float
    executions: FloatArray
    shares: list[FloatArray]


class _Part(NamedTuple):
    """What one execution of an activity costs and visits: those of its states that act and are reached."""

    states: IntArray
    totals: FloatArray
    visits: FloatArray
    error: float


class _Course(NamedTuple):
    """The states that one execution of an activity comes to, and how often, whatever that costs."""

    inner: IntArray
    visited: Visited


def composed(policy: ProcedurePolicy) -> Composed | None:
    """Evaluate a policy of a separable procedure; None if it does not reach the end almost surely.

    Raises
    ------
    OverflowError
        If an expectation is too large for double precision.
    """
    flattening, found = policy.problem.flattening, _events(policy)
    if found is None:
        return None
    visits = np.where(np.arange(flattening.num_states) == flattening.end, flattening.initial, 0.0)
    totals, error = np.zeros(1 + policy.problem.num_constraints), 0.0
    if found.chain is not None:
        visits[found.inner] = found.chain.visits
        visits[: flattening.num_event_states] += found.chain.ends
        totals, error = found.chain.totals, found.chain.error
    executions = executions_from_visits(policy, visits)
    shares = [np.zeros(len(totals)) for _ in executions]
    for index, part in found.parts.items():
        visits[flattening.state_offset[index] + part.states] = executions[index] * part.visits
        shares[index] = executions[index] * part.totals
    require_finite(visits)
    # A rounding for each term of an event's costs, and a few more, beside what the chains are off.
    most = max((part.error for part in found.parts.values()), default=0.0)
    rounding = (4.0 + found.terms) * ROUNDING
    return Composed(totals, visits, (error + most + rounding) * (1.0 + error + most), executions, shares)


def to_come(policy: ProcedurePolicy, states: Sequence[int]) -> FloatArray:
    """What each cost comes to from some flat states on, a row each; nan where the policy never goes.

    Parameters
    ----------
    policy
        A policy of a separable procedure that reaches the end almost surely.
    states
        Of events, or of activities.

    Raises
    ------
    OverflowError
        If an expectation is too large for double precision.
    """
    flattening, found = policy.problem.flattening, _events(policy)
    if found is None:
        raise ValueError("the policy does not reach the end almost surely")
    num_events, width = flattening.num_event_states, 1 + policy.problem.num_constraints
    after = np.full((num_events, width), np.nan)
    after[flattening.end] = 0.0
    if found.chain is not None:
        after[found.inner] = found.chain.values
    answers = np.full((len(states), width), np.nan)
    for row, state in enumerate(states):
        if state < num_events:
            answers[row] = after[state]
            continue
        activity = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
        if activity not in found.parts:
            continue
        own, part = OwnChain.of(policy, activity), found.parts[activity]
        there = part.states == state - int(flattening.state_offset[activity])
        if there.any():
            inner = np.flatnonzero(~own.cssp.goals)[part.states]
            # Wherever it ends, the same event follows.
            _, event = flattening.exits(activity)[0]
            answers[row] = own.solved(inner).values[there][0] + after[event]
    return answers


class _Events(NamedTuple):
    """The chain of the events of a policy.

    Attributes
    ----------
    parts
        The activities that are executed.
    inner
        The event states that are reached, but for the end.
    chain
        What comes of them, their activities' costs included; None if there are none.
    terms
        How many activities follow an event at most.
    """

    parts: dict[int, _Part]
    inner: IntArray
    chain: Absorbed | None
    terms: float


def _events(policy: ProcedurePolicy) -> _Events | None:
    """The chain of a policy's events; None if it does not reach the end almost surely."""
    flattening = policy.problem.flattening
    if not all(flattening.is_entered(outcome.event) for _, outcome in chosen_outcomes(policy)):
        return None
    graph = event_graph(policy)
    events = np.arange(flattening.num_event_states)
    reached = closure(graph, events == flattening.start)
    if (reached & ~closure(csr_array(graph.T), events == flattening.end)).any():
        return None
    parts = _parts(policy, frozenset(np.flatnonzero(reached).tolist()))
    if parts is None:
        return None
    costs = np.zeros((1 + policy.problem.num_constraints, len(events)))
    chosen = policy.rows[: len(events)]
    costs[:, chosen != NO_ROW] = flattening.event_costs[:, chosen[chosen != NO_ROW]]
    terms = np.zeros(len(events))
    for state, outcome in chosen_outcomes(policy):
        if outcome.runs in parts and outcome.probability > 0.0:
            totals = parts[outcome.runs].totals
            least = np.where(totals > 0.0, SMALLEST, 0.0)
            costs[:, state] += np.maximum(outcome.probability * totals, least)
            terms[state] += 1.0
    inner = np.flatnonzero(reached & (events != flattening.end))
    chain = absorb(graph, inner, flattening.initial[: len(events)], costs[:, inner]) if len(inner) else None
    return _Events(parts, inner, chain, float(terms.max(initial=0.0)))


class _Kept:
    """The courses that were solved last."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Course] = OrderedDict()
        self._numbers = 0
        self._lock = Lock()

    def get(self, key: bytes) -> _Course | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def put(self, key: bytes, course: _Course) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = course
                self._numbers += len(course.inner)
            while self._numbers > MOST_NUMBERS:
                self._numbers -= len(self._known.popitem(last=False)[1].inner)


_kept = _Kept()


def _parts(policy: ProcedurePolicy, reached: frozenset[int]) -> dict[int, _Part] | None:
    """Every activity that is executed in the event states `reached`; None if one does not end."""
    executed = sorted(
        {
            outcome.runs
            for state, outcome in chosen_outcomes(policy)
            if state in reached and outcome.runs is not None and outcome.probability > 0.0
        }
    )
    found: dict[int, _Part] = {}
    states = policy.problem.flattening.num_states
    parts = parallel_map(lambda index: _part(policy, index), executed, states)
    for index, part in zip(executed, parts, strict=True):
        if part is None:
            return None
        found[index] = part
    return found


def _part(policy: ProcedurePolicy, activity: int) -> _Part | None:
    """One execution of an activity under a policy; None if it may never end."""
    own = OwnChain.of(policy, activity)
    key = own.key()
    known = _kept.get(key)
    if known is None:
        inner = own.reached()
        if inner is None:
            return None
        found = own.visited(inner)
        if found is None:
            # So long that it takes more care, and then the costs are solved for as well.
            chain = own.solved(inner)
            return _Part(own.numbers(inner), chain.totals, chain.visits, chain.error)
        known = _Course(inner, found)
        _kept.put(key, known)
    visits, error = known.visited
    spent = own.spent(known.inner)
    totals = (spent.astype(np.longdouble) @ visits.astype(np.longdouble)).astype(np.float64)
    require_finite(totals)
    totals = np.maximum(totals, np.where(spent.any(axis=1), SMALLEST, 0.0))
    return _Part(own.numbers(known.inner), totals, visits, error + 4.0 * ROUNDING)
