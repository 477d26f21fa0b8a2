"""A plan as the object that its file holds; :mod:`hcssp.files.plan_file` says what is in it."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import FileClaim
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed

FORMAT = "hcssp-plan"
VERSION = 1


def plan_document(plan: Plan, fingerprint: str | None = None) -> dict[str, Any]:
    """The object that a plan's file holds."""
    name, fingerprint = plan.name, fingerprint or fingerprint_of(plan.problem)
    told, by_state = _told(plan), _by_state(plan)
    plan = replace(plan, problem=unnamed(plan.problem)).as_procedure()
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": {"name": name, "fingerprint": fingerprint},
        "bounds": {name: _figure(bound) for name, bound in plan.bounds.items()},
        "method": plan.method,
        "status": str(plan.status),
        "stopped_by": None if plan.ending.reason is Reason.UNKNOWN else str(plan.ending.reason),
        "stop_detail": plan.ending.detail or None,
        "seconds": _figure(plan.seconds),
        "lower_bound": _figure(told.lower_bound),
        "upper_bound": _figure(told.upper_bound),
        "prices": None
        if plan.prices is None
        else {name: _figure(price) for name, price in plan.prices.items()},
        "policy": {"choices": _choices(plan), "activities": _activities(plan), **by_state},
        "budgets": {
            activity: {name: _figure(budget) for name, budget in budgets.items()}
            for activity, budgets in plan.budgets.items()
        },
        "evaluation": _evaluation(plan),
        "trace": [[_figure(value) for value in point] for point in told.trace],
    }


def _by_state(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """What the plan of an implicit problem does in each state where it acts; nothing of other plans."""
    policy = plan.policy
    if not isinstance(plan.problem, ExpandedCSSP) or not isinstance(policy, DeterministicPolicy):
        return {}
    taken = policy.actions()
    return {"by_state": {"states": list(map(repr, taken)), "actions": list(map(repr, taken.values()))}}


def _told(plan: Plan) -> FileClaim:
    """What a file will claim: what was proven here, or what the plan's own file claims."""
    if plan.claim is not None and not isfinite(plan.lower_bound):
        return plan.claim
    return FileClaim(plan.lower_bound, plan.upper_bound, plan.trace)


def _choices(plan: ProcedurePlan) -> list[dict[str, str | None]]:
    problem = plan.problem
    listed = []
    for event, entry in problem.flattening.event_states:
        chosen = plan.policy.choices.get((event, entry))
        listed.append(
            {
                "event": problem.events[event],
                "entered_in": None if entry is None else str(entry),
                "choice": None if chosen is None else problem.choices[chosen].name,
            }
        )
    return listed


def _activities(plan: ProcedurePlan) -> dict[str, dict[str, list[int]]]:
    return {
        activity.name: run_lengths(local_actions(rows, activity.cssp.row_start))
        for activity, rows in zip(plan.problem.activities, plan.policy.activities, strict=True)
    }


def local_actions(rows: IntArray, row_start: IntArray) -> IntArray:
    """Rows as positions among the rows of their states."""
    return np.where(rows == NO_ROW, NO_ROW, rows - row_start[:-1])


def run_lengths(actions: IntArray) -> dict[str, list[int]]:
    """The actions without repetitions, and how often each is repeated.

    >>> run_lengths(np.array([2, 2, 2, 0, -1, -1]))
    {'actions': [2, 0, -1], 'repeats': [3, 1, 2]}
    """
    begins = np.flatnonzero(np.concatenate([[True], actions[1:] != actions[:-1]])[: len(actions)])
    lengths = np.diff(np.append(begins, len(actions)))
    return {"actions": actions[begins].tolist(), "repeats": lengths.tolist()}


def _evaluation(plan: ProcedurePlan) -> dict[str, Any] | None:
    if plan.evaluation is None:
        return None
    evaluation = plan.costs
    return {
        "costs": {
            name: _figure(cost)
            for name, cost in zip(evaluation.cost_names, evaluation.costs.tolist(), strict=True)
        },
        "activities": {
            activity.name: {
                "expected_executions": _figure(activity.expected_executions),
                "cost": _figure(activity.cost_per_execution),
                "usage": activity.usage_per_execution or dict.fromkeys(activity.usage),
            }
            for activity in evaluation.activities
        },
    }


def _figure(value: float | None) -> float | None:
    """A number that JSON knows, or None."""
    return None if value is None or not isfinite(value) else float(value)
