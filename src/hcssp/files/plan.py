"""Plans on disk: one JSON object, written atomically, and refused where it does not fit.

``format`` and ``version``
    ``"hcssp-plan"`` and 1.
``problem``
    Its ``name``, and its ``fingerprint`` (:mod:`hcssp.files.fingerprint`), which says which problem the plan
    is for, whatever its bounds are.
``bounds``
    The bound of each constraint that the plan was made for; ``null`` for none.
``method``, ``status``, ``stopped_by``, ``stop_detail``, ``seconds``, ``lower_bound``, ``upper_bound``,
``trace``
    What was proven, by which method and why it stopped; ``stopped_by`` is ``null`` if the run was killed.
    ``trace`` holds triples of seconds, lower and upper bound; ``null`` is an infinite one.
``prices``
    What a unit of each constraint's budget is worth; ``null`` if that is unknown.
``policy``
    ``choices`` lists every event with the state it was entered in (as a text, ``null`` if there is only
    one way to enter it) and the choice there. ``activities`` holds for each activity its ``actions``, as
    positions among the actions of each state in the order of the states, and how often each is repeated
    before the next one comes (``repeats``); -1 stands for no action, in goals and where the plan never goes.
``budgets``
    What an execution of each activity was allotted, by methods that do.
``evaluation``
    For readers: the plan's exact costs, and of each activity the expected executions and the cost and usage
    of one. ``null`` if the run was killed. Nobody relies on it: :meth:`Plan.evaluate` computes it anew.

>>> from tempfile import TemporaryDirectory
>>> from hcssp import solve
>>> from hcssp.scenarios import small_building
>>> problem = small_building(bound=2.0)
>>> plan = solve(problem)
>>> with TemporaryDirectory() as folder:
...     save_plan(f"{folder}/plan.json", plan)
...     again = load_plan(f"{folder}/plan.json", problem)
>>> again.method, round(again.upper_bound, 4), round(again.evaluate().cost("damage"), 4)
('exact', 27.7191, 1.8969)
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Problem
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed
from hcssp.files.plan_reading import PlanDocument
from hcssp.procedure import HCSSP, as_procedure, as_single_policy

FORMAT = "hcssp-plan"
VERSION = 1


def save_plan(path: str | Path, plan: Plan, *, fingerprint: str | None = None) -> None:
    """Write a plan; an old file is replaced in one step, or stays as it was.

    Parameters
    ----------
    path
        Where to.
    plan
        What to write.
    fingerprint
        That of the plan's problem, if it is at hand; it takes a moment to compute.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, json.dumps(plan_document(plan, fingerprint), allow_nan=False) + "\n")


def load_plan(path: str | Path, problem: Problem, *, fingerprint: str | None = None) -> Plan:
    """Read a plan for `problem`.

    The plan's problem is `problem` under the bounds that the plan was made for; :meth:`Plan.under` puts it
    under others. Nothing that the file claims about costs is checked here, see :meth:`Plan.evaluate`.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under whatever bounds.
    fingerprint
        That of `problem`, if it is at hand.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, is no plan, or is one for another problem; the message names the file,
        the field and the value.
    """
    document = PlanDocument.read(path, FORMAT, VERSION)
    document.check_problem(fingerprint or fingerprint_of(problem))
    plan = document.plan(as_procedure(unnamed(problem)))
    bounded = problem.with_bounds(plan.bounds)
    policy = plan.policy
    if isinstance(bounded, HCSSP):
        return replace(plan, problem=bounded, found_policy=policy.under(bounded))
    parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
    return Plan(**parts | {"problem": bounded, "found_policy": as_single_policy(bounded, policy)})


def plan_document(plan: Plan, fingerprint: str | None = None) -> dict[str, Any]:
    """The object that a plan's file holds."""
    name, fingerprint = plan.name, fingerprint or fingerprint_of(plan.problem)
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
        "lower_bound": _figure(plan.lower_bound),
        "upper_bound": _figure(plan.upper_bound),
        "prices": None
        if plan.prices is None
        else {name: _figure(price) for name, price in plan.prices.items()},
        "policy": {"choices": _choices(plan), "activities": _activities(plan)},
        "budgets": {
            activity: {name: _figure(budget) for name, budget in budgets.items()}
            for activity, budgets in plan.budgets.items()
        },
        "evaluation": _evaluation(plan),
        "trace": [[_figure(value) for value in point] for point in plan.trace],
    }


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
