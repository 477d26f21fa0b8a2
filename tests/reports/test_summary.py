from __future__ import annotations

from dataclasses import replace

import pytest

from hcssp.contract.stop import Gap
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.reports.summary import activity_summaries, choice_summaries, constraint_summaries
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from small_procedures import forking, retrying


def test_a_budget_is_what_the_method_allots_or_else_the_usage() -> None:
    problem = small_building(2.0)
    result = solve(problem, PolicyBranching(), [Gap(1e-6)])
    without = {each.name: each for each in activity_summaries(problem, result)}
    assert all(each.budget == each.usage for each in without.values())
    allotted = replace(result, details={"return-to-E": {"damage": 5.0}})
    summaries = {each.name: each for each in activity_summaries(problem, allotted)}
    assert summaries["return-to-E"].budget == {"damage": 5.0}
    assert summaries["go-to-door"].budget == without["go-to-door"].usage


def test_an_activity_tells_only_of_the_constraints_that_count_it() -> None:
    problem = retrying()
    result = solve(problem, PolicyBranching(), [Gap(1e-6)])
    cross, leave = activity_summaries(problem, result)
    assert set(cross.usage) == {"damage"}
    assert set(leave.usage) == {"damage", "damage-at-last"}
    assert cross.expected_executions == pytest.approx(1.25)


def test_a_choice_that_depends_on_the_entry_says_so() -> None:
    problem = forking()
    result = solve(problem, PolicyBranching(), [Gap(1e-6)])
    events = [choice.event for choice in choice_summaries(problem, result)]
    assert events[0] == "start"
    assert all(event.startswith("hall (entered in ") for event in events[1:])
    assert len(events) > 1


def test_nothing_is_claimed_without_a_plan() -> None:
    problem = small_building(2.0)
    (constraint,) = constraint_summaries(problem, Result())
    assert (constraint.expected, constraint.at_most, constraint.price) == (None, 2.0, None)
    assert {each.cost for each in activity_summaries(problem, Result())} == {None}
    assert choice_summaries(problem, Result()) == ()
