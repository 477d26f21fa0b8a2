r"""An activity under a budget: the dual of its C-SSP.

**Problem.** One activity and a limit on each of its secondary costs that a constraint counts. Wanted are the
dual's lower bound, the multipliers that give it, and the best plan within the limits that the dual meets.

**Method.** :func:`hcssp.dual.ascent.maximise`, on top of what the activity's planner knows already. Answers
are kept by their limits.

**Guarantee.** Every bound is a certified Lagrangian value of the activity, whatever the multipliers.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.value_cache import ActivityPlan, ValueBounds
from hcssp.numerics import is_feasible, tolerated
from hcssp.ssp.scalar_problem import Region


class Budgeted(NamedTuple):
    """The dual of an activity under limits.

    Attributes
    ----------
    plan
        The cheapest plan met that keeps the limits, or None.
    lower_bound
        No policy that keeps the limits costs less; ``inf`` if there is none.
    prices
        Multipliers of the counted costs that give the bound.
    """

    plan: ActivityPlan | None
    lower_bound: float
    prices: FloatArray


def within(costs: FloatArray, limits: FloatArray) -> bool:
    """Whether secondary costs keep their limits, up to the documented tolerance."""
    return bool(np.all(costs <= tolerated(limits)))


class BudgetPlanner:
    """Plans one activity under limits on its counted costs.

    Parameters
    ----------
    planner
        Plans the activity under prices.
    counted
        Which of the activity's costs are limited, in the order of all limits and prices here.
    """

    def __init__(self, planner: ActivityPlanner, counted: tuple[int, ...]) -> None:
        self.planner = planner
        self.counted = counted
        self._answers: dict[bytes, Budgeted] = {}

    def at(self, prices: FloatArray) -> ValueBounds:
        """The best plan under `prices` of the counted costs, with a certified bound on its priced cost."""
        return self._planned(self.weights(prices))

    def weights(self, prices: FloatArray) -> FloatArray:
        """Weights of all costs of the activity: 1 for the first, `prices` for those counted."""
        weights = np.zeros(self.planner.num_costs)
        weights[0] = 1.0
        weights[list(self.counted)] = prices
        return weights

    def usage(self, plan: ActivityPlan) -> FloatArray:
        """The counted costs of one execution of `plan`."""
        usage: FloatArray = plan.costs[list(self.counted)]
        return usage

    @cached_property
    def unconstrained(self) -> ActivityPlan:
        """The cheapest plan without limits."""
        return self.at(np.zeros(len(self.counted))).plan

    @cached_property
    def least(self) -> FloatArray:
        """Certified lower bounds on each counted cost of one execution."""
        units = np.eye(self.planner.num_costs)
        return np.array([max(0.0, self._planned(units[index]).lower) for index in self.counted])

    def under(self, limits: FloatArray) -> Budgeted:
        """The dual's answer under `limits` on the counted costs."""
        key = limits.tobytes()
        if key not in self._answers:
            self._answers[key] = self._answer(limits)
        return self._answers[key]

    def _answer(self, limits: FloatArray) -> Budgeted:
        nothing = Budgeted(None, inf, np.zeros(len(limits)))
        if not within(self.least, limits):
            return nothing
        oracle = BudgetOracle(self, limits)
        dual = maximise(oracle, Region())
        if dual.infeasible:
            return nothing
        kept = [point for point in dual.points if is_feasible(point.costs, oracle.bounds)]
        plan = min(kept, key=lambda plan: float(plan.costs[0]), default=None)
        return Budgeted(plan, dual.bound, dual.prices[[index - 1 for index in self.counted]])

    def _planned(self, weights: FloatArray) -> ValueBounds:
        answer = self.planner.plan(weights, frozenset())
        if answer is None:
            raise RuntimeError("a prepared activity without a proper policy")
        return answer


class BudgetOracle(Oracle[ActivityPlan]):
    """The oracle of one activity under limits, on top of what its planner knows already.

    Parameters
    ----------
    budget
        The activity.
    limits
        One for each counted cost; the other costs are free.
    """

    def __init__(self, budget: BudgetPlanner, limits: FloatArray) -> None:
        bounds = np.full(budget.planner.num_costs - 1, inf)
        bounds[[index - 1 for index in budget.counted]] = limits
        super().__init__(bounds, budget.planner.row_start)
        self._budget = budget

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: ActivityPlan | None = None
    ) -> Minimum[ActivityPlan] | None:
        answer = self._budget.planner.plan(weights, region.forbidden)
        return None if answer is None else Minimum(answer.plan, answer.lower)
