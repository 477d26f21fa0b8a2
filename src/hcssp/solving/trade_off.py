r"""The trade-off curve: what the optimum costs as a function of one bound, and the price of that budget.

**Stochastic curve.** The optimum over randomised policies, by all its pieces
(:mod:`hcssp.solving.tangents`).

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
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.cssp.model import FloatArray
from hcssp.errors import InvalidProblem
from hcssp.frames import frame
from hcssp.numerics import tolerated
from hcssp.procedure.dead_ends import explaining_dead_ends
from hcssp.procedure.model import HCSSP
from hcssp.solving.bound_range import constraint_index
from hcssp.solving.curve_point import CurvePoint, Enough, at_least, finished_point, raised, unkept
from hcssp.solving.curve_workers import be_ready, points_by_workers
from hcssp.solving.solve import solve
from hcssp.solving.tangents import Tangent, least_use, on_curve, pieces_of, tangents_between
from hcssp.threads import single_threaded_algebra
from hcssp.workers import Workers

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["CurvePoint", "TradeOff", "trade_off"]


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

    def _repr_html_(self) -> str:
        from hcssp.reports.notebook import curve_html

        return curve_html(self)


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
    least = nan if limit else least_use(oracle, index)
    # The same rule as that of a search: a bound is kept up to its tolerance.
    feasible = [point for point in asked if not _is_below(point, least)]
    tangents: dict[float, Tangent] = {}
    complete = True
    if limit:
        complete = False
    elif feasible:
        # The other half is for the points, which are what was asked for.
        tangents, complete = tangents_between(oracle, index, feasible, began + 0.5 * time_limit)
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
        curve = {bound: on_curve(tangents, bound) for bound in asked}
        unkept_bounds = {bound: least for bound in asked if _is_below(bound, least)}
        points_by_workers(problem, shared, constraint, curve, unkept_bounds, gap, deadline, executor, tell)
    done.sort(key=lambda point: point.bound)
    if executor is None:
        _narrow(done, shared, gap, deadline)
    for later in range(len(done) - 1, 0, -1):
        done[later - 1] = raised(done[later - 1], done[later].lower_bound)
    # Between tangents that are not neighbours the curve is lower than a straight line.
    breakpoints, prices = pieces_of(tangents if complete else {})
    seconds = time.perf_counter() - began
    exact = complete and all(tangent.reached for tangent in tangents.values())
    least = nan if limit else max(0.0, least)
    return TradeOff(problem, constraint, breakpoints, prices, tuple(done), least, seconds, exact)


def _is_below(bound: float, least: float) -> bool:
    """Whether a bound cannot be kept, since even what its tolerance allows is below the least."""
    return bool(tolerated(np.array(bound)) < least)


def _intervals(
    problem: Problem,
    memory: Memory,
    constraint: str,
    asked: Sequence[float],
    least: float,
    tangents: dict[float, Tangent],
    gap: float,
    deadline: float,
) -> Iterator[CurvePoint]:
    """The points one by one, ascending; the best policy so far is the next one's first incumbent."""
    incumbent: Plan | None = None
    for number, bound in enumerate(asked):
        under = problem.with_bounds({constraint: bound})
        value, price = on_curve(tangents, bound)
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
