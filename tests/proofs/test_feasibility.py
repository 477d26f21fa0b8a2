from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hcssp.checker.arithmetic import excess, slack
from hcssp.checker.layout import Block
from hcssp.cssp.model import CSSP, BoolArray, FloatArray
from hcssp.proofs.potentials import feasible_values
from proof_search import ProofSearch
from random_problems import random_cssp


def block_of(rows: list[tuple[int, dict[int, float], float]], num_states: int) -> Block:
    """Rows as states, successors and costs; the last state is the goal, the others must come in order."""
    matrix = np.zeros((len(rows), num_states))
    for row, (_, successors, _) in enumerate(rows):
        for state, probability in successors.items():
            matrix[row, state] = probability
    starts = np.searchsorted([state for state, _, _ in rows], np.arange(num_states + 1))
    return Block(
        CSSP.unchecked(
            transitions=csr_array(matrix),
            row_start=starts,
            costs=np.array([[cost for _, _, cost in rows]]),
            initial=np.eye(num_states)[0],
            goals=np.arange(num_states) == num_states - 1,
            cost_names=("time",),
            bounds=np.zeros(0),
        )
    )


def mended(
    block: Block, values: FloatArray, weights: FloatArray | None = None, rows: BoolArray | None = None
) -> FloatArray:
    """The values made feasible where an exit is reached almost surely, after a check that they are."""
    weights = np.ones(1) if weights is None else weights
    alive = block.almost_sure(np.ones(block.num_rows, dtype=np.bool_) if rows is None else rows)[1]
    found = feasible_values(block, weights, values, alive)
    assert found is not None
    if alive.any():
        assert (excess(block, weights, found, np.flatnonzero(alive))[0] >= 0).all()
    return found


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-6]))
def test_noise_costs_no_more_than_itself(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    problem = random_cssp(rng, max_states=6, zero_costs=0.6)
    search = ProofSearch(problem)
    weights = np.append(rng.choice([0.0, 1.0]), rng.choice([0.0, 0.3, 2.0], problem.num_constraints))
    region = np.zeros(search.layout.flattening.num_rows, dtype=np.bool_)
    flat = search.values(weights, region)
    values = flat[search.layout.flattening.flat_state(0)]
    (block,) = search.layout.blocks
    noisy = values * (1.0 + noise * rng.uniform(-1, 1, len(values)))
    found = mended(block, np.where(problem.goals, 0.0, noisy), weights)
    # Noise may cost as often as it is met; these problems end after a few dozen steps.
    lost = np.nanmax(values - found) / (1.0 + np.nanmax(values))
    assert lost <= 300.0 * noise + 1e-7


@given(st.integers(0, 2**32 - 1))
def test_nonsense_is_lowered_until_it_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_cssp(rng)
    block = Block(problem)
    weights = rng.choice([0.0, 1.0, 1e-12, 3.7], len(block.costs))
    values = rng.choice([0.0, 1.0, 1e6, np.nan, np.inf, 1e-310, 17.0], block.num_states)
    values[problem.goals] = 0.0
    allowed = rng.random(block.num_rows) < 0.8
    mended(block, values, weights, allowed)


def test_a_row_that_hardly_moves_loses_nothing() -> None:
    stay = 1.0 - 1e-9
    # At no cost to a state worth 5; the solver is wrong in the eighth digit.
    block = block_of([(0, {0: stay, 1: 1e-9}, 0.0), (1, {2: 1.0}, 5.0)], 3)
    found = mended(block, np.array([5.0 + 3e-8, 5.0 + 1e-15, 0.0]))
    assert found[0] == pytest.approx(5.0, abs=1e-12)
    # At a small cost, paid a thousand million times.
    block = block_of([(0, {0: stay, 1: 1e-9}, 2e-9), (1, {2: 1.0}, 5.0)], 3)
    found = mended(block, np.array([7.0 + 3e-8, 5.0, 0.0]))
    assert found[0] == pytest.approx(7.0, abs=1e-12)


def test_two_states_that_hardly_let_go_lose_little() -> None:
    stay = 1.0 - 1e-9
    rows = [(0, {1: stay, 2: 1e-9}, 0.0), (1, {0: stay, 3: 1e-9}, 0.0), (2, {3: 1.0}, 1.0)]
    found = mended(block_of(rows, 4), np.array([0.5, 0.5, 1.0, 0.0]))
    # A last place of the stored numbers is worth 1e-7 here: no potential in doubles does much better.
    assert 0.5 - 1e-5 <= found[0] <= 0.5


def test_going_to_and_fro_for_nothing() -> None:
    # A corridor of ten cells: one step left or right is free, leaving costs 3 at one end and 2 at the other.
    length = 10
    rows: list[tuple[int, dict[int, float], float]] = []
    for cell in range(length):
        rows += [(cell, {min(cell + 1, length - 1): 0.9, cell: 0.1}, 0.0)]
        rows += [(cell, {max(cell - 1, 0): 0.8, min(cell + 1, length - 1): 0.2}, 0.0)]
        if cell in (0, length - 1):
            rows += [(cell, {length: 1.0}, 3.0 if cell == 0 else 2.0)]
    block = block_of(rows, length + 1)
    noisy = np.append(2.0 + 1e-13 * np.random.default_rng(0).normal(size=length), 0.0)
    found = mended(block, noisy)
    assert np.ptp(found[:length]) == 0.0
    assert 2.0 - 1e-11 <= found[0] <= 2.0
    computed, error = slack(block, np.ones(1), found)
    assert (computed >= error).all(), "without a share of the work for the integers"


def test_a_long_way_for_nothing() -> None:
    # Nobody comes back: every cell is a fair coin between the next two, the last ones cost 1 and 2.
    length = 300
    rows = [(cell, {cell + 1: 0.5, cell + 2: 0.5}, 0.0) for cell in range(length)]
    rows += [(length, {length + 2: 1.0}, 1.0), (length + 1, {length + 2: 1.0}, 2.0)]
    block = block_of(rows, length + 3)
    values = np.zeros(length + 3)
    values[length : length + 2] = 1.0, 2.0
    for cell in reversed(range(length)):
        values[cell] = 0.5 * values[cell + 1] + 0.5 * values[cell + 2]
    noisy = values * (1.0 + 1e-14 * np.random.default_rng(1).normal(size=len(values)))
    found = mended(block, noisy)
    assert values[0] - 1e-10 <= found[0] <= values[0]


def test_several_exits_keep_their_differences() -> None:
    matrix = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]])
    problem = CSSP.unchecked(
        transitions=csr_array(matrix),
        row_start=np.array([0, 2, 2, 2]),
        costs=np.array([[1.0, 3.0]]),
        initial=np.array([1.0, 0.0, 0.0]),
        goals=np.array([False, True, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
    )
    found = mended(Block(problem), np.array([106.0, 100.0, 110.0]))
    assert found.tolist()[1:] == pytest.approx([100.0, 110.0], rel=1e-12)
    assert found[0] == pytest.approx(103.0, rel=1e-8) or found[0] == pytest.approx(103.0, abs=1e-6)


def test_dead_ends_do_not_drag_others_down() -> None:
    rows = [(0, {2: 0.5, 1: 0.5}, 1.0), (0, {2: 1.0}, 3.0), (1, {1: 1.0}, 0.0)]
    found = mended(block_of(rows, 3), np.array([3.0, np.nan, 0.0]))
    assert found[0] == pytest.approx(3.0, rel=1e-12)


def test_negative_weights_bound_from_above() -> None:
    block = block_of([(0, {0: 0.5, 1: 0.5}, 1.0)], 2)
    found = mended(block, np.array([-2.0 + 1e-9, 0.0]), -np.ones(1))
    assert -2.0 - 1e-8 <= found[0] <= -2.0
    # Nothing is promised where double precision is out of its depth.
    tiny = block_of([(0, {0: 0.5, 1: 0.5}, 1e-200)], 2)
    assert feasible_values(tiny, -np.ones(1), np.array([-1e-200, 0.0]), np.array([True])) is None


def test_tiny_costs_are_no_reason_to_fail() -> None:
    block = block_of([(0, {0: 0.5, 1: 0.5}, 1e-200), (0, {1: 1.0}, 1.0)], 2)
    found = mended(block, np.array([5.0, 0.0]))
    assert 0.0 <= found[0] <= 2e-200


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_what_cannot_even_be_added_up_leaves_the_level_of_the_exit(weight: float) -> None:
    block = block_of([(0, {1: 1.0}, 1.0), (1, {2: 1.0}, 1.0)], 3)
    with np.errstate(over="ignore", invalid="ignore"):
        found = mended(block, np.array([1.7e308, -1.7e308, 5.0]), np.array([weight]))
    assert found[0] == 5.0
