from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from hcssp.cssp import CSSP, NO_ROW, CSSPBuilder, DeterministicPolicy, GridWorld, RandomisedPolicy
from hcssp.errors import InvalidProblem, UnknownName


def house(bound: float = 3.0) -> CSSP:
    """From home walk or run out; up in the attic one can only climb down."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    home, attic, out = plan.add_state("home"), plan.add_state("attic"), plan.add_goal("out")
    plan.add_action(home, "walk", to=out, costs=(3.0, 0.0))
    plan.add_action(home, "run", to={out: 0.5, home: 0.5}, costs=(1.0, 1.0))
    plan.add_action(attic, "climb", to=home)
    return plan.build()


def walk() -> DeterministicPolicy:
    return DeterministicPolicy(house(), np.array([0, NO_ROW, NO_ROW]))


def toss() -> RandomisedPolicy:
    return RandomisedPolicy(house(), np.array([0.25, 0.75, 0.0]))


def test_actions_come_back_by_name() -> None:
    policy = walk()
    assert policy.actions() == {"home": "walk"}
    assert policy.action("home") == "walk"
    # The attic is never entered, and nothing is done in a goal.
    assert policy.action("attic") is None
    assert policy.action("out") is None


def test_a_state_that_there_is_not_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName) as raised:
        walk().action("atic")
    assert str(raised.value) == "there is no state 'atic'; did you mean 'attic'? available: attic, home, out"
    with pytest.raises(UnknownName, match=r"^there is no state 'moon'; available: attic, home, out$"):
        walk().action("moon")


def test_a_cell_may_come_as_a_tuple_a_list_or_an_array() -> None:
    world = GridWorld(40, 30, (0, 1), (41, 2))
    problem = world.to_cssp()
    policy = DeterministicPolicy(problem, np.where(problem.goals, NO_ROW, problem.row_start[:-1]))
    assert policy.action((2, 2)) == policy.action([2, 2]) == policy.action(np.array([2, 2])) == "north"
    # Of very many names only some are listed.
    with pytest.raises(UnknownName, match=r"^there is no state '\(77, 2\)'; did you mean .* and 1196 more$"):
        policy.action((77, 2))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([0, NO_ROW], ["the policy has rows of shape (2,), but the problem has 3 states; give one a state"]),
        (
            [[0, -1, -1]],
            ["the policy has rows of shape (1, 3), but the problem has 3 states; give one a state"],
        ),
        (
            [2, 1, 0],
            [
                "state 'home': the policy takes row 2, but its rows are 0 to 1 (-1 for none)",
                "state 'attic': the policy takes row 1, but its rows are 2 to 2 (-1 for none)",
                "state 'out': the policy takes row 0, but it has none (-1 for none)",
            ],
        ),
        ([-2, 2, -1], ["state 'home': the policy takes row -2, but its rows are 0 to 1 (-1 for none)"]),
        ([0.5, 2, -1], ["the policy's rows: 0.5 is not a whole number; give whole numbers"]),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: list[Any], expected: list[str]) -> None:
    with pytest.raises(InvalidProblem) as raised:
        DeterministicPolicy(house(), rows)
    assert raised.value.violations == tuple(expected)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        (
            [0.5, 0.5],
            ["the policy has probabilities of shape (2,), but the problem has 3 rows; give one a row"],
        ),
        (
            [0.5, 0.25, 1.0],
            ["state 'home': the policy's probabilities sum to 0.75, not 1 (or 0 where it never goes)"],
        ),
        (
            [1.5, -0.5, 0.0],
            ["state 'home', action 'run': probability -0.5 is not a non-negative number"],
        ),
        (
            [np.nan, 0.0, np.inf],
            [
                "state 'home', action 'walk': probability nan is not a non-negative number",
                "state 'home': the policy's probabilities sum to nan, not 1 (or 0 where it never goes)",
                "state 'attic': the policy's probabilities sum to inf, not 1 (or 0 where it never goes)",
            ],
        ),
    ],
)
def test_probabilities_that_do_not_fit_are_refused(probabilities: list[float], expected: list[str]) -> None:
    with pytest.raises(InvalidProblem) as raised:
        RandomisedPolicy(house(), probabilities)
    assert raised.value.violations == tuple(expected)


@pytest.mark.parametrize("kind", [DeterministicPolicy, RandomisedPolicy])
@pytest.mark.parametrize("given", [["first", "last", "none"], [[0], [0, 1]], None])
def test_what_is_no_array_of_numbers_is_told_in_words(kind: type, given: Any) -> None:
    with pytest.raises(
        InvalidProblem, match=r"^the policy('s \w+ cannot be an array| has probabilities of shape)"
    ):
        kind(house(), given)


COPIES: dict[str, Callable[[Any], Any]] = {
    "made": lambda policy: policy,
    "pickled": lambda policy: pickle.loads(pickle.dumps(policy)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


@pytest.mark.parametrize("how", COPIES)
def test_a_policy_cannot_be_changed_and_is_equal_to_its_copies(how: str) -> None:
    for make, name in ((walk, "rows"), (toss, "probabilities")):
        policy = COPIES[how](make())
        assert policy == make()
        assert hash(policy) == hash(make())
        assert policy.problem == house()
        with pytest.raises(ValueError, match="read-only"):
            getattr(policy, name)[0] = 1
        with pytest.raises(FrozenInstanceError):
            setattr(policy, name, np.zeros(3))
        assert not policy.problem.costs.flags.writeable


def test_what_the_caller_does_to_his_array_afterwards_changes_nothing() -> None:
    rows, probabilities = np.array([0, NO_ROW, NO_ROW]), np.array([0.25, 0.75, 0.0])
    policies = DeterministicPolicy(house(), rows), RandomisedPolicy(house(), probabilities)
    rows[0], probabilities[:2] = 1, 0.5
    assert policies == (walk(), toss())


def test_policies_that_do_something_else_or_elsewhere_are_not_equal() -> None:
    assert walk() != DeterministicPolicy(house(), [1, NO_ROW, NO_ROW])
    assert walk() != DeterministicPolicy(house(bound=4.0), walk().rows)
    assert toss() != RandomisedPolicy(house(), [0.5, 0.5, 0.0])
    assert toss() != RandomisedPolicy(house(bound=4.0), toss().probabilities)
    # Sure of what it does, a randomised policy is still another thing.
    assert walk() != RandomisedPolicy(house(), [1.0, 0.0, 0.0])
    assert walk() != "walk"
    assert len({walk(), walk(), toss(), toss()}) == 2


def test_nought_is_nought_with_either_sign() -> None:
    signed = RandomisedPolicy(house(), [0.25, 0.75, -0.0])
    assert signed == toss()
    assert hash(signed) == hash(toss())


def test_the_same_policy_under_other_bounds() -> None:
    problem = house(bound=1.0)
    other = walk().under(problem)
    assert other.problem is problem
    assert other.rows.tolist() == walk().rows.tolist()
    assert other != walk()
