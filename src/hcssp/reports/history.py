"""The proven interval over time, as a picture: how fast the plan got good, and how fast that was proven."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.reports.pictures import ACCENT, INK, SHADE, new_figure, tidy

_FIRST_BOUNDS = 1.5
"""How many times the first interval is shown below the last lower bound; more would flatten the rest."""


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
    axes.set_ylabel(f"expected {plan.problem.primary_name}")
    axes.set_title("The proven interval over time")
    points = [*plan.trace]
    if not points:
        axes.text(0.5, 0.5, "nothing was proven", transform=axes.transAxes, ha="center")
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
        label="proven: no deterministic plan below",
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
