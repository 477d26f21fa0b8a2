"""How far along a line of prices a plan is certified; test_activity_planner has the rest of it."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.price_interval import _Line, price_interval
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from random_problems import random_cssp
from volume import some


class Certain(_Line):
    """A line on which bounds are certain up to a price, and it is remembered where they were asked for."""

    def __init__(self, certain: float) -> None:
        self._certain = certain
        self.asked: list[float] = []

    def _bound(self, price: float) -> float:
        self.asked.append(price)
        return 100.0 if price <= self._certain else -inf

    def _far(self, price: float) -> float:
        return 9.0


@pytest.mark.parametrize(("certain", "reached"), [(5.0, 5.0), (4.9, 2.0), (1.9, 1.25)])
def test_where_the_end_is_not_certain_a_part_of_the_way_is(certain: float, reached: float) -> None:
    assert Certain(certain).furthest(1.0, 5.0, 3.0) == (reached, 100.0)


def test_where_nothing_is_certain_the_price_itself_remains() -> None:
    line = Certain(1.0)
    assert line.furthest(1.0, 5.0, 3.0) == (1.0, 3.0)
    assert line.asked == [5.0, 2.0, 1.25]


def test_without_an_end_a_far_price_is_tried() -> None:
    assert Certain(9.0).furthest(1.0, inf, 3.0) == (9.0, 100.0)
    assert Certain(1.0).furthest(1.0, inf, 3.0) == (1.0, 3.0)


@pytest.mark.parametrize(("cost", "use"), [(1.0, 1000.0), (1000.0, 1.0)])
def test_a_bound_is_measured_by_what_the_plan_costs_and_uses(cost: float, use: float) -> None:
    way = CSSPBuilder(cost_names=("time", "damage"))
    way.add_action(way.add_state("here"), "only", to=way.add_goal("out"), costs=(cost, use))
    balance = Balance(way.build())
    line = _Line(balance, PolicyIteration(balance).minimise(np.array([1.0, 0.0])), 1, None)
    assert line._bound(0.0) == pytest.approx(cost)
    assert line._bound(2.0) == pytest.approx(cost + 2.0 * use)


@pytest.mark.parametrize("first", some(range(0, 120, 30), 2))
def test_an_interval_is_where_the_plan_is_the_best_of_all(first: int) -> None:
    """Beside brute force: certified bounds at both ends that no plan is below, and all of the interval."""
    ends = 0
    for seed in range(first, first + 30):
        rng = np.random.default_rng(seed)
        problem = random_cssp(rng, max_states=5, max_constraints=1)
        every = brute_force(problem)
        if every.status == "dead end" or len(problem.costs) < 2:
            continue
        balance = Balance(prepare(problem).problem)
        price = float(rng.choice([0.0, 0.1, 1.0, 5.0]))
        optimum = PolicyIteration(balance).minimise(np.array([1.0, price]))
        if optimum is None:
            continue
        found = price_interval(balance, optimum, 1, price, None)
        lines = every.costs
        assert found.low <= price <= found.high
        for at, bound in ((found.low, found.low_bound), (found.high, found.high_bound)):
            weights = np.array([0.0, 1.0]) if at == inf else np.array([1.0, at])
            least, own = (lines @ weights).min(), float(optimum.costs @ weights)
            size = float(lines.max()) * (1.0 if at == inf else 1.0 + at)
            assert bound <= least + 1e-12 * size
            assert bound >= own * (1.0 - 2e-9) - 1e-12 * size
        # Beyond an end another plan is better, unless only a part of the way was certified.
        lower = lines[lines[:, 1] < optimum.costs[1] - 1e-9]
        meets = (lower[:, 0] - optimum.costs[0]) / (optimum.costs[1] - lower[:, 1])
        true_end = float(np.min(meets, initial=inf))
        assert found.high <= true_end * (1.0 + 1e-6) + 1e-6
        ends += true_end < inf and found.high >= true_end * (1.0 - 1e-6) - 1e-6
    assert ends >= 3


@pytest.mark.parametrize("price", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("short", [1e-13, 2e-10, 7e-10])
def test_a_plan_that_is_the_best_but_for_a_hair_proves_no_more_than_the_best(
    short: float, price: float
) -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    costs = [(3.0, 2.0), (3.0 * (1.0 - short), 2.0 * (1.0 - short))]
    for name, each in zip("ab", costs, strict=True):
        plan.add_action(here, name, to=out, costs=each)
    balance = Balance(plan.build())
    rows, values = np.array([0]), np.array([costs[0]])
    found = _Line(balance, ScalarOptimum(rows, values, values[0], -np.inf), 1, None)._bound(price)
    least = min(Fraction(time) + Fraction(price) * Fraction(damage) for time, damage in costs)
    assert float(least) * (1.0 - 1e-9) <= found
    assert Fraction(found) <= least


def test_an_interval_reaches_both_ways_as_far_as_no_other_plan_is_better() -> None:
    way = CSSPBuilder(cost_names=("time", "damage"))
    here, out = way.add_state("here"), way.add_goal("out")
    for name, costs in (("fast", (1.0, 4.0)), ("steady", (3.0, 2.0)), ("safe", (9.0, 0.0))):
        way.add_action(here, name, to=out, costs=costs)
    balance = Balance(way.build())
    optimum = PolicyIteration(balance).minimise(np.array([1.0, 2.0]))
    assert optimum is not None
    found = price_interval(balance, optimum, 1, 2.0, None)
    # Steady is as good as fast at a price of 1, and as safe at 3.
    assert (found.low, found.high) == pytest.approx((1.0, 3.0))
    assert (found.low_bound, found.high_bound) == pytest.approx((5.0, 9.0))
