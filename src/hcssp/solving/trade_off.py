r"""The trade-off curve: what the optimum costs as a function of one bound, and the price of that budget.

**Stochastic curve.** The optimum over randomised policies is a convex, piecewise linear function of the
bound; its slope is minus the price. Two tangents meet in a point that either lies on the curve, and then is a
breakpoint, or shows a piece between them that is not known yet: so all breakpoints are found.

**Deterministic curve.** At asked points, a proven interval around the best deterministic policy, by policy
branching. A policy found for a bound keeps every larger bound, and a lower bound holds for every smaller
one, so each point helps its neighbours.

**One run shares all work**: the points differ in a bound only, which the activities never see, so that their
budget curves are computed once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import Vertex
from hcssp.errors import InvalidProblem
from hcssp.frames import frame
from hcssp.numerics import OPTIMALITY_TOLERANCE, mixture_is_feasible, relative_gap, tolerated
from hcssp.procedure.dead_ends import explaining_dead_ends
from hcssp.procedure.model import HCSSP
from hcssp.solving.bound_range import constraint_index
from hcssp.solving.curve_point import CurvePoint, Enough, at_least, finished_point, raised, unkept
from hcssp.solving.curve_workers import be_ready, points_by_workers
from hcssp.solving.solve import solve
from hcssp.ssp.region import Region
from hcssp.threads import single_threaded_algebra
from hcssp.verbs import verb
from hcssp.workers import Workers

__all__ = ["CurvePoint", "TradeOff", "trade_off"]

SAME = 2e-9
"""Values, prices and bounds that differ by no more than this share are one."""


@dataclass(frozen=True)
class TradeOff:
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
        The least achievable value of the constrained cost: no smaller bound can be kept; nan if it was not
        found out.
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

    def to_frame(self) -> Any:
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

    def _repr_html_(self) -> str:
        html: str = verb("curve.html")(self)
        return html


@dataclass(frozen=True)
class _Tangent:
    bound: float
    value: float
    price: float
    reached: bool
    vertices: tuple[Vertex, ...] = field(repr=False)

    def at(self, bound: float) -> float:
        if not isfinite(self.price):
            return self.value if bound == self.bound else -inf
        return self.value - self.price * (bound - self.bound)


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
    executor: Any | None = None,
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
        Seconds for the deterministic intervals in all, which every point gets its share of; what is proven
        by then is reported.
    on_point
        Called with every point when it is done.
    memory
        What was learnt about the problem before, such as ``plan.memory``.
    executor
        Who works on the points side by side, as for :func:`hcssp.solve`; then they come as they are done.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the points that are done by then have been told to `on_point`.
    """
    began = time.perf_counter()
    index = constraint_index(problem, constraint)
    asked = sorted({float(point) for point in points})
    if not asked or not all(isfinite(point) for point in asked):
        raise InvalidProblem([f"points {list(points)}: give at least one, and only finite numbers"])
    if isinstance(executor, Workers) and len(asked) > 1:
        # They take a moment to start, and so do the tangents.
        executor.warm_up(be_ready, min(executor.helpers, len(asked) - 1))
    shared = memory or Memory()
    with explaining_dead_ends(problem):
        oracle = shared.oracle(problem)
    # What choices cost depends on a limit for each execution, so the curve is not convex in it: there are no
    # tangents, and every point stands by itself. More allowed never costs more, here too.
    limit = isinstance(problem, HCSSP) and problem.constraints[index].per is not None
    least = nan if limit else _least(oracle, index)
    # The same rule as that of a search: a bound is kept up to its tolerance.
    feasible = [point for point in asked if not _is_below(point, least)]
    tangents: dict[float, _Tangent] = {}
    complete = True
    if limit:
        complete = False
    elif feasible:
        # The other half is for the points, which are what was asked for.
        tangents, complete = _tangents(oracle, index, feasible, began + 0.5 * time_limit)
    done: list[CurvePoint] = []
    deadline = began + time_limit

    def tell(point: CurvePoint) -> None:
        done.append(point)
        if on_point is not None:
            on_point(point)

    if executor is None:
        for point in _intervals(problem, shared, constraint, asked, least, tangents, gap, deadline):
            tell(point)
    else:
        curve = {bound: _on_curve(tangents, bound) for bound in asked}
        unkept_bounds = {bound: least for bound in asked if _is_below(bound, least)}
        points_by_workers(problem, shared, constraint, curve, unkept_bounds, gap, deadline, executor, tell)
    done.sort(key=lambda point: point.bound)
    if executor is None:
        _narrow(done, shared, gap, deadline)
    for later in range(len(done) - 1, 0, -1):
        done[later - 1] = raised(done[later - 1], done[later].lower_bound)
    # Between tangents that are not neighbours the curve is lower than a straight line.
    breakpoints, prices = _pieces(tangents if complete else {})
    seconds = time.perf_counter() - began
    exact = complete and all(tangent.reached for tangent in tangents.values())
    least = nan if limit else max(0.0, least)
    return TradeOff(problem, constraint, breakpoints, prices, tuple(done), least, seconds, exact)


def _under(oracle: Oracle[Any], index: int, bound: float) -> Oracle[Any]:
    bounds = oracle.asked_bounds.copy()
    bounds[index] = bound
    return oracle.under(bounds)


def _least(oracle: Oracle[Any], index: int) -> float:
    """The least achievable value of the constrained cost, whatever the other bounds say."""
    weights = np.zeros(1 + len(oracle.bounds))
    weights[1 + index] = 1.0
    minimum = _under(oracle, index, inf).minimise(weights, Region())
    if minimum is None:
        return inf
    return minimum.bound


def _is_below(bound: float, least: float) -> bool:
    """Whether a bound cannot be kept, since even what its tolerance allows is below the least."""
    return bool(tolerated(np.array(bound)) < least)


def _tangent(oracle: Oracle[Any], index: int, bound: float, known: Sequence[Vertex]) -> _Tangent | None:
    there = _under(oracle, index, bound)
    # Under a bound of 0 actions are forbidden instead of priced: what is known there and elsewhere are two
    # things, and what is proven there says nothing about other bounds.
    priced = bound != 0.0
    dual: Dual[Any] = maximise(there, Region(), known=known if priced else ())
    if dual.infeasible:
        return None
    reached = False
    if dual.support:
        mixture = dual.mixture @ np.array([vertex.costs for vertex in dual.support])
        reached = (
            mixture_is_feasible(mixture, there.bounds)
            and relative_gap(dual.bound, float(mixture[0])) <= OPTIMALITY_TOLERANCE
        )
    price = float(dual.prices[index]) if priced else inf
    return _Tangent(bound, dual.bound, price, reached, tuple(dual.vertices) if priced else ())


def _tangents(
    oracle: Oracle[Any], index: int, asked: Sequence[float], deadline: float
) -> tuple[dict[float, _Tangent], bool]:
    """Tangents at all breakpoints between the asked bounds, and at the first and last that can be kept.

    Once the deadline has passed, none is added; whether that was all is answered, too.
    """
    found: dict[float, _Tangent] = {}
    high = asked[-1]
    last = _tangent(oracle, index, high, ())
    if last is None:
        return found, True
    found[high] = last
    first, low = last, high
    for low in asked[:-1]:
        # Together with the other bounds, the first ones may be more than can be kept.
        tangent = _tangent(oracle, index, low, last.vertices)
        if tangent is not None:
            first = tangent
            break
    else:
        return found, True
    found[low] = first
    waiting = [(first, last)]
    while waiting:
        left, right = waiting.pop()
        if right.bound - left.bound <= SAME * abs(right.bound):
            continue
        meet = _meeting(left, right)
        if meet is None or not left.bound < meet < right.bound:
            continue
        if time.perf_counter() >= deadline:
            return found, False
        known = {id(vertex): vertex for vertex in (*left.vertices, *right.vertices)}
        middle = _tangent(oracle, index, meet, tuple(known.values()))
        if middle is None:
            continue
        found[meet] = middle
        if middle.value > left.at(meet) + _rounding(middle.value, right.price * meet):
            waiting += [(left, middle), (middle, right)]
    return found, True


def _rounding(value: float, worth: float) -> float:
    """What rounding, and the tolerance of a bound that is worth so much, make of a value."""
    return SAME * (abs(value) + abs(worth))


def _meeting(left: _Tangent, right: _Tangent) -> float | None:
    """Where to look for a piece between two tangents; None if there is none."""
    if not isfinite(left.price):
        # Nothing is known of the slope there; the next piece may go all the way.
        if right.at(left.bound) >= left.value - _rounding(left.value, right.price * right.bound):
            return None
        return 0.5 * (left.bound + right.bound)
    if left.price <= right.price + SAME * left.price:
        return None
    return (left.at(0.0) - right.at(0.0)) / (left.price - right.price)


def _pieces(tangents: dict[float, _Tangent]) -> tuple[FloatArray, FloatArray]:
    """Breakpoints in ascending order, without those in the middle of a straight piece."""
    bounds = sorted(tangents)
    points = np.array([[bound, tangents[bound].value] for bound in bounds]).reshape(-1, 2)
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
    prices = -np.diff(points[:, 1]) / np.diff(points[:, 0]) if len(points) > 1 else np.zeros(0)
    return points, np.maximum(prices, 0.0)


def _intervals(
    problem: Problem,
    memory: Memory,
    constraint: str,
    asked: Sequence[float],
    least: float,
    tangents: dict[float, _Tangent],
    gap: float,
    deadline: float,
) -> Iterator[CurvePoint]:
    """The points one by one, ascending; the best policy so far is the next one's first incumbent."""
    incumbent: Plan | None = None
    for number, bound in enumerate(asked):
        under = problem.with_bounds({constraint: bound})
        value, price = _on_curve(tangents, bound)
        if _is_below(bound, least):
            plan = unkept(under, constraint, bound, least, memory)
        else:
            # What the points before have left is shared by those that follow, so that none goes without.
            now = time.perf_counter()
            until = now + max(0.0, deadline - now) / (len(asked) - number)
            plan = solve(under, stop=Enough(value, gap, until), start=incumbent, memory=memory)
            if plan.ending.reason is Reason.INTERRUPTED:
                # Ctrl-C is an ordinary end of one search, but it means all of them.
                raise KeyboardInterrupt
        if plan.found:
            incumbent = plan
        if not tangents and plan.stochastic is not None:
            value = float(plan.stochastic.value)
        yield finished_point(constraint, bound, plan, value, price)


def _narrow(points: list[CurvePoint], memory: Memory, gap: float, deadline: float) -> None:
    """Spend the time that is left on the points that are not done, the widest interval first."""
    # What a search has ended by itself, another would end in the same way.
    open_points = [
        index for index, point in enumerate(points) if point.plan.ending.reason is Reason.TIME_LIMIT
    ]
    for left, index in enumerate(sorted(open_points, key=lambda index: -points[index].gap)):
        now = time.perf_counter()
        if now >= deadline:
            return
        point = points[index]
        stop = Enough(point.stochastic, gap, now + (deadline - now) / (len(open_points) - left))
        start = point.plan if point.plan.found else None
        plan = solve(point.plan.problem, stop=stop, start=start, memory=memory)
        if plan.ending.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        plan = replace(at_least(plan, point.stochastic), prices=point.plan.prices)
        points[index] = replace(point, plan=plan)


def _on_curve(tangents: dict[float, _Tangent], bound: float) -> tuple[float, float | None]:
    """The stochastic optimum at a bound and the price there; at a breakpoint that of more, not of less."""
    if not tangents:
        return -inf, None
    value = max(float(tangent.at(bound)) for tangent in tangents.values())
    near = value - _rounding(value, 0.0)
    price = min(tangent.price for tangent in tangents.values() if tangent.at(bound) >= near)
    return value, price if isfinite(price) else None
