"""What an activity has used is missing in the next one, however they are tied together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest

from hcssp import CSSPBuilder, LinearProgram, dump_problem, explore, solve
from hcssp.cssp.levels import Capacity
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.capacities import capacity_model, rest_with_capacities, with_capacities
from hcssp.procedure.rest import Position, rest_of
from random_procedures import random_procedure
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
