"""Charts: the proven interval over time, the trade-off curve, and the price along it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from hcssp.contract.trace import Trace
from hcssp.cssp.model import FloatArray
from hcssp.procedure.aim import Aim
from hcssp.reports.judged import JudgedCurve, judged, own
from hcssp.reports.notebook.markup import Markup, element
from hcssp.reports.notebook.svg import Chart, Point
from hcssp.solving.trade_off import TradeOff

_MOST_POINTS = 600
_FIRST_BOUNDS = 1.5
"""How many times the first interval is shown below the last lower bound; more would flatten the rest."""


def history_chart(
    trace: Trace, seconds: float, aim: Aim, primary: str, word: str = "proven"
) -> Markup | None:
    """How the interval narrowed, which is `word`: proven or claimed; None if nothing was."""
    stride = -(-len(trace) // _MOST_POINTS) or 1
    kept = [*trace[:-1][::stride], *trace[-1:]]
    lowers = [(point.seconds, point.lower_bound) for point in kept if isfinite(point.lower_bound)]
    uppers = [(point.seconds, point.upper_bound) for point in kept if isfinite(point.upper_bound)]
    if not lowers:
        return None
    tight = lowers[-1][1]
    high = uppers[0][1] if uppers else tight
    low = max(lowers[0][1], tight - _FIRST_BOUNDS * max(high - tight, 1e-9))
    end = max(seconds, kept[-1].seconds)
    room = sorted(judged(aim, _with_room(low, high)))
    chart = Chart((0.0, end or 1.0), (room[0], room[1]), ("seconds", f"expected {primary}"))
    below = _steps([(x, aim.judged(y)) for x, y in lowers], end)
    above = _steps([(x, aim.judged(y)) for x, y in uppers], end)
    parts: list[object] = []
    if above:
        inside = [(max(x, above[0][0]), y) for x, y in below]
        parts.append(chart.area([*above, *reversed(inside)], "band"))
    parts += [chart.line(below, "curve dotted"), chart.line(above, "curve") if above else ""]
    return chart.draw(f"The {word} interval over {end:.1f} seconds", *parts)


def curve_chart(curve: TradeOff, shown: JudgedCurve) -> Markup | None:
    """The least expected cost, or the greatest reward, against the bound; None if no bound can be kept."""
    known = [point for point in curve.points if isfinite(point.upper_bound)]
    stochastic: list[Point] = [(float(x), float(y)) for x, y in _thinned(shown.breakpoints)]
    values = [own(point.plan) for point in known] + [value for _, value in stochastic]
    if not values:
        return None
    chart = Chart(
        _range(curve),
        _with_room(min(values), max(values)),
        (f"bound on the expected {curve.constraint}", shown.best),
        height=320.0,
    )
    parts: list[object] = [_impossible(chart, curve)]
    if len(known) > 1:
        # Between two bounds the best is no worse than at the smaller and no better than at the larger one.
        bounds = np.repeat([point.bound for point in known], 2)[1:-1].tolist()
        ceiling = zip(bounds, np.repeat([own(point.plan) for point in known[:-1]], 2).tolist(), strict=True)
        ground = zip(bounds, np.repeat([shown.limit(point) for point in known[1:]], 2).tolist(), strict=True)
        parts.append(chart.area([*ceiling, *reversed(list(ground))], "band"))
    parts.append(chart.line(stochastic, "curve dashed") if len(stochastic) > 1 else "")
    for point in known:
        x, y = chart.place(point.bound, own(point.plan))
        _, bottom = chart.place(point.bound, shown.limit(point))
        parts.append(element("path", {"class": "whisker", "d": f"M{x:.1f} {y:.1f}V{bottom:.1f}"}))
        told = f"{curve.constraint} at most {point.bound:g}: expected {shown.name} {own(point.plan):.4f}"
        parts.append(
            element("circle", {"class": "dot", "cx": x, "cy": y, "r": 4.0}, element("title", {}, told))
        )
    return chart.draw(f"The {shown.best} against the bound on {curve.constraint}", *parts)


def price_chart(curve: TradeOff, primary: str) -> Markup | None:
    """The price along the curve; None if no piece of it is known."""
    if not len(curve.prices) or not np.isfinite(curve.prices).all():
        return None
    bounds = np.repeat(curve.breakpoints[:, 0], 2)[1:-1].tolist()
    steps = list(zip(bounds, np.repeat(curve.prices, 2).tolist(), strict=True))
    chart = Chart(
        _range(curve),
        (0.0, 1.08 * float(curve.prices.max()) or 1.0),
        (f"bound on the expected {curve.constraint}", f"price: {primary} for a unit of {curve.constraint}"),
        height=190.0,
    )
    label = f"The price of {curve.constraint} against its bound"
    return chart.draw(label, _impossible(chart, curve), chart.line(steps[: 2 * _MOST_POINTS], "curve price"))


def _range(curve: TradeOff) -> tuple[float, float]:
    bounds = [point.bound for point in curve.points] + curve.breakpoints[:, 0].tolist()
    low, high = min(bounds), max(bounds)
    room = 0.02 * (high - low) or 1.0
    return low - room, high + room


def _impossible(chart: Chart, curve: TradeOff) -> Markup:
    """The bounds that no plan keeps are shaded."""
    low, high = chart.across
    if not isfinite(curve.least) or curve.least <= min(point.bound for point in curve.points):
        return Markup()
    edge = min(curve.least, high)
    bottom, top = chart.along
    area = chart.area([(low, bottom), (edge, bottom), (edge, top), (low, top)], "impossible")
    x, y = chart.place(low, top)
    return Markup(area + element("text", {"class": "faint", "x": x + 6, "y": y + 16}, "no plan keeps these"))


def _thinned(points: FloatArray) -> FloatArray:
    """Not more points than can be seen, the last one among them."""
    stride = -(-len(points) // _MOST_POINTS) or 1
    return points if stride == 1 else np.vstack([points[:-1:stride], points[-1:]])


def _steps(points: Sequence[Point], end: float) -> list[Point]:
    """A value holds until the next one."""
    found: list[Point] = []
    for x, y in points:
        if found:
            found.append((x, found[-1][1]))
        found.append((x, y))
    if found:
        found.append((end, found[-1][1]))
    return found


def _with_room(low: float, high: float) -> tuple[float, float]:
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room
