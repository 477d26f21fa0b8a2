"""Plans as tables for pandas: what is done where, and what the activities cost."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.display import frame
from hcssp.evaluation.exact import expected_remaining
from hcssp.reports.plan_text import activity_summaries

if TYPE_CHECKING:
    from pandas import DataFrame


def policy_frame(plan: Plan) -> DataFrame:
    """What is done where, as a ``pandas.DataFrame``.

    The columns are the policy's own (state and action; in a procedure the activity before them, ``""`` at an
    event), the expected visits, and for each cost the expected cost from there to the
    end: ``"time to go"``. That is not a number where the plan never gets.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    MissingDependency
        If pandas is not installed.
    """
    policy = plan.policy
    made = policy.to_frame()
    # The frame has a line for each row that is taken.
    rows, _ = policy.taken
    acting = np.searchsorted(plan.problem.row_start, rows, side="right") - 1
    made["visits"] = (plan.evaluation or plan.evaluate()).visits[acting]
    names = (plan.problem.primary_name, *plan.problem.constraint_names)
    for name, values in zip(names, expected_remaining(plan.problem, policy), strict=True):
        made[f"{name} to go"] = values[acting]
    return made


def activities_frame(plan: Plan) -> DataFrame:
    """The activities of a plan, as a ``pandas.DataFrame`` by name.

    The columns are the expected executions and, expected *for one execution*, the primary cost and for each
    constraint that counts the activity its usage and, if the method allocates budgets, the budget allocated
    to it: ``"damage usage"``, ``"damage budget"``. Weighted with the executions, costs and usages add up to
    those of the plan. What does not apply is not a number.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    MissingDependency
        If pandas is not installed.
    """
    solved = plan.as_procedure()
    names = solved.policy.problem.constraint_names
    summaries = activity_summaries(solved)
    columns: dict[str, list[Any]] = {
        "activity": [each.name for each in summaries],
        "executions": [each.expected_executions for each in summaries],
        "cost": [_figure(each.cost) for each in summaries],
    }
    for name in names:
        columns[f"{name} usage"] = [_figure(each.usage.get(name)) for each in summaries]
        if plan.budgets:
            columns[f"{name} budget"] = [_figure(each.budget.get(name)) for each in summaries]
    return frame(columns, index="activity")


def _figure(value: float | None) -> float:
    return nan if value is None else value
