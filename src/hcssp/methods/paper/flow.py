r"""Inside a group: activities planned in topological order, each from where the plans before it end.

The paper's Eqs. 4 and 5 say that an activity starts in the distribution in which those before it end,
:math:`\Gamma^T_E = \Gamma^I_{E'}`. Given a plan of the whole group, its activities are taken one after the
other in topological order; each is planned anew, from the distribution that the plans before it produce and
with what the present plans behind its exits cost, under what the others leave of the limits. What comes of it
replaces its plan if that is cheaper and keeps the limits. The choices at the events come last, as they do in
Algorithm 5.

All of it is one C-SSP a turn: that of the group, in which everything but one activity is decided. So the
distributions are right even where the group leads back to itself. It finds plans, and touches no lower bound.
"""

from __future__ import annotations

from itertools import islice
from math import inf

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.activity_budget import ActivityVertex, BudgetPlanner, within
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.ascent import ascend
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.methods.paper.instance import Instance
from hcssp.ssp.region import Region

MAX_TURNS = 30
"""Of a group with more members the others keep their plans: a turn takes as long as a plan of the group."""

MAX_ASCENT = 20
"""So many multipliers are tried in a turn; its plans are as good as they are by then."""


def planned_in_turn(
    instance: Instance, activity: int, limits: FloatArray, plan: ActivityPlan
) -> ActivityPlan:
    """A plan of a group within `limits` that is at least as good as `plan`, which keeps them.

    Parameters
    ----------
    instance
        The problem.
    activity
        The group.
    limits
        On its counted costs.
    plan
        Where to begin.
    """
    budget = instance.activities[activity]
    for own_rows in islice(instance.turns(activity), MAX_TURNS):
        steps = ascend(_OneByOne(budget, limits, plan, own_rows), Region())
        *_, dual = islice(steps, MAX_ASCENT)
        for vertex in dual.vertices:
            if vertex.costs[0] < plan.costs[0] and within(budget.usage(vertex.plan), limits):
                plan = vertex.plan
    return plan


class _OneByOne(Oracle[ActivityVertex]):
    """A group under limits in which all rows but those of one member are decided.

    Parameters
    ----------
    budget
        The group.
    limits
        One for each counted cost.
    plan
        What is decided.
    own_rows
        The rows of the planner that may be chosen.
    """

    def __init__(
        self, budget: BudgetPlanner, limits: FloatArray, plan: ActivityPlan, own_rows: BoolArray
    ) -> None:
        planner = budget.planner
        bounds = np.full(planner.num_costs - 1, inf)
        bounds[[index - 1 for index in budget.counted]] = limits
        super().__init__(bounds, planner.row_start)
        self._planner, self._plan = planner, plan
        self._allowed = own_rows.copy()
        self._allowed[plan.rows] = True

    def minimise(
        self, weights: FloatArray, region: Region, near: ActivityVertex | None = None
    ) -> Minimum[ActivityVertex] | None:
        begin = self._plan if near is None else near.plan
        optimum = self._planner.solver.minimise(weights, self._allowed, begin.rows, begin.values)
        if optimum is None:
            return None
        return Minimum(ActivityVertex(ActivityPlan(optimum, self._planner.system)), optimum.bound)
