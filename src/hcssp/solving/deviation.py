"""What is expected of every cost if one deviates from a plan once, the first time one comes to a state.

A limit for each execution of a use is told as what an execution costs. In the flat problem it is a bound on
another sum (:mod:`hcssp.procedure.limits`), which takes into account how often the use is run; so how often
that is, after a deviation, is computed along with the costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.exact import evaluate, expected_remaining
from hcssp.numerics import broken
from hcssp.procedure.model import HCSSP

_NEVER = 1e-12
"""Fewer executions than this are none, but for rounding."""


@dataclass(frozen=True, eq=False)
class Deviation:
    """What is expected if one deviates once.

    Attributes
    ----------
    costs
        The primary cost and the constraints; those that hold for each execution of a use as what an
        execution costs, nan if there is none.
    keeps_bounds
        Whether all bounds are kept.
    """

    costs: FloatArray
    keeps_bounds: bool


def told_costs(plan: ProcedurePlan) -> FloatArray:
    """The expected costs of a plan as people are told: limits for each execution as what one costs."""
    costs = np.array(plan.costs.costs)
    executed = {each.name: each.usage_per_execution for each in plan.costs.limits}
    for place, constraint in enumerate(plan.problem.constraints, 1):
        if constraint.per is not None:
            one = executed.get(constraint.name)
            costs[place] = nan if one is None else one
    return costs


def probability_of(flat: CSSP, rows: IntArray, state: int, visits: FloatArray) -> float:
    """With what probability a policy comes to a state: its visits, by those of one who is there."""
    if rows[state] == NO_ROW or not visits[state] > 0.0:
        return 0.0
    initial = np.zeros(flat.num_states)
    initial[state] = 1.0
    from_there = evaluate(flat.derive(initial=initial), DeterministicPolicy(flat, rows)).visits[state]
    return float(min(1.0, visits[state] / from_there))


def deviating_once(
    plan: ProcedurePlan, state: int, row: int, comes: float, otherwise: IntArray | None
) -> Deviation | None:
    """What is expected if one takes another row of a state the first time, and then follows the plan.

    Parameters
    ----------
    plan
        The plan, evaluated.
    state, row
        The state and the row, of the flat problem.
    comes
        The probability that the plan comes there.
    otherwise
        Rows to follow where the plan says nothing; None for none.
    """
    problem = plan.problem
    flat, rows = problem.flattening.cssp, plan.policy.rows.copy()
    if otherwise is not None:
        rows = np.where(rows == NO_ROW, otherwise, rows)
    losses = _losses(problem)
    counting = flat.derive(
        costs=np.vstack([flat.costs, losses]),
        cost_names=(*flat.cost_names, *(f"losses {place}" for place in range(len(losses)))),
        bounds=np.concatenate([flat.bounds, np.full(len(losses), np.inf)]),
    )
    after = flat.transitions[[row]].toarray()[0]
    # Both at once, so that both are known: what follows the deviation, and what would have followed.
    begun = 0.5 * after
    begun[state] += 0.5
    try:
        remaining = expected_remaining(counting.derive(initial=begun), DeterministicPolicy(flat, rows))
    except ImproperPolicy:
        return None
    follows = after > 0.0
    change = comes * (counting.costs[:, row] + remaining[:, follows] @ after[follows] - remaining[:, state])
    sums = np.asarray(plan.costs.costs) + change[: len(flat.costs)]
    told = sums.copy()
    lost = change[len(flat.costs) :]
    executions = {each.name: each.expected_executions for each in plan.costs.limits}
    limits = [
        (place, each, each.per) for place, each in enumerate(problem.constraints, 1) if each.per is not None
    ]
    for more, (place, constraint, per) in zip(lost.tolist(), limits, strict=True):
        often = executions[constraint.name] - more
        forgone = 0.0
        if np.isfinite(constraint.at_most):
            forgone = constraint.lost_execution * (per.most_executions - often)
        told[place] = (sums[place] - forgone) / often if often > _NEVER else nan
    return Deviation(told, not len(broken(sums[1:], problem.bounds)))


def _losses(problem: HCSSP) -> FloatArray:
    """For each limit of a use, how many executions fewer each flat row makes one expect."""
    flattening = problem.flattening
    limits = [each.per for each in problem.constraints if each.per is not None]
    losses = np.zeros((len(limits), flattening.cssp.num_rows))
    for place, per in enumerate(limits):
        of_choice = np.zeros(len(problem.choices))
        for choice, loss in per.losses.items():
            of_choice[choice] = loss
        losses[place, : flattening.num_event_rows] = of_choice[flattening.event_row_choice]
    return losses
