"""The optimum over mixtures of deterministic policies, all of them enumerated: a small linear program."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from hcssp.cssp.model import FloatArray


def best_mixture(costs: FloatArray, bounds: FloatArray) -> float:
    """The least primary cost of a mixture of policies that keeps the bounds; ``inf`` if there is none.

    Parameters
    ----------
    costs
        Expected costs, one row a policy, the primary first.
    bounds
        One for each secondary cost.
    """
    if not len(costs):
        return np.inf
    bounded = np.isfinite(bounds)
    answer = linprog(
        costs[:, 0],
        A_ub=costs[:, 1:][:, bounded].T,
        b_ub=bounds[bounded],
        A_eq=np.ones((1, len(costs))),
        b_eq=[1.0],
    )
    return float(answer.fun) if answer.status == 0 else np.inf
