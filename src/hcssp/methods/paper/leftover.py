"""Better incumbents: the allocation that the dual suggests, and what it leaves over.

The dual of a box is carried by procedures and points of the activities' curves; the points suggest how to
share the budget. The best plans within it spend less than it allows, so what is left over is given to the
activity that saves most with it, again and again. Where the suggestion is over budget, one activity after the
other is made to pay for all of it, and the best of these solutions is kept.

Every solution made here is checked against the bounds; nothing here touches a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.ascent import Dual
from hcssp.dual.procedure_oracle import ProcedureVertex
from hcssp.methods.paper.activity_planning import activity_planning
from hcssp.methods.paper.box_dual import BoxVertex
from hcssp.methods.paper.planning import Planning
from hcssp.numerics import is_feasible

WIDER = 1e-7
"""How much wider a suggested budget is taken, relatively; what comes of it is checked against the bounds."""


def suggested_solutions(
    planning: Planning, dual: Dual[BoxVertex], iterations: float
) -> Iterator[ProcedureVertex]:
    """Feasible solutions near the points that carry `dual`, the leftover spent.

    Parameters
    ----------
    planning
        The problem and what is known about it.
    dual
        The dual restricted to a box.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    carrying = list(dual.support or dual.vertices[-2:])
    for vertex in carrying:
        limits = list(vertex.usages)
        yield from _around(planning, vertex.rows, limits, iterations)
    if len(carrying) > 1 and len(dual.mixture) == len(carrying):
        usages = zip(*(vertex.usages for vertex in carrying), strict=True)
        shared = [np.array(dual.mixture @ np.array(each)) for each in usages]
        for choices in {vertex.rows.tobytes(): vertex.rows for vertex in carrying}.values():
            yield from _around(planning, choices, shared, iterations)


def _around(
    planning: Planning, choices: IntArray, limits: list[FloatArray], iterations: float
) -> Iterator[ProcedureVertex]:
    executions = planning.procedure.executions(choices)
    running = np.flatnonzero(executions > 0.0).tolist()
    plans: list[ActivityPlan | None] = [None] * len(limits)
    for activity in running:
        # A hair wider: the points lie on the very edge of what is possible, where only rounding decides.
        suggested = limits[activity] + WIDER * (1.0 + np.abs(limits[activity]))
        plans[activity] = activity_planning(planning, activity, suggested, iterations).plan
        if plans[activity] is None:
            return
    costs = planning.oracle.totals(executions, plans)
    if is_feasible(costs, planning.bounds):
        yield spend_leftover(planning, choices, plans, iterations)
        return
    over = np.maximum(costs[1:] - planning.bounds, 0.0)
    for activity in running:
        trimmed = _limits_with(planning, activity, plans[activity], -over / executions[activity])
        cheaper = list(plans)
        cheaper[activity] = activity_planning(planning, activity, trimmed, iterations).plan
        if planning.compose(choices, cheaper) is not None:
            yield spend_leftover(planning, choices, cheaper, iterations)


def spend_leftover(
    planning: Planning, choices: IntArray, plans: list[ActivityPlan | None], iterations: float
) -> ProcedureVertex:
    """The feasible solution of `choices` and `plans` after giving away what it leaves of the bounds."""
    executions = planning.procedure.executions(choices)
    running = np.flatnonzero(executions > 0.0).tolist()
    plans = list(plans)
    while True:
        left = np.maximum(planning.bounds - planning.oracle.totals(executions, plans)[1:], 0.0)
        best: tuple[float, int, ActivityPlan | None] = (1e-12, -1, None)
        for activity in running:
            wider = _limits_with(planning, activity, plans[activity], left / executions[activity])
            better = activity_planning(planning, activity, wider, iterations).plan
            if better is not None:
                saved = executions[activity] * (_cost(plans[activity]) - float(better.costs[0]))
                best = max(best, (saved, activity, better), key=lambda option: option[0])
        candidate = list(plans)
        candidate[best[1]] = best[2]
        if best[2] is None or planning.compose(choices, candidate) is None:
            break
        plans = candidate
    solution = planning.compose(choices, plans)
    if solution is None:
        raise RuntimeError("a feasible solution ceased to be one while its leftover was spent")
    return solution


def _limits_with(
    planning: Planning, activity: int, plan: ActivityPlan | None, change: FloatArray
) -> FloatArray:
    """The use of `plan`, changed by what all the constraints that count it let pass."""
    budget = planning.activities[activity]
    limits: FloatArray = np.zeros(0) if plan is None else budget.usage(plan).copy()
    changes = np.full(len(limits), np.inf)
    for constraint, index in planning.counts[activity]:
        position = budget.counted.index(index)
        changes[position] = min(changes[position], float(change[constraint]))
    wanted: FloatArray = limits + changes
    return wanted


def _cost(plan: ActivityPlan | None) -> float:
    return np.inf if plan is None else float(plan.costs[0])
