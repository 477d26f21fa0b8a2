"""Drawing starts, actions and successors for many runs at once.

The outcomes of each row are a segment of one long array of cumulative probabilities; one binary search
runs through the segments of all runs together.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.chain import Policy, checked_probabilities, checked_rows


class Dice:
    """What happens next when a policy is followed.

    Parameters
    ----------
    problem, policy
        What is followed.

    Raises
    ------
    InvalidProblem
        If the policy does not fit the problem.
    """

    def __init__(self, problem: CSSP, policy: Policy) -> None:
        self._problem = problem
        transitions = problem.transitions.copy()
        transitions.eliminate_zeros()
        self._targets: IntArray = transitions.indices.astype(np.int64)
        self._row_bounds: IntArray = transitions.indptr.astype(np.int64)
        self._cumulative = _cumulative(transitions.data, self._row_bounds)
        if isinstance(policy, DeterministicPolicy):
            self._fixed: IntArray | None = checked_rows(problem, policy)
        else:
            self._fixed = None
            probabilities = checked_probabilities(problem, policy)
            self._choices: IntArray = np.flatnonzero(probabilities > 0.0)
            counts = np.bincount(problem.row_state[self._choices], minlength=problem.num_states)
            self._choice_bounds: IntArray = np.concatenate([[0], np.cumsum(counts)])
            self._choice_cumulative = _cumulative(probabilities[self._choices], self._choice_bounds)

    def starts(self, chances: FloatArray) -> IntArray:
        """First states."""
        possible = np.flatnonzero(self._problem.initial > 0.0)
        cumulative = np.cumsum(self._problem.initial[possible])
        drawn = np.searchsorted(cumulative, chances * cumulative[-1], side="right")
        starts: IntArray = possible[np.minimum(drawn, len(possible) - 1)]
        return starts

    def rows(self, states: IntArray, rng: np.random.Generator) -> IntArray:
        """The rows taken in `states`."""
        if self._fixed is not None:
            rows = self._fixed[states]
            self._require_action(states, rows != NO_ROW)
            return rows
        first, last = self._choice_bounds[states], self._choice_bounds[states + 1]
        self._require_action(states, last > first)
        return self._choices[_search(self._choice_cumulative, first, last, rng.random(len(states)))]

    def successors(self, rows: IntArray, chances: FloatArray) -> IntArray:
        """The states that `rows` lead to."""
        first, last = self._row_bounds[rows], self._row_bounds[rows + 1]
        return self._targets[_search(self._cumulative, first, last, chances)]

    def _require_action(self, states: IntArray, acts: BoolArray) -> None:
        if not acts.all():
            label = self._problem.state_labels[int(states[np.argmin(acts)])]
            raise ImproperPolicy(
                f"the policy has no action in state {label!r}, which a run enters; give it one"
            )


def _cumulative(weights: FloatArray, bounds: IntArray) -> FloatArray:
    """Cumulative sums within each segment."""
    running = np.cumsum(weights)
    before = np.concatenate([[0.0], running])[bounds[:-1]]
    cumulative: FloatArray = running - np.repeat(before, np.diff(bounds))
    return cumulative


def _search(cumulative: FloatArray, first: IntArray, last: IntArray, chances: FloatArray) -> IntArray:
    """In each segment ``first:last``, the first entry above the chance; a binary search of all at once."""
    low, high = first, last - 1
    while np.any(low < high):
        middle = (low + high) // 2
        above = cumulative[middle] > chances
        high = np.where(above, middle, high)
        low = np.where(above, low, np.minimum(middle + 1, high))
    return low
