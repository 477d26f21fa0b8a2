r"""What is left of each budget in the midst of a plan's execution.

A bound :math:`\Delta` is kept in expectation, over many executions. In the midst of one of them there are two
answers to what is left of it, and both are on offer:

- *What was spent counts.* Left is :math:`\Delta - s`, where :math:`s` was really spent on the way. Then the
  expectation in *this* execution, seen from here, keeps the bound. After an unlucky beginning little is left,
  or nothing; after a lucky one more than the plan reckoned with.
- *What the plan expected counts.* Let :math:`G` be what the plan was expected to spend in all and :math:`r`
  what it is expected to spend from here on. Then :math:`G - r` is what it reckoned with up to here, and left
  is :math:`\Delta - (G - r)`: what it reckoned with for the rest, and what it left unused. Luck, good or bad,
  is borne by the average: if every execution that has to be planned anew somewhere is planned so, then the
  bound holds over all of them. (Sum :math:`s + r` over the places where that happens, each weighted with its
  probability: it is :math:`G`.)

The second answer keeps the bound that was asked for; the first is for budgets that are really gone, such as a
battery. Of a limit for each execution of a use, both are about the execution that is under way; see
:mod:`hcssp.procedure.rest`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import InvalidProblem
from hcssp.evaluation.exact import expected_remaining, expected_to_come
from hcssp.procedure import HCSSP, ProcedurePolicy, policy_chain
from hcssp.procedure.limits import enters
from hcssp.procedure.rest import UNDER_WAY, Position, describe, inside, position_of


def position_in(problem: HCSSP, place: Hashable | None) -> Position:
    """The position that is called `place`, in the whole or in a rest of it; None for the start."""
    if place is None:
        return Position(problem.start)
    names = {activity.name for activity in problem.activities}
    if isinstance(place, tuple) and isinstance(place[0], str) and place[0] not in names:
        # In a rest, an execution that was under way may have a name of its own; in the whole it has not.
        place = (place[0].removesuffix(UNDER_WAY), *place[1:])
    return position_of(problem, place)


def left_at(
    plan: Plan,
    world: HCSSP,
    position: Position,
    at: Hashable | None,
    spent: Mapping[str, float] | None,
    charged: Mapping[str, float],
) -> dict[str, float]:
    """What is left of each constraint of `world` at a position; see the module."""
    if spent is None:
        return _expected_to_be_left(plan.as_procedure(), world, at, charged)
    known = {*world.constraint_names, world.primary_name}
    wrong = [
        f"spent: there is no constraint {name!r}; there are {', '.join(map(repr, world.constraint_names))}"
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
                f"spent: it is not said how much of {name!r} was; name every constraint, or none at all if "
                "what the plan expected is to count"
            )
    if wrong:
        raise InvalidProblem(wrong)
    return left


def _expected_to_be_left(
    plan: ProcedurePlan, world: HCSSP, at: Hashable | None, charged: Mapping[str, float]
) -> dict[str, float]:
    """What the plan reckoned with for the rest, and what it left unused."""
    problem, policy = plan.problem, plan.policy
    position = position_in(problem, at)
    flattening = problem.flattening
    if position.activity is not None:
        state = int(flattening.flat_state(position.activity)[position.state])
    else:
        state = flattening.event_state(position.event, position.entry)
    limited = [each for each in problem.constraints if each.per is not None]
    begin, here = _to_come(policy, (flattening.start, state))
    if np.isnan(here).any():
        # Nothing is planned there, so nothing can be expected there.
        raise InvalidProblem(
            [
                f"the plan never comes to {describe(problem, position)}, and so says nothing about what is "
                "spent until there; say what was"
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
                [f"the plan knows nothing of constraint {constraint.name!r}; say what was spent of it"]
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


def _to_come(policy: ProcedurePolicy, states: Sequence[int]) -> FloatArray:
    """What comes from some flat states on, a row each: of each cost, and how often limited uses are run."""
    problem, flattening = policy.problem, policy.problem.flattening
    if flattening.separable and all(constraint.per is None for constraint in problem.constraints):
        return expected_to_come(policy, states)
    chain, only_policy = policy_chain(policy)
    costs, entries = _plain_costs(policy, chain)
    counted = chain.derive(
        costs=np.vstack([costs, entries]),
        cost_names=tuple(map(str, range(len(costs) + len(entries)))),
        bounds=np.full(len(costs) + len(entries) - 1, inf),
    )
    remaining = expected_remaining(counted, DeterministicPolicy(counted, only_policy.rows))
    return remaining[:, list(states)].T


def _plain_costs(policy: ProcedurePolicy, chain: CSSP) -> tuple[FloatArray, FloatArray]:
    """What the chain's rows cost, without what choices count as; and how often they run each limited use."""
    problem, flattening = policy.problem, policy.problem.flattening
    events = policy.rows[: flattening.num_event_states]
    chosen = events[events != NO_ROW]
    costs = np.array(chain.costs)
    costs[:, : len(chosen)] = 0.0
    limited = [constraint.per for constraint in problem.constraints if constraint.per is not None]
    entries = np.zeros((len(limited), costs.shape[1]))
    for row, choice in enumerate(flattening.event_row_choice[chosen].tolist()):
        made = problem.choices[choice]
        for number, per in enumerate(limited):
            use = problem.uses[per.use]
            entries[number, row] = sum(
                outcome.probability
                for outcome in made.outcomes
                if outcome.runs is None and enters(use, made.event, outcome.event)
            )
    return costs, entries
