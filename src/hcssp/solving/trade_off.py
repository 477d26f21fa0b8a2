r"""The trade-off curve: the optimal cost as a function of one bound, and the price of that budget.

**Stochastic curve.** The optimum over randomised policies is convex and piecewise linear in the bound, and
its slope is minus the price. Two tangents meet in a point that either lies on the curve, and then is a
breakpoint, or shows an unknown piece between them: so all breakpoints are found.

**Deterministic curve.** At each asked point, a proven interval around the best deterministic policy, by
policy branching. A policy found for a bound keeps every larger bound, and a lower bound holds for every
smaller one, so each point helps its neighbours.

All points share one oracle: they differ in a bound only, on which the budget curves of the activities do not
depend. With workers, each worker has its own oracle, and gets the points one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import ceil, floor, inf, isfinite, log10, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.proof import Ending, Infeasible, Interval, Reason
from hcssp.contract.solver import Memory, Problem
from hcssp.cssp.model import FloatArray, IntArray, refuse_implicit
from hcssp.deadline import OutOfTime, keep_time, seconds_left, until
from hcssp.display import Picture, frame
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Oracle, PolicyPoint
from hcssp.errors import InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import OPTIMALITY_TOLERANCE, may_be_feasible, relative_gap
from hcssp.procedure.model import HCSSP, refuse_choices_per_event, refuse_parts
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.validation import explaining_dead_ends
from hcssp.solving.solve import LATER, solve
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import single_threaded_algebra
from hcssp.workers import Task, Workers, kept, open_workers

if TYPE_CHECKING:
    from pandas import DataFrame

SAME = 2e-9
"""Values, prices and bounds whose relative difference is at most this count as equal."""


@dataclass(frozen=True)
class CurvePoint:
    """The optimum at one bound.

    Attributes
    ----------
    bound
        The bound on the constraint.
    plan
        The proven interval under that bound, and the best deterministic policy found, if any.
    stochastic
        The optimum over randomised policies, or a bound below which none is where :attr:`TradeOff.exact` is
        False; ``inf`` if no randomised policy keeps the bounds. It may be finite where no deterministic one
        does.
    price
        The saving per unit of the bound there; None if no randomised policy keeps the bounds.
    """

    bound: float
    plan: Plan = field(repr=False)
    stochastic: float
    price: float | None

    @property
    def lower_bound(self) -> float:
        return self.plan.lower_bound

    @property
    def upper_bound(self) -> float:
        return self.plan.upper_bound

    @property
    def gap(self) -> float:
        """The relative gap of the interval, ``inf`` while there is no policy."""
        return self.plan.gap


@dataclass(frozen=True)
class TradeOff(Picture):
    """Optimal cost against one bound.

    Attributes
    ----------
    problem, constraint
        The problem, and whose bound varies.
    breakpoints
        Shape ``(n, 2)``: bounds and values between which the stochastic curve is straight, ascending.
    prices
        The price on each piece between two breakpoints.
    points
        The asked points, ascending.
    least
        The least achievable value of the constrained cost: no smaller bound can be kept; nan if unknown.
    seconds
        How long it took.
    exact
        Whether the stochastic curve is reached: at every breakpoint a mixture of policies was found that
        keeps the bounds and costs no more. If not, no plan lies below it, but none may lie on it.
    """

    problem: Problem = field(repr=False)
    constraint: str
    breakpoints: FloatArray = field(repr=False)
    prices: FloatArray = field(repr=False)
    points: tuple[CurvePoint, ...]
    least: float
    seconds: float
    exact: bool = True

    @classmethod
    def interrupted(
        cls, problem: Problem, constraint: str, points: Sequence[CurvePoint], seconds: float
    ) -> TradeOff:
        """The part of a curve that was known when it was interrupted: some points, no pieces."""
        return cls(problem, constraint, np.zeros((0, 2)), np.zeros(0), tuple(points), nan, seconds)

    def to_frame(self) -> DataFrame:
        """The asked points as a ``pandas.DataFrame``, by bound.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        columns: dict[str, list[Any]] = {self.constraint: [point.bound for point in self.points]}
        for name in ("lower_bound", "upper_bound", "stochastic", "price"):
            columns[name] = [getattr(point, name) for point in self.points]
        return frame(columns, index=self.constraint)

    def __repr__(self) -> str:
        known = [point.gap for point in self.points if point.plan.found]
        bounds = [point.bound for point in self.points]
        span = f" from {min(bounds):.6g} to {max(bounds):.6g}" if bounds else ""
        return (
            f"<TradeOff of {self.problem.name or 'a problem'}: bound on {self.constraint}{span}, "
            f"{len(known)} of {len(bounds)} points with a plan, gap at most {max(known, default=inf):.2g}>"
        )


@single_threaded_algebra()
def trade_off(
    problem: Problem,
    constraint: str,
    points: Sequence[float],
    gap: float = 1e-4,
    time_limit: float = inf,
    on_point: Callable[[CurvePoint], object] | None = None,
    *,
    memory: Memory | None = None,
    executor: object | None = None,
) -> TradeOff:
    """The curve over the range of `points`, with deterministic intervals at each of them.

    Parameters
    ----------
    problem
        Its other bounds stay as they are.
    constraint
        The name of the constraint whose bound varies.
    points
        The bounds asked for; at least one. Of a limit for each execution of a use, what ``with_bounds``
        takes: the limit itself where the use is run once at most.
    gap
        The relative gap at which a point is done.
    time_limit
        Seconds for the curve: at most half of them for the stochastic one, and of the rest a share for every
        point. What is proven by then is reported, and a point for which no time is left has the best plan
        of the points before it.
    on_point
        Called with every point when it is done.
    memory
        Results of earlier searches for the problem, such as ``plan.memory``.
    executor
        Works on the points in parallel, as for :func:`hcssp.solve`; they arrive as they are completed.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the points that are done by then have been passed to `on_point`.
    """
    began = time.perf_counter()
    deadline = began + time_limit
    index = constraint_index(problem, constraint)
    asked = sorted({float(point) for point in points})
    if not asked or not all(isfinite(point) for point in asked):
        raise InvalidProblem([f"points {list(points)}: give at least one, and only finite numbers"])
    if isinstance(executor, Workers):
        # They take a moment to start, and so do the tangents.
        executor.warm_up(be_ready)
    shared = memory or Memory()
    with explaining_dead_ends(problem):
        oracle = shared.oracle(problem)
    tangents: dict[float, Tangent] = {}
    least, complete = nan, False
    # The costs of choices depend on a limit for each execution, so the curve is not convex in it: no
    # tangents.
    if not problem.is_limit(index):
        # The other half of the time is for the points, which the caller has requested.
        with suppress(OutOfTime), until(began + 0.5 * time_limit):
            least = max(0.0, least_use(oracle, index))
            tangents_between(oracle, index, asked, tangents)
            complete = True
    done: list[CurvePoint] = []
    search = _Search(problem, constraint, gap, deadline, shared, len(asked))
    for bound, plan in search.plans(asked, executor):
        done.append(_point(constraint, bound, plan, *on_curve(tangents, bound)))
        if on_point is not None:
            on_point(done[-1])
    done.sort(key=lambda point: point.bound)
    _narrow(done, shared, gap, deadline)
    for later in range(len(done) - 1, 0, -1):
        done[later - 1] = replace(
            done[later - 1], plan=_at_least(done[later - 1].plan, done[later].lower_bound)
        )
    # Between tangents that are not neighbours the curve is lower than a straight line.
    breakpoints, prices = pieces_of(tangents if complete else {})
    seconds = time.perf_counter() - began
    exact = complete and all(tangent.reached for tangent in tangents.values())
    return TradeOff(problem, constraint, breakpoints, prices, tuple(done), least, seconds, exact)


def constraint_index(problem: Problem, constraint: str) -> int:
    """The index of the constraint of that name.

    Raises
    ------
    InvalidProblem
        If there is none; the message lists those there are.
    UnsupportedProblem
        If the problem is an implicit one, or a part of one.
    """
    refuse_implicit(problem, "a curve")
    refuse_parts(problem)
    refuse_choices_per_event(problem, "a curve")
    names = problem.constraint_names
    if constraint not in names:
        known = ", ".join(repr(name) for name in names) or "none"
        raise InvalidProblem([f"there is no constraint {constraint!r}; the constraints are {known}"])
    return names.index(constraint)


# The deterministic curve: one search for each point.

_Packed = tuple[IntArray | None, dict[str, Any]]
"""A plan as a worker sends it: the rows of its policy, and its attributes without those that are large."""


def be_ready() -> None:
    """Do nothing: a worker that calls this has imported the code for a point."""


@dataclass
class _Search:
    """The searches for the points, each begun with the best policy that is known to keep its bound."""

    problem: Problem
    constraint: str
    gap: float
    deadline: float
    memory: Memory
    num_open: int
    known: dict[float, Plan] = field(default_factory=dict)

    def plans(self, asked: Sequence[float], executor: object | None) -> Iterator[tuple[float, Plan]]:
        """Bounds and their plans, as they are found."""
        if executor is None:
            for bound in asked:
                yield bound, self._keep(bound, _solved(self.memory, *self._order(bound, 1)))
            return
        with open_workers(executor=executor) as workers:
            for bound, task in workers.each(asked, partial(self._send, workers)):
                rows, parts = task.result()
                under = self.problem.with_bounds({self.constraint: bound})
                plan = Plan(under, None if rows is None else under.policy(rows), **parts)
                # Evaluated again: the results of a worker are not trusted.
                yield bound, self._keep(bound, plan.evaluated() if plan.found else plan)

    def _keep(self, bound: float, plan: Plan) -> Plan:
        if plan.ending.reason is Reason.INTERRUPTED:
            # Ctrl-C is an ordinary end of one search, but it means all of them.
            raise KeyboardInterrupt
        self.num_open -= 1
        if plan.found:
            self.known[bound] = plan
        return plan

    def _order(self, bound: float, workers: int) -> tuple[Any, ...]:
        """The arguments of :func:`_solved` for a point; those that are worked on share the time by rounds."""
        left = max(0.0, self.deadline - time.perf_counter())
        rounds = max(1, ceil(self.num_open / workers))
        # Results of the first point save time at all others.
        seconds = left / (rounds if self.known else min(rounds, 2))
        before = [plan for smaller, plan in self.known.items() if smaller <= bound]
        best = min(before, key=lambda plan: plan.upper_bound, default=None)
        start = None if best is None else (best.policy.rows, best.prices)
        return self.problem, self.constraint, bound, self.gap, seconds, left, start

    def _send(self, workers: Workers, bound: float) -> Task:
        _, *order = self._order(bound, workers.count)
        return workers.submit(_solve_elsewhere, workers.share(self.problem), *order)


def _solved(
    memory: Memory,
    problem: Problem,
    constraint: str,
    bound: float,
    gap: float,
    seconds: float,
    left: float,
    start: tuple[IntArray, dict[str, float] | None] | None,
) -> Plan:
    under = problem.with_bounds({constraint: bound})
    begun = None if start is None else Plan(under, under.policy(start[0]), prices=start[1])
    if left > 0.0:
        # A point may exceed its share by a step of the search and the evaluation of its plan, not all shares.
        with suppress(OutOfTime), until(time.perf_counter() + left + LATER):
            return solve(under, gap=gap, time_limit=seconds, start=begun, memory=memory)
    found = Plan(under) if begun is None else begun.evaluated()
    return replace(found, ending=Ending(Reason.TIME_LIMIT))


def _solve_elsewhere(*order: Any) -> _Packed:
    """The plan of a point, found by a worker, which keeps its results for its next point."""
    plan = _solved(kept("memory", Memory), *order)
    left = ("problem", "found_policy", "evaluation", "memory", "record")
    parts = {each.name: getattr(plan, each.name) for each in fields(plan) if each.name not in left}
    return None if plan.found_policy is None else plan.found_policy.rows, parts


def _point(constraint: str, bound: float, plan: Plan, value: float, price: float | None) -> CurvePoint:
    """The point that a search has found, with the bound of the stochastic curve there."""
    if value == -inf and plan.stochastic is not None:
        value = float(plan.stochastic.value)
    if isinstance(plan.proof, Infeasible):
        # Only weights prove that randomised policies fail, too; a search proves it of deterministic ones.
        if plan.proof.weights is not None or not plan.proof.ends or value == -inf:
            value, price = inf, None
    else:
        plan = _at_least(plan, value)
        if price is not None:
            plan = replace(plan, prices={**(plan.prices or {}), constraint: price})
    return CurvePoint(bound, plan, value, price)


def _at_least(plan: Plan, value: float) -> Plan:
    """The plan with a lower bound of at least `value`, which is proven otherwise."""
    if isinstance(plan.proof, Infeasible) or plan.lower_bound >= value or value == inf:
        return plan
    return replace(plan, proof=Interval(min(value, plan.upper_bound), plan.upper_bound))


def _narrow(points: list[CurvePoint], memory: Memory, gap: float, deadline: float) -> None:
    """Spend the time that is left on the points that are not done, the widest interval first."""
    # A search that ended by itself would end in the same way again.
    open_points = [
        index for index, point in enumerate(points) if point.plan.ending.reason is Reason.TIME_LIMIT
    ]
    for left, index in enumerate(sorted(open_points, key=lambda index: -points[index].gap)):
        now = time.perf_counter()
        if now >= deadline:
            return
        point = points[index]
        seconds = (deadline - now) / (len(open_points) - left)
        start = point.plan if point.plan.found else None
        with suppress(OutOfTime), until(deadline + LATER):
            plan = solve(point.plan.problem, gap=gap, time_limit=seconds, start=start, memory=memory)
            if plan.ending.reason is Reason.INTERRUPTED:
                raise KeyboardInterrupt
            plan = replace(_at_least(plan, point.stochastic), prices=point.plan.prices)
            points[index] = replace(point, plan=plan)


# The stochastic curve: tangents.


@dataclass(frozen=True)
class Tangent:
    """The stochastic curve at a bound and its slope there.

    Attributes
    ----------
    bound, value, price
        Where it touches the curve, and minus its slope; ``inf`` under a bound of 0, where there is none.
    reached
        Whether a mixture of policies was found that keeps the bounds and costs no more.
    vertices
        The policies met on the way, to begin with at other bounds.
    """

    bound: float
    value: float
    price: float
    reached: bool
    vertices: tuple[PolicyPoint, ...] = field(repr=False)

    def at(self, bound: float) -> float:
        """Its value at another bound, which the curve is not below."""
        if not isfinite(self.price):
            return self.value if bound == self.bound else -inf
        return self.value - self.price * (bound - self.bound)


def _under(oracle: Oracle[Any], index: int, bound: float) -> Oracle[Any]:
    bounds = oracle.asked_bounds.copy()
    bounds[index] = bound
    return oracle.under(bounds)


def least_use(oracle: Oracle[Any], index: int) -> float:
    """A lower bound on the constrained cost, whatever the other bounds are; ``inf`` if no policy ends."""
    weights = np.zeros(1 + len(oracle.bounds))
    weights[1 + index] = 1.0
    minimum = _under(oracle, index, inf).minimise(weights, Region())
    return inf if minimum is None else minimum.bound


def _tangent(oracle: Oracle[Any], index: int, bound: float, known: Sequence[PolicyPoint]) -> Tangent | None:
    there = _under(oracle, index, bound)
    # Under a bound of 0 actions are forbidden instead of priced: policies known there and elsewhere are
    # different, and what is proven there says nothing about other bounds.
    priced = bound != 0.0
    dual = maximise(there, Region(), known=known if priced else ())
    if dual.infeasible:
        return None
    reached = False
    if dual.support:
        mixture = dual.mixture @ np.array([point.costs for point in dual.support])
        reached = (
            may_be_feasible(mixture, there.bounds)
            and relative_gap(dual.bound, float(mixture[0])) <= OPTIMALITY_TOLERANCE
        )
    price = float(dual.prices[index]) if priced else inf
    return Tangent(bound, dual.bound, price, reached, tuple(dual.points) if priced else ())


def tangents_between(
    oracle: Oracle[Any],
    index: int,
    asked: Sequence[float],
    found: dict[float, Tangent],
    step: float = 1e-3,
    least: float = 1e-15,
) -> None:
    """Find tangents at all breakpoints between the asked bounds, and at the first and last that can be kept.

    Parameters
    ----------
    oracle, index
        The problem, and the constraint whose bound varies.
    asked
        Bounds, ascending.
    found
        Where the tangents are put, by bound.
    step, least
        Under a bound of 0 there is no slope, and what tolerances allow elsewhere may make the curve jump
        there. Pieces next to it are looked for in steps of this factor, down to this share of the largest
        bound.

    Raises
    ------
    OutOfTime
        If the deadline passes before all are found.
    """
    high = asked[-1]
    last = _tangent(oracle, index, high, ())
    if last is None:
        return
    ends = {high: last}
    for low in asked[:-1]:
        # The first bounds may be impossible to keep, alone or together with the others.
        first = _tangent(oracle, index, low, last.vertices)
        if first is not None:
            ends[low] = first
            break
    # At once: below the first of them nothing can be kept.
    found.update(ends)
    waiting = [(found[min(found)], last)]
    while waiting:
        left, right = waiting.pop()
        if right.bound - left.bound <= SAME * abs(right.bound) or right.bound <= least * high:
            continue
        meet = _meeting(left, right, step)
        if meet is None or not left.bound < meet < right.bound:
            continue
        keep_time()
        known = {id(point): point for point in (*left.vertices, *right.vertices)}
        middle = _tangent(oracle, index, meet, tuple(known.values()))
        if middle is None:
            continue
        found[meet] = middle
        if middle.value > left.at(meet) + _rounding(middle.value, right.price * meet):
            waiting += [(left, middle), (middle, right)]


def _rounding(value: float, worth: float) -> float:
    """The error of a value by rounding, and by the tolerance of a bound that is worth `worth`."""
    return SAME * (abs(value) + abs(worth))


def _meeting(left: Tangent, right: Tangent, step: float) -> float | None:
    """Where to look for a piece between two tangents; None if there is none."""
    if not isfinite(left.price):
        # Nothing is known of the slope there; the next piece may go all the way.
        if right.at(left.bound) >= left.value - _rounding(left.value, right.price * right.bound):
            return None
        return step * right.bound
    if left.price <= right.price + SAME * left.price:
        return None
    return (left.at(0.0) - right.at(0.0)) / (left.price - right.price)


def pieces_of(tangents: dict[float, Tangent]) -> tuple[FloatArray, FloatArray]:
    """Breakpoints, ascending, without those in the middle of a straight piece; and the prices between."""
    bounds = sorted(tangents)
    # Where a dual ended too low, the tangents at other bounds prove more.
    points = np.array([[bound, on_curve(tangents, bound)[0]] for bound in bounds]).reshape(-1, 2)
    kept = list(range(len(points)))
    position = 1
    while position < len(kept) - 1:
        before, here, after = points[kept[position - 1]], points[kept[position]], points[kept[position + 1]]
        share = (here[0] - before[0]) / (after[0] - before[0])
        straight = before[1] + share * (after[1] - before[1])
        worth = here[0] * (before[1] - after[1]) / (after[0] - before[0])
        if abs(straight - here[1]) <= _rounding(here[1], worth):
            del kept[position]
        else:
            position += 1
    points = points[kept]
    # Where the least use is almost 0, a price may exceed the largest double.
    with np.errstate(over="ignore"):
        prices = -np.diff(points[:, 1]) / np.diff(points[:, 0])
    return points, np.maximum(prices, 0.0)


def on_curve(tangents: dict[float, Tangent], bound: float) -> tuple[float, float | None]:
    """The stochastic optimum at a bound and the price there; at a breakpoint that of a larger bound.

    Below the first tangent no mixture of policies keeps the bounds, and the optimum is ``inf``.
    """
    if not tangents:
        return -inf, None
    if bound < min(tangents):
        return inf, None
    value = max(float(tangent.at(bound)) for tangent in tangents.values())
    near = value - _rounding(value, 0.0)
    price = min(tangent.price for tangent in tangents.values() if tangent.at(bound) >= near)
    return value, price if isfinite(price) else None


# The range of bounds that is worth asking for.


def bound_range(
    problem: Problem, constraint: str, gap: float = 1e-3, max_seconds: float = 10.0
) -> tuple[float, float]:
    """The least bound that a plan can keep, and the use of the best plan without this bound.

    There is no plan below the first, and nothing changes above the second, to the accuracy of `gap`. The
    other bounds hold in the second. Where they bind, the best deterministic plan may use more than the
    randomised one, and is searched for.

    >>> from hcssp.scenarios import small_building
    >>> [round(bound, 4) for bound in bound_range(small_building(), "damage")]
    [0.0, 13.5259]

    Parameters
    ----------
    problem
        A problem with constraints.
    constraint
        The name of the one whose bound is to vary.
    gap, max_seconds
        When the search for the best plan stops; it also stops after a quarter of the time that is left.

    Raises
    ------
    InvalidProblem
        If there is no such constraint, or no plan keeps the other bounds.
    """
    index = constraint_index(problem, constraint)
    memory = Memory()
    free = problem.with_bounds({constraint: inf})
    with explaining_dead_ends(problem):
        oracle = memory.oracle(free)
    dual = maximise(oracle, Region())
    if dual.infeasible or not dual.support:
        raise InvalidProblem([f"no plan keeps the other bounds, whatever {constraint!r} may be; relax them"])
    if problem.is_limit(index):
        return 0.0, _limit_use(free.procedure, constraint, [oracle.lift(point) for point in dual.support])
    low = max(0.0, least_use(oracle, index))
    used = float(dual.mixture @ np.array([point.costs[1 + index] for point in dual.support]))
    if len(dual.support) > 1:
        seconds = max(0.0, min(max_seconds, 0.25 * seconds_left()))
        best = solve(free, gap=gap, time_limit=seconds, memory=memory)
        used = max(used, best.cost(constraint)) if best.found else used
    return low, max(low, used)


def _limit_use(free: HCSSP, constraint: str, policies: Sequence[IntArray]) -> float:
    """What the best plans without a limit for each execution of a use need of it."""
    most = 0.0
    for rows in policies:
        found = evaluate(free, ProcedurePolicy(free, rows))
        each = next((own.usage_per_execution for own in found.limits if own.name == constraint), None)
        most = max(most, each or 0.0)
    per = free.constraints[free.constraint_names.index(constraint)].per
    return most * (1.0 if per is None else per.most_executions)


def rounded_range(low: float, high: float) -> tuple[float, float]:
    """The range in round figures, at most a hundredth of it away at each end.

    >>> rounded_range(0.00572700587, 0.0590479484), rounded_range(2.2e-16, 13.52594), rounded_range(2.5, 2.5)
    ((0.0058, 0.0591), (0.0, 13.6), (2.5, 2.5))
    """
    if not high > low:
        return low, high
    digits = 2 - floor(log10(high - low))
    unit = 10.0**-digits
    # A value that exceeds a round figure by rounding alone is meant to be it.
    return round(ceil(low / unit - 1e-6) * unit, digits), round(ceil(high / unit - 1e-6) * unit, digits)
