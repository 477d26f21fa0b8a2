r"""What is to come at least from each state of an enumerated problem, for one cost of each row.

Two answers, both never above the expected cost to go of any policy that ends: shortest paths, as if one could
choose what happens, and expected costs, by value iteration from below.

**Rounding.** Costs are not negative, so a sum of :math:`m` terms is off by a factor of at most
:math:`1 + m \varepsilon`, and so much more after each sweep. The values are lowered by as much as all sweeps
together may have raised them; see :data:`ROUNDING`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.reachability import almost_sure

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""For each term of a sum and each sweep, values are lowered by this share. A probability is divided once,
multiplied once and added once, each time to half a unit in the last place: this is more than twice that."""

MAX_VALUE_ITERATIONS = 20_000
VALUE_ITERATION_TOLERANCE = 1e-12
"""So many sweeps of value iteration, or until no value rises by more than this share of the largest."""


class ShortestPaths:
    """The least cost of a path to a goal.

    Parameters
    ----------
    problem
        The problem.
    repeated
        Whether a row that may stay is paid until it leaves. Not for a projection, of which only what is
        possible is known, and not how probable it is.
    """

    def __init__(self, problem: CSSP, repeated: bool) -> None:
        self._goals, self._repeated = problem.goals, repeated
        transitions = problem.transitions
        row = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
        leaves = (transitions.indices != problem.row_state[row]) & (transitions.data > 0.0)
        row, self._heads = row[leaves], transitions.indices[leaves]
        self._moving, self._starts = np.unique(row, return_index=True)
        leaving = np.bincount(row, weights=transitions.data[leaves], minlength=problem.num_rows)
        self._leaving: FloatArray = leaving[self._moving]
        owner = problem.row_state[self._moving]
        self._begins = np.flatnonzero(np.diff(owner, prepend=-1))
        self._states = owner[self._begins]
        self._terms = 2 + int(np.diff(transitions.indptr).max(initial=0))

    def least(self, row_costs: FloatArray) -> FloatArray:
        """For each state the cost of the shortest path, by sweeps from the goals; 0 where there is none."""
        value = np.where(self._goals, 0.0, np.inf)
        paid = row_costs[self._moving] / (self._leaving if self._repeated else 1.0)
        sweeps = 0
        while len(self._moving):
            sweeps += 1
            after = np.minimum.reduceat(value[self._heads], self._starts)
            least = np.minimum.reduceat(paid + after, self._begins)
            if not np.any(least < value[self._states]):
                break
            value[self._states] = np.minimum(least, value[self._states])
        return np.where(np.isfinite(value), value * max(1.0 - ROUNDING * (self._terms + sweeps), 0.0), 0.0)


class ExpectedCosts:
    """The least expected cost until a goal, but for what value iteration from nothing has not found yet.

    Every sweep gives numbers that no policy is below, and that promise no more than a step and what they
    promise after it, so it may end whenever it likes. It ends when they have settled wherever a goal can be
    reached with certainty; elsewhere they grow for ever. How long a row stays in its state is not waited for:
    it costs as much more.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: CSSP) -> None:
        counts = np.where(problem.goals, 0, np.diff(problem.row_start))
        # The states with most rows come first, and the first rows of all states before the second ones: so
        # the least of each state's rows is found by comparing long pieces, five times as fast as one by one.
        self._order = np.argsort(-counts, kind="stable")
        place = np.empty(len(counts), dtype=np.int64)
        place[self._order] = np.arange(len(counts))
        ordered, starts = counts[self._order], problem.row_start[:-1][self._order]
        self._having = [int(np.count_nonzero(ordered > rank)) for rank in range(int(counts.max(initial=0)))]
        pieces = [starts[:number] + rank for rank, number in enumerate(self._having)]
        self._rows = np.concatenate([np.zeros(0, dtype=np.int64), *pieces])
        owner = place[problem.row_state[self._rows]]
        steps = problem.transitions[self._rows].tocoo()
        heads = place[steps.col]
        stays = heads == owner[steps.row]
        leaving = np.bincount(steps.row[~stays], weights=steps.data[~stays], minlength=len(self._rows))
        # A row that never leaves is paid again with every sweep.
        used = ~stays | (leaving == 0.0)[steps.row]
        self._leaving: FloatArray = np.where(leaving > 0.0, leaving, 1.0)
        row = steps.row[used]
        self._matrix = csr_array(
            (steps.data[used] / self._leaving[row], (row, heads[used])),
            shape=(len(self._rows), problem.num_states),
        )
        self._certain = almost_sure(problem).states[self._order]
        self._stuck = ~problem.goals[self._order] & (ordered == 0)
        self._terms = 2 + int(np.diff(self._matrix.indptr).max(initial=0))

    def least(self, row_costs: FloatArray) -> FloatArray:
        """For each state what is to be paid at least in expectation; finite also where no policy ends."""
        value = np.zeros(len(self._order))
        if not len(self._rows):
            return value
        paid = row_costs[self._rows] / self._leaving
        acting = slice(0, self._having[0])
        certain = self._certain[acting]
        sweeps = 0
        for sweeps in range(1, MAX_VALUE_ITERATIONS + 1):
            least = self._least_rows(paid + self._matrix @ value)
            rise = float(np.max(least - value[acting], where=certain, initial=0.0))
            np.maximum(value[acting], least, out=value[acting])
            # Where nothing can be done any number is right: no policy ends.
            value[self._stuck] = sweeps * float(paid.max())
            if rise <= VALUE_ITERATION_TOLERANCE * float(np.max(least, where=certain, initial=0.0)):
                break
        found = np.empty(len(value))
        found[self._order] = value * max(1.0 - ROUNDING * self._terms * sweeps, 0.0)
        return found

    def _least_rows(self, options: FloatArray) -> FloatArray:
        """The least option of each state that has rows."""
        least: FloatArray = options[: self._having[0]].copy()
        begin = self._having[0]
        for number in self._having[1:]:
            np.minimum(least[:number], options[begin : begin + number], out=least[:number])
            begin += number
        return least
