from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from hcssp.cssp import CSSP, from_arrays
from hcssp.errors import InvalidProblem

ROWS = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.25, 0.75]])
ROW_STATES = [1, 0, 1]


def by_rows(**changes: Any) -> CSSP:
    arguments: dict[str, Any] = {
        "transitions": ROWS,
        "costs": {"time": [1.0, 2.0, 3.0], "damage": 4.0},
        "row_states": ROW_STATES,
        "initial": 0,
        "goals": [2],
        "action_labels": ("a", "b", "c"),
    }
    return from_arrays(**{**arguments, **changes})


def by_action(**changes: Any) -> CSSP:
    transitions = np.zeros((3, 2, 3))
    transitions[0, 1] = ROWS[1]
    transitions[1] = ROWS[[0, 2]]
    arguments: dict[str, Any] = {
        "transitions": transitions,
        "costs": {"time": [[9.0, 2.0], [1.0, 3.0], [9.0, 9.0]], "damage": 4.0},
        "initial": [1.0, 0.0, 0.0],
        "goals": [False, False, True],
        "bounds": {"damage": 5.0},
        "action_labels": ("left", "right"),
        "state_labels": ("x", "y", "z"),
    }
    return from_arrays(**{**arguments, **changes})


@pytest.mark.parametrize("convert", [np.asarray, csr_array, coo_array, np.ndarray.tolist])
def test_rows_in_any_order_dense_or_sparse(convert: Any) -> None:
    problem = by_rows(transitions=convert(ROWS))
    assert problem.row_start.tolist() == [0, 1, 3, 3]
    assert problem.transitions.toarray().tolist() == ROWS[[1, 0, 2]].tolist()
    assert problem.costs.tolist() == [[2.0, 1.0, 3.0], [4.0, 4.0, 4.0]]
    assert list(problem.action_labels) == ["b", "a", "c"]
    assert problem.bounds.tolist() == [np.inf]


def test_by_state_and_action_without_the_missing_ones() -> None:
    problem = by_action()
    assert problem.transitions.toarray().tolist() == ROWS[[1, 0, 2]].tolist()
    assert problem.costs.tolist() == [[2.0, 1.0, 3.0], [4.0, 4.0, 4.0]]
    assert list(problem.action_labels) == ["right", "left", "right"]
    assert problem.state_labels == ("x", "y", "z")
    assert list(by_action(action_labels=()).action_labels) == [1, 0, 1]


def test_costs_on_arrival_are_folded() -> None:
    arrival = np.array([[8.0, 4.0, np.inf], [np.nan, 0.0, 1.0], [7.0, 4.0, 8.0]])
    expected = [1.0, 6.0, 7.0]
    assert by_rows(costs={"time": arrival}).costs[0].tolist() == expected
    finite = np.where(np.isfinite(arrival), arrival, 0.0)
    assert by_rows(costs={"time": csr_array(finite)}).costs[0].tolist() == expected
    cube = np.zeros((3, 2, 3))
    cube[0, 1], cube[1] = arrival[1], arrival[[0, 2]]
    assert by_action(costs={"time": cube}, bounds=None).costs[0].tolist() == expected


def test_the_users_matrix_is_left_alone() -> None:
    matrix = csr_array((np.array([0.5, 0.5]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    problem = from_arrays(matrix, {"cost": 1.0}, row_states=[0], initial=0, goals=[1])
    assert problem.transitions.nnz == 1
    assert matrix.nnz == 2


@pytest.mark.parametrize(
    ("maker", "changes", "expected"),
    [
        (
            by_rows,
            {"row_states": None},
            "transitions has shape (3, 3) without row_states; give (states, actions, states) without, "
            "or (rows, states) with row_states",
        ),
        (by_rows, {"row_states": [0, 1]}, "row_states has shape (2,), but transitions has 3 rows"),
        (
            by_rows,
            {"row_states": [0, 1, 5]},
            "row 2: its state is 5, which is unknown; the states are 0 to 2",
        ),
        (
            by_action,
            {"transitions": np.zeros((3, 2, 4))},
            "transitions has shape (3, 2, 4); the first and last axis must be equal",
        ),
        (
            by_rows,
            {"costs": {"time": [1.0, 2.0]}},
            "the cost 'time' has shape (2,); give a number, (3,) or (3, 3)",
        ),
        (
            by_rows,
            {"costs": {"time": csr_array((1, 3))}},
            "the cost 'time' has shape (1, 3); give a number, (3,) or (3, 3)",
        ),
        (by_rows, {"goals": [2, 3]}, "the goal is state 3, which is unknown; the states are 0 to 2"),
        (by_rows, {"goals": [True, False]}, "goals has shape (2,), but there are 3 states"),
        (by_rows, {"initial": 3}, "the initial state is 3, which is unknown; the states are 0 to 2"),
        (
            by_rows,
            {"initial": [1.0, 0.0]},
            "initial has shape (2,); give a state's index or 3 probabilities",
        ),
        (by_rows, {"initial": [0.5, 0.0, 0.0]}, "the initial probabilities sum to 0.5, not 1"),
        (by_rows, {"action_labels": ["a"]}, "action_labels has 1 labels, but there are 3 rows"),
        (by_action, {"action_labels": ["a"]}, "action_labels has 1 labels, but there are 2 actions"),
        (by_rows, {"state_labels": ["a"]}, "state_labels has 1 labels, but there are 3 states"),
        (
            by_rows,
            {"bounds": {"noise": 1.0}},
            "bound on 'noise': no such secondary cost; the secondary costs are 'damage'",
        ),
        (
            by_rows,
            {"bounds": {"damage": -np.inf}},
            "bound on 'damage': -inf is no upper bound; give a finite number, or inf for none",
        ),
        (
            by_rows,
            {"bounds": {"damage": "little"}},
            "bound on 'damage': little is no upper bound; give a finite number, or inf for none",
        ),
        (by_rows, {"row_states": [1, 0.5, 1]}, "row_states: 0.5 is no whole number; give whole numbers"),
        (by_rows, {"goals": [1.5]}, "the goal is state 1.5, which is unknown; the states are 0 to 2"),
        (by_rows, {"goals": [np.nan]}, "the goal is state nan, which is unknown; the states are 0 to 2"),
        (by_rows, {"state_labels": None}, "state_labels is None, which is no sequence; give a tuple"),
        (by_rows, {"transitions": 0.9 * ROWS}, "state 0, action 'b': probabilities sum to 0.9, not 1"),
        (
            by_rows,
            {"goals": [0, 2]},
            "state 0, action 'b': the state is a goal, which ends everything; remove the action",
        ),
    ],
)
def test_mistakes(maker: Any, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        maker(**changes)
    assert expected in raised.value.violations


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"transitions": [[1.0], [0.5, 0.5]]}, "transitions"),
        ({"transitions": [["a", "b", "c"]] * 3}, "transitions"),
        ({"row_states": ["a", "b", "c"]}, "row_states"),
        ({"costs": {"time": [[1.0], [1.0, 2.0]]}}, "the cost 'time'"),
        ({"costs": {"time": "dear"}}, "the cost 'time'"),
        ({"initial": ["a", "b", "c"]}, "initial"),
        ({"goals": ["a"]}, "goals"),
        ({"goals": [[0], [1, 2]]}, "goals"),
    ],
)
def test_what_is_no_array_of_numbers_is_told_in_words(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        by_rows(**changes)
    assert raised.value.violations[0].startswith(f"{what} cannot be an array of numbers (")


def test_what_the_caller_does_to_his_arrays_afterwards_changes_nothing() -> None:
    arrays = {"transitions": ROWS.copy(), "initial": np.eye(3)[0], "goals": np.array([False, False, True])}
    costs = np.array([1.0, 2.0, 3.0])
    problem = by_rows(costs={"time": costs}, **arrays)
    for array in (costs, *arrays.values()):
        array[...] = 0
    assert problem == by_rows(costs={"time": [1.0, 2.0, 3.0]})
