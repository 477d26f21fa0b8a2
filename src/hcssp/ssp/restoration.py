r"""Restore the feasibility of dual values: potentials that hold, from values that almost do.

**Problem.** A solver's values miss the inequality of :mod:`hcssp.ssp.potential` on some rows, by rounding or
by the solver's tolerance. Wanted are values near them that hold on every row, and are as high as possible.

**Method.** Three steps. After each, the caller checks the values and stops as soon as they hold.

1. States between which free rows lead back and forth can only have one value. They get the least of their
   values and are one state from here on. Lowered one by one, they would lower each other for ever.
2. A proper policy of almost tight rows is found from the goals backwards. What each of its rows is missing is
   subtracted as often as the policy takes the row, which is one sparse solve. If values may be raised as
   well, that is a step of policy iteration; so the same steps find values from none.
3. States are lowered one by one as far as their rows need, in sweeps.

What a row is missing is the caller's definition. The search needs a slack that survives double precision
(:mod:`hcssp.ssp.potential`), a proof for one that the integers of the checker confirm
(:mod:`hcssp.proofs.potentials`, :mod:`hcssp.proofs.events`).

**Guarantee.** None: only the caller's check counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import free_groups, path_lengths
from hcssp.deadline import keep_time
from hcssp.evaluation.linear_systems import factorise

Missing = Callable[[FloatArray, float], FloatArray]
"""What each row is missing of certainly holding under given values, with a margin for rounding; negative
where the row holds."""


@dataclass(frozen=True)
class RestorationParameters:
    """How hard feasibility is tried to be restored. No bound rests on it.

    Attributes
    ----------
    free
        A row that costs at most this share of the largest value counts as free.
    tight
        A row that is within this share of the largest value of holding with equality may be part of the
        policy.
    solves
        The most policies that are solved. In the first half of them values may be raised; if the policies
        have not settled by then, values are only lowered.
    sweeps
        The most sweeps over all states.
    sweeps_between_checks
        The caller checks the values after this many sweeps.
    """

    free: float = 1e-13
    tight: float = 1e-6
    solves: int = 6
    sweeps: int = 400
    sweeps_between_checks: int = 8


class Rows(NamedTuple):
    """The rows on which values are to hold, and the steps of all rows, row by row.

    Attributes
    ----------
    allowed
        The rows that count.
    costs
        The cost of each row.
    state
        The state of each row.
    step_row, heads, probabilities
        The row of each step, the state that it reaches, and its probability. Steps that stay do no harm.
    goals
        The states that keep their values, one entry for each state.
    """

    allowed: BoolArray
    costs: FloatArray
    state: IntArray
    step_row: IntArray
    heads: IntArray
    probabilities: FloatArray
    goals: BoolArray


def restored(
    rows: Rows, values: FloatArray, missing: Missing, parameters: RestorationParameters | None = None
) -> Iterator[FloatArray]:
    """Values for each state, each more likely to hold than those before."""
    parameters = RestorationParameters() if parameters is None else parameters
    restoration = Restoration(rows, values, missing, parameters)
    if restoration.has_groups:
        yield restoration.values
    for attempt in range(parameters.solves):
        keep_time()
        if not restoration.solve(2.0**attempt, raises=attempt < parameters.solves // 2):
            break
        yield restoration.values
    for sweep in range(1, parameters.sweeps + 1):
        keep_time()
        if not restoration.lower():
            break
        if sweep % parameters.sweeps_between_checks == 0:
            yield restoration.values
    yield restoration.values


class Restoration:
    """Values on the way to feasibility; states that free rows connect back and forth are one *group*.

    Parameters
    ----------
    rows
        The rows on which the values are to hold.
    values
        One for each state.
    missing
        What rows are missing under given values.
    parameters
        See :class:`RestorationParameters`.

    Attributes
    ----------
    has_groups
        Whether a group has several states, so that the values are not the given ones any more.
    """

    def __init__(
        self, rows: Rows, values: FloatArray, missing: Missing, parameters: RestorationParameters
    ) -> None:
        self._missing, self._step_row, self._probabilities = missing, rows.step_row, rows.probabilities
        # Goals may have any value, independently of the others.
        scale = float(np.max(np.abs(values), where=~rows.goals, initial=0.0))
        self._tolerance = parameters.tight * scale
        free = rows.allowed & (np.abs(rows.costs) <= parameters.free * scale)
        tails = rows.state[rows.step_row]
        self._group, inside = free_groups(len(values), rows.step_row, tails, rows.heads, free)
        self._owner: IntArray = self._group[rows.state]
        self._open: BoolArray = rows.allowed & ~inside
        self._tails, self._heads = self._group[tails], self._group[rows.heads]
        self._moves: BoolArray = (self._tails != self._heads) & self._open[rows.step_row]
        self._leaving: FloatArray = np.bincount(
            rows.step_row[self._moves], rows.probabilities[self._moves], len(rows.state)
        ).astype(np.float64)
        self._levels = np.full(int(np.max(self._group, initial=-1)) + 1, np.inf)
        np.minimum.at(self._levels, self._group, values)
        self.has_groups = len(self._levels) < len(values)
        self._goals = np.zeros(len(self._levels), dtype=np.bool_)
        self._goals[self._group[rows.goals]] = True

    @property
    def values(self) -> FloatArray:
        """The present value of each state."""
        values: FloatArray = self._levels[self._group]
        return values

    def solve(self, margin: float = 1.0, *, raises: bool = False) -> bool:
        """Subtract the deficit as often as an almost tight policy takes a row; return whether it could."""
        missing = np.where(self._open, self._missing(self.values, margin), -np.inf)
        chosen = self._policy(missing)
        groups = np.flatnonzero(chosen >= 0)
        amounts = missing[chosen[groups]]
        lowered = self._accumulated(chosen, groups, amounts if raises else np.maximum(amounts, 0.0))
        if lowered is None:
            return False
        self._levels[groups] -= lowered
        return True

    def lower(self, margin: float = 1.0) -> bool:
        """Lower the states that need it, each as far as its own rows need; return whether any did."""
        missing = np.where(self._open, self._missing(self.values, margin), -np.inf)
        wanting = np.flatnonzero((missing > 0.0) & (self._leaving > 0.0) & ~self._goals[self._owner])
        owners = self._owner[wanting]
        # Divided by the probability of leaving: a row that mostly stays is satisfied at once.
        limit = self._levels[owners] - missing[wanting] / self._leaving[wanting]
        np.minimum.at(self._levels, owners, np.minimum(limit, np.nextafter(self._levels[owners], -np.inf)))
        return len(wanting) > 0

    def _policy(self, missing: FloatArray) -> IntArray:
        """A row for each group that can reach a goal by almost tight rows; -1 for the others.

        The row that is missing most is taken, unless that leads to no goal; then any that is almost tight.
        """
        tight = self._open & (missing >= -self._tolerance)
        most = np.full(len(self._levels), -np.inf)
        np.maximum.at(most, self._owner[self._open], missing[self._open])
        chosen = np.full(len(self._levels), -1, dtype=np.int64)
        attached = self._goals.copy()
        for candidates in (tight & (missing >= most[self._owner]), tight):
            steps = np.flatnonzero(self._moves & candidates[self._step_row] & ~attached[self._tails])
            distance = path_lengths(self._tails[steps], self._heads[steps], attached)
            nearer = steps[distance[self._heads[steps]] < distance[self._tails[steps]]]
            # The row that is missing most is written last, and stays.
            nearer = nearer[np.argsort(missing[self._step_row[nearer]], kind="stable")]
            chosen[self._tails[nearer]] = self._step_row[nearer]
            attached |= np.isfinite(distance)
        return chosen

    def _accumulated(self, chosen: IntArray, groups: IntArray, amounts: FloatArray) -> FloatArray | None:
        """The `amounts` of `groups`, each as often as the `chosen` rows lead there; None if that fails."""
        if len(groups) == 0:
            return None
        number = np.full(len(chosen), -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        used = np.zeros(len(self._owner), dtype=np.bool_)
        used[chosen[groups]] = True
        steps = np.flatnonzero(self._moves & used[self._step_row])
        tails, heads = number[self._tails[steps]], number[self._heads[steps]]
        inner = heads >= 0
        every = np.arange(len(groups))
        # The diagonal sums what leaves a group: one that hardly ever does loses no digits.
        data = np.concatenate([self._leaving[chosen[groups]], -self._probabilities[steps][inner]])
        where = np.concatenate([every, tails[inner]]), np.concatenate([every, heads[inner]])
        system: Any = csc_array((data, where), shape=(len(groups), len(groups)))
        try:
            sums = factorise(system, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve(amounts)
        except RuntimeError:
            # Singular within rounding: the sweeps have to do.
            return None
        return sums if np.all(np.isfinite(sums)) else None
