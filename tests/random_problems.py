"""Small random C-SSPs that are nasty on purpose: dead ends, ties, zero costs, several goals, tight bounds.

A seed names a problem for good: the same seed gives the same problem.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from hypothesis import strategies
from scipy.sparse import csr_array

from brute_force import brute_force
from hcssp.cssp.model import CSSP
from unbounded import MOST_KEPT

_WEIGHTS = np.array([1.0, 1.0, 2.0, 3.0, 5.0])


def random_cssp(
    seed: int | np.random.Generator,
    *,
    max_states: int = 7,
    max_actions: int = 4,
    max_constraints: int = 3,
    min_constraints: int = 1,
    infeasible: float = 0.15,
    zero_costs: float = 0.3,
) -> CSSP:
    """A random problem whose start has a proper policy.

    Parameters
    ----------
    seed
        Names the problem.
    max_states, max_actions, max_constraints, min_constraints
        Its size: 2 to `max_states` states, 1 to `max_actions` actions a state.
    infeasible
        The probability that a bound is drawn below its least achievable value.
    zero_costs
        The probability that the problem has rows whose primary cost is zero.
    """
    sizes = (max_states, max_actions, min_constraints, max_constraints)
    if isinstance(seed, np.random.Generator):
        return _drawn(seed, sizes, infeasible, zero_costs)
    return _named(seed, sizes, infeasible, zero_costs)


@lru_cache(MOST_KEPT)
def _named(seed: int, sizes: tuple[int, int, int, int], infeasible: float, zero_costs: float) -> CSSP:
    """Problems cannot be changed, so that all tests may share them."""
    return _drawn(np.random.default_rng(seed), sizes, infeasible, zero_costs)


def _drawn(
    rng: np.random.Generator, sizes: tuple[int, int, int, int], infeasible: float, zero_costs: float
) -> CSSP:
    while True:
        problem = _unbounded(rng, *sizes, zero_costs)
        truth = brute_force(problem)
        if truth.status == "optimal" and (len(truth.costs) > 1 or rng.random() < 0.1):
            return replace(problem, bounds=_tight_bounds(rng, truth.costs, infeasible))


def cssps(**options: float) -> strategies.SearchStrategy[CSSP]:
    """A hypothesis strategy of the problems of :func:`random_cssp`; it shows the seed of a failure."""
    return strategies.integers(0, 2**32 - 1).map(lambda seed: random_cssp(seed, **options))


def _unbounded(
    rng: np.random.Generator,
    max_states: int,
    max_actions: int,
    min_constraints: int,
    max_constraints: int,
    zero_costs: float,
) -> CSSP:
    num_states = int(max(rng.integers(2, max_states + 1, size=2)))
    num_goals = int(rng.integers(1, 1 + max(1, num_states // 3)))
    num_constraints = int(rng.integers(min_constraints, max_constraints + 1))
    goals = np.zeros(num_states, dtype=bool)
    goals[rng.choice(num_states, num_goals, replace=False)] = True
    inner = np.flatnonzero(~goals)
    dead_end = int(rng.choice(inner)) if len(inner) > 2 and rng.random() < 0.3 else -1
    primary = np.array([0.0, 1.0, 2.0]) if rng.random() < zero_costs else np.array([1.0, 1.0, 2.0, 3.0])
    secondary = np.array([0.0, 0.0, 1.0, 2.0, 5.0])

    probabilities: list[np.ndarray] = []
    costs: list[np.ndarray] = []
    row_start = [0]
    for state in range(num_states):
        if state == dead_end:
            probabilities.append(np.eye(num_states)[state])
            costs.append(np.ones(1 + num_constraints))
        elif not goals[state]:
            for action in range(int(max(rng.integers(1, max_actions + 1, size=2)))):
                if action and rng.random() < 0.1:  # the same action once more, under another name
                    probabilities.append(probabilities[-1])
                    costs.append(costs[-1])
                    continue
                row = np.zeros(num_states)
                successors = rng.choice(
                    num_states, int(rng.integers(1, min(3, num_states) + 1)), replace=False
                )
                row[successors] = rng.choice(_WEIGHTS, len(successors))
                probabilities.append(row / row.sum())
                drawn = rng.choice(secondary, num_constraints)
                costs.append(np.concatenate([rng.choice(primary, 1), drawn]))
        row_start.append(len(probabilities))

    initial = np.zeros(num_states)
    if rng.random() < 0.2:
        initial[rng.choice(num_states, 2, replace=False)] = [0.25, 0.75]
    else:
        initial[rng.choice(inner)] = 1.0
    return CSSP(
        transitions=csr_array(np.array(probabilities)),
        row_start=np.array(row_start),
        costs=np.array(costs).T,
        initial=initial,
        goals=goals,
        cost_names=("time", *(f"risk {i}" for i in range(1, 1 + num_constraints))),
        bounds=np.full(num_constraints, np.inf),
        state_labels=tuple(f"s{i}" for i in range(num_states)),
    )


def _tight_bounds(rng: np.random.Generator, costs: np.ndarray, infeasible: float) -> np.ndarray:
    """Bounds between the least value of each cost and its value where time alone matters."""
    fastest = costs[np.argmin(costs[:, 0]), 1:]
    least = costs[:, 1:].min(axis=0)
    share = rng.random(len(least))
    bounds = np.where(fastest <= least, least + share, least + share * (fastest - least))
    kind = rng.random()
    if kind < infeasible:
        index = rng.integers(len(bounds))
        bounds[index] = least[index] * share[index]
    elif kind < 0.9:
        # Some slower policy keeps all bounds, at times one of them exactly.
        kept = rng.choice(costs[costs[:, 0] > costs[:, 0].min()] if np.ptp(costs[:, 0]) else costs)[1:]
        bounds = np.maximum(bounds, kept)
    return bounds
