"""A result as one JSON object; ``null`` where a figure is unknown or infinite.

An activity's ``cost``, ``usage`` and ``budget`` are those of *one* execution, in expectation (the paper's
f, g and allotted budget), and ``null`` if it is never executed. Weighted with ``expected_executions``, costs
and usages add up to those of the whole plan.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from hcssp.cli.summary import activity_summaries, choice_summaries, constraint_summaries

if TYPE_CHECKING:
    from hcssp.contract.result import Result
    from hcssp.procedure import HCSSP


def figure(value: float | None) -> float | None:
    """A number that JSON knows, or None."""
    return None if value is None or not isfinite(value) else float(value)


def document(name: str, method: str, problem: HCSSP, result: Result) -> dict[str, Any]:
    """The object that ``hcssp solve --json`` prints.

    Parameters
    ----------
    name, method
        What the user calls the problem and the method.
    problem, result
        What was solved, and the answer.
    """
    return {
        "problem": name,
        "method": method,
        "status": str(result.status),
        "stopped_by": result.stopped_by,
        "lower_bound": figure(result.lower_bound),
        "upper_bound": figure(result.upper_bound),
        "gap": figure(result.gap),
        **plan_figures(problem, result),
        "seconds": figure(result.seconds),
        "trace": [[figure(value) for value in point] for point in result.trace],
    }


def plan_figures(problem: HCSSP, result: Result) -> dict[str, Any]:
    """The part of an object that is about the plan itself: constraints, choices and activities."""
    return {
        "constraints": {
            constraint.name: {
                "expected": figure(constraint.expected),
                "at_most": figure(constraint.at_most),
                "price": figure(constraint.price),
            }
            for constraint in constraint_summaries(problem, result)
        },
        "choices": {choice.event: choice.choice for choice in choice_summaries(problem, result)},
        "activities": {
            activity.name: {
                "expected_executions": figure(activity.expected_executions),
                "cost": figure(activity.cost),
                "usage": {name: figure(used) for name, used in activity.usage.items()},
                "budget": {name: figure(allotted) for name, allotted in activity.budget.items()},
            }
            for activity in activity_summaries(problem, result)
        },
    }
