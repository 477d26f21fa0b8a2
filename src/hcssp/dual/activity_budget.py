r"""An activity under a budget: the dual of its C-SSP, read off its budget curve.

**Problem.** One activity and a limit on each of its secondary costs that a constraint counts. Wanted are the
dual's lower bound, the multipliers that give it, and the best plan within the limits that the dual meets.

**Method.** With one counted cost the answer lies on the lower convex hull of the activity's :math:`(g, f)`:
the bound is the hull at the limit, the plan its best vertex below, see
:class:`hcssp.dual.frontier.Frontier`. With several counted costs the same is asked of
:func:`hcssp.dual.ascent.maximise`, and the answer is kept by its limits.

**Guarantee.** Every bound is a certified Lagrangian value of the activity, whatever the multipliers.

**Reference.** Aneja and Nair 1979.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.ascent import lagrangian_bound, maximise
from hcssp.dual.frontier import Frontier
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.vertex import Vertex
from hcssp.numerics import is_feasible, tolerated
from hcssp.ssp.region import Region

MAX_KNOWN_VERTICES = 60
"""So many policies of one dual are handed to the next, whose limits differ."""

POINT_DIGITS = 10
"""Policies whose costs agree to so many digits are handed on once; which of them does not matter."""

HIGH_PRICE = 100.0
"""A high price of a use is this many times the one at which it costs as much as everything else together."""

MAX_CURVE_LOSS = 5e-10
"""Where what is known of the curve gives away more than this share of the value, an activity is planned at
the price itself. Both answers are certified; that one is tighter."""


class Budgeted(NamedTuple):
    """What the dual says about an activity under limits.

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
        self._plans: dict[tuple[bytes, frozenset[int]], tuple[ActivityPlan, float] | None] = {}
        self._vertices: list[ActivityVertex] = []

    def at(self, prices: FloatArray) -> tuple[ActivityPlan, float]:
        """The best plan under `prices` of the counted costs, and a certified bound on its priced cost."""
        weights = np.zeros(self.planner.num_costs)
        weights[0] = 1.0
        weights[list(self.counted)] = prices
        return self._plan_anywhere(weights)

    def plan(self, weights: FloatArray, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """The best plan under `weights` that avoids the `forbidden` rows, and a certified bound; or None."""
        answer = self.planner.plan(weights, forbidden)
        if answer is None:
            return None
        warm, bound = answer
        value = float(weights @ warm.costs)
        if value - bound <= MAX_CURVE_LOSS * value:
            return answer
        key = (weights.tobytes(), forbidden)
        if key not in self._plans:
            self._plans[key] = self.planner.plan_afresh(weights, forbidden, warm)
        return self._plans[key]

    def usage(self, plan: ActivityPlan) -> FloatArray:
        """The counted costs of one execution of `plan`."""
        usage: FloatArray = plan.costs[list(self.counted)]
        return usage

    @cached_property
    def unconstrained(self) -> ActivityPlan:
        """The cheapest plan if nothing is limited."""
        return self.at(np.zeros(len(self.counted)))[0]

    @cached_property
    def least(self) -> FloatArray:
        """Certified lower bounds on what one execution uses of each counted cost."""
        return np.array([max(0.0, self._least_use(index)[1]) for index in self.counted])

    def under(self, limits: FloatArray) -> Budgeted:
        """The dual's answer under `limits` on the counted costs."""
        key = limits.tobytes()
        if key not in self._answers:
            self._answers[key] = self._answer(limits)
        return self._answers[key]

    def plan_from(self, rows: IntArray) -> ActivityPlan:
        """The policy that takes `rows` in the live states, with its exact costs."""
        return self.planner.plan_from(rows)

    def _answer(self, limits: FloatArray) -> Budgeted:
        if not within(self.least, limits):
            return Budgeted(None, inf, np.zeros(len(limits)))
        if len(self.counted) == 1:
            return self._on_curve(limits)
        return self._by_dual(limits)

    def _on_curve(self, limits: FloatArray) -> Budgeted:
        """With one counted cost: the curve at the limit."""
        # A policy that keeps the limit up to the tolerance is within it, so the bound must hold for it too.
        plan, price = self._frontier.support(float(tolerated(limits)[0]))
        prices = np.array([price])
        return Budgeted(plan, lagrangian_bound(self.at(prices)[1], prices, limits), prices)

    @cached_property
    def _frontier(self) -> Frontier:
        (index,) = self.counted
        ends = (
            self.unconstrained,
            self._least_use(index)[0],
            # A plan with the least use costs whatever it likes; a high price finds the curve's end sooner.
            self._plan_at(self._high_price(index)),
        )
        return Frontier(index, self._plan_at, ends)

    def _by_dual(self, limits: FloatArray) -> Budgeted:
        """With several counted costs: the dual's maximum."""
        oracle = BudgetOracle(self, limits)
        dual = maximise(oracle, Region(), known=self._vertices)
        self._keep(dual.vertices[len(self._vertices) :])
        if dual.infeasible:
            return Budgeted(None, inf, np.zeros(len(limits)))
        kept = [vertex for vertex in dual.vertices if is_feasible(vertex.costs, oracle.bounds)]
        plan = min(kept, key=lambda vertex: float(vertex.costs[0])).plan if kept else None
        return Budgeted(plan, dual.bound, dual.prices[[index - 1 for index in self.counted]])

    def _keep(self, vertices: tuple[ActivityVertex, ...]) -> None:
        """Remember policies for later duals, each point once."""
        known = {_point(vertex) for vertex in self._vertices}
        for vertex in vertices:
            point = _point(vertex)
            if point not in known and len(self._vertices) < MAX_KNOWN_VERTICES:
                known.add(point)
                self._vertices.append(vertex)

    def _least_use(self, index: int) -> tuple[ActivityPlan, float]:
        """A plan with the least use of one cost, whatever else it costs, and a certified bound on that."""
        weights = np.zeros(self.planner.num_costs)
        weights[index] = 1.0
        return self._plan_anywhere(weights)

    def _high_price(self, index: int) -> float:
        cost, use = float(self.unconstrained.costs[0]), float(self.unconstrained.costs[index])
        return HIGH_PRICE * cost / use if cost > 0.0 and use > 0.0 else HIGH_PRICE

    def _plan_at(self, price: float) -> ActivityPlan:
        return self.at(np.array([price]))[0]

    def _plan_anywhere(self, weights: FloatArray) -> tuple[ActivityPlan, float]:
        answer = self.plan(weights, frozenset())
        if answer is None:
            raise RuntimeError("a prepared activity without a proper policy")
        return answer


class ActivityVertex(Vertex):
    """A plan of an activity as a vertex of its relaxation; its costs are the activity's own."""

    def __init__(self, plan: ActivityPlan) -> None:
        self.plan = plan
        self.costs = plan.costs

    @property
    def rows(self) -> IntArray:
        return self.plan.rows

    @property
    def visits(self) -> FloatArray:
        return self.plan.visits


class BudgetOracle(Oracle[ActivityVertex]):
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
        self, weights: FloatArray, region: Region, near: ActivityVertex | None = None
    ) -> Minimum[ActivityVertex] | None:
        answer = self._budget.plan(weights, region.forbidden)
        return None if answer is None else Minimum(ActivityVertex(answer[0]), answer[1])


def _point(vertex: Vertex) -> tuple[str, ...]:
    return tuple(f"{cost:.{POINT_DIGITS}g}" for cost in vertex.costs)
