r"""Replanning: a plan for the rest of an execution, after the world has turned out different from the model.

Problem: during an execution a door turns out to be walled up, a hazard has moved, a battery is lower than
expected. The result is a plan for the rest, from the current place, with the rest of every budget.

**The rest of a bound** :math:`\Delta` on an expectation, over many executions, has two definitions
in the middle of one of them:

- *What was spent counts.* Left is :math:`\Delta - s`, where :math:`s` was really spent on the way. Then the
  expectation in *this* execution, seen from here, keeps the bound. After an unlucky beginning little is left,
  or nothing; after a lucky one more than the plan expected. This is for budgets that are really gone, such as
  a battery.
- *What the plan expected counts.* Let :math:`G` be what the plan was expected to spend in all and :math:`r`
  what it is expected to spend from here on. Then :math:`G - r` is what it expected up to here, and left
  is :math:`\Delta - (G - r)`. If every execution that is replanned somewhere is replanned so, then the
  bound holds over all of them. (Sum :math:`s + r` over the places where that happens, each weighted with its
  probability: it is :math:`G`.)

Of a limit for each execution of a use, both are about the execution that is under way; see
:mod:`hcssp.procedure.rest`.

**Warm start.** What the old plan does is the first plan for the rest, if it can be done and keeps what is
left. If no better one is found in time it is kept, and ``plan.kept`` is true. What is known
about activities that did not change is known.

>>> from hcssp.scenarios import small_building
>>> from hcssp.solving.solve import solve
>>> plan = solve(small_building(bound=2.0))
>>> rest = replan(plan, at="hallway", spent={"damage": 1.5})
>>> rest.bounds, round(rest.upper_bound, 4)
({'damage': 0.5}, 56.1921)

**Implicit problems.** The rest is the same problem that begins elsewhere
(:meth:`hcssp.ImplicitCSSP.beginning_in`), under what is left of the budgets; its states are never enumerated.
The old plan is followed from the new beginning, as far as that is possible. The states that it reaches are
expanded first, and it is the first incumbent if it keeps what is left.

>>> from hcssp.cssp.implicit import ImplicitCSSP
>>> line = ImplicitCSSP(0, lambda at: ["go"], lambda at, a: {at + 1: 1.0}, lambda at, a: 1, (5).__eq__)
>>> replan(solve(line), at=3).upper_bound
2.0
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from typing import Unpack

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.progress import Policy
from hcssp.contract.solver import Memory, Problem, SearchOptions
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import BudgetSpent, ImproperPolicy, InvalidProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import expected_remaining
from hcssp.execution import Decision
from hcssp.numerics import Tolerances
from hcssp.procedure import HCSSP, ProcedurePolicy
from hcssp.procedure.nesting import entries_of
from hcssp.procedure.product import rest_with_capacities
from hcssp.procedure.rest import GO_ON, UNDER_WAY, Position, describe, inside, overspent, position_of, rest_of
from hcssp.solving.maximisation import maximised_again
from hcssp.solving.solve import solve


def replan(
    plan: Plan,
    at: Decision | Hashable | None = None,
    spent: Mapping[str, float] | None = None,
    problem: Problem | ImplicitCSSP | None = None,
    *,
    charged: Mapping[str, float] | None = None,
    reckoned_at: Hashable | None = None,
    **options: Unpack[SearchOptions],
) -> Plan:
    """A new plan for the rest of `plan`, from where its execution is now.

    Parameters
    ----------
    plan
        The plan that is being executed.
    at
        Where: the name of an event (with the state that it was entered in, if there are several: a pair), a
        pair of an activity and its state, the state of a single problem, or the last decision of a run, a
        :class:`~hcssp.execution.Decision`. None for the start.
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
        it had not been measured otherwise. An implicit problem does not use it.
    options
        As for :func:`hcssp.solve`; by default the tolerances of `plan`.

    Returns
    -------
    Plan
        A plan for the rest, which is a problem of its own: ``plan.problem``. Its activities are called as
        before, and it begins where the execution is. If the search found no better plan in its time than the
        old one, this is the old one, and ``kept`` is true.

    Raises
    ------
    BudgetSpent
        If more was spent than the bounds allow and more may still be.
    HcsspError
        If there is no such place, the procedure is over, or it is not said what was spent.
    """
    allowed = options["tolerances"] = options.get("tolerances") or plan.tolerances
    if options.get("method") is None and options.get("policies") is None:
        options["policies"] = plan.policies
    world = plan.problem if problem is None else problem
    if world.implicit is not None or (problem is not None and not problem.lists_states):
        part, start, memory = _implicit_rest(plan, at, spent, problem, charged or {})
        return solve(part, start=start, memory=memory, **options)
    rest, start = rest_to_plan(plan, at, spent, problem, charged, allowed, reckoned_at)
    memory = Memory(plan.memory) if start is None else start.memory
    return solve(rest, start=start, memory=memory, like=plan, **options)


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
    if not plan.found:
        return rest, None
    policy = carried_over(plan.policy, rest, entry)
    start = Plan(rest, policy, tolerances=tolerances, memory=Memory(plan.memory))
    try:
        return rest, start.evaluated()
    except ImproperPolicy:
        # Where it says nothing now, or can do no more what it did, it is left to the search.
        return rest, None


def _place(at: Decision | Hashable | None) -> Hashable | None:
    """The name of a place, also from a run's decision."""
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
    procedure = world.procedure
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


def position_in(problem: HCSSP, place: Hashable | None) -> Position:
    """The position that is called `place`, in the whole or in a rest of it; None for the start."""
    if place is None:
        return Position(problem.start)
    names = {activity.name for activity in problem.activities}
    if isinstance(place, tuple) and isinstance(place[0], str) and place[0] not in names:
        # In a rest, an execution that was under way may have a name of its own; in the whole it has not.
        place = (place[0].removesuffix(UNDER_WAY), *place[1:])
    if isinstance(place, str) and not any(place.startswith(f"{name} ") for name in names):
        place = place.replace(UNDER_WAY, "", 1)
    return position_of(problem, place, measured=True)


def left_at(
    plan: Plan,
    world: HCSSP,
    position: Position,
    at: Hashable | None,
    spent: Mapping[str, float] | None,
    charged: Mapping[str, float],
) -> dict[str, float]:
    """The rest of each constraint of `world` at a position; see the module."""
    if spent is None:
        return _expected_to_be_left(plan.as_procedure(), world, at, charged)
    known = {*world.constraint_names, world.primary_name}
    wrong = [
        f"spent: there is no constraint {name!r}; available: {', '.join(map(repr, world.constraint_names))}"
        for name in spent
        if name not in known
    ]
    left: dict[str, float] = {}
    for constraint in world.constraints:
        name, counts = constraint.name, True
        if constraint.per is not None:
            counts = inside(world, position, constraint.per.use)
        if not counts:
            left[name] = 0.0
        elif name in spent:
            left[name] = constraint.limit - charged.get(name, 0.0) - float(spent[name])
            if not float(spent[name]) >= 0.0:
                wrong.append(f"spent: {name!r} is {spent[name]}; give a number that is not negative")
        elif constraint.at_most == inf:
            left[name] = inf
        elif name in charged and name not in plan.problem.constraint_names:
            # Nothing of it could be spent any more.
            left[name] = constraint.limit - charged[name]
        else:
            wrong.append(
                f"spent: the amount of {name!r} is missing; name every constraint, or none to use the plan's "
                "expectation"
            )
    if wrong:
        raise InvalidProblem(wrong)
    return left


def _expected_to_be_left(
    plan: ProcedurePlan, world: HCSSP, at: Hashable | None, charged: Mapping[str, float]
) -> dict[str, float]:
    """The expected cost of the rest under the plan, and the unused part of the bound."""
    problem, policy = plan.problem, plan.policy
    position = position_in(problem, at)
    flattening = problem.flattening
    state = -1
    if position.activity is not None:
        state = int(flattening.flat_state(position.activity)[position.state])
    elif (position.event, position.entry) in flattening.event_states:
        state = flattening.event_state(position.event, position.entry)
    limited = [each for each in problem.constraints if each.per is not None]
    begin, here = _costs_to_go(policy, (flattening.start, max(state, 0)))
    if state < 0 or np.isnan(here).any():
        # Nothing is planned there, so nothing can be expected there.
        raise InvalidProblem(
            [
                f"the plan never reaches {describe(problem, position)}, so the expected spending up to "
                "there is unknown; give the amounts spent"
            ]
        )
    left = {}
    for constraint in world.constraints:
        gone = charged.get(constraint.name, 0.0)
        if constraint.name not in problem.constraint_names and constraint.name in charged:
            left[constraint.name] = constraint.at_most - gone
            continue
        if constraint.name not in problem.constraint_names:
            raise InvalidProblem(
                [f"the plan does not have the constraint {constraint.name!r}; give the amount spent under it"]
            )
        stated = problem.constraints[problem.constraint_names.index(constraint.name)]
        row = 1 + problem.constraint_names.index(constraint.name)
        reckoned = float(begin[row] - here[row])
        if stated.per is None or constraint.per is None:
            left[constraint.name] = constraint.at_most - gone - reckoned
            continue
        number = 1 + problem.num_constraints + limited.index(stated)
        executions = float(begin[number] - here[number])
        left[constraint.name] = stated.per.carried + constraint.limit * executions - reckoned
    return left


def _costs_to_go(policy: ProcedurePolicy, states: Sequence[int]) -> FloatArray:
    """What comes from some flat states on, a row each: of each cost, and how often limited uses are run."""
    problem, flattening = policy.problem, policy.problem.flattening
    limited = [constraint.per for constraint in problem.constraints if constraint.per is not None]
    if not limited:
        return expected_remaining(problem, policy)[:, list(states)].T
    chain = induced_chain(problem, policy)
    choices = flattening.event_row_choice[chain.rows[chain.rows < flattening.num_event_rows]]
    costs, entries = chain.problem.costs.copy(), np.zeros((len(limited), chain.problem.num_rows))
    # The cost of a choice under a limit is not spent.
    costs[:, : len(choices)] = 0.0
    entries[:, : len(choices)] = entries_of(problem, [problem.uses[per.use] for per in limited])[choices].T
    return chain.paying(np.vstack([costs, entries])).remaining()[:, list(states)].T


def carried_over(policy: Policy, rest: Problem, entry: Hashable | None = None) -> Policy:
    """A policy in a problem with mostly the same names; it need not end there.

    If the rest begins at an event, `entry` is the label of the state that it was entered in.
    """
    if isinstance(rest, CSSP) and isinstance(policy, DeterministicPolicy):
        return DeterministicPolicy(rest, _rows(policy.problem, policy.rows, rest))
    whole = policy.procedure
    found = _procedure_policy(whole, rest.procedure, entry)
    starts, extra = whole.problem.flattening.row_start, []
    for row, chance in whole.extra:
        # The further row is where the policy that takes it alone differs.
        rows = whole.rows.copy()
        rows[np.searchsorted(starts, row, side="right") - 1] = row
        other = _procedure_policy(whole.problem.policy(rows), rest.procedure, entry).rows
        differs = (other != found.rows) & (other != NO_ROW) & (found.rows != NO_ROW)
        extra += [(each, chance) for each in other[differs].tolist()]
    found = rest.procedure.policy(found.rows, tuple(extra))
    if not isinstance(rest, CSSP):
        return found
    own = found.activity(0)
    return rest.policy(own.rows, own.extra)


def _procedure_policy(policy: ProcedurePolicy, rest: HCSSP, begun: Hashable | None) -> ProcedurePolicy:
    whole = policy.problem
    numbers = {activity.name: index for index, activity in enumerate(whole.activities)}
    rows = []
    for activity in rest.activities:
        index = numbers.get(activity.name, numbers.get(activity.name.removesuffix(UNDER_WAY)))
        if index is None:
            # Steps that the rest adds have one action in each state, at every level of a capacity.
            first, only = activity.cssp.row_start[:-1], np.diff(activity.cssp.row_start) == 1
            rows.append(np.where(only, first, NO_ROW))
        else:
            rows.append(_rows(whole.activities[index].cssp, policy.activities[index], activity.cssp))
    events = {name: event for event, name in enumerate(whole.events)}
    choices = {}
    for event, entry in rest.flattening.event_states:
        before = events.get(rest.events[event], -1)
        chosen = policy.choices.get((before, entry))
        if chosen is None and entry is None:
            # Until an activity hands a level over, the rest does not name the one that it began with.
            chosen = policy.choices.get((before, begun))
        name = GO_ON if chosen is None else whole.choices[chosen].name
        for choice in rest.choices_at(event):
            if rest.choices[choice].name == name:
                choices[event, entry] = choice
    return ProcedurePolicy.compose(rest, choices, rows)


def _rows(known: CSSP, rows: IntArray, cssp: CSSP) -> IntArray:
    """The same actions in the same states: by number if the problems have the same shape, else by label."""
    if np.array_equal(known.row_start, cssp.row_start):
        return np.where(cssp.goals, NO_ROW, rows)
    found = np.full(cssp.num_states, NO_ROW, dtype=np.int64)
    for state in np.flatnonzero(~cssp.goals).tolist():
        before = known.state_index.get(cssp.state_labels[state])
        if before is None or rows[before] == NO_ROW:
            continue
        action = known.action_labels[int(rows[before])]
        for row in range(int(cssp.row_start[state]), int(cssp.row_start[state + 1])):
            if cssp.action_labels[row] == action:
                found[state] = row
    return found


def _implicit_rest(
    plan: Plan,
    at: Decision | Hashable | None,
    spent: Mapping[str, float] | None,
    problem: Problem | ImplicitCSSP | None,
    charged: Mapping[str, float],
) -> tuple[ImplicitCSSP, Plan | None, Memory]:
    """The rest of the implicit problem, a plan to begin with, and its reusable results."""
    before = plan.problem
    world = before.implicit if problem is None else problem.implicit
    if world is None or not isinstance(before, CSSP) or world.cost_names != before.cost_names:
        raise InvalidProblem(
            ["the changed problem is of another kind than the plan's; give one of its kind, with its costs"]
        )
    state = at.state if isinstance(at, Decision) else at
    rest = (world if state is None else world.beginning_in(state)).with_bounds(
        _left(plan, before, world, state, spent, charged)
    )
    memory = plan.memory if problem is None and state is None else Memory()
    return rest, plan if _can_follow(plan, rest, memory) else None, memory


def _left(
    plan: Plan,
    before: CSSP,
    world: ImplicitCSSP,
    state: Hashable | None,
    spent: Mapping[str, float] | None,
    charged: Mapping[str, float],
) -> dict[str, float]:
    """The rest of the bounds of the world; the expanded part of the plan gives the expectation."""
    if spent is None and state is None and not charged:
        return {}
    bounds = dict(zip(world.constraint_names, world.bounds.tolist(), strict=True))
    stated = before.procedure.with_bounds(bounds)
    place = None
    if state is not None:
        place = (stated.activities[0].name, state)
        if spent is None and state not in before.state_index:
            raise InvalidProblem(
                [f"the plan never reaches {state!r}, so no spending is expected; give the amounts spent"]
            )
    left = left_at(plan, stated, Position(stated.start), place, spent, charged)
    gone = [overspending for each in stated.constraints for overspending in overspent(each, left[each.name])]
    if gone:
        raise BudgetSpent(gone)
    return {name: float(np.maximum(amount, 0.0)) for name, amount in left.items()}


def _can_follow(plan: Plan, rest: ImplicitCSSP, memory: Memory) -> bool:
    """Whether the plan has actions from the new start on; if so, its states are expanded."""
    if not isinstance(plan.found_policy, DeterministicPolicy):
        return False
    try:
        memory.expansion(rest).follow(plan.found_policy.actions())
    except InvalidProblem:
        # It reaches a state without an action, or one in which its action is no longer possible.
        return False
    return True
