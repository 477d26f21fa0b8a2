r"""An activity under a budget: the dual of its C-SSP, read off its budget curve.

**Problem.** One activity and a limit on each of its secondary costs that a constraint counts. Wanted are the
dual's lower bound, the multipliers that give it, and the best plan within the limits that the dual meets.

**Method.** With one counted cost the answer lies on the lower convex hull of the activity's :math:`(g, f)`:
the bound is the hull at the limit, the plan its best vertex below. The hull is explored only where it is
asked for, by solving at the slope between two known vertices until they are known to be neighbours, and kept:
a second question about the same stretch is a look-up. With several counted costs the same is asked of
:func:`hcssp.dual.dual.maximise`, and the answer is kept by its limits.

**Guarantee.** Every bound is a certified Lagrangian value of the activity, whatever the multipliers.

**Reference.** Aneja and Nair 1979.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_curve import ActivityPlan, ActivityPlanner
from hcssp.dual.dual import maximise
from hcssp.dual.oracle import Minimum, Oracle, Vertex
from hcssp.numerics import is_feasible, tolerated
from hcssp.ssp.policy_iteration import ScalarOptimum
from hcssp.ssp.region import Region

MAX_KNOWN_VERTICES = 60

DEAREST_ON_CURVE = 100.0
LOOSEST_ON_CURVE = 5e-10
"""Beyond this price, or where a piece's certificate gives away more than this share, an activity is planned
at the price itself: a certificate from an extreme price is too coarse for the prices next to it."""


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
        self._frontier = _Frontier(self) if len(counted) == 1 else None
        self._answers: dict[bytes, Budgeted] = {}
        self._plans: dict[tuple[bytes, frozenset[int]], tuple[ActivityPlan, float] | None] = {}
        self._vertices: list[Vertex] = []

    def at(self, prices: FloatArray) -> tuple[ActivityPlan, float]:
        """The best plan under `prices` of the counted costs, and a certified bound on its priced cost."""
        weights = np.zeros(self.planner.balance.costs.shape[0])
        weights[0] = 1.0
        weights[list(self.counted)] = prices
        return self._plan_anywhere(weights)

    def plan(self, weights: FloatArray, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """The best plan under `weights` that avoids the `forbidden` rows, and a certified bound; or None."""
        warm = None
        if weights[1:].max(initial=0.0) <= DEAREST_ON_CURVE:
            answer = self.planner.plan(weights, forbidden)
            if answer is None:
                return None
            value = float(weights @ answer[0].costs)
            if value - answer[1] <= LOOSEST_ON_CURVE * (1.0 + abs(value)):
                return answer
            warm = answer[0].rows
        key = (weights.tobytes(), forbidden)
        if key not in self._plans:
            allowed = Region(forbidden).allowed(self.planner.balance.num_rows) if forbidden else None
            optimum = self.planner.solver.minimise(weights, allowed, warm)
            self._plans[key] = (
                None if optimum is None else (ActivityPlan(optimum, self.planner.solver), optimum.bound)
            )
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
    def sparing(self) -> tuple[ActivityPlan, ...]:
        """For each counted cost a plan with the least of it, whatever else it costs."""
        return tuple(self._least(index)[0] for index in self.counted)

    @cached_property
    def least(self) -> FloatArray:
        """Certified lower bounds on what one execution uses of each counted cost."""
        return np.array([max(0.0, self._least(index)[1]) for index in self.counted])

    def under(self, limits: FloatArray) -> Budgeted:
        """The dual's answer under `limits` on the counted costs."""
        key = limits.tobytes()
        if key not in self._answers:
            self._answers[key] = self._answer(limits)
        return self._answers[key]

    def plan_from(self, rows: IntArray) -> ActivityPlan:
        """The policy that takes `rows` in the live states, with its exact costs."""
        values = self.planner.solver.system.values(rows)
        costs = self.planner.balance.initial @ values
        return ActivityPlan(ScalarOptimum(rows, values, costs, -inf), self.planner.solver)

    def _answer(self, limits: FloatArray) -> Budgeted:
        if len(self.counted) == 0:
            plan, bound = self.at(limits)
            return Budgeted(plan, bound, np.zeros(0))
        if not within(self.least, limits):
            return Budgeted(None, inf, np.zeros(len(limits)))
        if self._frontier is not None:
            return self._frontier.under(limits)
        return self._by_dual(limits)

    def _by_dual(self, limits: FloatArray) -> Budgeted:
        oracle = BudgetOracle(self, limits)
        dual = maximise(oracle, Region(), known=self._vertices)
        self._keep(dual.vertices[len(self._vertices) :])
        if dual.infeasible:
            return Budgeted(None, inf, np.zeros(len(limits)))
        kept = [
            v for v in dual.vertices if is_feasible(v.costs, oracle.bounds) and isinstance(v, ActivityVertex)
        ]
        plan = min(kept, key=lambda vertex: float(vertex.costs[0])).plan if kept else None
        return Budgeted(plan, dual.bound, dual.prices[[index - 1 for index in self.counted]])

    def _keep(self, vertices: list[Vertex]) -> None:
        """Remember policies for later duals, each point once."""
        known = {tuple(np.round(vertex.costs, 10)) for vertex in self._vertices}
        for vertex in vertices:
            point = tuple(np.round(vertex.costs, 10))
            if point not in known and len(self._vertices) < MAX_KNOWN_VERTICES:
                known.add(point)
                self._vertices.append(vertex)

    def _least(self, index: int) -> tuple[ActivityPlan, float]:
        weights = np.zeros(self.planner.balance.costs.shape[0])
        weights[index] = 1.0
        return self._plan_anywhere(weights)

    def _plan_anywhere(self, weights: FloatArray) -> tuple[ActivityPlan, float]:
        answer = self.plan(weights, frozenset())
        if answer is None:
            raise RuntimeError("a prepared activity without a proper policy")
        return answer


class _Frontier:
    """The lower convex hull of an activity's (g, f), explored where it is asked for."""

    def __init__(self, budget: BudgetPlanner) -> None:
        self._budget = budget
        self._points: list[ActivityPlan] = []  # by rising g and falling f
        self._uses: list[float] = []
        self._neighbours: set[tuple[float, ...]] = set()  # pairs of points with no vertex between them

    def under(self, limits: FloatArray) -> Budgeted:
        if not self._points:
            self._insert(self._budget.unconstrained)
            self._insert(self._budget.sparing[0])
            # What spares most costs whatever it likes: a dear price finds the curve's end with less ado.
            self._insert(self._budget.at(np.array([DEAREST_ON_CURVE]))[0])
        # A policy that keeps the limit up to the tolerance is within it, so the bound must hold for it too.
        relaxed = float(tolerated(limits)[0])
        while True:
            position = bisect_right(self._uses, relaxed) - 1
            if position < 0:
                # Only rounding can tell the limit from the least use: the steepest known price bounds it.
                return self._bounded(None, self._steepest(), relaxed)
            below = self._points[position]
            if position + 1 == len(self._points):
                return self._bounded(below, 0.0, relaxed)
            above = self._points[position + 1]
            use, next_use = self._uses[position : position + 2]
            slope = float((below.costs[0] - above.costs[0]) / (next_use - use))
            pair = (use, float(below.costs[0]), next_use, float(above.costs[0]))
            if pair in self._neighbours:
                return self._bounded(below, slope, relaxed)
            plan, _ = self._budget.at(np.array([slope]))
            line = float(below.costs[0] + slope * use)
            value = float(plan.costs[0] + slope * self._use(plan))
            if value >= line - 1e-11 * (1.0 + abs(line)) or not self._insert(plan):
                self._neighbours.add(pair)

    def _bounded(self, plan: ActivityPlan | None, price: float, limit: float) -> Budgeted:
        _, value = self._budget.at(np.array([price]))
        lost = 4.0 * float(np.finfo(np.float64).eps) * price * abs(limit)
        return Budgeted(plan, value - price * limit - lost, np.array([price]))

    def _steepest(self) -> float:
        if len(self._points) < 2:
            return 0.0
        first, second = self._points[:2]
        return float((first.costs[0] - second.costs[0]) / (self._uses[1] - self._uses[0]))

    def _use(self, plan: ActivityPlan) -> float:
        return float(plan.costs[self._budget.counted[0]])

    def _insert(self, plan: ActivityPlan) -> bool:
        """Add a vertex and drop those it dominates; False if it is dominated itself."""
        use, cost = self._use(plan), float(plan.costs[0])
        rounding = 1e-12 * (1.0 + abs(cost))
        points = list(zip(self._uses, self._points, strict=True))
        if any(g <= use and p.costs[0] <= cost + rounding for g, p in points):
            return False
        points = [(g, p) for g, p in points if not (g >= use and p.costs[0] >= cost - rounding)]
        points.append((use, plan))
        points.sort(key=lambda point: point[0])
        self._uses = [g for g, _ in points]
        self._points = [p for _, p in points]
        return True


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


class BudgetOracle(Oracle):
    """The oracle of one activity under limits, on top of what its planner knows already.

    Parameters
    ----------
    budget
        The activity.
    limits
        One for each counted cost; the other costs are free.
    """

    def __init__(self, budget: BudgetPlanner, limits: FloatArray) -> None:
        self._budget = budget
        self._planner = budget.planner
        self._bounds: FloatArray = np.full(budget.planner.balance.costs.shape[0] - 1, inf)
        self._bounds[[index - 1 for index in budget.counted]] = limits

    @property
    def row_start(self) -> IntArray:
        return self._planner.balance.row_start

    @property
    def row_state(self) -> IntArray:
        return self._planner.balance.row_state

    def minimise(self, weights: FloatArray, region: Region, near: Vertex | None = None) -> Minimum | None:
        answer = self._budget.plan(weights, region.forbidden)
        return None if answer is None else Minimum(ActivityVertex(answer[0]), answer[1])
