from __future__ import annotations

import pickle
from math import inf, nan

import numpy as np
import pytest

from hcssp.errors import InvalidProblem
from small_procedures import retrying


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
    with pytest.raises(InvalidProblem, match=r"event 'hal': .* there are 'start', 'hall', 'out'"):
        problem.event_index("hal")
    with pytest.raises(InvalidProblem, match=r"activity 'exit': .* there are 'cross', 'leave'"):
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
        "bound on 'damage': nan is no upper bound; give a finite number, or inf for none",
        "bound on 'damage-at-last': -inf is no upper bound; give a finite number, or inf for none",
    )


def test_a_problem_can_be_sent_to_another_process() -> None:
    problem = retrying()
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.events == problem.events
    assert np.array_equal(copy.activities[0].cssp.costs, problem.activities[0].cssp.costs)


def test_the_primary_cost_has_the_name_the_activities_agree_on() -> None:
    assert retrying().primary_name == "time"
