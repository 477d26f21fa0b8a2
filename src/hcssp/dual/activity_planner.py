"""An activity under changing prices: plans, look-ups on its budget curve, and certified bounds.

Within a region (some rows forbidden) an activity has another curve. A plan that avoids the forbidden rows
is optimal there on the same interval of prices, so a new region begins with most of its curve known. Where
several costs are counted the curve is a surface, see :mod:`hcssp.dual.value_surface`.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from math import inf

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import hollow, prepare
from hcssp.dual.activity_curve import ActivityPlan, Bracket, BudgetCurve, Piece
from hcssp.dual.price_interval import price_interval
from hcssp.dual.value_surface import ValueSurface
from hcssp.errors import DeadEnd
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import System
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.region import Region

MAX_CURVES = 400
"""Of so many regions a curve, or a surface, is kept; then all but that of the whole activity are dropped."""

UNPRICED = 0
"""In place of the counted cost where no constraint counts one: its price is always zero."""


class ActivityPlanner:
    """Plans one activity under any weights and within any region.

    Parameters
    ----------
    cssp
        The activity.
    counted
        The secondary costs that some constraint counts.
    usable
        The rows that may be taken at all; None for all.

    Attributes
    ----------
    counted
        As given.
    weighted
        The costs that may have weights: the primary, and those.
    dead_end
        Why the activity cannot be completed for sure, if it cannot: then there never is a plan.
    """

    def __init__(self, cssp: CSSP, counted: frozenset[int], usable: BoolArray | None = None) -> None:
        self.dead_end: DeadEnd | None = None
        self._impossible: set[frozenset[int]] = set()
        try:
            self.prepared = prepare(cssp, usable)
        except DeadEnd as error:
            self.prepared, self.dead_end = hollow(cssp), error
            self._impossible.add(frozenset())
        self.balance = Balance(self.prepared.problem)
        self.solver = PolicyIteration(self.balance)
        self._count(counted)

    def _count(self, counted: frozenset[int]) -> None:
        """Begin to learn about weights of these costs."""
        self.counted = counted
        # With at most one counted cost the weights are one price, and the curve is a curve.
        self._index = next(iter(counted), UNPRICED) if len(counted) <= 1 else None
        self._curves: dict[frozenset[int], BudgetCurve] = {}
        # Under weights that are no price, or of several counted costs.
        self._surfaces: dict[frozenset[int], ValueSurface] = {}
        self.weighted: IntArray = np.array([0, *sorted(counted)], dtype=np.int64)
        self._unweighted: IntArray = np.setdiff1d(np.arange(self.num_costs), self.weighted)
        self._narrower: dict[frozenset[int], ActivityPlanner] = {}

    @property
    def system(self) -> System:
        """What evaluates the activity's policies."""
        return self.solver.system

    @property
    def row_start(self) -> IntArray:
        """The first row of each live state of the prepared activity, and the number of rows."""
        return self.balance.row_start

    @property
    def num_costs(self) -> int:
        """How many costs the activity has, the primary among them."""
        return int(self.balance.costs.shape[0])

    @property
    def priced(self) -> bool:
        """Whether at most one secondary cost is counted, so that a price says all about the weights."""
        return self._index is not None

    def plan(self, weights: FloatArray, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """The best plan that avoids the `forbidden` rows, and a certified lower bound on its weighted cost.

        None if no proper plan avoids them.
        """
        price = self._price(weights)
        if price is not None:
            return self.plan_at(price, forbidden)
        if self._is_impossible(forbidden):
            return None
        if weights[self._unweighted].any():
            return self.plan_afresh(weights, forbidden, self._warm_start(forbidden))
        surface = self._surface(forbidden)
        known = surface.at(weights)
        if known is None:
            optimum = self._solve(weights, forbidden, surface.best(weights) or self._warm_start(forbidden))
            if optimum is None:
                return None
            known = surface.add(weights, ActivityPlan(optimum, self.system), optimum.bound)
        return known.plan, known.bound

    def bracket(
        self, weights: FloatArray, forbidden: frozenset[int], closely: bool = False
    ) -> Bracket | None:
        """What is known under weights; something is planned only where nothing is. None if no proper plan is.

        With several counted costs, one may look `closely`, see :meth:`ValueSurface.bracket`.
        """
        price = self._price(weights)
        if price is not None:
            return self.bracket_at(price, forbidden)
        if self._is_impossible(forbidden):
            return None
        if not weights[self._unweighted].any():
            known = self._surface(forbidden).bracket(weights, closely)
            if known is not None:
                return known
        answer = self.plan(weights, forbidden)
        return (
            None if answer is None else Bracket(answer[0], float(weights @ answer[0].costs), answer[1], True)
        )

    def counting(self, counted: frozenset[int]) -> ActivityPlanner:
        """The planner of the same activity that expects weights of fewer costs; what it needs is shared.

        With one of them a price says all about the weights, and plans are known for intervals of prices.
        """
        if counted == self.counted:
            return self
        if counted not in self._narrower:
            other = self._narrower[counted] = copy(self)
            other._count(counted)
        return self._narrower[counted]

    def glance(self, weights: FloatArray, forbidden: frozenset[int]) -> Bracket | None:
        """As :meth:`bracket`, but with several counted costs the bound may be nought: that is far quicker."""
        if not self.priced and not self._is_impossible(forbidden):
            known = self._surface(forbidden).glance(weights)
            if known is not None:
                return known
        return self.bracket(weights, forbidden)

    def plan_at(self, price: float, forbidden: frozenset[int]) -> tuple[ActivityPlan, float] | None:
        """As :meth:`plan`, at a price of the one counted cost: a look-up wherever the curve is known."""
        if self._index is None:
            raise ValueError("several costs are counted: give their weights")
        if self._impossible and self._is_impossible(forbidden):
            return None
        curve = self._curve(forbidden)
        piece = curve.at(price)
        if piece is None:
            near = curve.closest(price)
            warm = self._warm_start(forbidden) if near is None else near.plan
            optimum = self._solve(self._weights_at(price, self._index), forbidden, warm)
            if optimum is None:
                return None
            piece = curve.add(self._certify(optimum, price, forbidden, self._index))
        return piece.plan, piece.bound(price)

    def bracket_at(self, price: float, forbidden: frozenset[int]) -> Bracket | None:
        """What is known at a price; something is planned only where nothing is. None if no proper plan is."""
        if self._impossible and self._is_impossible(forbidden):
            return None
        curve = self._curve(forbidden)
        if not curve.pieces and self.plan_at(price, forbidden) is None:
            return None
        return curve.bracket(price)

    def _weights_at(self, price: float, index: int) -> FloatArray:
        """The weights that a price of the one counted cost stands for."""
        weights = np.zeros(self.num_costs)
        weights[index] = price
        weights[0] = 1.0
        return weights

    def plan_afresh(
        self, weights: FloatArray, forbidden: frozenset[int], warm: ActivityPlan | None = None
    ) -> tuple[ActivityPlan, float] | None:
        """As :meth:`plan`, past all that is known: the bound is that of these very weights."""
        optimum = self._solve(weights, forbidden, warm)
        return None if optimum is None else (ActivityPlan(optimum, self.system), optimum.bound)

    def plan_from(self, rows: IntArray) -> ActivityPlan:
        """The policy that takes `rows` in the live states, with its exact costs."""
        values = self.system.values(rows)
        return ActivityPlan(ScalarOptimum(rows, values, self.balance.initial @ values, -inf), self.system)

    def uses_any(self, plan: ActivityPlan, rows: Iterable[int]) -> bool:
        """Whether `plan` takes one of `rows` where it goes."""
        row_state = self.balance.row_state
        return any(plan.uses(row, int(row_state[row])) for row in rows)

    def lift(self, plan: ActivityPlan) -> IntArray:
        """The plan as one row for each state of the activity, as the user has stated it."""
        rows = np.full(self.prepared.problem.num_states, NO_ROW, dtype=np.int64)
        rows[self.balance.live] = plan.rows
        return self.prepared.lift(rows)

    def values_of(self, plan: ActivityPlan, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every state of the user's activity; nan where nothing is known."""
        return self.prepared.lift_values(self.balance.live, plan.values @ weights)

    def original_rows(self, rows: Iterable[int]) -> list[int]:
        """The rows of the user's activity that rows of the prepared one are."""
        return [int(self.prepared.rows[row]) for row in sorted(rows)]

    def prepared_row(self, row: int) -> int | None:
        """The row of the prepared activity that is `row` of the user's; None if it has none."""
        place = int(np.searchsorted(self.prepared.rows, row))
        found = place < len(self.prepared.rows) and int(self.prepared.rows[place]) == row
        return place if found else None

    def known_points(self, forbidden: frozenset[int]) -> tuple[list[ActivityPlan], FloatArray]:
        """The plans that are known to avoid the `forbidden` rows, and their `weighted` costs, a row each."""
        if self._index is None:
            surface = self._surface(forbidden)
            return surface.plans, surface.points
        plans = [piece.plan for piece in self._curve(forbidden).pieces]
        points = np.array([plan.costs[self.weighted] for plan in plans])
        return plans, points.reshape(-1, len(self.weighted))

    def known_around(self, price: float, forbidden: frozenset[int]) -> tuple[Piece | None, Piece | None]:
        """What is known at a price and next to it, without planning; see :meth:`BudgetCurve.around`."""
        curve = self._curves.get(forbidden)
        return (None, None) if curve is None else curve.around(price)

    def _price(self, weights: FloatArray) -> float | None:
        """The price of the one counted cost that says all about some weights; None if they are others."""
        if self._index is None or weights[0] != 1.0 or weights[self._unweighted].any():
            return None
        return 0.0 if self._index == UNPRICED else float(weights[self._index])

    def _is_impossible(self, forbidden: frozenset[int]) -> bool:
        """Whether it is known already that no proper plan avoids these rows."""
        return any(known <= forbidden for known in self._impossible)

    def _solve(
        self, weights: FloatArray, forbidden: frozenset[int], warm: ActivityPlan | None
    ) -> ScalarOptimum | None:
        allowed = Region(forbidden).allowed(self.balance.num_rows) if forbidden else None
        rows, values = (None, None) if warm is None else (warm.rows, warm.values)
        optimum = self.solver.minimise(weights, allowed, rows, values)
        if optimum is None:
            self._impossible.add(forbidden)
        return optimum

    def _warm_start(self, forbidden: frozenset[int]) -> ActivityPlan | None:
        """A plan of the closest known region, to start from."""
        for region in (forbidden, frozenset[int]()):
            curve = self._curves.get(region)
            if curve is not None and curve.pieces:
                return curve.pieces[0].plan
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
        curve = BudgetCurve()
        if larger:
            closest = max(larger, key=len)
            whole, new = self._curves[closest], forbidden - closest
            pieces = [replace(piece) for piece in whole.pieces if not self.uses_any(piece.plan, new)]
            curve = BudgetCurve(pieces, whole)
        self._curves[forbidden] = curve
        return curve

    def _surface(self, forbidden: frozenset[int]) -> ValueSurface:
        """The surface of a region, begun with what the closest larger region knows."""
        surface = self._surfaces.get(forbidden)
        if surface is not None:
            return surface
        if len(self._surfaces) >= MAX_CURVES:
            root = self._surfaces.get(frozenset())
            self._surfaces = {} if root is None else {frozenset(): root}
        larger = [known for known in self._surfaces if known < forbidden]
        if larger:
            closest = max(larger, key=len)
            new = forbidden - closest
            surface = self._surfaces[closest].part(lambda plan: not self.uses_any(plan, new))
        else:
            surface = ValueSurface(self.weighted)
        self._surfaces[forbidden] = surface
        return surface

    def _certify(self, optimum: ScalarOptimum, price: float, forbidden: frozenset[int], index: int) -> Piece:
        """The interval of prices around `price` on which no reduced cost turns negative, up to ties."""
        plan = ActivityPlan(optimum, self.system)
        cost, use = float(optimum.costs[0]), float(optimum.costs[index])
        if optimum.dead is not None or index == UNPRICED:
            return Piece(price, price, plan, cost, use, optimum.bound, optimum.bound)
        banned = np.array(sorted(forbidden), dtype=np.int64) if forbidden else None
        found = price_interval(self.balance, optimum, index, price, banned)
        return Piece(found.low, found.high, plan, cost, use, found.low_bound, found.high_bound)
