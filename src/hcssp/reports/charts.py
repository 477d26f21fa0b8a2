"""Charts of a plan: its budgets, the costs of its runs, its proof over time, and other bounds.

Everything is told by position, hatch, dash or label; colour only helps.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.evaluation.exact import Evaluation
from hcssp.procedure.model import HCSSP
from hcssp.procedure.units import called, expected
from hcssp.reports.figures import given, rounded
from hcssp.reports.measures import Measure
from hcssp.reports.outlook import CostOutlook, Outlook
from hcssp.reports.pictures import (
    ACCENT,
    INK,
    SHADE,
    WARNING,
    WARNING_SHADE,
    literally,
    new_figure,
    tidy,
)
from hcssp.reports.words import history_of
from hcssp.solving.trade_off import CurvePoint, TradeOff


@literally
def draw_budget(plan: Plan) -> Any:
    """Draw what each activity uses of each constraint.

    Parameters
    ----------
    plan
        What is drawn; it must have a policy.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each constraint: hatched bars with their figures, and the bound as a broken line.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    solved = plan.as_procedure()
    problem, evaluation = solved.problem, solved.costs
    panels = max(1, problem.num_constraints)
    shares = [share for share in evaluation.activities if share.expected_executions > 0.0]
    figure = new_figure(4.2 + 4.2 * panels, 1.4 + 0.32 * max(2, len(shares)))
    if not problem.constraints:
        figure.text(0.5, 0.5, "there are no constraints", ha="center")
        return figure
    places = figure.subplots(1, panels, squeeze=False)[0]
    for axes, constraint in zip(places, problem.constraints, strict=True):
        tidy(axes)
        axes.grid(visible=False)
        used = sorted(
            (share.usage[constraint.name], share.name) for share in shares if constraint.name in share.usage
        )
        values = [value for value, _ in used]
        bars = axes.barh(
            range(len(used)),
            values,
            color=SHADE,
            edgecolor=ACCENT,
            hatch="///",
            linewidth=1.0,
        )
        # Not as categories, whose labels would be made anew, and read as formulas, whenever it is drawn.
        axes.set_yticks(range(len(used)), labels=[name for _, name in used])
        told = Measure.of(problem, constraint.name)
        axes.bar_label(bars, [told.rounded(value) for value in values], padding=4, fontsize=8)
        title = f"{told.expected}: {told.rounded(evaluation.cost(constraint.name))}"
        if isfinite(constraint.at_most):
            title += f" of at most {told.given(constraint.at_most)}"
            axes.axvline(constraint.at_most, color=WARNING, linestyle="--", linewidth=1.6)
        axes.set_title(title, fontsize=11)
        most = max([*values, constraint.at_most if isfinite(constraint.at_most) else 0.0])
        axes.set_xlim(0.0, 1.25 * most if most > 0.0 else 1.0)
    return figure


@literally
def draw_histograms(outlook: Outlook, evaluation: Evaluation, problem: HCSSP | None = None) -> Any:
    """Draw the distribution of every cost over simulated runs.

    Parameters
    ----------
    outlook, evaluation
        The simulated runs of a plan, and its exact evaluation.
    problem
        Whose costs have units, if any have.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each cost, with the exact mean as a full line and the bound as a broken one; runs above
        the bound are hatched the other way.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    figure = new_figure(4.6 * len(outlook.costs), 3.4)
    bounds = [np.inf, *evaluation.bounds.tolist()]
    places = figure.subplots(1, len(outlook.costs), squeeze=False)[0]
    for axes, cost, bound in zip(places, outlook.costs, bounds, strict=True):
        _draw(axes, cost, evaluation.cost(cost.name), bound, outlook.runs)
        if problem is not None:
            axes.set_xlabel(f"{called(problem, cost.name)} of a run")
    figure.suptitle(f"The costs of {outlook.runs:,} simulated runs")
    return figure


def _draw(axes: Any, cost: CostOutlook, mean: float, bound: float, runs: int) -> None:
    tidy(axes)
    middles = (cost.edges[1:] + cost.edges[:-1]) / 2
    shares = 100.0 * cost.counts / runs
    for chosen, face, edge, hatch in (
        (middles <= bound, SHADE, ACCENT, "///"),
        (middles > bound, WARNING_SHADE, WARNING, "\\\\\\"),
    ):
        if chosen.any():
            axes.bar(
                middles[chosen], shares[chosen], np.diff(cost.edges)[chosen] * 0.92, color=face,
                edgecolor=edge, hatch=hatch,
            )  # fmt: skip
    axes.axvline(mean, color=INK, linewidth=1.6, label=f"expected: {rounded(mean, 2)}")
    if isfinite(bound):
        axes.axvline(bound, color=WARNING, linestyle="--", linewidth=1.6, label=f"allowed: {given(bound)}")
    if cost.by_value:
        axes.set_xticks(middles[:: max(1, len(middles) // 8)])
    axes.set_xlabel(f"{cost.name} of a run")
    axes.set_ylabel("% of runs")
    axes.legend(frameon=False, fontsize=9)


_FIRST_BOUNDS = 1.5
"""How many times the first interval is shown below the last lower bound; more would flatten the rest."""


@literally
def draw_history(plan: Plan) -> Any:
    """Draw how the proven interval narrowed.

    Parameters
    ----------
    plan
        Whose trace is drawn.

    Returns
    -------
    matplotlib.figure.Figure
        The cost of the best plan so far as a full line, the lower bound as a dotted one.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    figure = new_figure(7.0, 3.6)
    axes = figure.add_subplot()
    tidy(axes)
    axes.set_xlabel("seconds")
    shown = plan.as_procedure().problem
    axes.set_ylabel(f"expected {called(shown, shown.primary_name)}")
    trace, word = history_of(plan)
    axes.set_title(f"The {word} interval over time")
    points = [*trace]
    if not points:
        axes.text(0.5, 0.5, f"nothing was {word}", transform=axes.transAxes, ha="center")
        return figure
    seconds = np.array([point.seconds for point in points] + [max(plan.seconds, points[-1].seconds)])
    lower = np.array([point.lower_bound for point in points] + [points[-1].lower_bound])
    upper = np.array([point.upper_bound for point in points] + [points[-1].upper_bound])
    known_lower, known_upper = np.isfinite(lower), np.isfinite(upper)
    both = known_lower & known_upper
    axes.fill_between(seconds[both], lower[both], upper[both], step="post", color=SHADE, alpha=0.6)
    axes.step(
        seconds[known_upper], upper[known_upper], where="post", color=ACCENT, label="the best plan so far"
    )
    axes.step(
        seconds[known_lower], lower[known_lower], where="post", color=INK, linestyle=":", linewidth=2,
        label=f"{word}: no deterministic plan below",
    )  # fmt: skip
    if both.any():
        first, last = upper[both][0], lower[both][-1]
        bottom = max(float(lower[both].min()), float(last - _FIRST_BOUNDS * max(first - last, 1e-9)))
        margin = 0.08 * max(float(first) - bottom, 1e-9)
        if isfinite(bottom):
            axes.set_ylim(bottom - margin, float(first) + margin)
    axes.set_xlim(left=0.0)
    axes.legend(frameon=False)
    return figure


_MANY = 60
"""Breakpoints beyond this many are not marked one by one."""


@literally
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
    varied, told = curve.constraint, f"expected {curve.constraint}"
    if isinstance(curve.problem, HCSSP):
        varied, told = called(curve.problem, varied), expected(curve.problem, varied)
    costs.set_xlabel(f"bound on the {told}")
    costs.set_ylabel(f"least expected {primary}")
    if len(curve.prices):
        prices = costs.twinx()
        handles.append(_prices(prices, curve))
        prices.set_ylabel(f"price: {primary} saved by one more unit of {varied}", color=WARNING)
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
    costs.set_title(f"What the bound on {varied} costs", fontsize=13, fontweight="bold", loc="left")
    return figure


def _stochastic(axes: Any, curve: TradeOff) -> list[Any]:
    if not len(curve.breakpoints):
        return []
    bounds, values = curve.breakpoints.T
    reached = "plans that draw lots: the optimum"
    label = reached if curve.exact else "no plan below, not even one that draws lots"
    (line,) = axes.plot(
        bounds, values, color=ACCENT, linewidth=1.6, zorder=4, label=label,
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
