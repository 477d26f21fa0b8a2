from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.value_surface import ValueSurface, _rounded_down
from hcssp.ssp.policy_iteration import ScalarOptimum
from small_procedures import risky_room
from volume import some

EVERY_COST = np.arange(3)


def plan_of(costs: FloatArray) -> ActivityPlan:
    """A plan about which only its costs are known."""
    system = ActivityPlanner(risky_room(), frozenset()).system
    return ActivityPlan(ScalarOptimum(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), costs, 0.0), system)


def least(plans: FloatArray, weights: FloatArray) -> float:
    return float((plans @ weights).min())


def random_weights(rng: np.random.Generator) -> FloatArray:
    """Now and then without one of the costs."""
    return np.append(1.0, rng.exponential(1.0, 2) * (rng.random(2) < 0.8))


def combined_bound(points: FloatArray, bounds: FloatArray, weights: FloatArray) -> float:
    """The bound of a surface that knows nothing but these points."""
    surface = ValueSurface(np.arange(len(weights)))
    surface._weights, surface._bounds = points, bounds
    return surface._bound(weights, closely=True)


@pytest.mark.parametrize("seed", some(range(20), 3))
def test_the_best_combination_is_that_of_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plans = rng.exponential(1.0, (6, 3))
    points = np.array([random_weights(rng) for _ in range(12)])
    bounds = np.array([least(plans, point) for point in points])
    for _ in range(10):
        weights = random_weights(rng)
        truth = -linprog(-bounds, A_ub=points.T, b_ub=weights).fun
        found = combined_bound(points, bounds, weights)
        assert found <= truth * (1.0 + 1e-12)
        assert found == pytest.approx(truth, rel=1e-8, abs=1e-12)
        assert found <= least(plans, weights)


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_what_is_known_is_on_both_sides_of_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.exponential(1.0, (8, 3))
    plans = [plan_of(each) for each in costs]
    surface = ValueSurface(EVERY_COST)
    assert surface.bracket(np.ones(3)) is None
    assert surface.glance(np.ones(3)) is None
    slack = []
    for _ in range(60):
        weights = random_weights(rng)
        truth = least(costs, weights)
        known, closely = surface.bracket(weights), surface.bracket(weights, closely=True)
        if known is not None and closely is not None:
            assert known.bound <= closely.bound <= truth
            assert known.value == closely.value >= truth * (1.0 - 1e-12)
            assert closely.bound == pytest.approx(
                combined_bound(surface._weights, surface._bounds, weights), rel=1e-8, abs=1e-12
            )
            slack.append((closely.value - closely.bound) / truth)
        best = int(np.argmin(costs @ weights))
        added = surface.add(weights, plans[best], truth)
        assert surface.at(weights) is added
        assert surface.best(weights) is plans[best]
    # Much is learnt: what is known of sixty points leaves little open elsewhere.
    assert np.mean(slack[-20:]) < 0.5 * np.mean(slack[:10]) + 1e-9


def test_a_smaller_region_keeps_the_bounds_and_loses_plans() -> None:
    costs = np.array([[1.0, 4.0, 0.0], [3.0, 0.0, 1.0]])
    plans = [plan_of(each) for each in costs]
    surface = ValueSurface(EVERY_COST)
    for weights in (np.array([1.0, 0.1, 0.0]), np.array([1.0, 5.0, 0.0])):
        surface.add(weights, plans[int(np.argmin(costs @ weights))], least(costs, weights))
    weights = np.array([1.0, 1.0, 0.0])
    part = surface.part(lambda plan: plan is plans[1])
    known = part.bracket(weights, closely=True)
    assert known is not None
    assert known.plan is plans[1]
    assert 0.0 < known.bound <= known.value
    assert part.at(np.array([1.0, 0.1, 0.0])) is None
    assert part.at(np.array([1.0, 5.0, 0.0])) is not None
    # What is learnt in the part is not known of the whole.
    part.add(weights, plans[1], 3.0)
    assert surface.at(weights) is None
    assert surface.part(lambda plan: False).bracket(weights) is None


def test_the_latest_points_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.value_surface.MAX_POINTS", 3)
    rng = np.random.default_rng(1)
    costs = rng.exponential(1.0, (20, 3))
    surface = ValueSurface(EVERY_COST)
    for _ in range(20):
        weights = random_weights(rng)
        surface.bracket(weights, closely=True)
        surface.add(weights, plan_of(costs[np.argmin(costs @ weights)]), least(costs, weights))
        assert len(surface._weights) == len(surface._bounds) <= 3
        assert len(surface.points) <= 3
        assert len(surface._exact) <= 3
        assert all(len(bases.bounds) <= 3 for bases in surface._bases.values())
        other = random_weights(rng)
        known = surface.bracket(other, closely=True)
        assert known is not None
        assert known.bound <= least(costs, other)


def test_between_two_weights_there_is_a_bound_without_a_close_look() -> None:
    surface = ValueSurface(EVERY_COST)
    plan = plan_of(np.array([10.0, 2.0, 0.0]))
    for price, bound in ((0.0, 10.0), (2.0, 14.0)):
        surface.add(np.array([1.0, price, 0.0]), plan, bound)
    found = surface.bracket(np.array([1.0, 1.0, 0.0]))
    assert found is not None
    assert found.value == pytest.approx(12.0)
    assert found.bound == pytest.approx(12.0, rel=1e-9)


def test_shares_of_bounds_are_counted_as_far_as_they_certainly_fit() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        points, bounds = rng.random((3, 3)), 100.0 * rng.random(3)
        weights, shares = rng.random(3) + 0.2, rng.random(3) * rng.choice([0.2, 1.0, 3.0]) - 0.1
        used = [max(Fraction(share), Fraction(0)) for share in shares.tolist()]
        worth = sum(share * Fraction(bound) for share, bound in zip(used, bounds.tolist(), strict=True))
        taken = [
            sum(share * Fraction(entry) for share, entry in zip(used, column, strict=True))
            for column in points.T.tolist()
        ]
        load = max(each / Fraction(weight) for each, weight in zip(taken, weights.tolist(), strict=True))
        true = worth / max(Fraction(1), load)
        told = Fraction(_rounded_down(shares, points, bounds, weights))
        assert true * (1 - Fraction(1, 10**13)) <= told <= true


def test_what_takes_of_a_cost_without_a_weight_does_not_fit() -> None:
    points, bounds = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 5.0])
    assert _rounded_down(np.array([1.0, 0.0]), points, bounds, np.array([1.0, 0.0])) == pytest.approx(3.0)
    assert _rounded_down(np.array([0.5, 0.5]), points, bounds, np.array([1.0, 0.0])) == 0.0


def test_a_plan_that_is_the_best_at_several_weights_is_kept_once() -> None:
    surface = ValueSurface(np.arange(3))
    cheap, sparing = np.array([1.0, 4.0, 0.0]), np.array([3.0, 1.0, 0.0])
    for price, costs in ((0.1, cheap), (0.2, cheap), (2.0, sparing), (0.3, cheap), (3.0, sparing)):
        weights = np.array([1.0, price, 0.5])
        surface.add(weights, plan_of(costs), float(weights @ costs))
    assert surface.points.tolist() == [cheap.tolist(), sparing.tolist()]
    assert len(surface.plans) == 2
