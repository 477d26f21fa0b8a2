"""What the tests of both ways to evaluate policies share: dense solves, altered policies, a circle."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.ssp.balance import Balance
from proper_problems import random_rows


def dense_values(balance: Balance, rows: IntArray) -> FloatArray:
    return np.linalg.solve(balance.matrix.toarray()[rows], balance.costs[:, rows].T)


def dense_visits(balance: Balance, rows: IntArray) -> FloatArray:
    return np.linalg.solve(balance.matrix.toarray()[rows].T, balance.initial)


def altered(problem: CSSP, rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """`rows` drawn anew in `count` states."""
    states = rng.choice(len(rows), count, replace=False)
    changed = rows.copy()
    changed[states] = random_rows(problem, rng)[states]
    return changed


def circle() -> CSSP:
    """Two states, each with an action to the other and one out; the second may also leave very seldom."""
    return CSSP(
        transitions=csr_array(
            np.array(
                [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.9999, 1e-4]]
            )
        ),
        row_start=np.array([0, 2, 5, 5]),
        costs=np.ones((2, 5)),
        initial=np.array([0.25, 0.75, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
    )
