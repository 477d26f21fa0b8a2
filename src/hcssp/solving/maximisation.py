r"""Maximising a reward, by minimising its difference to an upper bound.

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

**Method.** The least :math:`V` comes from policy iteration (Howard 1960, with sweeps between two evaluations:
Puterman and Shin 1978) over all states, loops without reward counting as one state each. Each inequality is
asked to hold by a small margin. The costs are then computed from :math:`V` by differences, with a bound on
their rounding as in :mod:`hcssp.ssp.potential`, and lowered by that bound. If one might be negative, a larger
margin is tried, and in the end :class:`~hcssp.errors.OutOfPrecision` is raised. The margin adds to :math:`V`
with every step of a run, so the least margin that holds is used.

**Guarantee.** What is stored as cost is never above :math:`c(s, a)`, so every proven upper bound on the
reward holds in spite of rounding; the reward of a plan is evaluated by itself, from the rewards, not as a
difference.

If the rows that improve on a policy that ends make one that does not, it runs for ever in a loop, along which
the values rise on average by what the loop gains: so the loop gains, and its rows are named.

In a procedure, choices cost nothing, so :math:`V` before a choice is that after it (up to the margin). Where
a choice falls short of the best at its event, the states that it leads to are guaranteed as much more, and
the potential is computed again: what a choice misses is paid in the activities that it runs. If that cannot
be done, as where several choices run one activity, every choice gets a step of its own that pays. The
activities keep their names, policies and budgets. Limits for each execution of a use are constraints like
others: rewards do not enter them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import fsum, inf, nextafter
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, Reward, SparseMatrix, refuse_implicit
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.reachability import closure, free_groups, path_lengths
from hcssp.errors import InvalidProblem, OutOfPrecision, UnboundedReward, UnknownName, UnsupportedProblem
from hcssp.evaluation.absorption import chain_system, factorised
from hcssp.evaluation.linear_systems import Layers, Products, algebra_for, by_distance
from hcssp.procedure.model import HCSSP, Constraint, Outcome, free_step
from hcssp.ssp.policy_iteration import SWALLOWED
from hcssp.ssp.potential import ROUNDINGS, Steps

MARGINS = (1e-18, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8)
"""What each inequality is asked to hold by, times the probability to move on and the greatest reward of a
step; the first under which the potential holds is used."""

AnyProblem = TypeVar("AnyProblem", CSSP, HCSSP)


def maximise(problem: AnyProblem, reward: str | Mapping[str, float]) -> AnyProblem:
    """The problem that asks for the greatest expected reward, as one that minimises what is missed of it.

    All costs of the problem stay, as secondary ones: their bounds hold as before, and plans report them all.
    ``plan.reward`` is the reward of a plan and what no plan exceeds.

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
    """A part of a problem that maximises a reward, with the largest reward in that part.

    What is missed of the reward is computed again, since a part begins elsewhere; bounds and names stay.

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
        # What a choice misses cannot be paid in what it runs, so every choice gets a step that can pay.
        paid = _with_steps_in_choices(problem)
        return paid, _shaped_flat(paid, weights)


def _shaped_flat(problem: HCSSP, weights: Mapping[str, float]) -> Shaped:
    flattening = problem.flattening
    flat = flattening.cssp
    gains = Gains(np.zeros(flat.num_rows), np.zeros(flat.num_rows))
    for index, activity in enumerate(problem.activities):
        span = slice(flattening.row_offset[index], flattening.row_offset[index + 1])
        for whole, part in zip(gains, _gained(activity.cssp, weights), strict=True):
            whole[span] = part
    is_choice = np.arange(flat.num_rows) < flattening.num_event_rows
    return shaped(flat, gains, is_choice)


def _with_steps_in_choices(problem: HCSSP) -> HCSSP:
    """The procedure in which every choice between several begins with a step of its own, so far free.

    The step leads to an event of its own, at which the outcomes of the choice follow. If the choice does no
    more than lead to another event, the step leads there. Choices keep their numbers, and events what they
    hand over.
    """
    entered: dict[int, list[Hashable]] = {}
    for event, entry in problem.flattening.event_states:
        entered.setdefault(event, []).extend([] if entry is None else [entry])
    begun = {use.start for use in problem.uses}
    events, activities = list(problem.events), list(problem.activities)
    choices, added = list(problem.choices), []
    for number, choice in enumerate(problem.choices):
        if len(problem.choices_at(choice.event)) == 1:
            continue
        name, first = f"{problem.events[choice.event]}: {choice.name}", choice.outcomes[0]
        reached = first.event
        # What begins a use stays as it is, since executions are counted there.
        if len(choice.outcomes) > 1 or first.runs is not None or reached in begun:
            while name in events:
                name += "'"
            reached = len(events)
            events.append(name)
            added.append(replace(choice, event=reached))
        choices[number] = replace(choice, outcomes=(Outcome(1.0, reached, runs=len(activities)),))
        activities.append(free_step(name, problem.primary_name, entered.get(choice.event, [])))
    return replace(problem, events=tuple(events), activities=tuple(activities), choices=(*choices, *added))


def _counts_all(constraints: list[Constraint], name: str, counts: Mapping[int, int]) -> bool:
    return any(each.name == name and dict(each.counts) == dict(counts) for each in constraints)


def _refuse_nonsense(problem: CSSP | HCSSP, weights: Mapping[str, float]) -> None:
    known = {name for part in problem.cssps for name in part.cost_names}
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


class ChoicesMustCost(UnsupportedProblem):
    """The reward is bounded, but the choices of a procedure would have to cost something."""

    def __init__(self) -> None:
        super().__init__(
            "choices of the procedure would have to cost something; maximise over problem.flattening.cssp"
        )


class Gains(NamedTuple):
    """The reward of each row, and the sum of the sizes of its parts."""

    rewards: FloatArray
    sizes: FloatArray


class Shaped(NamedTuple):
    """The missed reward of each row, and the largest possible reward."""

    costs: FloatArray
    most: float


def shaped(problem: CSSP, gains: Gains, is_choice: BoolArray) -> Shaped:
    """The rows' costs under a potential that holds in spite of rounding; rows of no use cost nothing.

    Parameters
    ----------
    problem
        The problem.
    gains
        Its rewards.
    is_choice
        The rows that must cost nothing.

    Raises
    ------
    UnboundedReward, UnsupportedProblem
        If there is no potential.
    ChoicesMustCost
        If none was found under which choices cost nothing.
    OutOfPrecision
        If none was found that holds.
    """
    prepared = prepare(problem)
    inner = prepared.problem
    steps, rewards, tight = Steps.of(inner), gains.rewards[prepared.rows], is_choice[prepared.rows]
    rows = np.repeat(np.arange(inner.num_rows), np.diff(steps.row_start))
    num_states = int(np.count_nonzero(~inner.goals))
    group, inside = free_groups(
        num_states + 1, rows, steps.row_state[rows], steps.heads, np.asarray(rewards == 0.0)
    )
    unit = float(np.abs(rewards).max(initial=0.0))
    groups = None
    if unit > 0.0:
        groups = _Groups.of(inner, steps, rewards / unit, tight, group, inside)
    for margin in MARGINS:
        values = np.zeros(num_states + 1)
        try:
            if groups is not None:
                values = unit * groups.potential(margin)[group]
        except (ChoicesMustCost, OutOfPrecision):
            if margin == MARGINS[-1]:
                raise
            continue
        values[-1] = 0.0
        tails, heads = values[steps.row_state[rows]], values[steps.heads]
        fall = np.bincount(rows, weights=steps.probabilities * (tails - heads), minlength=inner.num_rows)
        size = np.bincount(
            rows, weights=steps.probabilities * np.abs(tails - heads), minlength=inner.num_rows
        )
        # One rounding for each difference, product and addition, those of a weighted reward, and some to
        # spare.
        roundings = np.diff(steps.row_start) + len(problem.cost_names) + 6
        unsure = ROUNDINGS * roundings * (size + gains.sizes[prepared.rows])
        missed = fall - rewards
        wrong = np.flatnonzero(~inside & ~(missed >= unsure))
        if not len(wrong):
            break
    else:
        raise OutOfPrecision(
            f"{_place(inner, int(wrong[0]))}: the rewards are too far apart to be computed with in double "
            "precision"
        )
    stored = (missed - unsure) * (1.0 - 2.0**-50)
    # What is missed by the margin alone is nothing: figures far apart make every later computation harder.
    stored[inside | tight | (stored <= 10.0 * margin * unit)] = 0.0
    costs = np.zeros(problem.num_rows)
    costs[prepared.rows] = stored
    begin = inner.initial[~inner.goals] * values[:-1]
    room = ROUNDINGS * (len(begin) + 4) * float(np.abs(begin).sum())
    return Shaped(costs, nextafter(fsum(begin.tolist()) + room, inf))


class _Groups(NamedTuple):
    """The rows between groups of states, in units of the greatest reward.

    Attributes
    ----------
    problem
        To name places.
    numbers
        Which row of the problem each is.
    owner
        The group of each row.
    falls
        Times a potential of the groups: how far it falls along each row, once the group is left.
    least
        How far it has to fall at least.
    tight
        Rows that must cost nothing.
    stays
        Rows that never leave their group.
    goal
        The group of the goals.
    """

    problem: CSSP
    numbers: IntArray
    owner: IntArray
    falls: SparseMatrix
    least: FloatArray
    tight: BoolArray
    stays: BoolArray
    goal: int

    @classmethod
    def of(
        cls,
        inner: CSSP,
        steps: Steps,
        rewards: FloatArray,
        tight: BoolArray,
        group: IntArray,
        inside: BoolArray,
    ) -> _Groups:
        rows = np.repeat(np.arange(inner.num_rows), np.diff(steps.row_start))
        tails, heads = group[steps.row_state[rows]], group[steps.heads]
        moves = tails != heads
        # A row that mostly stays says as much as one that leaves at once, and is written so.
        leaving = np.bincount(rows, weights=steps.probabilities * moves, minlength=inner.num_rows)
        stays = leaving == 0.0
        leaving[stays] = 1.0
        signed = np.concatenate([steps.probabilities[moves], -steps.probabilities[moves]])
        where = (np.tile(rows[moves], 2), np.concatenate([tails[moves], heads[moves]]))
        falls: SparseMatrix = csr_array((signed, where), shape=(inner.num_rows, int(group.max()) + 1))
        falls = diags_array(1.0 / leaving) @ falls
        room = 2.0**-48 * (np.diff(steps.row_start) + 16) * np.abs(rewards)
        kept = np.flatnonzero(~inside)
        # In the order of their groups, which policy iteration wants.
        kept = kept[np.argsort(group[steps.row_state[kept]], kind="stable")]
        return cls(
            inner,
            kept,
            group[steps.row_state[kept]],
            falls.tocsr()[kept],
            ((rewards + room) / leaving)[kept],
            tight[kept],
            stays[kept],
            int(group[-1]),
        )

    def potential(self, margin: float) -> FloatArray:
        """A value for each group, the least under which every row falls by its reward and the margin."""
        gaining = self.stays & (self.least + margin > 0.0)
        if gaining.any():
            row = np.flatnonzero(gaining)[[int(np.argmax(self.least[gaining]))]]
            self._refuse_loop(row, float(self.least[row[0]]))
        # Where no goal can be reached without them, rows that only lose and stay are of no use.
        used = np.flatnonzero(~self.stays)
        num_groups = self.falls.shape[1]
        # The goal comes last, as policy iteration wants it.
        order = np.append(np.flatnonzero(np.arange(num_groups) != self.goal), self.goal)
        place = np.empty(num_groups, dtype=np.int64)
        place[order] = np.arange(num_groups)
        own = csr_array(
            (np.ones(len(used)), (np.arange(len(used)), self.owner[used])), shape=(len(used), num_groups)
        )
        onwards = csr_array((own - self.falls[used])[:, order])
        # The own group is left with certainty; rounding may have left a crumb of it.
        entry_row = np.repeat(np.arange(len(used)), np.diff(onwards.indptr))
        onwards.data[(onwards.indices == place[self.owner[used]][entry_row]) | (onwards.data < 0.0)] = 0.0
        onwards.eliminate_zeros()
        rows = RewardRows(onwards, place[self.owner[used]], self.least[used] + margin)
        try:
            return self._raised(rows, self.tight[used], margin)[place]
        except GainingLoop as loop:
            self._refuse_loop(used[loop.rows], loop.gain - margin)

    def _raised(self, rows: RewardRows, tight: BoolArray, margin: float, max_rounds: int = 100) -> FloatArray:
        """The potential under which the rows `tight` fall by the margin at most."""
        # Improvements below the tolerance are left alone; the margin covers them.
        search = GreatestReward(rows, 0.3 * margin)
        guaranteed = np.full(rows.num_states, -inf)
        if not tight.any():
            return search.values(guaranteed)
        # A state that belongs to no event can be guaranteed more without any effect on those before it.
        raisable = np.ones(rows.num_states + 1, dtype=np.bool_)
        raisable[rows.state[tight]] = raisable[-1] = False
        choices = np.flatnonzero(tight)
        leading = csr_array(rows.onwards[choices])
        inward = leading @ raisable.astype(np.float64)
        entries = np.repeat(np.arange(len(choices)), np.diff(leading.indptr))
        for _ in range(max_rounds):
            values = search.values(guaranteed)
            short = -rows.lacking(values)[choices]
            if not np.any(short > margin):
                return values
            if np.any((short > margin) & (inward == 0.0)):
                raise ChoicesMustCost
            missing = np.where(short > margin, short / np.where(inward > 0.0, inward, 1.0), -inf)
            more = values[leading.indices] + missing[entries]
            states = raisable[leading.indices]
            np.maximum.at(guaranteed, leading.indices[states], more[states])
        raise ChoicesMustCost

    def _refuse_loop(self, rows: IntArray, gain: float) -> NoReturn:
        """Refuse a loop whose steps gain, or lose less than the margin, on average."""
        if gain <= 10.0 * MARGINS[-1]:
            raise UnsupportedProblem(
                "there is a loop whose rewards and losses cancel out, within double "
                "precision; let the loop cost a little"
            )
        place = _place(self.problem, int(self.numbers[rows[int(np.argmax(self.least[rows]))]]))
        raise UnboundedReward(
            f"the reward is unbounded: {place} is part of a loop that gains reward and can "
            "still be left, so it has no maximum; include the costs of the loop"
        )


def _place(problem: CSSP, row: int) -> str:
    state = problem.state_labels[int(problem.row_state[row])]
    return f"state {state!r}, action {problem.action_labels[row]!r}"


ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""What rounding leaves of a difference between values, relative to the largest."""

STOP = -1
"""In place of a row: the state takes what it is guaranteed."""

_NO_ANSWER = "the greatest reward of some states cannot be computed in double precision"


class GainingLoop(Exception):
    """A policy that improves and improves because it runs for ever.

    Attributes
    ----------
    rows
        The rows of its loop.
    gain
        The average gain of a step of the loop.
    """

    def __init__(self, rows: IntArray, gain: float) -> None:
        super().__init__(f"a loop of {len(rows)} rows gains {gain} with every step")
        self.rows = rows
        self.gain = gain


@dataclass(frozen=True, eq=False)
class RewardRows:
    """Rows with rewards, between states of which the last is the goal.

    Attributes
    ----------
    onwards
        The probabilities of going to other states, one matrix row each; those of the goal included.
    state
        The state of each row, ascending; every state but the goal has one.
    rewards
        The gain of each row.
    """

    onwards: SparseMatrix
    state: IntArray
    rewards: FloatArray

    @property
    def num_states(self) -> int:
        """The number of states, without the goal."""
        return int(self.onwards.shape[1]) - 1

    def lacking(self, values: FloatArray) -> FloatArray:
        """How much more each row gives than the value of its state, negative where it gives less."""
        return np.asarray(self.rewards + self.onwards @ values - values[self.state])


class GreatestReward:
    """Finds the greatest rewards, again and again as states are guaranteed more.

    Parameters
    ----------
    rows
        What can be done; from every state the goal can be reached.
    tolerance
        Improvements that are not above it are left alone.
    max_evaluations, max_sweeps
        The number of policies that are evaluated, and the number of sweeps after each.
    """

    def __init__(
        self, rows: RewardRows, tolerance: float, max_evaluations: int = 400, max_sweeps: int = 200
    ) -> None:
        self._max_evaluations, self._max_sweeps = max_evaluations, max_sweeps
        self._rows = rows
        self._tolerance = tolerance
        self._first = np.searchsorted(rows.state, np.arange(rows.num_states))
        # As for costs: a step that is likely to be made is short, and every path comes closer to its end.
        matrix = rows.onwards
        entry_row = np.repeat(np.arange(len(rows.state)), np.diff(matrix.indptr))
        steps, goal = 1.0 / matrix.data, np.arange(rows.num_states + 1) == rows.num_states
        lengths = path_lengths(rows.state[entry_row], matrix.indices, goal, steps)
        if SWALLOWED * max(lengths.max(), steps.max(initial=1.0)) >= 1.0:
            # Every step counts the same, or rounding might let a path run in circles.
            steps = np.ones(len(steps))
            lengths = path_lengths(rows.state[entry_row], matrix.indices, goal, steps)
        through = np.full(len(rows.state), np.inf)
        np.minimum.at(through, entry_row, lengths[matrix.indices] + steps)
        _, self._policy = self._best(-through)

    def values(self, guaranteed: FloatArray) -> FloatArray:
        """The greatest reward from every state and the goal, if none gets less than it is guaranteed.

        Raises
        ------
        GainingLoop
            If there is none.
        OutOfPrecision
            If it is not found in double precision.
        """
        rows, count = self._rows, self._rows.num_states
        for _ in range(self._max_evaluations):
            values = self._evaluated(guaranteed)
            # What rounding may leave of a difference is no improvement.
            tolerance = max(self._tolerance, ROUNDING * float(np.abs(values).max()))
            improved = False
            for _ in range(self._max_sweeps):
                best, chosen = self._best(rows.lacking(values))
                better = best > tolerance
                stops = guaranteed - values[:count] > np.maximum(best, tolerance)
                changed = better | stops
                if not changed.any():
                    break
                improved = True
                self._policy = np.where(stops, STOP, np.where(better, chosen, self._policy))
                values[:count] = np.where(stops, guaranteed, values[:count] + np.where(better, best, 0.0))
            if not improved:
                return values
        raise OutOfPrecision(_NO_ANSWER)

    def _best(self, lacking: FloatArray) -> tuple[FloatArray, IntArray]:
        """The most that a row of each state gives, and the first such row."""
        best: FloatArray = np.maximum.reduceat(lacking, self._first)
        attaining = np.flatnonzero(lacking == best[self._rows.state])
        chosen = np.empty(len(best), dtype=np.int64)
        chosen[self._rows.state[attaining[::-1]]] = attaining[::-1]
        return best, chosen

    def _evaluated(self, guaranteed: FloatArray) -> FloatArray:
        """The value of the current policy in every state, and at the goal."""
        count, acts = self._rows.num_states, self._policy != STOP
        taken = self._rows.onwards[np.where(acts, self._policy, 0)]
        taken = csr_array(csr_array(acts.astype(np.float64)[:, np.newaxis] * taken))
        taken.eliminate_zeros()
        self._refuse_loops(taken, acts)
        onwards = csr_array(taken[:, :count])
        rewards = np.where(acts, self._rows.rewards[np.maximum(self._policy, 0)], guaranteed)
        found: FloatArray = np.full(count, np.nan)
        system = chain_system(onwards)
        if algebra_for(Layers(onwards), lambda: system).by_products:
            ends = ~acts | (np.diff(onwards.indptr) < np.diff(taken.indptr))
            found = Products(system, by_distance(onwards, ends)).solve(rewards, trans="T")
        if not np.isfinite(found).all():
            factors = factorised(onwards)
            found = found if factors is None else factors.solve(rewards, trans="T")
        if not np.isfinite(found).all():
            raise OutOfPrecision(_NO_ANSWER)
        return np.append(found, 0.0)

    def _refuse_loops(self, taken: SparseMatrix, acts: BoolArray) -> None:
        """See that the policy ends."""
        count = self._rows.num_states
        square = csr_array(
            (taken.data, taken.indices, np.append(taken.indptr, taken.nnz)), shape=(count + 1,) * 2
        )
        ends = closure(csr_array(square.T), np.append(~acts, True))
        if ends.all():
            return
        _, part = connected_components(square, connection="strong")
        tails = np.repeat(np.arange(count + 1), np.diff(square.indptr))
        left = np.zeros(part.max() + 1, dtype=np.bool_)
        left[part[tails[part[tails] != part[square.indices]]]] = True
        # A part from which no step leads away and no goal is reached: there it stays for ever.
        loop = np.flatnonzero(part == part[np.flatnonzero(~ends & ~left[part])[0]])
        raise GainingLoop(self._policy[loop], self._gain(csr_array(square[loop][:, loop]), loop))

    def _gain(self, chain: SparseMatrix, loop: IntArray) -> float:
        """The average gain of a step of a chain that never ends."""
        size = len(loop)
        rewards = self._rows.rewards[self._policy[loop]]
        if size == 1:
            return float(rewards[0])
        # Visits between two visits to the first state: the others are left for it in the end.
        factors = factorised(csr_array(chain[1:, 1:]))
        if factors is None:
            raise OutOfPrecision(_NO_ANSWER)
        visits = np.append(1.0, factors.solve(chain[[0], 1:].toarray()[0]))
        return float(visits @ rewards / visits.sum())
