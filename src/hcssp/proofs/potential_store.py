"""The potentials of a proof: each is made to hold before it is kept, and is kept once.

A potential says for every state of an activity what is to come at least, under weights of its costs. Those of
activities with equal arrays serve all of them. Statements use them in shares, which may add up to no more
than an activity's own weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from math import fsum

import numpy as np
import numpy.typing as npt

from hcssp.checker.format import Potential, Use
from hcssp.checker.layout import Block, Layout
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.cssp.reachability import Backwards
from hcssp.proofs.events import LOST
from hcssp.proofs.feasibility import feasible_values

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
            # Rows that lead into a dead end need not hold; the checker knows them, too.
            mended = feasible_values(block, prices, levels, self._without(block, rows)[1])
            if mended is None:
                raise AssertionError("non-negative weights always have a potential")
            self._numbers[key] = len(self.kept)
            self.kept.append(Potential(activity, tuple(prices.tolist()), rows, mended))
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
        dear = LOST * (1.0 + float(np.max(np.abs(levels), where=known, initial=0.0)))
        # Mended as a whole, the activities agree on what their exits are worth.
        ending, allowed = layout.flat.almost_sure(~region)
        mended = feasible_values(self._flat, prices, levels, allowed)
        levels = np.where(known, levels if mended is None else mended, np.nan)
        # What only an outcome of probability zero leads to is not known either, but is no dead end.
        levels[~known & ending] = 0.0 if mended is None else mended[~known & ending]
        uses: list[Use] = []
        for activity, block in enumerate(layout.blocks):
            states = layout.flattening.flat_state(activity)
            # What nobody knows is not passed off as known: an alike activity may know it.
            own = np.where((states >= 0) & (known[states] | block.goals), levels[states], np.nan)
            # From an exit of which nothing is known, the end is not reached: so dear that nobody takes it.
            own[block.goals & ~np.isfinite(own)] = dear
            own_weights = [float(weight) for weight in layout.own_weights(activity, exact)]
            forbidden = np.flatnonzero(
                region[layout.flattening.rows_of(activity)] & ~block.dominated
            ).tolist()
            uses.append((activity, self.add(activity, own_weights, own, forbidden), 1.0))
        events = levels[: layout.flattening.num_event_states]
        return uses, np.where(np.isfinite(events), events, dear)

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
        """As :meth:`_almost_sure`, without some rows and those that nobody needs."""
        avoided = block.dominated.copy()
        avoided[list(rows)] = True
        return self._almost_sure(block, avoided)

    def _almost_sure(self, block: Block, forbidden: BoolArray) -> tuple[BoolArray, BoolArray]:
        """As :class:`~hcssp.checker.layout.Block` finds it, kept: a search asks the same again and again."""
        # Most regions forbid nothing here but what nobody needs.
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
