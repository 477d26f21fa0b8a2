r"""The greatest reward that can still be had from every state, by policy iteration.

**Problem.** Rows of states with a reward of either sign each and probabilities of going on to other states,
some of which lead to the goal, where nothing more is to be had. Wanted is the least :math:`V` with
:math:`V = 0` at the goal and :math:`V(s) \ge r(s, a) + \sum_{s'} P(s, a, s') V(s')` for every row: the
greatest expected reward of all policies that end.

**Method.** Policy iteration from a policy that ends. Between two evaluations the improvements are carried on
by sweeps over all rows, which are far cheaper and never too high.

**Guarantee.** If the rows that improve on a policy that ends make one that does not, it runs for ever in a
loop, along which the values rise on the average by what the loop gains: so it gains, and
:class:`GainingLoop` names its rows. Otherwise the values rise until no row improves them by more than a
tolerance. They are not believed by those who use them, see :mod:`hcssp.solving.reward_potential`.

**Reference.** Howard 1960; Puterman and Shin 1978 for the sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.absorption import Products, factorised
from hcssp.cssp.factorisation import Layers
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.reachability import closure
from hcssp.ssp.policy_iteration import SWALLOWED, path_lengths

MAX_EVALUATIONS = 400
MAX_SWEEPS = 200

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""What rounding leaves of a difference between values, relative to the largest."""

STOP = -1
"""In place of a row: the state takes what it is guaranteed."""


class GainingLoop(Exception):
    """A policy that improves and improves because it runs for ever.

    Attributes
    ----------
    rows
        The rows of its loop.
    gain
        What a step of the loop gains, on the average.
    """

    def __init__(self, rows: IntArray, gain: float) -> None:
        super().__init__(f"a loop of {len(rows)} rows gains {gain} with every step")
        self.rows = rows
        self.gain = gain


class NoAnswer(Exception):
    """Policy iteration came to no end in double precision."""


@dataclass(frozen=True, eq=False)
class RewardRows:
    """Rows with rewards, between states of which the last is the goal.

    Attributes
    ----------
    onwards
        The probabilities of going to other states, one matrix row each; those of the goal included.
    state
        The state of each row, ascending; every state but the goal has one.
    rewards
        What each row gains.
    """

    onwards: SparseMatrix
    state: IntArray
    rewards: FloatArray

    @property
    def num_states(self) -> int:
        """The number of states, without the goal."""
        return int(self.onwards.shape[1]) - 1

    def lacking(self, values: FloatArray) -> FloatArray:
        """How much more each row gives than the value of its state, negative where it gives less."""
        return np.asarray(self.rewards + self.onwards @ values - values[self.state])


class GreatestReward:
    """Finds the greatest rewards, again and again as states are guaranteed more.

    Parameters
    ----------
    rows
        What can be done; from every state the goal can be reached.
    tolerance
        Improvements that are not above it are left alone.
    """

    def __init__(self, rows: RewardRows, tolerance: float) -> None:
        self._rows = rows
        self._tolerance = tolerance
        self._first = np.searchsorted(rows.state, np.arange(rows.num_states))
        # As for costs: a step that is likely to be made is short, and every path comes closer to its end.
        matrix = rows.onwards
        entry_row = np.repeat(np.arange(len(rows.state)), np.diff(matrix.indptr))
        steps = 1.0 / matrix.data
        lengths = path_lengths(rows.num_states, rows.state[entry_row], matrix.indices, steps)
        if SWALLOWED * max(lengths.max(), steps.max(initial=1.0)) >= 1.0:
            # Every step counts the same, or rounding might let a path run in circles.
            steps = np.ones(len(steps))
            lengths = path_lengths(rows.num_states, rows.state[entry_row], matrix.indices, steps)
        through = np.full(len(rows.state), np.inf)
        np.minimum.at(through, entry_row, lengths[matrix.indices] + steps)
        _, self._policy = self._best(-through)

    def values(self, guaranteed: FloatArray) -> FloatArray:
        """The greatest reward from every state and the goal, if none gets less than it is guaranteed.

        Raises
        ------
        GainingLoop
            If there is none.
        NoAnswer
            If it is not found in double precision.
        """
        rows, count = self._rows, self._rows.num_states
        for _ in range(MAX_EVALUATIONS):
            values = self._evaluated(guaranteed)
            # What rounding may leave of a difference is no improvement.
            tolerance = max(self._tolerance, ROUNDING * float(np.abs(values).max()))
            improved = False
            for _ in range(MAX_SWEEPS):
                best, chosen = self._best(rows.lacking(values))
                better = best > tolerance
                stops = guaranteed - values[:count] > np.maximum(best, tolerance)
                changed = better | stops
                if not changed.any():
                    break
                improved = True
                self._policy = np.where(stops, STOP, np.where(better, chosen, self._policy))
                values[:count] = np.where(stops, guaranteed, values[:count] + np.where(better, best, 0.0))
            if not improved:
                return values
        raise NoAnswer

    def _best(self, lacking: FloatArray) -> tuple[FloatArray, IntArray]:
        """The most that a row of each state gives, and the first such row."""
        best: FloatArray = np.maximum.reduceat(lacking, self._first)
        attaining = np.flatnonzero(lacking == best[self._rows.state])
        chosen = np.empty(len(best), dtype=np.int64)
        chosen[self._rows.state[attaining[::-1]]] = attaining[::-1]
        return best, chosen

    def _evaluated(self, guaranteed: FloatArray) -> FloatArray:
        """What the present policy gives from every state, and at the goal."""
        count, acts = self._rows.num_states, self._policy != STOP
        taken = self._rows.onwards[np.where(acts, self._policy, 0)]
        taken = csr_array(csr_array(acts.astype(np.float64)[:, np.newaxis] * taken))
        taken.eliminate_zeros()
        self._refuse_loops(taken, acts)
        onwards = csr_array(taken[:, :count])
        rewards = np.where(acts, self._rows.rewards[np.maximum(self._policy, 0)], guaranteed)
        found: FloatArray = np.full(count, np.nan)
        if Layers(onwards).fill_in:
            ends = ~acts | (np.diff(onwards.indptr) < np.diff(taken.indptr))
            found = Products(onwards, ends).solve(rewards, trans="T")
        if not np.isfinite(found).all():
            factors = factorised(onwards)
            found = found if factors is None else factors.solve(rewards, trans="T")
        if not np.isfinite(found).all():
            raise NoAnswer
        return np.append(found, 0.0)

    def _refuse_loops(self, taken: SparseMatrix, acts: BoolArray) -> None:
        """See that the policy ends."""
        count = self._rows.num_states
        square = csr_array(
            (taken.data, taken.indices, np.append(taken.indptr, taken.nnz)), shape=(count + 1,) * 2
        )
        ends = closure(csr_array(square.T), np.append(~acts, True))
        if ends.all():
            return
        _, part = connected_components(square, connection="strong")
        tails = np.repeat(np.arange(count + 1), np.diff(square.indptr))
        left = np.zeros(part.max() + 1, dtype=np.bool_)
        left[part[tails[part[tails] != part[square.indices]]]] = True
        # A part from which no step leads away and no goal is reached: there it stays for ever.
        loop = np.flatnonzero(part == part[np.flatnonzero(~ends & ~left[part])[0]])
        raise GainingLoop(self._policy[loop], self._gain(csr_array(square[loop][:, loop]), loop))

    def _gain(self, chain: SparseMatrix, loop: IntArray) -> float:
        """What a step of a chain that never ends gains, on the average."""
        size = len(loop)
        rewards = self._rows.rewards[self._policy[loop]]
        if size == 1:
            return float(rewards[0])
        # Visits between two visits to the first state: the others are left for it in the end.
        factors = factorised(csr_array(chain[1:, 1:]))
        if factors is None:
            raise NoAnswer
        visits = np.append(1.0, factors.solve(chain[[0], 1:].toarray()[0]))
        return float(visits @ rewards / visits.sum())
