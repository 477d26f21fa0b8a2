"""The Markov chain that a hierarchical policy makes of the flat problem.

Only the rows that the policy uses are looked at, so that a policy of a large procedure can be examined
without making the flat problem with all its actions.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.procedure.flattening import stack_entries
from hcssp.procedure.policy import ProcedurePolicy


def policy_chain(policy: ProcedurePolicy) -> tuple[CSSP, DeterministicPolicy]:
    """The flat problem without the actions that `policy` does not take, and the policy there.

    Returns
    -------
    tuple
        A C-SSP with the same states and costs, in which a state has its row of the policy or none, and
        the only policy it has.
    """
    problem, rows = policy.problem, policy.rows
    flattening = problem.flattening
    taken = rows != NO_ROW
    events = rows[: flattening.num_event_states]
    chosen = events[events != NO_ROW]
    first_rows = flattening.event_transitions[chosen]
    blocks = [(first_rows.data, first_rows.indices, first_rows.indptr)]
    costs = [flattening.event_costs[:, chosen]]
    paid: list[tuple[int, TransitionCosts | None]] = []
    first_row = len(chosen)
    for activity in range(problem.num_activities):
        first, last = flattening.state_offset[activity : activity + 2]
        local = rows[first:last][taken[first:last]] - flattening.row_offset[activity]
        blocks.append(flattening.activity_entries(activity, local))
        costs.append(flattening.activity_costs(activity, local))
        paid.append((first_row, flattening.activity_transition_costs(activity, local)))
        first_row += len(local)
    row_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(taken)])
    goals = np.zeros(flattening.num_states, dtype=np.bool_)
    goals[flattening.end] = True
    chain = CSSP.unchecked(
        transitions=stack_entries(blocks, flattening.num_states),
        row_start=row_start,
        costs=np.hstack(costs),
        initial=flattening.initial,
        goals=goals,
        cost_names=flattening.cost_names,
        bounds=problem.bounds,
        state_labels=flattening.state_labels,
        transition_costs=TransitionCosts.stacked(paid),
    )
    return chain, DeterministicPolicy(chain, np.where(taken, row_start[:-1], NO_ROW))


def square(chain: CSSP) -> csr_array:
    """The chain's transitions from state to state; a state without a row leads nowhere."""
    transitions = chain.transitions
    pointers = transitions.indptr[chain.row_start]
    return csr_array((transitions.data, transitions.indices, pointers), shape=(chain.num_states,) * 2)
