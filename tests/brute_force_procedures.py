"""Every hierarchical deterministic policy of a small procedure, by code that the package does not use.

A policy is decided only where it goes: starting from the start, an undecided state that can be reached is
decided in all ways. So policies that differ only where they never go are enumerated once. The costs come
from dense linear algebra on the flattened problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.procedure import HCSSP
from unbounded import MOST_KEPT, Unbounded

TOLERANCE = 1e-9


@dataclass(frozen=True)
class AllPolicies:
    """The flat rows of every proper policy, one a line, -1 where it never goes, and its expected costs."""

    rows: IntArray
    costs: FloatArray

    def optimum(self, bounds: FloatArray) -> tuple[float, IntArray] | None:
        """The least primary cost within `bounds`, and a policy of that cost; None if none keeps them."""
        kept = np.all(self.costs[:, 1:] <= bounds + TOLERANCE * np.abs(bounds) + 1e-14, axis=1)
        if not kept.any():
            return None
        best = int(np.argmin(np.where(kept, self.costs[:, 0], np.inf)))
        return float(self.costs[best, 0]), self.rows[best]


def brute_force(problem: HCSSP) -> AllPolicies:
    """All proper policies of `problem` and what they cost."""
    return brute_force_flat(problem.flattening.cssp)


def brute_force_flat(flat: CSSP) -> AllPolicies:
    """All proper policies of a C-SSP and what they cost."""
    return _every_policy(Unbounded.of(flat))


@lru_cache(MOST_KEPT)
def _every_policy(unbounded: Unbounded) -> AllPolicies:
    flat = unbounded.problem
    rows = np.array(list(_proper_policies(flat)), dtype=np.int64).reshape(-1, flat.num_states)
    costs = _expected_costs(flat, rows)
    # They are for everybody.
    rows.setflags(write=False)
    costs.setflags(write=False)
    return AllPolicies(rows, costs)


def _proper_policies(flat: CSSP) -> Iterator[list[int]]:
    dense = flat.transitions.toarray()
    successors = [np.flatnonzero(row > 0).tolist() for row in dense]
    starts = np.flatnonzero(flat.initial > 0).tolist()
    waiting = [[-1] * flat.num_states]
    while waiting:
        policy = waiting.pop()
        reached = _reached(policy, starts, successors)
        undecided = [state for state in reached if policy[state] < 0 and not flat.goals[state]]
        if not undecided:
            if _ends(policy, reached, successors, flat):
                yield policy
            continue
        state = min(undecided)
        rows = range(int(flat.row_start[state]), int(flat.row_start[state + 1]))
        waiting += [[*policy[:state], row, *policy[state + 1 :]] for row in rows]


def _reached(policy: list[int], starts: list[int], successors: list[list[int]]) -> set[int]:
    reached = set(starts)
    waiting = list(starts)
    while waiting:
        row = policy[waiting.pop()]
        if row >= 0:
            fresh = [state for state in successors[row] if state not in reached]
            reached.update(fresh)
            waiting += fresh
    return reached


def _ends(policy: list[int], reached: set[int], successors: list[list[int]], flat: CSSP) -> bool:
    """Whether a goal can be reached from everywhere that the policy goes."""
    ending = {state for state in reached if flat.goals[state]}
    grows = True
    while grows:
        fresh = {
            state
            for state in reached - ending
            if policy[state] >= 0 and not ending.isdisjoint(successors[policy[state]])
        }
        ending |= fresh
        grows = bool(fresh)
    return ending == reached


def _expected_costs(flat: CSSP, rows: IntArray, at_once: int = 1000) -> FloatArray:
    dense = np.vstack([flat.transitions.toarray(), np.zeros(flat.num_states)])
    costs = np.hstack([flat.costs, np.zeros((len(flat.costs), 1))])
    answers = [np.zeros((0, len(flat.costs)))]
    for first in range(0, len(rows), at_once):
        # Row -1 is the row of zeros appended above: where a policy never goes, everything is zero.
        some = rows[first : first + at_once]
        values = np.linalg.solve(np.eye(flat.num_states) - dense[some], costs[:, some].transpose(1, 2, 0))
        answers.append(np.einsum("s,psc->pc", flat.initial, values))
    return np.concatenate(answers)
