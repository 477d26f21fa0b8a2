from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.value_cache import ActivityPlan, PlannerParameters, PriceCache, WeightsCache, combined
from small_procedures import risky_room
from volume import some

EVERY_COST = np.arange(3)


def plan_of(costs: FloatArray) -> ActivityPlan:
    """A plan about which only its costs are known."""
    system = ActivityPlanner(risky_room(), frozenset()).system
    return ActivityPlan(system, np.zeros(0, dtype=np.int64), np.zeros((0, len(costs))), costs)


def least(plans: FloatArray, weights: FloatArray) -> float:
    return float((plans @ weights).min())


def random_weights(rng: np.random.Generator) -> FloatArray:
    """Now and then without one of the costs."""
    return np.append(1.0, rng.exponential(1.0, 2) * (rng.random(2) < 0.8))


def combined_bound(points: FloatArray, bounds: FloatArray, weights: FloatArray) -> float:
    """The bound of a cache that knows nothing but these points."""
    cache = WeightsCache(np.arange(len(weights)))
    for point, bound in zip(points, bounds, strict=True):
        # The cost of the plan is so high that it never limits the bound.
        cache.add(point, plan_of(np.full(len(weights), 1e9)), bound)
    known = cache.lookup(weights, refine=True)
    assert known is not None
    return known.lower


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
    cache = WeightsCache(EVERY_COST)
    assert cache.lookup(np.ones(3)) is None
    points, bounds = np.zeros((0, 3)), np.zeros(0)
    slack = []
    for _ in range(60):
        weights = random_weights(rng)
        truth = least(costs, weights)
        known, closely = cache.lookup(weights), cache.lookup(weights, refine=True)
        if known is not None and closely is not None:
            assert known.lower <= closely.lower * (1.0 + 1e-14)
            assert closely.lower <= truth
            assert known.upper == closely.upper >= truth * (1.0 - 1e-12)
            assert closely.lower == pytest.approx(
                min(combined_bound(points, bounds, weights), closely.upper), rel=1e-8, abs=1e-12
            )
            slack.append((closely.upper - closely.lower) / truth)
        best = int(np.argmin(costs @ weights))
        cache.add(weights, plans[best], truth)
        points, bounds = np.vstack([points, weights]), np.append(bounds, truth)
        assert cache.at(weights) == (plans[best], pytest.approx(truth), truth, True)
        assert cache.warm_start(weights) is plans[best]
    # Much is learnt: what is known of sixty points leaves little open elsewhere.
    assert np.mean(slack[-20:]) < 0.5 * np.mean(slack[:10]) + 1e-9


def test_a_smaller_region_keeps_the_bounds_and_loses_plans() -> None:
    costs = np.array([[1.0, 4.0, 0.0], [3.0, 0.0, 1.0]])
    plans = [plan_of(each) for each in costs]
    cache = WeightsCache(EVERY_COST)
    for weights in (np.array([1.0, 0.1, 0.0]), np.array([1.0, 5.0, 0.0])):
        cache.add(weights, plans[int(np.argmin(costs @ weights))], least(costs, weights))
    weights = np.array([1.0, 1.0, 0.0])
    part = cache.restricted(lambda plan: plan is plans[1])
    known = part.lookup(weights, refine=True)
    assert known is not None
    assert known.plan is plans[1]
    assert 0.0 < known.lower <= known.upper
    assert part.at(np.array([1.0, 0.1, 0.0])) is None
    assert part.at(np.array([1.0, 5.0, 0.0])) is not None
    # What is learnt in the part is not known of the whole.
    part.add(weights, plans[1], 3.0)
    assert cache.at(weights) is None
    assert cache.restricted(lambda plan: False).lookup(weights) is None


def test_the_latest_points_are_kept() -> None:
    rng = np.random.default_rng(1)
    costs = rng.exponential(1.0, (20, 3))
    cache = WeightsCache(EVERY_COST, PlannerParameters(max_points=3))
    for _ in range(40):
        weights = random_weights(rng)
        cache.lookup(weights, refine=True)
        cache.add(weights, plan_of(costs[np.argmin(costs @ weights)]), least(costs, weights))
        assert len(cache.plans) <= 3
        assert len(cache._columns) == len(cache._bounds) <= 3 + 3
        assert len(cache._exact) <= 3
        assert len(cache._bases) == len(cache._inverses) <= 3 + 1
        other = random_weights(rng)
        known = cache.lookup(other, refine=True)
        assert known is not None
        assert known.lower <= least(costs, other)


def test_between_two_weights_there_is_a_bound_without_a_close_look() -> None:
    cache = WeightsCache(EVERY_COST)
    plan = plan_of(np.array([10.0, 2.0, 0.0]))
    for price, bound in ((0.0, 10.0), (2.0, 14.0)):
        cache.add(np.array([1.0, price, 0.0]), plan, bound)
    found = cache.lookup(np.array([1.0, 1.0, 0.0]))
    assert found is not None
    assert found.upper == pytest.approx(12.0)
    assert found.lower == pytest.approx(12.0, rel=1e-9)


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
        told = Fraction(combined(points, bounds, shares, weights))
        assert true * (1 - Fraction(1, 10**13)) <= told <= true


def test_what_takes_of_a_cost_without_a_weight_does_not_fit() -> None:
    points, bounds = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 5.0])
    weights = np.array([1.0, 0.0])
    assert combined(points, bounds, np.array([1.0, 0.0]), weights) == pytest.approx(3.0)
    assert combined(points, bounds, np.array([0.5, 0.5]), weights) == pytest.approx(1.5)
    assert combined(points, bounds, np.array([0.0, 1.0]), weights) == 0.0


def test_a_plan_that_is_the_best_at_several_weights_is_kept_once() -> None:
    cache = WeightsCache(np.arange(3))
    cheap, sparing = np.array([1.0, 4.0, 0.0]), np.array([3.0, 1.0, 0.0])
    for price, costs in ((0.1, cheap), (0.2, cheap), (2.0, sparing), (0.3, cheap), (3.0, sparing)):
        weights = np.array([1.0, price, 0.5])
        cache.add(weights, plan_of(costs), float(weights @ costs))
    assert [plan.costs.tolist() for plan in cache.plans] == [cheap.tolist(), sparing.tolist()]


# Use and cost of the points of a hull: prices 3, 1 and 1/2 lie between them.
HULL = ((0.0, 10.0), (2.0, 4.0), (4.0, 2.0), (6.0, 1.0))
PLANS = [plan_of(np.array([cost, use])) for use, cost in HULL]


def solved_at(*prices: float, loss: float = 0.0) -> PriceCache:
    """What is known after solving at some prices; an infinite one is that of the use alone."""
    cache = PriceCache(1)
    for price in prices:
        weights = np.array([1.0, price]) if price < np.inf else np.array([0.0, 1.0])
        best = min(PLANS, key=lambda plan: float(plan.costs @ weights))
        cache.add(weights, best, float(best.costs @ weights) - loss)
    return cache


def least_at(price: float) -> float:
    return min(cost + price * use for use, cost in HULL)


@pytest.mark.parametrize(
    "prices", [(0.2,), (0.2, 2.0), (4.0, 0.2, 2.0), (0.2, np.inf), (4.0, 5.0, 0.7, np.inf)]
)
def test_chords_are_below_and_lines_above_the_least_cost_at_every_price(prices: tuple[float, ...]) -> None:
    cache = solved_at(*prices)
    for price in np.linspace(0.0, 9.0, 46):
        for scale in (1.0, 0.3, 7.0):
            known = cache.lookup(scale * np.array([1.0, price]))
            assert known is not None
            assert known.lower <= scale * least_at(price) <= known.upper * (1.0 + 1e-12)
            assert known.upper == pytest.approx(scale * float(known.plan.costs @ [1.0, price]))
            if known.exact:
                assert known.upper == pytest.approx(scale * least_at(price))
    for price in prices:
        known = cache.at(np.array([1.0, price]) if price < np.inf else np.array([0.0, 2.0]))
        assert known is not None
        assert known.lower == pytest.approx(least_at(price) if price < np.inf else 0.0)


def test_between_two_prices_with_the_same_plan_nothing_is_left_to_plan() -> None:
    cache = solved_at(1.2, 2.8)
    known = cache.at(np.array([1.0, 2.0]))
    assert known is not None
    assert known.plan is PLANS[1]
    assert known.lower == pytest.approx(8.0)
    assert cache.at(np.array([1.0, 3.0])) is None
    # A third price there replaces one of the two, and costs that differ a little are the same point.
    again = plan_of(PLANS[1].costs * (1.0 + 1e-15))
    cache.add(np.array([1.0, 2.9]), again, 9.8)
    below, above = cache.around(2.0)
    assert below is not None
    assert above is not None
    assert (below.price, above.price) == (1.2, 2.9)
    assert above.plan is again
    assert above.point is PLANS[1]
    assert cache.plans == [PLANS[1]]


def test_beyond_all_prices_the_least_use_counts() -> None:
    known = solved_at(0.2, 2.0).lookup(np.array([1.0, 9.0]))
    assert known is not None
    # It never falls.
    assert known.lower == pytest.approx(8.0)
    use = solved_at(0.2, 2.0).lookup(np.array([0.0, 1.0]))
    assert use is not None
    assert (use.lower, use.upper) == (0.0, 2.0)


def test_losses_of_bounds_lower_the_chords() -> None:
    known = solved_at(0.2, 4.0, loss=0.5).lookup(np.array([1.0, 2.1]))
    assert known is not None
    assert known.lower == pytest.approx(0.5 * (least_at(0.2) + least_at(4.0)) - 0.5)


def test_a_smaller_region_begins_with_the_prices_whose_plans_lie_in_it() -> None:
    whole = solved_at(0.2, 0.7, 2.0, 4.0)
    part = whole.restricted(lambda plan: plan in (PLANS[2], PLANS[3]))
    assert part.plans == [PLANS[3], PLANS[2]]
    assert part.at(np.array([1.0, 2.0])) is None
    # A plan of the larger region that is optimal nearby is a better start than one far away.
    assert part.warm_start(np.array([1.0, 1.9])) is PLANS[1]
    assert part.warm_start(np.array([1.0, 0.69])) is PLANS[2]
    part.add(np.array([1.0, 9.0]), PLANS[2], 38.0)
    assert whole.at(np.array([1.0, 9.0])) is None


def test_a_plan_takes_the_memory_of_its_arrays() -> None:
    planner = ActivityPlanner(risky_room(), frozenset({1}))
    answer = planner.plan(np.array([1.0, 0.0]), frozenset())
    assert answer is not None
    before = answer.plan.nbytes
    assert before >= answer.plan.rows.nbytes + answer.plan.values.nbytes + answer.plan.costs.nbytes
    assert answer.plan.visits.nbytes + before <= answer.plan.nbytes
