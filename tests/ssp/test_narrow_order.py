from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, IntArray
from hcssp.evaluation.linear_systems import Layers
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem

COUNT = 3_000


def line_or_jumps() -> CSSP:
    """A line along which one goes by steps, or falls back by up to thirty of them."""
    state = np.arange(COUNT)
    back = np.maximum(state - np.random.default_rng(0).integers(1, 31, COUNT), 0)
    heads = np.stack([state + 1, state + 1, back], axis=1).ravel()
    odds = np.tile([1.0, 0.98, 0.02], COUNT)
    rows = np.stack([2 * state, 2 * state + 1, 2 * state + 1], axis=1).ravel()
    return CSSP(
        transitions=csr_array((odds, (rows, heads)), shape=(2 * COUNT, COUNT + 1)),
        row_start=np.append(np.arange(0, 2 * COUNT + 1, 2), 2 * COUNT),
        costs=np.ones((1, 2 * COUNT)),
        initial=np.eye(1, COUNT + 1)[0],
        goals=np.arange(COUNT + 1) == COUNT,
        cost_names=("time",),
        bounds=np.zeros(0),
    )


def falling(often: float, seed: int) -> IntArray:
    """A policy that may fall back in some states."""
    return 2 * np.arange(COUNT) + (np.random.default_rng(seed).random(COUNT) < often)


def test_one_ordering_serves_all_policies_along_a_line() -> None:
    balance = Balance(line_or_jumps())
    order = Layers(balance.graph).narrow_order()
    assert order is not None
    system = PolicySystem(balance, order)
    for often in (0.0, 0.5, 1.0):
        rows = falling(often, seed=3)
        costs, matrix = balance.costs[0][rows], balance.matrix[rows]
        values, visits = system.values(rows, 0.0)[:, 0], system.visits(rows)
        np.testing.assert_allclose(matrix @ values, costs, rtol=1e-9)
        np.testing.assert_allclose(visits @ matrix, balance.initial, rtol=1e-9, atol=1e-9)
