r"""An activity under changing prices: its budget curve, computed lazily and kept.

As the price :math:`\lambda` of its secondary cost sweeps from infinity to zero, an activity's optimal
:math:`(f, g)` traces the lower convex hull of its deterministic policies: the budget curve. A plan that is
optimal at :math:`\lambda` comes with a certified interval of prices: its reduced costs are linear in the
price, and the plan stays optimal for as long as none turns negative. A price inside a known interval is a
look-up, and two intervals of the same point of the curve are one.

The least :math:`f + \lambda g` is a concave function of the price that never falls. Between two prices where
it is known, it is therefore above the chord and below the lines of the known plans: often that is all one
needs to know, and no plan is made.

Within a region (some rows forbidden) the activity has another curve. A plan that avoids the forbidden rows
is optimal there on the same interval, so a new region begins with most of its curve known.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.oracle import REACHED
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.scalar_problem import SWITCH_TOLERANCE

MAX_CURVES = 400
UNPRICED = 0
"""In place of the counted cost where no constraint counts one: its price is always zero."""


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

    def __init__(self, optimum: ScalarOptimum, solver: PolicyIteration) -> None:
        self.costs = optimum.costs
        self.rows = optimum.rows
        self.values = optimum.values
        self._solver = solver
        self._visits: FloatArray | None = None

    @property
    def visits(self) -> FloatArray:
        """Expected visits of every live state in one execution."""
        if self._visits is None:
            self._visits = self._solver.system.visits(self.rows)
        return self._visits

    @property
    def reached(self) -> BoolArray:
        """Which live states the plan visits."""
        return self.visits > REACHED

    def uses(self, row: int, state: int) -> bool:
        """Whether the plan takes `row` in its state and goes there."""
        return bool(self.rows[state] == row and self.visits[state] > REACHED)


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
class _Piece:
    """A plan and the interval of prices on which it is certified optimal."""

    low: float
    high: float
    plan: ActivityPlan
    cost: float  # of the plan: the primary cost
    use: float  # and the counted one
    loss: float  # absolute loss of the bound where the plan was solved
    tie: float  # relative loss that covers ties of the certificate: this much,
    tie_slope: float  # and this much for each unit of price

    def value(self, price: float) -> float:
        """The plan's weighted cost."""
        return self.cost + price * self.use

    def bound(self, price: float) -> float:
        """The certified lower bound on the least weighted cost."""
        return self.value(price) / (1.0 + self.tie + price * self.tie_slope) - self.loss


class BudgetCurve:
    """The known pieces of one activity's curve within one region, by price."""

    def __init__(self, pieces: list[_Piece] | None = None) -> None:
        self.pieces: list[_Piece] = pieces or []
        self._lows = [piece.low for piece in self.pieces]

    def at(self, price: float) -> _Piece | None:
        """The piece that is certified at `price`, if one is known."""
        index = bisect_right(self._lows, price) - 1
        if index >= 0 and self.pieces[index].high >= price:
            return self.pieces[index]
        return None

    def nearest(self, price: float) -> _Piece | None:
        """The known piece whose interval is closest to `price`."""
        if not self.pieces:
            return None
        return min(self.pieces, key=lambda piece: max(piece.low - price, price - piece.high, 0.0))

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
            share = (price - begin) / (following.low - begin)
            bound = max(bound, (1.0 - share) * bound + share * following.bound(following.low))
            if following.value(price) < value:
                best, value = following, following.value(price)
        return Bracket(best.plan, value, min(bound, value), False)

    def add(self, piece: _Piece) -> _Piece:
        """Keep a piece; one with the same costs as a neighbour is joined to it."""
        index = bisect_right(self._lows, piece.low)
        for other in (index - 1, index):
            if 0 <= other < len(self.pieces) and _same_point(self.pieces[other].plan, piece.plan):
                kept = self.pieces[other]
                kept.low, kept.high = min(kept.low, piece.low), max(kept.high, piece.high)
                kept.loss = max(kept.loss, piece.loss)
                kept.tie, kept.tie_slope = max(kept.tie, piece.tie), max(kept.tie_slope, piece.tie_slope)
                self._lows[other] = kept.low
                return kept
        self.pieces.insert(index, piece)
        self._lows.insert(index, piece.low)
        return piece


def _same_point(first: ActivityPlan, second: ActivityPlan) -> bool:
    scale = 1.0 + np.abs(first.costs)
    return bool(np.all(np.abs(first.costs - second.costs) <= 1e-13 * scale))


class ActivityPlanner:
    """Plans one activity under any weights and within any region.

    Parameters
    ----------
    cssp
        The activity.
    counted
        The secondary costs that some constraint counts.
    """

    def __init__(self, cssp: CSSP, counted: frozenset[int]) -> None:
        self.prepared = prepare(cssp)
        self.balance = Balance(self.prepared.problem)
        self.solver = PolicyIteration(self.balance)
        # With at most one counted cost the weights are one price, and the curve is a curve.
        self._index = next(iter(counted), UNPRICED) if len(counted) <= 1 else None
        self._curves: dict[frozenset[int], BudgetCurve] = {}
        self._answers: dict[tuple[frozenset[int], tuple[float, ...]], tuple[ActivityPlan, float] | None] = {}
        # With several counted costs there is no curve; the last plan of a region is the best start there is.
        self._latest: dict[frozenset[int], ActivityPlan] = {}
        self._impossible: set[frozenset[int]] = set()
        primary = self.balance.costs[0]
        self._least_cost = float(np.min(primary, initial=inf))
        self.num_plans = 0

    @property
    def priced(self) -> bool:
        """Whether at most one secondary cost is counted, so that a price says all about the weights."""
        return self._index is not None

    def plan(self, weights: FloatArray, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """The best plan that avoids the `forbidden` rows, and a certified lower bound on its weighted cost.

        None if no proper plan avoids them.
        """
        if self._index is not None and weights[0] == 1.0:
            return self.plan_at(0.0 if self._index == UNPRICED else float(weights[self._index]), forbidden)
        if self._is_impossible(forbidden):
            return None
        key = (forbidden, tuple(weights.tolist()))
        if key not in self._answers:
            if len(self._answers) > 4 * MAX_CURVES:
                self._answers.clear()
                self._latest = {region: plan for region, plan in self._latest.items() if not region}
            optimum = self._solve(weights, forbidden, self._warm(forbidden))
            self._answers[key] = None
            if optimum is not None:
                self._latest[forbidden] = ActivityPlan(optimum, self.solver)
                self._answers[key] = self._latest[forbidden], optimum.bound
        return self._answers[key]

    def plan_at(self, price: float, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """As :meth:`plan`, at a price of the one counted cost: a look-up wherever the curve is known."""
        if self._index is None:
            raise ValueError("several costs are counted: give their weights")
        if self._impossible and self._is_impossible(forbidden):
            return None
        curve = self._curve(forbidden)
        piece = curve.at(price)
        if piece is None:
            near = curve.nearest(price)
            weights = np.zeros(self.balance.costs.shape[0])
            weights[self._index] = price
            weights[0] = 1.0
            optimum = self._solve(weights, forbidden, self._warm(forbidden) if near is None else near.plan)
            if optimum is None:
                return None
            piece = curve.add(self._certify(optimum, price, forbidden, self._index))
        return piece.plan, piece.bound(price)

    def bracket_at(self, price: float, forbidden: frozenset[int]) -> Bracket | None:
        """What is known at a price; something is planned only where nothing is. None if no proper plan is."""
        if self._impossible and self._is_impossible(forbidden):
            return None
        curve = self._curve(forbidden)
        piece = curve.at(price)
        if piece is None:
            if curve.pieces:
                return curve.between(price)
            if self.plan_at(price, forbidden) is None:
                return None
            piece = curve.pieces[0]
        return Bracket(piece.plan, piece.value(price), piece.bound(price), True)

    def _is_impossible(self, forbidden: frozenset[int]) -> bool:
        """Whether it is known already that no proper plan avoids these rows."""
        return any(known <= forbidden for known in self._impossible)

    def _solve(
        self, weights: FloatArray, forbidden: frozenset[int], warm: ActivityPlan | None
    ) -> ScalarOptimum | None:
        self.num_plans += 1
        allowed = None
        if forbidden:
            allowed = np.ones(self.balance.num_rows, dtype=np.bool_)
            allowed[list(forbidden)] = False
        if warm is None:
            optimum = self.solver.minimise(weights, allowed)
        else:
            optimum = self.solver.minimise(weights, allowed, warm.rows, warm.values)
        if optimum is None:
            self._impossible.add(forbidden)
        return optimum

    def _warm(self, forbidden: frozenset[int]) -> ActivityPlan | None:
        """A plan of the closest known region, to start from."""
        for region in (forbidden, frozenset[int]()):
            curve = self._curves.get(region)
            if curve is not None and curve.pieces:
                return curve.pieces[0].plan
            if region in self._latest:
                return self._latest[region]
        return None

    def _curve(self, forbidden: frozenset[int]) -> BudgetCurve:
        """The curve of a region, begun with what the closest larger region knows."""
        curve = self._curves.get(forbidden)
        if curve is not None:
            return curve
        if len(self._curves) >= MAX_CURVES:
            root = self._curves.get(frozenset())
            self._curves = {} if root is None else {frozenset(): root}
        larger = [known for known in self._curves if known < forbidden]
        pieces: list[_Piece] = []
        if larger:
            closest = max(larger, key=len)
            extra = [(row, int(self.balance.row_state[row])) for row in forbidden - closest]
            pieces = [
                replace(piece)
                for piece in self._curves[closest].pieces
                if not any(piece.plan.uses(row, state) for row, state in extra)
            ]
        curve = BudgetCurve(pieces)
        self._curves[forbidden] = curve
        return curve

    def _certify(self, optimum: ScalarOptimum, price: float, forbidden: frozenset[int], index: int) -> _Piece:
        """The interval of prices around `price` on which no reduced cost turns negative."""
        plan = ActivityPlan(optimum, self.solver)
        balance = self.balance
        cost, use = float(optimum.costs[0]), float(optimum.costs[index])
        value = cost + price * use
        if optimum.dead is not None or self._least_cost <= 0.0:
            return _Piece(price, price, plan, cost, use, max(0.0, value - optimum.bound), 0.0, 0.0)
        pair = optimum.values[:, [0, index]]
        reduced = balance.costs[[0, index]].T - balance.matrix @ pair
        if forbidden:
            reduced[list(forbidden)] = (1.0, 0.0)
        # A tie counts as one, as in policy iteration; what it may cost is taken off the bound.
        scale = np.max(balance.costs[[0, index]], axis=1) + np.max(np.abs(pair), axis=0, initial=0.0)
        tie, tie_slope = SWITCH_TOLERANCE * (1.0 + float(scale[0])), SWITCH_TOLERANCE * float(scale[1])
        base, slope = reduced[:, 0] + tie, reduced[:, 1] + tie_slope
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = base / -slope
        low = float(np.max(zero, where=slope > 0.0, initial=0.0))
        high = float(np.min(zero, where=slope < 0.0, initial=inf))
        relative = tie / self._least_cost, tie_slope / self._least_cost
        loss = max(0.0, value / (1.0 + relative[0] + price * relative[1]) - optimum.bound)
        return _Piece(min(low, price), max(high, price), plan, cost, use, loss, *relative)
