r"""Algorithm 2, Activity-Planning: one activity as a C-SSP under the box's upper limits.

Stage 1 is the dual, read off the activity's budget curve. Stage 2 enumerates policies in the order of their
Lagrangian value under the dual's multipliers, :math:`l` of them; with :math:`l = \infty` the proof comes from
branching on policies instead, which needs far fewer steps.
"""

from __future__ import annotations

from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_budget import BudgetOracle, BudgetPlanner, within
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.methods.paper.planning import ActivityAnswer, Planning
from hcssp.methods.policy_branching import prove


def activity_planning(
    planning: Planning, activity: int, limits: FloatArray, iterations: float
) -> ActivityAnswer:
    """The best plan of `activity` within `limits`, and bounds on what any such plan costs.

    Parameters
    ----------
    planning
        What is known so far; the answer is added to it.
    activity
        Which activity.
    limits
        Upper limits on its counted costs.
    iterations
        Of stage 2: the paper's l.
    """
    known = _recall(planning, activity, limits, iterations)
    if known is not None:
        return known
    budget = planning.activities[activity]
    plan, lower_bound, prices = budget.under(limits)
    if iterations > 0 and np.isfinite(lower_bound) and _cost(plan) > lower_bound:
        plan, lower_bound = _stage_two(planning, activity, limits, iterations, plan, lower_bound, prices)
    upper_bound = _cost(plan)
    answer = ActivityAnswer(plan, min(lower_bound, upper_bound), upper_bound)
    planning.answers[activity, iterations, limits.tobytes()] = answer
    if answer.exact or answer.lower_bound == inf:
        planning.exact_answers.setdefault((activity, iterations), []).append((limits, answer))
    return answer


def _recall(
    planning: Planning, activity: int, limits: FloatArray, iterations: float
) -> ActivityAnswer | None:
    """An answer that is known to hold for `limits` too."""
    key = (activity, iterations, limits.tobytes())
    if key in planning.answers:
        return planning.answers[key]
    budget = planning.activities[activity]
    for asked, answer in planning.exact_answers.get((activity, iterations), ()):
        # The best within larger limits is the best within these if it keeps them; if nothing keeps the
        # larger ones, nothing keeps these.
        if np.all(limits <= asked) and (answer.plan is None or within(budget.usage(answer.plan), limits)):
            planning.answers[key] = answer
            return answer
    return None


def _stage_two(
    planning: Planning,
    activity: int,
    limits: FloatArray,
    iterations: float,
    plan: ActivityPlan | None,
    lower_bound: float,
    prices: FloatArray,
) -> tuple[ActivityPlan | None, float]:
    budget = planning.activities[activity]
    if iterations == inf:
        return _prove(budget, limits)
    ranking = planning.ranking(activity, prices)
    for position in range(int(iterations) + 1):
        following = ranking.get(position)
        if following is None:
            # All policies have been seen: the best of them is the answer, if one keeps the limits.
            return plan, _cost(plan)
        value, candidate = following
        lower_bound = max(lower_bound, value - float(prices @ limits))
        if lower_bound >= _cost(plan):
            return plan, _cost(plan)
        if candidate.costs[0] < _cost(plan) and within(budget.usage(candidate), limits):
            plan = candidate
    return plan, lower_bound


def _prove(budget: BudgetPlanner, limits: FloatArray) -> tuple[ActivityPlan | None, float]:
    """Both stages to the proof."""
    lower_bound, _, rows = prove(BudgetOracle(budget, limits))
    return (None, inf) if rows is None else (budget.plan_from(rows), lower_bound)


def _cost(plan: ActivityPlan | None) -> float:
    return inf if plan is None else float(plan.costs[0])
