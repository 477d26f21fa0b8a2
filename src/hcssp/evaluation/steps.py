"""Everything that can happen next when a policy is followed, and walks that draw from it.

The steps that are possible in a state are a segment of long arrays: a cumulative probability, the state that
the step leads to, the row that is taken, and what the transition costs by itself. All runs advance together;
one binary search runs through the segments of all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.chain import Policy, fitted

MOST_MOVES = 100_000_000
"""All runs together make at most as many steps: that takes some ten seconds."""


@dataclass(frozen=True, eq=False)
class Steps:
    """What can happen next, state by state.

    Attributes
    ----------
    start
        Steps ``start[s]:start[s + 1]`` are those that can happen in state ``s``.
    probabilities
        How probable each step is; those of a state sum to one.
    state
        Where each step leads.
    row
        The row that is taken with each step.
    entry
        The place of each step in the costs of single transitions; -1 if it costs what its row costs.
    """

    start: IntArray
    probabilities: FloatArray = field(repr=False)
    state: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    entry: IntArray = field(repr=False)
    _cumulated: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        running = np.cumsum(self.probabilities)
        before = np.concatenate([[0.0], running])[self.start[:-1]]
        object.__setattr__(self, "_cumulated", running - np.repeat(before, np.diff(self.start)))

    def costs(self, problem: CSSP, taken: IntArray) -> FloatArray:
        """What some steps cost, a column each: not the mean of an action, but what this outcome costs."""
        costs: FloatArray = problem.costs[:, self.row[taken]]
        if problem.transition_costs is not None:
            entry = self.entry[taken]
            costs[:, entry >= 0] = problem.transition_costs.costs[:, entry[entry >= 0]]
        return costs

    def draw(self, states: IntArray, chances: FloatArray) -> IntArray:
        """One step for each of `states`, each of which has some."""
        low, high = self.start[states], self.start[states + 1] - 1
        # The first step whose cumulated probability exceeds the chance; the last one where rounding
        # leaves the sum below it.
        while np.any(low < high):
            middle = (low + high) // 2
            above = self._cumulated[middle] > chances
            high = np.where(above, middle, high)
            low = np.where(above, low, np.minimum(middle + 1, high))
        return low

    def stuck(self, states: IntArray) -> IntArray:
        """Those of `states` in which nothing can happen."""
        stuck: IntArray = states[self.start[states] == self.start[states + 1]]
        return stuck


def steps_of(problem: CSSP, policy: Policy) -> Steps:
    """What can happen next under `policy`.

    Raises
    ------
    InvalidProblem
        If the policy does not fit the problem.
    """
    policy = fitted(problem, policy)
    if isinstance(policy, DeterministicPolicy):
        rows: IntArray = policy.rows[policy.rows != NO_ROW]
        weights = np.ones(len(rows))
    else:
        rows = np.flatnonzero(policy.probabilities > 0.0)
        weights = policy.probabilities[rows]
    found = outcomes_of_rows(problem, rows).possible()
    each = found.lengths
    counts = np.bincount(problem.row_state[rows], weights=each, minlength=problem.num_states)
    return Steps(
        start=np.concatenate([[0], np.cumsum(counts.astype(np.int64))]),
        probabilities=found.probabilities * np.repeat(weights, each),
        state=found.states,
        row=np.repeat(rows, each),
        entry=found.entry,
    )


def draw_starts(problem: CSSP, chances: FloatArray) -> IntArray:
    """First states, one for each chance."""
    possible = np.flatnonzero(problem.initial > 0.0)
    cumulated = np.cumsum(problem.initial[possible])
    drawn = np.searchsorted(cumulated, chances * cumulated[-1], side="right")
    starts: IntArray = possible[np.minimum(drawn, len(possible) - 1)]
    return starts


class Walk:
    """Runs that advance together until each has ended.

    Parameters
    ----------
    problem
        Whose states have the names, and whose goals end a run.
    steps
        What can happen next.
    starts
        The first state of each run.
    generator
        What the steps are drawn with.

    Attributes
    ----------
    runs, states
        The runs that have not ended, and where they are.
    """

    def __init__(self, problem: CSSP, steps: Steps, starts: IntArray, generator: np.random.Generator) -> None:
        self._problem = problem
        self._steps = steps
        self._generator = generator
        self.runs: IntArray = np.arange(len(starts))
        self.states = starts
        self._forget(problem.goals[starts])

    def go(self, max_steps: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Advance all runs by a step at a time: yields the runs that made one, and their steps.

        It ends after `max_steps`, or once all runs together have made :data:`MOST_MOVES`.

        Raises
        ------
        ImproperPolicy
            If a run enters a state that is no goal and in which nothing can happen.
        """
        moves = 0
        for _ in range(max_steps):
            moves += len(self.runs)
            if not len(self.runs) or moves > MOST_MOVES:
                return
            stuck = self._steps.stuck(self.states)
            if len(stuck):
                label = self._problem.state_labels[int(stuck[0])]
                raise ImproperPolicy(
                    f"the policy has no action in state {label!r}, which a run enters; give it one"
                )
            taken = self._steps.draw(self.states, self._generator.random(len(self.runs)))
            yield self.runs, taken
            self.states = self._steps.state[taken]
            self._forget(self._problem.goals[self.states])

    def _forget(self, ended: BoolArray) -> None:
        if ended.any():
            self.runs, self.states = self.runs[~ended], self.states[~ended]
