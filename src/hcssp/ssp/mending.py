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
from scipy.sparse.linalg import splu

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import free_groups

FREE = 1e-13
"""A row that costs less than this share of the largest value counts as free."""

TIGHT = 1e-6
"""A row within this of holding with equality, relative to the largest value, may be part of the policy."""

MAX_SOLVES = 6
MAX_SWEEPS = 400

Missing = Callable[[FloatArray, float], FloatArray]
"""What each row lacks of certainly holding under a potential, times a margin for rounding; below zero where
nothing lacks."""


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
        self._row_state = row_state
        self._step_row, self._probabilities = step_row, probabilities
        self._scale = float(np.max(values, initial=0.0))
        self._num_rows = len(row_costs)
        count = len(values) + 1
        tails = row_state[step_row]
        usable = rows[step_row]
        free = rows & (row_costs <= FREE * self._scale)
        self._group, inside = free_groups(count, step_row[usable], tails[usable], heads[usable], free)
        self._levels = np.full(count, np.inf)
        np.minimum.at(self._levels, self._group, np.append(values, 0.0))
        self._goal = int(self._group[-1])
        self._open = rows & ~inside
        self._tails, self._heads = self._group[tails], self._group[heads]
        self._moves = (self._tails != self._heads) & self._open[step_row]
        self._leaving = np.bincount(step_row[self._moves], probabilities[self._moves], self._num_rows).astype(
            np.float64
        )
        self._owner = self._group[row_state]

    @property
    def values(self) -> FloatArray:
        """As they are now, goals left out; not below zero."""
        levels: FloatArray = np.maximum(self._levels[self._group], 0.0)
        return levels[:-1]

    def solve(self, margin: float) -> bool:
        """Subtract what is missing as often as an almost tight policy takes a row; says whether it could."""
        missing = self._lacking(margin)
        chosen = self._policy(missing)
        states = np.flatnonzero(chosen >= 0)
        if len(states) == 0:
            return False
        lowered = self._accumulated(chosen, states, np.maximum(missing[chosen[states]], 0.0))
        if lowered is None:
            return False
        self._levels[states] -= np.maximum(lowered, 0.0)
        return True

    def lower(self, margin: float) -> bool:
        """Lower the states that ask for it; says whether any did."""
        missing = self._lacking(margin)
        wanting = np.flatnonzero((missing > 0.0) & (self._leaving > 0.0))
        owners = self._owner[wanting]
        limit = self._levels[owners] - missing[wanting] / self._leaving[wanting]
        np.minimum.at(self._levels, owners, np.minimum(limit, np.nextafter(self._levels[owners], -np.inf)))
        return len(wanting) > 0

    def _lacking(self, margin: float) -> FloatArray:
        return np.where(self._open, self._missing(self.values, margin), -np.inf)

    def _policy(self, missing: FloatArray) -> IntArray:
        """A row for each group that can reach a goal by almost tight rows; -1 for the others."""
        tight = self._open & (missing >= -TIGHT * self._scale)
        most = np.full(len(self._levels), -np.inf)
        np.maximum.at(most, self._owner, missing)
        chosen = np.full(len(self._levels), -1, dtype=np.int64)
        attached = np.zeros(len(self._levels), dtype=np.bool_)
        attached[self._goal] = True
        # The row that lacks most is the one to take, unless that leads nowhere; then any that is tight.
        for candidates in (tight & (missing >= most[self._owner]), tight):
            steps = np.flatnonzero(self._moves & candidates[self._step_row])
            # The row that lacks most is written last, and stays.
            steps = steps[np.argsort(missing[self._step_row[steps]], kind="stable")]
            while True:
                steps = steps[~attached[self._tails[steps]]]
                found = steps[attached[self._heads[steps]]]
                if len(found) == 0:
                    break
                chosen[self._tails[found]] = self._step_row[found]
                attached[self._tails[found]] = True
        return chosen

    def _accumulated(self, chosen: IntArray, states: IntArray, amounts: FloatArray) -> FloatArray | None:
        """The `amounts` of `states`, each as often as the `chosen` rows lead there; None if that fails."""
        number = np.full(len(self._levels), -1, dtype=np.int64)
        number[states] = np.arange(len(states))
        used = np.zeros(self._num_rows, dtype=np.bool_)
        used[chosen[states]] = True
        steps = np.flatnonzero(self._moves & used[self._step_row])
        tails, heads = number[self._tails[steps]], number[self._heads[steps]]
        probabilities = self._probabilities[steps]
        inner = heads >= 0
        every = np.arange(len(states))
        data = np.concatenate([self._leaving[chosen[states]], -probabilities[inner]])
        where = np.concatenate([every, tails[inner]]), np.concatenate([every, heads[inner]])
        system: Any = csc_array((data, where), shape=(len(states), len(states)))
        try:
            sums = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve(amounts)
        except RuntimeError:
            # Singular within rounding: the sweeps have to do.
            return None
        return sums if np.all(np.isfinite(sums)) else None
