r"""Potentials that truly hold, from values that almost do.

**Problem.** A solver's values miss the inequality of :mod:`hcssp.checker.arithmetic` on some rows, by
rounding or by its tolerance. Wanted are values that hold on every row, no lower than need be.

**Method.** From cheap to dear, until the checker itself is satisfied:

1. Scaling all values towards the exits gives every row a share of its cost as slack, if it has a cost.
2. States between which one can go to and fro for nothing can only have one value: they get the least of
   theirs and are one state from here on. Without that, the next steps would lower them for ever.
3. A policy of almost tight rows is found from the exits backwards. What is missing on its rows, and a margin
   for the checker's own rounding, is subtracted as often as the policy will take them: one sparse solve. Its
   diagonal sums what leaves a state, so that a row that stays with probability :math:`1 - 10^{-9}` loses
   no digits.
4. States are lowered one by one as far as their rows ask for, in sweeps.
5. If all fails, the constant that is not above any exit holds: costs are not negative.

**Guarantee.** Whatever is returned holds on every row, in the checker's words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from hcssp.checker.arithmetic import MODERATE, UNIT, holds, slack
from hcssp.checker.layout import Block
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import free_groups
from hcssp.proofs.ways_out import fewest_steps

CHEAP_SCALING = 1e-9
"""Scaling by this or less is not worth avoiding: solvers take what differs by less for a tie."""

FINE_SCALING = 1e-11
"""Scaling by this or less costs less than what another solve of the equations would gain."""

DEAREST_SCALING = 1e-7
"""Beyond this, lowering single states is tried before everything is scaled."""

FREE = 1e-13
"""A row that costs less than this share of the largest value counts as free."""

TIGHT = 1e-7
"""A row within this of holding with equality, relative to the largest value, may be part of the policy."""

MAX_SOLVES = 6
MAX_SWEEPS = 400


def feasible_values(
    block: Block, weights: FloatArray, values: FloatArray, allowed: BoolArray
) -> FloatArray | None:
    """Values near `values` that hold on the `allowed` rows.

    Parameters
    ----------
    block
        An activity's arrays.
    weights
        Of its costs, all of one sign.
    values
        One for each state, a little wrong at most; what is not finite counts as 0.
    allowed
        The rows on which they are to hold; after each of them an exit can be reached almost surely by others.

    Returns
    -------
    FloatArray or None
        None only if weights are negative: then there may be no potential at all.
    """
    # What is next to nothing would keep the checker from using double precision.
    values = np.where(np.isfinite(values) & (np.abs(values) * MODERATE >= 1.0), values, 0.0)
    mended = _mended(block, weights, values, allowed)
    if mended is None or (weights < 0.0).any():
        return mended
    return np.maximum(mended, _floor(block, mended, allowed))


def _mended(block: Block, weights: FloatArray, values: FloatArray, allowed: BoolArray) -> FloatArray | None:
    """Finite values as they are, or as little changed as the steps above can do."""
    known = slack(block, weights, values)
    if _holds(block, weights, values, allowed, known):
        return values
    scaled = _scaled(block, weights, values, allowed, CHEAP_SCALING, known)
    if scaled is not None:
        return scaled
    if not np.isfinite(known[1]).all():
        return _trivial(block, weights, values, allowed)
    mending = _Mending(block, weights, values, allowed)
    for attempt in (mending.solve, lambda: mending.scale(CHEAP_SCALING), mending.lower):
        if attempt():
            return mending.values
    scaled = _scaled(block, weights, mending.values, mending.rows, DEAREST_SCALING)
    if scaled is not None:
        return scaled
    return _trivial(block, weights, values, allowed)


def _trivial(block: Block, weights: FloatArray, values: FloatArray, allowed: BoolArray) -> FloatArray | None:
    """The largest constant that is not above an exit, which holds if nothing has a negative cost."""
    if (weights < 0.0).any() and ((weights @ block.costs)[allowed] < 0.0).any():
        return None
    return np.full(block.num_states, float(np.min(values[block.goals])))


Slack = tuple[FloatArray, FloatArray]


def _holds(
    block: Block, weights: FloatArray, values: FloatArray, rows: BoolArray, known: Slack | None = None
) -> bool:
    """Whether the checker is satisfied, and does so mostly without integers; the slack may be `known`."""
    computed, error = slack(block, weights, values) if known is None else known
    undecided = np.flatnonzero(rows & (computed < error))
    # Many rows left to integers would make the check slow, and most of them fail.
    return len(undecided) == 0 or (
        len(undecided) <= 0.02 * block.num_rows + 20 and bool(holds(block, weights, values, undecided).all())
    )


def _scaled(
    block: Block,
    weights: FloatArray,
    values: FloatArray,
    rows: BoolArray,
    most: float,
    known: Slack | None = None,
) -> FloatArray | None:
    """The values scaled towards the lowest exit, by no more than `most`; None if that is not enough."""
    paid = np.abs(block.totals * (weights @ block.costs))
    anchor = float(np.min(values[block.goals]))
    sign = -1.0 if (weights < 0.0).any() else 1.0
    computed, error = slack(block, weights, values) if known is None else known
    broken = rows & (computed < error)
    noise = _noise(block, values, broken[block.entry_row] & (block.entry_state != block.successors))
    missing = 2.0 * error[broken] - computed[broken] + noise[broken]
    if np.any(missing > most * paid[broken]):
        return None
    share = 2.0 * float(np.max(missing / paid[broken], initial=0.0))
    for _ in range(4):
        scaled = anchor + (values - anchor) * (1.0 - sign * share)
        if _holds(block, weights, scaled, rows):
            return scaled
        share *= 4.0
    return None


def _noise(block: Block, values: FloatArray, moves: BoolArray) -> FloatArray:
    """What rounding the values may take from the slack of each row; entries that do not move take nothing."""
    sizes, entries = np.abs(values), np.flatnonzero(moves)
    both = sizes[block.entry_state[entries]] + sizes[block.successors[entries]]
    spoilt = 4.0 * UNIT * block.probabilities[entries] * both
    return np.bincount(block.entry_row[entries], spoilt, block.num_rows).astype(np.float64)


class _Mending:
    """Values on their way to holding; states that go to and fro for nothing are one."""

    def __init__(self, block: Block, weights: FloatArray, values: FloatArray, rows: BoolArray) -> None:
        self._block, self._weights, self.rows = block, weights, rows
        # Exits may be as dear as can be, which says nothing about the others.
        self._scale = float(np.max(np.abs(values), where=~block.goals, initial=0.0))
        paid = np.abs(block.totals * (weights @ block.costs))
        free = rows & (paid <= FREE * self._scale)
        arrows = (block.entry_row, block.entry_state, block.successors)
        self._group, inside = free_groups(block.num_states, *arrows, free)
        self._levels = np.full(int(np.max(self._group, initial=-1)) + 1, np.inf)
        np.minimum.at(self._levels, self._group, values)
        # Within a group nothing changes, so its own rows hold whatever its level is.
        self._open = np.flatnonzero(rows & ~inside)
        self._owner = self._group[block.row_state]
        self._tails, self._heads = self._group[block.entry_state], self._group[block.successors]
        self._moves = (self._tails != self._heads) & rows[block.entry_row] & ~inside[block.entry_row]
        self._leaving = np.bincount(
            block.entry_row[self._moves], block.probabilities[self._moves], block.num_rows
        )
        self._goals = np.zeros(len(self._levels), dtype=np.bool_)
        self._goals[self._group[block.goals]] = True

    @property
    def values(self) -> FloatArray:
        return self._levels[self._group]

    def slack(self) -> Slack:
        """The slack of every row, and its largest error."""
        return slack(self._block, self._weights, self.values)

    def done(self, known: Slack) -> bool:
        """Whether the values hold, of which the slack is known."""
        return _holds(self._block, self._weights, self.values, self.rows, known)

    def missing(self, known: Slack, margin: float = 1.0) -> FloatArray:
        """What every row lacks of a slack that survives the checker's rounding and that of the values."""
        computed, error = known
        noise = _noise(self._block, self.values, self._moves)
        return np.where(error > 0.0, margin * (2.0 * error + noise), 0.0) - computed

    def solve(self) -> bool:
        """Subtract what is missing as often as an almost optimal policy takes a row."""
        for attempt in range(MAX_SOLVES):
            known = self.slack()
            if self.done(known) or (attempt and self.scale(FINE_SCALING, known)):
                return True
            missing = self.missing(known, margin=2.0**attempt)
            chosen = self._policy(missing)
            states = np.flatnonzero(chosen >= 0)
            amounts = missing[chosen[states]]
            if attempt >= MAX_SOLVES // 2:
                # The policies do not settle: from here on, nothing is raised any more.
                amounts = np.maximum(amounts, 0.0)
            lowered = self._visited(chosen, states, amounts)
            if lowered is None:
                return False
            self._levels[states] -= lowered
        return self.done(self.slack())

    def scale(self, most: float, known: Slack | None = None) -> bool:
        """Scale the values by no more than `most`, if that makes them hold."""
        scaled = _scaled(self._block, self._weights, self.values, self.rows, most, known)
        if scaled is not None:
            # Within a group all values are the same, and stay so.
            self._levels[self._group] = scaled
        return scaled is not None

    def lower(self) -> bool:
        """Lower states one by one, all that ask for it at once, until nothing asks."""
        rows, leaving = self._open, self._leaving
        for _ in range(MAX_SWEEPS):
            missing = self.missing(self.slack())
            wanting = rows[(missing[rows] > 0.0) & (leaving[rows] > 0.0)]
            if len(wanting) == 0:
                break
            # Solved for the state itself: a row that mostly stays is mended at once.
            limit = self._levels[self._owner[wanting]] - missing[wanting] / leaving[wanting]
            np.minimum.at(self._levels, self._owner[wanting], limit)
        return self.done(self.slack())

    def _policy(self, missing: FloatArray) -> IntArray:
        """A row for each group that can reach an exit by almost tight rows; -1 for the others."""
        block = self._block
        tight = self.rows & (missing >= -TIGHT * self._scale * block.totals)
        most = np.full(len(self._levels), -np.inf)
        np.maximum.at(most, self._owner[self._open], missing[self._open])
        chosen = np.full(len(self._levels), -1, dtype=np.int64)
        attached = self._goals.copy()
        # The row that lacks most is the one to take, unless that leads nowhere; then any that is tight.
        for candidates in (tight & (missing >= most[self._owner]), tight):
            entries = np.flatnonzero(self._moves & candidates[block.entry_row] & ~attached[self._tails])
            steps = fewest_steps(self._tails[entries], self._heads[entries], attached)
            nearer = entries[steps[self._heads[entries]] < steps[self._tails[entries]]]
            # The row that lacks most is written last, and stays.
            nearer = nearer[np.argsort(missing[block.entry_row[nearer]], kind="stable")]
            chosen[self._tails[nearer]] = block.entry_row[nearer]
            attached |= np.isfinite(steps)
        return chosen

    def _visited(self, chosen: IntArray, states: IntArray, amounts: FloatArray) -> FloatArray | None:
        """The `amounts` of `states`, each as often as the `chosen` rows lead there; None if that fails."""
        from scipy.sparse.linalg import splu

        if len(states) == 0:
            return None
        block = self._block
        number = np.full(len(self._levels), -1, dtype=np.int64)
        number[states] = np.arange(len(states))
        used = np.zeros(block.num_rows, dtype=np.bool_)
        used[chosen[states]] = True
        entries = np.flatnonzero(self._moves & used[block.entry_row])
        tails, heads = number[self._tails[entries]], number[self._heads[entries]]
        probabilities = block.probabilities[entries]
        inner = heads >= 0
        diagonal = np.bincount(tails, probabilities, len(states))
        data = np.concatenate([diagonal, -probabilities[inner]])
        where = (
            np.concatenate([np.arange(len(states)), tails[inner]]),
            np.concatenate([np.arange(len(states)), heads[inner]]),
        )
        system: Any = csc_array((data, where), shape=(len(states), len(states)))
        try:
            sums = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0).solve(amounts)
        except RuntimeError:
            # Singular within rounding: the sweeps have to do.
            return None
        return sums if np.all(np.isfinite(sums)) else None


def _floor(block: Block, values: FloatArray, allowed: BoolArray) -> FloatArray:
    """For every state the lowest exit within reach, which holds by itself: costs are not negative.

    Without the next to nothing that mending takes away, going round for nothing remains for nothing.
    """
    exits = values[block.goals]
    if np.all(exits == exits[0]):
        return np.full(block.num_states, exits[0])
    floor = np.where(block.goals, values, np.inf)
    kept = allowed[block.entry_row]
    tails, heads = block.entry_state[kept], block.successors[kept]
    while True:
        lower = floor.copy()
        np.minimum.at(lower, tails, floor[heads])
        if np.array_equal(lower, floor):
            return np.where(np.isfinite(floor), floor, -np.inf)
        floor = lower
