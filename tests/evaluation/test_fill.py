from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hazard_grid import hazard_grid
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import prepare
from hcssp.evaluation.absorption import absorb
from hcssp.evaluation.linear_systems import EVALUATION, Layers
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem, SweepSystem
from hcssp.ssp.policy_iteration import PolicyIteration


def problem_of(heads: np.ndarray) -> CSSP:
    """One row for each state, which leads to each of its `heads`, the last state being the goal."""
    count, successors = heads.shape
    pointers = np.arange(0, count * successors + 1, successors)
    data = np.full(count * successors, 1.0 / successors)
    transitions = csr_array((data, heads.ravel(), pointers), shape=(count, count + 1))
    transitions.sum_duplicates()
    return CSSP(
        transitions=transitions,
        row_start=np.append(np.arange(count + 1), count),
        costs=np.ones((1, count)),
        initial=np.eye(1, count + 1)[0],
        goals=np.arange(count + 1) == count,
        cost_names=("time",),
        bounds=np.zeros(0),
    )


def anywhere(count: int) -> np.ndarray:
    heads = np.random.default_rng(0).integers(0, count + 1, (count, 3))
    heads[:, 0] = np.where(np.arange(count) % 4 == 0, count, heads[:, 0])
    return heads


def test_steps_that_lead_anywhere_fill_in_and_are_swept() -> None:
    balance = Balance(prepare(problem_of(anywhere(2 * EVALUATION.small))).problem)
    assert Layers(balance.graph).fill_in
    assert isinstance(PolicyIteration(balance).system, SweepSystem)


@pytest.mark.parametrize("seed", range(4))
def test_a_single_policy_whose_steps_lead_anywhere_fills_in(seed: int) -> None:
    count = 2 * EVALUATION.small
    rng = np.random.default_rng(seed)
    # Some of the steps end, so that fewer than three lead on.
    heads = rng.integers(0, count, 3 * count)[rng.random(3 * count) < 0.78]
    tails = np.sort(rng.integers(0, count, len(heads)))
    assert Layers(csr_array((np.ones(len(heads)), (tails, heads)), shape=(count, count))).fill_in


def test_small_problems_are_factorised_whatever_the_fill() -> None:
    balance = Balance(prepare(problem_of(anywhere(EVALUATION.small // 2))).problem)
    assert not Layers(balance.graph).fill_in
    assert isinstance(PolicyIteration(balance).system, PolicySystem)


def tree(count: int) -> np.ndarray:
    parent = (np.arange(count) - 1) // 2
    return np.stack([np.where(np.arange(count) == 0, count, parent), np.full(count, count)], axis=1)


def line_with_restarts(count: int) -> np.ndarray:
    # From everywhere one may be sent back to the start, which is a neighbour of all.
    return np.stack([np.arange(1, count + 1), np.zeros(count, dtype=np.int64)], axis=1)


@pytest.mark.parametrize(
    "heads", [line_with_restarts(3 * EVALUATION.small), tree(3 * EVALUATION.small)], ids=["restarts", "tree"]
)
def test_lines_with_restarts_and_trees_do_not_fill_in(heads: np.ndarray) -> None:
    assert not Layers(Balance(problem_of(heads)).graph).fill_in


def test_grids_do_not_fill_in() -> None:
    balance = Balance(prepare(hazard_grid(60, 60)).problem)
    assert balance.num_live > EVALUATION.small
    assert not Layers(balance.graph).fill_in


def test_the_mean_width_is_that_of_the_narrow_side() -> None:
    assert Layers(Balance(problem_of(line_with_restarts(500))).graph).mean_width == 1.0
    slim, square = (
        Balance(prepare(hazard_grid(width, height)).problem).graph for width, height in ((400, 4), (40, 40))
    )
    assert 3.0 < Layers(slim).mean_width < 5.0
    assert Layers(square).mean_width == pytest.approx(EVALUATION.grid_width * 40, rel=0.1)


def test_a_corridor_is_narrow_wherever_it_begins() -> None:
    corridor = Balance(prepare(hazard_grid(300, 16)).problem).graph
    for start in (0, corridor.shape[0] // 2, corridor.shape[0] - 1):
        assert Layers(corridor, start).mean_width < 20.0


def test_layers_that_hold_few_of_the_states_tell_nothing() -> None:
    apart = csr_array((np.ones(2), ([0, 2], [1, 3])), shape=(4, 4))
    assert Layers(apart).mean_width == np.inf


def test_a_chain_that_leads_anywhere_is_evaluated_as_precisely_without_factors() -> None:
    problem = problem_of(anywhere(EVALUATION.small + 500))
    inner = np.flatnonzero(~problem.goals)
    moves = problem.transitions
    pointers = np.append(moves.indptr, moves.nnz)
    chain = csr_array((moves.data, moves.indices, pointers), shape=(problem.num_states, problem.num_states))
    found = absorb(chain, inner, problem.initial, problem.costs)
    dense = np.linalg.solve(np.eye(len(inner)) - chain[inner][:, inner].toarray(), np.ones(len(inner)))
    assert found.error <= 1e-12
    assert found.values[:, 0] == pytest.approx(dense, rel=1e-11)
    assert found.totals[0] == pytest.approx(dense[0], rel=1e-11)
