"""The plans that a page shows: the one that is reported, and others along the trade-off curve to compare.

The curve is drawn for one bound, the others stay as they are. Its points are chosen so that the reported
bound is among them and both sides of it can be seen: from the least that can be kept to a multiple of it,
or to what the cheapest plan of all spends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, floor, inf, isfinite, log10

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.contract.proof import Interval
from hcssp.errors import UnknownName
from hcssp.solving.trade_off import CurvePoint, TradeOff, trade_off

CURVE_GAP = 3e-4
"""The relative gap at which a point of the curve is done: finer than what can be seen of it."""

NOTHING = 1e-12
"""A least cost below this share of the cheapest plan's is shown as none."""

_BEYOND = 5.0
"""How many times the reported bound the curve goes on to, if a larger bound still helps."""


def varied_constraints(plan: ProcedurePlan, wanted: str | None = None) -> list[str]:
    """The constraints whose bounds are worth varying: first the one that is wanted, then the scarcest.

    Those without a bound are left out, unless one is wanted or no other has one.

    Raises
    ------
    UnknownName
        If there is no constraint of the wanted name.
    """
    problem, names = plan.problem, plan.problem.constraint_names
    if wanted is not None and wanted not in names:
        raise UnknownName("constraint", wanted, names)
    # A curve is about the whole, and a limit about each execution of a use.
    whole = [each for each in problem.constraints if each.per is None]
    bounded = [each for each in whole if isfinite(each.at_most)] or whole
    prices = (plan.prices or _prices(plan)) if len(bounded) > 1 else {}
    # A price is for a unit; what counts is what the whole bound is worth.
    worth = {
        each.name: prices.get(each.name, 0.0) * (each.at_most if isfinite(each.at_most) else 1.0)
        for each in bounded
    }
    order = sorted(worth, key=lambda name: -worth[name])
    return order if wanted is None else [wanted, *(name for name in order if name != wanted)]


def _prices(plan: ProcedurePlan) -> dict[str, float]:
    """The prices of the plan's bounds, for a plan that comes without them: those of the dual."""
    from hcssp.dual.ascent import maximise
    from hcssp.ssp.region import Region

    dual = maximise(plan.memory.oracle(plan.problem), Region())
    if dual.infeasible:
        return {}
    return dict(zip(plan.problem.constraint_names, map(float, dual.prices), strict=True))


def curve_bounds(plan: ProcedurePlan, constraint: str, count: int) -> list[float]:
    """At which bounds to look: about `count`, the problem's own among them if it is finite."""
    from hcssp.ssp.region import Region

    names = plan.problem.constraint_names
    index = names.index(constraint)
    own = plan.problem.constraints[index].at_most
    oracle = plan.memory.oracle(plan.problem)
    weights = np.zeros(1 + len(names))
    weights[1 + index] = 1.0
    safest = oracle.minimise(weights, Region())
    cheapest = oracle.minimise(np.eye(1, 1 + len(names))[0], Region())
    if safest is None or cheapest is None:
        return []
    least, most = (float(each.vertex.costs[1 + index]) for each in (safest, cheapest))
    return spaced(least, own, max(least, most), count)


def spaced(least: float, own: float, most: float, count: int) -> list[float]:
    """Round numbers between `least` and about `most`, half of them on either side of `own`.

    >>> spaced(0.0, 2.0, 100.0, 9)
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.7, 10.0]
    >>> spaced(1.2345, float("inf"), 3.0, 4)
    [1.3, 1.9, 2.5, 3.0]
    """
    # What is left of a cost of nothing after rounding is no bound that anybody would ask for.
    least = least if least > NOTHING * most else 0.0
    if not isfinite(own) or not least <= own <= most:
        found = {_round_up(value) for value in np.linspace(least, most, max(2, count)).tolist()}
        kept = {own} if isfinite(own) and own >= least else set()
        return sorted(found | kept)
    lower = max(2, count // 2 + 1)
    below = [_round_up(value) for value in np.linspace(least, own, lower).tolist()[:-1]]
    upper = max(0, count - lower)
    end = min(most, max(_BEYOND * own, least + 0.1 * (most - least)))
    if own > 0.0 and end > own:
        above = [_round_up(value) for value in np.geomspace(own, end, upper + 1).tolist()[1:]]
    else:
        above = [_round_up(value) for value in np.linspace(own, end, upper + 1).tolist()[1:]]
    return sorted({value for value in below if value < own} | {own} | {v for v in above if v > own})


def draw_curve(
    plan: ProcedurePlan,
    constraint: str,
    bounds: Sequence[float],
    time_limit: float = inf,
    on_point: Callable[[CurvePoint], object] | None = None,
) -> TradeOff:
    """The trade-off curve at `bounds`; Ctrl-C ends it with the points that are done."""
    began = time.perf_counter()
    done: list[CurvePoint] = []

    def keep(point: CurvePoint) -> None:
        done.append(point)
        if on_point is not None:
            on_point(point)

    try:
        return trade_off(plan.problem, constraint, bounds, CURVE_GAP, time_limit, keep, memory=plan.memory)
    except KeyboardInterrupt:
        return TradeOff.interrupted(plan.problem, constraint, done, time.perf_counter() - began)


def along_curve(own: ProcedurePlan, curve: TradeOff | None) -> tuple[list[ProcedurePlan], int]:
    """The curve's plans, ascending in the bound, and the position of the reported one among them.

    A point at the reported bound is the reported plan. Neighbours inherit what it proves: its lower bound
    holds for smaller bounds, and a plan that costs more than it under a larger bound is left for it.
    """
    if curve is None:
        return [own], 0
    own_bound = own.bounds[curve.constraint]
    if own.prices is None:
        # A plan from an old file comes without prices.
        prices = [point.price for point in curve.points if point.bound == own_bound]
        if prices and prices[0] is not None:
            own = replace(own, prices={curve.constraint: prices[0]})
    for point in curve.points:
        # What this run has proven under the reported bound holds for the reported plan, whatever is claimed.
        if point.bound == own_bound and own.upper_bound < inf:
            lower = min(max(own.lower_bound, point.lower_bound), own.upper_bound)
            if lower > own.lower_bound:
                own = replace(own, proof=Interval(lower, own.upper_bound, own.tolerances.optimality))
    below: list[ProcedurePlan] = []
    above: list[ProcedurePlan] = []
    for point in curve.points:
        if not point.plan.found or point.bound == own_bound:
            continue
        found = point.plan.as_procedure()
        prices_there = None if point.price is None else {**(own.prices or {}), curve.constraint: point.price}
        found = replace(found, prices=prices_there)
        if point.bound < own_bound:
            lower = min(max(found.lower_bound, own.lower_bound), found.upper_bound)
            below.append(replace(found, proof=Interval(lower, found.upper_bound)))
        elif found.upper_bound > own.upper_bound:
            lower = min(found.lower_bound, own.upper_bound)
            better = own.under(found.problem).as_procedure()
            above.append(replace(better, prices=prices_there, proof=Interval(lower, own.upper_bound)))
        else:
            above.append(found)
    return [*below, own, *above], len(below)


def _round_up(value: float) -> float:
    """Two significant digits, never less than `value`."""
    if value <= 0.0:
        return 0.0
    digits = 1 - floor(log10(value))
    scaled = value * 10.0**digits
    # What is a round number already, but for rounding, stays as it is.
    return float(round(ceil(scaled - 1e-9) * 10.0**-digits, max(0, digits)))
