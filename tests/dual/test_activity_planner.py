from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import BruteForce, brute_force
from counting_planner import CountingPlanner
from hazard_grid import hazard_grid
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.dual.activity_planner import ActivityPlanner, MultiExitPlanner, loose_activities
from hcssp.dual.multi_exit import MultiExitOracle
from hcssp.dual.value_cache import DEFAULT_PARAMETERS, ActivityPlan, ValueBounds
from hcssp.evaluation import evaluate
from hcssp.procedure import Outcome, ProcedureBuilder
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
            plan, _, bound, _ = answer
            least = weighted.min()
            assert plan.costs @ [1.0, price] == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert least - 1e-7 * (1.0 + least) <= bound <= least + 1e-12 * (1.0 + least)
            assert not plan.uses_any(region)
    assert impossible > 0
    assert looked_up > 50


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
                    bracket = planner.lookup(np.array([1.0, price]), forbidden)
                    if bracket is None:
                        assert len(weights) == 0
                        continue
                    least = (weights @ [1.0, price]).min()
                    assert bracket.lower <= least + 1e-12 * (1.0 + least)
                    assert bracket.upper >= least - 1e-9 * (1.0 + least)
                    assert bracket.upper == pytest.approx(bracket.plan.costs @ [1.0, price])
                    assert not bracket.plan.uses_any(forbidden)
                    between += not bracket.exact
                    closed += not bracket.exact and bracket.upper - bracket.lower <= 1e-9 * (1.0 + least)
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
        assert answer.lower <= (truth.costs @ [1.0, price]).min() * (1.0 + 1e-12) + 1e-12


def test_a_price_within_a_known_interval_is_not_planned_again() -> None:
    planner = CountingPlanner(hazard_grid(10, 10, seed=2), frozenset({1}))
    prices = np.random.default_rng(1).permutation(np.linspace(0.0, 3.0, 200))
    first = [planner.plan(np.array([1.0, price]), frozenset()) for price in prices]
    planned = planner.num_plans
    assert planned < 100
    second = [planner.plan(np.array([1.0, price]), frozenset()) for price in prices[::-1]]
    assert planner.num_plans == planned
    values = [plan.costs @ [1.0, price] for (plan, *_), price in zip(first, prices, strict=True)]
    again = [plan.costs @ [1.0, price] for (plan, *_), price in zip(second[::-1], prices, strict=True)]
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
                plan, _, bound, _ = answer
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
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_regions", 2)
    for seed in range(CHUNK):
        planner = CountingPlanner(activity(seed, max_constraints=1), frozenset({1}))
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        for price in rng.exponential(2.0, size=12):
            region = frozenset(int(row) for row in rng.integers(0, planner.balance.num_rows, size=2))
            for forbidden in (region, frozenset[int]()):
                weighted = policies_avoiding(truth, forbidden) @ [1.0, price]
                answer = planner.plan(np.array([1.0, price]), forbidden)
                assert len(planner._caches) <= 2
                if answer is None:
                    assert len(weighted) == 0
                    continue
                # A curve that was filed under another region would be too good, or too dear.
                assert answer.plan.costs @ [1.0, price] == pytest.approx(weighted.min(), rel=1e-9, abs=1e-9)
                assert answer.lower <= weighted.min() * (1.0 + 1e-12) + 1e-12
        # Another region drops the curves once more, and that of the whole stays.
        planner.plan(np.array([1.0, float(price)]), frozenset({0}))
        planner.plan(np.array([1.0, float(price)]), frozenset({1}))
        before = planner.num_plans
        planner.plan(np.array([1.0, float(price)]), frozenset())
        assert planner.num_plans == before


def test_too_many_surfaces_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_regions", 2)
    planner = CountingPlanner(activity(3, min_constraints=3), frozenset({1, 3}))
    truth = brute_force(planner.prepared.problem)
    for price in (0.0, 0.5, 1.0, 2.0, 4.0, 0.5):
        weights = np.array([1.0, price, 0.0, 1.0])
        for forbidden in (frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 2})):
            weighted = policies_avoiding(truth, forbidden) @ weights
            answer = planner.plan(weights, forbidden)
            assert len(planner._caches) <= 2
            if answer is None:
                assert len(weighted) == 0
            else:
                assert answer.lower == pytest.approx(weighted.min(), rel=1e-8)


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
            for refine in (False, True):
                known = planner.lookup(weights, forbidden, refine)
                if known is None:
                    assert len(weighted) == 0
                    continue
                assert known.lower <= weighted.min() * (1.0 + 1e-12)
                assert known.upper >= weighted.min() * (1.0 - 1e-9) - 1e-12
                assert known.plan.costs @ weights == pytest.approx(known.upper, rel=1e-12, abs=1e-12)
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
    fresh = planner.plan_afresh(weights, frozenset(), known.plan)
    assert fresh is not None
    assert planner.num_plans == before + 1
    assert fresh.plan.costs @ weights == pytest.approx(known.plan.costs @ weights, rel=1e-9)
    assert fresh.lower >= known.lower - 1e-12 * abs(known.lower)
    every = frozenset(range(planner.balance.num_rows))
    assert planner.plan_afresh(weights, every) is None


def test_a_plan_is_lifted_to_the_activity_as_it_was_stated() -> None:
    for seed in range(CHUNK):
        cssp = activity(seed)
        planner = CountingPlanner(cssp, frozenset())
        answer = planner.plan(np.append(1.0, np.zeros(cssp.num_constraints)), frozenset())
        assert answer is not None
        rows = planner.lift(answer.plan)
        evaluation = evaluate(cssp, DeterministicPolicy(cssp, rows))
        np.testing.assert_allclose(evaluation.costs, answer.plan.costs, rtol=1e-9, atol=1e-10)
        assert planner.plan_from(answer.plan.rows).costs == pytest.approx(answer.plan.costs)


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
            for answer in (
                planner.lookup(weights, frozenset()),
                planner.lookup(weights, frozenset(), refine=True),
            ):
                assert answer is not None
                assert answer.lower <= least + 1e-12 * (1.0 + least)
                assert answer.upper >= least - 1e-9 * (1.0 + least)
                assert answer.upper == pytest.approx(float(weights @ answer.plan.costs))
            planned = planner.plan(weights, frozenset())
            assert planned is not None
            assert least - 1e-7 * (1.0 + least) <= planned.lower <= least + 1e-12 * (1.0 + least)


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
    answer = planner.plan(np.array([1.0, 0.0]), frozenset())
    assert answer is not None
    used = [answer.plan.uses_any([row]) for row in range(planner.balance.num_rows)]
    assert used == [True, False, True, False]
    assert answer.plan.uses_any([1, 3]) is False
    assert answer.plan.uses_any([1, 2]) is True


def test_that_one_region_has_no_plan_says_nothing_about_others() -> None:
    planner = ActivityPlanner(risky_room(), frozenset({1}))
    both, one = frozenset({0, 1}), frozenset({0})
    assert planner.lookup(np.array([1.0, 1.0]), both) is None
    assert planner.plan(np.array([1.0, 1.0]), both) is None
    for region in (frozenset[int](), one):
        bracket, planned = (
            planner.lookup(np.array([1.0, 1.0]), region),
            planner.plan(np.array([1.0, 1.0]), region),
        )
        assert bracket is not None
        assert planned is not None
        # Round: 3 time. Dash: 2 time and 8 damage.
        assert planned.lower == pytest.approx(10.0 if region == one else 3.0)
        assert bracket.lower <= planned.lower * (1.0 + 1e-12)


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
            for found in (planner.lookup(weights, region), planner.lookup(weights, region, refine=True)):
                assert found is None or found.lower <= least * (1.0 + 1e-12)
            answer = planner.plan(weights, region)
            assert (answer is None) == (least == np.inf)
            assert answer is None or answer.lower == pytest.approx(least)


def known_bounds(value: float, bound: float, exact: bool = False) -> ValueBounds:
    costs = np.array([value, 0.0])
    rows = np.zeros(0, dtype=np.int64)
    system = ActivityPlanner(risky_room(), frozenset()).system
    return ValueBounds(ActivityPlan(system, rows, np.zeros((0, 2)), costs), value, bound, exact)


def test_only_what_is_executed_and_leaves_something_open_is_planned_anew() -> None:
    known = [
        known_bounds(5.0, 4.0),
        known_bounds(5.0, 4.9),
        None,
        known_bounds(9.0, 1.0, exact=True),
        known_bounds(7.0, 2.0),
    ]
    executions = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    assert loose_activities(known, executions, tolerance=1.2) == []
    # A room that is never entered may be as unknown as it likes.
    assert loose_activities(known, executions, tolerance=1.0) == [0]
    assert loose_activities(known, executions, tolerance=0.1) == [0, 1]
    # What is executed ten times leaves ten times as much open.
    assert loose_activities(known, 10.0 * executions, tolerance=1.2) == [0, 1]


def test_no_more_is_planned_than_it_takes() -> None:
    known = [known_bounds(5.0, 4.9), known_bounds(5.0, 3.0), known_bounds(5.0, 4.0), known_bounds(5.0, 4.8)]
    executions = np.ones(4)
    assert loose_activities(known, executions, 4.0, as_few=True) == []
    # The widest are two and one: without the first, the others leave 1.3 open, without both 0.3.
    assert loose_activities(known, executions, 2.0, as_few=True) == [1]
    assert loose_activities(known, executions, 1.0, as_few=True) == [1, 2]
    assert loose_activities(known, executions, 0.0, as_few=True) == [0, 1, 2, 3]
    assert loose_activities(known, executions, 2.0) == [1, 2]


COSTS = np.array([[4.0, 0.0], [1.0, 3.5], [2.0, 2.0]])
"""Time and damage of three ways."""

NOWHERE: frozenset[int] = frozenset()
NOTHING_AFTER = np.zeros(1)


@pytest.fixture
def exits_planner() -> MultiExitPlanner:
    ride = CSSPBuilder(cost_names=("time", "damage"))
    inside, outside = ride.add_state("inside"), ride.add_goal("outside")
    for number, costs in enumerate(COSTS.tolist()):
        ride.add_action(inside, f"way {number}", to=outside, costs=costs)
    ride.set_initial(inside)
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    run = plan.add_activity("ride", ride.build())
    plan.add_choice(start, "go", to=[Outcome(1.0, out, runs=run)])
    plan.add_constraint("damage", at_most=9.0, counts={run: "damage"})
    found = MultiExitOracle(plan.build(start=start, end=out).flattening).planners[0]
    assert found is not None
    return found


@pytest.mark.parametrize("prices", [(0.0, 4.0, 0.8), (4.0, 0.8, 0.0, 0.5), (0.8, 3.0, 0.1)])
def test_whatever_is_known_from_before_the_best_plan_is_told(
    exits_planner: MultiExitPlanner, prices: tuple[float, ...]
) -> None:
    for price in (*prices, *prices):
        weights = np.array([1.0, price])
        answer = exits_planner.plan(weights, NOTHING_AFTER, NOWHERE)
        assert answer is not None
        assert answer.levels == pytest.approx([(COSTS @ weights).min()])
        assert answer.plan.rows.tolist() == [(COSTS @ weights).argmin()]


def test_no_plan_is_found_that_is_forbidden(exits_planner: MultiExitPlanner) -> None:
    regions = [NOWHERE, *(frozenset(each) for each in ({0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}))]
    for price in (0.0, 0.8, 4.0, 0.3):
        for forbidden in regions:
            values = COSTS @ [1.0, price]
            values[list(forbidden)] = np.inf
            answer = exits_planner.plan(np.array([1.0, price]), NOTHING_AFTER, forbidden)
            assert answer is not None
            (row,) = answer.plan.rows.tolist()
            assert values[row] - 1e-9 <= answer.levels[0] <= values.min()
