"""The interval of prices on which a plan stays the best, with a certified bound at both of its ends.

The reduced costs of a plan are linear in the price of the counted cost, and the plan is optimal as long as
none turns negative. A tie counts as one, as in policy iteration, so at an end some rows may be short by a
little; what the certificate makes of that is the bound there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import ScalarOptimum
from hcssp.ssp.scalar_problem import tie

END_LOSS = 1e-9
"""An interval of prices is kept only if the bound at its end is within this share of the plan's cost."""

FAR_PRICE = 30.0
"""An interval without an end is certified up to the price at which the use weighs so many times as much as
the cost: a bound on the use alone is dear where rows have none."""

RETREATS = (1.0, 0.25, 0.0625)
"""Shares of the way to an end at which a bound is tried."""


@dataclass(frozen=True)
class PriceInterval:
    """Where a plan is optimal, up to ties.

    Attributes
    ----------
    low, high
        The interval, as far as it is certain.
    low_bound, high_bound
        Certified lower bounds on the least weighted cost at both ends.
    """

    low: float
    low_bound: float
    high: float
    high_bound: float


def price_interval(
    balance: Balance, optimum: ScalarOptimum, index: int, price: float, banned: IntArray | None
) -> PriceInterval:
    """The interval around `price` on which no reduced cost of its optimum turns negative.

    Parameters
    ----------
    balance
        The activity.
    optimum
        The best plan at `price`; no state of it may be dead.
    index
        The counted cost.
    price
        Of the counted cost.
    banned
        Rows that are not to be used; None forbids none.
    """
    line = _Line(balance, optimum, index, banned)
    base, slope = (line.reduced[each] + tie(line.values[each]).take(balance.row_state) for each in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = base / -slope
    # Several times as fast as reductions of some entries only.
    low = float(np.where(slope > 0.0, zero, 0.0).max(initial=0.0))
    high = float(np.where(slope < 0.0, zero, inf).min(initial=inf))
    low, low_bound = line.furthest(price, low, optimum.bound) if low < price else (price, optimum.bound)
    high, high_bound = line.furthest(price, high, optimum.bound) if high > price else (price, optimum.bound)
    return PriceInterval(low, low_bound, high, high_bound)


class _Line:
    """Values and reduced costs of a plan as functions of the price."""

    def __init__(self, balance: Balance, optimum: ScalarOptimum, index: int, banned: IntArray | None) -> None:
        self._balance = balance
        self._index = index
        self._banned = banned
        self.values: FloatArray = np.ascontiguousarray(optimum.values[:, [0, index]].T)
        # One product for each: together they take as long, and lie in each other's way afterwards.
        self.reduced = [
            balance.reduced_costs(balance.costs[cost], values)
            for cost, values in zip((0, index), self.values, strict=True)
        ]
        if banned is not None:
            for reduced in self.reduced:
                reduced[banned] = 0.0

    def furthest(self, price: float, end: float, bound: float) -> tuple[float, float]:
        """How far towards `end` a good bound is certain, and that bound; if nowhere, `price` and `bound`."""
        reach = self._far(price) if end == inf else end
        for share in RETREATS:
            at = reach if share == 1.0 else price + share * (reach - price)
            found = self._bound(at)
            if found > -inf:
                return at, found
        # A dearer proof takes as long as some plans; nobody may ever ask for what it says.
        return price, bound

    def _far(self, price: float) -> float:
        """A price that is beyond most that will be asked for."""
        cost, use = self.values.max(axis=1, initial=0.0).tolist()
        return FAR_PRICE * max(price, cost / use if use > 0.0 else 1.0)

    def _bound(self, price: float) -> float:
        """The bound at a price if it is about the plan's own cost and quickly found; otherwise ``-inf``."""
        balance = self._balance
        weights = np.zeros(len(balance.costs))
        weights[0], weights[self._index] = 1.0, price
        values, reduced = (both[0] + price * both[1] for both in (self.values, self.reduced))
        if self._banned is not None:
            reduced[self._banned] = inf
        quick = balance.certify_quickly(weights, values, reduced, END_LOSS)
        return -inf if quick is None else quick.bound
