from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf

import numpy as np
import pytest

from brute_force import brute_force as brute_force_flat_problem
from brute_force_procedures import brute_force
from hazard_grid import hazard_grid
from hcssp.checker.checking import check
from hcssp.contract.solver import Context
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.ascent import maximise
from hcssp.dual.enumeration import (
    SLACK,
    Enumeration,
    EnumerationParameters,
    ItemClass,
    PlanClass,
    RegionKnapsack,
    _Labels,
    enumerate_plans,
    solve_knapsack,
)
from hcssp.dual.procedure import ProcedureOracle
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.assembly import certificate_of, claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from random_problems import random_cssp
from rooms_in_turn import step, steps
from volume import some


def random_steps(seed: int) -> HCSSP:
    """Rooms of one or two kinds, needed always or by chance, with or without a way back."""
    rng = np.random.default_rng(seed)
    kinds = [
        step(
            [(float(time), float(damage)) for time, damage in zip(*rng.integers(0, 5, (2, 3)), strict=True)],
            slip=float(rng.choice([0.0, 0.25])),
        )
        for _ in range(2)
    ]
    number = int(rng.integers(2, 6))
    rooms = [kinds[int(rng.integers(2))] for _ in range(number)]
    chances = rng.choice([1.0, 1.0, 0.5], number).tolist()
    return steps(
        rooms, float(rng.integers(1, 4) * number) / 2.0 + 0.1, chances, float(rng.choice([0.0, 0.3]))
    )


@pytest.mark.parametrize("first", some(range(0, 24, 12), 3))
def test_it_agrees_with_brute_force_in_every_region(first: int) -> None:
    settled = 0
    for seed in range(first, first + 12):
        problem = random_steps(seed)
        oracle = ProcedureOracle(problem.flattening)
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        for share in (0.0, 0.1):
            rows = np.arange(oracle.procedure.num_rows, oracle.row_start[-1])
            region = Region().forbid(rows[rng.random(len(rows)) < share].tolist())
            dual = maximise(oracle, region)
            if dual.infeasible:
                continue
            # The rooms have no dead ends, so that their rows are the flat ones.
            allowed = ~np.isin(every.rows, list(region.forbidden)).any(axis=1)
            kept = allowed & (every.costs[:, 1] <= problem.bounds[0] * (1.0 + 1e-9))
            truth = float(every.costs[kept, 0].min(initial=np.inf))
            for cutoff in (np.inf, 1.1 * truth, 0.5 * (dual.bound + min(truth, 100.0))):
                found = Enumeration(oracle).settle(region, dual.prices, dual.bound, float(cutoff))
                if found is None:
                    continue
                assert found.bound <= min(truth * (1.0 + 1e-12), cutoff)
                if found.point is not None:
                    assert found.point.lies_in(region, oracle.row_state)
                    if cutoff > truth:
                        assert found.point.costs[0] == pytest.approx(truth, rel=1e-9)
                        assert found.point.costs[1] <= problem.bounds[0] * (1.0 + 1e-9)
                        assert found.bound == pytest.approx(truth, rel=1e-9)
                        settled += 1
    assert settled > 5


@pytest.mark.parametrize("price", [0.0, 1.5, 4.0, 20.0])
def test_at_prices_that_are_far_off_there_is_more_to_look_at_and_nothing_else_changes(price: float) -> None:
    rooms = [step([(1.0, 1.0), (2.0, 0.0)])] * 3 + [step([(1.0, 3.0), (2.5, 1.0)])]
    problem = steps(rooms, 4.5, [1.0] * 4)
    oracle = ProcedureOracle(problem.flattening)
    every = brute_force(problem)
    truth = float(every.costs[every.costs[:, 1] <= 4.5, 0].min())
    dual = maximise(oracle, Region())
    for cutoff in (1.1 * truth, 0.5 * (dual.bound + truth)):
        found = Enumeration(oracle).settle(Region(), np.array([price]), dual.bound, cutoff)
        assert found is not None
        assert found.bound == pytest.approx(min(truth, cutoff), rel=1e-9)


@pytest.mark.parametrize("chance", [0.1, 0.5, 1.0])
def test_of_what_is_seldom_done_much_worse_plans_are_looked_at(chance: float) -> None:
    """The best plan that keeps the bound is above the line between the others, at any price."""
    room = step([(0.0, 4.0), (3.0, 2.0), (4.0, 0.0)])
    oracle = ProcedureOracle(steps([room], 2.5 * chance, [chance]).flattening)
    dual = maximise(oracle, Region())
    found = Enumeration(oracle).settle(Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.point is not None
    assert found.point.costs == pytest.approx([3.0 * chance, 2.0 * chance])
    assert found.bound == pytest.approx(3.0 * chance)


def test_twenty_alike_steps_are_soon_proved() -> None:
    plan = solve(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 20, 6.5, [1.0] * 20), stop=[])
    assert plan.status == "optimal"
    assert plan.upper_bound == pytest.approx(34.0)
    assert plan.lower_bound == pytest.approx(34.0)
    assert plan.iterations < 100


def test_a_hundred_are_too_and_their_certificate_proves_it() -> None:
    plan = solve(steps([step([(1.0, 1.0), (1.7, 0.35), (2.0, 0.0)])] * 100, 32.6, [1.0] * 100), stop=[])
    assert plan.status == "optimal"
    assert plan.upper_bound == pytest.approx(167.7)
    verdict = check(plan.problem, plan.certificate)
    assert verdict.lower_bound >= plan.lower_bound
    assert verdict.upper_bound == pytest.approx(plan.upper_bound)


def test_what_is_left_to_choose_is_left_to_the_search() -> None:
    room = step([(1.0, 1.0), (2.0, 0.0)])
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    ways = [plan.add_activity(name, room) for name in ("left", "right")]
    for name, way in zip(("left", "right"), ways, strict=True):
        plan.add_choice(start, name, to=[Outcome(0.5, out, runs=way), Outcome(0.5, out)])
    plan.add_constraint("damage", at_most=0.3, counts=dict.fromkeys(ways, "damage"))
    problem = plan.build(start=start, end=out)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    assert Enumeration(oracle).settle(Region(), dual.prices, dual.bound, np.inf) is None
    # Once the choice is made, it is settled.
    left = Region().forbid([1])
    dual = maximise(oracle, left)
    found = Enumeration(oracle).settle(left, dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(1.0)


def test_several_bounds_and_what_is_of_no_interest_are_left_alone() -> None:
    problem = random_steps(1)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    assert Enumeration(oracle).settle(Region(), dual.prices, dual.bound, dual.bound) is None
    assert (
        Enumeration(oracle.under(np.array([np.inf]))).settle(Region(), dual.prices, dual.bound, np.inf)
        is None
    )
    enumeration = oracle.strategies.enumeration
    assert enumeration is not None
    # At the root it is tried with a few looks, and then where more of them are less work than the search.
    assert enumeration.settle(Region(), dual.prices, dual.bound, np.inf, expanded=1) is not None
    assert enumeration.settle(Region(), dual.prices, dual.bound, np.inf, expanded=2) is None
    assert enumeration.settle(Region(), dual.prices, dual.bound, np.inf, expanded=1_000) is not None


def test_where_plans_are_too_many_nothing_is_told() -> None:
    problem = steps([step([(1.0, 1.0), (2.0, 0.0)])] * 4, 2.5, [1.0] * 4)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    found = Enumeration(oracle).settle(Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(6.0)
    for parameters in (EnumerationParameters(max_entries=1), EnumerationParameters(max_regions=1)):
        few = Enumeration(oracle, parameters)
        assert few.settle(Region(), dual.prices, dual.bound, np.inf) is None


def test_plans_are_looked_for_a_little_beyond_the_cutoff() -> None:
    assert 1.0 + 1e-9 < SLACK < 1.0 + 1e-3


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_costs_in_any_unit_are_settled_alike(unit: float) -> None:
    room = step([(1.0 * unit, 1.0), (2.0 * unit, 0.0)])
    oracle = ProcedureOracle(steps([room] * 6, 2.5, [1.0] * 6).flattening)
    dual = maximise(oracle, Region())
    found = Enumeration(oracle).settle(Region(), dual.prices, dual.bound, np.inf)
    assert found is not None
    assert found.bound == pytest.approx(10.0 * unit)
    assert found.point is not None
    assert found.point.costs == pytest.approx([10.0 * unit, 2.0])
    # What is below a cutoff is found, and what is not is of no interest.
    close = Enumeration(oracle).settle(Region(), dual.prices, dual.bound, 9.9 * unit)
    assert close is not None
    assert close.bound == pytest.approx(9.9 * unit)


def test_plans_are_looked_for_again_where_the_gap_is_wider_than_what_is_known() -> None:
    room = step([(1.0, 1.0), (2.0, 0.5), (4.0, 0.0)])
    oracle = ProcedureOracle(steps([room] * 3, 2.5, [1.0] * 3).flattening)
    whole = RegionKnapsack.of(oracle, Region(), np.zeros(1))
    assert whole is not None
    assert [each.activities for each in whole.uses] == [(0, 1, 2)]
    # At no price the plans cost 1, 2 and 4, and all of them together 3 at least.
    for gap, number in ((0.5, 1), (0.9, 1), (1.5, 2), (2.5, 2), (3.5, 3), (0.5, 3)):
        found = whole.plans_below(3.0 + gap)
        assert found is not None
        assert len(found[0].plans) == number
    # What is known takes no looks; one is too few to tell that there is nothing else.
    whole.regions = 1
    assert whole.plans_below(3.5) is not None
    again = RegionKnapsack.of(oracle, Region(), np.zeros(1))
    assert again is not None
    again.regions = 1
    assert again.plans_below(3.5) is None


def test_activities_that_are_too_large_are_left_to_the_search() -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 4, 2.5, [1.0] * 4).flattening)
    dual = maximise(oracle, Region())
    small = Enumeration(oracle, EnumerationParameters(max_states=0))
    assert small.settle(Region(), dual.prices, dual.bound, np.inf) is None


def test_what_is_executed_about_equally_often_counts_as_the_least_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 3, 2.5, [1.0] * 3).flattening)
    for executions, expected in (
        ([0.5 + 2e-14, 0.5, 0.5 + 1e-14], [((0, 1, 2), 0.5)]),
        ([0.5, 0.25, 0.5], [((0, 2), 0.5), ((1,), 0.25)]),
    ):
        monkeypatch.setattr(
            oracle.procedure, "executions_at_least", lambda _, often=executions: np.array(often)
        )
        whole = RegionKnapsack.of(oracle, Region(), np.ones(1))
        assert whole is not None
        assert [(each.activities, each.executions) for each in whole.uses] == expected


def test_a_region_in_which_a_step_has_no_plan_is_not_settled() -> None:
    oracle = ProcedureOracle(steps([step([(1.0, 1.0), (2.0, 0.0)])] * 3, 2.5, [1.0] * 3).flattening)
    first = int(oracle.row_offset[1])
    assert RegionKnapsack.of(oracle, Region().forbid([first, first + 1]), np.ones(1)) is None


def counted(record: SearchRecord) -> bool:
    """Whether what is known about some leaf was found out by counting."""
    return any(claim is not None and claim.counted for claim in map(record.claim, record.leaves()))


def test_what_is_counted_has_a_certificate_of_one_leaf() -> None:
    kinds = [step([(1.0, 1.0), (2.0, 0.0)]), step([(1.0, 1.0), (1.7, 0.35), (2.0, 0.0)])]
    problem = steps(kinds * 10, 6.6, [1.0] * 20)
    record = SearchRecord()
    *_, end = PolicyBranching().iterate(problem, Context(record=record))
    assert end.upper_bound == pytest.approx(33.7)
    assert counted(record)
    certificate = certificate_of(problem, record)
    assert len(certificate.leaves) == 1
    assert claimed_interval(certificate)[0] == pytest.approx(33.7)
    assert check(problem, certificate).lower_bound == pytest.approx(33.7)


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_dozens_of_steps_that_differ_a_little_have_a_certificate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rooms = [
        step(
            [(round(1.0 + 0.1 * a, 3), round(1.0 + 0.05 * b, 3)), (round(1.6 + 0.1 * c, 3), 0.4), (2.0, 0.0)],
            slip,
        )
        for a, b, c, slip in zip(*rng.random((3, 24)), rng.choice([0.0, 0.1], 24), strict=True)
    ]
    chances = rng.choice([1.0, 0.5], len(rooms)).tolist()
    plan = solve(steps(rooms, 5.0, chances, retry=float(rng.choice([0.0, 0.3]))), stop=[])
    assert plan.status == "optimal"
    assert counted(plan.record)
    verdict = check(plan.problem, plan.certificate)
    assert verdict.lower_bound >= plan.lower_bound * (1.0 - 1e-12)
    assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=1e-12)
    assert not verdict.randomised
    # Randomised policies may cost less, and have a proof of their own.
    assert plan.stochastic is not None
    drawing = check(plan.problem, plan.stochastic_certificate)
    assert drawing.randomised
    assert drawing.lower_bound == pytest.approx(plan.stochastic.value, rel=1e-9)
    assert drawing.lower_bound < plan.lower_bound * (1.0 - 1e-6)


@pytest.mark.parametrize("first", some(range(0, 20, 5)))
def test_all_plans_below_a_limit_are_enumerated(first: int) -> None:
    found = 0
    for seed in range(first, first + 5):
        problem = random_cssp(seed, max_constraints=1, zero_costs=float(seed % 2))
        planner = ActivityPlanner(
            replace(problem, bounds=np.full_like(problem.bounds, np.inf)), frozenset({1})
        )
        truth = brute_force_flat_problem(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        forbidden = frozenset(rng.integers(0, planner.balance.num_rows, int(rng.integers(0, 2))).tolist())
        avoids = ~(np.isin(truth.policies, list(forbidden)) & (truth.policies != NO_ROW)).any(axis=1)
        price = float(rng.exponential())
        values = (truth.costs @ [1.0, price])[avoids]
        if len(values) == 0:
            assert enumerate_plans(planner, forbidden, 1, price, 1e9) == (
                [],
                np.inf,
                [-1],
                [PlanClass(forbidden)],
            )
            continue
        limit = float(np.quantile(values, 0.7)) * (1.0 + 1e-9)
        answer = enumerate_plans(planner, forbidden, 1, price, limit)
        if answer is None:
            continue
        plans = answer.plans
        # Up to the next one nothing is added.
        assert answer.complete_to >= limit
        if answer.complete_to < np.inf:
            again = enumerate_plans(planner, forbidden, 1, price, answer.complete_to)
            assert again is not None
            assert len(again.plans) == len(plans)
        for plan in plans:
            assert plan.cost <= plan.plan.costs[0] * (1.0 + 1e-12)
            assert plan.use <= plan.plan.costs[1] * (1.0 + 1e-12)
            assert plan.cost == pytest.approx(plan.plan.costs[0], rel=1e-7, abs=1e-9)
            assert plan.use == pytest.approx(plan.plan.costs[1], rel=1e-7, abs=1e-9)
        # What is below the limit is among them, or no better than one of them.
        known = np.array([plan.plan.costs for plan in plans])
        for costs in truth.costs[avoids][values < limit * (1.0 - 1e-8)]:
            assert np.any(np.all(np.abs(known - costs) <= 1e-9 * (1.0 + costs), axis=1))
            found += 1
    assert found > 15


def test_too_many_plans_are_not_enumerated() -> None:
    grid = ActivityPlanner(hazard_grid(5, 5, seed=1), frozenset({1}))
    assert enumerate_plans(grid, frozenset(), 1, 1.0, 1e6) is None
    assert enumerate_plans(grid, frozenset(), 1, 1.0, 1e-6, max_regions=0) is None


def random_classes(rng: np.random.Generator) -> list[ItemClass]:
    """A few classes with ties, free options and uses of nothing."""
    classes = []
    for _ in range(rng.integers(1, 4)):
        options = int(rng.integers(1, 4))
        costs = rng.choice([0.0, 1.0, 2.0, rng.random()], options)
        uses = rng.choice([0.0, 1.0, rng.random(), rng.random()], options)
        classes.append(ItemClass(int(rng.integers(1, 5)), costs, uses))
    return classes


def cheapest_choice(classes: list[ItemClass], budget: float) -> float:
    """The least cost within the budget, over all ways to count the options of all classes."""
    ways = []
    for items in classes:
        chosen = [list(each) for each in combinations_with_replacement(range(len(items.costs)), items.number)]
        ways.append([(items.costs[each].sum(), items.uses[each].sum()) for each in chosen])
    return min(
        (
            sum(c for c, _ in way)
            for way in product(*ways)
            if sum(u for _, u in way) <= budget * (1.0 + 1e-13)
        ),
        default=inf,
    )


@pytest.mark.parametrize("most", [50_000, 3])
@pytest.mark.parametrize("first", some(range(0, 200, 50), 3))
def test_it_agrees_with_all_ways(first: int, most: int) -> None:
    parameters = EnumerationParameters(max_labels=most)
    proved = 0
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        classes = random_classes(rng)
        budget, price = (
            float(rng.choice([0.0, 1.0, 3.0 * rng.random()])),
            float(rng.choice([0.0, 1.0, rng.random()])),
        )
        truth = cheapest_choice(classes, budget)
        cutoff = float(rng.choice([100.0, 0.8 * min(truth, 50.0), truth if truth < inf else 7.0]))
        packed = solve_knapsack(classes, budget, price, cutoff, parameters)
        assert packed is not None
        assert packed.bound <= min(truth, cutoff) + 1e-12
        if packed.counts is not None:
            assert [int(each.sum()) for each in packed.counts] == [items.number for items in classes]
            cost = sum(float(n @ items.costs) for n, items in zip(packed.counts, classes, strict=True))
            use = sum(float(n @ items.uses) for n, items in zip(packed.counts, classes, strict=True))
            assert use <= budget * (1.0 + 1e-12)
            assert cost >= truth - 1e-12
            if most > 3:
                assert cost == pytest.approx(truth, abs=1e-12)
        if most > 3:
            # With room for all labels, what is not found is not there.
            assert packed.bound == pytest.approx(min(truth, cutoff), abs=1e-11)
        proved += packed.bound >= min(truth, cutoff) - 1e-9
    assert proved >= 10


def test_a_thousand_alike_are_counted() -> None:
    classes = [ItemClass(1_000, np.array([1.0, 2.0]), np.array([1.0, 0.0]))]
    packed = solve_knapsack(classes, 325.5, 1.0, 1e4)
    assert packed is not None
    assert packed.counts is not None
    assert packed.counts[0].tolist() == [325, 675]
    assert 1675.0 - 1e-6 < packed.bound <= 1675.0


@pytest.mark.parametrize("most", [1, 10, 40])
def test_too_many_ways_are_too_much(most: int) -> None:
    classes = [ItemClass(20, np.array([1.0, 2.0]), np.array([1.0, 0.0]))] * 2
    assert solve_knapsack(classes, 13.0, 1.0, 100.0, EnumerationParameters(max_entries=most)) is None


def test_what_is_cheaper_than_the_cutoff_by_less_than_rounding_is_found() -> None:
    # The only way costs 0.9, which is the level of the price itself: nothing is left between them.
    items = ItemClass(3, np.array([0.3]), np.array([1.0]))
    cutoff = float(np.nextafter(0.3 + 0.3 + 0.3, 1.0))
    found = solve_knapsack([items], 3.0, 0.5, cutoff)
    assert found is not None
    assert found.bound < cutoff
    assert found.counts is not None


@pytest.mark.parametrize("first", some(range(0, 40, 10), 2))
def test_the_bound_holds_in_rational_numbers_and_loses_nothing_to_speak_of(first: int) -> None:
    for seed in range(first, first + 10):
        rng = np.random.default_rng(seed)
        # All digits of every number are used, so that every sum is rounded.
        numbers = rng.integers(1, 2**53, (3, 2, 3))
        classes = [ItemClass(int(rng.integers(1, 8)), *(each * 2.0**-53)) for each in numbers]
        ways = [
            [
                tuple(int(count @ own) for own in each)
                for count in np.array(
                    [
                        (i, j, items.number - i - j)
                        for i in range(items.number + 1)
                        for j in range(items.number + 1 - i)
                    ],
                    dtype=object,
                )
            ]
            for items, each in zip(classes, numbers.astype(object), strict=True)
        ]
        every = [[sum(part) for part in zip(*way, strict=True)] for way in product(*ways)]
        # The budget is the use of some way, rounded up: that way keeps it.
        some_use = int(rng.choice(np.array([use for _, use in every], dtype=object)))
        budget = float(some_use) * 2.0**-53
        while int(budget * 2.0**53) < some_use:
            budget = float(np.nextafter(budget, inf))
        truth = min(cost for cost, use in every if use <= int(budget * 2.0**53))
        for price in (0.0, 0.5, 2.0):
            for cutoff in (1e3, float(np.nextafter(truth * 2.0**-53, inf))):
                found = solve_knapsack(classes, budget, price, cutoff)
                assert found is not None
                assert Fraction(found.bound) <= Fraction(truth, 2**53)
                assert found.bound == pytest.approx(truth * 2.0**-53, rel=1e-12)
                assert found.counts is not None


def test_what_is_as_dear_as_the_cutoff_is_of_no_interest() -> None:
    classes = [ItemClass(3, np.array([1.0, 4.0]), np.array([2.0, 0.0]))]
    # One of them may be used, so that the others cost 9 in all.
    for price in (0.0, 1.5, 100.0):
        found = solve_knapsack(classes, 2.0, price, 8.0)
        assert found is not None
        assert found.bound == 8.0
    # Beyond the least use there is no way at all.
    assert solve_knapsack([ItemClass(2, np.array([1.0]), np.array([3.0]))], 5.0, 1.0, 50.0) == (50.0, None)


def test_an_option_that_hardly_fits_leaves_room_for_the_others() -> None:
    # One of the dear options fits, and two are looked at; the cheap option fits beside neither.
    classes = [ItemClass(6, np.array([0.0, 5.0, 0.5]), np.array([1.0, 0.0, 0.9]))]
    found = solve_knapsack(classes, 5.0, 0.0, 5.9)
    assert found is not None
    assert found.bound == pytest.approx(5.0)
    assert found.counts is not None
    assert found.counts[0].tolist() == [5, 1, 0]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 50])
def test_merged_labels_are_below_all_that_they_stand_for(limit: int) -> None:
    # By rising use and falling cost, with some in between that are not kept.
    costs, uses = np.arange(30.0, 0.0, -1.0), np.arange(30.0)
    labels, kept = _Labels(costs, uses, costs, uses), np.arange(0, 30, 3)
    few, left = labels.merged(kept, limit)
    assert len(few.costs) == min(limit, len(kept))
    for cost, use in zip(costs[kept], uses[kept], strict=True):
        assert np.any((few.costs <= cost) & (few.uses <= use))
    # What is remembered is the way of a label that is left.
    assert few.way_costs.tolist() == costs[left].tolist()
    assert few.way_uses.tolist() == uses[left].tolist()
    assert few.uses.tolist() == uses[left].tolist()
    if limit >= len(kept):
        assert few.costs.tolist() == costs[kept].tolist()
    assert float(few.costs.min()) == float(costs[kept].min())


@pytest.mark.parametrize(("classes", "number"), [(1, 1), (5, 1), (1, 20), (5, 20)])
def test_roundings_of_all_uses_and_classes_are_allowed_for(classes: int, number: int) -> None:
    every = [ItemClass(number, np.ones(1), np.zeros(1))] * classes
    found = solve_knapsack(every, 0.0, 1.0, 1e6)
    assert found is not None
    size = float(classes * number)
    counted = (size - found.bound) / (size * 2.0**-53)
    # Four for each use and each kind, and some besides; the difference itself is rounded, too.
    expected = 4 * classes * number + 4 * classes
    assert expected + 60 <= counted <= expected + 70


@pytest.mark.parametrize("number", [1, 20])
def test_what_exceeds_the_budget_by_no_more_than_rounding_is_a_way(number: int) -> None:
    allowed = 4 * number + 64
    for roundings, kept in ((0, True), (allowed - 8, True), (allowed + 8, False), (10_000, False)):
        use = (1.0 + roundings * 2.0**-53) / number
        found = solve_knapsack([ItemClass(number, np.ones(1), np.array([use]))], 1.0, 0.0, 1e6)
        assert found is not None
        assert (found.counts is not None) is kept


def test_roundings_are_those_of_the_dearest_options() -> None:
    found = solve_knapsack([ItemClass(3, np.array([1.0, 1000.0]), np.zeros(2))], 0.0, 1.0, 1e6)
    assert found is not None
    # Sums may go through the dear option, though it is not taken in the end.
    assert 3.0 - found.bound >= 70 * 2.0**-53 * 3000.0
    assert 3.0 - found.bound <= 90 * 2.0**-53 * 3000.0


def test_where_there_is_nothing_to_packed_nothing_is_spent() -> None:
    packed = solve_knapsack([], budget=1.0, price=2.0, cutoff=5.0)
    assert packed is not None
    assert packed.counts == []
    assert -1e-9 < packed.bound <= 0.0
