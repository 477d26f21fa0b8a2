"""How the costs of single runs are spread, as a picture: a bound is kept on average, not in every run."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from hcssp.evaluation.exact import Evaluation
from hcssp.reports.figures import given, rounded
from hcssp.reports.outlook import CostOutlook, Outlook
from hcssp.reports.pictures import ACCENT, INK, SHADE, WARNING, WARNING_SHADE, new_figure, tidy


def draw_histograms(outlook: Outlook, evaluation: Evaluation) -> Any:
    """Draw the distribution of every cost over simulated runs.

    Parameters
    ----------
    outlook, evaluation
        The simulated runs of a plan, and its exact evaluation.

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
