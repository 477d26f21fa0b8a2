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

**Method.** The least :math:`V` is that of a linear program with a variable for each state (for each loop
without reward), solved by HiGHS with a small margin in each inequality. What HiGHS answers is not believed:
the costs are computed from it by differences, with a bound on their rounding as in
:mod:`hcssp.ssp.potential`, and taken down by that bound. If one might then be negative,
:class:`~hcssp.errors.OutOfPrecision` says so.

**Guarantee.** What is stored as cost is never above :math:`c(s, a)`, so every proven upper bound on the
reward holds in spite of rounding; the reward of a plan is evaluated by itself, from the rewards, not as a
difference.

In a procedure, choices cost nothing, so :math:`V` before a choice is that after it (up to the margin), and
what a choice misses is paid in the activities that it runs. The activities keep their names, policies and
budgets.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import fsum, inf, nextafter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.preprocessing import Prepared, prepare
from hcssp.cssp.reachability import free_groups
from hcssp.cssp.reward import Reward
from hcssp.errors import InvalidProblem, OutOfPrecision, UnboundedReward, UnknownName, UnsupportedProblem
from hcssp.procedure.model import HCSSP, Constraint
from hcssp.procedure.probabilities import free_step
from hcssp.ssp.potential import ROUNDINGS, Steps

AnyProblem = TypeVar("AnyProblem", CSSP, HCSSP)

MARGIN = 1e-8
"""What each inequality is asked to hold by, times the probability to move on and the greatest reward of a
step: more than the linear program's own tolerance, so that its answer holds when it is looked at closely."""

LP_TOLERANCE = 1e-10

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
        If the rewards and losses of a loop cancel out exactly, or there are limits for each execution.
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
    _refuse_nonsense(problem, weights)
    if isinstance(problem, HCSSP):
        return _of_procedure(problem, name, weights)
    return _of_single(problem, name, weights)


def _of_single(problem: CSSP, name: str, weights: Mapping[str, float]) -> CSSP:
    shaped = _shaped(problem, _gained(problem, weights), np.zeros(problem.num_rows, dtype=np.bool_))
    names = problem.cost_names
    return problem.derive(
        costs=np.vstack([shaped.costs, problem.costs]),
        cost_names=(_missed(name, names), *names),
        bounds=np.concatenate([[inf], problem.bounds]),
        reward=Reward(name, shaped.most, dict(weights)),
    )


def _of_procedure(problem: HCSSP, name: str, weights: Mapping[str, float]) -> HCSSP:
    if any(constraint.per is not None for constraint in problem.constraints):
        raise UnsupportedProblem(
            "limits for each execution cannot be kept while a reward is maximised; bound the whole instead"
        )
    try:
        shaped = _shaped_procedure(problem, weights)
    except _ChoicesMustCost:
        # Choices that run nothing can miss different amounts; a step of nothing can be paid for.
        problem = _with_steps_of_nothing(problem)
        try:
            shaped = _shaped_procedure(problem, weights)
        except _ChoicesMustCost:
            told = f"choices of the procedure would have to cost something; {_FLATTEN}"
            raise UnsupportedProblem(told) from None
    flattening, activities = problem.flattening, problem.activities
    known = {each for activity in activities for each in activity.cssp.cost_names}
    missed = _missed(name, tuple(known))
    changed = []
    for index, activity in enumerate(activities):
        cssp = activity.cssp
        span = slice(flattening.row_offset[index], flattening.row_offset[index + 1])
        changed.append(
            replace(
                activity,
                cssp=cssp.derive(
                    costs=np.vstack([shaped.costs[span], cssp.costs]),
                    cost_names=(missed, *cssp.cost_names),
                    bounds=np.concatenate([[inf], cssp.bounds]),
                ),
            )
        )
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
        nesting=None,
        reward=Reward(name, shaped.most, dict(weights)),
    )


def _shaped_procedure(problem: HCSSP, weights: Mapping[str, float]) -> _Shaped:
    flattening = problem.flattening
    flat = flattening.cssp
    gains = _Gains(np.zeros(flat.num_rows), np.zeros(flat.num_rows))
    for index, activity in enumerate(problem.activities):
        span = slice(flattening.row_offset[index], flattening.row_offset[index + 1])
        for whole, part in zip(gains, _gained(activity.cssp, weights), strict=True):
            whole[span] = part
    return _shaped(flat, gains, np.arange(flat.num_rows) < flattening.num_event_rows)


def _with_steps_of_nothing(problem: HCSSP) -> HCSSP:
    """The procedure in which every choice runs something, if only a step that costs nothing so far.

    Raises
    ------
    UnsupportedProblem
        If an event of such a choice is entered in a state and without one, which a step would confuse.
    """
    entered: dict[int, list[Hashable | None]] = {}
    for event, entry in problem.flattening.event_states:
        entered.setdefault(event, []).append(entry)
    activities, choices = list(problem.activities), []
    for choice in problem.choices:
        if not any(outcome.runs is not None for outcome in choice.outcomes):
            name, labels = problem.events[choice.event], entered.get(choice.event, [])
            if len(labels) > 1 and None in labels:
                raise UnsupportedProblem(f"event {name!r} is entered in a state and without one; {_FLATTEN}")
            likely = max(range(len(choice.outcomes)), key=lambda each: choice.outcomes[each].probability)
            outcomes = list(choice.outcomes)
            outcomes[likely] = replace(outcomes[likely], runs=len(activities))
            handed_on = [label for label in labels if label is not None]
            activities.append(free_step(f"{name}: {choice.name}", problem.primary_name, handed_on))
            choice = replace(choice, outcomes=tuple(outcomes))
        choices.append(choice)
    return replace(problem, activities=tuple(activities), choices=tuple(choices), nesting=None)


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


class _ChoicesMustCost(Exception):
    """The reward is bounded, but the choices of a procedure would have to cost something."""


class _Gains(NamedTuple):
    """The reward of each row, and the sum of the sizes of what it is made of."""

    rewards: FloatArray
    sizes: FloatArray


def _gained(problem: CSSP, weights: Mapping[str, float]) -> _Gains:
    factors = np.array([weights.get(name, 0.0) for name in problem.cost_names])
    return _Gains(factors @ problem.costs, np.abs(factors) @ problem.costs)


def _missed(name: str, taken: tuple[str, ...]) -> str:
    missed = f"{name} missed"
    while missed in taken:
        missed += "'"
    return missed


class _Shaped(NamedTuple):
    """What each row misses of what could be had, and what could be had at most."""

    costs: FloatArray
    most: float


def _shaped(problem: CSSP, gains: _Gains, is_choice: BoolArray) -> _Shaped:
    """The rows' costs under a potential that was looked at closely; rows of no use cost nothing."""
    prepared = prepare(problem)
    inner = prepared.problem
    steps, rewards, tight = Steps.of(inner), gains.rewards[prepared.rows], is_choice[prepared.rows]
    rows = np.repeat(np.arange(inner.num_rows), np.diff(steps.row_start))
    num_states = int(np.count_nonzero(~inner.goals))
    group, inside = free_groups(
        num_states + 1, rows, steps.row_state[rows], steps.heads, np.asarray(rewards == 0.0)
    )
    values = _potential(prepared, steps, rows, rewards, tight, group, inside)
    tails, heads = values[steps.row_state[rows]], values[steps.heads]
    fall = np.bincount(rows, weights=steps.probabilities * (tails - heads), minlength=inner.num_rows)
    size = np.bincount(rows, weights=steps.probabilities * np.abs(tails - heads), minlength=inner.num_rows)
    # One rounding for each difference, product and addition, those of a weighted reward, and some to spare.
    roundings = np.diff(steps.row_start) + len(problem.cost_names) + 6
    unsure = ROUNDINGS * roundings * (size + gains.sizes[prepared.rows])
    missed = fall - rewards
    wrong = ~inside & ~(missed >= unsure)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise OutOfPrecision(
            f"{_place(inner, row)}: the rewards are too far apart to be computed with in double precision"
        )
    stored = (missed - unsure) * (1.0 - 2.0**-50)
    # What is missed by the margin alone is nothing: figures far apart are hard for everybody after us.
    unit = float(np.abs(rewards).max(initial=0.0))
    stored[inside | tight | (stored <= 10.0 * MARGIN * unit)] = 0.0
    costs = np.zeros(problem.num_rows)
    costs[prepared.rows] = stored
    begin = inner.initial[~inner.goals] * values[:-1]
    room = ROUNDINGS * (len(begin) + 4) * float(np.abs(begin).sum())
    return _Shaped(costs, nextafter(fsum(begin.tolist()) + room, inf))


def _potential(
    prepared: Prepared,
    steps: Steps,
    rows: IntArray,
    rewards: FloatArray,
    tight: BoolArray,
    group: IntArray,
    inside: BoolArray,
) -> FloatArray:
    """A value for each state that is no goal, and 0 for the goals in the last place.

    Raises
    ------
    UnboundedReward
        If there is none.
    """
    inner, unit = prepared.problem, float(np.abs(rewards).max(initial=0.0))
    num_groups, goal = int(group.max()) + 1, int(group[-1])
    if unit == 0.0:
        return np.zeros(len(group))
    # The fall of the potential along each row, in terms of the groups; the goals' value is none of them.
    ends = np.concatenate([steps.row_state[rows], steps.heads])
    signed = np.concatenate([steps.probabilities, -steps.probabilities])
    where = (np.concatenate([rows, rows]), group[ends])
    falls: SparseMatrix = csr_array((signed, where), shape=(inner.num_rows, num_groups))
    # A row that mostly stays says as much as one that leaves at once, and is written so.
    moves = group[steps.row_state[rows]] != group[steps.heads]
    leaving = np.bincount(rows, weights=steps.probabilities * moves, minlength=inner.num_rows)
    leaving[leaving == 0.0] = 1.0
    falls = (diags_array(1.0 / leaving) @ falls).tocsr()[~inside]
    room = 2.0**-48 * (np.diff(steps.row_start) + 16) * np.abs(rewards) / unit
    least = ((rewards / unit + room) / leaving)[~inside]
    of_choices = tight[~inside]
    found = _program(falls, least, of_choices, goal, MARGIN)
    if found is None:
        if of_choices.any() and _program(falls, least, np.zeros_like(of_choices), goal, MARGIN) is not None:
            raise _ChoicesMustCost
        excess = _program(falls, least, of_choices, goal, 0.0, elastic=True)
        if excess is None or excess.max(initial=0.0) > 10.0 * MARGIN:
            row = int(np.flatnonzero(~inside)[int(np.argmax(excess))]) if excess is not None else 0
            raise UnboundedReward(
                f"the reward is unbounded: {_place(inner, row)} is part of a loop that gains reward and can "
                "still be left, so more can always be had; count what the loop costs as well"
            )
        raise UnsupportedProblem(
            "there is a loop whose rewards and losses cancel out, to within what double precision can tell; "
            "let the loop cost a little"
        )
    values = unit * found[group]
    values[-1] = 0.0
    return values


def _program(
    falls: SparseMatrix,
    least: FloatArray,
    of_choices: BoolArray,
    goal: int,
    margin: float,
    elastic: bool = False,
) -> FloatArray | None:
    """The least potential that falls by at least so much along each row; None if there is none.

    With `elastic`, what each row lacks instead.
    """
    from scipy.optimize import linprog

    solve: Any = linprog
    num_rows, num_groups = falls.shape
    above = np.full(num_groups, np.inf)
    below = np.full(num_groups, -np.inf)
    above[goal] = below[goal] = 0.0
    # Choices cost nothing: there the potential must not fall by more than the margin, either.
    matrix, limits = -falls, -(least + margin)
    if of_choices.any() and not elastic:
        matrix = vstack([matrix, falls[of_choices]], format="csr")
        limits = np.concatenate([limits, np.full(int(of_choices.sum()), 3.0 * margin)])
    objective = np.ones(num_groups)
    box = np.column_stack([below, above])
    if elastic:
        matrix = hstack([matrix, -eye_array(num_rows)], format="csr")
        objective = np.concatenate([np.zeros(num_groups), np.ones(num_rows)])
        box = np.vstack([box, np.column_stack([np.zeros(num_rows), np.full(num_rows, np.inf)])])
    options = {"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE}
    answer = solve(objective, A_ub=matrix, b_ub=limits, bounds=box, method="highs", options=options)
    if answer.status != 0:
        return None
    return np.asarray(answer.x[num_groups:] if elastic else answer.x, dtype=np.float64)


def _place(problem: CSSP, row: int) -> str:
    state = problem.state_labels[int(problem.row_state[row])]
    return f"state {state!r}, action {problem.action_labels[row]!r}"
