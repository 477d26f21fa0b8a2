r"""How often each activity is executed: :math:`L(E \mid \rho)`.

It is the expected number of executions: a probability where the procedure has no cycle, and perhaps more
than one where it retries. Where every event is entered in one way it depends on the choices only and is
the solution of one small linear system over the events. Where an activity's exit decides what follows,
it depends on the activities' policies too, and the system is that of the policy's whole chain.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.absorption import absorb
from hcssp.cssp.model import FloatArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.errors import CostOverflow, ImproperPolicy
from hcssp.procedure.chain import policy_chain, square
from hcssp.procedure.elements import Outcome
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.policy import ProcedurePolicy


def expected_executions(policy: ProcedurePolicy) -> FloatArray:
    """The expected number of executions of each activity under a policy.

    For a separable problem only the policy's choices are looked at.

    Raises
    ------
    ImproperPolicy
        If the policy does not reach the end almost surely.
    CostOverflow
        If it does so too late for a number.
    """
    flattening = policy.problem.flattening
    graph = event_graph(policy) if flattening.separable else square(policy_chain(policy)[0])
    visits = _expected_visits(graph, flattening)
    return executions_from_visits(policy, visits[: flattening.num_event_states])


def executions_from_visits(policy: ProcedurePolicy, visits: FloatArray) -> FloatArray:
    """The expected executions, given how often each event state is visited."""
    executions = np.zeros(policy.problem.num_activities)
    for state, outcome in chosen_outcomes(policy):
        if outcome.runs is not None:
            executions[outcome.runs] += visits[state] * outcome.probability
    return executions


def chosen_outcomes(policy: ProcedurePolicy) -> Iterator[tuple[int, Outcome]]:
    """The event states in which a policy chooses, each with every outcome of what it chooses there."""
    flattening, choices = policy.problem.flattening, policy.problem.choices
    for state, row in enumerate(policy.rows[: flattening.num_event_states].tolist()):
        if row != NO_ROW:
            for outcome in choices[int(flattening.event_row_choice[row])].outcomes:
                yield state, outcome


def event_graph(policy: ProcedurePolicy) -> csr_array:
    """The chain over the events alone, with every activity as a single step."""
    flattening = policy.problem.flattening
    entries = [
        (state, flattening.event_state(outcome.event), outcome.probability)
        for state, outcome in chosen_outcomes(policy)
        if outcome.probability > 0
    ]
    tails, heads, probabilities = zip(*entries, strict=True) if entries else ((), (), ())
    shape = (flattening.num_event_states,) * 2
    return csr_array((np.array(probabilities, dtype=np.float64), (tails, heads)), shape=shape)


def _expected_visits(graph: csr_array, flattening: Flattening) -> FloatArray:
    """How often each state is visited from the start: x with x = start + graph' x, where it is finite."""
    states = np.arange(graph.shape[0])
    found = closure(graph, states == flattening.start)
    stuck = np.flatnonzero(found & ~closure(csr_array(graph.T), states == flattening.end))
    if len(stuck):
        label = flattening.state_labels[int(stuck[0])]
        end = flattening.problem.events[flattening.problem.end]
        raise ImproperPolicy(
            f"the policy never gets from {label!r} to the end {end!r}: its expected executions are not finite"
        )
    inner = np.flatnonzero(found & (states != flattening.end))
    start = np.where(states == flattening.start, 1.0, 0.0)
    visits = np.where(states == flattening.end, start, 0.0)
    if len(inner):
        try:
            chain = absorb(graph, inner, start, np.ones((1, len(inner))))
        except OverflowError as error:
            raise CostOverflow("the policy's expected executions are too large for a number") from error
        visits[inner] = chain.visits
        visits += chain.ends
    return visits
