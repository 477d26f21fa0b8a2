"""A procedure's chain solved activity by activity: in less memory, and none that was solved just before.

In a separable procedure every event is entered in one state, so that an activity begins anew with every
execution, whatever came before. Its expected costs and visits are those of its own part of the chain, and the
procedure is a chain of a few events whose steps cost what the activities do. The factors of one part are
given back before the next one is looked at; those of the whole chain would lie in memory all at once.

Two policies that are evaluated one after the other mostly differ in a few activities, and so do plans before
and after the world has changed. What was solved last is kept, by what the chain of the activity is.

The errors add up: costs are sums of what is not negative, and each term is off by what its activity's costs
are off and by what the chain of the events adds, relatively.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from hcssp.cssp.absorption import absorb
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.evaluation.chain import InducedChain
from hcssp.numerics import ROUNDING
from hcssp.parallel import parallel_map
from hcssp.procedure.executions import chosen_outcomes, event_graph, executions_from_visits
from hcssp.procedure.policy import ProcedurePolicy

MIN_STATES = 100
"""Chains with fewer states for each activity are solved at once: so many small ones take longer."""

MOST_NUMBERS = 1_000_000
"""So many numbers are kept of the parts that were solved, those of the latest."""

SMALLEST = float(np.nextafter(0.0, 1.0))
"""A cost too small for a number is still a cost."""


@dataclass(frozen=True, eq=False)
class Composed:
    """What a policy costs from the start, how often each flat state is visited, and the relative error."""

    costs: FloatArray
    visits: FloatArray
    error: float


def solved_by_activity(policy: ProcedurePolicy, chain: InducedChain) -> Composed:
    """Solve the proper chain of a policy of a separable procedure.

    Parameters
    ----------
    policy
        The policy.
    chain
        Its chain on the flat states.

    Raises
    ------
    OverflowError
        If an expectation is too large for double precision.
    """
    flattening = policy.problem.flattening
    parts = _parts(policy, chain)
    costs = chain.costs[:, : flattening.num_event_states].copy()
    terms = np.zeros(flattening.num_event_states)
    for state, outcome in chosen_outcomes(policy):
        if outcome.runs in parts and outcome.probability > 0.0:
            totals = parts[outcome.runs].totals
            least = np.where(totals > 0.0, SMALLEST, 0.0)
            costs[:, state] += np.maximum(outcome.probability * totals, least)
            terms[state] += 1.0
    reached = np.flatnonzero(chain.reached[: flattening.num_event_states])
    inner = reached[reached != flattening.end]
    visits = np.where(np.arange(flattening.num_states) == flattening.end, flattening.initial, 0.0)
    totals, error = np.zeros(len(costs)), 0.0
    if len(inner):
        start = flattening.initial[: flattening.num_event_states]
        events = absorb(event_graph(policy), inner, start, costs[:, inner])
        visits[inner] = events.visits
        visits[: flattening.num_event_states] += events.ends
        totals, error = events.totals, events.error
    executions = executions_from_visits(policy, visits)
    for index, part in parts.items():
        visits[part.states] = executions[index] * part.visits
    if not np.isfinite(visits).all():
        raise OverflowError("an expectation of the chain is too large for double precision")
    # A rounding for each term of an event's costs, and a few more, beside what the chains are off.
    most = max((part.error for part in parts.values()), default=0.0)
    rounding = (4.0 + float(terms.max(initial=0.0))) * ROUNDING
    return Composed(totals, visits, (error + most + rounding) * (1.0 + error + most))


class _Part(NamedTuple):
    """An activity's states that are reached, and what one execution costs and visits."""

    states: IntArray
    totals: FloatArray
    visits: FloatArray
    error: float


class _Kept:
    """The parts that were solved last: what an execution costs and visits, and the error."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[FloatArray, FloatArray, float]] = OrderedDict()
        self._numbers = 0
        self._lock = Lock()

    def get(self, key: bytes) -> tuple[FloatArray, FloatArray, float] | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def put(self, key: bytes, totals: FloatArray, visits: FloatArray, error: float) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = totals, visits, error
                self._numbers += len(visits)
            while self._numbers > MOST_NUMBERS:
                self._numbers -= len(self._known.popitem(last=False)[1][1])


_kept = _Kept()


def _parts(policy: ProcedurePolicy, chain: InducedChain) -> dict[int, _Part]:
    """The part of every activity that is executed."""
    flattening = policy.problem.flattening

    def states_of(activity: int) -> IntArray:
        first, last = flattening.state_offset[activity : activity + 2].tolist()
        states: IntArray = np.flatnonzero(chain.reached[first:last]) + first
        return states

    def solved(activity: int) -> _Part:
        states = states_of(activity)
        key = _key(policy, chain, activity)
        known = _kept.get(key)
        if known is None:
            begins = np.zeros(flattening.num_states)
            cssp = flattening.problem.activities[activity].cssp
            acting = np.flatnonzero(~cssp.goals & (cssp.initial > 0.0))
            begins[flattening.flat_state(activity)[acting]] = cssp.initial[acting]
            found = absorb(chain.transitions, states, begins, chain.costs[:, states])
            # The rest of it holds on to the factors.
            known = found.totals, found.visits, found.error
            _kept.put(key, *known)
        return _Part(states, *known)

    executed = [index for index in range(policy.problem.num_activities) if len(states_of(index))]
    return dict(zip(executed, parallel_map(solved, executed, flattening.num_states), strict=True))


def _key(policy: ProcedurePolicy, chain: InducedChain, activity: int) -> bytes:
    """What tells the part of an activity from all others, wherever its states begin."""
    flattening = policy.problem.flattening
    cssp = flattening.problem.activities[activity].cssp
    first, last = flattening.state_offset[activity : activity + 2].tolist()
    rows = chain.transitions
    begin, end = int(rows.indptr[first]), int(rows.indptr[last])
    digest = hashlib.blake2b(digest_size=32)
    for part in (
        rows.indptr[first : last + 1] - begin,
        # From its own first state on; before it and beyond its last one there are events.
        rows.indices[begin:end] - first,
        rows.data[begin:end],
        chain.costs[:, first:last],
        chain.reached[first:last],
        cssp.initial,
        cssp.goals,
    ):
        whole = np.ascontiguousarray(part)
        digest.update(f"{whole.shape} {whole.dtype}".encode())
        digest.update(whole.data)
    return digest.digest()
