"""The oracle of procedures with several exits and entries, against brute force and the flat oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.checker import check
from hcssp.contract.stop import Gap
from hcssp.cssp.builder import CSSPBuilder
from hcssp.dual import door_repair
from hcssp.dual.ascent import maximise
from hcssp.dual.doors_oracle import DoorsOracle
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.oracles import oracle_of
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import is_feasible
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.solving.solve import solve
from hcssp.ssp.potential import UNIT_ROUNDOFF
from hcssp.ssp.region import Region
from random_nestings import random_limits
from random_procedures import random_procedure
from referee.wild_problems import make_case
from small_procedures import corridor, drone, fork, fork_in_the_middle, forking, with_a_pit
from volume import some

CHUNK = 8


def doors(seed: int, num_constraints: int | None = None) -> HCSSP:
    """Procedures with several exits, half of them with cycles, half with an event for each exit."""
    return random_procedure(
        seed,
        cycles=seed % 2 == 1,
        several_exits=seed % 3 != 0,
        exits_part=seed % 4 >= 2,
        num_constraints=num_constraints,
    )


def random_weights(rng: np.random.Generator, problem: HCSSP) -> np.ndarray:
    return np.append(rng.choice([1.0, 1.0, 0.0]), rng.choice([0.0, 0.2, 1.0, 30.0], problem.num_constraints))


@pytest.mark.parametrize("later", [0.0, 5.0, 40.0])
@pytest.mark.parametrize("risk", [0.0, 0.5])
def test_what_follows_a_circle_counts_once_it_is_left(later: float, risk: float) -> None:
    """One tries until it works, by a door that leads on; what follows costs something of both."""
    attempt = CSSPBuilder(cost_names=("time", "risk"))
    here = attempt.add_state("here")
    done, failed = attempt.add_goal("done"), attempt.add_goal("failed")
    attempt.add_action(here, "try", to={done: 0.25, failed: 0.75}, costs={"time": 1.0, "risk": 0.125})
    attempt.set_initial(here)
    way = CSSPBuilder(cost_names=("time", "risk"))
    hall, out = way.add_state("hall"), way.add_goal("out")
    way.add_action(hall, "walk", to=out, costs={"time": later, "risk": 1.0})
    way.set_initial(hall)
    plan = ProcedureBuilder()
    start, between, end = (plan.add_event(name) for name in ("start", "between", "end"))
    tries, walk = plan.add_activity("tries", attempt.build()), plan.add_activity("walk", way.build())
    exits = {"done": between, "failed": start}
    plan.add_choice(start, "try", to=[Outcome(1.0, between, runs=tries, exits=exits)])
    plan.add_choice(between, "walk", to=[Outcome(1.0, end, runs=walk)])
    plan.add_constraint("risk", at_most=9.0, counts={tries: "risk", walk: "risk"})
    oracle = DoorsOracle(plan.build(start=start, end=end).flattening)
    found = oracle.minimise(np.array([1.0, risk]), Region())
    assert found is not None
    # Four tries in expectation, then the walk.
    assert found.vertex.costs == pytest.approx([4.0 + later, 1.5])
    assert found.bound == pytest.approx(4.0 + later + risk * 1.5, rel=1e-9)


@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_it_says_the_same_as_the_flat_oracle_and_as_brute_force(first: int) -> None:
    empty = 0
    for seed in range(first, first + CHUNK):
        problem = doors(seed)
        flattening = problem.flattening
        oracle, flat = DoorsOracle(flattening), FlatOracle(flattening.cssp)
        assert oracle.row_start.tolist() == flat.row_start.tolist()
        numbers = np.array([oracle.original_row(row) for row in range(len(oracle.row_state))])
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        near = None
        for share in (0.0, 0.0, 0.05, 0.1, 0.2, 0.4):
            weights = random_weights(rng, problem)
            forbidden = np.flatnonzero(rng.random(flattening.num_rows) < share)
            weighted = (every.costs @ weights)[~np.isin(every.rows, forbidden).any(axis=1)]
            region = Region().forbid(np.flatnonzero(np.isin(numbers, forbidden)))
            minimum, flat_minimum = oracle.minimise(weights, region, near), flat.minimise(weights, region)
            if minimum is None:
                assert flat_minimum is None
                assert len(weighted) == 0
                empty += 1
                continue
            least = weighted.min()
            assert flat_minimum is not None
            assert minimum.bound <= least + 1e-12 * (1.0 + least)
            assert minimum.bound == pytest.approx(least, rel=1e-8, abs=1e-8)
            assert minimum.bound == pytest.approx(flat_minimum.bound, rel=1e-8, abs=1e-8)
            near = minimum.vertex
            assert near.costs @ weights == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert near.lies_in(region, oracle.row_state)
            # What is to come from the start is what the whole costs.
            assert oracle.values_of(near, weights)[flattening.start] == pytest.approx(least, abs=1e-8)
    assert empty > 0


@pytest.mark.parametrize("seed", range(1, CHUNK, 2))
def test_regions_of_circles_say_the_same_as_the_flat_oracle(seed: int) -> None:
    problem = doors(seed)
    oracle, flat = DoorsOracle(problem.flattening), FlatOracle(problem.flattening.cssp)
    rng = np.random.default_rng(seed)
    stuck = 0
    for _ in range(25):
        weights = np.append(1.0, rng.exponential(1.0, problem.num_constraints))
        # A few rows are missing: some states of a circle are stuck then, and others are not.
        rows = rng.choice(len(oracle.row_state), int(rng.integers(1, 5)), replace=False)
        region = Region().forbid(rows.tolist())
        found, expected = oracle.minimise(weights, region), flat.minimise(weights, region)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            stuck += 1
            continue
        value = float(expected.vertex.costs @ weights)
        assert found.vertex.costs @ weights == pytest.approx(value, rel=1e-9)
        assert value * (1.0 - 1e-8) <= found.bound <= value * (1.0 + 1e-12)
        assert found.vertex.lies_in(region, oracle.row_state)
    assert stuck < 25


def test_of_a_circle_one_event_may_be_stuck_and_another_not() -> None:
    way = CSSPBuilder(cost_names=("time",))
    way.add_action(way.add_state("here"), "stroll", to=way.add_goal("there"), costs=0.125)
    way.set_initial("here")
    plan = ProcedureBuilder()
    start, one, two, end = (plan.add_event(name) for name in ("start", "one", "two", "end"))
    walk = plan.add_activity("walk", drone().activities[0].cssp)
    stroll = plan.add_activity("stroll", way.build())
    plan.add_choice(start, "first", to=[Outcome(1.0, one)])
    plan.add_choice(start, "second", to=[Outcome(1.0, two)])
    plan.add_choice(one, "on", to=[Outcome(0.5, two), Outcome(0.5, end)])
    plan.add_choice(two, "back", to=[Outcome(1.0, one, runs=stroll)])
    plan.add_choice(two, "leave", to=[Outcome(1.0, end, runs=walk, exits={"crashed": two})])
    flattening = plan.build(start=start, end=end).flattening
    oracle, flat = DoorsOracle(flattening), FlatOracle(flattening.cssp)
    assert any(each.circular for each in oracle.layout.components)
    stuck, size = 0, len(oracle.row_state)
    # What was best in one region, or missing there, is where the next one begins.
    for row, before in product(range(size), (None, *range(size))):
        oracle.minimise(np.ones(1), Region() if before is None else Region().forbid([before]))
        region = Region().forbid([row])
        found, expected = oracle.minimise(np.ones(1), region), flat.minimise(np.ones(1), region)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert found.bound == pytest.approx(expected.bound, rel=1e-9)
            assert found.vertex.costs == pytest.approx(expected.vertex.costs)
            assert found.vertex.lies_in(region, oracle.row_state)
            stuck += found.bound > 1.0
    assert stuck > 0


def test_some_of_them_lead_in_circles_and_some_do_not() -> None:
    layouts = [DoorsOracle(doors(seed).flattening).layout for seed in range(CHUNK)]
    circles = [sum(each.circular for each in layout.components) for layout in layouts]
    assert 0 < sum(count > 0 for count in circles) < len(circles)


@pytest.mark.parametrize("seed", range(CHUNK))
def test_a_vertex_costs_what_the_evaluation_of_its_lifted_policy_says(seed: int) -> None:
    problem = doors(seed)
    oracle = DoorsOracle(problem.flattening)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        minimum = oracle.minimise(random_weights(rng, problem), Region())
        assert minimum is not None
        lifted = oracle.lift(minimum.vertex)
        answer = evaluate(problem, ProcedurePolicy(problem, lifted))
        np.testing.assert_allclose(answer.costs, minimum.vertex.costs, rtol=1e-10, atol=1e-10)
        visited = minimum.vertex.visits > 1e-12
        assert visited.tolist() == minimum.vertex.reached.tolist()
        assert visited.tolist() == [minimum.vertex.goes_to(state) for state in range(len(visited))]
        assert int(visited.sum()) == int(((answer.visits > 1e-12) & (lifted >= 0)).sum())


def test_what_rounding_may_hide_is_no_more_than_is_told_without_visits() -> None:
    told_at_once = 0
    for seed in range(12):
        oracle = DoorsOracle(doors(seed, 1).flattening)
        for price in (0.0, 0.5, 20.0):
            found = oracle.minimise(np.array([1.0, price]), Region())
            assert found is not None
            at_most = found.vertex.rounding_at_most
            told_at_once += "visits" not in vars(found.vertex)
            assert np.all(at_most >= found.vertex.rounding)
    assert told_at_once > 6


@pytest.mark.parametrize("seed", range(CHUNK))
def test_an_approximate_answer_is_as_precise_as_it_says(seed: int) -> None:
    problem = doors(seed, num_constraints=1)
    oracle, every = DoorsOracle(problem.flattening), brute_force(problem)
    rng = np.random.default_rng(seed)
    near = None
    for precision in (np.inf, np.inf, 0.1, np.inf, 1e-3, 0.0):
        weights = np.append(1.0, rng.exponential(2.0, problem.num_constraints))
        minimum = oracle.approximate(weights, Region(), precision, near)
        assert minimum is not None
        near = minimum.vertex
        least, value = (every.costs @ weights).min(), float(near.costs @ weights)
        assert minimum.bound <= least + 1e-12 * (1.0 + least)
        assert value >= least - 1e-9 * (1.0 + least)
        assert value - minimum.bound <= max(precision, 1e-8) * (1.0 + abs(minimum.bound))


@pytest.mark.parametrize("seed", range(4))
def test_caches_that_overflow_change_no_answer(seed: int, tiny_caches: None) -> None:
    problem = doors(seed)
    best = brute_force(problem).optimum(problem.bounds)
    plan = solve(problem)
    assert plan.found == (best is not None)
    if best is not None:
        assert plan.upper_bound == pytest.approx(best[0], rel=1e-7)


@pytest.mark.parametrize("seed", range(CHUNK))
def test_what_is_proven_is_proven_exactly(seed: int) -> None:
    problem = doors(seed)
    best = brute_force(problem).optimum(problem.bounds)
    plan = solve(problem, stop=Gap(1e-7))
    verdict = check(problem, plan.certificate, exact=True)
    if best is None:
        assert verdict.lower_bound == np.inf
    else:
        assert verdict.lower_bound <= best[0] * (1.0 + 1e-12)
        assert verdict.lower_bound == pytest.approx(best[0], rel=1e-6)
        assert verdict.upper_bound == pytest.approx(best[0], rel=1e-6)


@pytest.mark.parametrize("seed", range(CHUNK))
def test_improving_finds_feasible_plans_that_cost_what_they_say(seed: int) -> None:
    problem = doors(seed)
    oracle = DoorsOracle(problem.flattening)
    dual = maximise(oracle, Region())
    for vertex in dual.vertices:
        better = oracle.improve(vertex, 5)
        if better is None:
            assert not is_feasible(vertex.costs, oracle.bounds)
            continue
        assert is_feasible(better.costs, oracle.bounds)
        answer = evaluate(problem, ProcedurePolicy(problem, oracle.lift(better)))
        np.testing.assert_allclose(answer.costs, better.costs, rtol=1e-9, atol=1e-10)
        if is_feasible(vertex.costs, oracle.bounds):
            assert better.costs[0] <= vertex.costs[0]


def test_improving_ends_where_its_pace_leads_to_nothing_better(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[object] = []
    parts = door_repair._parts
    monkeypatch.setattr(door_repair, "_parts", lambda vertex: (rounds.append(vertex), parts(vertex))[1])
    patient, hasty = 0, 0
    for seed in range(24):
        oracle = DoorsOracle(doors(seed, 1).flattening)
        found = oracle.minimise(np.array([1.0, 50.0]), Region())
        assert found is not None
        if not is_feasible(found.vertex.costs, oracle.bounds):
            continue
        for known_cost in (np.inf, 0.0):
            rounds.clear()
            better = oracle.improve(found.vertex, 6, known_cost, 0.0)
            assert better is not None
            assert is_feasible(better.costs, oracle.bounds)
            assert better.costs[0] <= found.vertex.costs[0]
            patient += len(rounds) if known_cost else 0
            hasty += 0 if known_cost else len(rounds)
    assert hasty < patient


def test_a_switch_may_change_how_an_activity_ends() -> None:
    problem = drone(0.15)
    oracle = DoorsOracle(problem.flattening)
    cheapest = oracle.minimise(np.array([1.0, 0.0]), Region())
    assert cheapest is not None
    assert cheapest.vertex.costs == pytest.approx([20.9, 0.19])
    better = oracle.improve(cheapest.vertex, 3)
    assert better is not None
    assert better.costs == pytest.approx([25.4, 0.1])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choices_that_pay_for_limits_of_uses_are_paid_for(seed: int) -> None:
    _, problem = random_limits(seed, depth=2, cycles=seed % 2 == 0, several_exits=True)
    flattening = problem.flattening
    oracle, flat = DoorsOracle(flattening), FlatOracle(flattening.cssp)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        weights = np.append(rng.choice([1.0, 0.0]), rng.choice([0.2, 1.0, 30.0], len(oracle.bounds)))
        minimum, flat_minimum = oracle.minimise(weights, Region()), flat.minimise(weights, Region())
        assert minimum is not None
        assert flat_minimum is not None
        assert minimum.bound == pytest.approx(flat_minimum.bound, rel=1e-8, abs=1e-8)
        assert minimum.vertex.costs @ weights == pytest.approx(flat_minimum.bound, rel=1e-8, abs=1e-8)


def test_some_choices_pay_for_limits() -> None:
    paying = [
        random_limits(seed, depth=2, cycles=seed % 2 == 0, several_exits=True)[1].flattening.event_costs.any()
        for seed in (1, 2, 3)
    ]
    assert any(paying)


def test_it_serves_where_exits_matter_and_only_there() -> None:
    assert isinstance(oracle_of(forking()), DoorsOracle)
    assert isinstance(oracle_of(drone()), DoorsOracle)


def test_under_a_bound_of_nought_what_costs_something_is_left_out() -> None:
    oracle = oracle_of(drone(0.0))
    minimum = oracle.minimise(np.array([1.0, 0.0]), Region())
    assert minimum is not None
    assert minimum.vertex.costs == pytest.approx([32.0, 0.0])
    again = oracle.under(np.array([0.15])).minimise(np.array([1.0, 0.0]), Region())
    assert again is not None
    assert again.vertex.costs == pytest.approx([20.9, 0.19])
    assert oracle.under(np.array([0.15])).under(np.array([0.0])).bounds.tolist() == [np.inf]


def trapped(*, escape: bool) -> HCSSP:
    """A leg may end in a pit, from which one gets out by an activity that perhaps cannot be ended."""
    plan = ProcedureBuilder()
    start, hall, pit, end = (plan.add_event(name) for name in ("start", "hall", "pit", "end"))
    leg = drone().activities[0].cssp
    first, second = plan.add_activity("first", leg), plan.add_activity("second", leg)
    climb = plan.add_activity("climb", with_a_pit(1.0, trap=not escape))
    plan.add_choice(start, "fly", to=[Outcome(1.0, hall, runs=first, exits={"crashed": pit})])
    plan.add_choice(hall, "fly", to=[Outcome(1.0, end, runs=second, exits={"crashed": pit})])
    plan.add_choice(pit, "climb", to=[Outcome(1.0, end, runs=climb)])
    return plan.build(start=start, end=end)


def test_an_exit_to_a_dead_end_is_not_taken() -> None:
    minimum = DoorsOracle(trapped(escape=False).flattening).minimise(np.array([1.0]), Region())
    assert minimum is not None
    assert minimum.vertex.costs == pytest.approx([32.0])
    minimum = DoorsOracle(trapped(escape=True).flattening).minimise(np.array([1.0]), Region())
    assert minimum is not None
    assert minimum.vertex.costs == pytest.approx([10 + 0.9 * (10 + 0.1) + 0.1])


def test_where_nothing_ends_the_trap_is_named() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    jump = plan.add_activity("jump", with_a_pit(1.0, trap=True))
    plan.add_choice(start, "jump", to=[Outcome(1.0, end, runs=jump)])
    with pytest.raises(DeadEnd, match="pit"):
        DoorsOracle(plan.build(start=start, end=end).flattening)


def test_an_unknown_evaluation_is_told() -> None:
    with pytest.raises(InvalidProblem, match="evaluation 'guess': choose one of 'auto'"):
        DoorsOracle(drone().flattening, "guess")  # type: ignore[arg-type]


def test_of_choices_as_good_as_each_other_the_least_is_told() -> None:
    procedure = ProcedureBuilder()
    start, end = procedure.add_event("start"), procedure.add_event("end")
    costs = (6.0, 6.0 * (1.0 - 8e-13))
    for number, cost in enumerate(costs):
        steps = CSSPBuilder(cost_names=("time",))
        here, out = steps.add_state("here"), steps.add_goal("out")
        steps.add_action(here, "go", to=out, costs=cost)
        way = procedure.add_activity(f"way {number}", steps.build())
        procedure.add_choice(start, f"choice {number}", to=[Outcome(1.0, end, runs=way)])
    oracle = DoorsOracle(procedure.build(start=start, end=end).flattening)
    found = oracle.minimise(np.ones(1), Region())
    assert found is not None
    assert found.bound <= min(costs)
    assert found.bound == pytest.approx(min(costs), rel=1e-13)


def test_roundings_of_all_that_follows_a_circle_are_allowed_for() -> None:
    looked = 0
    for seed in range(1, 2 * CHUNK, 2):
        problem = doors(seed)
        for circle in DoorsOracle(problem.flattening)._circles.values():
            outside = int(np.max(np.diff(circle._leaving.indptr), initial=0))
            # Costs are weighted and added, and so is what lies outside; then comes what every row has.
            terms = 1 + problem.num_constraints + outside
            counted = circle._certifier._rounding / UNIT_ROUNDOFF
            assert counted.min() >= terms + 6.5
            looked += outside > 1
    assert looked > 0


def test_where_a_bound_of_nothing_leaves_no_way_out_there_is_no_policy() -> None:
    plan = ProcedureBuilder()
    start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
    harmful = fork().derive(costs=np.array([[5.0, 1.0], [1.0, 2.0]]))
    choose, walk = plan.add_activity("choose", harmful), plan.add_activity("walk", corridor())
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_constraint("damage", at_most=0.0, counts={choose: "damage", walk: "damage"})
    problem = plan.build(start=start, end=out)
    oracle = DoorsOracle(problem.flattening, affordable=True)
    assert oracle.minimise(np.array([1.0, 0.0]), Region()) is None
    assert oracle.under(np.array([9.0])).minimise(np.array([1.0, 0.0]), Region()) is not None


def test_a_door_from_which_nothing_ends_leaves_the_others_open() -> None:
    planner = DoorsOracle(forking().flattening).planners[1]
    assert planner is not None
    weights = np.array([1.0, 0.5])
    near = None
    for row, expected in ((0, [np.inf, 1.5]), (1, [10.0, np.inf])):
        # Planned for the first time, and then from a plan of another region on.
        for forbidden, wanted in ((frozenset({row}), expected), (frozenset[int](), [10.0, 1.5])):
            answer = planner.plan(weights, np.zeros(1), forbidden, near)
            assert answer is not None
            assert answer.levels.tolist() == pytest.approx(wanted)
            near = answer.plan
    assert planner.plan(weights, np.zeros(1), frozenset({0, 1})) is None


def test_executions_are_counted_by_the_chances_of_coming_there() -> None:
    problem = fork_in_the_middle(limit=9.0)
    oracle = DoorsOracle(problem.flattening)
    found = oracle.minimise(np.array([0.0, 1.0]), Region().forbid([2]))
    assert found is not None
    # Half of the time one goes through the middle: to choose there, and to walk behind it.
    names = [activity.name for activity in problem.activities]
    told = dict(zip(names, found.vertex.executions.tolist(), strict=True))
    assert told == {"first": 1.0, "last": 1.0, "choose": 0.5, "walk": 0.5, "detour": 0.0}
    # Nobody comes by the detour, and so nobody misses a plan for it.
    detour = names.index("detour")
    rows = range(oracle.layout.row_offset[detour], oracle.layout.row_offset[detour + 1])
    without = oracle.minimise(np.array([0.0, 1.0]), Region().forbid([2, *rows]))
    assert without is not None
    assert without.vertex.plans[detour] is None
    reached = without.vertex.reached.tolist()
    assert reached == [without.vertex.goes_to(state) for state in range(len(reached))]
    assert reached == found.vertex.reached.tolist()


def test_no_row_is_taken_that_may_lead_to_any_exit_without_a_way_to_the_end() -> None:
    ride = CSSPBuilder(cost_names=("time",))
    here, *ends = ride.add_state("here"), *(ride.add_goal(name) for name in "abc")
    for index, time in enumerate((1.0, 2.0)):
        ride.add_action(here, f"way {index}", to={ends[index]: 0.25, ends[2]: 0.75}, costs=time)
    ride.add_action(here, "straight", to=ends[2], costs=7.0)
    ride.set_initial(here)
    plan = ProcedureBuilder()
    start, *after, out = (plan.add_event(name) for name in ("start", "a", "b", "c", "out"))
    exits = dict(zip("abc", after, strict=True))
    run = plan.add_activity("ride", ride.build())
    plan.add_choice(start, "go", to=[Outcome(1.0, after[0], runs=run, exits=exits)])
    for event in after:
        plan.add_choice(event, "on", to=[Outcome(1.0, out)])
    flattening = plan.build(start=start, end=out).flattening
    names = [flattening.problem.events[event] for event, _ in flattening.event_states]
    for closed, expected in (("", 1.0), ("a", 2.0), ("b", 1.0), ("ab", 7.0), ("ba", 7.0)):
        planner = DoorsOracle(flattening).planners[0]
        assert planner is not None
        values = np.array(
            [np.inf if names[event] in closed else 0.0 for event in planner.block.exits.tolist()]
        )
        answer = planner.plan(np.ones(1), values, frozenset())
        assert answer is not None
        assert answer.levels.tolist() == pytest.approx([expected])
    assert planner.plan(np.ones(1), np.full(3, np.inf), frozenset()) is None


@pytest.mark.parametrize("order", [("back", "on"), ("on", "back")])
def test_a_plan_that_is_as_good_does_not_return_to_its_own_event(order: tuple[str, str]) -> None:
    """Where nothing is counted, a room that leads back is as good as one that leads on, and never ends."""
    plan = CSSPBuilder(cost_names=("time", "risk"))
    here, there = plan.add_state("here"), plan.add_state("there")
    exits = {"back": plan.add_goal("back"), "on": plan.add_goal("on")}
    for name in order:
        plan.add_action(here, name, to=exits[name], costs={"time": 1.0})
    plan.add_action(here, "detour", to=there, costs={"time": 1.0})
    plan.add_action(there, "on", to=exits["on"], costs={"time": 1.0, "risk": 1.0})
    plan.set_initial(here)
    room = plan.build()
    procedure = ProcedureBuilder()
    start, end = procedure.add_event("start"), procedure.add_event("end")
    first = procedure.add_activity("room", room)
    procedure.add_choice(start, "go", to=[Outcome(1.0, end, runs=first, exits={"back": start, "on": end})])
    procedure.add_constraint("risk", at_most=1.0, counts={first: "risk"})
    oracle = DoorsOracle(procedure.build(start=start, end=end).flattening)
    # Without the row of the state that the detour leads to, no plan may enter it.
    flat = oracle.flattening.cssp
    rows = range(len(oracle.row_state))
    dead = [row for row in rows if flat.costs[1, oracle.original_row(row)] > 0.0]
    for region in (Region(), Region(frozenset(dead))):
        minimum = oracle.minimise(np.array([0.0, 1.0]), region)
        assert minimum is not None
        assert minimum.bound == 0.0 == minimum.vertex.costs[1]


@pytest.mark.parametrize(("style", "seed"), [("free", 8), ("free", 12), ("free", 28), ("odd", 1)])
def test_bounds_of_regions_asked_in_turn_are_sharp(style: str, seed: int) -> None:
    """A region may close a state that the next one opens again; what was known of it must not be kept."""
    case = make_case(f"cycles of exits: {style}", seed)
    assert isinstance(case.problem, HCSSP)
    oracle = DoorsOracle(case.problem.flattening)
    for row in range(len(oracle.row_state)):
        used = oracle.original_row(row)
        left = [policy.costs[1] for policy in case.truth.policies if used not in policy.rows]
        minimum = oracle.minimise(np.eye(1 + len(case.bounds))[1], Region(frozenset([row])))
        assert (minimum is None) == (not left)
        if minimum is not None:
            least = min(left)
            assert float(least) * (1.0 - 1e-9) <= minimum.bound
            assert Fraction(minimum.bound) <= least
