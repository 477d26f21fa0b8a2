"""Plans as tables for pandas: what is done where, and what the activities cost."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.evaluation.exact import expected_remaining
from hcssp.frames import frame
from hcssp.procedure import policy_chain
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.reports.summary import activity_summaries

if TYPE_CHECKING:
    from pandas import DataFrame


def policy_frame(plan: Plan) -> DataFrame:
    """What is done where, as a ``pandas.DataFrame``.

    The columns are the policy's own (state and action; in a procedure the activity before them, ``""`` at an
    event), the expected visits, and for each cost what is still to come in expectation from there to the
    end: ``"time to come"``. That is not a number where the plan never gets.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    MissingDependency
        If pandas is not installed.
    """
    policy = plan.policy
    made = policy.to_frame()
    acting = np.flatnonzero(policy.rows != NO_ROW)
    chain: CSSP
    only: DeterministicPolicy
    if isinstance(policy, ProcedurePolicy):
        chain, only = policy_chain(policy)
    else:
        chain, only = policy.problem, policy
    made["visits"] = (plan.evaluation or plan.evaluate()).visits[acting]
    for name, values in zip(chain.cost_names, expected_remaining(chain, only), strict=True):
        made[f"{name} to come"] = values[acting]
    return made


def activities_frame(plan: Plan) -> DataFrame:
    """The activities of a plan, as a ``pandas.DataFrame`` by name.

    The columns are the expected executions and, expected *for one execution*, the primary cost and for each
    constraint that counts the activity its usage and the budget it was allotted (which is its usage unless
    the method allots more): ``"damage usage"``, ``"damage budget"``. Weighted with the executions, costs and
    usages add up to those of the plan. What does not apply is not a number.

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
        columns[f"{name} budget"] = [_figure(each.budget.get(name)) for each in summaries]
    return frame(columns, index="activity")


def _figure(value: float | None) -> float:
    return nan if value is None else value
