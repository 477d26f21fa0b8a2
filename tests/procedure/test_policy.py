from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.procedure import ProcedurePolicy
from small_procedures import dash_last, forking, retrying, risky_room

NOTHING = (np.full(3, -1), np.full(3, -1))


def split() -> ProcedurePolicy:
    """Of :func:`forking`: fast through the fork, walk on from the left, wait on the right."""
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    return ProcedurePolicy.compose(forking(), choices, (np.array([1, -1, -1]), np.array([0, -1, -1])))


def test_a_policy_must_have_rows_for_all_activities() -> None:
    with pytest.raises(InvalidProblem, match=r"shapes \[\(2,\), \(1,\)\] .* need \[\(2,\), \(2,\)\]"):
        ProcedurePolicy.compose(retrying(), {}, (np.array([0, -1]), np.array([1])))


def test_a_policy_may_only_take_what_is_there() -> None:
    with pytest.raises(InvalidProblem) as caught:
        ProcedurePolicy.compose(retrying(), {(0, None): 1}, (np.array([2, -1]), np.array([1, -1])))
    assert caught.value.violations == (
        "state 'start': the policy takes row 1, but its rows are 0 to 0 (-1 for none)",
        "state ('cross', 'in'): the policy takes row 4, but its rows are 2 to 3 (-1 for none)",
    )


def test_flat_rows_are_checked_as_well() -> None:
    with pytest.raises(InvalidProblem, match=r"rows of shape \(2,\), but the problem has 5 states"):
        ProcedurePolicy(retrying(), [0, 1])
    with pytest.raises(InvalidProblem, match=r"^the policy's rows: 0\.5 is not a whole number"):
        ProcedurePolicy(retrying(), [0.5, 1, -1, 2, 4])
    with pytest.raises(InvalidProblem, match=r"^state 'out': the policy takes row 1, but it has none"):
        ProcedurePolicy(retrying(), [0, 1, 1, 2, 4])


def test_a_choice_for_what_is_no_state_of_an_event_is_refused() -> None:
    with pytest.raises(
        InvalidProblem, match=r"the policy has a choice for \(1, 'lft'\), but the event states"
    ):
        ProcedurePolicy.compose(forking(), {(0, None): 0, (1, "lft"): 1}, NOTHING)


def test_nothing_is_done_in_a_goal_and_rows_below_nought_are_none_of_anybodys() -> None:
    with pytest.raises(InvalidProblem) as caught:
        ProcedurePolicy.compose(retrying(), {}, (np.array([0, 1]), np.array([1, -1])))
    assert caught.value.violations == (
        "activity 'cross', state 'out': the policy takes row 1, but the state is a goal; give -1",
    )
    with pytest.raises(InvalidProblem, match=r"\('cross', 'in'\): .* row -3, but its rows are 2 to 3"):
        ProcedurePolicy.compose(retrying(), {}, (np.array([-3, -1]), np.array([1, -1])))


def test_choices_can_be_read() -> None:
    policy = split()
    assert policy.choices == {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    assert policy.choice_names() == {
        "start": "choose",
        ("hall", "left"): "walk",
        ("hall", "right"): "wait",
    }
    assert policy.choice("start") == "choose"
    assert (policy.choice("hall", "left"), policy.choice("hall", "right")) == ("walk", "wait")


def test_where_the_policy_never_goes_nothing_is_chosen_or_done() -> None:
    policy = ProcedurePolicy.compose(
        forking(), {(0, None): 0, (1, "left"): 2}, (np.array([0, -1, -1]), NOTHING[1])
    )
    assert policy.choice("hall", "left") == "wait"
    assert policy.choice("hall", "right") is None
    assert policy.action("choose", "fork") == "surely"
    assert policy.action("walk", "left") is None
    assert policy.action("choose", "left") is None
    # At the end there is nothing to choose.
    assert policy.choice("out") is None


def test_names_that_there_are_not_are_told_with_the_nearest() -> None:
    policy = split()
    with pytest.raises(
        UnknownName, match=r"^there is no event 'hal'; did you mean 'hall'\? available: hall, out"
    ):
        policy.choice("hal")
    with pytest.raises(UnknownName, match=r"^there is no activity 'chose'; did you mean 'choose'\?"):
        policy.action("chose", "fork")
    with pytest.raises(UnknownName, match=r"^there is no state 'frok'; did you mean 'fork'\?"):
        policy.action("choose", "frok")


def test_an_event_that_can_be_entered_in_several_states_wants_one_named() -> None:
    policy = split()
    with pytest.raises(InvalidProblem) as caught:
        policy.choice("hall")
    assert str(caught.value) == (
        "event 'hall': the choice may depend on the state it is entered in; name one of 'left', 'right'"
    )
    with pytest.raises(InvalidProblem) as caught:
        policy.choice("hall", "top")
    assert str(caught.value) == "event 'hall': it is not entered in 'top'; name one of 'left', 'right'"
    with pytest.raises(InvalidProblem) as caught:
        policy.choice("start", "left")
    assert str(caught.value) == (
        "event 'start': it is always entered in the same way, not in 'left'; name no state"
    )


def test_an_activity_has_a_policy_of_its_own() -> None:
    policy = dash_last()
    for named in (policy.activity(1), policy.activity("leave")):
        assert isinstance(named, DeterministicPolicy)
        assert named.actions() == {"in": "dash"}
        assert named.problem is policy.problem.activities[1].cssp
    assert policy.action("leave", "in") == policy.action(1, "in") == "dash"


def test_a_policy_cannot_be_changed_and_is_equal_to_its_copies() -> None:
    policy = split()
    _ = policy.choices, policy.activities
    copies = (policy, pickle.loads(pickle.dumps(policy)), copy.copy(policy), copy.deepcopy(policy))
    for same in copies:
        assert same == policy
        assert hash(same) == hash(policy)
        assert same.problem == forking()
        for array in (same.rows, *same.activities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(TypeError, match="does not support item assignment"):
            same.choices[0, None] = 1
        with pytest.raises(FrozenInstanceError):
            same.rows = np.zeros(7)
    assert len(set(copies)) == 1


def test_what_the_caller_does_to_his_rows_afterwards_changes_nothing() -> None:
    rows = split().rows.copy()
    policy = ProcedurePolicy(forking(), rows)
    rows[...] = -1
    assert policy == split()


def test_policies_that_do_something_else_or_elsewhere_are_not_equal() -> None:
    policy = split()
    other = ProcedurePolicy.compose(forking(), policy.choices, (np.array([0, -1, -1]), policy.activities[1]))
    assert other != policy
    looser = policy.under(forking().with_bounds(damage=5.0))
    assert looser.problem.bounds.tolist() == [5.0]
    assert looser.rows.tolist() == policy.rows.tolist()
    assert looser != policy
    assert policy != DeterministicPolicy(forking().flattening.cssp, policy.rows)


def test_rows_become_a_policy_of_their_kind_of_problem() -> None:
    assert retrying().policy(dash_last().rows) == dash_last()
    assert risky_room().policy(np.array([1, -1])) == DeterministicPolicy(risky_room(), [1, -1])
