r"""The additions of the mode sharp to the paper; the mode published does not use them.

**Narrower limits** (:func:`sharp_limits`): no activity can use less than its least, nor need it use more than
its best.

**A sharper Compute-LB** (:func:`sharp_lower_bound`). The paper's bound lets every activity have the cost of
its upper limit and the use of its lower one. The hierarchical dual restricted to the box does not. For
multipliers :math:`\lambda` an activity whose use must lie in :math:`[\delta^-, \delta^+]` contributes

.. math:: \min_{\delta^- \le g \le \delta^+} \max(\hat f(g), \phi) + \lambda g,

with :math:`\hat f` its budget curve and :math:`\phi` the lower bound of Activity-Planning under
:math:`\delta^+`. The procedure is a small SSP on top of the contributions. For any price :math:`p` of the
activity's cost and its Lagrangian value :math:`v(p)`, the curve lies above the line :math:`v(p) - p g`; so
the contribution is found on the line whose price is :math:`\lambda`, or on that of one of the limits if
:math:`\lambda` lies beyond it, and it is certified because :math:`v(p)` is. With several counted costs the
best of a few such planes is taken. If the box limits nothing, this is the dual of the whole problem: the
optimum over randomised policies. With l = 0 it is never below the paper's; with l > 0 the procedure's second
stage may lift the paper's above it, and the larger is taken.

**More incumbents** (:func:`suggested_solutions`). The dual of a box is carried by procedures and points of
the activities' curves; the points suggest how to share the budget. From the best plans within these shares, a
local search (:mod:`hcssp.dual.local_search`) restores feasibility and spends what is left of the bounds.
Every solution is checked against the bounds; no lower bound depends on it.

**More iterations where they matter** (:func:`gap_carriers`). While l is finite, the bounds of an activity may
keep a gap that no split closes, and so may those of the procedure. So after every twenty boxes, and where a
box has nothing left to split, the procedure and the activities that are not known exactly in that box are
from then on planned with :math:`l = \infty`, the activities a few steps of branching on policies at a time.

**Splits that separate incumbents** (:func:`split_at_incumbent`). The longest edge is split, measured in what
counts: the use of one execution times the expected executions under the procedures that carry the box's lower
bound. While an activity's incumbent under the upper limits uses more than the lower limit, that difference
separates both bounds, and the edge is split so that the incumbent under the midpoint ends up on the face
between the parts, or in the middle if there is none above the lower limit: a few splits separate incumbents,
and there are finitely many. Where an activity has no incumbent yet, an edge is split until it is too short to
matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.value_cache import ActivityPlan
from hcssp.methods.paper.activity_budget import BudgetPlanner
from hcssp.methods.paper.algorithms import (
    LowerBound,
    Mode,
    activity_planning,
    compute_ub,
    procedural_planning,
    published_limits,
)
from hcssp.methods.paper.instance import (
    ActivityAnswer,
    Box,
    ChoicePoint,
    Contributions,
    EventOracle,
    Instance,
)
from hcssp.numerics import (
    FEASIBILITY_TOLERANCE,
    allowance,
    may_be_feasible,
)
from hcssp.ssp.scalar_problem import Region


def sharp_limits(instance: Instance, likelihoods: Mapping[str, float] | None = None) -> Box:
    """The box that holds an optimal solution of the problem, if it has any.

    The lower limit is the least that any policy uses. The upper one is the smaller of the paper's and what
    the unconstrained optimum uses: a policy that uses more of the only cost that counts is no cheaper than
    that. With several counted costs this does not follow, since more of one may spare another, so there only
    the lower limit is sharper.
    """
    box = published_limits(instance, likelihoods)
    lower, upper = box.lower.copy(), box.upper.copy()
    for activity, budget in enumerate(instance.activities):
        edges = instance.edges_of(activity)
        lower[edges] = budget.least
        if len(budget.counted) == 1:
            upper[edges] = np.minimum(upper[edges], budget.usage(budget.unconstrained))
    return Box(lower, upper)


def sharp_lower_bound(
    instance: Instance, box: Box, iterations: float, parent: LowerBound | None = None, cutoff: float = inf
) -> LowerBound:
    """A lower bound on the cost of every solution of `box`, or of one that is as good as it.

    An activity is left out where a plan below its lower limit is as cheap as anything within: a solution that
    runs it there is not needed, since one with that plan is as good and lies in another box.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    parent
        The bound of a larger box, which is also valid for this one.
    cutoff
        A bound at which the caller loses interest.
    """
    start = None if parent is None else parent.prices
    answers: list[ActivityAnswer | None] = [None] * len(instance.activities)
    primary = np.full(len(answers), inf)
    secondary = np.zeros((len(answers), len(instance.bounds)))
    for activity in instance.order:
        edges = instance.edges_of(activity)
        answer = activity_planning(instance, activity, box.upper[edges], iterations)
        if answer.lower_bound < inf and not is_dominated(instance, activity, box, answer):
            answers[activity] = answer
            primary[activity] = answer.lower_bound
            secondary[activity] = instance.by_constraint(activity, box.lower[edges])
    bound = _restricted_dual(instance, BoxOracle(instance, box, answers), start, cutoff)
    depth = inf if instance.choices_proved else iterations
    if depth > 0 and bound.value < cutoff:
        found = procedural_planning(instance, primary, secondary, depth, start)
        executions = np.maximum(bound.executions, found.executions)
        bound = replace(bound, value=max(bound.value, found.lower_bound), executions=executions)
    return bound if parent is None else replace(bound, value=max(bound.value, parent.value))


def _restricted_dual(
    instance: Instance, oracle: BoxOracle, start: FloatArray | None, cutoff: float
) -> LowerBound:
    dual: Dual[ChoicePoint] = Dual(prices=np.zeros(len(instance.bounds)))
    for dual in islice(ascend(oracle, Region(), start=start), instance.parameters.max_box_steps):
        if dual.bound >= cutoff:
            break
    return LowerBound(dual.bound, dual.prices, instance.executions(dual), dual)


def is_dominated(instance: Instance, activity: int, box: Box, answer: ActivityAnswer) -> bool:
    """Whether a plan outside the box is as cheap as anything in it, and uses less.

    Only a plan that is proven to be the best under the upper limits is.
    """
    if answer.plan is None or not answer.exact:
        return False
    usage = instance.activities[activity].usage(answer.plan)
    lower = box.lower[instance.edges_of(activity)]
    tolerance = allowance(lower)
    return bool(np.all(usage <= lower + tolerance) and np.any(usage < lower - 10.0 * tolerance))


class Contribution(NamedTuple):
    """An activity's least priced cost within its limits (cost + prices * usage), and where it lies."""

    value: float
    cost: float
    usage: FloatArray


class _ClippedCurve:
    """The budget curve of an activity, not below its lower bound, and its use within limits.

    Parameters
    ----------
    budget
        The activity.
    lower, upper
        The limits on its counted costs.
    floor
        The lower bound of Activity-Planning under the upper limits.
    """

    def __init__(self, budget: BudgetPlanner, lower: FloatArray, upper: FloatArray, floor: float) -> None:
        self._budget = budget
        self._lower = np.maximum(lower, budget.least)
        self._upper, self._floor = upper, floor
        self._flattest = budget.under(upper).prices
        self._steepest = np.full(len(upper), inf)
        if len(upper) == 1 and budget.least[0] < self._lower[0] < upper[0]:
            self._steepest = np.maximum(self._flattest, budget.under(self._lower).prices)

    def at(self, prices: FloatArray) -> Contribution:
        """The contribution at multipliers of the counted costs: the best of a few supporting planes."""
        corner = Contribution(self._floor + float(prices @ self._lower), self._floor, self._lower)
        clipped = np.clip(prices, self._flattest, self._steepest)
        found = [corner, self._on(clipped, prices)]
        if len(prices) > 1 and np.any(clipped != prices):
            found.append(self._on(prices, prices))
        return max(found, key=lambda contribution: contribution.value)

    def _on(self, support: FloatArray, prices: FloatArray) -> Contribution:
        """The least at `prices` on the plane that supports the curve at the prices `support`."""
        plan, _, value, _ = self._budget.at(support)
        usage = np.clip(self._budget.usage(plan), self._lower, np.maximum(self._lower, self._upper))
        usage = np.where(support > prices, self._upper, np.where(support < prices, self._lower, usage))
        cost = value - float(support @ usage)
        if len(prices) == 1 and support[0] > prices[0]:
            # Beyond the use where the line meets the floor, the floor is higher.
            usage = np.minimum(usage, (value - self._floor) / support)
            cost = self._floor
        return Contribution(cost + float(prices @ usage), cost, usage)

    def least_use(self, prices: FloatArray) -> Contribution:
        """The least priced use alone, with the cost at that point."""
        bound = self._budget.under(self._lower).lower_bound
        cost = max(self._floor, bound) if np.isfinite(bound) else self._floor
        return Contribution(float(prices @ self._lower), cost, self._lower)


class BoxOracle(EventOracle):
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
        super().__init__(instance, np.array([answer is not None for answer in answers], dtype=np.bool_))
        self._curves: list[_ClippedCurve | None] = []
        for activity, answer in enumerate(answers):
            edges = instance.edges_of(activity)
            self._curves.append(
                None
                if answer is None
                else _ClippedCurve(
                    instance.activities[activity], box.lower[edges], box.upper[edges], answer.lower_bound
                )
            )

    def _contributions(self, weights: FloatArray) -> Contributions:
        values = np.zeros(len(self._curves))
        costs = np.zeros((len(self._curves), len(weights)))
        usages: list[FloatArray] = []
        for activity, curve in enumerate(self._curves):
            prices = self._instance.own_prices(activity, weights[1:])
            if curve is None:
                usages.append(prices)
                continue
            found = curve.at(prices) if weights[0] > 0.0 else curve.least_use(prices)
            values[activity] = found.value
            costs[activity] = np.append(found.cost, self._instance.by_constraint(activity, found.usage))
            usages.append(found.usage)
        return Contributions(values, costs, tuple(usages))


def suggested_solutions(instance: Instance, bound: LowerBound, iterations: float) -> Iterator[ProcedurePoint]:
    """Feasible solutions near the points that carry the dual of `bound`, by local search.

    Parameters
    ----------
    instance
        The problem.
    bound
        The lower bound of a box; only one with a dual suggests anything.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    search = instance.oracle.strategies.local_search
    if bound.dual is None or search is None:
        return
    for point in bound.dual.support or bound.dual.points[-2:]:
        plans: list[ActivityPlan | None] = [None] * len(instance.activities)
        for activity in np.flatnonzero(instance.procedure.executions(point.rows) > 0.0).tolist():
            # The points lie on the edge of what is possible, where rounding would decide.
            usage = point.usages[activity]
            limits = usage + instance.parameters.widening * (1.0 + np.abs(usage))
            # The proof of a group takes long.
            depth = 0 if instance.is_group(activity) and iterations == inf else iterations
            plans[activity] = activity_planning(instance, activity, limits, depth).plan
        suggestion = instance.oracle.point_of(point.rows, tuple(plans))
        if suggestion is not None:
            found = search.improve(suggestion, instance.parameters.search_rounds)
            for solution in (suggestion, found):
                if solution is not None and may_be_feasible(solution.costs, instance.bounds):
                    yield solution


def gap_carriers(instance: Instance, box: Box, bound: LowerBound, iterations: float) -> set[int]:
    """The activities behind the bound of `box` that are not known exactly under its upper limits."""
    carriers = set()
    for activity in np.flatnonzero(bound.executions > 0.0).tolist():
        limits = box.upper[instance.edges_of(activity)]
        if not activity_planning(instance, activity, limits, iterations).exact:
            carriers.add(activity)
    return carriers - instance.proved


def split_at_incumbent(
    instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
) -> tuple[Box, ...]:
    """The two parts of `box`, `box` itself if only proofs can go on, or nothing.

    Parameters
    ----------
    instance
        The problem.
    box, root
        The box, and the one that the search began with.
    bound
        The box's lower bound.
    iterations
        Of the second stage of Activity-Planning: the paper's l.
    """
    lengths = _scaled_lengths(instance, box, root, bound, iterations)
    if not np.any(lengths > 0.0):
        # A proof that has not ended continues where it stopped.
        running = np.flatnonzero(bound.executions > 0.0).tolist()
        unproven = (instance.is_unproven(each, box.upper[instance.edges_of(each)]) for each in running)
        return (box,) if any(unproven) else ()
    edge = int(np.argmax(lengths))
    middle = 0.5 * (float(box.lower[edge]) + float(box.upper[edge]))
    activity, _ = instance.edges[edge]
    edges, below = instance.edges_of(activity), box.upper.copy()
    below[edge] = middle
    # The incumbent under the midpoint is the best of the lower part.
    plan = activity_planning(instance, activity, below[edges], iterations).plan
    if plan is not None:
        use = float(instance.activities[activity].usage(plan)[edge - edges.start])
        if use - box.lower[edge] > _separation(box.lower[edge]):
            return box.split(edge, use)
    return box.split(edge, middle)


def _scaled_lengths(
    instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
) -> FloatArray:
    """The scaled length of each edge; 0 for those that are not to be split."""
    lengths = np.zeros(len(instance.edges))
    for activity in np.flatnonzero(bound.executions > 0.0).tolist():
        edges = instance.edges_of(activity)
        plan = activity_planning(instance, activity, box.upper[edges], iterations).plan
        if plan is not None:
            length = instance.activities[activity].usage(plan) - box.lower[edges]
            shortest = _separation(box.lower[edges])
        else:
            length = box.lengths[edges]
            shortest = instance.parameters.shortest_halved_edge * root.lengths[edges]
        lengths[edges] = np.where(length > shortest, length * bound.executions[activity], 0.0)
    return lengths


def _separation(use: FloatArray) -> FloatArray:
    """Uses closer than this are distinguished by tolerances only."""
    return allowance(use, 8.0 * FEASIBILITY_TOLERANCE)


class Sharp(Mode):
    """Narrower limits, the dual restricted to the box, incumbents around it, splits that separate them.

    From time to time it raises l where a gap remains.
    """

    branches = True

    def __init__(self) -> None:
        self._split = 0

    def initial_box(self, instance: Instance, likelihoods: Mapping[str, float] | None = None) -> Box:
        return sharp_limits(instance, likelihoods)

    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedurePoint | None]:
        return compute_ub(instance, box, iterations, start=parent.prices)

    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        return sharp_lower_bound(instance, box, iterations, parent, cutoff)

    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedurePoint]:
        return suggested_solutions(instance, bound, iterations)

    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        self._split += 1
        parts = split_at_incumbent(instance, box, root, bound, iterations)
        if not parts or self._split % instance.parameters.raise_every == 0:
            carriers = gap_carriers(instance, box, bound, iterations)
            if carriers or not instance.choices_proved:
                instance.proved.update(carriers)
                instance.choices_proved = True
                return (box,)
        return parts
