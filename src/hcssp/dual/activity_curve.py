r"""An activity's budget curve: its best pairs of cost and use, kept as far as they are known.

As the price :math:`\lambda` of its secondary cost sweeps from infinity to zero, an activity's optimal
:math:`(f, g)` traces the lower convex hull of its deterministic policies: the budget curve. It is asked in
two ways, and each has a view of its own on the same points.

**By price** (:class:`BudgetCurve`): the best plan at a price, within a region. A plan that is optimal at
:math:`\lambda` comes with a certified interval of prices: its reduced costs are linear in the price, and the
plan stays optimal for as long as none turns negative. A price inside a known interval is a look-up, and two
intervals of the same point of the curve are one. The least :math:`f + \lambda g` is a concave function of the
price that never falls. Between two prices where it is known, it is therefore above the chord and below the
lines of the known plans: often that is all one needs to know, and no plan is made.

**By use** (:class:`Frontier`): the best plan under a limit on :math:`g`. The hull is explored only where it
is asked for, by solving at the slope between two known vertices until they are known to be neighbours; a
second question about the same stretch is a look-up.

They are two because their answers are certified differently. Of an interval of prices both ends are
certified, and what lies between them by concavity, so the view by price need know no exact vertices; a limit
needs those, also the ones that only a high price or none at all finds, and no interval.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.foresight import Turns, turns_of
from hcssp.dual.oracle import CLEARLY_VISITED, estimated_rounding
from hcssp.ssp.policy_iteration import ScalarOptimum
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.system import System

POINT_TOLERANCE = 1e-13
"""Plans whose costs differ by no more than this share of the cost are one point of a curve."""

NEIGHBOUR_TOLERANCE = 1e-11
"""Two vertices are neighbours if nothing lies below the line between them by more than this share of its
level. A vertex that is missed for it raises no bound: bounds come from the priced plan itself."""

ROUNDED_DOWN = 1.0 - 16.0 * ROUNDINGS
"""Less than what the roundings of an interpolation between positive numbers leave of it."""

DOMINANCE_TOLERANCE = 1e-12
"""A plan that uses more and saves no more than this share of its cost is no vertex."""


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


class Glimpse(NamedTuple):
    """As :class:`Bracket`, of an activity that is not planned yet."""

    bound: float
    plan: None = None
    value: float = inf
    final: bool = False


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


class Support(NamedTuple):
    """Where the curve is at a limit: its best vertex within it, and the price of the line above that.

    Attributes
    ----------
    plan
        The cheapest plan on the curve that keeps the limit, or None if every known one uses more.
    price
        What a unit more of the limit would save.
    """

    plan: ActivityPlan | None
    price: float


class Frontier:
    """The vertices of one activity's curve by their use, explored where it is asked for.

    Parameters
    ----------
    index
        Which of the activity's costs is the use.
    plan_at
        The best plan at a price of it.
    ends
        Plans to begin with, among them the cheapest one and one with the least use.
    """

    def __init__(
        self, index: int, plan_at: Callable[[float], ActivityPlan], ends: tuple[ActivityPlan, ...]
    ) -> None:
        self._index = index
        self._plan_at = plan_at
        self._plans: list[ActivityPlan] = []  # by rising use and falling cost
        self._uses: list[float] = []
        # Uses with no vertex between them, and the price at which that was seen.
        self._neighbours: set[tuple[float, float, float]] = set()
        for plan in ends:
            self._insert(plan)

    def support(self, limit: float) -> Support:
        """The curve at `limit`."""
        while True:
            position = bisect_right(self._uses, limit) - 1
            if position < 0:
                # Only rounding can tell the limit from the least use: the steepest known price bounds it.
                return Support(None, self._slope(0) if len(self._plans) > 1 else 0.0)
            below = self._plans[position]
            if position + 1 == len(self._plans):
                return Support(below, 0.0)
            use, next_use = self._uses[position : position + 2]
            price = self._slope(position)
            pair = (use, next_use, price)
            if pair in self._neighbours:
                return Support(below, price)
            plan = self._plan_at(price)
            line = float(below.costs[0] + price * use)
            value = float(plan.costs[0] + price * plan.costs[self._index])
            if value >= line - NEIGHBOUR_TOLERANCE * abs(line) or not self._insert(plan):
                self._neighbours.add(pair)

    def _slope(self, position: int) -> float:
        """What a unit of use saves between the vertex at `position` and the next."""
        below, above = self._plans[position : position + 2]
        return float((below.costs[0] - above.costs[0]) / (self._uses[position + 1] - self._uses[position]))

    def _insert(self, plan: ActivityPlan) -> bool:
        """Add a vertex and drop those it dominates; False if it is dominated itself."""
        use, cost = float(plan.costs[self._index]), float(plan.costs[0])
        rounding = DOMINANCE_TOLERANCE * abs(cost)
        points = list(zip(self._uses, self._plans, strict=True))
        if any(g <= use and p.costs[0] <= cost + rounding for g, p in points):
            return False
        points = [(g, p) for g, p in points if not (g >= use and p.costs[0] >= cost - rounding)]
        points.append((use, plan))
        points.sort(key=lambda point: point[0])
        self._uses = [g for g, _ in points]
        self._plans = [p for _, p in points]
        return True
