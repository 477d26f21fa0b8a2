from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from brute_force import brute_force
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation import evaluate, is_proper
from random_problems import random_cssp
from volume import some


def corridor() -> CSSP:
    """start -> middle -> goal; in the middle one may also pace up and down for ever."""
    return CSSP(
        transitions=csr_array(
            np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
        ),
        row_start=np.array([0, 1, 3, 4, 4]),
        costs=np.ones((1, 4)),
        initial=np.array([1.0, 0.0, 0.0, 0.0]),
        goals=np.array([False, False, False, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
        state_labels=("start", "middle", "corner", "out"),
        action_labels=("walk", "leave", "pace", "back"),
    )


def test_a_policy_that_leaves_is_proper_even_where_it_says_nothing() -> None:
    assert is_proper(corridor(), DeterministicPolicy(corridor(), np.array([0, 1, NO_ROW, NO_ROW])))


def test_a_loop_is_improper_and_a_trapped_state_is_named() -> None:
    policy = DeterministicPolicy(corridor(), np.array([0, 2, 3, NO_ROW]))
    assert not is_proper(corridor(), policy)
    with pytest.raises(ImproperPolicy, match=r"cannot reach a goal from state 'start'.*2 more"):
        evaluate(corridor(), policy)


def test_a_reached_state_without_an_action_is_named() -> None:
    policy = DeterministicPolicy(corridor(), np.array([0, 2, NO_ROW, NO_ROW]))
    assert not is_proper(corridor(), policy)
    with pytest.raises(ImproperPolicy, match="no action in state 'corner'"):
        evaluate(corridor(), policy)


def test_any_chance_to_leave_makes_a_randomised_policy_proper() -> None:
    policy = RandomisedPolicy(corridor(), np.array([1.0, 1e-6, 1.0 - 1e-6, 1.0]))
    assert is_proper(corridor(), policy)
    assert not is_proper(corridor(), RandomisedPolicy(corridor(), np.array([1.0, 0.0, 1.0, 1.0])))
    assert not is_proper(corridor(), RandomisedPolicy(corridor(), np.array([1.0, 0.0, 0.0, 1.0])))


def test_a_transition_stored_with_probability_zero_is_none() -> None:
    transitions = csr_array(
        (np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([1, 3, 2, 3, 1]), np.array([0, 1, 2, 4, 5])),
        shape=(4, 4),
    )
    rows = np.array([0, 2, 3, NO_ROW])
    # Making a problem drops such an entry, but not everything that is made of one is tidied again.
    for problem in (replace(corridor(), transitions=transitions), corridor().derive(transitions=transitions)):
        assert not is_proper(problem, DeterministicPolicy(problem, rows))


@pytest.mark.parametrize("seed", some(range(20)))
def test_the_graph_finds_exactly_the_policies_that_brute_force_finds_proper(seed: int) -> None:
    problem = random_cssp(seed, max_states=5, max_actions=3)
    proper = {tuple(policy) for policy in brute_force(problem).policies.tolist()}
    choices = [
        list(range(problem.row_start[s], problem.row_start[s + 1])) or [NO_ROW]
        for s in range(problem.num_states)
    ]
    found = set()
    for rows in itertools.product(*choices):
        policy = DeterministicPolicy(problem, np.array(rows))
        if is_proper(problem, policy):
            visits = evaluate(problem, policy).visits
            found.add(tuple(row if visits[s] > 0.0 else NO_ROW for s, row in enumerate(rows)))
    assert found == proper


def test_misfits_are_listed_together() -> None:
    with pytest.raises(InvalidProblem) as caught:
        is_proper(corridor(), DeterministicPolicy(corridor(), np.array([1, 0, NO_ROW, 3])))
    assert len(caught.value.violations) == 3
    assert "state 'start': the policy takes row 1, but its rows are 0 to 0" in str(caught.value)
    with pytest.raises(InvalidProblem, match=r"shape \(2,\), but the problem has 4 states"):
        is_proper(corridor(), DeterministicPolicy(corridor(), np.array([0, 1])))
    with pytest.raises(InvalidProblem, match=r"shape \(2,\), but the problem has 4 rows"):
        is_proper(corridor(), RandomisedPolicy(corridor(), np.array([0.0, 1.0])))
    with pytest.raises(InvalidProblem) as caught:
        is_proper(corridor(), RandomisedPolicy(corridor(), np.array([0.5, -1.0, 2.0, np.nan])))
    text = str(caught.value)
    assert "state 'start': the policy's probabilities sum to 0.5, not 1" in text
    assert "state 'middle', action 'leave': probability -1.0 is not a non-negative number" in text
    assert "action 'back': probability nan" in text
