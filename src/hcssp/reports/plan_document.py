"""A plan as one JSON object; ``null`` where a figure is unknown or infinite.

An activity's ``cost``, ``usage`` and ``budget`` are those of *one* execution, in expectation (the paper's
f, g and allotted budget), and ``null`` if it is never executed. Weighted with ``expected_executions``, costs
and usages add up to those of the whole plan.
"""

from __future__ import annotations

from typing import Any

from hcssp.contract.plan import Plan
from hcssp.reports.figures import plain
from hcssp.reports.summary import activity_summaries, choice_summaries, constraint_summaries


def plan_document(plan: Plan) -> dict[str, Any]:
    """The object that ``hcssp solve --json`` prints."""
    return {
        "problem": plan.name,
        "method": plan.method,
        "status": str(plan.status),
        "stopped_by": str(plan.ending.reason),
        "stop_detail": plan.ending.detail or None,
        "lower_bound": plain(plan.lower_bound),
        "upper_bound": plain(plan.upper_bound),
        "gap": plain(plan.gap),
        **plan_figures(plan),
        "seconds": plain(plan.seconds),
        "trace": [[plain(value) for value in point] for point in plan.trace],
    }


def plan_figures(plan: Plan) -> dict[str, Any]:
    """The part of an object that is about the plan itself: constraints, choices and activities."""
    solved = plan.as_procedure()
    return {
        "constraints": {
            constraint.name: {
                "expected": plain(constraint.expected),
                "at_most": plain(constraint.at_most),
                "price": plain(constraint.price),
            }
            for constraint in constraint_summaries(solved)
        },
        "choices": {choice.event: choice.choice for choice in choice_summaries(solved)},
        "activities": {
            activity.name: {
                "expected_executions": plain(activity.expected_executions),
                "cost": plain(activity.cost),
                "usage": {name: plain(used) for name, used in activity.usage.items()},
                "budget": {name: plain(allotted) for name, allotted in activity.budget.items()},
            }
            for activity in activity_summaries(solved)
        },
    }
