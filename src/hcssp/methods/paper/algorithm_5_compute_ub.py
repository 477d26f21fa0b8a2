"""Algorithm 5, Compute-UB: an upper bound from the activities' incumbents within a box."""

from __future__ import annotations

from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_3_procedural_planning import procedural_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.flow import planned_in_turn
from hcssp.methods.paper.instance import Instance


def compute_ub(
    instance: Instance, box: Box, iterations: float, start: FloatArray | None = None
) -> tuple[float, ProcedureVertex | None]:
    """The cost of a feasible solution and the solution, or ``inf`` and None.

    The best plan of every activity under the box's upper limits is taken; with what these plans cost and
    use, Procedural-Planning chooses at the events. Inside a group of activities that exits tie together,
    each of them is planned from the distribution in which those before it end.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    start
        Multipliers near those of the procedure.
    """
    primary = np.zeros(len(instance.activities))
    secondary = np.zeros((len(instance.activities), len(instance.bounds)))
    plans: list[ActivityPlan | None] = [None] * len(instance.activities)  # line 1
    for activity in instance.order:  # line 2
        limits = box.upper[instance.edges_of(activity)]
        answer = activity_planning(instance, activity, limits, iterations)  # line 3
        plan = answer.plan
        if plan is not None and instance.is_group(activity) and not answer.exact:
            plan = planned_in_turn(instance, activity, limits, plan)
        primary[activity] = inf if plan is None else float(plan.costs[0])  # line 4
        plans[activity] = plan  # line 5
    for activity, plan in enumerate(plans):  # line 6
        if plan is not None:
            usage = instance.activities[activity].usage(plan)
            secondary[activity] = instance.by_constraint(activity, usage)  # line 7
    found = procedural_planning(instance, primary, secondary, iterations, start)  # line 8
    if found.choices is None:  # line 9
        return inf, None  # line 10
    # The costs of the whole are computed once more, exactly, and checked against the bounds.
    solution = instance.compose(found.choices, plans)  # line 11
    return (inf, None) if solution is None else (instance.cost_of(solution), solution)  # line 12
