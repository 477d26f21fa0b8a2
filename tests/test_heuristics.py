"""Heuristics that are made: never above the truth, consistent, and told apart by cost."""

from __future__ import annotations

import numpy as np
import pytest

import hcssp
import hcssp.heuristics as heuristics
from brute_force import brute_force
from hazard_grid import hazard_grid
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.state_space import TransitionBatch
from hcssp.errors import InvalidProblem
from hcssp.heuristics import ExpectedCosts, TableHeuristic, shortest_paths
from implicit_problems import implicit_of
from random_problems import random_cssp


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 9])
def test_shortest_paths_are_never_above_a_policy(seed: int) -> None:
    problem = random_cssp(seed)
    heuristic = shortest_paths(problem)
    starts = np.flatnonzero(problem.initial)
    least = sum(
        problem.initial[state] * np.array(heuristic(problem.state_labels[int(state)])) for state in starts
    )
    truth = brute_force(problem)
    assert np.all(least <= truth.costs.min(axis=0) * (1.0 + 1e-12))
    plan = hcssp.solve(implicit_of(problem, heuristic, consistent=True))
    assert plan.status.value == truth.status
    if truth.status == "optimal":
        assert plan.upper_bound == pytest.approx(truth.value, rel=1e-6)


def test_without_chance_they_are_the_optimum() -> None:
    grid = hazard_grid(12, 9, seed=3, slip=0.0, bound=np.inf)
    start = grid.state_labels[int(grid.initial.argmax())]
    assert shortest_paths(grid)(start)[0] == pytest.approx(hcssp.solve(grid).upper_bound)


def walk(heuristics: object) -> ImplicitCSSP:
    """From (0, 0) to (8, 8) on a quarter plane, one step right or down."""

    def steps(states: np.ndarray) -> TransitionBatch:
        count = len(states)
        moves = np.array([[1, 0], [0, 1]])
        return TransitionBatch(
            np.repeat(np.arange(count), 2),
            np.tile([0, 1], count),
            np.stack((np.ones(2 * count), np.tile([1.0, 0.0], count))),
            np.arange(2 * count),
            (states[:, np.newaxis] + moves).reshape(-1, 2).clip(0, 8),
            np.ones(2 * count),
        )

    return ImplicitCSSP.in_batches(
        (0, 0),
        steps,
        lambda states: (states == 8).all(axis=1),
        heuristics,  # type: ignore[arg-type]
        ("right", "down"),
        ("steps", "wind"),
        {"wind": 9.0},
        consistent=True,
    )


def test_a_coarser_grid_is_a_heuristic() -> None:
    """Blocks of 2 x 2 cells: a step leads at most to the next block, and every second does."""
    fine = walk(None).enumerated()
    blocks = hcssp.ImplicitCSSP.in_batches(
        (0, 0),
        lambda states: TransitionBatch(
            np.repeat(np.arange(len(states)), 2),
            np.tile([0, 1], len(states)),
            np.ones((1, 2 * len(states))),
            np.arange(2 * len(states)),
            (states[:, np.newaxis] + [[1, 0], [0, 1]]).reshape(-1, 2).clip(0, 4),
            np.ones(2 * len(states)),
        ),
        lambda states: (states == 4).all(axis=1),
        action_names=("right", "down"),
    ).enumerated()
    coarse = shortest_paths(blocks, project=lambda states: states // 2)
    plan = hcssp.solve(walk(lambda states: coarse.of(states)[0]))
    assert plan.upper_bound == pytest.approx(hcssp.solve(fine).upper_bound) == 16.0
    assert plan.problem.num_states - 1 <= fine.num_states


def test_what_is_not_in_the_small_problem_is_told() -> None:
    problem = random_cssp(0)
    with pytest.raises(InvalidProblem, match="'nowhere', which is not a state of the small problem"):
        shortest_paths(problem)("nowhere")
    with pytest.raises(InvalidProblem, match="not tuples of 1 whole numbers"):
        shortest_paths(problem).of(np.array([[1]]))
    grid = hazard_grid(4, 4, seed=1)
    with pytest.raises(InvalidProblem, match=r"projects to \(90, 90\), which is not a state"):
        shortest_paths(grid).of(np.array([[1, 1], [90, 90]]))


def test_a_projection_does_not_trust_probabilities() -> None:
    """What stays half of the time in the small problem may be done at once in the large one."""
    small = hcssp.CSSPBuilder(cost_names=("time",))
    here, out = small.add_state("here"), small.add_goal("out")
    small.add_action(here, "try", to={out: 0.5, here: 0.5}, costs=1.0)
    small.set_initial(here)
    problem = small.build()
    assert shortest_paths(problem)("here")[0] == pytest.approx(2.0)
    assert shortest_paths(problem, project=lambda state: "here")(7)[0] == pytest.approx(1.0)


def test_a_small_problem_is_solved_once_for_each_vector_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are asked about again and again stay known."""
    monkeypatch.setattr(heuristics, "MAX_KEPT", 3)
    problem = random_cssp(3)
    solved: list[float] = []
    expected = ExpectedCosts(problem)

    def least(row_costs: np.ndarray) -> np.ndarray:
        solved.append(float(row_costs.sum()))
        return expected.least(row_costs)

    known = TableHeuristic(problem, np.zeros((len(problem.costs), problem.num_states)), None, least)
    states = list(problem.state_labels)
    first, *others = (np.append(1.0, np.full(len(problem.bounds), price)) for price in range(6))
    told = known.together(first, states)
    for weights in others:
        known.together(weights, states)
        assert known.together(first, states).tolist() == told.tolist()
    assert len(solved) == 6
    assert told == pytest.approx(expected.least(first @ problem.costs))
