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
from math import inf, isfinite
from typing import Any

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.oracle import Oracle, Vertex
from hcssp.dual.oracles import oracle_of
from hcssp.errors import InvalidProblem
from hcssp.methods.policy_branching import branch
from hcssp.numerics import relative_gap
from hcssp.procedure.model import HCSSP
from hcssp.solving.solve import constraint_names, evaluate_rows
from hcssp.ssp.region import Region

SAME = 1e-9


@dataclass(frozen=True)
class CurvePoint:
    """The optimum at one bound.

    Attributes
    ----------
    bound
        The bound on the constraint.
    stochastic
        The optimum over randomised policies; ``inf`` if the bound cannot be kept.
    price
        What one more unit of the bound saves there; None if the bound cannot be kept.
    lower_bound, upper_bound
        The proven interval around the deterministic optimum.
    policy
        The best deterministic policy found, or None.
    evaluation
        Its exact costs, by code that no solver uses, or None.
    """

    bound: float
    stochastic: float
    price: float | None
    lower_bound: float
    upper_bound: float
    policy: Any = field(default=None, repr=False)
    evaluation: Any = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """The relative gap of the interval, ``inf`` while there is no policy."""
        return relative_gap(self.lower_bound, self.upper_bound)


@dataclass(frozen=True)
class TradeOff:
    """Optimal cost against one bound.

    Attributes
    ----------
    constraint
        Whose bound varies.
    breakpoints
        Shape ``(n, 2)``: bounds and values between which the stochastic curve is straight, ascending.
    prices
        The price on each piece between two breakpoints.
    points
        The asked points, ascending.
    least
        The least achievable value of the constrained cost: no smaller bound can be kept.
    """

    constraint: str
    breakpoints: FloatArray
    prices: FloatArray
    points: tuple[CurvePoint, ...]
    least: float
    seconds: float


@dataclass(frozen=True)
class _Tangent:
    bound: float
    value: float
    price: float
    vertices: tuple[Vertex, ...] = field(repr=False)

    def at(self, bound: float) -> float:
        return self.value - self.price * (bound - self.bound)


def trade_off(
    problem: CSSP | HCSSP,
    constraint: str,
    points: Sequence[float],
    gap: float = 1e-4,
    time_limit: float = inf,
    on_point: Callable[[CurvePoint], None] | None = None,
) -> TradeOff:
    """The curve over the range of `points`, with deterministic intervals at each of them.

    Parameters
    ----------
    problem
        Its other bounds stay as they are.
    constraint
        The name of the constraint whose bound varies.
    points
        The bounds asked for; at least one.
    gap
        The relative gap at which a point is done.
    time_limit
        Seconds for the deterministic intervals in all; what is proven by then is reported.
    on_point
        Called with every point when it is done.
    """
    began = time.perf_counter()
    names = constraint_names(problem)
    if constraint not in names:
        known = ", ".join(repr(name) for name in names) or "none"
        raise InvalidProblem([f"there is no constraint {constraint!r}; the constraints are {known}"])
    asked = sorted({float(point) for point in points})
    if not asked or not all(isfinite(point) for point in asked):
        raise InvalidProblem([f"points {list(points)}: give at least one, and only finite numbers"])
    index = names.index(constraint)
    oracle = oracle_of(problem)
    least = _least(oracle, index)
    feasible = [point for point in asked if point >= least]
    tangents: dict[float, _Tangent] = {}
    if feasible:
        tangents = _tangents(oracle, index, feasible)
    done: list[CurvePoint] = []
    for point in _intervals(problem, oracle, index, asked, least, tangents, gap, began + time_limit):
        done.append(point)
        if on_point is not None:
            on_point(point)
    for later in range(len(done) - 1, 0, -1):
        if done[later - 1].lower_bound < done[later].lower_bound:
            done[later - 1] = replace(done[later - 1], lower_bound=done[later].lower_bound)
    breakpoints, prices = _pieces(tangents)
    return TradeOff(
        constraint, breakpoints, prices, tuple(done), max(0.0, least), time.perf_counter() - began
    )


def _under(oracle: Oracle[Any], index: int, bound: float) -> Oracle[Any]:
    bounds = oracle.bounds.copy()
    bounds[index] = bound
    return oracle.under(bounds)


def _least(oracle: Oracle[Any], index: int) -> float:
    """The least achievable value of the constrained cost, whatever the other bounds say."""
    weights = np.zeros(1 + len(oracle.bounds))
    weights[1 + index] = 1.0
    minimum = oracle.minimise(weights, Region())
    if minimum is None:
        return inf
    return minimum.bound


def _tangent(oracle: Oracle[Any], index: int, bound: float, known: Sequence[Vertex]) -> _Tangent | None:
    dual: Dual[Any] = maximise(_under(oracle, index, bound), Region(), known=known)
    if dual.infeasible:
        return None
    return _Tangent(bound, dual.bound, float(dual.prices[index]), tuple(dual.vertices))


def _tangents(oracle: Oracle[Any], index: int, asked: Sequence[float]) -> dict[float, _Tangent]:
    """Tangents at all breakpoints between the asked bounds, and at the first and last that can be kept."""
    found: dict[float, _Tangent] = {}
    high = asked[-1]
    last = _tangent(oracle, index, high, ())
    if last is None:
        return found
    found[high] = last
    first, low = last, high
    for low in asked[:-1]:
        # Together with the other bounds, the first ones may be more than can be kept.
        tangent = _tangent(oracle, index, low, last.vertices)
        if tangent is not None:
            first = tangent
            break
    else:
        return found
    found[low] = first
    waiting = [(first, last)]
    while waiting:
        left, right = waiting.pop()
        if left.price <= right.price + SAME * (1.0 + left.price) or right.bound - left.bound < SAME:
            continue
        meet = (left.at(0.0) - right.at(0.0)) / (left.price - right.price)
        if not left.bound < meet < right.bound:
            continue
        known = {id(vertex): vertex for vertex in (*left.vertices, *right.vertices)}
        middle = _tangent(oracle, index, meet, tuple(known.values()))
        if middle is None:
            continue
        found[meet] = middle
        if middle.value > left.at(meet) + SAME * (1.0 + abs(middle.value)):
            waiting += [(left, middle), (middle, right)]
    return found


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
        if abs(straight - here[1]) <= SAME * (1.0 + abs(here[1])):
            del kept[position]
        else:
            position += 1
    points = points[kept]
    prices = -np.diff(points[:, 1]) / np.diff(points[:, 0]) if len(points) > 1 else np.zeros(0)
    return points, np.maximum(prices, 0.0)


def _intervals(
    problem: CSSP | HCSSP,
    oracle: Oracle[Any],
    index: int,
    asked: Sequence[float],
    least: float,
    tangents: dict[float, _Tangent],
    gap: float,
    deadline: float,
) -> Iterator[CurvePoint]:
    """The points one by one, ascending; the best policy so far is the next one's first incumbent."""
    incumbent: CurvePoint | None = None
    for bound in asked:
        began = time.perf_counter()
        step = Progress()
        value, price = _on_curve(tangents, bound)
        known_cost = inf if incumbent is None else incumbent.upper_bound
        if bound >= least:
            for step in branch(_under(oracle, index, bound), began, known_cost):
                lower, upper = max(step.lower_bound, value), min(step.upper_bound, known_cost)
                if relative_gap(lower, upper) <= gap or time.perf_counter() >= deadline:
                    break
        infeasible = bound < least or step.finished == "infeasible"
        policy, evaluation, upper = None, None, inf
        if incumbent is not None and incumbent.upper_bound <= step.upper_bound:
            policy, evaluation, upper = incumbent.policy, incumbent.evaluation, incumbent.upper_bound
        elif step.incumbent is not None:
            policy, evaluation = evaluate_rows(problem, step.incumbent)
            upper = float(evaluation.costs[0])
        if infeasible:
            value, price, lower = inf, None, inf
        else:
            lower = float(min(max(step.lower_bound, value), upper))
        point = CurvePoint(bound, value, price, lower, upper, policy, evaluation)
        if policy is not None:
            incumbent = point
        yield point


def _on_curve(tangents: dict[float, _Tangent], bound: float) -> tuple[float, float | None]:
    """The stochastic optimum at a bound and the price there; at a breakpoint that of more, not of less."""
    if not tangents:
        return -inf, None
    value = max(float(tangent.at(bound)) for tangent in tangents.values())
    near = value - SAME * (1.0 + abs(value))
    return value, min(tangent.price for tangent in tangents.values() if tangent.at(bound) >= near)
