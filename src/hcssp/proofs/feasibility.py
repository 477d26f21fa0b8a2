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

import numpy as np

from hcssp.checker.arithmetic import MODERATE, UNIT, holds, slack
from hcssp.checker.layout import Block
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.ssp.mending import FREE, Contraction

CHEAP_SCALING = 1e-9
"""Scaling by this or less is not worth avoiding: solvers take what differs by less for a tie."""

FINE_SCALING = 1e-11
"""Scaling by this or less costs less than what another solve of the equations would gain."""

DEAREST_SCALING = 1e-7
"""Beyond this, lowering single states is tried before everything is scaled."""

TIGHT = 1e-7
"""A row within this of holding with equality, relative to the largest value, may be part of the policy."""

SOLVED = 2.0**-40
"""Equations are solved to this share of the largest number in them, and far better mostly."""

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


def shortfall(
    block: Block, weights: FloatArray, values: FloatArray, allowed: BoolArray, margin: float = 1.0
) -> FloatArray | None:
    """What `allowed` rows lack of holding for certain, `margin` times; below zero where nothing lacks.

    None if the values hold as they are. What a solution of equations for these amounts is off by at most, for
    every move to another state, is part of them.
    """
    computed, error = known = slack(block, weights, values)
    if _holds(block, weights, values, allowed, known):
        return None
    moves = allowed[block.entry_row] & (block.entry_state != block.successors)
    missing = np.where(error > 0.0, margin * (2.0 * error + _noise(block, values, moves)), 0.0) - computed
    leaving = np.bincount(block.entry_row[moves], block.probabilities[moves], block.num_rows)
    most = float(np.max(np.abs(missing), where=allowed, initial=0.0))
    # Where numbers are huge or tiny, every error is infinite.
    return missing + SOLVED * margin * leaving * most if most < np.inf else missing


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
    broken = np.flatnonzero(rows & (computed < error))
    missing, paid = 2.0 * error[broken] - computed[broken], paid[broken]
    # No value is rounded by more than the largest is; mostly that is precise enough.
    noise = 8.0 * UNIT * float(np.max(np.abs(values), initial=0.0)) * block.totals[broken]
    if np.any(noise > FINE_SCALING * paid):
        chosen = np.zeros(block.num_rows, dtype=np.bool_)
        chosen[broken] = True
        moves = chosen[block.entry_row] & (block.entry_state != block.successors)
        noise = _noise(block, values, moves)[broken]
    missing += noise
    if np.any(missing > most * paid):
        return None
    share = 2.0 * float(np.max(missing / paid, initial=0.0))
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
        steps = (block.entry_row, block.successors, block.probabilities)
        self._contraction = Contraction(block.num_states, rows, free, block.row_state, *steps)
        self._levels = np.full(self._contraction.num_groups, np.inf)
        np.minimum.at(self._levels, self._contraction.group, values)
        self._goals = np.zeros(len(self._levels), dtype=np.bool_)
        self._goals[self._contraction.group[block.goals]] = True

    @property
    def values(self) -> FloatArray:
        values: FloatArray = self._levels[self._contraction.group]
        return values

    def slack(self) -> Slack:
        """The slack of every row, and its largest error."""
        return slack(self._block, self._weights, self.values)

    def done(self, known: Slack) -> bool:
        """Whether the values hold, of which the slack is known."""
        return _holds(self._block, self._weights, self.values, self.rows, known)

    def missing(self, known: Slack, margin: float = 1.0) -> FloatArray:
        """What every row lacks of a slack that survives the checker's rounding and that of the values."""
        computed, error = known
        noise = _noise(self._block, self.values, self._contraction.moves)
        return np.where(error > 0.0, margin * (2.0 * error + noise), 0.0) - computed

    def solve(self) -> bool:
        """Subtract what is missing as often as an almost optimal policy takes a row."""
        for attempt in range(MAX_SOLVES):
            known = self.slack()
            if self.done(known) or (attempt and self.scale(FINE_SCALING, known)):
                return True
            missing = self.missing(known, margin=2.0**attempt)
            tight = self.rows & (missing >= -TIGHT * self._scale * self._block.totals)
            chosen = self._contraction.policy(missing, tight, self._goals)
            states = np.flatnonzero(chosen >= 0)
            amounts = missing[chosen[states]]
            if attempt >= MAX_SOLVES // 2:
                # The policies do not settle: from here on, nothing is raised any more.
                amounts = np.maximum(amounts, 0.0)
            lowered = self._contraction.accumulated(chosen, states, amounts)
            if lowered is None:
                return False
            self._levels[states] -= lowered
        return self.done(self.slack())

    def scale(self, most: float, known: Slack | None = None) -> bool:
        """Scale the values by no more than `most`, if that makes them hold."""
        scaled = _scaled(self._block, self._weights, self.values, self.rows, most, known)
        if scaled is not None:
            # Within a group all values are the same, and stay so.
            self._levels[self._contraction.group] = scaled
        return scaled is not None

    def lower(self) -> bool:
        """Lower states one by one, all that ask for it at once, until nothing asks."""
        contraction = self._contraction
        rows, leaving = np.flatnonzero(contraction.open), contraction.leaving
        for _ in range(MAX_SWEEPS):
            missing = self.missing(self.slack())
            wanting = rows[(missing[rows] > 0.0) & (leaving[rows] > 0.0)]
            if len(wanting) == 0:
                break
            # Solved for the state itself: a row that mostly stays is mended at once.
            owners = contraction.owner[wanting]
            np.minimum.at(self._levels, owners, self._levels[owners] - missing[wanting] / leaving[wanting])
        return self.done(self.slack())


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
