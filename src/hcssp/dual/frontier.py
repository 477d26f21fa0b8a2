r"""An activity's budget curve by use: the best plan under a limit on :math:`g`.

The hull is explored only where it is asked for, by solving at the slope between two known vertices until they
are known to be neighbours; a second question about the same stretch is a look-up.

It stands beside the view by price (:mod:`hcssp.dual.activity_curve`) because their answers are certified
differently. Of an interval of prices both ends are certified, and what lies between them by concavity, so the
view by price need know no exact vertices; a limit needs those, also the ones that only a high price or none
at all finds, and no interval.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from hcssp.dual.activity_curve import ActivityPlan

NEIGHBOUR_TOLERANCE = 1e-11
"""Two vertices are neighbours if nothing lies below the line between them by more than this share of its
level. A vertex that is missed for it raises no bound: bounds come from the priced plan itself."""

DOMINANCE_TOLERANCE = 1e-12
"""A plan that uses more and saves no more than this share of its cost is no vertex."""


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
