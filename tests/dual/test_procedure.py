from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.cssp.model import CSSP, IntArray
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.ascent import maximise
from hcssp.dual.flat import FlatOracle
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.value_cache import DEFAULT_PARAMETERS
from hcssp.errors import DeadEnd
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import HCSSP, Flattening, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.scalar_problem import Region
from random_nestings import random_limits
from random_procedures import random_procedure
from small_procedures import retrying, risky_room, with_a_pit
from volume import some

CHUNK = 20


def flat_rows(oracle: ProcedureOracle) -> IntArray:
    """For each row of the oracle, that of the flattened problem."""
    flattening = oracle.flattening
    parts = [np.arange(flattening.num_event_rows)]
    for planner, offset in zip(oracle.planners, flattening.row_offset[:-1], strict=True):
        parts.append(planner.prepared.rows + offset)
    return np.concatenate(parts)


def random_weights(rng: np.random.Generator, problem: HCSSP) -> np.ndarray:
    return np.append(rng.choice([1.0, 1.0, 0.0]), rng.choice([0.0, 0.2, 1.0, 30.0], problem.num_constraints))


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_it_says_the_same_as_the_flat_oracle_and_as_brute_force(first: int, cycles: bool) -> None:
    empty = 0
    for seed in range(first, first + CHUNK):
        problem = random_procedure(seed, cycles=cycles)
        flattening = problem.flattening
        oracle = ProcedureOracle(flattening)
        flat = FlatOracle(flattening.cssp)
        kept_flat = prepare(flattening.cssp).rows
        numbers = flat_rows(oracle)
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        near = flat_near = None
        for share in (0.0, 0.0, 0.05, 0.1, 0.2, 0.4):
            weights = random_weights(rng, problem)
            forbidden = np.flatnonzero(rng.random(flattening.num_rows) < share)
            weighted = (every.costs @ weights)[~np.isin(every.rows, forbidden).any(axis=1)]
            region = Region().forbid(np.flatnonzero(np.isin(numbers, forbidden)))
            flat_region = Region().forbid(np.flatnonzero(np.isin(kept_flat, forbidden)))
            minimum = oracle.minimise(weights, region, near=near)
            flat_minimum = flat.minimise(weights, flat_region, near=flat_near)
            if minimum is None:
                assert flat_minimum is None
                assert len(weighted) == 0
                empty += 1
                continue
            assert flat_minimum is not None
            least = weighted.min()
            assert minimum.bound <= least + 1e-12 * (1.0 + least)
            assert minimum.bound == pytest.approx(least, rel=1e-8, abs=1e-8)
            assert flat_minimum.bound == pytest.approx(least, rel=1e-8, abs=1e-8)
            near, flat_near = minimum.point, flat_minimum.point
            assert near.costs @ weights == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert near.lies_in(region, oracle.row_state)
    assert empty > 0


@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_an_approximate_answer_is_as_precise_as_it_says(first: int) -> None:
    rough = 0
    for seed in range(first, first + CHUNK):
        problem = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=1)
        oracle = ProcedureOracle(problem.flattening)
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        for precision in (np.inf, np.inf, 0.1, np.inf, 1e-3, 0.0):
            weights = np.append(1.0, rng.exponential(2.0, problem.num_constraints))
            minimum = oracle.minimise(weights, Region(), precision)
            assert minimum is not None
            least, value = (every.costs @ weights).min(), float(minimum.point.costs @ weights)
            assert minimum.bound <= least + 1e-12 * (1.0 + least)
            assert value >= least - 1e-9 * (1.0 + least)
            assert value - minimum.bound <= max(precision, 1e-8) * (1.0 + abs(minimum.bound))
            rough += value - minimum.bound > 1e-6 * (1.0 + least)
    assert rough > 5


@pytest.mark.parametrize("seed", some(range(30), 3))
def test_a_vertex_costs_what_the_evaluation_of_its_lifted_policy_says(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    flattening = problem.flattening
    oracle = ProcedureOracle(flattening)
    numbers = flat_rows(oracle)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        minimum = oracle.minimise(random_weights(rng, problem), Region())
        assert minimum is not None
        point = minimum.point
        lifted = oracle.lift(point)
        evaluation = evaluate(problem, ProcedurePolicy(flattening.problem, lifted))
        np.testing.assert_allclose(evaluation.costs, point.costs, rtol=1e-10, atol=1e-10)
        # Its own rows and visits say the same as the flat ones.
        assert isinstance(point, ProcedurePoint)
        reached = point.reached
        used = np.sort(numbers[point.rows[reached]])
        end = flattening.end
        flat_reached = (evaluation.visits > 1e-12) & (np.arange(flattening.num_states) != end)
        assert used.tolist() == np.sort(lifted[flat_reached]).tolist()


@pytest.mark.parametrize("seed", some(range(20), 3))
def test_a_vertex_knows_the_regions_it_lies_in(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    oracle = ProcedureOracle(problem.flattening)
    minimum = oracle.minimise(np.append(1.0, np.zeros(problem.num_constraints)), Region())
    assert minimum is not None
    point = minimum.point
    used = set(point.rows[point.reached].tolist())
    for row in range(int(oracle.row_start[-1])):
        assert point.lies_in(Region().forbid([row]), oracle.row_state) == (row not in used)


@pytest.mark.parametrize("seed", some(range(30), 3))
def test_the_dual_of_the_hierarchy_is_that_of_the_flat_problem(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    flattening = problem.flattening
    whole = maximise(ProcedureOracle(flattening), Region())
    flat = maximise(FlatOracle(flattening.cssp), Region())
    assert whole.infeasible == flat.infeasible
    if not whole.infeasible:
        assert whole.bound == pytest.approx(flat.bound, rel=1e-8, abs=1e-8)


def test_rows_and_states_are_numbered_events_first() -> None:
    oracle = ProcedureOracle(Flattening(retrying()))
    assert oracle.row_start.tolist() == [0, 1, 2, 2, 4, 6]
    assert oracle.row_state.tolist() == [0, 1, 3, 3, 4, 4]


def chain_of(rooms: list[CSSP], counted: list[int]) -> HCSSP:
    """Rooms that are crossed one after the other; those numbered in `counted` may do damage of 2.5."""
    plan = ProcedureBuilder()
    events = [plan.add_event(str(number)) for number in range(len(rooms) + 1)]
    runs = [plan.add_activity(f"room {number}", room) for number, room in enumerate(rooms)]
    for number, activity in enumerate(runs):
        plan.add_choice(events[number], "go", to=[Outcome(1.0, events[number + 1], runs=activity)])
    plan.add_constraint("damage", at_most=2.5, counts={runs[number]: "damage" for number in counted})
    return plan.build(start=events[0], end=events[-1])


def test_activities_with_equal_arrays_share_what_is_known() -> None:
    again = risky_room()
    other = again.derive(costs=2.0 * again.costs)
    oracle = ProcedureOracle(Flattening(chain_of([again, risky_room(), other, again], [0, 1, 2])))
    first, equal, dearer, uncounted = oracle.planners
    assert first is equal
    assert dearer is not first
    # What nobody counts has no price, and so another curve.
    assert uncounted is not first


def test_a_hundred_alike_activities_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = []
    minimise = PolicyIteration.minimise

    def counting(self: PolicyIteration, *arguments: Any, **named: Any) -> ScalarOptimum | None:
        solved.append(self)
        return minimise(self, *arguments, **named)

    monkeypatch.setattr(PolicyIteration, "minimise", counting)
    room = risky_room()
    oracle = ProcedureOracle(Flattening(chain_of([room] * 100, list(range(100)))))
    minimum = oracle.minimise(np.array([1.0, 0.5]), Region())
    assert minimum is not None
    assert len(solved) == 1
    single = ProcedureOracle(Flattening(chain_of([room], [0]))).minimise(np.array([1.0, 0.5]), Region())
    assert single is not None
    np.testing.assert_allclose(minimum.point.costs, 100.0 * single.point.costs, rtol=1e-12)
    # A row that one of them must not use changes that one only.
    row = int(minimum.point.rows[oracle.state_offset[7]])
    other = oracle.minimise(np.array([1.0, 0.5]), Region().forbid([row]))
    assert other is not None
    assert [plan is minimum.point.plans[0] for plan in other.point.plans].count(False) == 1
    assert other.point.plans[7] is not minimum.point.plans[7]


def test_weights_of_the_whole_are_added_up_for_each_activity() -> None:
    oracle = ProcedureOracle(Flattening(retrying()))
    weights = np.array([1.0, 0.5, 3.0])
    assert oracle.own_weights(0, weights).tolist() == [1.0, 0.5]
    assert oracle.own_weights(1, weights).tolist() == [1.0, 3.5]
    # And what an activity costs is added to the costs of the whole that count it.
    assert oracle.spreads[1].tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


def test_other_bounds_leave_the_oracle_as_it_was() -> None:
    oracle = ProcedureOracle(Flattening(retrying()))
    other = oracle.under(np.array([8.0, np.inf]))
    assert other.bounds.tolist() == [8.0, np.inf]
    assert oracle.bounds.tolist() == [2.0, np.inf]
    assert maximise(oracle, Region()).bound < 6.75
    assert maximise(other, Region()).bound < maximise(oracle, Region()).bound


def test_a_row_has_the_same_name_in_another_problem_or_none() -> None:
    oracle = ProcedureOracle(Flattening(retrying()))
    other = ProcedureOracle(Flattening(retrying().with_bounds({"damage": 8.0})))
    rows = range(oracle.flattening.num_rows)
    correspondence = oracle.strategies.correspondence
    assert correspondence is not None
    assert [correspondence.same_row(row, other) for row in rows] == list(rows)
    # A flat problem has no events and activities to be called by.
    assert correspondence.same_row(0, FlatOracle(Flattening(retrying()).cssp)) is None


@pytest.mark.parametrize("seed", some(range(20), 4))
def test_what_no_bound_counts_may_have_a_weight_all_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_procedure(seed, num_constraints=2)
    bounds = problem.bounds
    flat = FlatOracle(problem.flattening.cssp)
    oracle = ProcedureOracle(problem.flattening)
    for _ in range(12):
        # Which bounds there are changes, and what was learnt before must not be mistaken for something else.
        bounded = rng.random(2) < 0.5
        oracle = oracle.under(np.where(bounded, bounds, np.inf))
        weights = np.append(1.0, rng.choice([0.0, 0.2, 1.0, 30.0], 2))
        if rng.random() < 0.7:
            weights[1:][~bounded] = 0.0
        truth, found = flat.minimise(weights, Region()), oracle.minimise(weights, Region())
        assert truth is not None
        assert found is not None
        value = float(weights @ truth.point.costs)
        assert float(weights @ found.point.costs) == pytest.approx(value, rel=1e-9)
        assert found.bound == pytest.approx(value, rel=1e-9)
        assert found.bound <= value * (1.0 + 1e-12)


def test_one_finite_bound_makes_a_curve_of_every_surface() -> None:
    problem = random_procedure(3, num_constraints=3)
    bounds = problem.bounds
    every = ProcedureOracle(problem.flattening)
    assert not all(planner.priced for planner in every.planners)
    one = every.under(np.array([bounds[0], np.inf, np.inf]))
    assert all(planner.priced for planner in one.planners)
    # What is dear to make is shared, and so is what is learnt, whenever one comes back.
    assert all(a.solver is b.solver for a, b in zip(one.planners, every.planners, strict=True))
    again = every.under(np.array([2.0 * bounds[0], np.inf, np.inf]))
    assert all(a is b for a, b in zip(one.planners, again.planners, strict=True))
    assert every.under(bounds).planners == every.planners


@pytest.mark.parametrize(
    ("seed", "cycles"), [(2, True), (3, True), (4, False), (7, False), (14, False), (26, True)]
)
def test_choices_that_pay_for_limits_of_uses_are_paid_for(seed: int, cycles: bool) -> None:
    _, problem = random_limits(seed, depth=2, cycles=cycles)
    flattening = problem.flattening
    assert flattening.event_costs.any()
    oracle, flat = ProcedureOracle(flattening), FlatOracle(flattening.cssp)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        weights = np.append(1.0, rng.choice([0.2, 1.0, 30.0], len(oracle.bounds)))
        found, expected = oracle.minimise(weights, Region()), flat.minimise(weights, Region())
        assert found is not None
        assert expected is not None
        assert found.bound == pytest.approx(expected.bound, rel=1e-8, abs=1e-8)
        assert found.bound <= float(expected.point.costs @ weights) * (1.0 + 1e-12)
        # The costs are those of the policy as it is lifted, the choices' own among them.
        policy = ProcedurePolicy(problem, oracle.lift(found.point))
        assert evaluate(problem, policy).costs == pytest.approx(found.point.costs, rel=1e-9, abs=1e-12)
        same = oracle.point_of(found.point.choices, found.point.plans)
        assert same is not None
        assert same.costs == pytest.approx(found.point.costs)


def test_what_choices_cost_is_rounded_down() -> None:
    _, problem = random_limits(14, depth=2)
    oracle = ProcedureOracle(problem.flattening)
    rng = np.random.default_rng(1)
    # Whatever they are: most choices cost something of one kind only.
    costs = oracle.choice_costs = rng.random(problem.flattening.event_costs.shape)
    groups = oracle.alike.within(Region())
    for _ in range(200):
        weights = rng.random(len(costs)) * 10.0 ** rng.integers(-3, 4, len(costs))
        told = oracle.row_costs(np.zeros(len(groups.of)), weights)
        for row, value in enumerate(told.tolist()):
            pairs = zip(weights.tolist(), costs[:, row].tolist(), strict=True)
            exact = sum((Fraction(weight) * Fraction(cost) for weight, cost in pairs), Fraction(0))
            assert exact * (1 - Fraction(1, 10**14)) <= Fraction(value) <= exact


def test_choices_that_do_not_end_and_activities_without_a_plan_make_no_policy() -> None:
    oracle = ProcedureOracle(random_procedure(1, cycles=True).flattening)
    found = oracle.minimise(np.append(1.0, np.zeros(len(oracle.bounds))), Region())
    assert found is not None
    point = found.point
    executed = int(np.argmax(point.executions))
    without = tuple(None if index == executed else plan for index, plan in enumerate(point.plans))
    assert oracle.point_of(point.choices, without) is None
    # What is never executed needs no plan.
    spared = tuple(
        plan if times > 0.0 else None
        for plan, times in zip(point.plans, point.executions.tolist(), strict=True)
    )
    again = oracle.point_of(point.choices, spared)
    assert again is not None
    assert again.costs.tolist() == point.costs.tolist()


@pytest.mark.parametrize("first_is_closed", [True, False])
def test_an_activity_that_cannot_end_is_an_error_unless_there_is_a_way_round(first_is_closed: bool) -> None:
    closed = with_a_pit(1.0, trap=True)
    for way_round in (True, False):
        plan = ProcedureBuilder()
        start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
        first = plan.add_activity("first", closed if first_is_closed else risky_room())
        last = plan.add_activity("last", risky_room() if first_is_closed else closed)
        plan.add_choice(start, "go", to=[Outcome(1.0, hall, runs=first)])
        plan.add_choice(hall, "go", to=[Outcome(1.0, out, runs=last)])
        if way_round:
            plan.add_choice(start, "round", to=[Outcome(1.0, out)])
        flattening = plan.build(start=start, end=out).flattening
        if way_round:
            assert ProcedureOracle(flattening).minimise(np.ones(1), Region()) is not None
        else:
            with pytest.raises(DeadEnd, match="pit"):
                ProcedureOracle(flattening)


def test_choices_that_wait_for_ever_make_no_policy() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    walk = plan.add_activity("walk", risky_room())
    plan.add_choice(start, "wait", to=[Outcome(1.0, start)])
    plan.add_choice(start, "leave", to=[Outcome(1.0, out, runs=walk)])
    oracle = ProcedureOracle(plan.build(start=start, end=out).flattening)
    found = oracle.minimise(np.ones(1), Region())
    assert found is not None
    assert found.point.choices.tolist() == [1, -1]
    assert oracle.point_of(np.array([1, -1]), found.point.plans) is not None
    assert oracle.point_of(np.array([0, -1]), found.point.plans) is None


@pytest.mark.parametrize("seed", some(range(20), 3))
@pytest.mark.parametrize("curves", [2, 400])
def test_what_is_looked_up_is_what_would_be_found(
    seed: int, curves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_regions", curves)
    rng = np.random.default_rng(seed)
    problem = random_procedure(seed, num_constraints=2)
    oracle = ProcedureOracle(problem.flattening)
    regions = [Region()] + [
        Region().forbid(np.flatnonzero(rng.random(len(oracle.row_state)) < 0.05)) for _ in range(3)
    ]
    for _ in range(12):
        region = regions[rng.integers(len(regions))]
        prices = rng.exponential(1.0, problem.num_constraints)
        weights = np.append(1.0, prices * (rng.random(problem.num_constraints) < 0.8))
        truth = ProcedureOracle(problem.flattening).minimise(weights, region)
        for precision in (np.inf, 1e-2, 0.0):
            found = oracle.minimise(weights, region, precision)
            assert (found is None) == (truth is None)
            if found is None or truth is None:
                continue
            value = float(weights @ truth.point.costs)
            assert float(weights @ found.point.costs) >= value * (1.0 - 1e-9)
            assert found.bound <= value
            if precision < np.inf:
                assert float(weights @ found.point.costs) <= found.bound * (1.0 + 2.0 * precision) + 1e-9


@pytest.mark.parametrize("seed", some(range(12), 6))
@pytest.mark.parametrize("curves", [2, 400])
def test_what_is_known_of_one_region_is_not_told_of_another(
    seed: int, curves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_regions", curves)
    problem = random_procedure(seed, num_constraints=2)
    oracle, rng = ProcedureOracle(problem.flattening), np.random.default_rng(seed)
    every = [np.append(1.0, prices) for prices in rng.exponential(1.0, (3, 2)) * [[1, 1], [0, 1], [1, 0]]]
    # Without what is best, in the whole and in what is left, so that much is dearer in the smaller regions.
    regions = [Region()]
    for weights in every:
        best = oracle.minimise(weights, regions[-1])
        assert best is not None
        taken = best.point.rows[best.point.reached & (np.diff(oracle.row_start) > 1)]
        smaller = regions[-1].forbid(rng.choice(taken, 1).tolist()) if len(taken) else regions[-1]
        if oracle.minimise(weights, smaller) is not None:
            regions.append(smaller)
    asked = [(region, weights) for region in regions for weights in every]
    truth = [ProcedureOracle(problem.flattening).minimise(weights, region) for region, weights in asked]
    order = np.arange(len(asked))
    for index in np.concatenate([order, order[::-1], rng.permutation(order)]).tolist():
        (region, weights), best = asked[index], truth[index]
        found = oracle.minimise(weights, region, 1e-2)
        assert best is not None
        assert found is not None
        assert found.bound <= float(weights @ best.point.costs) * (1.0 + 1e-12)
        assert found.point.lies_in(region, oracle.row_state)
