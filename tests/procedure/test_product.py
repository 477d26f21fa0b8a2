"""Capacities and bounds on probabilities of a procedure: memory that activities hand over."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from brute_force_procedures import brute_force, brute_force_flat
from hcssp import (
    CSSP,
    HCSSP,
    CSSPBuilder,
    InvalidProblem,
    LinearProgram,
    check,
    dump_problem,
    explore,
    small_building,
    solve,
    with_probability,
)
from hcssp.cssp.model import FloatArray
from hcssp.cssp.product import Capacity, LevelLabels
from hcssp.errors import DeadEnd, UnknownName
from hcssp.files.problem_file.loading import load_text
from hcssp.numerics import is_feasible
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.procedure.product import capacity_model, rest_with_capacities, with_capacities
from hcssp.procedure.rest import Position, rest_of
from random_nestings import random_limits
from random_procedures import combinations, random_procedure
from volume import some


def explored(problem: HCSSP, capacity: Capacity, uses: Mapping[str, FloatArray]) -> CSSP:
    """The flattened procedure, level by level, by functions that know neither activities nor handing over."""
    flat = problem.flattening.cssp
    used = np.zeros(flat.num_rows)
    for index, activity in enumerate(problem.activities):
        first, last = problem.flattening.row_offset[index : index + 2]
        used[first:last] = uses[activity.name][0]
    over = capacity.last + 1

    def reached(level: int, row: int) -> int:
        if level == over:
            return over
        return min(max(0, level + ceil(used[row] / capacity.step - 1e-9)), over)

    def actions(state: tuple[int, int]) -> Iterable[int]:
        rows = range(int(flat.row_start[state[0]]), int(flat.row_start[state[0] + 1]))
        return [row for row in rows if capacity.probability > 0.0 or reached(state[1], row) < over]

    def transitions(state: tuple[int, int], row: int) -> dict[tuple[int, int], float]:
        entries = flat.transitions[[row]]
        level = reached(state[1], row)
        return {
            (successor, level): chance
            for successor, chance in zip(entries.indices.tolist(), entries.data.tolist(), strict=True)
        }

    def costs(state: tuple[int, int], row: int) -> list[float]:
        exceeds = state[1] < over and reached(state[1], row) == over
        return [*flat.costs[:, row].tolist(), float(exceeds)]

    names = (*flat.cost_names, "over")
    bounds = dict(zip(flat.cost_names[1:], flat.bounds.tolist(), strict=True))
    bounds["over"] = capacity.probability if capacity.probability > 0.0 else np.inf
    start = {(state, 0): float(flat.initial[state]) for state in np.flatnonzero(flat.initial).tolist()}
    return explore(
        start, actions, transitions, costs, lambda state: bool(flat.goals[state[0]]), names, bounds
    )


def optimum(problem: HCSSP | CSSP) -> Any:
    """The best over randomised policies, which is unique; or what cannot be."""
    try:
        return solve(problem, LinearProgram()).lower_bound
    except DeadEnd:
        return "dead end"


@pytest.mark.parametrize(
    "kind", [{}, {"cycles": True}, {"several_exits": True}, {"exits_part": True, "cycles": True}]
)
@pytest.mark.parametrize("seed", some(range(6), 3))
def test_it_is_the_flat_problem_with_levels(seed: int, kind: dict[str, bool]) -> None:
    problem = random_procedure(seed, num_constraints=1, **kind)
    problem = problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf))
    rng = np.random.default_rng(seed)
    uses = {
        each.name: rng.integers(-1, 3, size=(1, each.cssp.num_rows)).astype(float)
        for each in problem.activities
    }
    capacity = Capacity("battery", at_most=4.0, probability=[0.0, 0.25][seed % 2])
    try:
        carried = with_capacities(problem, [capacity], uses)
    except InvalidProblem as error:
        assert "begins in one of several states" in str(error)  # noqa: PT017 - some of the random ones do
        return
    ours, theirs = optimum(carried), optimum(explored(problem, capacity, uses))
    assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs, rel=1e-7, abs=1e-9))


def positions(problem: HCSSP) -> list[Position]:
    """Some of the places where a run can be."""
    found = [Position(*state) for state in problem.flattening.event_states if state[0] != problem.end]
    for index, activity in enumerate(problem.activities):
        event = problem.choices[int(problem.activity_choice[index])].event
        inside = np.flatnonzero(~activity.cssp.goals).tolist()
        found += [Position(event, None, index, state) for state in inside]
    return found


def label_at(problem: HCSSP, place: Position) -> str:
    if place.activity is None or place.state is None:
        return str(place.entry)
    return str(problem.activities[place.activity].cssp.state_labels[place.state])


@pytest.mark.parametrize(
    "kind", [{}, {"cycles": True}, {"several_exits": True}, {"exits_part": True, "cycles": True}]
)
@pytest.mark.parametrize("seed", some(range(6), 3))
def test_a_rest_with_capacities_is_the_rest_of_the_levels(seed: int, kind: dict[str, bool]) -> None:
    """It has the same optimum, and a file holds it as it is stated."""
    problem = random_procedure(seed, num_constraints=1, **kind)
    problem = problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf))
    rng = np.random.default_rng(seed)
    uses = {
        each.name: rng.integers(-1, 3, size=(1, each.cssp.num_rows)).astype(float)
        for each in problem.activities
    }
    capacity = Capacity("battery", at_most=4.0, probability=[0.0, 0.25][seed % 2])
    try:
        carried = with_capacities(problem, [capacity], uses)
    except InvalidProblem:
        return
    places = positions(carried)
    for place in rng.choice(len(places), 3, replace=False).tolist():
        left = dict.fromkeys(carried.constraint_names, np.inf)
        rest = rest_with_capacities(carried, places[place], left)
        ours, theirs = optimum(rest), optimum(rest_of(carried, places[place], left))
        assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs, rel=1e-7, abs=1e-9))
        is_exceeded = capacity_model(rest) is None
        assert is_exceeded == ("battery above 4" in label_at(carried, places[place]))
        if not is_exceeded:
            document = dump_problem(rest)
            assert load_text(document) == rest
            assert "capacities:" in document


def test_a_changed_problem_is_not_what_its_capacities_were_stated_for() -> None:
    """Bounds and names may change; other activities, choices or constraints need their levels written out."""
    problem = with_capacities(two_legs(), [Capacity("battery", at_most=3.0)])
    assert capacity_model(problem.with_bounds({})) is not None
    assert capacity_model(problem.named("other")) is not None
    # How events are entered is found once for a problem, whatever its bounds.
    assert problem.with_bounds({}).entered_states is problem.entered_states
    for changed in (
        problem.with_activities({"first": problem.activities[1].cssp}),
        replace(problem, choices=tuple(replace(each, name="walk") for each in problem.choices)),
        rest_of(problem, Position(1, "there, battery 1"), {}),
    ):
        assert capacity_model(changed) is None
        assert load_text(dump_problem(changed)) == changed


def leg() -> CSSP:
    """A step that may have to be repeated, quickly or carefully."""
    way = CSSPBuilder(cost_names=("time", "battery"))
    here, there = way.add_state("here"), way.add_goal("there")
    way.add_action(here, "fast", to={there: 0.5, here: 0.5}, costs={"time": 1, "battery": 2})
    way.add_action(here, "slow", to=there, costs={"time": 5, "battery": 1})
    way.set_initial(here)
    return way.build()


def two_legs() -> HCSSP:
    plan = ProcedureBuilder()
    start, middle, end = plan.add_event("start"), plan.add_event("middle"), plan.add_event("end")
    first, second = plan.add_activity("first", leg()), plan.add_activity("second", leg())
    plan.add_choice(start, "go", to=[Outcome(1.0, middle, runs=first)])
    plan.add_choice(middle, "go", to=[Outcome(1.0, end, runs=second)])
    return plan.build(start=start, end=end)


def test_what_is_left_decides() -> None:
    """Fast is only possible where it leaves enough for all that may follow."""
    # With 3 a fast step may leave 1 or nothing for two slow ones.
    plan = solve(with_capacities(two_legs(), [Capacity("battery", at_most=3.0)]))
    assert plan.upper_bound == pytest.approx(10.0)
    # With 4 one fast step may fail: two slow ones are possible after it.
    more = solve(with_capacities(two_legs(), [Capacity("battery", at_most=4.0)]))
    assert more.upper_bound == pytest.approx(5 + 1 + 0.5 * 5)


def test_giving_up_ends_what_cannot_be_ended_otherwise() -> None:
    prices = {"second": {"time": 100.0}, "first": {"time": 100.0}}
    capacity = Capacity("battery", at_most=1.0)
    plan = solve(with_capacities(two_legs(), [capacity], give_up=prices))
    # One slow step, and then nothing is left.
    assert plan.upper_bound == pytest.approx(5 + 100)


def test_exceeding_has_its_probability() -> None:
    problem = with_capacities(two_legs(), [Capacity("battery", at_most=4.0, probability=0.25)])
    assert problem.constraint_names == ("battery above 4",)
    plan = solve(problem)
    # Less than the 8.5 of the plan that never exceeds it, by what a quarter of the runs may do.
    assert (plan.upper_bound, plan.cost("battery above 4")) == pytest.approx((7.0, 0.25))
    never = solve(problem.with_bounds({"battery above 4": 0.0}))
    assert never.upper_bound == pytest.approx(8.5)


def test_mistakes() -> None:
    with pytest.raises(
        InvalidProblem, match="activity 'first': it has no cost 'water', of which there is a capacity"
    ):
        with_capacities(two_legs(), [Capacity("water", at_most=3.0)])
    for given, told in (
        ({"at_most": np.inf}, "at most inf; give a finite number of at least 0"),
        ({"at_most": 1.0, "step": 0.0}, "a step of 0.0; give a positive number"),
        ({"at_most": 1.0, "probability": 2.0}, "2.0 is not a probability between 0 and 1"),
    ):
        with pytest.raises(InvalidProblem, match=told):
            Capacity("battery", **given)


MOST = 150
MOST_COMBINATIONS = 4000


def hit(problem: HCSSP, rows: FloatArray, target: set[int]) -> float:
    """The probability that a policy of the flat problem ever is in one of the target states."""
    flat = problem.flattening.cssp
    chain = np.zeros((flat.num_states, flat.num_states))
    for state, row in enumerate(rows.tolist()):
        if row >= 0 and state not in target:
            chain[state] = flat.transitions[[row]].toarray()[0]
    within = np.array([float(state in target) for state in range(flat.num_states)])
    # What is neither left nor met again has a chance of nothing, whatever a singular system would say.
    chance = within
    for _ in range(60):
        chain, chance = chain @ chain, chance + chain @ chance * (1.0 - within)
    return float(flat.initial @ np.where(within > 0, 1.0, chance))


def events_of(problem: HCSSP, name: str) -> set[int]:
    return {
        state
        for state, (event, _) in enumerate(problem.flattening.event_states)
        if problem.events[event] == name
    }


def states_of(problem: HCSSP, label: Hashable) -> set[int]:
    """The flat states of a label; its goals are counted where they lead, so there must be none of them."""
    found: set[int] = set()
    for index, activity in enumerate(problem.activities):
        labels = activity.cssp.state_labels
        base = labels.base if isinstance(labels, LevelLabels) else labels
        count = len(labels) // len(base)
        flat = problem.flattening.flat_state(index)
        for state in range(len(labels)):
            if base[state // count] == label:
                assert not activity.cssp.goals[state]
                found.add(int(flat[state]))
    return found


def assert_is_probability(problem: HCSSP, name: str, target: set[int]) -> None:
    policies = brute_force(problem)
    column = 1 + problem.constraint_names.index(name)
    for rows, costs in list(zip(policies.rows, policies.costs, strict=True))[:MOST]:
        assert costs[column] == pytest.approx(hit(problem, rows, target), abs=1e-9)


@pytest.mark.parametrize("kind", [{}, {"cycles": True}, {"several_exits": True}, {"exits_part": True}])
@pytest.mark.parametrize("seed", some(range(3), 3))
def test_that_of_an_event(seed: int, kind: dict[str, bool]) -> None:
    problem = random_procedure(seed, num_constraints=1, **kind)
    inner = [each for at, each in enumerate(problem.events) if at not in (problem.start, problem.end)]
    for name in inner:
        try:
            bounded = with_probability(problem, "p", of=name, at_most=0.5)
        except InvalidProblem:
            # Random activities may begin in their goals, so that no step leads to what follows.
            assert kind
            continue
        assert_is_probability(bounded, "p", events_of(bounded, name))


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_that_of_a_state(seed: int, cycles: bool) -> None:
    problem = random_procedure(seed, cycles=cycles, num_constraints=1)
    meant: dict[str, Hashable] = {}
    for each in problem.activities:
        inner = np.flatnonzero(~each.cssp.goals & (each.cssp.initial == 0.0))
        if len(inner):
            meant[each.name] = each.cssp.state_labels[int(inner[0])]
    if not meant:
        pytest.skip("no activity has such a state")
    try:
        bounded = with_probability(problem, "p", of=meant)
    except InvalidProblem as error:
        # Some random activities begin in one of several states, which nothing can be carried into.
        pytest.skip(str(error))
    target: set[int] = set()
    for index, activity in enumerate(bounded.activities):
        if activity.name in meant:
            label = str(meant[activity.name])
            labels, flat = activity.cssp.state_labels, bounded.flattening.flat_state(index)
            target |= {int(flat[at]) for at in range(len(labels)) if str(labels[at]).startswith(label)}
    assert_is_probability(bounded, "p", target)


def flights(at_most: float, again: bool) -> HCSSP:
    """A flight that may crash; then one walks home, or flies again."""
    leg = CSSPBuilder(cost_names=("time",))
    air, home, crashed = leg.add_state("air"), leg.add_goal("home"), leg.add_goal("crashed")
    leg.add_action(air, "low", to={home: 0.8, crashed: 0.2}, costs={"time": 1})
    leg.add_action(air, "high", to={home: 0.95, crashed: 0.05}, costs={"time": 3})
    leg.set_initial(air)
    walk = CSSPBuilder(cost_names=("time",))
    walk.add_action(walk.add_state("wreck"), "walk", to=walk.add_goal("home"), costs={"time": 9})
    plan = ProcedureBuilder("flights")
    start, lost, end = (plan.add_event(name) for name in ("start", "lost", "end"))
    first, foot = plan.add_activity("fly", leg.build()), plan.add_activity("walk", walk.build())
    plan.add_choice(start, "fly", to=[Outcome(1.0, end, runs=first, exits={"crashed": lost})])
    plan.add_choice(lost, "walk", to=[Outcome(1.0, start if again else end, runs=foot)])
    plan.add_probability("crash", of="lost", at_most=at_most)
    return plan.build(start=start, end=end)


def test_the_bound_decides_the_plan() -> None:
    fast, safe = solve(flights(0.2, again=False)), solve(flights(0.1, again=False))
    assert (fast.upper_bound, fast.cost("crash")) == pytest.approx((1 + 0.2 * 9, 0.2))
    assert (safe.upper_bound, safe.cost("crash")) == pytest.approx((3 + 0.05 * 9, 0.05))
    assert not solve(flights(0.04, again=False)).found


def test_who_flies_again_crashes_once() -> None:
    problem = flights(0.2, again=True)
    plan = solve(problem)
    # After the first crash there is nothing left to keep, so one flies low; before, one flies low as well.
    assert plan.cost("crash") == pytest.approx(0.2)
    assert [str(label) for label in problem.activities[0].cssp.state_labels][:2] == [
        "air, no lost yet",
        "air, after lost",
    ]
    assert plan.upper_bound == pytest.approx((1 + 0.2 * 9) / 0.8)
    # The mark is remembered, and no exit: each event is reached by one exit of an activity.
    assert [(problem.events[event], entry) for event, entry in problem.flattening.event_states] == [
        ("start", None),
        ("start", "after lost"),
        ("lost", "after lost"),
        ("end", None),
    ]
    # Counting entries would have called the same plan 25%, and forbidden it.
    careful = solve(problem.with_bounds(crash=0.1))
    assert careful.cost("crash") == pytest.approx(0.05)
    assert careful.policy.action("fly", "air, after lost") == "low"


def test_a_single_problem_becomes_a_procedure() -> None:
    leg = CSSPBuilder(cost_names=("time",))
    air, home, crashed = leg.add_state("air"), leg.add_goal("home"), leg.add_state("crashed")
    leg.add_action(air, "low", to={home: 0.5, crashed: 0.5}, costs={"time": 1})
    leg.add_action(air, "high", to={home: 0.9, air: 0.09, crashed: 0.01}, costs={"time": 3})
    leg.add_action(crashed, "climb out", to={air: 0.5, crashed: 0.5}, costs={"time": 1})
    leg.set_initial(air)
    plan = solve(with_probability(leg.build(), "crash", of="crashed", at_most=0.02))
    assert plan.cost("crash") == pytest.approx(0.01 / 0.91)


def test_without_a_second_entry_nothing_is_carried() -> None:
    building = small_building()
    bounded = with_probability(building, "locked out", of="door-locked", at_most=0.3)
    assert bounded.num_activities == building.num_activities + 1
    assert bounded.activities[-1].name == "reach door-locked"
    assert solve(bounded).upper_bound == pytest.approx(solve(building).upper_bound)
    never = solve(bounded.with_bounds({"locked out": 0.1}))
    assert never.policy.choice("start") == "go-to-E"
    assert never.cost("locked out") == 0.0


@pytest.mark.parametrize("seed", some(range(16)))
def test_limits_of_procedures_inside_are_kept_beside_it(seed: int) -> None:
    limited = random_limits(seed, cycles=seed % 2 == 1)[1]
    try:
        problem = with_probability(limited, "chance", of="middle", at_most=0.6)
    except InvalidProblem as error:
        if "it begins in one of several states after another activity" not in str(error):
            raise
        # Where it may happen twice the states carry a mark, which such a beginning cannot.
        return
    costs = brute_force(problem).costs
    kept = [each[0] for each in costs if is_feasible(each, problem.bounds)]
    plan = solve(problem)
    assert plan.found == bool(kept)
    if kept:
        assert plan.upper_bound == pytest.approx(min(kept))
        for each in plan.as_procedure().costs.limits:
            assert (each.usage_per_execution or 0.0) <= each.limit * (1.0 + 1e-6)
    with pytest.raises(
        InvalidProblem, match="a file cannot hold what was added to procedures that run inside"
    ):
        dump_problem(problem)


PIT = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  cross:
    grid:
      map: |
        #########
        S...P...W
        #.......#
        #########
      slip: 0.2
      places: {pit: P, window: W}
    goal: window
constraints:
  fall: {probability: {of: pit, at_most: 10%}}
"""


def test_places_and_cells_have_names() -> None:
    by_place, by_cell = load_text(PIT), load_text(PIT.replace("of: pit", "of: {cross: [4, 1]}"))
    assert by_place.activities[0].cssp.groups["pit"] == ((4, 1),)
    told = solve(by_place)
    assert told.cost("fall") == pytest.approx(solve(by_cell).cost("fall"))
    bare = load_text(PIT.partition("constraints:")[0])
    written = with_probability(bare, "fall", of="(4, 1)", at_most=0.1)
    assert solve(written).upper_bound == pytest.approx(told.upper_bound)
    # Two marks on every state, and the place is still the place.
    both = with_probability(by_place, "under", of="(4, 2)", at_most=0.3)
    message = solve(both).message
    assert "with the probability of (4, 2) at most 30% no plan has a probability of pit below 70%" in message
    alone = with_probability(bare, "leave", of="window", at_most=0.5)
    assert (
        "the probability of window: the least achievable one is 100%, above the bound 50%"
        in solve(alone).message
    )


@pytest.mark.parametrize("again", [False, True])
def test_a_file_says_the_same_in_the_same_words(again: bool) -> None:
    problem = flights(0.2, again)
    loaded = load_text(dump_problem(problem))
    assert loaded == problem
    assert loaded.constraints[0].probability_of == "lost"
    assert str(loaded).splitlines()[-1] == "constraint crash: probability of lost <= 20%"


@pytest.mark.parametrize(
    ("name", "of", "at_most", "told"),
    [
        ("p", "door-locked", 1.5, "at most 1.5; give a number from 0 to 1, or inf for none"),
        ("p", "door-locked", -0.1, "at most -0.1; give a number from 0 to 1"),
        ("damage", "door-locked", 0.5, "there is a constraint of that name; give it another"),
        ("time", "door-locked", 0.5, "activity 'go-to-door' has a cost of that name; give it another"),
        ("p", "start", 0.5, "the procedure begins there, so it has always happened"),
        (
            "p",
            {"go-to-door": (0, 2)},
            0.5,
            "activity 'go-to-door' may begin in (0, 2), to which no step leads",
        ),
    ],
)
def test_what_cannot_be_bounded_is_told(name: str, of: str, at_most: float, told: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        with_probability(small_building(), name, of=of, at_most=at_most)
    assert told in str(raised.value)


def test_what_there_is_not_is_told() -> None:
    with pytest.raises(UnknownName, match="no event or state 'door-loked'; did you mean 'door-locked'"):
        with_probability(small_building(), "p", of="door-loked")
    with pytest.raises(UnknownName, match="no activity 'go-to-dor'"):
        with_probability(small_building(), "p", of={"go-to-dor": "x"})
    with pytest.raises(UnknownName, match=r"no state of 'go-to-door' '\(9, 9\)'"):
        with_probability(small_building(), "p", of={"go-to-door": (9, 9)})


@pytest.mark.parametrize("seed", some(range(12), 12))
def test_a_bound_of_everything_changes_no_optimum(seed: int) -> None:
    problem = random_procedure(seed, num_constraints=1, cycles=True, several_exits=seed % 2 == 1)
    best = brute_force(problem).optimum(problem.bounds)
    for at, name in enumerate(problem.events):
        if at in (problem.start, problem.end):
            continue
        try:
            bounded = with_probability(problem, "p", of=name, at_most=1.0)
        except InvalidProblem:
            continue
        plan = solve(bounded)
        assert plan.found == (best is not None)
        if best is not None:
            assert plan.upper_bound == pytest.approx(best[0], rel=1e-9)
            assert plan.lower_bound == pytest.approx(best[0], rel=2e-6)


def remembering(problem: HCSSP, names: list[str], marked: list[bool]) -> CSSP:
    """The flat problem without bounds on probabilities, beside which of the marked events have happened.

    It has a cost for each of the events: 1 for entering it, if marked only for the first time. This is a
    second construction: the package marks activities one by one and never sees the flat problem.
    """
    flat = problem.flattening.cssp
    targets = [events_of(problem, name) for name in names]
    marks = list(product(*([False, True] if each else [False] for each in marked)))
    states = list(product(range(flat.num_states), marks))
    place = {state: index for index, state in enumerate(states)}
    rows, costs, row_start = [], [], [0]
    for state, before in states:
        for row in range(flat.row_start[state], flat.row_start[state + 1]):
            chances, paid = np.zeros(len(states)), np.zeros(len(names))
            for reached, chance in enumerate(flat.transitions[[row]].toarray()[0]):
                entered = [reached in each for each in targets]
                after = tuple(b or (e and m) for b, e, m in zip(before, entered, marked, strict=True))
                chances[place[reached, after]] += chance
                paid += chance * np.array([e and not b for b, e in zip(before, entered, strict=True)])
            rows.append(chances)
            costs.append([*flat.costs[:, row], *paid])
        row_start.append(len(rows))
    return CSSP(
        transitions=csr_array(np.array(rows)),
        row_start=np.array(row_start),
        costs=np.array(costs).T,
        initial=np.array([0.0 if any(before) else flat.initial[state] for state, before in states]),
        goals=np.array([flat.goals[state] for state, _ in states]),
        cost_names=(*flat.cost_names, *(f"p{number}" for number in range(len(names)))),
        bounds=np.full(problem.num_constraints + len(names), np.inf),
        state_labels=[str(state) for state in states],
        action_labels=[str(row) for row in range(len(rows))],
    )


def carries_mark(problem: HCSSP, name: str) -> bool:
    return any(str(label).endswith(f"after {name}") for label in problem.activities[0].cssp.state_labels)


def returning_procedure(seed: int) -> HCSSP:
    """Two events before the end to which runs return, by exits that may lead to one event or to several."""
    rng = np.random.default_rng(seed)
    plan, legs = ProcedureBuilder(), []
    events = [plan.add_event(name) for name in ("start", "first", "second", "end")]
    for event in events[:-1]:
        for choice in range(int(rng.integers(1, 3))):
            outcomes = []
            for chance in ([1.0], [0.5, 0.5])[int(rng.integers(0, 2))]:
                reached = [events[int(rng.integers(1, 4))] for _ in range(3)]
                if rng.random() < 0.3:
                    outcomes.append(Outcome(chance, reached[0]))
                    continue
                leg = CSSPBuilder(cost_names=("time", "damage"))
                here, there = leg.add_state("here"), leg.add_state("there")
                ends = [leg.add_goal(label) for label in ("left", "right")]
                leg.set_initial(here)
                for state, most in ((here, 2), (there, 1)):
                    for action in range(int(rng.integers(1, most + 1))):
                        to = (
                            {ends[0]: 0.5, ends[1]: 0.5}
                            if state == there
                            else {ends[action]: 0.75, there: 0.25}
                        )
                        leg.add_action(state, str(action), to=to, costs=rng.integers(1, 9, 2).tolist())
                entries = {"left": "here", "right": "there"}
                name = f"leg {int(event)} {choice} {len(outcomes)}"
                runs = plan.add_activity(name, leg.build(), entries=entries)
                legs.append(runs)
                exits = {"right": reached[1]} if rng.random() < 0.6 else {}
                outcomes.append(Outcome(chance, reached[0], runs=runs, exits=exits))
            plan.add_choice(event, str(choice), to=outcomes)
    plan.add_constraint("damage", at_most=float(rng.integers(5, 30)), counts=dict.fromkeys(legs, "damage"))
    return plan.build(start=events[0], end=events[-1])


@pytest.mark.parametrize("seed", some(range(400), 40))
def test_plans_remember_what_has_happened_and_nothing_else(seed: int) -> None:
    try:
        problem = returning_procedure(seed)
    except InvalidProblem:
        # Random events may never be reached, or the end cannot be.
        return
    for names in (["first"], ["second"], ["first", "second"]):
        bounded, marked = problem, []
        try:
            for number, name in enumerate(names):
                bounded = with_probability(bounded, f"p{number}", of=name, at_most=1.0 - 1e-12)
                marked.append(carries_mark(bounded, name))
        except InvalidProblem:
            continue
        if not any(marked) or combinations(bounded) > MOST_COMBINATIONS:
            continue
        expected = brute_force_flat(remembering(problem, names, marked))
        found = brute_force(bounded)
        # As many policies, at the same costs: nothing else can be remembered, and nothing is forgotten.
        assert found.costs.shape == expected.costs.shape
        order = [np.lexsort(np.round(each.costs, 7).T) for each in (found, expected)]
        assert found.costs[order[0]] == pytest.approx(expected.costs[order[1]], rel=1e-7, abs=1e-9)
        best = expected.optimum(bounded.bounds)
        plan = solve(bounded)
        assert plan.found == (best is not None)
        if best is not None:
            assert plan.upper_bound == pytest.approx(best[0], rel=1e-9)
            assert check(bounded, plan.certificate, exact=True).lower_bound <= best[0] * (1.0 + 1e-9)
        assert load_text(dump_problem(bounded)) == bounded
