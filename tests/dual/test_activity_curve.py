"""Both views of a budget curve, on curves that are known by heart."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.dual.activity_curve import ActivityPlan, BudgetCurve, Piece
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.frontier import Frontier
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem
from hcssp.ssp.policy_iteration import ScalarOptimum
from proper_problems import proper_problem
from small_procedures import risky_room

SYSTEM = PolicySystem(Balance(proper_problem(0)))


def plan(cost: float, use: float) -> ActivityPlan:
    """A plan of which only the costs are of interest."""
    costs = np.array([cost, use])
    return ActivityPlan(ScalarOptimum(np.zeros(0, dtype=np.int64), np.zeros((0, 2)), costs, -np.inf), SYSTEM)


def piece(low: float, high: float, cost: float, use: float, loss: float = 0.0) -> Piece:
    return Piece(low, high, plan(cost, use), cost, use, cost + low * use - loss, cost + high * use - loss)


# Use and cost of the vertices of a hull: prices 3, 1 and 1/2 lie between them.
HULL = ((0.0, 10.0), (2.0, 4.0), (4.0, 2.0), (6.0, 1.0))


def known_curve() -> BudgetCurve:
    """The hull without its third vertex."""
    curve = BudgetCurve()
    for low, high, vertex in ((3.0, 50.0, 0), (1.0, 3.0, 1), (0.0, 0.5, 3)):
        curve.add(piece(low, high, HULL[vertex][1], HULL[vertex][0]))
    return curve


def least(price: float) -> float:
    return min(cost + price * use for use, cost in HULL)


def test_a_price_within_an_interval_is_a_look_up() -> None:
    curve = known_curve()
    assert [each.low for each in curve.pieces] == [0.0, 1.0, 3.0]
    for price in (0.0, 0.3, 0.5, 1.0, 2.0, 30.0):
        found = curve.at(price)
        assert found is not None
        assert found.value(price) == pytest.approx(least(price))
        # Nothing is left to be planned there.
        assert curve.bracket(price) == (found.plan, found.value(price), found.bound(price), True)
    assert curve.at(0.7) is None
    assert not curve.bracket(0.7).final
    assert curve.at(51.0) is None


def test_between_intervals_the_chord_is_below_and_the_lines_are_above() -> None:
    curve = known_curve()
    for price in np.linspace(0.51, 0.99, 9):
        bracket = curve.between(float(price))
        assert bracket.bound <= least(price) <= bracket.value
        assert not bracket.final
    # Above the last interval nothing but "it never falls" is known.
    beyond = curve.between(80.0)
    assert beyond.bound == pytest.approx(10.0)
    assert beyond.value == pytest.approx(10.0)


def test_what_an_interval_gives_away_lowers_its_bound_and_the_chords() -> None:
    curve = BudgetCurve([piece(0.0, 0.5, 1.0, 6.0, loss=0.25), piece(3.0, 50.0, 10.0, 0.0, loss=0.5)])
    first = curve.at(0.2)
    assert first is not None
    assert first.bound(0.2) == pytest.approx(first.value(0.2) - 0.25)
    middle = curve.between(1.75)
    assert middle.bound == pytest.approx(0.5 * (4.0 - 0.25) + 0.5 * (10.0 - 0.5))


def test_an_interval_without_an_end_rises_by_the_least_use() -> None:
    endless = Piece(2.0, np.inf, plan(4.0, 2.0), 4.0, 2.0, 7.5, 1.5)
    assert endless.bound(2.0) == 7.5
    assert endless.bound(6.0) == pytest.approx(7.5 + 4.0 * 1.5)
    assert endless.bound(6.0) <= 7.5 + 4.0 * 1.5


def test_a_neighbour_with_the_same_costs_is_joined_and_keeps_the_bounds_of_both_ends() -> None:
    curve = known_curve()
    joined = curve.add(piece(0.6, 0.8, HULL[3][1], HULL[3][0], loss=0.1))
    assert len(curve.pieces) == 3
    assert (joined.low, joined.high) == (0.0, 0.8)
    assert (joined.low_bound, joined.high_bound) == pytest.approx((1.0, 1.0 + 0.8 * 6.0 - 0.1))
    assert curve.at(0.7) is joined
    assert joined.low_plan is None
    assert joined.high_plan is not None
    assert joined.high_plan is not joined.plan
    assert len(known_curve().pieces) == 3
    curve.add(piece(0.85, 0.9, HULL[2][1], HULL[2][0]))
    assert [each.low for each in curve.pieces] == [0.0, 0.85, 1.0, 3.0]


def test_the_nearest_piece_is_that_with_the_closest_end() -> None:
    curve = known_curve()
    assert BudgetCurve().nearest(1.0) is None
    for price, low in ((0.6, 0.0), (0.9, 1.0), (2.0, 1.0), (70.0, 3.0)):
        nearest = curve.nearest(price)
        assert nearest is not None
        assert nearest.low == low


def test_a_plan_of_a_larger_region_at_the_price_is_closer_than_one_at_another() -> None:
    larger = known_curve()
    part = BudgetCurve([piece(3.0, 50.0, 10.0, 0.0)], larger)
    for price, low in ((0.2, 0.0), (2.0, 1.0), (10.0, 3.0)):
        closest = part.closest(price)
        assert closest is not None
        assert closest.low == low
    # Where both know the price, the plan that lies in the region is at hand.
    assert part.closest(10.0) is part.pieces[0]
    assert BudgetCurve([], larger).closest(2.0) is larger.pieces[1]
    assert larger.closest(0.8) is larger.nearest(0.8)
    assert BudgetCurve().closest(1.0) is None


class Hull:
    """Answers prices from a table of points, and counts the questions."""

    def __init__(self, points: tuple[tuple[float, float], ...]) -> None:
        self.plans = [plan(cost, use) for use, cost in points]
        self.num_asked = 0

    def at(self, price: float) -> ActivityPlan:
        self.num_asked += 1
        return min(self.plans, key=lambda each: float(each.costs[0] + price * each.costs[1]))

    def frontier(self) -> Frontier:
        cheapest = min(self.plans, key=lambda each: (float(each.costs[0]), float(each.costs[1])))
        sparest = min(self.plans, key=lambda each: (float(each.costs[1]), float(each.costs[0])))
        return Frontier(1, self.at, (cheapest, sparest))


@pytest.mark.parametrize(
    ("limit", "use", "price"),
    [(0.0, 0.0, 3.0), (1.0, 0.0, 3.0), (2.0, 2.0, 1.0), (3.9, 2.0, 1.0), (5.0, 4.0, 0.5), (9.0, 6.0, 0.0)],
)
def test_under_a_limit_the_best_vertex_below_and_the_slope_above_it(
    limit: float, use: float, price: float
) -> None:
    found, slope = Hull(HULL).frontier().support(limit)
    assert found is not None
    assert found.costs[1] == use
    assert slope == pytest.approx(price)


def test_below_the_least_use_there_is_no_plan_and_the_steepest_price() -> None:
    frontier = Hull(HULL).frontier()
    frontier.support(1.0)
    assert frontier.support(-1e-12) == (None, pytest.approx(3.0))
    assert Hull(((1.0, 5.0),)).frontier().support(0.5) == (None, 0.0)


def test_a_stretch_that_is_known_is_not_asked_for_again() -> None:
    hull = Hull(HULL)
    frontier = hull.frontier()
    for limit in np.linspace(0.0, 6.0, 13):
        frontier.support(float(limit))
    asked = hull.num_asked
    # Each of three edges once found and once confirmed, and no more.
    assert asked <= 6
    for limit in np.linspace(0.0, 6.0, 50):
        frontier.support(float(limit))
    assert hull.num_asked == asked


points = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda pair: (float(pair[0]), float(pair[1])))


@given(st.lists(points, min_size=1, max_size=9).map(tuple), st.floats(0.0, 12.0))
def test_the_line_at_a_limit_supports_the_hull_of_all_points(
    table: tuple[tuple[float, float], ...], limit: float
) -> None:
    found, price = Hull(table).frontier().support(limit)
    use, cost = np.array(table).T
    if limit < use.min():
        assert found is None
        return
    assert found is not None
    assert found.costs[1] <= limit
    # No point lies below the line through the vertex, and no vertex between it and the limit is better.
    level = float(found.costs[0] + price * found.costs[1])
    assert np.all(cost + price * use >= level - 1e-9)
    hull = max(min(cost + each * (use - limit)) for each in (price, *(np.linspace(0.0, 13.0, 27).tolist())))
    assert level - price * limit == pytest.approx(hull, abs=1e-9)


def test_at_the_ends_of_an_interval_the_bound_is_what_was_certified_there() -> None:
    known = replace(piece(1.0, 3.0, 4.0, 2.0), low_bound=5.9, high_bound=9.8)
    assert (known.bound(1.0), known.bound(3.0)) == (5.9, 9.8)
    # Nothing else is known beyond them, either.
    assert (known.bound(0.5), known.bound(4.0)) == (5.9, 9.8)
    assert known.bound(2.0) == pytest.approx(7.85)
    assert known.bound(2.0) < 7.85
    endless = replace(known, high=inf, high_bound=2.0)
    assert endless.bound(1.0) == 5.9
    assert endless.bound(4.0) == pytest.approx(5.9 + 3.0 * 2.0)


def test_around_a_price_there_is_its_own_piece_or_one_on_either_side() -> None:
    curve = known_curve()
    first, second, third = curve.pieces
    assert curve.around(2.0) == (second, second)
    assert curve.around(0.5) == (first, first)
    assert curve.around(0.7) == (first, second)
    assert curve.around(51.0) == (third, None)
    assert BudgetCurve(curve.pieces[1:]).around(0.7) == (None, second)


def test_of_two_ends_with_the_same_use_the_dearer_one_is_no_vertex() -> None:
    for ends in ((plan(5.0, 1.0), plan(6.0, 1.0)), (plan(6.0, 1.0), plan(5.0, 1.0))):
        found, price = Frontier(1, lambda _: plan(5.0, 1.0), ends).support(2.0)
        assert found is not None
        assert (found.costs[0], price) == (5.0, 0.0)


def test_a_plan_takes_the_memory_of_its_arrays() -> None:
    planner = ActivityPlanner(risky_room(), frozenset({1}))
    answer = planner.plan_at(0.0, frozenset())
    assert answer is not None
    plan = answer[0]
    arrays = (plan.costs, plan.rows, plan.values, plan.visits, plan.reached)
    assert plan.nbytes == sum(each.nbytes for each in arrays)


def test_plans_that_agree_in_one_cost_alone_are_two_points() -> None:
    curve = BudgetCurve()
    for low, high, cost, use in ((2.0, 3.0, 5.0, 1.0), (0.0, 1.0, 5.0, 2.0), (4.0, 5.0, 7.0, 1.0)):
        curve.add(piece(low, high, cost, use))
    assert [(each.low, each.high) for each in curve.pieces] == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]
    # Those that agree in both are one.
    joined = curve.add(piece(1.5, 2.5, 5.0, 1.0))
    assert (joined.low, joined.high) == (1.5, 3.0)
    assert (joined.low_bound, joined.high_bound) == (6.5, 8.0)
    assert len(curve.pieces) == 3
