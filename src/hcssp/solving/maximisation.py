r"""Maximising a reward, by minimising what is missed of it.

**Problem.** Rewards :math:`r(s, a)` of rows, of either sign; wanted is the policy that ends almost surely,
keeps its bounds and has the greatest expected sum of rewards. Taking each reward from a constant instead
would not do: runs differ in length, and so would what is taken from.

**Transformation.** A potential :math:`V` with :math:`V = 0` in the goals and, for every row that a policy
which ends can use,

.. math:: c(s, a) = \sum_{s'} T(s, a, s')\,(V(s) - V(s')) - r(s, a) \ge 0

turns rewards into costs. Along a run the rewards so far plus :math:`V` of the present state fall, in
expectation, by exactly the costs so far, and :math:`V` is 0 in the end: for every policy that ends,

.. math:: \text{reward} = V(s_0) - \text{cost}.

So what has the least cost has the greatest reward, under any bounds, and a lower bound :math:`b` on the
cost proves that no reward exceeds :math:`V(s_0) - b`. Any such :math:`V` will do; the least is the greatest
reward of each state without bounds, and :math:`c` is what an action misses of it.

**When there is one.** A loop that gains reward and can still be left makes the reward unbounded: there is
no :math:`V`, and :class:`~hcssp.errors.UnboundedReward` names an action of the loop. What no policy that
ends can use does not matter. A loop of rows without any reward has one value of :math:`V` for all its
states, and costs nothing. A loop whose rewards and losses cancel out exactly is refused, since rounding
decides which it is.

**Method.** The least :math:`V` comes from policy iteration over all states (over loops without reward, as
one state each) with a small margin in each inequality, see :mod:`hcssp.solving.greatest_reward`. What comes
out is not believed: the costs are computed from it by differences, with a bound on their rounding as in
:mod:`hcssp.ssp.potential`, and taken down by that bound. If one might then be negative,
:class:`~hcssp.errors.OutOfPrecision` says so.

**Guarantee.** What is stored as cost is never above :math:`c(s, a)`, so every proven upper bound on the
reward holds in spite of rounding; the reward of a plan is evaluated by itself, from the rewards, not as a
difference.

In a procedure, choices cost nothing, so :math:`V` before a choice is that after it (up to the margin), and
what a choice misses is paid in the activities that it runs. The activities keep their names, policies and
budgets. Limits for each execution of a use are constraints like others: rewards do not enter them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import inf
from typing import TypeVar

import numpy as np

from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.reward import Reward
from hcssp.errors import InvalidProblem, UnknownName, UnsupportedProblem
from hcssp.procedure.elements import Constraint
from hcssp.procedure.model import HCSSP
from hcssp.procedure.probabilities import free_step
from hcssp.solving.reward_potential import ChoicesMustCost, Gains, Shaped, shaped

AnyProblem = TypeVar("AnyProblem", CSSP, HCSSP)

_FLATTEN = "maximise over problem.flattening.cssp instead"


def maximise(problem: AnyProblem, reward: str | Mapping[str, float]) -> AnyProblem:
    """The problem that asks for the greatest expected reward, as one that minimises what is missed of it.

    All costs of the problem stay, as secondary ones: bounds on them hold as before, and plans tell them all.
    ``plan.reward`` tells the reward of a plan and what no plan exceeds.

    Parameters
    ----------
    problem
        A C-SSP, or a procedure.
    reward
        The cost of it that is a reward; or a sum of several, by name, with factors of either sign.

    Raises
    ------
    UnboundedReward
        If some loop gains reward for ever and can still be left.
    UnsupportedProblem
        If the rewards and losses of a loop cancel out exactly.
    UnknownName
        If there is no such cost.
    DeadEnd
        If no policy ends.

    Examples
    --------
    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> from hcssp.solving.solve import solve
    >>> dig = CSSPBuilder(cost_names=("gold", "wear"), bounds={"wear": 4.0})
    >>> mine, home = dig.add_state("mine"), dig.add_goal("home")
    >>> _ = dig.add_action(mine, "drill", to={mine: 0.5, home: 0.5}, costs={"gold": 3.0, "wear": 3.0})
    >>> _ = dig.add_action(mine, "shovel", to={mine: 0.5, home: 0.5}, costs={"gold": 1.0, "wear": 1.0})
    >>> plan = solve(maximise(dig.build(), "gold"))
    >>> plan.reward.name, round(plan.reward.value, 6), round(plan.reward.at_most, 6)
    ('gold', 2.0, 2.0)
    >>> round(plan.problem.reward.most, 6)
    6.0
    """
    weights = {reward: 1.0} if isinstance(reward, str) else {name: float(w) for name, w in reward.items()}
    name = reward if isinstance(reward, str) else "reward"
    refuse_implicit(problem, "maximising")
    _refuse_nonsense(problem, weights)
    if isinstance(problem, HCSSP):
        return _of_procedure(problem, name, weights)
    return _of_single(problem, name, weights)


def maximised_again(problem: CSSP | HCSSP, reward: Reward) -> CSSP | HCSSP:
    """A part of a problem that maximises a reward, with what can be had in that part.

    What is missed of the reward is computed anew, since a part begins elsewhere; bounds and names stay.

    Parameters
    ----------
    problem
        The part, whose primary cost is what is missed in the whole.
    reward
        That of the whole.

    Raises
    ------
    UnsupportedProblem, OutOfPrecision
        As for :func:`maximise`.
    """
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    again: CSSP | HCSSP
    if isinstance(problem, HCSSP):
        again = _of_procedure(_without_missed(problem, reward), reward.name, reward.weights)
    else:
        kept = _without_primary(problem)
        again = _of_single(kept, reward.name, reward.weights)
    return again.with_bounds({name: bounds[name] for name in again.constraint_names if name in bounds})


def _without_missed(problem: HCSSP, reward: Reward) -> HCSSP:
    """A procedure without what is missed of a reward; what counts its parts is left out, to be made again."""
    activities = tuple(replace(each, cssp=_without_primary(each.cssp)) for each in problem.activities)
    primary = activities[0].cssp.cost_names[0]
    constraints = tuple(
        replace(each, counts={activity: cost - 1 for activity, cost in each.counts.items()})
        for each in problem.constraints
        if each.name not in reward.weights and each.name != primary
    )
    return replace(problem, activities=activities, constraints=constraints, reward=None)


def _without_primary(problem: CSSP) -> CSSP:
    paid = problem.transition_costs
    return problem.derive(
        costs=problem.costs[1:],
        cost_names=problem.cost_names[1:],
        bounds=problem.bounds[1:],
        transition_costs=None if paid is None else paid.paying(paid.costs[1:]),
    )


def _with_primary(problem: CSSP, name: str, costs: FloatArray, reward: Reward | None = None) -> CSSP:
    """The problem with another primary cost, of which all transitions of a row pay the same."""
    paid = problem.transition_costs
    return problem.derive(
        costs=np.vstack([costs, problem.costs]),
        cost_names=(name, *problem.cost_names),
        bounds=np.concatenate([[inf], problem.bounds]),
        reward=reward,
        transition_costs=None if paid is None else paid.paying(np.vstack([costs[paid.rows], paid.costs])),
    )


def _of_single(problem: CSSP, name: str, weights: Mapping[str, float]) -> CSSP:
    found = shaped(problem, _gained(problem, weights), np.zeros(problem.num_rows, dtype=np.bool_))
    reward = Reward(name, found.most, dict(weights))
    return _with_primary(problem, _missed(name, problem.cost_names), found.costs, reward)


def _of_procedure(problem: HCSSP, name: str, weights: Mapping[str, float]) -> HCSSP:
    problem, found = _shaped_procedure(problem, weights)
    flattening, activities = problem.flattening, problem.activities
    known = {each for activity in activities for each in activity.cssp.cost_names}
    missed = _missed(name, tuple(known))
    changed = []
    for index, activity in enumerate(activities):
        span = slice(flattening.row_offset[index], flattening.row_offset[index + 1])
        changed.append(replace(activity, cssp=_with_primary(activity.cssp, missed, found.costs[span])))
    constraints = [
        replace(each, counts={activity: cost + 1 for activity, cost in each.counts.items()})
        for each in problem.constraints
    ]
    # What a reward is made of is counted under its own name, whatever the constraints count.
    taken = {each.name for each in constraints}
    for counted in dict.fromkeys((*weights, problem.primary_name)):
        counts = {
            index: 1 + activity.cssp.cost_names.index(counted)
            for index, activity in enumerate(activities)
            if counted in activity.cssp.cost_names
        }
        if counted not in taken and counts:
            constraints.append(Constraint(counted, inf, counts))
        elif counted in weights and not _counts_all(constraints, counted, counts):
            raise UnsupportedProblem(
                f"the constraint {counted!r} counts something else than the cost of that name; rename it"
            )
    return replace(
        problem,
        activities=tuple(changed),
        constraints=tuple(constraints),
        reward=Reward(name, found.most, dict(weights)),
    )


def _shaped_procedure(problem: HCSSP, weights: Mapping[str, float]) -> tuple[HCSSP, Shaped]:
    """The costs of what is missed, in activities only; of the procedure, or of one with steps in choices."""
    try:
        return problem, _shaped_flat(problem, weights)
    except ChoicesMustCost:
        pass
    try:
        # Choices that run nothing can miss different amounts; a step of nothing can be paid for.
        paid = _with_steps_of_nothing(problem)
        return paid, _shaped_flat(paid, weights)
    except (ChoicesMustCost, UnsupportedProblem):
        pass
    try:
        return problem, _shaped_flat(problem, weights, by_program=True)
    except ChoicesMustCost:
        told = f"choices of the procedure would have to cost something; {_FLATTEN}"
        raise UnsupportedProblem(told) from None


def _shaped_flat(problem: HCSSP, weights: Mapping[str, float], by_program: bool = False) -> Shaped:
    flattening = problem.flattening
    flat = flattening.cssp
    gains = Gains(np.zeros(flat.num_rows), np.zeros(flat.num_rows))
    for index, activity in enumerate(problem.activities):
        span = slice(flattening.row_offset[index], flattening.row_offset[index + 1])
        for whole, part in zip(gains, _gained(activity.cssp, weights), strict=True):
            whole[span] = part
    is_choice = np.arange(flat.num_rows) < flattening.num_event_rows
    return shaped(flat, gains, is_choice, by_program=by_program)


def _with_steps_of_nothing(problem: HCSSP) -> HCSSP:
    """The procedure in which every choice runs something, if only a step that costs nothing so far."""
    entered: dict[int, list[Hashable | None]] = {}
    for event, entry in problem.flattening.event_states:
        entered.setdefault(event, []).append(entry)
    begun = {use.start for use in problem.uses}
    activities, choices = list(problem.activities), []
    for choice in problem.choices:
        if not any(outcome.runs is not None for outcome in choice.outcomes):
            name, labels = problem.events[choice.event], entered.get(choice.event, [])
            # What begins a use stays as it is, since executions are counted there; the use can pay.
            free = [at for at, each in enumerate(choice.outcomes) if each.event not in begun]
            if not free:
                choices.append(choice)
                continue
            likely = max(free, key=lambda each: choice.outcomes[each].probability)
            outcomes = list(choice.outcomes)
            outcomes[likely] = replace(outcomes[likely], runs=len(activities))
            handed_on = [label for label in labels if label is not None]
            activities.append(free_step(f"{name}: {choice.name}", problem.primary_name, handed_on))
            choice = replace(choice, outcomes=tuple(outcomes))
        choices.append(choice)
    return replace(problem, activities=tuple(activities), choices=tuple(choices))


def _counts_all(constraints: list[Constraint], name: str, counts: Mapping[int, int]) -> bool:
    return any(each.name == name and dict(each.counts) == dict(counts) for each in constraints)


def _refuse_nonsense(problem: CSSP | HCSSP, weights: Mapping[str, float]) -> None:
    parts = [problem] if isinstance(problem, CSSP) else [each.cssp for each in problem.activities]
    known = {name for part in parts for name in part.cost_names}
    for name, weight in weights.items():
        if name not in known:
            raise UnknownName("cost", name, known)
        if not np.isfinite(weight):
            raise InvalidProblem([f"the factor of {name!r} in the reward is {weight}; give a finite number"])
    if problem.reward is not None:
        raise InvalidProblem(
            [f"the problem maximises {problem.reward.name!r} already; begin with the original"]
        )


def _gained(problem: CSSP, weights: Mapping[str, float]) -> Gains:
    factors = np.array([weights.get(name, 0.0) for name in problem.cost_names])
    return Gains(factors @ problem.costs, np.abs(factors) @ problem.costs)


def _missed(name: str, taken: tuple[str, ...]) -> str:
    missed = f"{name} missed"
    while missed in taken:
        missed += "'"
    return missed
