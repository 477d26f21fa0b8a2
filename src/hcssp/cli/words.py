"""The plan in words: its choices, its activities, its bounds, what is proven and why the search stopped."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from hcssp.cli.rounding import rounded_down, rounded_up
from hcssp.cli.summary import (
    ActivitySummary,
    ConstraintSummary,
    activity_summaries,
    choice_summaries,
    constraint_summaries,
)
from hcssp.cli.terminal import Style

if TYPE_CHECKING:
    from hcssp.contract.result import Result
    from hcssp.procedure import HCSSP
    from hcssp.solving.registry import Method

_REASONS = {
    "gap": "the wanted gap is reached",
    "time limit": "the time limit is reached",
    "iterations": "the limit of iterations is reached",
    "target": "the target is reached",
    "proved": "the proof is complete",
    "interrupted": "it was interrupted",
    "relaxation solved": "the linear program is solved",
    "exhausted": "the method has nothing left to do",
}


def plan_in_words(name: str, method: Method, problem: HCSSP, result: Result, style: Style) -> str:
    """What ``hcssp solve`` prints for people.

    Parameters
    ----------
    name, method
        The problem as the user calls it, and how it was solved.
    problem, result
        What was solved, and the answer.
    style
        Whether headings may be bold.
    """
    bounds = ", ".join(f"{c.name} at most {c.at_most:g}" for c in problem.constraints)
    blocks = [style.strong(f"{name}: least expected {problem.primary_name}, {bounds or 'no bounds'}")]
    if result.found_policy is not None:
        blocks += plan_blocks(problem, result, style)
    blocks.append(style.strong("Bounds") + "\n" + _bounds(problem, result))
    blocks.append(style.strong("Proven") + "\n" + _proven(problem.primary_name, result))
    reason = _REASONS.get(result.stopped_by, result.stopped_by)
    blocks.append(
        f"Stopped because {reason}: method {method.name}, {result.seconds:.2f} s, "
        f"{result.iterations} {method.counts}."
    )
    return "\n\n".join(blocks)


def plan_blocks(problem: HCSSP, result: Result, style: Style) -> list[str]:
    """What the plan does: its choices and its activities."""
    return [
        style.strong("Choices") + "\n" + _choices(problem, result),
        style.strong("Activities")
        + " (expected, for one execution; share: of the whole)\n"
        + _activities(problem, result),
    ]


def _choices(problem: HCSSP, result: Result) -> str:
    """Where there was something to choose, what was chosen."""
    choices = [choice for choice in choice_summaries(problem, result) if choice.rejected]
    if not choices:
        return "  there is nothing to choose"
    width = max(len(choice.event) for choice in choices)
    return "\n".join(
        f"  at {choice.event:<{width}}  {choice.choice} (rather than {', '.join(choice.rejected)})"
        for choice in choices
    )


def _activities(problem: HCSSP, result: Result) -> str:
    summaries = activity_summaries(problem, result)
    constraints = constraint_summaries(problem, result)
    executed = [activity for activity in summaries if activity.expected_executions]
    header = ["activity", "executions", problem.primary_name, "share"]
    for constraint in constraints:
        header += [constraint.name, "budget", "share"]
    rows = [header, *(_row(activity, result.upper_bound, constraints) for activity in executed)]
    total = ["in all", "", f"{result.upper_bound:.4f}", ""]
    for constraint in constraints:
        total += [_number(constraint.expected), _number(constraint.at_most), ""]
    rows.append(total)
    text = aligned(rows)
    idle = [activity.name for activity in summaries if not activity.expected_executions]
    if idle:
        text += f"\n  never executed: {', '.join(idle)}"
    return text


def _row(activity: ActivitySummary, cost: float, constraints: Sequence[ConstraintSummary]) -> list[str]:
    executions = activity.expected_executions
    row = [
        activity.name,
        _number(executions),
        _number(activity.cost),
        _share(executions, activity.cost, cost),
    ]
    for constraint in constraints:
        used = activity.usage.get(constraint.name)
        row += [
            _number(used),
            _number(activity.budget.get(constraint.name)),
            _share(executions, used, constraint.expected),
        ]
    return row


def _share(executions: float | None, each: float | None, whole: float | None) -> str:
    """How much of the whole all executions together make up."""
    if executions is None or each is None or not whole:
        return "-"
    return f"{100 * executions * each / whole:.1f}%"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: names to the left, figures to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  " + "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)


def _bounds(problem: HCSSP, result: Result) -> str:
    lines = []
    for constraint in constraint_summaries(problem, result):
        line = f"  {constraint.name}: "
        if constraint.expected is not None:
            line += f"{_number(constraint.expected)} expected, "
        line += f"at most {constraint.at_most:g} allowed" if isfinite(constraint.at_most) else "no bound"
        if constraint.price is not None and isfinite(constraint.at_most):
            # Deterministic plans improve in steps; the price is that of the relaxation.
            line += f"; price {constraint.price:.4g}: {problem.primary_name} that a little more would save "
            line += "for each unit, if plans could draw lots"
        lines.append(line)
    return "\n".join(lines) or "  there are none"


def _proven(primary: str, result: Result) -> str:
    lower, upper = result.lower_bound, result.upper_bound
    if isfinite(upper) and isfinite(lower):
        lines = [
            f"  the best deterministic plan has an expected {primary} between "
            f"{rounded_down(lower, 6)} and {rounded_up(upper, 6)}",
            f"  this plan is {_quality(result)}",
        ]
    elif isfinite(upper):
        lines = [f"  nothing but that this plan keeps its bounds; its expected {primary} is {upper:.6f}"]
    elif isfinite(lower):
        lines = [f"  no plan has an expected {primary} below {rounded_down(lower, 6)}; one may exist"]
    else:
        lines = ["  nothing yet"]
    if result.stochastic is not None:
        lines.append(f"  a plan that draws lots could reach {result.stochastic.value:.6f}")
    return "\n".join(lines)


def _quality(result: Result) -> str:
    if result.status == "optimal":
        return f"optimal (relative gap {result.gap:.1g})"
    return f"feasible; its cost could be lower by at most {100 * result.gap:.2g}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
