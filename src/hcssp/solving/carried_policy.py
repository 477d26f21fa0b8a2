"""What a plan does, said of a problem that has most names in common with its own.

The world has changed, or only the rest of a procedure is to be planned; what the old plan did there is a good
guess, and perhaps still a plan.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from hcssp.contract.memory import Problem
from hcssp.contract.progress import Policy
from hcssp.cssp.model import CSSP, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import HCSSP, ProcedurePolicy, as_procedure, as_procedure_policy
from hcssp.procedure.rest import GO_ON, UNDER_WAY


def carried_over(policy: Policy, rest: Problem, entry: Hashable | None = None) -> Policy | None:
    """What a policy does in a problem that has most names in common with its own; None if it does not end.

    Where it says nothing, it is left to the search. If the rest begins at an event, `entry` is the label of
    the state that it was entered in.
    """
    try:
        if isinstance(rest, CSSP):
            if not isinstance(policy, DeterministicPolicy):
                return None
            found: Policy = DeterministicPolicy(rest, _rows(policy.problem, policy.rows, rest))
        else:
            found = _procedure_policy(as_procedure_policy(as_procedure(policy.problem), policy), rest, entry)
        evaluate(rest, found)
    except ImproperPolicy:
        return None
    return found


def _procedure_policy(policy: ProcedurePolicy, rest: HCSSP, begun: Hashable | None) -> ProcedurePolicy:
    whole = policy.problem
    numbers = {activity.name: index for index, activity in enumerate(whole.activities)}
    rows = []
    for activity in rest.activities:
        index = numbers.get(activity.name, numbers.get(activity.name.removesuffix(UNDER_WAY)))
        if index is None:
            rows.append(np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64))
            if activity.cssp.num_rows == 1:
                rows[-1][~activity.cssp.goals] = 0
        else:
            rows.append(_rows(whole.activities[index].cssp, policy.activities[index], activity.cssp))
    events = {name: event for event, name in enumerate(whole.events)}
    choices = {}
    for event, entry in rest.flattening.event_states:
        before = events.get(rest.events[event], -1)
        chosen = policy.choices.get((before, entry))
        if chosen is None and entry is None:
            # Until an activity hands a level over, the rest does not name the one that it began with.
            chosen = policy.choices.get((before, begun))
        name = GO_ON if chosen is None else whole.choices[chosen].name
        for choice in rest.choices_at(event):
            if rest.choices[choice].name == name:
                choices[event, entry] = choice
    return ProcedurePolicy.compose(rest, choices, rows)


def _rows(known: CSSP, rows: IntArray, cssp: CSSP) -> IntArray:
    """The same actions in the same states: by number if the problems have the same shape, else by label."""
    if np.array_equal(known.row_start, cssp.row_start):
        return np.where(cssp.goals, NO_ROW, rows)
    found = np.full(cssp.num_states, NO_ROW, dtype=np.int64)
    for state in np.flatnonzero(~cssp.goals).tolist():
        before = known.state_index.get(cssp.state_labels[state])
        if before is None or rows[before] == NO_ROW:
            continue
        action = known.action_labels[int(rows[before])]
        for row in range(int(cssp.row_start[state]), int(cssp.row_start[state + 1])):
            if cssp.action_labels[row] == action:
                found[state] = row
    return found
