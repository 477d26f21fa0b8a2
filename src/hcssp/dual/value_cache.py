r"""Cached results for an activity under weights of its costs: plans, and bounds on its least weighted cost.

The least expected weighted cost :math:`L(w)` of an activity is concave and positively homogeneous in the
weights, and it never falls, since no cost is negative. So a plan with costs :math:`c` gives an upper bound
:math:`L(w) \le c w`, and certified bounds at solved weights :math:`w_k` give a lower bound elsewhere:

.. math:: L(w) \ge \sum_k \alpha_k L(w_k) \quad \text{if} \quad \sum_k \alpha_k w_k \le w, \alpha_k \ge 0.

With one secondary cost, weights are a price, and the best combination is the chord of the two solved prices
next to it (:class:`PriceCache`). With several it is a linear program with a row for each cost
(:class:`WeightsCache`). Often a look-up is precise enough, and nothing is planned.

What is known about a region is used in smaller ones: bounds hold there as well, and so do plans that avoid
the rows that are forbidden there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.arrays import by_column
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.dual.oracle import CLEARLY_VISITED, PolicyPoint, estimated_rounding
from hcssp.dual.prediction import DEFAULT_PREDICTION, PlanChanges, plan_changes
from hcssp.dual.small_lp import SmallLP
from hcssp.ssp.policy_evaluation import System
from hcssp.ssp.potential import ROUNDINGS

INTERPOLATED_DOWN = 1.0 - 16.0 * ROUNDINGS
"""An interpolation between non-negative numbers, times this, is not above its exact value: it has fewer than
16 roundings."""


@dataclass(frozen=True)
class PlannerParameters:
    """How much is remembered about each activity.

    Attributes
    ----------
    max_regions
        The number of regions, or of answers of a multi-exit activity. When they are exceeded, all are dropped
        except the region of all plans.
    max_points
        The number of solved weights, and of plans, in each region, if there are several secondary costs. When
        it is exceeded, the older half is dropped.
    same_point
        Plans are the same point of the relaxation if their costs differ by no more than this share.
    max_group_entries
        The number of activities, of all regions together, whose groups of identical activities are kept.
    max_plans
        The number of plans of a multi-exit activity among which the next answer is looked for.
    tolerance
        Plans are not distinguished if their costs differ by less than this share of the bound of a procedure;
        nothing is planned for the sake of less.
    least_group_entries
        A region with fewer activities takes as much memory as one with these.
    """

    max_regions: int = 400
    max_points: int = 200
    same_point: float = 1e-13
    max_group_entries: int = 1_000_000
    max_plans: int = 16
    tolerance: float = 1e-11
    least_group_entries: int = 1_000


DEFAULT_PARAMETERS = PlannerParameters()
"""The parameters unless others are given."""


class ActivityPlan(PolicyPoint):
    """A policy of one activity and its exact expected costs.

    Parameters
    ----------
    system
        Evaluates policies of the activity.
    rows
        A row for each live state of the prepared activity.
    values
        Expected costs-to-go from every live state. A multi-exit activity counts the probability of each exit
        as a cost.
    costs
        Expected costs of one execution, the primary first, in the activity's own order.
    dead
        Live states that the policy must not enter; None if there are none.
    """

    def __init__(
        self,
        system: System,
        rows: IntArray,
        values: FloatArray,
        costs: FloatArray | None = None,
        dead: BoolArray | None = None,
    ) -> None:
        self._rows = rows
        self.values = values
        self.costs = system.balance.initial @ values if costs is None else costs
        self.dead = dead
        self._system = system
        self._changes: dict[tuple[int, bool], PlanChanges] = {}
        self._entered: dict[int, FloatArray] = {}

    @property
    def rows(self) -> IntArray:
        """A row for each live state."""
        return self._rows

    @cached_property
    def visits(self) -> FloatArray:
        """Expected visits of every live state in one execution."""
        return self._system.visits(self.rows)

    @cached_property
    def reached(self) -> BoolArray:
        """The live states that the plan enters, however seldom."""
        return self._system.balance.reached(self.rows)

    @cached_property
    def reduced_costs(self) -> FloatArray:
        """The reduced cost of each row, a column for each cost: linear in the weights."""
        balance = self._system.balance
        reduced: FloatArray = balance.costs.T - balance.matrix @ self.values
        return reduced

    @cached_property
    def rounding(self) -> FloatArray:
        """An estimate of the rounding errors of the costs."""
        return estimated_rounding(self.values, self.costs, float(self.visits.sum()))

    def changes(self, index: int, falls: bool) -> PlanChanges:
        """The first changes of the plan as the price of a cost falls, or rises, from where it is optimal."""
        key = index, falls
        if key not in self._changes:
            balance = self._system.balance
            most = DEFAULT_PREDICTION.max_changes
            self._changes[key] = plan_changes(
                balance, self.values, self.visits, self.rows, index, falls, most
            )
        return self._changes[key]

    def entered(self, row: int, states: IntArray, chances: FloatArray) -> FloatArray:
        """The costs-to-go if the activity is entered by an event row: in some live states, by chance."""
        if row not in self._entered:
            self._entered[row] = chances @ self.values[states]
        return self._entered[row]

    def uses_any(self, rows: Iterable[int]) -> bool:
        """Whether the plan takes one of `rows` in a state that it enters."""
        row_state = self._system.balance.row_state
        return any(self.rows[row_state[row]] == row and self.enters(int(row_state[row])) for row in rows)

    def enters(self, state: int) -> bool:
        """Whether the plan enters a live state, however seldom."""
        # Visits may need a factorisation, so the graph decides unless they are known.
        visits = vars(self).get("visits")
        return bool((visits is not None and visits[state] > CLEARLY_VISITED) or self.reached[state])


class ValueBounds(NamedTuple):
    """The results for an activity under some weights.

    Attributes
    ----------
    plan
        The best plan known.
    upper
        Its weighted cost.
    lower
        A certified lower bound on the least weighted cost.
    exact
        Whether the plan is optimal, so that planning again would not help.
    """

    plan: ActivityPlan
    upper: float
    lower: float
    exact: bool


class ValueCache(ABC):
    """The results for one activity within one region."""

    plans: list[ActivityPlan]
    """The plans that are known."""

    plan_costs: FloatArray
    """Their costs, a row each."""

    @abstractmethod
    def lookup(self, weights: FloatArray, refine: bool = False) -> ValueBounds | None:
        """The results under `weights`; None if no plan is known.

        Parameters
        ----------
        weights
            Of all costs of the activity.
        refine
            Whether to look for the best lower bound, rather than for one that takes a few products.
        """

    @abstractmethod
    def at(self, weights: FloatArray) -> ValueBounds | None:
        """The results under `weights` if the optimal plan is known."""

    @abstractmethod
    def normalised(self, weights: FloatArray) -> FloatArray:
        """The weights to solve under to know the answer under `weights`, which are proportional."""

    @abstractmethod
    def add(self, weights: FloatArray, plan: ActivityPlan, bound: float) -> None:
        """Keep the optimal plan under normalised `weights`, and the certified bound."""

    @abstractmethod
    def warm_start(self, weights: FloatArray) -> ActivityPlan | None:
        """A plan that is probably close to the optimal one; it may lie in a larger region."""

    @abstractmethod
    def restricted(self, lies_in: Callable[[ActivityPlan], bool]) -> ValueCache:
        """The results for a smaller region, given the plans in it."""


class SolvedPrice(NamedTuple):
    """A price at which an activity was solved.

    Attributes
    ----------
    price
        Of the one secondary cost; infinite if the primary cost does not count.
    plan
        The plan that is optimal there, from every state.
    bound
        A certified lower bound on the least weighted cost; on the least secondary cost if the price is
        infinite.
    point
        A plan with the same costs, the same object for all solved prices with these costs.
    """

    price: float
    plan: ActivityPlan
    bound: float
    point: ActivityPlan


class PriceCache(ValueCache):
    """Knows the least cost as a function of the price of one secondary cost, at most.

    Parameters
    ----------
    index
        That cost; None if there is none.
    parameters
        How much is remembered.
    """

    def __init__(self, index: int | None, parameters: PlannerParameters = DEFAULT_PARAMETERS) -> None:
        self._index = index
        self._parameters = parameters
        self._solved: list[SolvedPrice] = []
        self._larger: PriceCache | None = None

    @property
    def plans(self) -> list[ActivityPlan]:  # type: ignore[override]
        """The plans that are known, each point once."""
        return list(dict.fromkeys(each.point for each in self._solved))

    @property
    def plan_costs(self) -> FloatArray:  # type: ignore[override]
        """The costs of the plans, a row each."""
        return np.array([plan.costs for plan in self.plans])

    def around(self, price: float) -> tuple[SolvedPrice | None, SolvedPrice | None]:
        """The solved prices next to `price`, below and above; the same twice if it is solved itself."""
        place = bisect_left(self._solved, price, key=_price)
        above = self._solved[place] if place < len(self._solved) else None
        if above is not None and above.price == price:
            return above, above
        return (self._solved[place - 1] if place else None), above

    def lookup(self, weights: FloatArray, refine: bool = False) -> ValueBounds | None:
        price, scale = self._direction(weights)
        below, above = self.around(price)
        best = below or above
        if best is None:
            return None
        begin, lower, upper = 0.0, 0.0, self._value(best.point, price)
        if below is not None:
            # A bound at a finite price is no bound on the secondary cost alone.
            begin, lower = below.price, below.bound if price < inf or below is above else 0.0
        if above is not None and above is not below:
            lower = max(lower, chord(begin, lower, above.price, above.bound, price))
            value = self._value(above.point, price)
            if value < upper:
                best, upper = above, value
        lower = min(lower, upper)
        exact = below is not None and above is not None and below.point is above.point
        if scale != 1.0:
            lower, upper = INTERPOLATED_DOWN * scale * lower, scale * upper
        return ValueBounds(best.point, upper, lower, exact)

    def at(self, weights: FloatArray) -> ValueBounds | None:
        known = self.lookup(weights)
        return known if known is not None and known.exact else None

    def normalised(self, weights: FloatArray) -> FloatArray:
        price, _ = self._direction(weights)
        normalised = np.zeros(len(weights))
        if price < inf:
            normalised[0] = 1.0
        if self._index is not None:
            normalised[self._index] = price if price < inf else 1.0
        return normalised

    def add(self, weights: FloatArray, plan: ActivityPlan, bound: float) -> None:
        price, _ = self._direction(weights)
        tolerance = self._parameters.same_point * np.abs(plan.costs)
        point = next(
            (
                each.point
                for each in self.around(price)
                if each is not None and (np.abs(each.point.costs - plan.costs) <= tolerance).all()
            ),
            plan,
        )
        place = bisect_left(self._solved, price, key=_price)
        self._solved.insert(place, SolvedPrice(price, plan, max(bound, 0.0), point))
        # Between two prices with the same point, nothing else need be kept.
        for middle in (place + 1, place - 1):
            if 0 < middle < len(self._solved) - 1 and all(
                each.point is point for each in self._solved[middle - 1 : middle + 2]
            ):
                del self._solved[middle]

    def warm_start(self, weights: FloatArray) -> ActivityPlan | None:
        price, _ = self._direction(weights)
        # At the same distance, a plan of this region comes first.
        caches = (self,) if self._larger is None else (self, self._larger)
        near = [each for cache in caches for each in cache.around(price) if each is not None]
        return min(near, key=lambda each: _distance(each.price, price)).plan if near else None

    def restricted(self, lies_in: Callable[[ActivityPlan], bool]) -> PriceCache:
        smaller = PriceCache(self._index, self._parameters)
        smaller._larger = self
        kept = [each for each in self._solved if lies_in(each.plan)]
        smaller._solved = [
            each if each.point is each.plan or lies_in(each.point) else each._replace(point=each.plan)
            for each in kept
        ]
        return smaller

    def _direction(self, weights: FloatArray) -> tuple[float, float]:
        """The price that some weights are proportional to, and the factor."""
        first = weights.item(0)
        if self._index is None:
            return 0.0, first
        counted = weights.item(self._index)
        if first == 1.0:
            return counted, 1.0
        price = counted / first if first > 0.0 else inf
        return (price, first) if price < inf else (inf, counted)

    def _value(self, plan: ActivityPlan, price: float) -> float:
        costs = plan.costs
        if self._index is None:
            return costs.item(0)
        use = costs.item(self._index)
        return costs.item(0) + price * use if price < inf else use


def _price(solved: SolvedPrice) -> float:
    return solved.price


def _distance(one: float, other: float) -> float:
    return 0.0 if one == other else abs(one - other)


def chord(low: float, low_bound: float, high: float, high_bound: float, price: float) -> float:
    """A lower bound at a price between two with known bounds, rounded down; no number is negative.

    >>> round(chord(1.0, 10.0, 3.0, 20.0, 2.0), 9)
    15.0

    At an infinite price, the bound is one on the secondary cost.

    >>> round(chord(1.0, 10.0, inf, 2.0, 4.0), 9)
    16.0
    """
    if high == inf:
        return INTERPOLATED_DOWN * (low_bound + (price - low) * high_bound)
    share = (price - low) / (high - low)
    # The least weighted cost never falls as the price rises.
    return INTERPOLATED_DOWN * ((1.0 - share) * low_bound + share * max(low_bound, high_bound))


class WeightsCache(ValueCache):
    """Knows the least cost as a function of weights of several costs.

    A lower bound is the best combination of solved weights, a linear program. Bases that were optimal
    somewhere are kept. Under other weights, the shares of a basis are a product with its inverse, and the
    combination is a bound there if no share is negative.

    Parameters
    ----------
    costs
        The costs that have weights, the primary first.
    parameters
        How much is remembered.
    """

    def __init__(self, costs: IntArray, parameters: PlannerParameters = DEFAULT_PARAMETERS) -> None:
        self._costs = costs
        self._parameters = parameters
        size = len(costs)
        self.plans: list[ActivityPlan] = []
        self.plan_costs: FloatArray = np.zeros((0, 0))
        self._points: FloatArray = np.zeros((0, size))
        self._exact: dict[bytes, ValueBounds] = {}
        # The first columns are slacks: a part of the weights may be left over, and is worth nothing.
        self._columns: FloatArray = np.eye(size)
        self._bounds: FloatArray = np.zeros(size)
        self._bases: IntArray = np.arange(size)[np.newaxis]
        self._inverses: FloatArray = np.eye(size)[np.newaxis]

    def at(self, weights: FloatArray) -> ValueBounds | None:
        return self._exact.get(weights[self._costs].tobytes())

    def normalised(self, weights: FloatArray) -> FloatArray:
        return weights

    def add(self, weights: FloatArray, plan: ActivityPlan, bound: float) -> None:
        own, point = weights[self._costs], plan.costs[self._costs]
        size, most = len(own), self._parameters.max_points
        if len(self._exact) >= most:
            self._exact.clear()
        self._exact[own.tobytes()] = ValueBounds(plan, float(own @ point), bound, True)
        if len(self._columns) >= size + most:
            half = max(1, most // 2)
            self._columns = np.vstack([np.eye(size), self._columns[-half:]])
            self._bounds = np.append(np.zeros(size), self._bounds[-half:])
            self._bases, self._inverses = np.arange(size)[np.newaxis], np.eye(size)[np.newaxis]
        self._columns = np.vstack([self._columns, own])
        self._bounds = np.append(self._bounds, max(bound, 0.0))
        tolerance = self._parameters.same_point * np.abs(point)
        if not (np.abs(self._points - point) <= tolerance).all(axis=1).any():
            kept = 0 if len(self.plans) < most else -max(1, most // 2)
            self.plan_costs = (
                np.vstack([self.plan_costs[kept:], plan.costs]) if self.plans else plan.costs[np.newaxis]
            )
            self.plans = [*self.plans[kept:], plan]
            self._points = np.vstack([self._points[kept:], point])

    def warm_start(self, weights: FloatArray) -> ActivityPlan | None:
        return self.plans[int((self._points @ weights[self._costs]).argmin())] if self.plans else None

    def lookup(self, weights: FloatArray, refine: bool = False) -> ValueBounds | None:
        own = weights[self._costs]
        known = self._exact.get(own.tobytes())
        if known is not None or not self.plans:
            return known
        values = self._points @ own
        best = int(values.argmin())
        upper = values.item(best)
        return ValueBounds(self.plans[best], upper, min(self._lower(own, refine), upper), False)

    def restricted(self, lies_in: Callable[[ActivityPlan], bool]) -> WeightsCache:
        smaller = WeightsCache(self._costs, self._parameters)
        smaller._columns, smaller._bounds = self._columns, self._bounds
        smaller._bases, smaller._inverses = self._bases, self._inverses
        kept = [index for index, plan in enumerate(self.plans) if lies_in(plan)]
        smaller.plans = [self.plans[index] for index in kept]
        smaller.plan_costs, smaller._points = self.plan_costs[kept], self._points[kept]
        smaller._exact = {key: found for key, found in self._exact.items() if lies_in(found.plan)}
        return smaller

    def _lower(self, own: FloatArray, refine: bool) -> float:
        """A lower bound under weights of the costs that have any."""
        shares = self._inverses @ own
        each = by_column(shares)
        worth = np.where(each.min(axis=0) >= 0.0, (each * self._bounds[self._bases].T).sum(axis=0), 0.0)
        best = int(worth.argmax())
        bound = self._combined(self._bases[best], shares[best], own) if worth[best] > 0.0 else 0.0
        if not refine and bound > 0.0:
            return bound
        basis = self._bases[best if worth[best] > 0.0 else 0]
        inverse = self._inverses[best if worth[best] > 0.0 else 0]
        program = SmallLP(self._columns, -self._bounds, own, basis, inverse)
        program.solve()
        if not np.array_equal(program.basis, basis):
            kept = 0 if len(self._bases) < self._parameters.max_points else -self._parameters.max_points // 2
            self._bases = np.vstack([self._bases[:1], self._bases[1:][kept:], program.basis])
            self._inverses = np.concatenate(
                [self._inverses[:1], self._inverses[1:][kept:], program.inverse[np.newaxis]]
            )
        return max(bound, self._combined(program.basis, program.shares, own))

    def _combined(self, basis: IntArray, shares: FloatArray, own: FloatArray) -> float:
        return combined(self._columns.take(basis, axis=0), self._bounds.take(basis), shares, own)


def combined(solved: FloatArray, bounds: FloatArray, shares: FloatArray, weights: FloatArray) -> float:
    """A lower bound that shares of bounds at `solved` weights give, as far as they certainly fit.

    Parameters
    ----------
    solved, bounds
        Solved weights, a row each, and lower bounds there.
    shares
        Of each; negative ones are taken for zero.
    weights
        Where the bound is wanted.
    """
    shares, paid = np.maximum(shares, 0.0), weights > 0.0
    if not paid.all():
        # Weights of a cost that has none here cannot be a part, however small.
        shares = np.where(solved[:, ~paid].any(axis=1), 0.0, shares)
        solved, weights = solved[:, paid], weights[paid]
    load = float((shares @ solved / weights).max(initial=1.0))
    return INTERPOLATED_DOWN * INTERPOLATED_DOWN * float(shares @ bounds) / load
