"""Algorithm 5, Compute-UB: an upper bound from the activities' incumbents within a box."""

from __future__ import annotations

from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.procedure_oracle import ProcedureVertex
from hcssp.methods.paper.activity_planning import activity_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.planning import Planning
from hcssp.methods.paper.procedural_planning import procedural_planning


def compute_ub(
    planning: Planning, box: Box, iterations: float, start: FloatArray | None = None
) -> tuple[float, ProcedureVertex | None]:
    """The cost of a feasible solution and the solution, or ``inf`` and None.

    The best plan of every activity under the box's upper limits is taken; with what these plans cost and
    use, Procedural-Planning chooses at the events.

    Parameters
    ----------
    planning
        The problem and what is known about it.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    start
        Multipliers near the answer.
    """
    plans: list[ActivityPlan | None] = [None] * planning.problem.num_activities
    primary = np.full(planning.problem.num_activities, inf)
    secondary = np.zeros((planning.problem.num_activities, len(planning.bounds)))
    for activity in planning.order:
        answer = activity_planning(planning, activity, box.upper[planning.edges_of(activity)], iterations)
        if answer.plan is not None:
            plans[activity] = answer.plan
            primary[activity] = answer.upper_bound
            usage = planning.activities[activity].usage(answer.plan)
            secondary[activity] = planning.by_constraint(activity, usage)
    found = procedural_planning(planning, primary, secondary, iterations, start)
    if found.choices is None:
        return inf, None
    solution = planning.compose(found.choices, plans)
    return (inf, None) if solution is None else (float(solution.costs[0]), solution)
