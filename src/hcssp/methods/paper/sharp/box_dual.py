r"""The hierarchical dual restricted to a box: the sharper lower bound of its solutions.

For multipliers :math:`\lambda` an activity whose use must lie in :math:`[\delta^-, \delta^+]` contributes

.. math:: \min_{\delta^- \le g \le \delta^+} \max(\hat f(g), \phi) + \lambda g,

with :math:`\hat f` its budget curve and :math:`\phi` the lower bound of Activity-Planning under
:math:`\delta^+`. The procedure is a small SSP on top of the contributions. For any price :math:`p` of the
activity's cost and its Lagrangian value :math:`v(p)`, the curve lies above the line :math:`v(p) - p g`; so
the contribution is found on the line whose price is :math:`\lambda`, or on that of one of the limits if
:math:`\lambda` lies beyond it, and it is certified because :math:`v(p)` is. With several counted costs the
best of a few such planes is taken. If the box limits nothing, this is the dual of the whole problem: the
optimum over randomised policies.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.activity_budget import BudgetPlanner
from hcssp.dual.event_solver import ProcedureSolver
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.vertex import Vertex
from hcssp.methods.paper.answers import ActivityAnswer
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region


class Contribution(NamedTuple):
    """An activity's least priced cost within its limits (cost + prices * usage), and where it lies."""

    value: float
    cost: float
    usage: FloatArray


class _Clipped(Protocol):
    """An activity's curve within its limits."""

    def at(self, prices: FloatArray) -> Contribution:
        """The least cost under `prices`."""

    def sparing(self, prices: FloatArray) -> Contribution:
        """The least use under `prices`, whatever it costs."""


class _Curve:
    """One counted cost."""

    def __init__(self, budget: BudgetPlanner, lower: float, upper: float, answer: ActivityAnswer) -> None:
        self._budget = budget
        self._floor = answer.lower_bound
        self._lower = max(lower, float(budget.least[0]))
        self._flattest = float(budget.under(np.array([upper])).prices[0])
        self._top = upper
        if self._flattest > 0.0:
            # Where the supporting line at the upper limit comes down to what the plan costs at least.
            line = budget.at(np.array([self._flattest]))[1]
            self._top = min(upper, (line - self._floor) / self._flattest)
        self._steepest = inf
        if float(budget.least[0]) < self._lower < self._top:
            self._steepest = max(self._flattest, float(budget.under(np.array([self._lower])).prices[0]))

    def at(self, prices: FloatArray) -> Contribution:
        price = float(prices[0])
        if self._top <= self._lower:
            return _point(self._floor, self._lower, price)
        if price < self._flattest:
            return _point(self._floor, self._top, price)
        support = min(price, self._steepest)
        plan, value = self._budget.at(np.array([support]))
        if price > support:
            return _point(value - support * self._lower, self._lower, price)
        usage = np.clip(self._budget.usage(plan), self._lower, self._top)
        return Contribution(value, value - float(prices @ usage), usage)

    def sparing(self, prices: FloatArray) -> Contribution:
        bound = self._budget.under(np.array([self._lower])).lower_bound
        cost = max(self._floor, bound) if np.isfinite(bound) else self._floor
        return Contribution(float(prices[0]) * self._lower, cost, np.array([self._lower]))


def _point(cost: float, use: float, price: float) -> Contribution:
    return Contribution(cost + price * use, cost, np.array([use]))


class _Surface:
    """Several counted costs."""

    def __init__(
        self, budget: BudgetPlanner, lower: FloatArray, upper: FloatArray, answer: ActivityAnswer
    ) -> None:
        self._budget = budget
        self._floor = answer.lower_bound
        self._lower = np.maximum(lower, budget.least)
        self._upper = upper
        self._flattest = budget.under(upper).prices

    def at(self, prices: FloatArray) -> Contribution:
        corner = Contribution(self._floor + float(prices @ self._lower), self._floor, self._lower)
        found = [corner, self._on(prices, prices)]
        raised = np.maximum(prices, self._flattest)
        if np.any(raised > prices):
            found.append(self._on(raised, prices))
        return max(found, key=lambda contribution: contribution.value)

    def _on(self, support: FloatArray, prices: FloatArray) -> Contribution:
        """The least on the plane that supports the surface at the prices `support`, none below `prices`."""
        plan, value = self._budget.at(support)
        usage = np.where(support > prices, self._upper, self._budget.usage(plan))
        cost = value - float(support @ usage)
        return Contribution(cost + float(prices @ usage), cost, usage)

    def sparing(self, prices: FloatArray) -> Contribution:
        return Contribution(float(prices @ self._lower), self._floor, self._lower)


class _Free:
    """No counted cost."""

    def __init__(self, answer: ActivityAnswer) -> None:
        self._cost = answer.lower_bound

    def at(self, prices: FloatArray) -> Contribution:
        return Contribution(self._cost, self._cost, prices)

    def sparing(self, prices: FloatArray) -> Contribution:
        return Contribution(0.0, self._cost, prices)


class BoxOracle(Oracle["BoxVertex"]):
    """Minimises the procedure under weights, every activity's use within the box.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    answers
        Of Activity-Planning under the upper limits; None for an activity that the box does not allow.
    """

    def __init__(self, instance: Instance, box: Box, answers: list[ActivityAnswer | None]) -> None:
        super().__init__(instance.bounds, instance.procedure.row_start)
        self._instance = instance
        self._procedure = instance.procedure
        self._curves: list[_Clipped | None] = [
            None if answer is None else _clip(instance, activity, box, answer)
            for activity, answer in enumerate(answers)
        ]

    def minimise(
        self, weights: FloatArray, region: Region, near: BoxVertex | None = None
    ) -> Minimum[BoxVertex] | None:
        instance, procedure = self._instance, self._procedure
        values = np.zeros(len(self._curves))
        costs = np.zeros((len(self._curves), len(weights)))
        impossible = np.array([curve is None for curve in self._curves], dtype=np.bool_)
        usable = ~procedure.rows_that_run(impossible)
        usages: list[FloatArray] = []
        for activity, curve in enumerate(self._curves):
            prices = instance.own_prices(activity, weights[1:])
            if curve is None:
                usages.append(prices)
                continue
            found = curve.at(prices) if weights[0] > 0.0 else curve.sparing(prices)
            values[activity] = found.value
            costs[activity, 0] = found.cost
            costs[activity, 1:] = instance.by_constraint(activity, found.usage)
            usages.append(found.usage)
        if region.forbidden:
            usable &= region.allowed(procedure.num_rows)
        # A little less, so that no rounding makes it more than it is; the activities' values are certified.
        own = (weights @ instance.choice_costs) * (1.0 - 4.0 * len(weights) * ROUNDINGS)
        answer = procedure.minimise(procedure.runs @ values + own, usable)
        if answer is None:
            return None
        choices, value = answer
        return Minimum(BoxVertex(procedure, choices, costs, usages, instance.choice_costs), value)


def _clip(instance: Instance, activity: int, box: Box, answer: ActivityAnswer) -> _Clipped:
    budget, edges = instance.activities[activity], instance.edges_of(activity)
    lower, upper = box.lower[edges], box.upper[edges]
    if len(lower) == 0:
        return _Free(answer)
    if len(lower) == 1:
        return _Curve(budget, float(lower[0]), float(upper[0]), answer)
    return _Surface(budget, lower, upper, answer)


class BoxVertex(Vertex):
    """Choices at the events, which may cost something themselves, and for each activity a point of its curve.

    Attributes
    ----------
    usages
        The use of each activity's counted costs at that point.
    executions
        Expected executions of each activity.
    """

    def __init__(
        self,
        procedure: ProcedureSolver,
        choices: IntArray,
        costs: FloatArray,
        usages: list[FloatArray],
        choice_costs: FloatArray,
    ) -> None:
        self._procedure = procedure
        self._choices = choices
        self.executions = procedure.executions(choices)
        made = np.flatnonzero(choices >= 0)
        self.costs = self.executions @ costs + choice_costs[:, choices[made]] @ self.visits[made]
        self.usages = usages

    @property
    def rows(self) -> IntArray:
        return self._choices

    @cached_property
    def visits(self) -> FloatArray:
        return self._procedure.visits(self._choices)
