"""Every deterministic policy of a small C-SSP, by enumeration and dense linear algebra.

The judge of all solvers in the tests: it shares no code with the package beyond the arrays of the
problem. Policies that differ only where they never go are one policy; improper ones are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from unbounded import MOST_KEPT, Unbounded

TOLERANCE = 1e-9
"""A bound may be exceeded by this share of it: the library's documented tolerance."""

NOISE = 1e-14
"""What dense algebra may leave of a cost of nothing."""

MAX_POLICIES = 5000


@dataclass(frozen=True, eq=False)
class BruteForce:
    """All there is to know about a small problem.

    Attributes
    ----------
    status
        "optimal", "infeasible" (there are proper policies, none keeps the bounds) or "dead end" (no
        policy is proper).
    value
        The optimum over deterministic policies, ``inf`` if there is none.
    policy
        One row for each state (-1 where it never goes) of an optimal policy, or None.
    policies, costs
        All proper policies, and their expected costs, one row a policy, the primary first.
    """

    status: str
    value: float
    policy: np.ndarray | None
    policies: np.ndarray
    costs: np.ndarray


def brute_force(problem: CSSP) -> BruteForce:
    """Enumerate, evaluate, and take the best."""
    policies, costs = _every_policy(Unbounded.of(problem))
    if not len(policies):
        return BruteForce("dead end", np.inf, None, policies, costs)
    allowed = problem.bounds + TOLERANCE * np.abs(problem.bounds) + NOISE
    feasible = np.flatnonzero((costs[:, 1:] <= allowed).all(axis=1))
    if not len(feasible):
        return BruteForce("infeasible", np.inf, None, policies, costs)
    best = feasible[np.argmin(costs[feasible, 0])]
    return BruteForce("optimal", float(costs[best, 0]), policies[best], policies, costs)


@lru_cache(MOST_KEPT)
def _every_policy(unbounded: Unbounded) -> tuple[np.ndarray, np.ndarray]:
    """All proper policies, and their costs; both are for everybody, and cannot be changed."""
    policies, costs = _evaluate_all(unbounded.problem, _behaviours(unbounded.problem))
    policies.setflags(write=False)
    costs.setflags(write=False)
    return policies, costs


def _behaviours(problem: CSSP) -> np.ndarray:
    """All ways to act, told apart only where they go. A state without actions ends a way as improper."""
    dense = problem.transitions.toarray()
    found: list[np.ndarray] = []
    unfinished = [np.full(problem.num_states, NO_ROW)]
    while unfinished:
        rows = unfinished.pop()
        undecided = [s for s in _reached(problem, dense, rows) if rows[s] == NO_ROW and not problem.goals[s]]
        if not undecided:
            found.append(rows)
            if len(found) > MAX_POLICIES:
                raise ValueError(f"more than {MAX_POLICIES} policies; brute force is for small problems")
            continue
        state = undecided[0]
        for row in range(problem.row_start[state], problem.row_start[state + 1]):
            extended = rows.copy()
            extended[state] = row
            unfinished.append(extended)
    return np.array(found, dtype=np.int64).reshape(-1, problem.num_states)


def _reached(problem: CSSP, dense: np.ndarray, rows: np.ndarray) -> list[int]:
    reached = [int(state) for state in np.flatnonzero(problem.initial > 0.0)]
    for state in reached:  # grows while it is read
        if rows[state] != NO_ROW:
            reached.extend(int(t) for t in np.flatnonzero(dense[rows[state]] > 0.0) if t not in reached)
    return reached


def _evaluate_all(problem: CSSP, policies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The proper ones among `policies`, and their costs."""
    dense = problem.transitions.toarray()
    acts = (policies != NO_ROW)[:, :, np.newaxis]
    chains = np.where(acts, dense[policies], 0.0)
    # A goal is within reach of a state if it is so after as many steps as there are states.
    near_goal = np.broadcast_to(problem.goals.astype(float), policies.shape)
    for _ in range(problem.num_states):
        near_goal = ((chains @ near_goal[:, :, np.newaxis])[:, :, 0] + near_goal > 0.0).astype(float)
    proper = ((policies == NO_ROW) | (near_goal > 0.0)).all(axis=1)
    policies, chains = policies[proper], chains[proper]
    step_costs = np.where(acts[proper], problem.costs.T[policies], 0.0)
    values = np.linalg.solve(np.eye(problem.num_states) - chains, step_costs)
    return policies, np.einsum("s,psc->pc", problem.initial, values)
