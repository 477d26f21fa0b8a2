r"""Algorithm 2, Activity-Planning: one activity as a C-SSP under the upper limits of a box.

Both stages are those of the anytime algorithm. Stage 1, the dual, is read off the activity's budget curve.
Stage 2 looks at policies in the order of their Lagrangian value, for :math:`l` iterations as
:func:`hcssp.methods.anytime.stage_two` counts them; an instance that takes shortcuts proves
:math:`l = \infty` by branching on policies instead, which needs far fewer steps and has the same answer.
"""

from __future__ import annotations

from math import inf

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_budget import Budgeted, BudgetOracle, BudgetPlanner, within
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.methods.anytime import stage_two
from hcssp.methods.paper.answers import ActivityAnswer
from hcssp.methods.paper.instance import Instance
from hcssp.methods.policy_branching import prove
from hcssp.numerics import at_least

PORTION = 10
"""So many steps are taken at once to prove what a group costs at least."""


def activity_planning(
    instance: Instance, activity: int, limits: FloatArray, iterations: float
) -> ActivityAnswer:
    """The best plan of `activity` within `limits`, and bounds on what any such plan costs.

    Parameters
    ----------
    instance
        The problem; the answer is added to what it knows.
    activity
        Which activity.
    limits
        Upper limits on its counted costs: those of a box.
    iterations
        Of stage 2: the paper's l.
    """
    known = instance.answers[activity].find(limits, iterations)
    if known is not None:
        return known
    found = instance.stage_one(activity, limits)  # lines 1-2
    plan, lower_bound = found.plan, found.lower_bound
    if iterations > 0 and lower_bound < _cost(plan):  # line 3
        plan, lower_bound = _stage_two(instance, activity, limits, iterations, found)  # line 4
    upper_bound = _cost(plan)
    answer = ActivityAnswer(plan, min(lower_bound, at_least(upper_bound)), upper_bound)
    if not instance.is_unproven(activity, limits):
        instance.answers[activity].keep(limits, iterations, answer)
    return answer  # line 5


def _stage_two(
    instance: Instance, activity: int, limits: FloatArray, iterations: float, found: Budgeted
) -> tuple[ActivityPlan | None, float]:
    budget = instance.activities[activity]
    if iterations == inf and instance.shortcuts:
        if instance.is_group(activity):
            return _prove_further(instance, activity, limits, found)
        return _prove(budget, limits)
    plan, lower_bound, prices = found
    for step in stage_two(instance.ranking(activity, prices), prices, limits, iterations):
        lower_bound = max(lower_bound, step.bound)
        if lower_bound >= _cost(plan):
            break
        candidate = step.policy
        if (
            candidate is not None
            and candidate.costs[0] < _cost(plan)
            and within(budget.usage(candidate), limits)
        ):
            plan = candidate
    return plan, lower_bound


def _prove(budget: BudgetPlanner, limits: FloatArray) -> tuple[ActivityPlan | None, float]:
    """Both stages to the proof, or to a bound without a plan if rounding hides whether there is one."""
    lower_bound, _, rows = prove(BudgetOracle(budget, limits))
    return None if rows is None else budget.plan_from(rows), lower_bound


def _prove_further(
    instance: Instance, activity: int, limits: FloatArray, found: Budgeted
) -> tuple[ActivityPlan | None, float]:
    """As :func:`_prove`, a few steps at a time: a group may be the whole procedure."""
    proof = instance.proof(activity, limits)
    proof.go_on(PORTION)
    plan = found.plan if _cost(found.plan) <= _cost(proof.plan) else proof.plan
    return plan, max(found.lower_bound, proof.lower_bound)


def _cost(plan: ActivityPlan | None) -> float:
    return inf if plan is None else float(plan.costs[0])
