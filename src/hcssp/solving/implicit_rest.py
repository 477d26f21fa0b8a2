"""Planning the rest of an implicit problem anew: from a state on, and never enumerated.

Problem: what :mod:`hcssp.solving.replan` does for problems that are listed. The rest of an implicit problem
is the same problem that begins elsewhere (:meth:`hcssp.ImplicitCSSP.beginning_in`), under what is left of the
budgets.

**Warm start.** The old plan is followed from the new beginning, as far as the world still lets it; that is
expanded first, and is the first plan if it keeps what is left. Its prices are the first to be tried.

>>> from hcssp.cssp.implicit import ImplicitCSSP
>>> line = ImplicitCSSP(0, lambda at: ["go"], lambda at, a: {at + 1: 1.0}, lambda at, a: 1, (5).__eq__)
>>> replan_implicit(solve(line), at=3).upper_bound
2.0
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Solver
from hcssp.contract.stop import Stop
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import BudgetSpent, InvalidProblem
from hcssp.execution.decision import Decision
from hcssp.numerics import Tolerances
from hcssp.procedure.rest import Position, overspent
from hcssp.procedure.single import as_procedure
from hcssp.solving.left_budgets import left_at
from hcssp.solving.solve import solve


def replan_implicit(
    plan: Plan,
    at: Decision | Hashable | None = None,
    spent: Mapping[str, float] | None = None,
    problem: ImplicitCSSP | ExpandedCSSP | None = None,
    *,
    charged: Mapping[str, float] | None = None,
    method: Solver | str | None = None,
    stop: Stop | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    tolerances: Tolerances | None = None,
) -> Plan:
    """A new plan for the rest of a plan of an implicit problem, from the state where its execution is now.

    Parameters
    ----------
    plan
        What is being executed.
    at
        The state, or what a run was told last. None for the beginning.
    spent, charged
        As for :func:`hcssp.solving.replan.replan`.
    problem
        The implicit problem as the world is now, with states and actions of the same names. None if nothing
        has changed but the budgets.
    method, stop, time_limit, gap, on_progress, tolerances
        As for :func:`hcssp.solve`.

    Raises
    ------
    BudgetSpent
        If more was spent than the bounds allow.
    HcsspError
        If there is no such state, everything has ended there, or it is not said what was spent.
    """
    world, before = _implicit(plan.problem if problem is None else problem), plan.problem
    if not isinstance(before, CSSP) or world.cost_names != before.cost_names:
        raise InvalidProblem(
            ["the changed problem is of another kind than the plan's; give one of its kind, with its costs"]
        )
    state = at.state if isinstance(at, Decision) else at
    rest = (world if state is None else world.beginning_in(state)).with_bounds(
        _left(plan, before, world, state, spent, charged or {})
    )
    goes_on = problem is None and state is None
    memory = plan.memory if goes_on else Memory()
    return solve(
        rest,
        method,
        stop,
        on_progress,
        time_limit=time_limit,
        gap=gap,
        start=plan if _can_follow(plan, rest, memory) else None,
        memory=memory,
        tolerances=tolerances or plan.tolerances,
    )


def _implicit(problem: Problem | ImplicitCSSP) -> ImplicitCSSP:
    if isinstance(problem, ExpandedCSSP):
        return problem.unexpanded()
    if not isinstance(problem, ImplicitCSSP):
        raise InvalidProblem([f"a {type(problem).__name__} is no implicit problem"])
    return problem


def _left(
    plan: Plan,
    before: CSSP,
    world: ImplicitCSSP,
    state: Hashable | None,
    spent: Mapping[str, float] | None,
    charged: Mapping[str, float],
) -> dict[str, float]:
    """What is left of the bounds of the world; the plan's own part of it says what the plan expected."""
    if spent is None and state is None and not charged:
        return {}
    bounds = dict(zip(world.constraint_names, world.bounds.tolist(), strict=True))
    stated = as_procedure(before).with_bounds(bounds)
    place = None
    if state is not None:
        place = (stated.activities[0].name, state)
        if spent is None and state not in before.state_index:
            raise InvalidProblem(
                [f"the plan never comes to {state!r}, and so expects nothing there; say what was spent"]
            )
    left = left_at(plan, stated, Position(stated.start), place, spent, charged)
    gone = [told for each in stated.constraints for told in overspent(each, left[each.name])]
    if gone:
        raise BudgetSpent(gone)
    return {name: float(np.maximum(amount, 0.0)) for name, amount in left.items()}


def _can_follow(plan: Plan, rest: ImplicitCSSP, memory: Memory) -> bool:
    """Whether the plan says what to do from the new beginning on; if so, that is expanded."""
    if not isinstance(plan.found_policy, DeterministicPolicy):
        return False
    try:
        memory.expansion(rest).follow(plan.found_policy.actions())
    except InvalidProblem:
        # It comes to where it does not say what to do, or to where that cannot be done any more.
        return False
    return True
