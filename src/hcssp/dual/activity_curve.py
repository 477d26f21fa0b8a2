r"""An activity's budget curve: its best pairs of cost and use, kept as far as they are known.

As the price :math:`\lambda` of its secondary cost sweeps from infinity to zero, an activity's optimal
:math:`(f, g)` traces the lower convex hull of its deterministic policies: the budget curve. It is asked in
two ways: by price, here, and by use (:mod:`hcssp.dual.frontier`).

A plan that is optimal at :math:`\lambda` comes with a certified interval of prices: its reduced costs are
linear in the price, and the plan stays optimal for as long as none turns negative. A price inside a known
interval is a look-up, and two intervals of the same point of the curve are one. The least :math:`f + \lambda
g` is a concave function of the price that never falls. Between two prices where it is known, it is therefore
above the chord and below the lines of the known plans: often that is all one needs to know, and no plan is
made.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.foresight import Turns, turns_of
from hcssp.dual.vertex import CLEARLY_VISITED, estimated_rounding
from hcssp.ssp.policy_evaluation import System
from hcssp.ssp.policy_iteration import ScalarOptimum
from hcssp.ssp.potential import ROUNDINGS

POINT_TOLERANCE = 1e-13
"""Plans whose costs differ by no more than this share of the cost are one point of a curve."""


ROUNDED_DOWN = 1.0 - 16.0 * ROUNDINGS
"""Less than what the roundings of an interpolation between positive numbers leave of it."""


class ActivityPlan:
    """A policy of one activity and its exact expected costs for one execution.

    Attributes
    ----------
    costs
        Expected costs, the primary first, in the activity's own order.
    rows
        A row for each live state of the prepared activity.
    values
        Expected costs to go from every live state.
    """

    def __init__(self, optimum: ScalarOptimum, system: System) -> None:
        self.costs = optimum.costs
        self.rows = optimum.rows
        self.values = optimum.values
        self._system = system
        self._visits: FloatArray | None = None
        self._turns: dict[tuple[int, bool], Turns] = {}

    @property
    def visits(self) -> FloatArray:
        """Expected visits of every live state in one execution."""
        if self._visits is None:
            self._visits = self._system.visits(self.rows)
        return self._visits

    def turns(self, index: int, falls: bool) -> Turns:
        """How the plan changes as the price of a cost falls, or rises, from where it is best."""
        known = self._turns.get((index, falls))
        if known is None:
            balance = self._system.balance
            known = turns_of(balance, self.values, self.visits, self.rows, index, falls)
            self._turns[index, falls] = known
        return known

    @cached_property
    def rounding(self) -> FloatArray:
        """How far the costs may be off, by an estimate."""
        return estimated_rounding(self.values, self.costs, float(self.visits.sum()))

    @cached_property
    def rounding_at_most(self) -> FloatArray:
        """No less than that, without the visits where every step costs something."""
        departures = self._system.balance.departures_at_most(self.costs)
        return self.rounding if departures == inf else estimated_rounding(self.values, self.costs, departures)

    @cached_property
    def nbytes(self) -> int:
        """The memory that the plan's arrays take, those included that are made when asked for."""
        states = len(self.rows)
        return self.costs.nbytes + self.rows.nbytes + self.values.nbytes + 8 * states + states

    def uses(self, row: int, state: int) -> bool:
        """Whether the plan takes `row` in its state and goes there."""
        if self.rows[state] != row:
            return False
        # The graph is asked unless the visits are known: to know them may take a factorisation.
        visited = self._visits is not None and self._visits[state] > CLEARLY_VISITED
        return bool(visited or self.reached[state])

    @cached_property
    def reached(self) -> BoolArray:
        """The live states that the plan enters, however seldom."""
        return self._system.balance.reached(self.rows)


class Bracket(NamedTuple):
    """What is known about an activity under some weights.

    Attributes
    ----------
    plan
        The best plan known.
    value
        Its weighted cost, an upper bound on the least one.
    bound
        A certified lower bound on the least weighted cost.
    final
        Whether planning anew would teach nothing.
    """

    plan: ActivityPlan
    value: float
    bound: float
    final: bool


@dataclass(slots=True)
class Piece:
    """A plan and the interval of prices on which it is optimal, up to ties.

    Attributes
    ----------
    low, high
        The interval; it may have no end.
    cost, use
        Of the plan: the primary cost and the counted one.
    low_bound, high_bound
        Certified lower bounds on the least weighted cost at both ends. If the interval has no end, the latter
        is one on the least use.
    low_plan, high_plan
        Of a piece that was joined, the plans that are best from every state at the ends: `plan` may be so
        from where it goes alone. None if it is `plan`.
    """

    low: float
    high: float
    plan: ActivityPlan
    cost: float
    use: float
    low_bound: float
    high_bound: float
    low_plan: ActivityPlan | None = None
    high_plan: ActivityPlan | None = None

    def value(self, price: float) -> float:
        """The plan's weighted cost."""
        return self.cost + price * self.use

    def distance(self, price: float) -> float:
        """How far a price is from the interval."""
        return max(self.low - price, price - self.high, 0.0)

    def bound(self, price: float) -> float:
        """The certified lower bound on the least weighted cost at a price of the interval.

        That cost is a concave function of the price, and so above its chords.
        """
        if price <= self.low:
            return self.low_bound
        if price >= self.high:
            return self.high_bound
        if self.high == inf:
            return ROUNDED_DOWN * (self.low_bound + (price - self.low) * self.high_bound)
        return chord(self.low, self.low_bound, self.high, self.high_bound, price)


def chord(low: float, low_bound: float, high: float, high_bound: float, price: float) -> float:
    """What bounds at two prices say about one between them, rounded down; none of them is negative.

    >>> round(chord(1.0, 10.0, 3.0, 20.0, 2.0), 9)
    15.0
    """
    share = (price - low) / (high - low)
    # The least weighted cost never falls as the price rises.
    return ROUNDED_DOWN * ((1.0 - share) * low_bound + share * max(low_bound, high_bound))


class BudgetCurve:
    """The known pieces of one activity's curve within one region, by price.

    Parameters
    ----------
    pieces
        Those to begin with.
    larger
        The curve of a larger region.
    """

    def __init__(self, pieces: list[Piece] | None = None, larger: BudgetCurve | None = None) -> None:
        self.pieces: list[Piece] = pieces or []
        self._lows = [piece.low for piece in self.pieces]
        self._larger = larger

    def at(self, price: float) -> Piece | None:
        """The piece that is certified at `price`, if one is known."""
        index = bisect_right(self._lows, price) - 1
        if index >= 0 and self.pieces[index].high >= price:
            return self.pieces[index]
        return None

    def around(self, price: float) -> tuple[Piece | None, Piece | None]:
        """The pieces next to `price`, below and above; twice the same if it is certified there."""
        found = self.at(price)
        if found is not None:
            return found, found
        position = bisect_right(self._lows, price)
        below = self.pieces[position - 1] if position > 0 else None
        return below, self.pieces[position] if position < len(self.pieces) else None

    def nearest(self, price: float) -> Piece | None:
        """The known piece whose interval is closest to `price`."""
        if not self.pieces:
            return None
        return min(self.pieces, key=lambda piece: piece.distance(price))

    def closest(self, price: float) -> Piece | None:
        """The known piece that says most about a plan at `price`, of this region or of the larger one.

        A plan at that price which may do a little more is closer than one of another price.
        """
        own = self.nearest(price)
        larger = None if self._larger is None else self._larger.nearest(price)
        if own is None or larger is None:
            return own or larger
        return larger if larger.distance(price) < own.distance(price) else own

    def bracket(self, price: float) -> Bracket:
        """What the pieces say about `price`; there must be one."""
        piece = self.at(price)
        if piece is None:
            return self.between(price)
        return Bracket(piece.plan, piece.value(price), piece.bound(price), True)

    def between(self, price: float) -> Bracket:
        """What the pieces on both sides of `price` say about it; there must be one."""
        position = bisect_right(self._lows, price)
        begin, bound, value, best = 0.0, 0.0, inf, self.pieces[0]
        if position > 0:
            best = self.pieces[position - 1]
            begin, value = best.high, best.value(price)
            bound = best.bound(begin)
        if position < len(self.pieces):
            following = self.pieces[position]
            bound = max(bound, chord(begin, bound, following.low, following.low_bound, price))
            if following.value(price) < value:
                best, value = following, following.value(price)
        return Bracket(best.plan, value, min(bound, value), False)

    def add(self, piece: Piece) -> Piece:
        """Keep a piece; one with the same costs as a neighbour is joined to it."""
        index = bisect_right(self._lows, piece.low)
        for other in (index - 1, index):
            if 0 <= other < len(self.pieces) and _same_point(self.pieces[other].plan, piece.plan):
                kept = self.pieces[other]
                if piece.low < kept.low:
                    kept.low, kept.low_bound, kept.low_plan = piece.low, piece.low_bound, piece.plan
                if piece.high > kept.high:
                    kept.high, kept.high_bound, kept.high_plan = piece.high, piece.high_bound, piece.plan
                self._lows[other] = kept.low
                return kept
        self.pieces.insert(index, piece)
        self._lows.insert(index, piece.low)
        return piece


def _same_point(first: ActivityPlan, second: ActivityPlan) -> bool:
    scale = np.abs(first.costs)
    return bool(np.all(np.abs(first.costs - second.costs) <= POINT_TOLERANCE * scale))
