"""Random problems of some dozens of states in which every policy reaches a goal, whatever it does."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, IntArray


def proper_problem(
    seed: int, *, num_states: int = 60, max_actions: int = 4, num_successors: int = 3, same: bool = False
) -> CSSP:
    """A problem with two goals, the last states; every action leads further with probability 0.1 at least.

    Parameters
    ----------
    seed
        Names the problem.
    num_states, max_actions, num_successors
        Its size: 1 to `max_actions` actions a state, up to one more than `num_successors` successors each.
    same
        Whether all states have the same number of actions.
    """
    rng = np.random.default_rng(seed)
    inner = num_states - 2
    counts = np.full(inner, max_actions) if same else rng.integers(1, max_actions + 1, size=inner)
    transitions = np.zeros((int(counts.sum()), num_states))
    for row, state in enumerate(np.repeat(np.arange(inner), counts)):
        successors = rng.choice(num_states, num_successors, replace=False)
        transitions[row, successors] = rng.dirichlet(np.ones(num_successors))
        transitions[row] *= 0.9
        transitions[row, rng.integers(state + 1, num_states)] += 0.1
    initial = np.zeros(num_states)
    initial[rng.choice(num_states, 3, replace=False)] = [0.5, 0.3, 0.2]
    return CSSP(
        transitions=csr_array(transitions),
        row_start=np.concatenate([[0], np.cumsum(counts), [len(transitions)] * 2]),
        costs=rng.choice([0.0, 0.5, 1.0, 2.0, 7.0], size=(3, len(transitions))),
        initial=initial,
        goals=np.arange(num_states) >= inner,
        cost_names=("time", "damage", "fuel"),
        bounds=np.full(2, np.inf),
    )


def random_rows(problem: CSSP, rng: np.random.Generator) -> IntArray:
    """A row for each state that is no goal, drawn evenly."""
    live = np.flatnonzero(~problem.goals)
    return rng.integers(problem.row_start[live], problem.row_start[live + 1])
