r"""Planning the rest anew: a plan is being executed, and the world is not what it was.

Problem: somewhere on the way a door turns out to be walled up, a hazard has moved, a battery is lower than it
should be. Wanted is a plan for the rest, from here, with what is left of every budget.

**What is left** of a bound that is kept in expectation is defined in :mod:`hcssp.solving.left_budgets`: what
was really spent counts, or what the plan expected.

**Warm start.** What the old plan does is the first plan for the rest, if it can be done and keeps what is
left; and whatever is known about activities that did not change is known.

>>> from hcssp.scenarios import small_building
>>> from hcssp.solving.solve import solve
>>> plan = solve(small_building(bound=2.0))
>>> rest = replan(plan, at="hallway", spent={"damage": 1.5})
>>> rest.bounds, round(rest.upper_bound, 4)
({'damage': 0.5}, 56.1921)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Solver
from hcssp.contract.stop import Stop
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.execution.decision import Decision
from hcssp.numerics import Tolerances
from hcssp.procedure import as_procedure
from hcssp.procedure.capacities import rest_with_capacities
from hcssp.procedure.rest import position_of, rest_of
from hcssp.solving.carried_policy import carried_over
from hcssp.solving.left_budgets import left_at, position_in
from hcssp.solving.maximisation import maximised_again
from hcssp.solving.solve import solve


def replan(
    plan: Plan,
    at: Decision | Hashable | None = None,
    spent: Mapping[str, float] | None = None,
    problem: Problem | None = None,
    *,
    charged: Mapping[str, float] | None = None,
    reckoned_at: Hashable | None = None,
    method: Solver | str | None = None,
    stop: Stop | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    tolerances: Tolerances | None = None,
) -> Plan:
    """A new plan for the rest of `plan`, from where its execution is now.

    Parameters
    ----------
    plan
        What is being executed.
    at
        Where: the name of an event (with the state that it was entered in, if there are several: a pair), a
        pair of an activity and its state, the state of a single problem, or what a run was told last, a
        :class:`~hcssp.execution.decision.Decision`. None for the start.
    spent
        What was spent of each constraint since the plan began, by name, if that is to count. None if what the
        plan expected until here counts. For a limit of a use: in the execution of it that is under way.
    problem
        The problem as the world is now, with the same names where it is the same; its bounds are for the
        whole way, as those of the plan. None if nothing has changed but the budgets.
    charged
        What of the bounds of `problem` was gone before `plan` began, by name, if `plan` itself is one for a
        rest.
    reckoned_at
        The place at which what the plan expected counts, if that is not `at`: where the model would be if
        it had not been measured otherwise.
    method, stop, time_limit, gap, on_progress, tolerances
        As for :func:`hcssp.solve`.

    Returns
    -------
    Plan
        A plan for the rest, which is a problem of its own: ``plan.problem``. Its activities are called as
        before, and it begins where the execution is.

    Raises
    ------
    BudgetSpent
        If more was spent than the bounds allow and more may still be.
    HcsspError
        If there is no such place, the procedure is over, or it is not said what was spent.
    """
    allowed = tolerances or plan.tolerances
    rest, start = rest_to_plan(plan, at, spent, problem, charged, allowed, reckoned_at)
    memory = Memory(plan.memory) if start is None else start.memory
    return solve(
        rest,
        method,
        stop,
        on_progress,
        time_limit=time_limit,
        gap=gap,
        start=start,
        memory=memory,
        like=plan,
        tolerances=allowed,
    )


def rest_to_plan(
    plan: Plan,
    at: Decision | Hashable | None,
    spent: Mapping[str, float] | None,
    problem: Problem | None,
    charged: Mapping[str, float] | None,
    tolerances: Tolerances,
    reckoned_at: Hashable | None = None,
) -> tuple[Problem, Plan | None]:
    """The problem that is left, and a plan to begin with if the old one can still be followed."""
    world = plan.problem if problem is None else problem
    if isinstance(world, CSSP) != isinstance(plan.problem, CSSP):
        raise InvalidProblem(["the changed problem is of another kind than the plan's; give one of its kind"])
    entry: Hashable | None = None
    if at is None and spent is None and not charged:
        rest: Problem = world
    elif isinstance(world, CSSP):
        rest = _single_rest(plan, world, _place(at), spent, charged or {})
    else:
        position = position_in(world, _place(at))
        known = _place(at) if reckoned_at is None else reckoned_at
        left = left_at(plan, world, position, known, spent, charged or {})
        rest, entry = rest_with_capacities(world, position, left), position.entry
    if world.reward is not None and rest.reward is None:
        rest = maximised_again(rest, world.reward)
    policy = carried_over(plan.policy, rest, entry) if plan.found else None
    if policy is None:
        return rest, None
    return rest, Plan(rest, policy, tolerances=tolerances, memory=Memory(plan.memory))


def _place(at: Decision | Hashable | None) -> Hashable | None:
    """The name of a place; a run's decision says where it is."""
    if not isinstance(at, Decision):
        return at
    if not at.event:
        return at.state
    if at.activity is not None:
        return (at.activity, at.state)
    return at.event if at.state is None else (at.event, at.state)


def _single_rest(
    plan: Plan,
    world: CSSP,
    state: Hashable | None,
    spent: Mapping[str, float] | None,
    charged: Mapping[str, float],
) -> CSSP:
    """A single problem from one of its states on."""
    procedure = as_procedure(world)
    activity = procedure.activities[0].name
    at = procedure.events[procedure.start] if state is None else (activity, state)
    whole = plan.as_procedure()
    position = position_of(procedure, at)
    left = left_at(whole, procedure, position, at, spent, charged)
    rest = rest_of(procedure, position, left)
    bounds = {constraint.name: constraint.at_most for constraint in rest.constraints}
    begun = rest.activities[-1].cssp
    names = world.constraint_names
    return begun.derive(bounds=np.array([bounds[name] for name in names]), name=rest.name)
