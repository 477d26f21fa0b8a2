"""More incumbents: the allocations that the restricted dual suggests.

The dual of a box is carried by procedures and points of the activities' curves; the points suggest how to
share the budget. The best plans within it spend less than it allows, so what is left is given to the activity
that saves most with it, again and again. Where the suggestion is over budget, one activity after the other is
made to pay for all of it, and every solution that comes of it is offered.

Every solution made here is checked against the bounds; nothing here touches a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound
from hcssp.methods.paper.instance import Instance
from hcssp.numerics import may_be_feasible

WIDENING = 1e-7
"""How much wider a suggested budget is taken, relatively; what comes of it is checked against the bounds."""

LEAST_SAVING = 1e-12
"""An activity is not given more for less than this."""


def suggested_solutions(
    instance: Instance, bound: LowerBound, iterations: float
) -> Iterator[ProcedureVertex]:
    """Feasible solutions near the points that carry the dual of `bound`, the budget spent.

    Parameters
    ----------
    instance
        The problem.
    bound
        The lower bound of a box; only one with a dual suggests anything.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    dual = bound.dual
    if dual is None:
        return
    carrying = list(dual.support or dual.vertices[-2:])
    for vertex in carrying:
        yield from _around(instance, vertex.rows, list(vertex.usages), iterations)
    if len(carrying) > 1 and len(dual.mixture) == len(carrying):
        usages = zip(*(vertex.usages for vertex in carrying), strict=True)
        shared = [np.array(dual.mixture @ np.array(each)) for each in usages]
        for choices in {vertex.rows.tobytes(): vertex.rows for vertex in carrying}.values():
            yield from _around(instance, choices, shared, iterations)


def _around(
    instance: Instance, choices: IntArray, limits: list[FloatArray], iterations: float
) -> Iterator[ProcedureVertex]:
    executions = instance.procedure.executions(choices)
    running = np.flatnonzero(executions > 0.0).tolist()
    plans: list[ActivityPlan | None] = [None] * len(limits)
    for activity in running:
        # A hair wider: the points lie on the very edge of what is possible, where only rounding decides.
        suggested = limits[activity] + WIDENING * (1.0 + np.abs(limits[activity]))
        plans[activity] = _best_within(instance, activity, suggested, iterations)
        if plans[activity] is None:
            return
    suggestion = instance.oracle.vertex_of(choices, tuple(plans))
    if suggestion is None:
        return
    if may_be_feasible(suggestion.costs, instance.bounds):
        yield spend_the_rest(instance, choices, plans, iterations)
        return
    over = np.maximum(suggestion.costs[1:] - instance.bounds, 0.0)
    for activity in running:
        trimmed = _limits_with(instance, activity, plans[activity], -over / executions[activity])
        cheaper = list(plans)
        cheaper[activity] = _best_within(instance, activity, trimmed, iterations)
        if instance.compose(choices, cheaper) is not None:
            yield spend_the_rest(instance, choices, cheaper, iterations)


def spend_the_rest(
    instance: Instance, choices: IntArray, plans: list[ActivityPlan | None], iterations: float
) -> ProcedureVertex:
    """The feasible solution of `choices` and `plans` after giving away what it leaves of the bounds.

    Raises
    ------
    ValueError
        If it breaks a bound to begin with.
    """
    solution = instance.compose(choices, plans)
    if solution is None:
        raise ValueError("only a solution that keeps the bounds leaves something of them")
    executions = instance.procedure.executions(choices)
    running = np.flatnonzero(executions > 0.0).tolist()
    plans = list(plans)
    while True:
        left = np.maximum(instance.bounds - solution.costs[1:], 0.0)
        best: tuple[float, int, ActivityPlan | None] = (LEAST_SAVING, -1, None)
        for activity in running:
            wider = _limits_with(instance, activity, plans[activity], left / executions[activity])
            better = _best_within(instance, activity, wider, iterations)
            if better is not None:
                saved = executions[activity] * (_cost(plans[activity]) - float(better.costs[0]))
                best = max(best, (saved, activity, better), key=lambda option: option[0])
        candidate = list(plans)
        candidate[best[1]] = best[2]
        better_solution = None if best[2] is None else instance.compose(choices, candidate)
        if better_solution is None:
            return solution
        plans, solution = candidate, better_solution


def _best_within(
    instance: Instance, activity: int, limits: FloatArray, iterations: float
) -> ActivityPlan | None:
    """The best plan of an activity that its planning finds; of a group, whose proof takes long, its dual."""
    depth = 0 if instance.is_group(activity) and iterations == inf else iterations
    return activity_planning(instance, activity, limits, depth).plan


def _limits_with(
    instance: Instance, activity: int, plan: ActivityPlan | None, change: FloatArray
) -> FloatArray:
    """The use of `plan`, changed by what all the constraints that count it let pass."""
    budget = instance.activities[activity]
    limits: FloatArray = np.zeros(0) if plan is None else budget.usage(plan).copy()
    changes = np.full(len(limits), np.inf)
    for constraint, index in instance.counts[activity]:
        position = budget.counted.index(index)
        changes[position] = min(changes[position], float(change[constraint]))
    wanted: FloatArray = limits + changes
    return wanted


def _cost(plan: ActivityPlan | None) -> float:
    return np.inf if plan is None else float(plan.costs[0])
