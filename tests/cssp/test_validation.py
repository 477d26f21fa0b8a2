from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.cssp.labels import RepeatedNames, SelectedLabels, TupleLabels
from hcssp.cssp.model import CSSP
from hcssp.cssp.validation import MOST_OF_A_KIND, bound_array, validated, violations
from hcssp.errors import InvalidProblem


def corridor() -> CSSP:
    """Two steps to the goal; the first may be taken in two ways."""
    return CSSP(
        transitions=csr_array(np.array([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])),
        row_start=np.array([0, 2, 3, 3]),
        costs=np.array([[2.0, 1.0, 1.0], [0.0, 1.0, 0.0]]),
        initial=np.array([1.0, 0.0, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([1.0]),
        state_labels=("here", "there", "out"),
        action_labels=("walk", "run", "walk"),
    )


def spoilt(**changes: Any) -> CSSP:
    """The corridor with attributes that nobody has checked yet."""
    return corridor().derive(**changes)


def changed(array: np.ndarray, position: int | tuple[int, int], value: float) -> np.ndarray:
    copy = array.copy()
    copy[position] = value
    return copy


def with_probability(entry: int, value: float) -> CSSP:
    transitions = corridor().transitions.copy()
    transitions.data[entry] = value
    return spoilt(transitions=transitions)


def test_a_valid_problem_comes_back_itself() -> None:
    problem = corridor()
    assert violations(problem) == []
    assert validated(problem) is problem


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (with_probability(0, 0.95), ["state 'here', action 'walk': probabilities sum to 0.95, not 1"]),
        (
            with_probability(0, 1.0 + 1e-8),
            ["state 'here', action 'walk': probabilities sum to 1.00000001, not 1"],
        ),
        (
            with_probability(1, np.nan),
            [
                "state 'here', action 'run': the probability of reaching state 'here' is nan; "
                "probabilities must be finite and not negative"
            ],
        ),
        (
            with_probability(2, -0.5),
            [
                "state 'here', action 'run': the probability of reaching state 'there' is -0.5; "
                "probabilities must be finite and not negative",
                "state 'here', action 'run': probabilities sum to 0, not 1",
            ],
        ),
        (
            spoilt(transitions=csr_array((3, 3))),
            [
                "state 'here', action 'walk': it leads nowhere; give it at least one next state",
                "state 'here', action 'run': it leads nowhere; give it at least one next state",
                "state 'there', action 'walk': it leads nowhere; give it at least one next state",
            ],
        ),
        (
            spoilt(costs=changed(corridor().costs, (1, 1), -3.0)),
            ["state 'here', action 'run': the cost 'damage' is -3.0; costs must be finite and not negative"],
        ),
        (
            spoilt(costs=changed(corridor().costs, (0, 2), np.nan)),
            ["state 'there', action 'walk': the cost 'time' is nan; costs must be finite and not negative"],
        ),
        (
            spoilt(costs=changed(corridor().costs, (0, 0), np.inf)),
            ["state 'here', action 'walk': the cost 'time' is inf; costs must be finite and not negative"],
        ),
        (
            spoilt(initial=np.array([0.5, 0.25, 0.0])),
            ["the initial probabilities sum to 0.75, not 1"],
        ),
        (spoilt(initial=np.zeros(3)), ["there is no initial state; set one"]),
        (
            spoilt(initial=np.array([1.5, -0.5, 0.0])),
            ["state 'there': its initial probability is -0.5; probabilities must be finite and not negative"],
        ),
        (
            spoilt(goals=np.zeros(3, dtype=bool)),
            ["there is no goal; mark at least one state as a goal"],
        ),
        (
            spoilt(goals=np.array([True, False, True])),
            [
                "state 'here', action 'walk': the state is a goal, which ends everything; remove the action",
                "state 'here', action 'run': the state is a goal, which ends everything; remove the action",
            ],
        ),
        (
            spoilt(action_labels=("walk", "walk", "walk")),
            ["state 'here', action 'walk': the state has two actions of this name; give each its own"],
        ),
        (
            spoilt(action_labels=RepeatedNames(("walk", "run"), np.array([1, 1, 1]))),
            ["state 'here', action 'run': the state has two actions of this name; give each its own"],
        ),
        (
            spoilt(
                action_labels=SelectedLabels(
                    RepeatedNames(("walk", "run"), np.array([0, 1])), np.array([1, 1, 0])
                ),
            ),
            ["state 'here', action 'run': the state has two actions of this name; give each its own"],
        ),
        (
            spoilt(state_labels=("here", "here", "out")),
            ["state 'here': two states have this label; give each its own"],
        ),
        (
            spoilt(state_labels=((1, 2), (3, 4), (1, 2))),
            ["state (1, 2): two states have this label; give each its own"],
        ),
        (
            spoilt(cost_names=("time", "time")),
            ["two costs are called 'time'; give each its own name"],
        ),
        (
            spoilt(cost_names=(), costs=np.zeros((0, 3)), bounds=np.zeros(0)),
            ["there is no cost; name at least the primary cost, which is minimised"],
        ),
        (
            spoilt(bounds=np.array([np.nan])),
            ["bound on 'damage': nan is not an upper bound; give a finite number, or inf for none"],
        ),
        (
            spoilt(bounds=np.array([-np.inf])),
            ["bound on 'damage': -inf is not an upper bound; give a finite number, or inf for none"],
        ),
        (
            spoilt(initial=np.ones(2)),
            ["initial has shape (2,), but 3 states, 3 rows and 2 costs need (3,)"],
        ),
        (
            spoilt(row_start=np.array([0, 2, 1, 3])),
            ["row_start must begin with 0 and never decrease, but is [0, 2, 1, 3]"],
        ),
        (spoilt(row_start=np.array([0])), ["there is no state; add at least one, and a goal"]),
    ],
)
def test_each_rule_names_the_place_and_the_value(problem: CSSP, expected: list[str]) -> None:
    assert violations(problem) == expected
    with pytest.raises(InvalidProblem) as raised:
        validated(problem)
    assert raised.value.violations == tuple(expected)
    # Making a problem of the same attributes checks the same rules.
    with pytest.raises(InvalidProblem) as raised:
        replace(problem)
    assert raised.value.violations == tuple(expected)


def test_a_transition_to_an_unknown_state_is_named() -> None:
    transitions = corridor().transitions.copy()
    transitions.indices[0] = 7
    assert violations(spoilt(transitions=transitions)) == [
        "transitions lead to state 7, which is unknown; the states are 0 to 2"
    ]


def test_all_violations_are_reported_together() -> None:
    problem = with_probability(0, 0.9).derive(goals=np.zeros(3, dtype=bool), bounds=np.array([np.nan]))
    with pytest.raises(InvalidProblem, match=r"^3 violations:\n  - state 'here'.*\n  - there is no goal"):
        validated(problem)


def test_distinct_lazy_labels_pass() -> None:
    cells = TupleLabels(np.array([[2, 1], [1, 1], [1, 2]]))
    names = RepeatedNames(("a", "b"), np.array([1, 0, 0]))
    chosen = np.arange(3)
    for states, actions in ((cells, names), (SelectedLabels(cells, chosen), SelectedLabels(names, chosen))):
        assert violations(spoilt(state_labels=states, action_labels=actions)) == []


def test_a_flood_of_violations_is_counted() -> None:
    problem = corridor()
    rows = MOST_OF_A_KIND + 50
    flood = problem.derive(
        transitions=csr_array(np.tile([0.0, 0.0, 0.5], (rows, 1))),
        row_start=np.array([0, rows, rows, rows]),
        costs=np.ones((2, rows)),
        action_labels=range(rows),
    )
    found = violations(flood)
    assert len(found) == MOST_OF_A_KIND + 1
    assert found[-1] == "... and 50 more of this kind"


def test_bounds_by_name() -> None:
    found: list[str] = []
    names = ("time", "damage", "noise")
    assert bound_array({"noise": 2.0}, names, found).tolist() == [np.inf, 2.0]
    assert found == []
    assert bound_array({"damage": -np.inf, "noise": "little"}, names, found).tolist() == [np.inf, np.inf]
    assert found == [
        "bound on 'damage': -inf is not an upper bound; give a finite number, or inf for none",
        "bound on 'noise': little is not an upper bound; give a finite number, or inf for none",
    ]
    found.clear()
    bound_array({"time": 1.0, "wear": 1.0}, names, found)
    assert found == [
        "bound on 'time': it is the primary cost, which is minimised, not bounded",
        "bound on 'wear': no such secondary cost; the secondary costs are 'damage', 'noise'",
    ]
