"""How the budgets are spread over the activities, as a picture: a bar for each activity that is executed."""

from __future__ import annotations

from math import isfinite
from typing import Any

from hcssp.contract.plan import Plan
from hcssp.reports.figures import given, rounded
from hcssp.reports.pictures import ACCENT, SHADE, WARNING, new_figure, tidy


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
            [name for _, name in used], values, color=SHADE, edgecolor=ACCENT, hatch="///", linewidth=1.0
        )
        axes.bar_label(bars, [rounded(value) for value in values], padding=4, fontsize=8)
        title = f"expected {constraint.name}: {rounded(evaluation.cost(constraint.name))}"
        if isfinite(constraint.at_most):
            title += f" of at most {given(constraint.at_most)}"
            axes.axvline(constraint.at_most, color=WARNING, linestyle="--", linewidth=1.6)
        axes.set_title(title, fontsize=11)
        most = max([*values, constraint.at_most if isfinite(constraint.at_most) else 0.0])
        axes.set_xlim(0.0, 1.25 * most if most > 0.0 else 1.0)
    return figure
