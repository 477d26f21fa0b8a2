"""What a plan does inside an activity that is no grid: each state it reaches, what is done there, how often.

A grid shows its plan as arrows; a table has only words.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.levels import joined_by_level
from hcssp.cssp.policy import NO_ROW


@dataclass(frozen=True)
class DecisionSummary:
    """What is done in one state of an activity.

    Attributes
    ----------
    state, action
        The label of the state, and the name of the action.
    visits
        How often the state is visited in expectation, over all executions.
    rejected
        What could have been done instead.
    """

    state: Hashable
    action: str
    visits: float
    rejected: tuple[str, ...]


def decision_summaries(plan: ProcedurePlan, index: int) -> tuple[DecisionSummary, ...]:
    """What the plan does in the states of activity `index` that it reaches, the most visited first.

    Empty if the activity is a grid or is never executed.
    """
    problem = plan.problem
    executed = plan.found and plan.costs.activities[index].expected_executions > 0.0
    if not executed or problem.world(index) is not None:
        return ()
    cssp, rows = problem.activities[index].cssp, plan.policy.activities[index]
    first, last = problem.flattening.state_offset[index : index + 2]
    visits = np.zeros(cssp.num_states)
    visits[~cssp.goals] = plan.costs.visits[first:last]
    reached = np.flatnonzero((visits > 0.0) & (rows != NO_ROW))
    found = []
    for state in reached[np.argsort(-visits[reached], kind="stable")].tolist():
        chosen = int(rows[state])
        others = range(int(cssp.row_start[state]), int(cssp.row_start[state + 1]))
        found.append(
            DecisionSummary(
                cssp.state_labels[state],
                str(cssp.action_labels[chosen]),
                float(visits[state]),
                tuple(str(cssp.action_labels[row]) for row in others if row != chosen),
            )
        )
    return tuple(found)


def joined_decisions(decisions: Iterable[DecisionSummary]) -> list[DecisionSummary]:
    """The same for people, with equal decisions at neighbouring levels of a capacity together."""
    listed = list(decisions)
    kinds = [(each.action, each.rejected) for each in listed]
    return [
        replace(listed[members[0]], state=text, visits=sum(listed[each].visits for each in members))
        for text, members in joined_by_level([each.state for each in listed], kinds)
    ]
