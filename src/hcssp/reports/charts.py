"""Charts of a plan: its budgets, the costs of its runs, its proof over time, and other bounds.

Everything is told by position, hatch, dash or label; colour only helps.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.evaluation.records import Evaluation
from hcssp.procedure.aim import Aim
from hcssp.procedure.model import HCSSP
from hcssp.procedure.units import called, expected
from hcssp.reports.figures import given, rounded
from hcssp.reports.judged import JudgedCurve, judged, own
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
from hcssp.solving.trade_off import TradeOff


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
    drawn = [each for each in problem.constraints if each.name in Aim.of(problem).others]
    panels = max(1, len(drawn))
    shares = [share for share in evaluation.activities if share.expected_executions > 0.0]
    figure = new_figure(4.2 + 4.2 * panels, 1.4 + 0.32 * max(2, len(shares)))
    if not drawn:
        figure.text(0.5, 0.5, "there are no constraints", ha="center")
        return figure
    places = figure.subplots(1, panels, squeeze=False)[0]
    for axes, constraint in zip(places, drawn, strict=True):
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
        the bound are hatched the other way. What is a probability has none, since a run has it or not.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    """
    costs = [
        cost for cost in outlook.costs if problem is None or not Measure.of(problem, cost.name).is_probability
    ]
    figure = new_figure(4.6 * len(costs), 3.4)
    bounds = dict(zip(evaluation.cost_names[1:], evaluation.bounds.tolist(), strict=True))
    places = figure.subplots(1, len(costs), squeeze=False)[0]
    for axes, cost in zip(places, costs, strict=True):
        mean = _expected_cost(evaluation, cost.name, problem)
        _draw(axes, cost, mean, bounds.get(cost.name, np.inf), outlook.runs)
        if problem is not None:
            axes.set_xlabel(f"{called(problem, cost.name)} of a run")
    figure.suptitle(f"The costs of {outlook.runs:,} simulated runs")
    return figure


def _expected_cost(evaluation: Evaluation, name: str, problem: HCSSP | None) -> float:
    """The expectation of a cost, or of the reward that a problem maximises."""
    if problem is not None and problem.reward is not None and problem.reward.name == name:
        return Aim.of(problem).total(evaluation.costs)
    return evaluation.cost(name)


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
    aim = Aim.of(shown)
    axes.set_ylabel(f"expected {called(shown, aim.name)}")
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
    limits, owns = np.array(judged(aim, lower)), np.array(judged(aim, upper))
    axes.fill_between(seconds[both], limits[both], owns[both], step="post", color=SHADE, alpha=0.6)
    axes.step(
        seconds[known_upper], owns[known_upper], where="post", color=ACCENT, label="the best plan so far"
    )
    axes.step(
        seconds[known_lower], limits[known_lower], where="post", color=INK, linestyle=":", linewidth=2,
        label=f"{word}: no deterministic plan {'above' if aim.greatest else 'below'}",
    )  # fmt: skip
    if both.any():
        first, last = upper[both][0], lower[both][-1]
        bottom = max(float(lower[both].min()), float(last - _FIRST_BOUNDS * max(first - last, 1e-9)))
        margin = 0.08 * max(float(first) - bottom, 1e-9)
        if isfinite(bottom):
            axes.set_ylim(*sorted(judged(aim, (bottom - margin, float(first) + margin))))
    axes.set_xlim(left=0.0)
    axes.legend(frameon=False)
    return figure


_MANY = 60
"""Breakpoints beyond this many are not marked one by one."""


@literally
def draw_trade_off(curve: TradeOff, primary: str | None = None) -> Any:
    """Draw a trade-off curve.

    Parameters
    ----------
    curve
        What :func:`hcssp.solving.trade_off.trade_off` found.
    primary
        What the cost, or the reward, is called, if that is not its name.

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
    shown = JudgedCurve.of(curve)
    name = shown.name if primary is None else primary
    handles = [*_deterministic(costs, curve, shown), *_stochastic(costs, curve, shown)]
    varied, told = curve.constraint, f"expected {curve.constraint}"
    if isinstance(curve.problem, HCSSP):
        varied, told = called(curve.problem, varied), expected(curve.problem, varied)
    costs.set_xlabel(f"bound on the {told}")
    costs.set_ylabel(f"{'greatest' if shown.aim.greatest else 'least'} expected {name}")
    if len(curve.prices):
        prices = costs.twinx()
        handles.append(_prices(prices, curve))
        won = "gained" if shown.aim.greatest else "saved"
        prices.set_ylabel(f"price: {name} {won} by one more unit of {varied}", color=WARNING)
        prices.set_ylim(bottom=0.0)
        prices.spines["top"].set_visible(False)
        prices.tick_params(axis="y", colors=WARNING)
        # The curve itself is what one looks at first.
        costs.set_zorder(prices.get_zorder() + 1)
        costs.patch.set_visible(False)
    if handles:
        place = "lower right" if shown.aim.greatest else "upper right"
        costs.legend(handles=handles, loc=place, frameon=True, framealpha=0.9, fontsize=9)
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


def _stochastic(axes: Any, curve: TradeOff, shown: JudgedCurve) -> list[Any]:
    if not len(curve.breakpoints):
        return []
    bounds, values = shown.breakpoints.T
    reached = "plans that draw lots: the optimum"
    label = reached if curve.exact else f"no plan {shown.worse}, not even one that draws lots"
    (line,) = axes.plot(
        bounds, values, color=ACCENT, linewidth=1.6, zorder=4, label=label,
        marker="o" if len(bounds) <= _MANY else "", markersize=3.2,
    )  # fmt: skip
    return [line]


def _deterministic(axes: Any, curve: TradeOff, shown: JudgedCurve) -> list[Any]:
    known = [point for point in curve.points if isfinite(point.upper_bound)]
    if not known:
        return []
    bounds = np.array([point.bound for point in known])
    limits = np.array([shown.limit(point) for point in known])
    owns = np.array([own(point.plan) for point in known])
    handles = []
    if len(known) > 1:
        # Between two bounds the best is no worse than at the smaller and no better than at the larger one.
        between = axes.fill_between(
            np.repeat(bounds, 2)[1:-1], np.repeat(limits[1:], 2), np.repeat(owns[:-1], 2),
            facecolor=SHADE, linewidth=0.0, alpha=0.55, zorder=1, label="... between those bounds",
        )  # fmt: skip
        handles.append(between)
    bars = axes.errorbar(
        bounds, (limits + owns) / 2, yerr=np.abs(owns - limits) / 2, fmt="_", color=INK, markersize=9,
        markeredgewidth=2.0, elinewidth=2.0, capsize=3.5, zorder=5,
        label="the best plan without lots: proven interval",
    )  # fmt: skip
    return [bars, *handles]


def _prices(axes: Any, curve: TradeOff) -> Any:
    bounds = curve.breakpoints[:, 0]
    (line,) = axes.plot(
        np.repeat(bounds, 2)[1:-1], np.repeat(curve.prices, 2), color=WARNING, linewidth=1.2,
        linestyle=(0, (4, 2)), zorder=2, label=f"price of {curve.constraint} (right axis)",
    )  # fmt: skip
    return line
