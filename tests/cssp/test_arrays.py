"""What is given for an array becomes one, or a violation says why it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hcssp.cssp import CSSP
from hcssp.cssp.arrays import as_array, as_sequence
from hcssp.cssp.labels import TupleLabels
from hcssp.errors import InvalidProblem
from loose_parts import loose_parts

SIZES = "2 states, 2 rows and 2 costs"
NO_LABEL = "a label must be hashable; give a text, a number or a tuple of them"
NO_MATRIX = "transitions cannot be a matrix of numbers ("

MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "a matrix of three axes": (
        {"transitions": np.zeros((2, 2, 2))},
        NO_MATRIX,
    ),
    "ragged transitions": (
        {"transitions": [[1.0], [0.5, 0.5]]},
        NO_MATRIX,
    ),
    "no transitions": ({"transitions": None}, NO_MATRIX),
    "transitions in words": ({"transitions": [["a", "b"]]}, NO_MATRIX),
    "a row too many": (
        {"transitions": np.zeros((3, 2))},
        f"transitions has shape (3, 2), but {SIZES} need (2, 2)",
    ),
    "one axis": ({"transitions": np.zeros(2)}, f"transitions has shape (2,), but {SIZES} need (2, 2)"),
    "rows of two axes": (
        {"row_start": [[0, 2, 2]]},
        "row_start has shape (1, 3); give one number for each state and one for the end",
    ),
    "rows that begin late": (
        {"row_start": [1, 3, 4], "action_labels": ()},
        "row_start must begin with 0 and never decrease, but is [1, 3, 4]",
    ),
    "rows that begin before the first": (
        {"row_start": [-1, 2, 2], "action_labels": ()},
        "row_start must begin with 0 and never decrease, but is [-1, 2, 2]",
    ),
    "half a row": ({"row_start": [0, 1.5, 2]}, "row_start: 1.5 is not a whole number; give whole numbers"),
    "no number of rows": (
        {"row_start": np.array([0, np.nan, 2])},
        "row_start: nan is not a whole number; give whole numbers",
    ),
    "rows without end": ({"row_start": [0, 10**30]}, "row_start cannot be an array of numbers ("),
    "rows by name": ({"row_start": "here"}, "row_start cannot be an array of numbers ("),
    "no states": ({"row_start": []}, "there is no state; add at least one, and a goal"),
    "ragged costs": ({"costs": [[1.0], [1.0, 2.0]]}, "costs cannot be an array of numbers ("),
    "costs by name": ({"costs": {"time": [1.0, 2.0]}}, "costs cannot be an array of numbers ("),
    "one cost": ({"costs": [1.0, 2.0]}, f"costs has shape (2,), but {SIZES} need (2, 2)"),
    "an initial state": ({"initial": 0}, f"initial has shape (), but {SIZES} need (2,)"),
    "goals by index": ({"goals": [1]}, f"goals has shape (1,), but {SIZES} need (2,)"),
    "ragged goals": ({"goals": [[False], [False, True]]}, "goals cannot be an array of numbers ("),
    "one bound alone": ({"bounds": 2.0}, f"bounds has shape (), but {SIZES} need (1,)"),
    "a bound in words": ({"bounds": ["little"]}, "bounds cannot be an array of numbers ("),
    "no names": ({"cost_names": None}, "cost_names is None, which is not a sequence; give a tuple"),
    "one label": ({"state_labels": ["home"]}, f"state_labels has shape (1,), but {SIZES} need (2,)"),
    "no labels": ({"state_labels": None}, "state_labels is None, which is not a sequence; give a tuple"),
    "a label that is a list": (
        {"state_labels": [["home"], "out"]},
        f"state ['home']: {NO_LABEL}",
    ),
    "an action in a list": (
        {"action_labels": [("walk", []), "run"]},
        f"state 'home', action ('walk', []): {NO_LABEL}",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_cannot_be_a_problem_is_told_in_words(case: str) -> None:
    changes, message = MALFORMED[case]
    with pytest.raises(InvalidProblem) as raised:
        CSSP(**loose_parts() | changes)
    (violation,) = raised.value.violations
    assert violation.startswith(message)
    assert violation == message or message.endswith("(")


def test_everything_malformed_is_told_together() -> None:
    with pytest.raises(InvalidProblem) as raised:
        CSSP(**loose_parts() | {"transitions": None, "costs": "dear", "bounds": ["little"], "cost_names": 7})
    assert [violation.split()[0] for violation in raised.value.violations] == [
        "costs",
        "bounds",
        "transitions",
        "cost_names",
    ]


def test_rows_that_do_not_fit_leave_the_labels_alone() -> None:
    # Labels for that many rows would fill the memory before anybody could say what is wrong.
    with pytest.raises(InvalidProblem, match=r"transitions has shape \(2, 2\), but 2 states, 10{15} rows"):
        CSSP(**loose_parts() | {"row_start": [0, 10**15, 10**15], "state_labels": (), "action_labels": ()})


def test_one_name_is_one_cost() -> None:
    problem = CSSP(**loose_parts() | {"cost_names": "time", "costs": np.ones((1, 2)), "bounds": np.zeros(0)})
    assert problem.cost_names == ("time",)


def test_what_can_be_changed_is_copied_and_what_computes_its_items_is_kept() -> None:
    found: list[str] = []
    given = ["home", "out"]
    kept = as_sequence("labels", given, found)
    given[0] = "elsewhere"
    assert kept == ("home", "out")
    assert as_sequence("labels", np.array([3, 4]), found) == (3, 4)
    assert as_sequence("labels", (str(number) for number in range(2)), found) == ("0", "1")
    for lazy in (range(5), ("a", "b"), TupleLabels(np.array([[1, 2]]))):
        assert as_sequence("labels", lazy, found) is lazy
    assert found == []


def test_numbers_that_happen_to_be_whole_are_whole() -> None:
    found: list[str] = []
    assert as_array("row_start", [0.0, 2.0], np.int64, True, found).tolist() == [0, 2]
    assert as_array("row_start", [], np.int64, True, found).tolist() == []
    assert found == []
    assert as_array("row_start", np.array([0.0, np.inf]), np.int64, True, found).size == 0
    assert found == ["row_start: inf is not a whole number; give whole numbers"]
