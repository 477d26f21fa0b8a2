r"""Potentials that hold, from values that almost do.

**Problem.** A solver's values miss the inequality of :mod:`hcssp.ssp.potential` on some rows, by rounding or
by its tolerance. Wanted are values not above them that hold on every row, no lower than need be.

**Method.** Three steps; after each, those who ask check whether it is enough.

1. States between which one can go to and fro for nothing can only have one value. They get the least of
   theirs, and are one state from here on; lowered one by one, they would lower each other for ever.
2. A policy of almost tight rows is found from the goals backwards. What is missing on its rows is subtracted
   as often as the policy will take them: one sparse solve.
3. States are lowered one by one as far as their rows ask for, in sweeps.

**Guarantee.** None: only the check of whoever asks counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from hcssp.cssp.factorisation import factorise
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import fewest_steps, free_groups

FREE = 1e-13
"""A row that costs less than this share of the largest value counts as free."""

TIGHT = 1e-6
"""A row within this of holding with equality, relative to the largest value, may be part of the policy."""

MAX_SOLVES = 6
MAX_SWEEPS = 400

Missing = Callable[[FloatArray, float], FloatArray]
"""What each row lacks of certainly holding under a potential, times a margin for rounding; below zero where
nothing lacks."""


class Contraction:
    """A problem in which states that go to and fro for nothing are one.

    Parameters
    ----------
    num_states
        The number of states.
    rows, free
        The rows that count, and those of them that cost nothing.
    row_state
        The state of every row.
    step_row, heads, probabilities
        Of all steps: the row, where it leads and how probable it is. Those that stay do no harm.

    Attributes
    ----------
    group
        The group of each state. Its levels are one number; its own rows hold whatever that is.
    owner
        The group of each row.
    open
        The rows that leave, or may leave, their group.
    moves
        The steps of open rows that lead to another group.
    leaving
        The probability of each row to leave its group by them.
    """

    def __init__(
        self,
        num_states: int,
        rows: BoolArray,
        free: BoolArray,
        row_state: IntArray,
        step_row: IntArray,
        heads: IntArray,
        probabilities: FloatArray,
    ) -> None:
        tails = row_state[step_row]
        self._step_row, self._probabilities = step_row, probabilities
        self.group, inside = free_groups(num_states, step_row, tails, heads, free)
        self.owner: IntArray = self.group[row_state]
        self.open: BoolArray = rows & ~inside
        self._tails, self._heads = self.group[tails], self.group[heads]
        self.moves: BoolArray = (self._tails != self._heads) & self.open[step_row]
        self.leaving: FloatArray = np.bincount(
            step_row[self.moves], probabilities[self.moves], len(rows)
        ).astype(np.float64)

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return int(np.max(self.group, initial=-1)) + 1

    def policy(self, missing: FloatArray, tight: BoolArray, goals: BoolArray) -> IntArray:
        """A row for each group that can reach one of the groups `goals` by `tight` rows; -1 for the others.

        The row that is `missing` most is the one to take, unless that leads nowhere; then any that is tight.
        """
        most = np.full(len(goals), -np.inf)
        np.maximum.at(most, self.owner[self.open], missing[self.open])
        chosen = np.full(len(goals), -1, dtype=np.int64)
        attached = goals.copy()
        for candidates in (tight & (missing >= most[self.owner]), tight):
            steps = np.flatnonzero(self.moves & candidates[self._step_row] & ~attached[self._tails])
            distance = fewest_steps(self._tails[steps], self._heads[steps], attached)
            nearer = steps[distance[self._heads[steps]] < distance[self._tails[steps]]]
            # The row that lacks most is written last, and stays.
            nearer = nearer[np.argsort(missing[self._step_row[nearer]], kind="stable")]
            chosen[self._tails[nearer]] = self._step_row[nearer]
            attached |= np.isfinite(distance)
        return chosen

    def accumulated(self, chosen: IntArray, groups: IntArray, amounts: FloatArray) -> FloatArray | None:
        """The `amounts` of `groups`, each as often as the `chosen` rows lead there; None if that fails."""
        if len(groups) == 0:
            return None
        number = np.full(len(chosen), -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        used = np.zeros(len(self.owner), dtype=np.bool_)
        used[chosen[groups]] = True
        steps = np.flatnonzero(self.moves & used[self._step_row])
        tails, heads = number[self._tails[steps]], number[self._heads[steps]]
        probabilities = self._probabilities[steps]
        inner = heads >= 0
        every = np.arange(len(groups))
        # The diagonal sums what leaves a group: one that hardly ever does loses no digits.
        data = np.concatenate([self.leaving[chosen[groups]], -probabilities[inner]])
        where = np.concatenate([every, tails[inner]]), np.concatenate([every, heads[inner]])
        system: Any = csc_array((data, where), shape=(len(groups), len(groups)))
        try:
            sums = factorise(system, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve(amounts)
        except RuntimeError:
            # Singular within rounding: the sweeps have to do.
            return None
        return sums if np.all(np.isfinite(sums)) else None


class Mending:
    """Values on their way to holding; states that go to and fro for nothing are one.

    Parameters
    ----------
    rows
        The rows on which they are to hold.
    row_costs, row_state
        Of all rows.
    step_row, heads, probabilities
        Of all steps to other states; a goal is the state after the last.
    values
        Of the states, goals left out.
    missing
        Asked again and again.
    """

    def __init__(
        self,
        rows: BoolArray,
        row_costs: FloatArray,
        row_state: IntArray,
        step_row: IntArray,
        heads: IntArray,
        probabilities: FloatArray,
        values: FloatArray,
        missing: Missing,
    ) -> None:
        self._missing = missing
        self._scale = float(np.max(values, initial=0.0))
        free = rows & (row_costs <= FREE * self._scale)
        steps = (step_row, heads, probabilities)
        self._contraction = Contraction(len(values) + 1, rows, free, row_state, *steps)
        group = self._contraction.group
        self._levels = np.full(self._contraction.num_groups, np.inf)
        np.minimum.at(self._levels, group, np.append(values, 0.0))
        self._goals = np.zeros(len(self._levels), dtype=np.bool_)
        self._goals[group[-1]] = True

    @property
    def values(self) -> FloatArray:
        """As they are now, goals left out; not below zero."""
        levels: FloatArray = np.maximum(self._levels[self._contraction.group], 0.0)
        return levels[:-1]

    def solve(self, margin: float) -> bool:
        """Subtract what is missing as often as an almost tight policy takes a row; says whether it could."""
        contraction, missing = self._contraction, self._lacking(margin)
        tight = contraction.open & (missing >= -TIGHT * self._scale)
        chosen = contraction.policy(missing, tight, self._goals)
        groups = np.flatnonzero(chosen >= 0)
        lowered = contraction.accumulated(chosen, groups, np.maximum(missing[chosen[groups]], 0.0))
        if lowered is None:
            return False
        self._levels[groups] -= np.maximum(lowered, 0.0)
        return True

    def lower(self, margin: float) -> bool:
        """Lower the states that ask for it; says whether any did."""
        contraction, missing = self._contraction, self._lacking(margin)
        wanting = np.flatnonzero((missing > 0.0) & (contraction.leaving > 0.0))
        owners = contraction.owner[wanting]
        limit = self._levels[owners] - missing[wanting] / contraction.leaving[wanting]
        np.minimum.at(self._levels, owners, np.minimum(limit, np.nextafter(self._levels[owners], -np.inf)))
        return len(wanting) > 0

    def _lacking(self, margin: float) -> FloatArray:
        return np.where(self._contraction.open, self._missing(self.values, margin), -np.inf)
