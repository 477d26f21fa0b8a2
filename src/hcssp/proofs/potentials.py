r"""The potentials of a proof: each is made to hold by the checker's arithmetic, and is kept once.

A potential says for every state of an activity the least cost-to-go, under weights of its costs. Those of
activities with equal arrays serve all of them. Statements use them in shares, which may add up to no more
than an activity's own weights.

**Problem.** A solver's values miss the inequality of :mod:`hcssp.checker.arithmetic` on some rows, by
rounding or by its tolerance. Wanted are values that hold on every row, as high as possible.

**Method.** From cheap to expensive, until the checker itself confirms them:

1. Scaling all values towards the exits gives every row with a cost a share of it as slack.
2. The general steps of :mod:`hcssp.ssp.restoration`, with the slack that survives the checker's rounding.
3. The constant that is not above any exit holds always: costs are not negative.

**Guarantee.** What is returned holds on every row, by the checker's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from math import fsum

import numpy as np
import numpy.typing as npt

from hcssp.checker.arithmetic import MODERATE, UNIT, excess, slack
from hcssp.checker.format import Potential, Use
from hcssp.checker.layout import Block, Layout
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.cssp.reachability import Backwards
from hcssp.proofs.events import LOST
from hcssp.ssp.restoration import Rows, restored

CHEAP_SCALING = 1e-9
"""Scaling by this or less is not worth avoiding: solvers take what differs by less for a tie."""

FINE_SCALING = 1e-11
"""Scaling by this or less costs less than what another solve of the equations would gain."""

LARGEST_SCALING = 1e-7
"""Values are scaled by at most this before the constant is taken that holds always."""


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
    found = _restored(block, weights, values, allowed)
    if found is None or (weights < 0.0).any():
        return found
    return np.maximum(found, _floor(block, found, allowed))


def _restored(block: Block, weights: FloatArray, values: FloatArray, allowed: BoolArray) -> FloatArray | None:
    """Finite values as they are, or changed as little as the steps above can do."""
    known = slack(block, weights, values)
    if _holds(block, weights, values, allowed, known):
        return values
    scaled = _scaled(block, weights, values, allowed, CHEAP_SCALING, known)
    if scaled is not None:
        return scaled
    if not np.isfinite(known[1]).all():
        return _trivial(block, weights, values, allowed)
    moves = allowed[block.entry_row] & (block.entry_state != block.successors)

    def missing(levels: FloatArray, margin: float) -> FloatArray:
        """What survives the checker's rounding and that of the values, less the slack."""
        computed, error = slack(block, weights, levels)
        return np.where(error > 0.0, margin * (2.0 * error + _noise(block, levels, moves)), 0.0) - computed

    rows = Rows(
        allowed=allowed,
        costs=block.totals * (weights @ block.costs),
        state=block.row_state,
        step_row=block.entry_row,
        heads=block.successors,
        probabilities=block.probabilities,
        goals=block.goals,
    )
    found = values
    for found in restored(rows, values, missing):
        known = slack(block, weights, found)
        if _holds(block, weights, found, allowed, known):
            return found
        scaled = _scaled(block, weights, found, allowed, FINE_SCALING, known)
        if scaled is not None:
            return scaled
    scaled = _scaled(block, weights, found, allowed, LARGEST_SCALING)
    return _trivial(block, weights, values, allowed) if scaled is None else scaled


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
    if len(undecided) > 0.02 * block.num_rows + 20:
        return False
    return len(undecided) == 0 or bool((excess(block, weights, values, undecided)[0] >= 0).all())


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


def _floor(block: Block, values: FloatArray, allowed: BoolArray) -> FloatArray:
    """For every state the lowest exit within reach, which holds by itself: costs are not negative.

    Without the little that restoration takes away, a free cycle stays free.
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


ROOM, SHRINKING = 1.0 - 2.0**-50, 1.0 - 2.0**-48
"""Shares that add up to no more than this part of a weight do so in spite of rounding, which happens four
times at most: to each product, to their sum, to the weight and to its part. If they may not, they are made
smaller by the other factor."""

MAX_SHRINKINGS = 20
MAX_SEARCHES = 1_000


class PotentialStore:
    """Keeps potentials by number.

    Parameters
    ----------
    layout
        The problem as the checker sees it.

    Attributes
    ----------
    kept
        The potentials.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.kept: list[Potential] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._searches: dict[tuple[int, bytes], tuple[BoolArray, BoolArray]] = {}
        self._backwards: dict[int, Backwards] = {}

    def add(
        self, activity: int, weights: Sequence[float], values: npt.ArrayLike, forbidden: Iterable[int] = ()
    ) -> int:
        """Keep a potential, and give its number.

        See :meth:`~hcssp.proofs.builder.ProofBuilder.add_potential` for the parameters.
        """
        block = self._layout.blocks[activity]
        prices, levels = np.array(weights, dtype=np.float64), np.array(values, dtype=np.float64)
        rows = tuple(sorted(int(row) for row in forbidden))
        if prices.shape != (len(block.costs),) or levels.shape != (block.num_states,):
            raise ValueError(
                f"activity {activity} has {len(block.costs)} costs and {block.num_states} states, but the "
                f"weights have the shape {prices.shape} and the values {levels.shape}"
            )
        if not (np.isfinite(prices).all() and (prices >= 0.0).all()):
            raise ValueError(f"activity {activity}: the weights are {prices.tolist()}, not prices from 0")
        known = np.isfinite(levels)
        key = (id(block), prices.tobytes(), rows, known.tobytes(), levels[block.goals].tobytes())
        if key not in self._numbers:
            # Rows that lead into a dead end need not hold; the checker finds them, too.
            restored = feasible_values(block, prices, levels, self._without(block, rows)[1])
            if restored is None:
                raise AssertionError("non-negative weights always have a potential")
            self._numbers[key] = len(self.kept)
            self.kept.append(Potential(activity, tuple(prices.tolist()), rows, restored))
        return self._numbers[key]

    def add_dead_end(
        self, activity: int, weights: Sequence[float], value: float, forbidden: Iterable[int]
    ) -> int:
        """Keep a potential that is as high as `value` from where an activity cannot be ended, and its number.

        See :meth:`add` for the other parameters.
        """
        rows = list(forbidden)
        ending, _ = self._without(self._layout.blocks[activity], rows)
        return self.add(activity, weights, np.where(ending, 0.0, value), rows)

    def add_flat(
        self, region: BoolArray, weights: Sequence[float], values: npt.ArrayLike
    ) -> tuple[list[Use], FloatArray]:
        """Keep potentials of all activities where `region` is forbidden, from values of the flat problem.

        See :meth:`~hcssp.proofs.builder.ProofBuilder.flat_uses` for the rest.
        """
        layout = self._layout
        prices, exact = np.array(weights), [Fraction(float(weight)) for weight in weights]
        levels = np.array(values, dtype=np.float64)
        known = np.isfinite(levels)
        expensive = LOST * (1.0 + float(np.max(np.abs(levels), where=known, initial=0.0)))
        # Restored as a whole, the activities agree on what their exits are worth.
        ending, allowed = layout.flat.almost_sure(~region)
        restored = feasible_values(self._flat, prices, levels, allowed)
        levels = np.where(known, levels if restored is None else restored, np.nan)
        # What only an outcome of probability zero leads to is not known either, but is no dead end.
        levels[~known & ending] = 0.0 if restored is None else restored[~known & ending]
        uses: list[Use] = []
        for activity, block in enumerate(layout.blocks):
            states = layout.flattening.flat_state(activity)
            # Unknown values are not stored as known: an identical activity may have them.
            own = np.where((states >= 0) & (known[states] | block.goals), levels[states], np.nan)
            # From an exit of which nothing is known, the end is not reached: too expensive to be taken.
            own[block.goals & ~np.isfinite(own)] = expensive
            own_weights = [float(weight) for weight in layout.own_weights(activity, exact)]
            forbidden = np.flatnonzero(
                region[layout.flattening.rows_of(activity)] & ~block.dominated
            ).tolist()
            uses.append((activity, self.add(activity, own_weights, own, forbidden), 1.0))
        events = levels[: layout.flattening.num_event_states]
        return uses, np.where(np.isfinite(events), events, expensive)

    @cached_property
    def _flat(self) -> Block:
        """The whole problem as one block."""
        return Block(self._layout.flattening.cssp)

    def ends(self, activity: int, forbidden: BoolArray) -> BoolArray:
        """From which states an activity can be ended almost surely without some of its rows."""
        return self._almost_sure(self._layout.blocks[activity], forbidden)[0]

    def fitting(self, uses: Iterable[Use], prices: Sequence[float | Fraction]) -> tuple[Use, ...]:
        """The uses with shares that rounding has not made too large for the activities' weights."""
        fitting = _by_activity(uses)
        for activity in fitting:
            own = self._layout.own_weights(activity, prices)
            for _ in range(MAX_SHRINKINGS):
                if self._surely_fits(fitting[activity], own):
                    break
                fitting[activity] = [(k, number, share * SHRINKING) for k, number, share in fitting[activity]]
        return tuple(use for each in fitting.values() for use in each)

    def is_in_order(self, uses: Iterable[Use], prices: Sequence[float | Fraction], region: BoolArray) -> bool:
        """Whether it is plain that potentials may be used where `region` is forbidden."""
        return all(
            all(self._holds_in(use, region) for use in each)
            and self._surely_fits(each, self._layout.own_weights(activity, prices))
            for activity, each in _by_activity(uses).items()
        )

    def _holds_in(self, use: Use, region: BoolArray) -> bool:
        """Whether a potential is of such an activity, and leaves out no row that is allowed there."""
        activity, potential = use[0], self.kept[use[1]]
        blocks, own = self._layout.blocks, region[self._layout.flattening.rows_of(activity)]
        return blocks[activity] is blocks[potential.activity] and bool(own[list(potential.forbidden)].all())

    def _surely_fits(self, uses: Sequence[Use], own: Sequence[float | Fraction]) -> bool:
        """Whether potentials add up to no more than an activity's own weights, with room for rounding."""
        whole = len(uses) == 1 and uses[0][2] == 1.0
        for cost, limit in enumerate(own):
            used = fsum(share * self.kept[number].weights[cost] for _, number, share in uses)
            # A potential that is taken as it is involves no rounding, and a comparison does not either.
            if used > (limit if whole else float(limit) * ROOM):
                return False
        return True

    def _without(self, block: Block, rows: Sequence[int]) -> tuple[BoolArray, BoolArray]:
        """As :meth:`_almost_sure`, without some rows and the dominated ones."""
        avoided = block.dominated.copy()
        avoided[list(rows)] = True
        return self._almost_sure(block, avoided)

    def _almost_sure(self, block: Block, forbidden: BoolArray) -> tuple[BoolArray, BoolArray]:
        """As :class:`~hcssp.checker.layout.Block` finds it, kept: a search asks the same again and again."""
        # Most regions forbid nothing here but dominated rows.
        more = not np.array_equal(forbidden, block.dominated)
        key = (id(block), np.flatnonzero(forbidden).tobytes() if more else b"")
        if key not in self._searches:
            if len(self._searches) >= MAX_SEARCHES:
                self._searches.clear()
            if id(block) not in self._backwards:
                self._backwards[id(block)] = Backwards(block.cssp.transitions, block.row_state, block.goals)
            found = self._backwards[id(block)].almost_sure(~forbidden)
            self._searches[key] = found.states, found.rows
        return self._searches[key]


def _by_activity(uses: Iterable[Use]) -> dict[int, list[Use]]:
    found: dict[int, list[Use]] = {}
    for use in uses:
        found.setdefault(use[0], []).append(use)
    return found
