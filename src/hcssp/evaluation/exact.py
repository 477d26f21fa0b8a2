r"""Exact expected costs and expected visits of a policy, by code that no solver uses.

Problem: given a policy, its expected costs :math:`\mathbb{E}[\sum C_i]` until a goal and the expected
number of visits to each state.

Method: whether a goal is reached almost surely is decided on the graph, and so is whether a cost is 0. With
:math:`Q` the chain's probabilities among the states that are reached and are no goals, and :math:`\mu` the
initial distribution, the visits solve :math:`x = \mu + Q^\top x`; the costs are :math:`x \cdot C_i`.
:mod:`hcssp.evaluation.absorption` does it without a subtraction that matters: a policy that needs 1e15 steps
is evaluated as precisely as one that needs ten. Probabilities that sum to one but for rounding are
proportions.

A procedure's policy is evaluated on the flat states in the same way, from the rows that it uses and no
others; an activity's share is the sum over its states of expected visits times cost.

In a separable procedure every event is entered in one state, so the costs and visits of one execution of an
activity are those of its own chain. Then the procedure is a chain of a few events whose steps cost what their
activities cost. Large separable procedures are evaluated like that: the flat chain is never made, and the
factors of one activity are released before the next one is factorised (300,000 states: 20 MB instead of
200 MB). Errors add up: costs are sums of non-negative terms, and each term has the relative error of its
activity and of the chain of events.

Guarantee: :attr:`Evaluation.residual` bounds the relative error of the costs.

>>> import numpy as np
>>> from scipy.sparse import csr_array
>>> from hcssp.cssp.model import CSSP
>>> from hcssp.cssp.policy import DeterministicPolicy
>>> risky = CSSP(
...     transitions=csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])), row_start=np.array([0, 2, 2]),
...     costs=np.array([[3.0, 1.0], [0.0, 4.0]]), initial=np.array([1.0, 0.0]),
...     goals=np.array([False, True]), cost_names=("time", "damage"), bounds=np.array([1.0]),
... )
>>> answer = evaluate(risky, DeterministicPolicy(risky, np.array([1, -1])))
>>> answer.cost("time"), answer.cost("damage"), answer.visits.tolist()
(2.0, 8.0, [2.0, 1.0])
>>> answer.keeps_bounds(), answer.violations()
(False, {'damage': 7.0})
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import NamedTuple, overload

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.reachability import closure
from hcssp.display import Card
from hcssp.errors import CostOverflow, InvalidProblem
from hcssp.evaluation.absorption import Absorbed, absorb, require_finite
from hcssp.evaluation.chain import TOO_LATE, InducedChain, activity_chain, fitted, induced_chain
from hcssp.numerics import FEASIBILITY_TOLERANCE, ROUNDING, broken
from hcssp.procedure.model import HCSSP, Outcome, Problem
from hcssp.procedure.nesting import entries_of
from hcssp.procedure.policy import Policy, ProcedurePolicy
from hcssp.threads import parallel_map

MIN_STATES_PER_ACTIVITY = 100
"""Procedures with fewer flat states for each activity are evaluated as one chain: many small chains take
longer than one."""

SMALLEST = float(np.nextafter(0.0, 1.0))
"""The least positive cost: a cost that is too small for a double is still a cost."""

_KEPT = "_evaluation"
"""Where a policy, and an activity for its last plan, keeps its evaluation; neither compared nor pickled."""


@dataclass(frozen=True, eq=False)
class Evaluation(Card):
    """The exact costs of a policy.

    Attributes
    ----------
    costs
        The expected sum of each cost, the primary first.
    cost_names
        Their names.
    bounds
        The bound of each secondary cost; ``inf`` where there is none.
    visits
        The expected number of visits to each state; for a goal, the probability of ending there.
    residual
        A bound on the relative error of the costs, from the residuals of the balance of visits and
        the rounding of its computation, or an estimate where a policy takes very long.
    """

    costs: FloatArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    visits: FloatArray
    residual: float

    def cost(self, name: str) -> float:
        """The expected sum of the cost called `name`."""
        if name not in self.cost_names:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"])
        return float(self.costs[self.cost_names.index(name)])

    def violations(self, tolerance: float = FEASIBILITY_TOLERANCE) -> dict[str, float]:
        """By how much each broken bound is exceeded; empty if all are kept.

        Parameters
        ----------
        tolerance
            A bound is kept if it is exceeded by no more than this share of it.
        """
        costs = self.costs[1:]
        return {
            self.cost_names[1 + index]: float(costs[index] - self.bounds[index])
            for index in broken(costs, self.bounds, tolerance, self.residual).tolist()
        }

    def keeps_bounds(self, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
        """Whether every bound is kept, up to `tolerance` as in :meth:`violations`."""
        return not self.violations(tolerance)

    def __repr__(self) -> str:
        shown = [
            f"{name} {cost:.6g}" + (f" of at most {bound:.6g}" if isfinite(bound) else "")
            for name, cost, bound in zip(self.cost_names, self.costs, (inf, *self.bounds), strict=True)
        ]
        return f"<{type(self).__name__}: {', '.join(shown)}>"


@dataclass(frozen=True)
class ActivityEvaluation:
    """The contribution of one activity to the expected costs of the whole.

    Attributes
    ----------
    name
        The activity's name.
    expected_executions
        How often it is executed, in expectation.
    cost
        Its share of the expected primary cost, all executions together.
    usage
        Its share of each constraint that counts it, by the constraint's name.
    """

    name: str
    expected_executions: float
    cost: float
    usage: Mapping[str, float]

    @property
    def cost_per_execution(self) -> float | None:
        """The expected primary cost of one execution; None if it is never executed."""
        return self.cost / self.expected_executions if self.expected_executions else None

    @property
    def usage_per_execution(self) -> dict[str, float] | None:
        """The expected use of one execution under each constraint; None if it is never executed."""
        if not self.expected_executions:
            return None
        return {name: used / self.expected_executions for name, used in self.usage.items()}


@dataclass(frozen=True)
class LimitEvaluation:
    """The cost of an execution of a use with a limit.

    Attributes
    ----------
    name
        The constraint's name, such as ``floor-1/damage``.
    use
        The use's name.
    limit
        The limit on the expected cost of an execution.
    expected_executions
        How often the use is run, in expectation.
    usage
        The cost of all executions together.
    carried
        The rest of the limit of an execution in progress at the start, in the rest of a procedure.
    """

    name: str
    use: str
    limit: float
    expected_executions: float
    usage: float
    carried: float = 0.0

    @property
    def allowed(self) -> float:
        """The limit on the cost of all executions together; ``inf`` without a limit."""
        return self.limit * self.expected_executions + self.carried if isfinite(self.limit) else inf

    @property
    def usage_per_execution(self) -> float | None:
        """The expected cost of one execution; None if it is never executed."""
        return self.usage / self.expected_executions if self.expected_executions else None


@dataclass(frozen=True, eq=False, repr=False)
class ProcedureEvaluation(Evaluation):
    """The costs of a procedure's policy: in total, and activity by activity.

    The costs are the primary and one for each constraint, called by its name; `visits` are those of the
    flat states, the event states first.

    Attributes
    ----------
    activities
        One for each activity of the problem, in its order.
    limits
        One for each constraint that belongs to a use. Among the costs, such a constraint has what the use
        costs and what of the limit is forgone where it is not run; see :mod:`hcssp.procedure.nesting`.
    """

    activities: tuple[ActivityEvaluation, ...]
    limits: tuple[LimitEvaluation, ...] = ()

    def violations(self, tolerance: float = FEASIBILITY_TOLERANCE) -> dict[str, float]:
        """As of :class:`Evaluation`; a limit is compared with what the executions that are made may cost."""
        found = super().violations(tolerance)
        for each in self.limits:
            found.pop(each.name, None)
            if not each.usage - each.allowed <= tolerance * each.allowed:
                found[each.name] = each.usage - each.allowed
        return found

    def activity(self, name: str) -> ActivityEvaluation:
        """The contribution of the activity called `name`."""
        for activity in self.activities:
            if activity.name == name:
                return activity
        known = ", ".join(repr(activity.name) for activity in self.activities)
        raise InvalidProblem([f"there is no activity {name!r}; the activities are {known}"])


@overload
def evaluate(problem: CSSP, policy: DeterministicPolicy | RandomisedPolicy) -> Evaluation: ...
@overload
def evaluate(problem: HCSSP, policy: ProcedurePolicy) -> ProcedureEvaluation: ...
@overload
def evaluate(problem: Problem, policy: Policy) -> Evaluation: ...
def evaluate(problem: Problem, policy: Policy) -> Evaluation:
    """The exact expected costs and visits of `policy`.

    Parameters
    ----------
    problem
        A C-SSP or a procedure; bounds are compared with its own.
    policy
        A policy of that problem, or of the same under other bounds. That of a procedure is also evaluated
        activity by activity.

    Raises
    ------
    ImproperPolicy
        If a goal is not reached almost surely; the message names a trapped state, or a state that is
        reached and has no action.
    CostOverflow
        If a goal is reached, but so late that the expected costs are beyond double precision.
    InvalidProblem
        If the policy does not fit the problem.
    """
    policy = fitted(problem, policy)
    if isinstance(policy, ProcedurePolicy):
        return _of_procedure_once(policy)
    return _of_chain(induced_chain(problem, policy))


def _of_procedure_once(policy: ProcedurePolicy) -> ProcedureEvaluation:
    """As :func:`_of_procedure`; neither a policy nor its problem ever changes, so the answer is kept."""
    known = policy.__dict__.get(_KEPT)
    if not isinstance(known, ProcedureEvaluation):
        known = policy.__dict__[_KEPT] = _of_procedure(policy)
    return known


def _of_procedure(policy: ProcedurePolicy) -> ProcedureEvaluation:
    """The costs of the policy, and each activity's share."""
    problem = policy.problem
    events = _event_chain(policy)
    found = _at_once(policy) if events is None else _by_activity(policy, events)
    activities = []
    for index, activity in enumerate(problem.activities):
        share = found.shares[index]
        usage = {
            constraint.name: float(share[1 + position])
            for position, constraint in enumerate(problem.constraints)
            if index in constraint.counts
        }
        executions = float(found.executions[index])
        activities.append(ActivityEvaluation(activity.name, executions, float(share[0]), usage))
    for array in (found.costs, found.visits):
        array.flags.writeable = False
    return ProcedureEvaluation(
        found.costs,
        problem.flattening.cost_names,
        problem.bounds,
        found.visits,
        found.error,
        tuple(activities),
        tuple(_limits(policy, found.visits, activities)),
    )


class _Composition(NamedTuple):
    """The costs of a procedure's policy, and what they are composed of.

    Attributes
    ----------
    costs, error
        The expected costs, and a bound on their relative error.
    visits
        The expected visits of each flat state.
    executions, shares
        For each activity, the expected executions, and the costs of all of them.
    """

    costs: FloatArray
    error: float
    visits: FloatArray
    executions: FloatArray
    shares: list[FloatArray]


def _at_once(policy: ProcedurePolicy) -> _Composition:
    """The composition of any policy, from its chain on the flat states."""
    chain = induced_chain(policy.problem, policy)
    whole, taken = _of_chain(chain), chain.problem
    # Row by row of the chain: how often it is taken, times its costs.
    spent = taken.costs * (whole.visits[taken.row_state] * chain.chances)
    firsts = taken.row_start[policy.problem.flattening.state_offset]
    shares = [spent[:, first:last].sum(axis=1) for first, last in pairwise(firsts.tolist())]
    executions = _executions(policy, whole.visits)
    return _Composition(whole.costs, whole.residual, whole.visits, executions, shares)


def _by_activity(policy: ProcedurePolicy, found: _EventChain) -> _Composition:
    """The composition of a policy from its chain of events."""
    problem, flattening = policy.problem, policy.problem.flattening
    visits = np.where(np.arange(flattening.num_states) == flattening.end, flattening.initial, 0.0)
    totals, error = np.zeros(1 + problem.num_constraints), 0.0
    if found.absorbed is not None:
        visits[found.inner] = found.absorbed.visits
        visits[: flattening.num_event_states] += found.absorbed.ends
        totals, error = found.absorbed.totals, found.absorbed.error
    executions = _executions(policy, visits)
    shares = [np.zeros(len(totals)) for _ in executions]
    for index, part in found.parts.items():
        visits[part.states] = executions[index] * part.absorbed.visits
        shares[index] = executions[index] * part.absorbed.totals
    with _reporting_overflow():
        require_finite(visits)
    # One rounding for each term of an event's costs, and a few more, besides the errors of the chains.
    most = max((part.absorbed.error for part in found.parts.values()), default=0.0)
    rounding = (4.0 + found.terms) * ROUNDING
    return _Composition(totals, (error + most + rounding) * (1.0 + error + most), visits, executions, shares)


class _Part(NamedTuple):
    """One execution of an activity: its flat states that are reached, and what it costs and visits."""

    states: IntArray
    absorbed: Absorbed


class _EventChain(NamedTuple):
    """The chain of the events of a policy.

    Attributes
    ----------
    parts
        The activities that are executed.
    inner, absorbed
        The event states that are reached, except the end, and their solved chain; None if there are none.
    terms
        The most activities that follow one event.
    """

    parts: dict[int, _Part]
    inner: IntArray
    absorbed: Absorbed | None
    terms: float


def _event_chain(policy: ProcedurePolicy) -> _EventChain | None:
    """The chain of the events of a large separable procedure; None of another, or if it may never end."""
    problem, flattening = policy.problem, policy.problem.flattening
    large = flattening.num_states > MIN_STATES_PER_ACTIVITY * problem.num_activities
    if not large or policy.is_randomised or not flattening.separable:
        return None
    chosen = [*_chosen_outcomes(policy)]
    if not all(flattening.is_entered(outcome.event) for _, outcome, _ in chosen):
        return None
    count = flattening.num_event_states
    possible = [(state, outcome) for state, outcome, chance in chosen if chance > 0.0]
    chances = np.array([outcome.probability for _, outcome in possible], dtype=np.float64)
    tails = np.array([state for state, _ in possible], dtype=np.int64)
    heads = np.array([flattening.event_state(outcome.event) for _, outcome in possible], dtype=np.int64)
    graph, events = csr_array((chances, (tails, heads)), shape=(count, count)), np.arange(count)
    reached = closure(graph, events == flattening.start)
    if (reached & ~closure(csr_array(graph.T), events == flattening.end)).any():
        return None
    executed = sorted({each.runs for state, each in possible if reached[state] and each.runs is not None})
    with _reporting_overflow():
        # Activities with the same plan are evaluated once.
        plans = {index: _plan_of(policy, index) for index in executed}
        distinct = {plan: index for index, plan in plans.items()}
        parts = parallel_map(
            lambda plan: _part(policy, distinct[plan], plan), list(distinct), flattening.num_states
        )
        solved_plans = {plan: part for plan, part in zip(distinct, parts, strict=True) if part is not None}
        if len(solved_plans) < len(distinct):
            return None
        first = flattening.state_offset
        found = {
            index: _Part(first[index] + solved_plans[plan].states, solved_plans[plan].absorbed)
            for index, plan in plans.items()
        }
        costs = np.zeros((1 + problem.num_constraints, count))
        rows = policy.rows[:count]
        costs[:, rows != NO_ROW] = flattening.event_costs[:, rows[rows != NO_ROW]]
        terms = np.zeros(count)
        for state, outcome in possible:
            if outcome.runs in found:
                totals = found[outcome.runs].absorbed.totals
                least = np.where(totals > 0.0, SMALLEST, 0.0)
                costs[:, state] += np.maximum(outcome.probability * totals, least)
                terms[state] += 1.0
        inner = np.flatnonzero(reached & (events != flattening.end))
        solved = absorb(graph, inner, flattening.initial[:count], costs[:, inner]) if len(inner) else None
    return _EventChain(found, inner, solved, float(terms.max(initial=0.0)))


def _plan_of(policy: ProcedurePolicy, activity: int) -> Hashable:
    """What the evaluation of an activity depends on: its model, the rows of its plan, and what counts."""
    problem, flattening = policy.problem, policy.problem.flattening
    first, last = flattening.state_offset[activity : activity + 2].tolist()
    own = policy.rows[first:last]
    rows = np.where(own == NO_ROW, NO_ROW, own - flattening.row_offset[activity])
    counted = tuple(constraint.counts.get(activity) for constraint in problem.constraints)
    return id(problem.activities[activity].cssp), rows.tobytes(), counted


def _part(policy: ProcedurePolicy, activity: int, plan: Hashable) -> _Part | None:
    """One execution of an activity, with states counted from its first; None if it may never end.

    The last one is kept with the activity: after a search under other bounds, most plans are the same.
    """
    cssp = policy.problem.activities[activity].cssp
    kept: tuple[Hashable, _Part] | None = cssp.__dict__.get(_KEPT)
    if kept is not None and kept[0] == plan:
        return kept[1]
    chain = activity_chain(policy, activity)
    solved = chain.absorbed() if chain.is_proper else None
    if solved is None:
        return None
    live = np.cumsum(~chain.problem.goals) - 1
    part = _Part(live[chain.inner], solved)
    cssp.__dict__[_KEPT] = plan, part
    return part


def _chosen_outcomes(policy: ProcedurePolicy) -> Iterator[tuple[int, Outcome, float]]:
    """The event states in which a policy chooses, with every outcome of its choices and its probability."""
    flattening, choices = policy.problem.flattening, policy.problem.choices
    rows, chances = policy.taken
    at_events = int(np.searchsorted(rows, flattening.num_event_rows))
    for row, chance in zip(rows[:at_events].tolist(), chances[:at_events].tolist(), strict=True):
        state = int(np.searchsorted(flattening.row_start, row, side="right")) - 1
        for outcome in choices[int(flattening.event_row_choice[row])].outcomes:
            yield state, outcome, chance * outcome.probability


def _executions(policy: ProcedurePolicy, visits: FloatArray) -> FloatArray:
    """The expected executions of each activity, given the expected visits of the event states."""
    executions = np.zeros(policy.problem.num_activities)
    for state, outcome, chance in _chosen_outcomes(policy):
        if outcome.runs is not None:
            executions[outcome.runs] += visits[state] * chance
    return executions


def _limits(
    policy: ProcedurePolicy, visits: FloatArray, activities: Sequence[ActivityEvaluation]
) -> Iterator[LimitEvaluation]:
    """The cost of an execution of each use with a limit."""
    problem, flattening = policy.problem, policy.problem.flattening
    # A part of a procedure keeps the constraint of a limit, but not the uses.
    limits = [each for each in problem.constraints if each.per is not None and problem.uses]
    uses = [problem.uses[each.per.use] for each in limits if each.per is not None]
    if not limits:
        return
    rows, chances = policy.taken
    made = rows < flattening.num_event_rows
    states = np.searchsorted(flattening.event_row_start, rows[made], side="right") - 1
    begun = entries_of(problem, uses)[flattening.event_row_choice[rows[made]]]
    executions = (visits[states] * chances[made]) @ begun
    for constraint, use, count in zip(limits, uses, executions.tolist(), strict=True):
        usage = sum(activities[index].usage[constraint.name] for index in constraint.counts)
        carried = 0.0 if constraint.per is None else constraint.per.carried
        yield LimitEvaluation(constraint.name, use.name, constraint.limit, count, usage, carried)


def _of_chain(chain: InducedChain) -> Evaluation:
    chain.require_proper()
    problem = chain.problem
    visits = np.where(problem.goals, problem.initial, 0.0)
    costs, residual = np.zeros(len(problem.cost_names)), 0.0
    found = chain.absorbed()
    if found is not None:
        visits[chain.inner] = found.visits
        visits += found.ends
        costs, residual = found.totals, found.error
    for array in (costs, visits):
        array.flags.writeable = False
    return Evaluation(costs, problem.cost_names, problem.bounds, visits, residual)


def expected_remaining(problem: Problem, policy: Policy) -> FloatArray:
    """The expected costs-to-go from each state of the flat problem until a goal.

    Returns
    -------
    FloatArray
        One row for each cost, one column for each state; 0 at goals, ``nan`` where the policy never goes.

    Raises
    ------
    ImproperPolicy, CostOverflow, InvalidProblem
        As for :func:`evaluate`.
    """
    policy = fitted(problem, policy)
    found = _event_chain(policy) if isinstance(policy, ProcedurePolicy) else None
    if found is None:
        return induced_chain(problem, policy).remaining()
    flattening = problem.procedure.flattening
    remaining = np.full((len(flattening.cost_names), flattening.num_states), np.nan)
    remaining[:, flattening.end] = 0.0
    if found.absorbed is not None:
        remaining[:, found.inner] = found.absorbed.values.T
    for activity, part in found.parts.items():
        # Wherever the activity ends, the same event follows.
        _, after = flattening.exits(activity)[0]
        remaining[:, part.states] = part.absorbed.values.T + remaining[:, [after]]
    return remaining


@contextmanager
def _reporting_overflow() -> Iterator[None]:
    """Raise :class:`CostOverflow` for an overflow of the arithmetic."""
    try:
        yield
    except OverflowError as error:
        raise CostOverflow(TOO_LATE) from error
