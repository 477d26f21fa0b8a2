r"""What a hierarchical policy costs, exactly, on the flattened problem.

Problem: given a policy of a procedure, its expected primary cost, its use of every constraint, and what
each activity contributes: how often it is executed, what that costs in all and for each execution.

Method: the policy's Markov chain on the flat states is evaluated like that of any C-SSP
(:mod:`hcssp.evaluation.exact`), from the rows that the policy uses and no others. An activity's share
is the sum over its states of expected visits times cost; its expected executions
:math:`L(E \mid \rho)` follow from the visits to the events.

Guarantee: no solver uses this code, so it can judge them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcssp.cssp.policy import NO_ROW
from hcssp.errors import InvalidProblem
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.procedure import (
    HCSSP,
    Flattening,
    HierarchicalPolicy,
    executions_from_visits,
    expected_executions,
    policy_chain,
)


@dataclass(frozen=True)
class ActivityEvaluation:
    """What one activity contributes to the expected costs of the whole.

    Attributes
    ----------
    name
        The activity's name.
    expected_executions
        How often it is executed, in expectation.
    cost
        Its share of the expected primary cost, all executions together.
    usage
        Its share of each constraint that counts it, by the constraint's name.
    """

    name: str
    expected_executions: float
    cost: float
    usage: Mapping[str, float]

    @property
    def cost_per_execution(self) -> float | None:
        """The expected primary cost of one execution; None if it is never executed."""
        return self.cost / self.expected_executions if self.expected_executions else None

    @property
    def usage_per_execution(self) -> dict[str, float] | None:
        """What one execution uses of each constraint, in expectation; None if it is never executed."""
        if not self.expected_executions:
            return None
        return {name: used / self.expected_executions for name, used in self.usage.items()}


@dataclass(frozen=True, eq=False)
class HierarchicalEvaluation(Evaluation):
    """What a hierarchical policy costs: as for a flat one, and activity by activity.

    The costs are the primary and one for each constraint, called by its name; `visits` are those of the
    flat states, the event states first.

    Attributes
    ----------
    activities
        One for each activity of the problem, in its order.
    """

    activities: tuple[ActivityEvaluation, ...]

    def activity(self, name: str) -> ActivityEvaluation:
        """What the activity called `name` contributes."""
        for activity in self.activities:
            if activity.name == name:
                return activity
        known = ", ".join(repr(activity.name) for activity in self.activities)
        raise InvalidProblem([f"there is no activity {name!r}; the activities are {known}"])


def evaluate_hierarchical(problem: HCSSP | Flattening, policy: HierarchicalPolicy) -> HierarchicalEvaluation:
    """The exact expected costs of `policy` in all and by activity.

    Parameters
    ----------
    problem
        The hierarchical problem, or its flattening where it is at hand.
    policy
        What to evaluate.

    Raises
    ------
    ImproperPolicy
        If the end is not reached almost surely.
    InvalidProblem
        If the policy does not fit the problem.
    """
    flattening = problem if isinstance(problem, Flattening) else Flattening(problem)
    rows = policy.to_flat(flattening)
    chain, only_policy = policy_chain(flattening, rows)
    whole = evaluate(chain, only_policy)
    # Row by row of the chain: the visits to its state times its costs.
    spent = chain.costs * whole.visits[rows != NO_ROW]
    if flattening.separable:
        # The choices alone decide, and a system of a few events is solved without the noise of many states.
        executions = expected_executions(flattening, policy)
    else:
        executions = executions_from_visits(flattening, rows, whole.visits)
    activities = []
    for index, activity in enumerate(flattening.problem.activities):
        first, last = chain.row_start[flattening.state_offset[index : index + 2]]
        share = spent[:, first:last].sum(axis=1)
        usage = {
            constraint.name: float(share[1 + position])
            for position, constraint in enumerate(flattening.problem.constraints)
            if index in constraint.counts
        }
        activities.append(ActivityEvaluation(activity.name, float(executions[index]), float(share[0]), usage))
    return HierarchicalEvaluation(
        whole.costs, whole.cost_names, whole.bounds, whole.visits, whole.residual, tuple(activities)
    )
