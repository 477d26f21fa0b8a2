from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp import CSSP, explore
from hcssp.errors import InvalidProblem


def walk(**changes: object) -> CSSP:
    """A line of five places; a stumble stays and hurts."""
    arguments: dict[str, object] = {
        "initial": 0,
        "actions": lambda place: ("on", "back") if place else ("on",),
        "transitions": lambda place, action: [(place + (1 if action == "on" else -1), 0.5), (place, 0.5)],
        "costs": lambda place, action: {"time": 1.0},
        "is_goal": lambda place: place == 4,
        "cost_names": ("time", "bruises"),
        "bounds": {"bruises": 2.0},
    }
    return explore(**{**arguments, **changes})  # type: ignore[arg-type]


def test_only_reachable_states_are_explored_in_breadth_first_order() -> None:
    problem = walk()
    assert problem.state_labels == (0, 1, 2, 3, 4)
    assert problem.row_start.tolist() == [0, 1, 3, 5, 7, 7]
    assert problem.action_labels == ("on", "on", "back", "on", "back", "on", "back")
    assert problem.goals.tolist() == [False, False, False, False, True]
    assert problem.transitions[[1]].toarray().tolist() == [[0, 0.5, 0.5, 0, 0]]
    assert problem.bounds.tolist() == [2.0]


def test_an_initial_distribution_and_costs_in_order() -> None:
    problem = walk(initial={3: 0.25, 2: 0.75}, costs=lambda place, action: (1.0, place))
    assert problem.initial[problem.state_index[3]] == 0.25
    assert problem.costs[1, problem.row_start[problem.state_index[2]]] == 2.0


def test_arrival_costs_are_folded() -> None:
    problem = walk(arrival_costs=lambda place, action, reached: {"bruises": 3.0 if reached == place else 0.0})
    assert problem.costs[1].tolist() == [1.5] * 7


def test_goals_are_not_asked_for_actions_and_impossible_states_not_explored() -> None:
    def transitions(place: int, action: str) -> dict[object, float]:
        return {place + 1: 1.0, "nowhere": 0.0}

    def actions(place: object) -> tuple[str, ...]:
        assert place in (0, 1, 2, 3)
        return ("on",)

    assert walk(actions=actions, transitions=transitions).num_states == 5


def test_repeated_successors_add_up() -> None:
    problem = walk(transitions=lambda place, action: [(place + 1, 0.5), (place + 1, np.float64(0.5))])
    assert problem.transitions.nnz == problem.num_rows


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"transitions": lambda place, action: {place + 1: 0.9}},
            "state 0, action 'on': probabilities sum to 0.9, not 1",
        ),
        (
            {"transitions": lambda place, action: {place + 1: None}},
            "state 0, action 'on': the probability of reaching state 1 is None, which is not a number",
        ),
        (
            {"actions": lambda place: ("on", "on")},
            "state 3, action 'on': the state has two actions of this name; give each its own",
        ),
        (
            {"costs": lambda place, action: {"cost": 1.0}},
            "state 0, action 'on': there is no cost 'cost'; the costs are 'time', 'bruises'",
        ),
        (
            {"is_goal": lambda place: False, "transitions": lambda place, action: {0: 1.0}},
            "there is no goal; mark at least one state as a goal",
        ),
        (
            {"is_goal": lambda place: False, "max_states": 100},
            "more than 100 states are reachable, the last one 100; raise max_states, or solve the problem as "
            "it is, without enumerating it",
        ),
        (
            {"bounds": {"time": 3.0}},
            "bound on 'time': it is the primary cost, which is minimised, not bounded",
        ),
    ],
)
def test_mistakes_name_the_place(changes: dict[str, object], expected: str) -> None:
    if changes.get("max_states"):
        changes = {**changes, "transitions": lambda place, action: {place + 1: 1.0}}
    with pytest.raises(InvalidProblem) as raised:
        walk(**changes)
    assert expected in raised.value.violations
