"""The oracle of procedures with several exits and entries, against brute force and the flat oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.checker import check
from hcssp.contract.progress import Gap
from hcssp.cssp.builder import CSSPBuilder
from hcssp.dual.flat import FlatOracle
from hcssp.dual.local_search import MultiExitLocalSearch, Use
from hcssp.dual.multi_exit import MultiExitOracle
from hcssp.dual.oracles import oracle_of
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.numerics import is_feasible
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from hcssp.ssp.potential import UNIT_ROUNDOFF
from hcssp.ssp.scalar_problem import Region
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


def same_region(oracle: MultiExitOracle, flat: FlatOracle, region: Region) -> Region:
    """A region in the numbering of the flat oracle."""
    forbidden = {oracle.original_row(row) for row in region.forbidden}
    return Region().forbid([row for row in range(len(flat.row_state)) if flat.original_row(row) in forbidden])


def has_components(oracle: MultiExitOracle) -> bool:
    """Whether some events are planned together with what they lead to and are reached from."""
    return oracle.layout.num_events < np.count_nonzero(
        oracle.layout.states < oracle.flattening.state_offset[0]
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
    oracle = MultiExitOracle(plan.build(start=start, end=end).flattening)
    found = oracle.minimise(np.array([1.0, risk]), Region())
    assert found is not None
    # Four tries in expectation, then the walk.
    assert found.point.costs == pytest.approx([4.0 + later, 1.5])
    assert found.bound == pytest.approx(4.0 + later + risk * 1.5, rel=1e-9)


@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_it_says_the_same_as_the_flat_oracle_and_as_brute_force(first: int) -> None:
    empty = 0
    for seed in range(first, first + CHUNK):
        problem = doors(seed)
        flattening = problem.flattening
        oracle, flat = MultiExitOracle(flattening), FlatOracle(flattening.cssp)
        numbers = np.array([oracle.original_row(row) for row in range(len(oracle.row_state))])
        every = brute_force(problem)
        rng = np.random.default_rng(seed)
        near = None
        for share in (0.0, 0.0, 0.05, 0.1, 0.2, 0.4):
            weights = random_weights(rng, problem)
            forbidden = np.flatnonzero(rng.random(flattening.num_rows) < share)
            weighted = (every.costs @ weights)[~np.isin(every.rows, forbidden).any(axis=1)]
            region = Region().forbid(np.flatnonzero(np.isin(numbers, forbidden)))
            minimum = oracle.minimise(weights, region, near=near)
            flat_minimum = flat.minimise(weights, same_region(oracle, flat, region))
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
            near = minimum.point
            assert near.costs @ weights == pytest.approx(least, rel=1e-9, abs=1e-9)
            assert near.lies_in(region, oracle.row_state)
            # What is to come from the start is what the whole costs.
            assert oracle.values_of(near, weights)[flattening.start] == pytest.approx(least, abs=1e-8)
    assert empty > 0


@pytest.mark.parametrize("seed", range(1, CHUNK, 2))
def test_regions_of_circles_say_the_same_as_the_flat_oracle(seed: int) -> None:
    problem = doors(seed)
    oracle, flat = MultiExitOracle(problem.flattening), FlatOracle(problem.flattening.cssp)
    rng = np.random.default_rng(seed)
    stuck = 0
    for _ in range(25):
        weights = np.append(1.0, rng.exponential(1.0, problem.num_constraints))
        # A few rows are missing: some states of a circle are stuck then, and others are not.
        rows = rng.choice(len(oracle.row_state), int(rng.integers(1, 5)), replace=False)
        region = Region().forbid(rows.tolist())
        found = oracle.minimise(weights, region)
        expected = flat.minimise(weights, same_region(oracle, flat, region))
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            stuck += 1
            continue
        value = float(expected.point.costs @ weights)
        assert found.point.costs @ weights == pytest.approx(value, rel=1e-9)
        assert value * (1.0 - 1e-8) <= found.bound <= value * (1.0 + 1e-12)
        assert found.point.lies_in(region, oracle.row_state)
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
    oracle, flat = MultiExitOracle(flattening), FlatOracle(flattening.cssp)
    assert has_components(oracle)
    stuck, size = 0, len(oracle.row_state)
    # What was best in one region, or missing there, is where the next one begins.
    for row, before in product(range(size), (None, *range(size))):
        oracle.minimise(np.ones(1), Region() if before is None else Region().forbid([before]))
        region = Region().forbid([row])
        found = oracle.minimise(np.ones(1), region)
        expected = flat.minimise(np.ones(1), same_region(oracle, flat, region))
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert found.bound == pytest.approx(expected.bound, rel=1e-9)
            assert found.point.costs == pytest.approx(expected.point.costs)
            assert found.point.lies_in(region, oracle.row_state)
            stuck += found.bound > 1.0
    assert stuck > 0


def test_some_of_them_lead_in_circles_and_some_do_not() -> None:
    circular = [has_components(MultiExitOracle(doors(seed).flattening)) for seed in range(CHUNK)]
    assert 0 < sum(circular) < len(circular)


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


def test_improving_ends_where_its_pace_leads_to_nothing_better(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[object] = []
    uses = MultiExitLocalSearch._uses

    def noting(search: MultiExitLocalSearch, point: Any, known: dict[Any, Any]) -> list[Use]:
        rounds.append(point)
        return uses(search, point, known)

    monkeypatch.setattr(MultiExitLocalSearch, "_uses", noting)
    patient, hasty = 0, 0
    for seed in range(24):
        oracle = MultiExitOracle(doors(seed, 1).flattening)
        found = oracle.minimise(np.array([1.0, 50.0]), Region())
        assert found is not None
        if not is_feasible(found.point.costs, oracle.bounds):
            continue
        for known_cost in (np.inf, 0.0):
            rounds.clear()
            better = oracle.strategies.local_search.improve(found.point, 6, known_cost, 0.0)
            assert better is None or is_feasible(better.costs, oracle.bounds)
            assert better is None or better.costs[0] < found.point.costs[0]
            patient += len(rounds) if known_cost else 0
            hasty += 0 if known_cost else len(rounds)
    assert hasty < patient


def test_a_switch_may_change_how_an_activity_ends() -> None:
    problem = drone(0.15)
    oracle = MultiExitOracle(problem.flattening)
    cheapest = oracle.minimise(np.array([1.0, 0.0]), Region())
    assert cheapest is not None
    assert cheapest.point.costs == pytest.approx([20.9, 0.19])
    better = oracle.strategies.local_search.improve(cheapest.point, 3)
    assert better is not None
    assert better.costs == pytest.approx([25.4, 0.1])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choices_that_pay_for_limits_of_uses_are_paid_for(seed: int) -> None:
    _, problem = random_limits(seed, depth=2, cycles=seed % 2 == 0, several_exits=True)
    flattening = problem.flattening
    oracle, flat = MultiExitOracle(flattening), FlatOracle(flattening.cssp)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        weights = np.append(rng.choice([1.0, 0.0]), rng.choice([0.2, 1.0, 30.0], len(oracle.bounds)))
        minimum, flat_minimum = oracle.minimise(weights, Region()), flat.minimise(weights, Region())
        assert minimum is not None
        assert flat_minimum is not None
        assert minimum.bound == pytest.approx(flat_minimum.bound, rel=1e-8, abs=1e-8)
        assert minimum.point.costs @ weights == pytest.approx(flat_minimum.bound, rel=1e-8, abs=1e-8)


def test_some_choices_pay_for_limits() -> None:
    paying = [
        random_limits(seed, depth=2, cycles=seed % 2 == 0, several_exits=True)[1].flattening.event_costs.any()
        for seed in (1, 2, 3)
    ]
    assert any(paying)


def test_it_serves_where_exits_matter_and_only_there() -> None:
    assert isinstance(oracle_of(forking()), MultiExitOracle)
    assert isinstance(oracle_of(drone()), MultiExitOracle)


def test_under_a_bound_of_nought_what_costs_something_is_left_out() -> None:
    oracle = oracle_of(drone(0.0))
    minimum = oracle.minimise(np.array([1.0, 0.0]), Region())
    assert minimum is not None
    assert minimum.point.costs == pytest.approx([32.0, 0.0])
    again = oracle.under(np.array([0.15])).minimise(np.array([1.0, 0.0]), Region())
    assert again is not None
    assert again.point.costs == pytest.approx([20.9, 0.19])
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
    minimum = MultiExitOracle(trapped(escape=False).flattening).minimise(np.array([1.0]), Region())
    assert minimum is not None
    assert minimum.point.costs == pytest.approx([32.0])
    minimum = MultiExitOracle(trapped(escape=True).flattening).minimise(np.array([1.0]), Region())
    assert minimum is not None
    assert minimum.point.costs == pytest.approx([10 + 0.9 * (10 + 0.1) + 0.1])


def test_where_nothing_ends_the_trap_is_named() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    jump = plan.add_activity("jump", with_a_pit(1.0, trap=True))
    plan.add_choice(start, "jump", to=[Outcome(1.0, end, runs=jump)])
    with pytest.raises(DeadEnd, match="pit"):
        MultiExitOracle(plan.build(start=start, end=end).flattening)


def test_an_unknown_evaluation_is_told() -> None:
    with pytest.raises(InvalidProblem, match="evaluation 'guess': choose one of 'auto'"):
        MultiExitOracle(drone().flattening, "guess")  # type: ignore[arg-type]


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
    oracle = MultiExitOracle(procedure.build(start=start, end=end).flattening)
    found = oracle.minimise(np.ones(1), Region())
    assert found is not None
    assert found.bound <= min(costs)
    assert found.bound == pytest.approx(min(costs), rel=1e-13)


def test_where_a_bound_of_nothing_leaves_no_way_out_there_is_no_policy() -> None:
    plan = ProcedureBuilder()
    start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
    harmful = fork().derive(costs=np.array([[5.0, 1.0], [1.0, 2.0]]))
    choose, walk = plan.add_activity("choose", harmful), plan.add_activity("walk", corridor())
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_constraint("damage", at_most=0.0, counts={choose: "damage", walk: "damage"})
    problem = plan.build(start=start, end=out)
    oracle = MultiExitOracle(problem.flattening, affordable=True)
    assert oracle.minimise(np.array([1.0, 0.0]), Region()) is None
    assert oracle.under(np.array([9.0])).minimise(np.array([1.0, 0.0]), Region()) is not None


def test_a_door_from_which_nothing_ends_leaves_the_others_open() -> None:
    planner = MultiExitOracle(forking().flattening).planners[-1]
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
    oracle = MultiExitOracle(problem.flattening)
    found = oracle.minimise(np.array([0.0, 1.0]), Region().forbid([2]))
    assert found is not None
    # Half of the time one goes through the middle: to choose there, and to walk behind it.
    names = [activity.name for activity in problem.activities]
    told = dict(zip(names, found.point.executions.tolist(), strict=True))
    assert told == {"first": 1.0, "last": 1.0, "choose": 0.5, "walk": 0.5, "detour": 0.0}
    # Nobody comes by the detour, and so nobody misses a plan for it.
    detour = names.index("detour")
    rows = range(oracle.layout.row_offset[detour], oracle.layout.row_offset[detour + 1])
    without = oracle.minimise(np.array([0.0, 1.0]), Region().forbid([2, *rows]))
    assert without is not None
    assert without.point.plans[detour] is None
    reached = without.point.reached.tolist()
    assert reached == [without.point.goes_to(state) for state in range(len(reached))]
    assert reached == found.point.reached.tolist()


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
        planner = MultiExitOracle(flattening).planners[0]
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
    oracle = MultiExitOracle(procedure.build(start=start, end=end).flattening)
    # Without the row of the state that the detour leads to, no plan may enter it.
    flat = oracle.flattening.cssp
    rows = range(len(oracle.row_state))
    dead = [row for row in rows if flat.costs[1, oracle.original_row(row)] > 0.0]
    for region in (Region(), Region(frozenset(dead))):
        minimum = oracle.minimise(np.array([0.0, 1.0]), region)
        assert minimum is not None
        assert minimum.bound == 0.0 == minimum.point.costs[1]


@pytest.mark.parametrize(("style", "seed"), [("free", 8), ("free", 12), ("free", 28), ("odd", 1)])
def test_bounds_of_regions_asked_in_turn_are_sharp(style: str, seed: int) -> None:
    """A region may close a state that the next one opens again; what was known of it must not be kept."""
    case = make_case(f"cycles of exits: {style}", seed)
    assert isinstance(case.problem, HCSSP)
    oracle = MultiExitOracle(case.problem.flattening)
    for row in range(len(oracle.row_state)):
        used = oracle.original_row(row)
        left = [policy.costs[1] for policy in case.truth.policies if used not in policy.rows]
        minimum = oracle.minimise(np.eye(1 + len(case.bounds))[1], Region(frozenset([row])))
        assert (minimum is None) == (not left)
        if minimum is not None:
            least = min(left)
            assert float(least) * (1.0 - 1e-9) <= minimum.bound
            assert Fraction(minimum.bound) <= least


def many_ways(seed: int, longest: int, num_costs: int = 2) -> MultiExitOracle:
    """One event with three choices: the one in the middle leads to as many events as activities."""
    rng = np.random.default_rng(seed)
    names = tuple(f"cost {index}" for index in range(num_costs))
    room = CSSPBuilder(cost_names=names)
    room.add_action(room.add_state("in"), "go", to=room.add_goal("out"), costs=dict.fromkeys(names, 1.0))
    room.set_initial("in")
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    rooms = []
    for count in (2, longest, 3):
        chances = rng.random(2 * count)
        chances /= chances.sum()
        outcomes = []
        for index, chance in enumerate(chances.tolist()):
            rooms.append(plan.add_activity(f"room {count} {index}", room.build()))
            if index < count:
                outcomes.append(Outcome(chance, end, runs=rooms[-1]))
            else:
                between = plan.add_event(f"between {count} {index}")
                plan.add_choice(between, "on", to=[Outcome(1.0, end, runs=rooms[-1])])
                outcomes.append(Outcome(chance, between))
        plan.add_choice(start, f"{count} ways", to=outcomes)
    for name in names[1:]:
        plan.add_constraint(name, at_most=9.0, counts=dict.fromkeys(rooms, name))
    return MultiExitOracle(plan.build(start=start, end=end).flattening)


def test_the_best_row_is_told_with_no_more_than_it_is_worth() -> None:
    for seed in range(20):
        layout, rng = many_ways(seed, longest=20).layout, np.random.default_rng(seed + 1_000)
        values, prices = 100.0 * rng.random(len(layout.states)), rng.random(layout.begin + 1)
        worth = []
        for row in range(3):
            targets, chances = layout.ways[row]
            terms = zip(chances.tolist(), values[targets].tolist(), strict=True)
            worth.append(Fraction(prices[row]) + sum(Fraction(one) * Fraction(other) for one, other in terms))
        for forbidden in (frozenset[int](), frozenset({0, 2})):
            chosen, told = layout.best(0, prices, values, forbidden)
            best = min(set(range(3)) - forbidden, key=worth.__getitem__)
            assert chosen == best
            assert Fraction(told) <= worth[best]
            assert told == pytest.approx(float(worth[best]), rel=1e-13)
        assert layout.best(0, prices, values, frozenset({0, 1, 2})) == (-1, np.inf)


@pytest.mark.parametrize("num_costs", [2, 30])
def test_all_terms_of_the_longest_row_are_allowed_for(num_costs: int) -> None:
    layout = many_ways(0, 20, num_costs).layout
    lost = 1.0 - layout.rounded_down(1.0)
    # A product and a sum for each entry, and for each cost.
    assert lost >= 2.0 * (40 + num_costs) * UNIT_ROUNDOFF
    assert lost <= 4.0 * (40 + num_costs) * UNIT_ROUNDOFF
