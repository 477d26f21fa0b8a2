"""The trade-off curve as a picture: what the optimum costs as a bound grows, and what a unit is worth.

The stochastic curve is drawn exactly, with its breakpoints. The best deterministic plan is proven to lie on
the bars at the asked bounds and, since more budget never costs more, in the shaded steps between them. The
price has an axis of its own, on the right.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from hcssp.reports.pictures import ACCENT, INK, SHADE, WARNING, new_figure, tidy
from hcssp.solving.trade_off import CurvePoint, TradeOff

_MANY = 60
"""Breakpoints beyond this many are not marked one by one."""


def draw_trade_off(curve: TradeOff, primary: str = "cost") -> Any:
    """Draw a trade-off curve.

    Parameters
    ----------
    curve
        What :func:`hcssp.solving.trade_off.trade_off` found.
    primary
        What the cost is called.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; it needs no screen.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    figure = new_figure(9.0, 5.4)
    costs = figure.add_subplot()
    tidy(costs)
    handles = [*_deterministic(costs, curve), *_stochastic(costs, curve)]
    costs.set_xlabel(f"bound on the expected {curve.constraint}")
    costs.set_ylabel(f"least expected {primary}")
    if len(curve.prices):
        prices = costs.twinx()
        handles.append(_prices(prices, curve))
        prices.set_ylabel(f"price: {primary} saved by one more unit of {curve.constraint}", color=WARNING)
        prices.set_ylim(bottom=0.0)
        prices.spines["top"].set_visible(False)
        prices.tick_params(axis="y", colors=WARNING)
        # The curve itself is what one looks at first.
        costs.set_zorder(prices.get_zorder() + 1)
        costs.patch.set_visible(False)
    if handles:
        costs.legend(handles=handles, loc="upper right", frameon=True, framealpha=0.9, fontsize=9)
    else:
        costs.text(0.5, 0.5, "no plan keeps any of these bounds", transform=costs.transAxes, ha="center")
    impossible = [point.bound for point in curve.points if point.bound < curve.least]
    if impossible:
        costs.axvspan(min(impossible), curve.least, color="0.93", zorder=0)
        costs.text(
            curve.least, 0.02, f" no plan below {curve.least:.4g}", transform=costs.get_xaxis_transform(),
            fontsize=9, ha="left", va="bottom",
        )  # fmt: skip
    costs.set_title(f"What the bound on {curve.constraint} costs", fontsize=13, fontweight="bold", loc="left")
    return figure


def _stochastic(axes: Any, curve: TradeOff) -> list[Any]:
    if not len(curve.breakpoints):
        return []
    bounds, values = curve.breakpoints.T
    (line,) = axes.plot(
        bounds, values, color=ACCENT, linewidth=1.6, zorder=4, label="plans that draw lots: the optimum",
        marker="o" if len(bounds) <= _MANY else "", markersize=3.2,
    )  # fmt: skip
    return [line]


def _deterministic(axes: Any, curve: TradeOff) -> list[Any]:
    known = [point for point in curve.points if isfinite(point.upper_bound)]
    if not known:
        return []
    bounds = np.array([point.bound for point in known])
    lowers = np.array([_lower(point) for point in known])
    uppers = np.array([point.upper_bound for point in known])
    handles = []
    if len(known) > 1:
        # Between two bounds a plan costs no more than at the smaller and no less than at the larger one.
        between = axes.fill_between(
            np.repeat(bounds, 2)[1:-1], np.repeat(lowers[1:], 2), np.repeat(uppers[:-1], 2),
            facecolor=SHADE, linewidth=0.0, alpha=0.55, zorder=1, label="... between those bounds",
        )  # fmt: skip
        handles.append(between)
    bars = axes.errorbar(
        bounds, (lowers + uppers) / 2, yerr=(uppers - lowers) / 2, fmt="_", color=INK, markersize=9,
        markeredgewidth=2.0, elinewidth=2.0, capsize=3.5, zorder=5,
        label="the best plan without lots: proven interval",
    )  # fmt: skip
    return [bars, *handles]


def _lower(point: CurvePoint) -> float:
    return point.lower_bound if isfinite(point.lower_bound) else point.upper_bound


def _prices(axes: Any, curve: TradeOff) -> Any:
    bounds = curve.breakpoints[:, 0]
    (line,) = axes.plot(
        np.repeat(bounds, 2)[1:-1], np.repeat(curve.prices, 2), color=WARNING, linewidth=1.2,
        linestyle=(0, (4, 2)), zorder=2, label=f"price of {curve.constraint} (right axis)",
    )  # fmt: skip
    return line
