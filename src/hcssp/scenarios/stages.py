"""Stages, each passed by one of several actions: problems whose searches are long for their size.

A little like packing a knapsack, which is what makes them hard: every action is quick or saves some budget,
and some skip a stage by chance.

>>> stages(5).num_states, stages(5).num_constraints
(6, 2)
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP


def stages(
    count: int, actions: int = 3, constraints: int = 2, seed: int = 0, *, tightness: float = 0.5
) -> CSSP:
    """Random stages in a row.

    Parameters
    ----------
    count, actions
        How many stages, and actions in each.
    constraints
        How many secondary costs are bounded.
    seed
        The same seed gives the same problem.
    tightness
        The bounds lie so far between the least that can be kept and the average; below 0 nothing keeps them.
    """
    rng = np.random.default_rng(seed)
    stage = np.repeat(np.arange(count), actions)
    skipped = np.where(stage + 2 <= count, rng.uniform(0.0, 0.2, len(stage)), 0.0)
    rows = np.arange(len(stage))
    successors = np.concatenate([stage + 1, np.minimum(stage + 2, count)])
    chances = np.concatenate([1.0 - skipped, skipped])
    transitions = csr_array((chances, (np.tile(rows, 2), successors)), (len(rows), count + 1))
    costs = np.vstack([rng.uniform(1.0, 10.0, len(rows)), rng.uniform(0.0, 10.0, (constraints, len(rows)))])
    least = costs[1:].reshape(constraints, count, actions).min(axis=2).sum(axis=1)
    average = costs[1:].sum(axis=1) / actions
    return CSSP(
        transitions=transitions,
        row_start=np.append(np.arange(0, len(rows) + 1, actions), len(rows)),
        costs=costs,
        initial=np.eye(1, count + 1)[0],
        goals=np.arange(count + 1) == count,
        cost_names=("time", *(f"budget {number}" for number in range(constraints))),
        bounds=0.9 * (least + tightness * (average - least)),
    )
