from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import BruteForce, brute_force
from counting_planner import CountingPlanner
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.evaluation import evaluate
from hcssp.scenarios.hazard_grid import hazard_grid
from random_problems import random_cssp
from random_procedures import random_activity
from small_procedures import risky_room
from volume import some

CHUNK = 20


def policies_avoiding(truth: BruteForce, forbidden: frozenset[int]) -> np.ndarray:
    """The costs of all policies that never use a forbidden row."""
    uses = np.isin(truth.policies, list(forbidden)) & (truth.policies != NO_ROW)
    return truth.costs[~uses.any(axis=1)]


def activity(seed: int, **options: float) -> CSSP:
    problem = random_cssp(seed, **options)
    return replace(problem, bounds=np.full_like(problem.bounds, np.inf))


@pytest.mark.parametrize("zero_costs", [0.0, 1.0])
@pytest.mark.parametrize("first", some(range(0, 3 * CHUNK, CHUNK), 3))
def test_every_plan_is_optimal_at_its_price_in_its_region(first: int, zero_costs: float) -> None:
    impossible = looked_up = 0
    for seed in range(first, first + CHUNK):
        cssp = activity(seed, zero_costs=zero_costs, max_constraints=1)
        planner = CountingPlanner(cssp, frozenset({1}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        regions = [frozenset[int]()]
        for _ in range(4):
            # Regions within regions, as a search makes them.
            larger = regions[int(rng.integers(len(regions)))]
            regions.append(larger | {int(row) for row in rng.integers(0, planner.balance.num_rows, size=2)})
        prices = np.concatenate([[0.0, 40.0], rng.exponential(2.0, size=8)])
        for price, region in ((p, regions[int(rng.integers(len(regions)))]) for p in [*prices, *prices]):
            weighted = policies_avoiding(truth, region) @ [1.0, price]
            before = planner.num_plans
            answer = planner.plan(np.array([1.0, price]), region)
            looked_up += planner.num_plans == before
            if answer is None:
                assert len(weighted) == 0
                impossible += 1
                continue
            plan, bound = answer
            least = weighted.min()
            assert plan.costs @ [1.0, price] == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert least - 1e-7 * (1.0 + least) <= bound <= least + 1e-12 * (1.0 + least)
            assert not any(plan.uses(row, int(planner.balance.row_state[row])) for row in region)
    assert impossible > 0
    assert looked_up > 50


@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_a_piece_of_the_curve_is_optimal_on_its_whole_interval(first: int) -> None:
    wide = 0
    for seed in range(first, first + CHUNK):
        planner = CountingPlanner(activity(seed, zero_costs=0.0, max_constraints=1), frozenset({1}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        for price in rng.exponential(2.0, size=10):
            planner.plan(np.array([1.0, price]), frozenset())
        pieces = planner._curve(frozenset()).pieces
        for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
            wide += piece.high > piece.low
            assert piece.low <= piece.high
            if following is not None:
                # Dearer prices, less use; the intervals meet in a tie at most.
                assert piece.high <= following.low + 1e-9 * (1.0 + following.low)
                assert following.plan.costs[1] <= piece.plan.costs[1]
            high = min(piece.high, piece.low + 50.0)
            for price in np.linspace(piece.low, high, 7):
                least = (truth.costs @ [1.0, price]).min()
                assert piece.plan.costs @ [1.0, price] == pytest.approx(least, rel=1e-9, abs=1e-9)
                assert piece.bound(price) <= least + 1e-12 * (1.0 + least)
    assert wide > 10


@pytest.mark.parametrize("zero_costs", [0.0, 0.3])
@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_what_is_known_brackets_the_best_plan_at_every_price(first: int, zero_costs: float) -> None:
    between = closed = 0
    for seed in range(first, first + CHUNK):
        planner = CountingPlanner(activity(seed, zero_costs=zero_costs, max_constraints=1), frozenset({1}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        region = frozenset(int(row) for row in rng.integers(0, planner.balance.num_rows, size=2))
        for planned in rng.exponential(2.0, size=4):
            for forbidden in (frozenset[int](), region):
                planner.plan(np.array([1.0, planned]), forbidden)
                weights = policies_avoiding(truth, forbidden)
                before = planner.num_plans
                for price in (0.0, *rng.exponential(2.0, size=6), 1e3):
                    bracket = planner.bracket_at(price, forbidden)
                    if bracket is None:
                        assert len(weights) == 0
                        continue
                    least = (weights @ [1.0, price]).min()
                    assert bracket.bound <= least + 1e-12 * (1.0 + least)
                    assert bracket.value >= least - 1e-9 * (1.0 + least)
                    assert bracket.value == pytest.approx(bracket.plan.costs @ [1.0, price])
                    assert not any(
                        bracket.plan.uses(row, int(planner.balance.row_state[row])) for row in forbidden
                    )
                    between += not bracket.final
                    closed += not bracket.final and bracket.value - bracket.bound <= 1e-9 * (1.0 + least)
                assert planner.num_plans == before
    assert between > 50
    assert closed > 5


@pytest.mark.parametrize("seed", some(range(20), 3))
def test_bounds_found_at_enormous_prices_are_bounds_at_all_prices(seed: int) -> None:
    planner = CountingPlanner(activity(seed, max_constraints=1), frozenset({1}))
    truth = brute_force(planner.prepared.problem)
    for price in (1e9, 1e6, 1e3, 1.0, 0.0):
        answer = planner.plan(np.array([1.0, price]), frozenset())
        assert answer is not None
        assert answer[1] <= (truth.costs @ [1.0, price]).min() * (1.0 + 1e-12) + 1e-12


def test_a_price_within_a_known_interval_is_not_planned_again() -> None:
    planner = CountingPlanner(hazard_grid(10, 10, seed=2), frozenset({1}))
    prices = np.linspace(0.0, 3.0, 200)
    first = [planner.plan(np.array([1.0, price]), frozenset()) for price in prices]
    planned = planner.num_plans
    assert planned < 100
    second = [planner.plan(np.array([1.0, price]), frozenset()) for price in prices[::-1]]
    assert planner.num_plans == planned
    values = [plan.costs @ [1.0, price] for (plan, _), price in zip(first, prices, strict=True)]
    again = [plan.costs @ [1.0, price] for (plan, _), price in zip(second[::-1], prices, strict=True)]
    assert values == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_several_counted_costs_are_planned_too(first: int) -> None:
    for seed in range(first, first + CHUNK):
        cssp = activity(seed, min_constraints=3)
        planner = CountingPlanner(cssp, frozenset({1, 3}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            weights = np.array([rng.choice([0.0, 1.0]), *rng.choice([0.0, 0.5, 9.0], 3)])
            region = frozenset(int(row) for row in np.flatnonzero(rng.random(planner.balance.num_rows) < 0.1))
            weighted = policies_avoiding(truth, region) @ weights
            for answer in (planner.plan(weights, region), planner.plan(weights, region)):
                if answer is None:
                    assert len(weighted) == 0
                    continue
                plan, bound = answer
                assert plan.costs @ weights == pytest.approx(weighted.min(), rel=1e-9, abs=1e-9)
                assert bound <= weighted.min() * (1.0 + 1e-12) + 1e-12


def test_an_activity_whose_secondary_costs_nobody_counts_has_one_plan() -> None:
    planner = CountingPlanner(hazard_grid(6, 6, seed=1), frozenset())
    for _ in range(3):
        answer = planner.plan(np.array([1.0, 0.0]), frozenset())
        assert answer is not None
    assert planner.num_plans == 1


def test_forbidding_more_than_what_is_impossible_is_impossible() -> None:
    planner = CountingPlanner(hazard_grid(4, 4, seed=1), frozenset({1}))
    start = int(np.flatnonzero(planner.balance.initial)[0])
    every = frozenset(range(int(planner.balance.row_start[start]), int(planner.balance.row_start[start + 1])))
    weights = np.array([1.0, 0.0])
    assert planner.plan(weights, every) is None
    planned = planner.num_plans
    assert planner.plan(weights, every | {0, 1, 2}) is None
    assert planner.num_plans == planned
    # Rows elsewhere have nothing to do with it.
    assert planner.plan(weights, frozenset({int(planner.balance.num_rows) - 1})) is not None
    assert planner.plan(weights, frozenset()) is not None


def test_too_many_curves_are_dropped_but_for_that_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hcssp.dual.activity_planner.MAX_CURVES", 2)
    for seed in range(CHUNK):
        planner = CountingPlanner(activity(seed, max_constraints=1), frozenset({1}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        for price in rng.exponential(2.0, size=12):
            region = frozenset(int(row) for row in rng.integers(0, planner.balance.num_rows, size=2))
            for forbidden in (region, frozenset[int]()):
                weighted = policies_avoiding(truth, forbidden) @ [1.0, price]
                answer = planner.plan(np.array([1.0, price]), forbidden)
                assert len(planner._curves) <= 2
                if answer is None:
                    assert len(weighted) == 0
                    continue
                # A curve that was filed under another region would be too good, or too dear.
                assert answer[0].costs @ [1.0, price] == pytest.approx(weighted.min(), rel=1e-9, abs=1e-9)
                assert answer[1] <= weighted.min() * (1.0 + 1e-12) + 1e-12
        # Another region drops the curves once more, and that of the whole stays.
        planner.plan(np.array([1.0, float(price)]), frozenset({0}))
        planner.plan(np.array([1.0, float(price)]), frozenset({1}))
        before = planner.num_plans
        planner.plan(np.array([1.0, float(price)]), frozenset())
        assert planner.num_plans == before


def test_too_many_surfaces_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.activity_planner.MAX_CURVES", 2)
    planner = CountingPlanner(activity(3, min_constraints=3), frozenset({1, 3}))
    truth = brute_force(planner.prepared.problem)
    for price in (0.0, 0.5, 1.0, 2.0, 4.0, 0.5):
        weights = np.array([1.0, price, 0.0, 1.0])
        for forbidden in (frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 2})):
            weighted = policies_avoiding(truth, forbidden) @ weights
            answer = planner.plan(weights, forbidden)
            assert len(planner._surfaces) <= 2
            if answer is None:
                assert len(weighted) == 0
            else:
                assert answer[1] == pytest.approx(weighted.min(), rel=1e-8)


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_what_is_known_about_several_costs_holds_within_every_region(seed: int) -> None:
    planner = CountingPlanner(activity(seed, min_constraints=3), frozenset({1, 2, 3}))
    truth = brute_force(planner.prepared.problem)
    rng = np.random.default_rng(seed)
    regions = [frozenset[int]()]
    regions += [frozenset(rng.integers(0, planner.balance.num_rows, 2).tolist()) for _ in range(2)]
    looked_up = 0
    for _ in range(25):
        weights = np.append(rng.choice([0.0, 1.0, 1.0]), rng.exponential(1.0, 3) * rng.integers(0, 2, 3))
        for forbidden in regions:
            weighted = policies_avoiding(truth, forbidden) @ weights
            before = planner.num_plans
            for look in (planner.glance, planner.bracket):
                known = look(weights, forbidden)
                if known is None:
                    assert len(weighted) == 0
                    continue
                assert known.bound <= weighted.min() * (1.0 + 1e-12)
                assert known.value >= weighted.min() * (1.0 - 1e-9) - 1e-12
                assert known.plan.costs @ weights == pytest.approx(known.value, rel=1e-12, abs=1e-12)
            closely = planner.bracket(weights, forbidden, closely=True)
            assert closely is None or closely.bound <= weighted.min() * (1.0 + 1e-12)
            looked_up += planner.num_plans == before
            if rng.random() < 0.3:
                planner.plan(weights, forbidden)
    # Where something is known, a look plans nothing.
    assert looked_up >= 25 * len(regions) - len(regions)


def test_a_plan_made_afresh_has_the_bound_of_its_own_weights() -> None:
    planner = CountingPlanner(hazard_grid(8, 8, seed=2), frozenset({1}))
    weights = np.array([1.0, 500.0])
    known = planner.plan(weights, frozenset())
    assert known is not None
    before = planner.num_plans
    fresh = planner.plan_afresh(weights, frozenset(), known[0])
    assert fresh is not None
    assert planner.num_plans == before + 1
    assert fresh[0].costs @ weights == pytest.approx(known[0].costs @ weights, rel=1e-9)
    assert fresh[1] >= known[1] - 1e-12 * abs(known[1])
    every = frozenset(range(planner.balance.num_rows))
    assert planner.plan_afresh(weights, every) is None


def test_a_plan_is_lifted_to_the_activity_as_it_was_stated() -> None:
    for seed in range(CHUNK):
        cssp = activity(seed)
        planner = CountingPlanner(cssp, frozenset())
        answer = planner.plan(np.append(1.0, np.zeros(cssp.num_constraints)), frozenset())
        assert answer is not None
        rows = planner.lift(answer[0])
        evaluation = evaluate(cssp, DeterministicPolicy(cssp, rows))
        np.testing.assert_allclose(evaluation.costs, answer[0].costs, rtol=1e-9, atol=1e-10)
        assert planner.plan_from(answer[0].rows).costs == pytest.approx(answer[0].costs)


def test_where_a_state_cannot_be_left_any_more_nothing_is_claimed_of_other_prices() -> None:
    rooms = CSSPBuilder(cost_names=("time", "damage"))
    here, pit, out = rooms.add_state("here"), rooms.add_state("pit"), rooms.add_goal("out")
    rooms.add_action(here, "around", to=out, costs=(3.0, 1.0))
    rooms.add_action(here, "through", to=pit, costs=(1.0, 0.0))
    rooms.add_action(pit, "climb", to=out, costs=(1.0, 0.0))
    planner = ActivityPlanner(rooms.build(), frozenset({1}))
    (climb,) = (row for row in range(planner.balance.num_rows) if planner.balance.row_state[row] == 1)
    for forbidden, points in ((frozenset({climb}), True), (frozenset(), False)):
        planner.plan_at(2.0, forbidden)
        piece, _ = planner.known_around(2.0, forbidden)
        assert piece is not None
        assert (piece.low == piece.high == 2.0) == points


@pytest.mark.parametrize("counted", [frozenset[int](), frozenset({1})])
def test_weights_that_are_a_price_are_answered_as_the_price(counted: frozenset[int]) -> None:
    cssp = activity(3, max_constraints=1)
    planner = ActivityPlanner(cssp, counted)
    # Where nothing is counted, nothing has a price.
    for price in (0.0, 0.7, 2.5) if counted else (0.0,):
        for forbidden in (frozenset[int](), frozenset({0})):
            weights = np.zeros(planner.num_costs)
            weights[0], weights[1] = 1.0, price
            assert planner.bracket(weights, forbidden) == planner.bracket_at(price, forbidden)
            assert planner.plan(weights, forbidden) == planner.plan_at(price, forbidden)
            assert planner.glance(weights, forbidden) == planner.bracket_at(price, forbidden)


@pytest.mark.parametrize("counted", [frozenset({1}), frozenset({1, 2})])
def test_weights_that_are_no_price_are_not_taken_for_one(counted: frozenset[int]) -> None:
    for seed in range(8):
        cssp = activity(seed, max_constraints=2)
        if len(cssp.costs) < 3:
            continue
        planner = ActivityPlanner(cssp, counted)
        truth = brute_force(planner.prepared.problem)
        for primary, price in ((0.0, 1.0), (1.0, 1.0), (0.5, 1.0), (2.0, 3.0), (0.0, 0.0), (1.0, 0.25)):
            weights = np.zeros(planner.num_costs)
            weights[0], weights[1] = primary, price
            least = float((truth.costs @ weights).min())
            for answer in (planner.bracket(weights, frozenset()), planner.glance(weights, frozenset())):
                assert answer is not None
                assert answer.bound <= least + 1e-12 * (1.0 + least)
                assert answer.value >= least - 1e-9 * (1.0 + least)
                assert answer.value == pytest.approx(float(weights @ answer.plan.costs))
            planned = planner.plan(weights, frozenset())
            assert planned is not None
            assert least - 1e-7 * (1.0 + least) <= planned[1] <= least + 1e-12 * (1.0 + least)


def test_a_row_that_was_taken_out_or_never_was_there_has_no_number() -> None:
    planner = ActivityPlanner(activity(2), frozenset({1}))
    kept = planner.prepared.rows.tolist()
    assert [planner.prepared_row(row) for row in kept] == list(range(len(kept)))
    assert planner.prepared_row(max(kept) + 1) is None
    for row in set(range(max(kept))) - set(kept):
        assert planner.prepared_row(row) is None


@pytest.mark.parametrize("chance", [0.5, 1e-6, 1e-12, 1e-20])
def test_a_plan_uses_a_row_however_seldom_it_comes_there(chance: float) -> None:
    rooms = CSSPBuilder(cost_names=("time", "damage"))
    here, pit, attic = (rooms.add_state(name) for name in ("here", "pit", "attic"))
    out = rooms.add_goal("out")
    rooms.add_action(here, "jump", to={out: 1.0 - chance, pit: chance}, costs=(1.0, 0.0))
    rooms.add_action(here, "climb", to=attic, costs=(50.0, 0.0))
    rooms.add_action(pit, "climb", to=out, costs=(1.0, 0.0))
    rooms.add_action(attic, "leave", to=out, costs=(1.0, 0.0))
    rooms.set_initial(here)
    planner = ActivityPlanner(rooms.build(), frozenset({1}))
    answer = planner.plan_at(0.0, frozenset())
    assert answer is not None
    used = [answer[0].uses(row, int(state)) for row, state in enumerate(planner.balance.row_state)]
    assert used == [True, False, True, False]
    assert planner.uses_any(answer[0], [1, 3]) is False
    assert planner.uses_any(answer[0], [1, 2]) is True


def test_that_one_region_has_no_plan_says_nothing_about_others() -> None:
    planner = ActivityPlanner(risky_room(), frozenset({1}))
    both, one = frozenset({0, 1}), frozenset({0})
    assert planner.bracket_at(1.0, both) is None
    assert planner.plan_at(1.0, both) is None
    for region in (frozenset[int](), one):
        bracket, planned = planner.bracket_at(1.0, region), planner.plan_at(1.0, region)
        assert bracket is not None
        assert planned is not None
        # Round: 3 time. Dash: 2 time and 8 damage.
        assert planned[1] == pytest.approx(10.0 if region == one else 3.0)
        assert bracket.bound <= planned[1] * (1.0 + 1e-12)


@pytest.mark.parametrize("counted", [frozenset({1}), frozenset({1, 2})], ids=["curve", "surface"])
@pytest.mark.parametrize("seed", some(range(12), 3))
def test_what_holds_in_a_smaller_region_is_not_taken_for_a_larger_one(
    counted: frozenset[int], seed: int
) -> None:
    planner = ActivityPlanner(random_activity(np.random.default_rng(seed)), counted)
    every, size = brute_force(planner.prepared.problem), planner.balance.num_rows
    rng = np.random.default_rng(seed)
    # From the smallest to the whole, and others in between.
    order = rng.permutation(size).tolist()
    regions = [frozenset(order[:number]) for number in (3, 2, 1, 0)]
    for region in [*regions, *(region | {order[-1]} for region in regions), *regions]:
        for scale in (0.1, 1.0, 5.0):
            weights = np.append(1.0, scale * np.array([1.0, 0.5 * (2 in counted)]))
            least = float((policies_avoiding(every, region) @ weights).min(initial=np.inf))
            for found in (planner.bracket(weights, region), planner.bracket(weights, region, closely=True)):
                assert found is None or found.bound <= least * (1.0 + 1e-12)
            answer = planner.plan(weights, region)
            assert (answer is None) == (least == np.inf)
            assert answer is None or answer[1] == pytest.approx(least)


def test_where_several_costs_are_counted_there_is_no_price() -> None:
    several = ActivityPlanner(activity(3, min_constraints=3), frozenset({1, 3}))
    with pytest.raises(ValueError, match="several costs are counted"):
        several.plan_at(1.0, frozenset())


def test_with_one_counted_cost_the_curve_is_looked_up_and_no_surface() -> None:
    one, two = (ActivityPlanner(activity(3, min_constraints=3), frozenset(each)) for each in ({1}, {1, 3}))
    for planner in (one, two):
        # Weights that are no price: those who have a curve keep a surface for them, too.
        for primary in (2.0, 3.0):
            weights = np.array([primary, 1.0, 0.0, 0.0])
            assert planner.plan(weights, frozenset()) is not None
            assert planner.bracket(1.1 * weights, frozenset(), closely=True) is not None
    assert one.known_points(frozenset())[0] == []
    plans, points = two.known_points(frozenset())
    assert len(plans) > 0
    assert np.array_equal(points, [plan.costs[[0, 1, 3]] for plan in plans])
