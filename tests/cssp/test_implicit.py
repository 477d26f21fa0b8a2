"""Problems given by functions: what is asked, what is wrong, and what was expanded of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hcssp.cssp.expansion import BEYOND, Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.state_space import RowNumbers, TransitionBatch
from hcssp.errors import InvalidProblem
from implicit_problems import implicit_of
from random_problems import random_cssp


def way(**changes: Any) -> ImplicitCSSP:
    parts: dict[str, Any] = {
        "initial": 0,
        "actions": lambda place: ("walk", "skate"),
        "transitions": lambda place, action: [(place + 1, 0.5), (place + (action == "walk"), 0.5)],
        "costs": lambda place, action: {"minutes": 1.0, "bruises": float(action == "skate")},
        "is_goal": lambda place: place >= 3,
        "heuristics": lambda place: {"minutes": max(3 - place, 0)},
        "cost_names": ("minutes", "bruises"),
        "bounds": {"bruises": 1.0},
    }
    return ImplicitCSSP(**(parts | changes))


@pytest.mark.parametrize("seed", [3, 8, 12])
def test_enumeration_gives_the_problem_back(seed: int) -> None:
    problem = random_cssp(seed)
    found = implicit_of(problem).enumerated()
    for index, label in enumerate(found.state_labels):
        original = problem.state_index[label]
        assert found.goals[index] == problem.goals[original]
        own = slice(*found.row_start[index : index + 2].tolist())
        theirs = slice(*problem.row_start[original : original + 2].tolist())
        assert np.array_equal(found.costs[:, own], problem.costs[:, theirs])
        there = [problem.state_index[each] for each in found.state_labels]
        assert np.allclose(found.transitions[own].toarray(), problem.transitions[theirs].toarray()[:, there])


def test_the_part_ends_at_its_frontier() -> None:
    expansion = Expansion(way())
    expansion.expand(np.array([0]))
    part = expansion.part()
    assert part.state_labels[:] == [0, 1, BEYOND]
    assert part.frontier.tolist() == [False, True, False]
    assert part.num_expanded == 1
    assert part.costs[:, -1].tolist() == [2.0, 0.0]
    assert part.action_labels[2] == BEYOND


def test_states_keep_their_numbers() -> None:
    expansion = Expansion(way())
    expansion.expand(np.array([0]))
    first = expansion.part()
    expansion.expand(np.array([0, 1]))
    second = expansion.part()
    assert list(second.state_labels)[:2] == list(first.state_labels)[:2]
    assert np.array_equal(second.row_start[:2], first.row_start[:2])


def test_bounds_can_be_changed() -> None:
    assert way().with_bounds(bruises=5.0).bounds.tolist() == [5.0]
    with pytest.raises(InvalidProblem, match="no such secondary cost"):
        way().with_bounds(wounds=5.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"heuristics": lambda place: -1.0},
            r"state 0: the heuristic of 'minutes' is -1\.0; it must be finite",
        ),
        ({"heuristics": lambda place: np.nan}, "is nan; it must be finite"),
        ({"heuristics": lambda place: 1.0}, "state 3 is a goal, but the heuristic of 'minutes' is 1.0"),
        ({"heuristics": lambda place: {"hours": 1}}, "state 0, its heuristic: there is no cost 'hours'"),
        (
            {"heuristics": lambda place: {"minutes": 9.0 * (place == 1)}, "consistent": True},
            "state 1, action 'walk': the heuristic of 'minutes' is 9, but the cost of the step",
        ),
        (
            {"transitions": lambda place, action: {3: 0.9}},
            "action 'walk': probabilities sum to 0.9, not 1",
        ),
        ({"transitions": lambda place, action: {3: 2.0, 4: -1.0}}, "probability -1.0 is not a non-negative"),
        ({"transitions": lambda place, action: {3: "much"}}, "'much', which is not a number"),
        ({"costs": lambda place, action: (-1.0, 0.0)}, "the cost 'minutes' is -1.0; costs must be finite"),
        ({"initial": {0: 0.5}}, "the probabilities of the initial states sum to 0.5, not 1"),
        ({"bounds": {"wounds": 1.0}}, "no such secondary cost"),
        ({"cost_names": ("a", "a")}, "give one name or more, all different"),
    ],
)
def test_what_is_wrong_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        way(**changes).enumerated()


def test_enumeration_has_an_end() -> None:
    with pytest.raises(InvalidProblem, match="more than 20 states are reachable"):
        way(is_goal=lambda place: False, heuristics=None).enumerated(max_states=20)


GOOD = TransitionBatch([0], [0], [[1.0]], [0], np.array([[1]]), [1.0])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (replace(GOOD, states=[1]), "states contains 1; it must be at least 0 and below 1"),
        (replace(GOOD, actions=[3]), "actions contains 3"),
        (replace(GOOD, rows=[1]), "rows contains 1"),
        (replace(GOOD, costs=[[1.0, 2.0]]), "give one of each for every row"),
        (replace(GOOD, probabilities=[0.5, 0.5]), "give one of each for every transition"),
        (replace(GOOD, costs=[["a"]]), "not made of arrays of numbers"),
        (replace(GOOD, costs=[[1.0], [1.0]]), "has 2 costs, but the problem has 1"),
        (replace(GOOD, successors=np.array([[1.5]])), "give whole numbers, 1 for each transition"),
        ("nothing", "give a TransitionBatch"),
    ],
)
def test_a_wrong_batch_is_told(batch: Any, message: str) -> None:
    problem = ImplicitCSSP.in_batches((0,), lambda states: batch, lambda states: states[:, 0] > 0)
    with pytest.raises(InvalidProblem, match=message):
        problem.enumerated()


def test_wrong_answers_for_batches() -> None:
    with pytest.raises(InvalidProblem, match="is_goal answers with shape"):
        ImplicitCSSP.in_batches((0,), lambda states: GOOD, lambda states: True).enumerated()
    with pytest.raises(InvalidProblem, match="the heuristics answer with shape"):
        ImplicitCSSP.in_batches(
            (0,), lambda states: GOOD, lambda states: states[:, 0] > 0, lambda states: np.zeros((3, 2))
        ).enumerated()
    with pytest.raises(InvalidProblem, match="not a sequence of whole numbers"):
        ImplicitCSSP.in_batches("start", lambda states: GOOD, lambda states: states[:, 0] > 0)


def test_rows_of_numbers_are_numbered_in_the_order_in_which_they_are_met() -> None:
    numbers = RowNumbers(2)
    states = np.stack((np.arange(30), -np.arange(30)), axis=1)
    assert numbers.of(states[:3]).tolist() == [0, 1, 2]
    assert numbers.of(states).tolist() == list(range(30))
    assert numbers.of(states[::-1]).tolist() == list(range(29, -1, -1))
    assert numbers.of(states[:0]).tolist() == []
    assert numbers.states(np.array([7, 2])).tolist() == [[7, -7], [2, -2]]
    assert numbers.states(np.zeros(0, dtype=int)).tolist() == []
