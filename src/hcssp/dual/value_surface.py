r"""What is known about an activity under weights of several costs: its least weighted cost from both sides.

With one counted cost the least weighted cost is a curve over the price (:mod:`hcssp.dual.activity_curve`);
with several it is a surface :math:`L(w)` over the weights, concave, positively homogeneous and, since costs
are not negative, never falling. Two things are kept: certified bounds at solved weights, and plans. If

.. math:: \sum_k \alpha_k w_k \le w, \qquad \alpha_k \ge 0,

then :math:`L(w) \ge \sum_k \alpha_k L(w_k)`, and the best such combination is a linear program with a row
for each cost, of which there are a handful. Every known plan gives a plane from above.

In a smaller region the bounds still hold; plans that use what is forbidden there are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.dual.activity_curve import POINT_TOLERANCE, ROUNDED_DOWN, ActivityPlan, Bracket

MAX_POINTS = 200
"""So many solved weights are kept of each region, and as many plans: the latest."""

MAX_PIVOTS = 40
"""A combination that is not the best one is a bound as well."""

PIVOT_TOLERANCE = 1e-11
"""A point joins the combination only if it raises the bound by more than this share of it."""

SINGULAR = 1e-12
"""Points whose weights are proportional but for this cannot be combined."""


class ValueSurface:
    """The least weighted cost of one activity within one region, as far as it is known.

    Parameters
    ----------
    costs
        Which of the activity's costs have weights, the primary among them; all others are worth nothing.
    """

    def __init__(self, costs: IntArray) -> None:
        self._costs = costs
        self._weights: FloatArray = np.zeros((0, len(costs)))
        self._bounds: FloatArray = np.zeros(0)
        self._plans: list[ActivityPlan] = []
        self._points: FloatArray = np.zeros((0, len(costs)))
        self._exact: dict[bytes, Bracket] = {}
        # Those of weights that are nought in the same places, which only points with noughts there amount to.
        self._bases: dict[bytes, Combinations] = {}

    @property
    def points(self) -> FloatArray:
        """The costs of the plans that are known, a row each: those that have weights."""
        return self._points

    @property
    def plans(self) -> list[ActivityPlan]:
        """The plans that are known."""
        return self._plans

    def _combinations(self, paid: BoolArray) -> Combinations:
        """Those that are known where these costs have weights, and no others."""
        key = paid.tobytes()
        if key not in self._bases:
            self._bases[key] = Combinations(int(np.count_nonzero(paid)))
        return self._bases[key]

    def part(self, lies_in: Callable[[ActivityPlan], bool]) -> ValueSurface:
        """What is known of a smaller region, given which plans lie in it."""
        smaller = ValueSurface(self._costs)
        smaller._weights, smaller._bounds = self._weights, self._bounds
        smaller._bases = {paid: bases.copy() for paid, bases in self._bases.items()}
        kept = [index for index, plan in enumerate(self._plans) if lies_in(plan)]
        smaller._plans = [self._plans[index] for index in kept]
        smaller._points = self._points[kept]
        smaller._exact = {key: found for key, found in self._exact.items() if lies_in(found.plan)}
        return smaller

    def add(self, weights: FloatArray, plan: ActivityPlan, bound: float) -> Bracket:
        """Keep the best plan under `weights`, and the certified bound there."""
        own = weights[self._costs]
        point = plan.costs[self._costs]
        found = Bracket(plan, float(own @ point), bound, True)
        if len(self._exact) >= MAX_POINTS:
            self._exact.clear()
        self._exact[own.tobytes()] = found
        self._weights = np.vstack([self._weights[1 - MAX_POINTS :], own])
        self._bounds = np.append(self._bounds[1 - MAX_POINTS :], max(bound, 0.0))
        same = np.all(np.abs(self._points - point) <= POINT_TOLERANCE * np.abs(point), axis=1)
        if not same.any():
            self._plans = [*self._plans[1 - MAX_POINTS :], plan]
            self._points = np.vstack([self._points[1 - MAX_POINTS :], point])
        return found

    def at(self, weights: FloatArray) -> Bracket | None:
        """What was found under these very weights."""
        return self._exact.get(weights[self._costs].tobytes())

    def best(self, weights: FloatArray) -> ActivityPlan | None:
        """The best plan known under `weights`."""
        if not self._plans:
            return None
        return self._plans[int(np.argmin(self._points @ weights[self._costs]))]

    def glance(self, weights: FloatArray) -> Bracket | None:
        """The best plan known under `weights`, without a bound; None if no plan is."""
        if not self._plans:
            return None
        values = self._points @ weights[self._costs]
        best = int(values.argmin())
        return Bracket(self._plans[best], float(values[best]), 0.0, False)

    def bracket(self, weights: FloatArray, closely: bool = False) -> Bracket | None:
        """What is known under `weights`; None if no plan is.

        Parameters
        ----------
        weights
            Where to look.
        closely
            Whether to look for the best combination of bounds, rather than among those that were the best
            elsewhere.
        """
        own = weights[self._costs]
        known = self._exact.get(own.tobytes())
        if known is not None:
            return known
        if not self._plans:
            return None
        values = self._points @ own
        best = int(np.argmin(values))
        value = float(values[best])
        return Bracket(self._plans[best], value, min(self._bound(own, closely), value), False)

    def _bound(self, own: FloatArray, closely: bool) -> float:
        """A lower bound under weights of the costs that have any, see :meth:`bracket`."""
        paid = own > 0.0
        if not paid.any():
            return 0.0
        bases, wanted = self._combinations(paid), own[paid]
        best = bases.best(wanted)
        bound = bases.bound(wanted, best)
        if closely or bound <= 0.0:
            points, bounds = self._weights, self._bounds
            if not paid.all():
                usable = ~points[:, ~paid].any(axis=1)
                points, bounds = points[np.ix_(usable, paid)], bounds[usable]
            bound = max(bound, bases.learn(points, bounds, wanted, best))
        return bound


class Combinations:
    """Sets of solved weights that were the best to combine somewhere: a triangulation that grows.

    The combination of a set that amounts to other weights is a product with the inverse of the set's own, and
    a bound there if no share is negative.

    Attributes
    ----------
    inverses, points, bounds
        Of each set the inverse, the weights, a row each, and what the least weighted cost there certainly is.
    """

    def __init__(self, size: int) -> None:
        self.inverses: FloatArray = np.zeros((0, size, size))
        self.points: FloatArray = np.zeros((0, size, size))
        self.bounds: FloatArray = np.zeros((0, size))

    def copy(self) -> Combinations:
        """The same, to go on with in a smaller region."""
        other = Combinations(self.points.shape[1])
        other.inverses, other.points, other.bounds = self.inverses, self.points, self.bounds
        return other

    def bound(self, weights: FloatArray, best: tuple[int, FloatArray] | None) -> float:
        """What the :meth:`best` of the known combinations amounts to, rounded down; 0 if there is none."""
        if best is None:
            return 0.0
        index, shares = best
        return _rounded_down(shares, self.points[index], self.bounds[index], weights)

    def best(self, weights: FloatArray) -> tuple[int, FloatArray] | None:
        """The best known combination for `weights`, and its shares; None if none amounts to them."""
        if len(self.bounds) == 0:
            return None
        shares = weights @ self.inverses
        worth = np.where(shares.min(axis=1) >= 0.0, (shares * self.bounds).sum(axis=1), 0.0)
        index = int(worth.argmax())
        return (index, shares[index]) if worth[index] > 0.0 else None

    def learn(
        self,
        points: FloatArray,
        bounds: FloatArray,
        weights: FloatArray,
        best: tuple[int, FloatArray] | None = None,
    ) -> float:
        """The best lower bound under `weights` that those at other weights amount to, rounded down.

        It is looked for from the best known combination on, and kept.

        >>> points, bounds = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([10.0, 14.0])
        >>> round(Combinations(2).learn(points, bounds, np.array([1.0, 1.0])), 9)
        12.0
        >>> round(Combinations(2).learn(points, bounds, np.array([1.0, 3.0])), 9)
        14.0

        Parameters
        ----------
        points, bounds
            Solved weights, a row each, and what the least weighted cost there certainly is.
        weights
            Where the bound is wanted; all are positive.
        best
            The :meth:`best` known combination there; None to begin with nothing.
        """
        if len(points) == 0:
            return 0.0
        if best is None:
            # What is left of the weights is worth nothing.
            begun = _Combination(np.diag(weights), np.zeros(len(weights)), np.diag(1.0 / weights))
        else:
            index = best[0]
            begun = _Combination(
                self.points[index].copy(), self.bounds[index].copy(), self.inverses[index].copy()
            )
        is_new = begun.improve(points, bounds, weights) or best is None
        if is_new:
            begun.inverse = np.linalg.inv(begun.points).astype(np.float64)
            self.inverses = np.concatenate([self.inverses[1 - MAX_POINTS :], begun.inverse[np.newaxis]])
            self.points = np.concatenate([self.points[1 - MAX_POINTS :], begun.points[np.newaxis]])
            self.bounds = np.concatenate([self.bounds[1 - MAX_POINTS :], begun.bounds[np.newaxis]])
        return _rounded_down(weights @ begun.inverse, begun.points, begun.bounds, weights)


class _Combination:
    """A set of as many weights as there are costs: the shares of any other weights are a product.

    Parameters
    ----------
    points, bounds
        The weights, a row each, and what the least weighted cost there certainly is.
    inverse
        That of the points.
    """

    def __init__(self, points: FloatArray, bounds: FloatArray, inverse: FloatArray) -> None:
        self.points = points
        self.bounds = bounds
        self.inverse = inverse

    def improve(self, points: FloatArray, bounds: FloatArray, weights: FloatArray) -> bool:
        """Exchange weights for others for as long as the sum of bounds under `weights` rises.

        The simplex method: there are as many rows as costs, and so pivots are cheap and few. A part of the
        weights may be left over. Says whether any were exchanged.

        Parameters
        ----------
        points, bounds
            Weights to choose from, a row each, and their bounds.
        weights
            What the shares amount to at most; those of the set are not negative.
        """
        exchanged = False
        for _ in range(MAX_PIVOTS):
            prices = self.inverse @ self.bounds
            worth = prices * weights
            gains = bounds - points @ prices
            enters, left_over = int(gains.argmax()), int(worth.argmin())
            gain = float(gains[enters])
            if gain < -worth[left_over]:
                gain, point, bound = -float(worth[left_over]), np.zeros(len(weights)), 0.0
                point[left_over] = weights[left_over]
            else:
                point, bound = points[enters], float(bounds[enters])
            if gain <= PIVOT_TOLERANCE * float(np.abs(worth).sum()):
                break
            direction = point @ self.inverse
            rising = direction > SINGULAR * float(np.abs(direction).max())
            if not rising.any():
                break
            shares = np.maximum(weights @ self.inverse, 0.0)
            leaves = int(np.where(rising, shares / np.where(rising, direction, 1.0), inf).argmin())
            column = self.inverse[:, leaves] / direction[leaves]
            self.inverse -= column[:, np.newaxis] * direction
            self.inverse[:, leaves] = column
            self.points[leaves], self.bounds[leaves] = point, bound
            exchanged = True
        return exchanged


def _rounded_down(shares: FloatArray, points: FloatArray, bounds: FloatArray, weights: FloatArray) -> float:
    """What shares of bounds amount to: as much of them as certainly fits into `weights`."""
    shares = np.maximum(shares, 0.0)
    taken = shares @ points
    if weights.min() > 0.0:
        load = float((taken / weights).max())
    else:
        if np.any(taken > 0.0, where=weights <= 0.0):
            return 0.0
        load = float(np.max(taken / np.where(weights > 0.0, weights, 1.0)))
    return ROUNDED_DOWN * ROUNDED_DOWN * float(shares @ bounds) / max(1.0, load)
