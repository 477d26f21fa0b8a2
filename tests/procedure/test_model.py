from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from brute_force import brute_force
from hcssp.cssp import CSSP, DeterministicPolicy
from hcssp.cssp.grid import GridWorld
from hcssp.errors import InvalidProblem, MissingDependency, UnknownName
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import (
    HCSSP,
    Activity,
    Choice,
    Constraint,
    Outcome,
    ProcedurePolicy,
)
from hcssp.scenarios import evacuation, small_building
from known_optima import start_in_goal, trap, two_starts
from random_problems import cssps
from small_procedures import drone, retrying, risky_room
from volume import examples


def test_choices_are_sorted_by_event_however_they_were_added() -> None:
    problem = retrying()
    assert [choice.name for choice in problem.choices] == ["cross", "leave"]
    assert problem.choice_start.tolist() == [0, 1, 2, 2]
    assert list(problem.choices_at(1)) == [1]
    assert list(problem.choices_at(2)) == []


def test_every_activity_knows_its_outcome() -> None:
    problem = retrying()
    assert problem.activity_choice.tolist() == [0, 1]
    assert [outcome.event for outcome in problem.activity_outcome] == [1, 2]
    assert [outcome.runs for outcome in problem.activity_outcome] == [0, 1]


def test_names_lead_to_indices() -> None:
    problem = retrying()
    assert problem.event_index("hall") == 1
    assert problem.activity_index("leave") == 1
    with pytest.raises(UnknownName) as caught:
        problem.event_index("hal")
    assert str(caught.value) == "there is no event 'hal'; did you mean 'hall'? available: hall, out, start"
    with pytest.raises(UnknownName, match=r"^there is no activity 'exit'; available: cross, leave$"):
        problem.activity_index("exit")


def test_other_bounds_leave_everything_else_as_it_was() -> None:
    problem = retrying()
    changed = problem.with_bounds({"damage-at-last": 3}, damage=-1.0)
    assert changed.bounds.tolist() == [-1.0, 3.0]
    assert problem.bounds.tolist() == [2.0, inf]
    assert changed.activities is problem.activities
    assert problem.with_bounds(damage=inf).bounds.tolist() == [inf, inf]


def test_wrong_bounds_are_reported_together() -> None:
    with pytest.raises(InvalidProblem) as caught:
        retrying().with_bounds({"damge": 1.0, "damage": nan, "damage-at-last": -inf})
    assert caught.value.violations == (
        "bound on 'damge': no such constraint; the constraints are 'damage', 'damage-at-last'",
        "bound on 'damage': nan is not an upper bound; give a finite number, or inf for none",
        "bound on 'damage-at-last': -inf is not an upper bound; give a finite number, or inf for none",
    )


def parts(problem: HCSSP) -> dict[str, Any]:
    return {each.name: getattr(problem, each.name) for each in fields(problem)}


def test_other_bounds_are_cheap_and_the_same_as_built_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = retrying()
    built = replace(problem, constraints=(replace(problem.constraints[0], at_most=5), problem.constraints[1]))
    # Nothing but a bound changes, so there is nothing to check again.
    monkeypatch.setattr("hcssp.procedure.validation.violations", lambda problem: ["checked again"])
    changed = problem.with_bounds(damage=5.0)
    assert changed == built
    assert hash(changed) == hash(built)
    assert changed != problem
    assert changed.with_bounds(damage=2.0) == problem
    assert changed.flattening.cssp.bounds.tolist() == [5.0, inf]
    assert problem.flattening.cssp.bounds.tolist() == [2.0, inf]
    with pytest.raises(InvalidProblem, match="checked again"):
        replace(problem)


def test_making_one_checks_every_rule_and_sorts_the_choices() -> None:
    given = parts(retrying())
    problem = HCSSP(**given | {"choices": list(given["choices"][::-1]), "events": list(given["events"])})
    assert problem == retrying()
    assert [choice.event for choice in problem.choices] == [0, 1]
    assert problem.choice_start.tolist() == [0, 1, 2, 2]
    with pytest.raises(InvalidProblem) as caught:
        HCSSP(**given | {"start": 7, "choices": given["choices"][:1]})
    assert caught.value.violations == (
        "start: there is no event 7; pass what add_event returned",
        "event 'hall': there is nothing to choose and it is not the end; add a choice",
        "activity 'leave': no outcome runs it; let one run it, or leave it out",
    )


def test_the_choices_at_one_event_stay_in_their_order() -> None:
    names = ["z", "a", "m"]
    choices = [Choice(0, name, [Outcome(1.0, 1)]) for name in names]
    problem = HCSSP(("start", "out"), 0, 1, (), choices, ())
    assert [choice.name for choice in problem.choices] == names
    assert hash(problem) == hash(HCSSP(("start", "out"), 0, 1, (), choices, ()))


def slower() -> Activity:
    room = risky_room()
    return Activity("leave", replace(room, costs=room.costs + np.array([[1.0], [0.0]])))


DIFFERENT = {
    "an event's name": lambda one: replace(one, events=("start", "corridor", "out")),
    "a choice's name": lambda one: replace(one, choices=(replace(one.choices[0], name="go"), one.choices[1])),
    "a probability": lambda one: replace(
        one,
        choices=(one.choices[0], Choice(1, "leave", (Outcome(0.7, 2, runs=1), Outcome(0.3, 0)))),
    ),
    "an activity's name": lambda one: replace(
        one, activities=(one.activities[0], replace(one.activities[1], name="exit"))
    ),
    "an activity's costs": lambda one: replace(one, activities=(one.activities[0], slower())),
    "a bound": lambda one: one.with_bounds(damage=3.0),
    "what is counted": lambda one: replace(
        one, constraints=(replace(one.constraints[0], counts={0: 1}), one.constraints[1])
    ),
    "a constraint less": lambda one: replace(one, constraints=one.constraints[:1]),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_problems_that_differ_are_not_equal(what: str) -> None:
    assert DIFFERENT[what](retrying()) != retrying()


COPIES = {
    "built again": lambda problem: retrying(),
    "pickled": lambda problem: pickle.loads(pickle.dumps(problem)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "named": lambda problem: problem.named("a house", "with a fire", {"cross": (0, 0)}, {"leave": "hall"}),
}


@pytest.mark.parametrize("how", COPIES)
def test_problems_that_say_the_same_are_equal(how: str) -> None:
    problem = retrying()
    _ = problem.flattening.cssp, problem.choice_start
    other = COPIES[how](problem)
    assert other == problem
    assert hash(other) == hash(problem)
    assert {problem: 1}[other] == 1
    for activity in other.activities:
        assert not activity.cssp.costs.flags.writeable
        assert not activity.cssp.transitions.data.flags.writeable
    assert other.flattening.cssp == problem.flattening.cssp


def test_what_was_computed_is_not_sent_along() -> None:
    problem = retrying()
    _ = problem.flattening.cssp
    assert problem.flattening is problem.flattening
    assert "flattening" not in pickle.loads(pickle.dumps(problem)).__dict__


def test_counts_and_places_cannot_be_changed() -> None:
    counts = {0: 1}
    constraint = Constraint("damage", 2.0, counts)
    counts[1] = 1
    assert constraint.counts == {0: 1}
    for problem in (retrying(), pickle.loads(pickle.dumps(retrying())), copy.deepcopy(retrying())):
        with pytest.raises(TypeError, match="does not support item assignment"):
            problem.constraints[0].counts[0] = 2
        with pytest.raises(TypeError, match="does not support item assignment"):
            problem.positions["hall"] = (1, 1)
        for array in (problem.bounds, problem.choice_start, problem.activity_choice):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        with pytest.raises(FrozenInstanceError):
            problem.start = 1


def test_the_same_problem_under_a_name() -> None:
    problem = retrying()
    named = problem.named("a house", "with a fire", positions={"hall": (1, 2)}, rooms={"cross": "hall"})
    assert (named.name, named.description) == ("a house", "with a fire")
    assert named.positions == {"hall": (1, 2)}
    # An activity that is not mentioned has a room of its own.
    assert [activity.room for activity in named.activities] == ["hall", "leave"]
    again = named.named("another")
    assert (again.name, again.description) == ("another", "")
    assert again.positions == {"hall": (1, 2)}
    assert [activity.room for activity in again.activities] == ["hall", "leave"]
    assert (problem.name, problem.positions) == ("", {})
    assert [activity.room for activity in problem.activities] == ["cross", "leave"]


def test_a_name_survives_other_bounds_and_pickling() -> None:
    named = retrying().named("a house", positions={"cross": (1, 2)})
    for other in (named.with_bounds(damage=1.0), pickle.loads(pickle.dumps(named))):
        assert (other.name, other.positions) == ("a house", {"cross": (1, 2)})


def test_the_world_of_an_activity_is_that_of_its_problem() -> None:
    assert retrying().world(0) is None
    building = small_building()
    assert building.world(1) is building.activities[1].cssp.world
    assert isinstance(building.world(1), GridWorld)


def test_the_primary_cost_has_the_name_the_activities_agree_on() -> None:
    assert retrying().primary_name == "time"


def test_a_procedure_is_one_already() -> None:
    problem = retrying()
    assert problem.procedure is problem


def test_the_procedure_runs_the_problem_once_under_its_own_bounds() -> None:
    problem = risky_room().with_bounds(damage=2.0)
    procedure = problem.procedure
    assert str(procedure) == (
        "procedure: 2 events, 1 activity, 1 constraint; minimise time\n"
        "start\n"
        "  choose begin\n"
        "    run problem (2 states), reach end, the end\n"
        "constraint damage <= 2: counts damage of problem"
    )
    assert procedure.activities[0].cssp is problem
    assert (procedure.primary_name, procedure.constraint_names) == ("time", ("damage",))
    assert procedure.bounds.tolist() == [2.0]
    assert procedure == risky_room().with_bounds(damage=2.0).procedure
    assert procedure != risky_room().procedure


def test_it_is_called_as_the_problem_is() -> None:
    named = risky_room().derive(name="a room", description="with a fire").procedure
    assert (named.name, named.description) == ("a room", "with a fire")
    assert named.activities[0].name == "a room"
    assert risky_room().procedure.name == "problem"


def test_costs_without_a_bound_are_constraints_without_one() -> None:
    procedure = risky_room().procedure
    assert procedure.bounds.tolist() == [inf]
    assert (
        CSSP([[0.0, 1.0]], [0, 1, 1], [[1.0]], [1.0, 0.0], [False, True], "time", ()).procedure.bounds.size
        == 0
    )


@settings(max_examples=examples(40))
@given(cssps())
def test_every_policy_costs_the_same_in_either_form(problem: CSSP) -> None:
    truth = brute_force(problem)
    procedure = problem.procedure
    for rows, costs in list(zip(truth.policies, truth.costs, strict=True))[:10]:
        single = DeterministicPolicy(problem, rows)
        whole = single.procedure
        assert isinstance(whole, ProcedurePolicy)
        assert whole.activity(0).under(problem) == single
        answer = evaluate(procedure, whole)
        np.testing.assert_allclose(answer.costs, costs, rtol=1e-9, atol=1e-12)
        assert answer.cost_names == problem.cost_names
        assert answer.activities[0].expected_executions == 1.0
        assert answer.violations().keys() == evaluate(problem, single).violations().keys()


def test_a_procedures_policy_is_one_already() -> None:
    policy = DeterministicPolicy(risky_room(), [0, -1]).procedure
    assert policy.procedure is policy


@pytest.mark.parametrize(
    ("problem", "rows", "expected"),
    [
        # A quarter of the time it begins outside, where all is over.
        (two_starts(2.5), [1, 2, -1], [0.25 * 2.0 + 0.5 * 6.0, 0.25 * 4.0]),
        (start_in_goal(0.0), [-1, -1], [0.0, 0.0]),
        # Two goals, and a state that is never entered.
        (trap(1.0), [2, -1, -1, -1], [7.0, 0.0]),
    ],
)
def test_starts_and_goals_may_be_several(problem: CSSP, rows: list[int], expected: list[float]) -> None:
    procedure = problem.procedure
    assert procedure.flattening.separable
    policy = DeterministicPolicy(problem, rows).procedure
    assert evaluate(procedure, policy).costs == pytest.approx(expected)


nx = pytest.importorskip("networkx")


def test_every_outcome_is_an_edge() -> None:
    problem = evacuation()
    graph = problem.to_networkx()
    assert isinstance(graph, nx.MultiDiGraph)
    assert list(graph) == list(problem.events)
    assert (graph.name, graph.graph["start"], graph.graph["end"]) == ("evacuation", "start", "exit")
    outcomes = [
        (
            problem.events[choice.event],
            problem.events[outcome.event],
            choice.name,
            number,
            outcome.probability,
            None if outcome.runs is None else problem.activities[outcome.runs].name,
        )
        for choice in problem.choices
        for number, outcome in enumerate(choice.outcomes)
    ]
    edges = [(tail, head, *list(data.values())[:-1]) for tail, head, data in graph.edges(data=True)]
    assert sorted(edges, key=str) == sorted(outcomes, key=str)
    assert next(iter(graph.edges(data=True)))[2].keys() == {
        "choice",
        "outcome",
        "probability",
        "activity",
        "exits",
    }
    assert {exits for *_, exits in graph.edges(data="exits")} == {None}


def test_every_event_behind_an_exit_has_an_edge() -> None:
    graph = drone().to_networkx()
    exits = {(tail, head): exits for tail, head, exits in graph.edges(data="exits")}
    assert exits == {
        ("depot", "on the way"): ("waypoint",),
        ("depot", "lost"): ("crashed",),
        ("on the way", "home"): ("waypoint",),
        ("on the way", "lost"): ("crashed",),
        ("lost", "home"): None,
    }


def test_the_graph_can_be_searched() -> None:
    graph = evacuation().to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.has_path(graph, "start", "exit")
    at_door = graph.out_edges("at-door-1", data="probability")
    assert sum(chance for _, _, chance in at_door) == pytest.approx(1.0)


def test_without_networkx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependency, match=r"networkx.*pip install 'hcssp\[notebook\]'"):
        evacuation().to_networkx()
