"""What a plan does inside a table: told, with how often, and cut where it is long."""

from __future__ import annotations

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.reports.plan_text import (
    MOST_STATES,
    decision_summaries,
    listed_briefly,
    plan_document,
    plan_in_words,
)
from hcssp.solving.solve import solve
from solved_building import solved_building


def lift() -> CSSP:
    """Wait for a lift, which comes every other minute, or take the stairs."""
    way = CSSPBuilder(cost_names=("minutes", "smoke"))
    called, inside, below = way.add_state("called"), way.add_state("inside"), way.add_goal("below")
    way.add_action(called, "wait", to={inside: 0.5, called: 0.5}, costs={"minutes": 1})
    way.add_action(called, "take the stairs", to=below, costs={"minutes": 4, "smoke": 2})
    way.add_action(inside, "ride", to=below, costs={"minutes": 1})
    way.set_initial(called)
    return way.build()


def corridor(length: int) -> CSSP:
    way = CSSPBuilder(cost_names=("minutes", "smoke"))
    states = [way.add_state(f"door {number}") for number in range(length)]
    states.append(way.add_goal("out"))
    for number in range(length):
        way.add_action(states[number], "walk", to=states[number + 1], costs={"minutes": 1})
        way.add_action(states[number], "crawl", to=states[number + 1], costs={"minutes": 2})
    way.set_initial(states[0])
    return way.build()


def with_activities(*parts: CSSP) -> HCSSP:
    procedure = ProcedureBuilder("way out")
    events = [procedure.add_event(f"event {number}") for number in range(len(parts) + 1)]
    runs = [procedure.add_activity(f"part {number}", part) for number, part in enumerate(parts)]
    for number, activity in enumerate(runs):
        outcome = Outcome(1.0, events[number + 1], runs=activity)
        procedure.add_choice(events[number], "go", to=[outcome])
    procedure.add_constraint("smoke", at_most=1, counts=dict.fromkeys(runs, "smoke"))
    return procedure.build(start=events[0], end=events[-1])


def test_a_table_tells_what_is_done_and_how_often() -> None:
    plan = solve(with_activities(lift()))
    wait, ride = decision_summaries(plan.as_procedure(), 0)
    assert (wait.state, wait.action, wait.rejected) == ("called", "wait", ("take the stairs",))
    assert abs(wait.visits - 2.0) < 1e-9
    assert (ride.state, ride.action, ride.rejected) == ("inside", "ride", ())
    assert "    in called  wait (rather than take the stairs), visited 2 times" in plan_in_words(plan)
    told = plan_document(plan)["activities"]["part 0"]["decisions"]
    assert [each["action"] for each in told] == ["wait", "ride"]


def test_where_there_is_nothing_to_decide_nothing_is_told() -> None:
    plan = solved_building()
    assert "Decisions" not in plan_in_words(plan)
    assert all(not decision_summaries(plan.as_procedure(), index) for index in range(5))


def test_many_decisions_are_cut_with_a_hint() -> None:
    plan = solve(with_activities(corridor(30), lift()))
    words = plan_in_words(plan)
    assert words.count("(rather than crawl), visited once") == MOST_STATES
    assert f"and {30 - MOST_STATES} more decisions; --json and plan.to_frame() list them" in words
    assert len(plan_document(plan)["activities"]["part 0"]["decisions"]) == 30


def test_many_activities_are_cut_too() -> None:
    words = plan_in_words(solve(with_activities(*(lift() for _ in range(30)))))
    assert words.count("take the stairs") == 20
    assert "and 10 more decisions" in words


def test_many_alternatives_are_counted() -> None:
    assert listed_briefly([str(number) for number in range(9)]) == "0, 1, 2, 3 or 5 others"
