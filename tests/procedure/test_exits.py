"""Exits that lead to events of their own: what an outcome says, what is built, done and told of it."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.errors import InvalidProblem
from hcssp.evaluation import evaluate, simulate
from hcssp.execution import Run
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.reports.procedure_graph import procedure_graph
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from small_procedures import corridor, drone, flight, fork
from volume import some

LOW_THEN_HIGH = ({(0, None): 0, (1, None): 1, (2, None): 2}, ([0, -1, -1], [1, -1, -1], [0, -1, -1]))


def low_then_high() -> ProcedurePolicy:
    choices, rows = LOW_THEN_HIGH
    return ProcedurePolicy.compose(drone(), choices, [np.array(each) for each in rows])


def test_an_outcome_tells_the_event_behind_each_exit() -> None:
    outcome = Outcome(1.0, 4, runs=0, exits={"left": 5})
    assert (outcome.event_after("left"), outcome.event_after("right")) == (5, 4)
    assert outcome.events == (4, 5)
    assert outcome.exits_to(5) == ("left",)
    assert Outcome(1.0, 4).exits_to(4) is None
    assert outcome == Outcome(1.0, 4, runs=0, exits={"left": 5}) != Outcome(1.0, 4, runs=0)
    assert hash(outcome) == hash(pickle.loads(pickle.dumps(outcome)))


def test_a_problem_names_every_exit_or_none() -> None:
    first, second, walk = drone().activity_outcome
    assert first.exits == {"waypoint": 1, "crashed": 2}
    assert (second.event, second.exits) == (3, {"waypoint": 3, "crashed": 2})
    assert (walk.event, walk.exits) == (3, {})


def one_leg(outcome: Outcome) -> HCSSP:
    plan = ProcedureBuilder()
    start, lost, end = (plan.add_event(name) for name in ("start", "lost", "end"))
    plan.add_activity("leg", flight())
    plan.add_choice(start, "fly", to=[outcome])
    plan.add_choice(start, "get lost", to=[Outcome(1.0, lost)])
    plan.add_choice(lost, "wait", to=[Outcome(1.0, end)])
    return plan.build(start=start, end=end)


def test_problems_that_say_the_same_are_equal() -> None:
    said = [
        one_leg(Outcome(1.0, 2, runs=0, exits={"crashed": 1})),
        one_leg(Outcome(1.0, 1, runs=0, exits={"waypoint": 2})),
        one_leg(Outcome(1.0, 0, runs=0, exits={"crashed": 1, "waypoint": 2})),
    ]
    assert said[0] == said[1] == said[2] == pickle.loads(pickle.dumps(said[0]))
    assert said[0] != one_leg(Outcome(1.0, 2, runs=0))
    assert one_leg(Outcome(1.0, 0, runs=0, exits={"crashed": 2, "waypoint": 2})) == one_leg(
        Outcome(1.0, 2, runs=0)
    )


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (
            Outcome(1.0, 2, runs=0, exits={"sunk": 1}),
            "event 'start', choice 'fly': activity 'leg' has no exit 'sunk'; "
            "its exits are 'waypoint', 'crashed'",
        ),
        (Outcome(1.0, 2, runs=0, exits={"depot": 1}), "activity 'leg' has no exit 'depot'"),
        (
            Outcome(1.0, 2, runs=0, exits={"crashed": 7}),
            "event 'start', choice 'fly', exit 'crashed': there is no event 7; pass what add_event returned",
        ),
    ],
)
def test_a_wrong_exit_is_told(outcome: Outcome, message: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        one_leg(outcome)
    assert message in str(raised.value)


def test_only_activities_have_exits() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    plan.add_choice(start, "go", to=[Outcome(1.0, end, exits={"left": end})])
    with pytest.raises(InvalidProblem, match="runs no activity has no exits, but names 'left'"):
        plan.build(start=start, end=end)


def test_an_event_that_only_an_exit_leads_to_must_lead_on() -> None:
    plan = ProcedureBuilder()
    start, pit, end = (plan.add_event(name) for name in ("start", "pit", "end"))
    leg = plan.add_activity("leg", flight())
    plan.add_choice(start, "fly", to=[Outcome(1.0, end, runs=leg, exits={"crashed": pit})])
    plan.add_choice(pit, "stay", to=[Outcome(1.0, pit)])
    with pytest.raises(InvalidProblem, match="event 'pit': from here the end 'end' is not reached") as raised:
        plan.build(start=start, end=end)
    # The flight can avoid it, so that nothing is wrong with the start.
    assert len(raised.value.violations) == 1


def test_an_exit_alone_hands_nothing_over_and_several_their_labels() -> None:
    problem = drone()
    assert problem.flattening.event_states == ((0, None), (1, None), (2, None), (3, None))
    assert not problem.flattening.separable
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    three = replace(
        fork(("left", "right")),
        transitions=[[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.25, 0.75]],
        row_start=[0, 2, 2, 2, 2],
        initial=[1.0, 0.0, 0.0, 0.0],
        goals=[False, True, True, True],
        state_labels=("fork", "left", "right", "roof"),
    )
    choose, walk = plan.add_activity("choose", three), plan.add_activity("walk", corridor())
    plan.add_choice(start, "choose", to=[Outcome(1.0, hall, runs=choose, exits={"roof": out})])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    flattening = plan.build(start=start, end=out).flattening
    assert flattening.event_states == ((0, None), (1, "left"), (1, "right"), (2, None))
    assert flattening.flat_state(0).tolist() == [4, 1, 2, 3]


def test_a_plan_costs_what_its_ways_cost() -> None:
    answer = evaluate(drone(), low_then_high())
    assert answer.cost("time") == pytest.approx(10 + 0.9 * 16 + 0.1 * 10, rel=1e-12)
    assert answer.cost("crash") == pytest.approx(0.1, rel=1e-12)
    assert [each.expected_executions for each in answer.activities] == pytest.approx([1.0, 0.9, 0.1])


def test_a_simulation_follows_the_exits() -> None:
    told = simulate(drone(), low_then_high(), runs=4000, seed=1)
    assert told.executions[:, 0].tolist() == [1] * 4000
    assert (told.executions[:, 1] + told.executions[:, 2]).tolist() == [1] * 4000
    assert told.executions[:, 2].mean() == pytest.approx(0.1, abs=0.02)


def test_a_run_goes_where_the_exit_leads() -> None:
    for seen, event in (("waypoint", "on the way"), ("crashed", "lost")):
        run = Run(low_then_high())
        run.step()
        run.step("first leg")
        assert run.step(seen).event == event


def test_a_choice_may_be_told_by_any_event_behind_it() -> None:
    for told in ("on the way", "lost"):
        run = Run(low_then_high())
        run.step()
        assert run.step(told).activity == "first leg"


def test_the_text_has_a_line_for_each_exit() -> None:
    assert str(drone()).splitlines()[1:8] == [
        "depot",
        "  choose fly",
        "    run first leg (3 states)",
        "      from waypoint: reach on the way",
        "        choose fly",
        "          run second leg (3 states)",
        "            from waypoint: reach home, the end",
    ]


def test_the_picture_has_a_way_from_each_exit() -> None:
    nodes, ways = procedure_graph(drone())
    found = {
        (nodes[way.tail].label, nodes[way.head].label, way.label)
        for way in ways
        if nodes[way.tail].kind == "activity"
    }
    assert found == {
        ("first leg", "on the way", "waypoint"),
        ("first leg", "lost", "crashed"),
        ("second leg", "home", "waypoint"),
        ("second leg", "lost", "crashed"),
        ("walk home", "home", ""),
    }


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_the_best_plan_is_that_of_brute_force(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 1, several_exits=True, exits_part=True)
    best = brute_force(problem).optimum(problem.bounds)
    plan = solve(problem)
    if best is None:
        assert plan.status == "infeasible"
    else:
        assert plan.upper_bound == pytest.approx(best[0], rel=1e-7)
        assert plan.lower_bound == pytest.approx(best[0], rel=1e-5)


def test_exits_part_in_random_procedures() -> None:
    problems = [random_procedure(seed, several_exits=True, exits_part=True) for seed in range(12)]
    parted = [any(len(each.events) > 1 for each in problem.activity_outcome) for problem in problems]
    assert sum(parted) >= 4
