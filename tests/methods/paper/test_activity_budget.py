from __future__ import annotations

import numpy as np
import pytest

from allocation_boxes import ways
from brute_force_procedures import brute_force_flat
from counting_planner import CountingPlanner
from hcssp.cssp.builder import CSSPBuilder
from hcssp.methods.paper.activity_budget import BudgetPlanner, within
from hcssp.numerics import FEASIBILITY_TOLERANCE, tolerated
from random_procedures import random_activity
from volume import some

SEEDS = some(range(40), 3)


def budget_of(seed: int, counted: tuple[int, ...]) -> tuple[BudgetPlanner, np.ndarray]:
    cssp = random_activity(np.random.default_rng(seed))
    planner = CountingPlanner(cssp, frozenset(counted))
    return BudgetPlanner(planner, counted), brute_force_flat(cssp).costs


def hull(costs: np.ndarray, use: np.ndarray, limit: float) -> float:
    """The least cost of a mixture of two policies that keeps the limit; inf if there is none."""
    best = np.inf
    for f, g in zip(costs, use, strict=True):
        for other_f, other_g in zip(costs, use, strict=True):
            if g <= limit:
                share = 1.0 if other_g <= limit else (limit - g) / (other_g - g)
                best = min(best, f, f + share * (other_f - f))
    return best


def limits_around(use: np.ndarray) -> np.ndarray:
    middle = (np.sort(use)[1:] + np.sort(use)[:-1]) / 2.0
    return np.concatenate([use, middle, use.min(keepdims=True) - 0.1, use.max(keepdims=True) + 1.0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("index", [1, 2])
def test_one_counted_cost_is_read_off_the_hull(seed: int, index: int) -> None:
    budget, costs = budget_of(seed, (index,))
    for limit in limits_around(costs[:, index]):
        plan, lower_bound, _ = budget.under(np.array([limit]))
        # The limit is kept up to the documented tolerance, by the bound as well.
        assert lower_bound == pytest.approx(hull(costs[:, 0], costs[:, index], limit + 1e-9), abs=1e-6)
        if np.isfinite(lower_bound):
            assert plan is not None
            assert plan.costs[index] <= limit + 2e-9 * max(1.0, limit)
            assert plan.costs[0] >= lower_bound - 1e-9
        else:
            assert plan is None


def test_a_stretch_of_the_curve_is_planned_once() -> None:
    budget, costs = budget_of(3, (1,))
    low, high = np.sort(costs[:, 1])[[0, -1]]
    for limit in np.linspace(low, high, 7):
        budget.under(np.array([limit]))
    planner = budget.planner
    assert isinstance(planner, CountingPlanner)
    asked = planner.num_plans
    for limit in np.linspace(low, high, 7) + (high - low) * 1e-9:
        budget.under(np.array([limit]))
    assert high > low
    assert planner.num_plans == asked


@pytest.mark.parametrize("seed", SEEDS)
def test_several_counted_costs(seed: int) -> None:
    budget, costs = budget_of(seed, (1, 2))
    rng = np.random.default_rng(seed)
    for _ in range(6):
        limits = rng.uniform(costs[:, 1:].min(axis=0) * 0.9, costs[:, 1:].max(axis=0))
        plan, lower_bound, prices = budget.under(limits)
        kept = np.all(costs[:, 1:] <= limits, axis=1)
        assert lower_bound <= costs[kept, 0].min(initial=np.inf) + 1e-9
        assert np.all(prices >= 0.0)
        if lower_bound < np.inf:
            # Each price is that of its own cost: together they make the bound.
            priced = costs[:, 0] + (costs[:, 1:] - tolerated(limits)) @ prices
            assert lower_bound == pytest.approx(priced.min(), rel=1e-7, abs=1e-7)
        if plan is not None:
            assert within(budget.usage(plan), limits)
        elif lower_bound == np.inf:
            assert not kept.any()


def test_nothing_counted_costs_the_unconstrained_optimum() -> None:
    budget, costs = budget_of(5, ())
    plan, lower_bound, prices = budget.under(np.zeros(0))
    assert plan is not None
    assert prices.shape == (0,)
    assert plan.costs[0] == pytest.approx(costs[:, 0].min())
    assert lower_bound == pytest.approx(costs[:, 0].min())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_use_is_certified(seed: int) -> None:
    budget, costs = budget_of(seed, (1, 2))
    assert np.all(budget.least <= costs[:, 1:].min(axis=0) + 1e-12)
    assert budget.least == pytest.approx(costs[:, 1:].min(axis=0), abs=1e-8)


def test_a_plan_from_rows_has_its_exact_costs() -> None:
    budget, _ = budget_of(7, (1,))
    plan = budget.unconstrained
    assert budget.planner.plan_from(plan.rows).costs == pytest.approx(plan.costs)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bound_read_off_the_hull_holds_for_whatever_counts_as_within(seed: int) -> None:
    budget, costs = budget_of(seed, (1,))
    for limit in costs[:, 1]:
        # A hair below a policy's own use: it still counts as within.
        limits = np.array([limit - 0.9e-9 * limit])
        kept = costs[costs[:, 1] <= tolerated(limits)[0], 0]
        assert budget.under(limits).lower_bound <= kept.min() + 1e-12 * (1.0 + kept.min())


def test_what_counts_as_within_a_limit_is_found_on_the_curve() -> None:
    planner = CountingPlanner(ways((10.0, 0.0), (6.0, 2.0), (4.0, 6.0)), frozenset({1}))
    budget = BudgetPlanner(planner, (1,))
    for use, cost in ((2.0, 6.0), (6.0, 4.0)):
        plan = budget.under(np.array([use * (1.0 - 0.5 * FEASIBILITY_TOLERANCE)])).plan
        assert plan is not None
        assert plan.costs.tolist() == [cost, use]


def test_limits_that_can_be_kept_one_by_one_and_not_together() -> None:
    plan = CSSPBuilder(cost_names=("time", "noise", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "loudly", to=out, costs=(3.0, 4.0, 0.0))
    plan.add_action(here, "roughly", to=out, costs=(2.0, 0.0, 4.0))
    plan.set_initial(here)
    budget = BudgetPlanner(CountingPlanner(plan.build(), frozenset({1, 2})), (1, 2))
    answer = budget.under(np.array([1.0, 1.0]))
    assert answer.plan is None
    assert answer.lower_bound == np.inf
    assert answer.prices.tolist() == [0.0, 0.0]
    # Half of each is within these, and none of them alone.
    answer = budget.under(np.array([2.0, 2.5]))
    assert answer.plan is None
    assert answer.lower_bound == pytest.approx(2.375)
    kept = budget.under(np.array([0.0, 4.0])).plan
    assert kept is not None
    assert kept.costs.tolist() == [2.0, 0.0, 4.0]
