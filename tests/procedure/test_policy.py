from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import InvalidProblem
from hcssp.procedure import ProcedurePolicy
from small_procedures import dash_last, forking, retrying


def test_a_policy_must_have_rows_for_all_activities() -> None:
    with pytest.raises(InvalidProblem, match=r"shapes \[\(2,\), \(1,\)\] .* need \[\(2,\), \(2,\)\]"):
        ProcedurePolicy.compose(retrying(), {}, (np.array([0, -1]), np.array([1])))


def test_a_policy_may_only_take_what_is_there() -> None:
    with pytest.raises(InvalidProblem) as caught:
        ProcedurePolicy.compose(retrying(), {(0, None): 1}, (np.array([2, -1]), np.array([1, -1])))
    assert caught.value.violations == (
        "'start': the policy takes what is not there (flat row 1, but its rows are 0 to 0)",
        "('cross', 'in'): the policy takes what is not there (flat row 4, but its rows are 2 to 3)",
    )


def test_choices_can_be_read() -> None:
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    policy = ProcedurePolicy.compose(forking(), choices, (np.full(3, -1), np.full(3, -1)))
    assert policy.choices == choices
    assert policy.choice_names() == {
        "start": "choose",
        ("hall", "left"): "walk",
        ("hall", "right"): "wait",
    }


def test_an_activity_has_a_policy_of_its_own() -> None:
    policy = dash_last()
    assert isinstance(policy.activity(1), DeterministicPolicy)
    assert policy.activity(1).actions() == {"in": "dash"}
