r"""Reasons for the decisions of a plan: the costs of the alternatives at one place.

There are two questions about an alternative, and both are answered exactly. *Once*: if the alternative is
taken at the first visit, and the plan is followed from then on, what is the expectation of every cost? With
:math:`V_i` the cost-to-go of the plan and :math:`p` the probability that it reaches :math:`s`, the deviation
to a row :math:`r` changes the expectation by :math:`p \, (C_i(r) + \sum_{s'} T(r, s') V_i(s') - V_i(s))`.
In states without an action of the plan, the best plan with the alternative provides it.

*Always*: of all plans that keep the bounds and take the alternative at every visit, which is best? That is
the same problem without the other rows of the state. It is solved like any other, with a proven interval.
Such a plan may avoid the place; then its probability of reaching it is 0.

A limit for each execution of a use is reported as what an execution costs. In the flat problem it is a bound
on another sum (:mod:`hcssp.procedure.nesting`), which takes into account how often the use is run; so the
number of executions after a deviation is computed along with the costs.

Reference: the values of deviations are those of policy improvement (Howard 1960).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.progress import Stop, criteria_of
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Memory, Problem
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.product import with_used
from hcssp.display import Card
from hcssp.errors import DeadEnd, ImproperPolicy, InvalidProblem, UnsupportedProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import broken
from hcssp.procedure.model import HCSSP
from hcssp.procedure.parts import part_of
from hcssp.procedure.policy import Policy, ProcedurePolicy
from hcssp.procedure.rest import Place, label_called, position_of
from hcssp.solving.solve import solve

_SHOWN = 4
"""Alternatives that a ``repr`` names."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """An alternative at a place.

    Attributes
    ----------
    action
        Its name.
    once
        The expected costs, the primary first, if it is taken at the first visit and the plan is followed from
        then on; None if the plan has no action in a state that is reached, or would not end. A limit for each
        execution of a use is stated as the cost of one execution, nan if there is none.
    keeps_bounds
        Whether these costs keep the bounds.
    best
        The best plan found that always takes the alternative at this place; a plan of the same problem.
    reach_probability
        The probability that this plan reaches the place; 0 if it avoids it, or if no plan was found.
    """

    action: str
    once: FloatArray | None
    keeps_bounds: bool
    best: ProcedurePlan
    reach_probability: float


@dataclass(frozen=True, eq=False)
class Reasons(Card):
    """The alternatives to a plan's decision at a place, and their costs.

    Attributes
    ----------
    plan
        The plan, evaluated.
    place
        The name of the place.
    chosen
        The action or choice that the plan takes there.
    reach_probability
        The probability that the plan reaches it.
    alternatives
        The other actions or choices.
    """

    plan: ProcedurePlan
    place: str
    chosen: str
    reach_probability: float
    alternatives: tuple[Alternative, ...]

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The primary cost and the constraints, in the order of the figures."""
        return (self.plan.problem.primary_name, *self.plan.problem.constraint_names)

    def __str__(self) -> str:
        from hcssp.reports.results_text import reasons_in_words

        return reasons_in_words(self)

    def __repr__(self) -> str:
        others = ", ".join(each.action for each in self.alternatives[:_SHOWN])
        more = len(self.alternatives) - _SHOWN
        rest = f" and {more} more" if more > 0 else ""
        rather = f"{self.chosen} rather than {others}{rest}" if others else f"only {self.chosen} is possible"
        return f"<Reasons at {self.place}: {rather}>"


def why(
    plan: Plan,
    at: Place,
    *,
    stop: Stop | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    best: bool = True,
) -> Reasons:
    """The costs of the alternatives to the decision of a plan at a place.

    >>> from hcssp.scenarios import small_building
    >>> found = why(solve(small_building()), "start")
    >>> found.chosen, [each.action for each in found.alternatives]
    ('go-to-door', ['go-to-E'])
    >>> round(found.alternatives[0].best.upper_bound, 4)
    39.3404

    Parameters
    ----------
    plan
        The plan.
    at
        An event by name; ``(activity, state)``, by name and label; a text such as ``"cross-NE 3,4"``; the
        label of a state, if there is one activity only. Where the choice at an event may depend on how it was
        entered, ``(event, entry)``.
    stop, time_limit, gap
        When to stop the search for the best plan with each alternative, as for :func:`hcssp.solve`; by
        default at its proof.
    best
        Whether to search for the best plans at all.

    Raises
    ------
    UnknownName
        If there is no such place.
    InvalidProblem
        If the plan never reaches it.
    UnsupportedProblem
        If the best plans are asked for, and the plan's problem is a part of an implicit one.
    """
    if time_limit is not None or gap is not None:
        stop = criteria_of(stop, time_limit, gap)
    if best and plan.problem.is_part:
        raise UnsupportedProblem(
            "the best plan with each alternative may go where nothing of the implicit problem was expanded; "
            "ask with best=False what deviating once would cost, or about a plan for problem.enumerated()"
        )
    solved = plan.as_procedure()
    problem = solved.problem
    evaluated = solved if solved.evaluation is not None else solved.evaluated().as_procedure()
    if isinstance(plan.problem, CSSP) and label_called(at, plan.problem.state_index) is not None:
        # A single problem has no events, whatever its states are called.
        at = (problem.activities[0].name, at)
    state, name = _find(problem, at)
    rows, visits = evaluated.policy.rows, evaluated.costs.visits
    if rows[state] == NO_ROW or not visits[state] > 0.0:
        raise InvalidProblem(
            [f"the plan never reaches {name}, so it does nothing there; ask about another place"]
        )
    comes, labels = probability_of(evaluated, state), problem.flattening.action_labels
    taken = evaluated.policy.mixed().get(state, ((int(rows[state]), 1.0),))
    found = []
    for row in range(*problem.row_start[state : state + 2].tolist()):
        if all(row != own for own, _ in taken):
            forced = _forced(evaluated, state, row, stop) if best else ProcedurePlan(problem)
            otherwise = forced.policy.rows if forced.found else None
            once = deviating_once(evaluated, state, row, comes, otherwise)
            there = probability_of(forced, state) if forced.found else 0.0
            costs, keeps = (None, False) if once is None else (once.costs, once.keeps_bounds)
            found.append(Alternative(str(labels[row]), costs, keeps, forced, there))
    chosen = str(labels[int(rows[state])])
    if len(taken) > 1:
        chosen = " or ".join(f"{labels[row]} ({100 * share:.3g}%)" for row, share in taken)
    return Reasons(evaluated, name, chosen, comes, tuple(found))


def _find(problem: HCSSP, at: Place) -> tuple[int, str]:
    """The flat state of a place, and what to call it."""
    flattening, position = problem.flattening, position_of(problem, at)
    if position.activity is not None and position.state is not None:
        activity = problem.activities[position.activity]
        label = activity.cssp.state_labels[position.state]
        state = int(flattening.flat_state(position.activity)[position.state])
        return state, f"{activity.name}, {with_used(label)}"
    event = problem.events[position.event]
    if position.event == problem.end:
        raise InvalidProblem([f"the procedure is over at {event!r}, so there is nothing to do"])
    name = event if position.entry is None else f"{event}, entered in {with_used(position.entry)}"
    return flattening.event_state(position.event, position.entry), name


def _forced(plan: ProcedurePlan, state: int, row: int, stop: Stop | None) -> ProcedurePlan:
    """The best plan that takes a row of a state, as a plan of the same problem."""
    restricted, lift = _restricted(plan, state, row)
    memory = Memory(plan.memory) if isinstance(restricted, HCSSP) else Memory()
    try:
        found = solve(restricted, stop=stop, memory=memory, policies=plan.policies)
    except DeadEnd:
        return ProcedurePlan(plan.problem, proof=Infeasible(ends=False))
    policy = lift(found.policy) if found.found else None
    return ProcedurePlan(
        plan.problem,
        found_policy=policy,
        evaluation=None if policy is None else evaluate(plan.problem, policy),
        proof=found.proof,
        ending=found.ending,
        method=found.method,
        seconds=found.seconds,
        iterations=found.iterations,
        policies=found.policies,
        tolerances=found.tolerances,
    )


def _restricted(
    plan: ProcedurePlan, state: int, row: int
) -> tuple[Problem, Callable[[Policy], ProcedurePolicy]]:
    """The problem without the other rows of a state, and what makes its policies those of the whole."""
    problem, flattening = plan.problem, plan.problem.flattening
    if plan.policies == "deterministic" and state >= flattening.num_event_states:
        return _in_activity(problem, state, row)
    limited = any(each.per is not None for each in problem.constraints)
    if plan.policies == "deterministic" and state < flattening.num_event_states and not limited:
        event, _ = flattening.event_states[state]
        if sum(each == event for each, _ in flattening.event_states) == 1:
            kept = np.array([choice.event != event for choice in problem.choices])
            kept[int(flattening.event_row_choice[row])] = True
            part = part_of(problem, kept)
            return part.problem, lambda policy: part.lift(policy.procedure)
    # Only in this way of entering, or under limits of uses, which a part of the procedure would not have: a
    # matter of the flat problem, in which such a limit is a bound like any other.
    flat, own = _without(flattening.cssp, state, row)

    def lift(policy: Policy) -> ProcedurePolicy:
        extra = tuple((int(own[taken]), chance) for taken, chance in policy.extra)
        return problem.policy(np.where(policy.rows == NO_ROW, NO_ROW, own[policy.rows]), extra)

    return flat, lift


def _in_activity(problem: HCSSP, state: int, row: int) -> tuple[HCSSP, Callable[[Policy], ProcedurePolicy]]:
    """As :func:`_restricted`, for a state of an activity."""
    flattening = problem.flattening
    index = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
    activity = problem.activities[index]
    local = int(np.flatnonzero(flattening.flat_state(index) == state)[0])
    cssp, kept = _without(activity.cssp, local, row - int(flattening.row_offset[index]))

    def lift(policy: Policy) -> ProcedurePolicy:
        rows = [*policy.procedure.activities]
        rows[index] = np.where(rows[index] == NO_ROW, NO_ROW, kept[rows[index]])
        return ProcedurePolicy.compose(problem, policy.procedure.choices, rows)

    activities = [*problem.activities]
    activities[index] = replace(activity, cssp=cssp)
    return replace(problem, activities=tuple(activities)), lift


def _without(cssp: CSSP, state: int, row: int) -> tuple[CSSP, IntArray]:
    """The problem with one row in a state, and which rows of the original are left."""
    kept = np.flatnonzero((cssp.row_state != state) | (np.arange(cssp.num_rows) == row))
    return cssp.with_rows(kept), kept


_NEVER = 1e-12
"""Fewer executions than this are none, but for rounding."""


@dataclass(frozen=True, eq=False)
class Deviation:
    """The expectation after a single deviation.

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


def reported_costs(plan: ProcedurePlan) -> FloatArray:
    """The expected costs of a plan as they are reported: limits for each execution as what one costs."""
    costs = np.array(plan.costs.costs)
    executed = {each.name: each.usage_per_execution for each in plan.costs.limits}
    for place, constraint in enumerate(plan.problem.constraints, 1):
        if constraint.per is not None:
            one = executed.get(constraint.name)
            costs[place] = nan if one is None else one
    return costs


def probability_of(plan: ProcedurePlan, state: int) -> float:
    """The probability that a plan reaches a flat state: its visits by those of a run that begins there."""
    visits = plan.costs.visits[state]
    if plan.policy.rows[state] == NO_ROW or not visits > 0.0:
        return 0.0
    chain = induced_chain(plan.problem, plan.policy).starting(_only(plan.problem, state))
    found = chain.absorbed()
    from_there = 1.0 if found is None else found.visits[np.searchsorted(chain.inner, state)]
    return float(min(1.0, visits / from_there))


def _only(problem: HCSSP, state: int) -> FloatArray:
    """The distribution that has only one flat state."""
    initial = np.zeros(problem.flattening.num_states)
    initial[state] = 1.0
    return initial


def deviating_once(
    plan: ProcedurePlan, state: int, row: int, comes: float, otherwise: IntArray | None
) -> Deviation | None:
    """The expectation if another row of a state is taken at the first visit, and then the plan is followed.

    Parameters
    ----------
    plan
        The plan, evaluated.
    state, row
        The state and the row, of the flat problem.
    comes
        The probability that the plan reaches the state.
    otherwise
        Rows for states in which the plan has none; None for no rows.
    """
    problem = plan.problem
    rows = plan.policy.rows
    if otherwise is not None:
        rows = np.where(rows == NO_ROW, otherwise, rows)
    chain = induced_chain(problem, problem.policy(rows, plan.policy.extra))
    taken = problem.with_rows(np.array([row]))
    after = taken.transitions.toarray()[0]
    counting = chain.paying(np.vstack([chain.problem.costs, _losses(problem, chain.rows)]))
    try:
        # Both at once, so that both are known: what follows the deviation, and what would have followed.
        remaining = counting.starting(0.5 * (after + _only(problem, state))).remaining()
    except ImproperPolicy:
        return None
    follows = after > 0.0
    own = np.append(taken.costs[:, 0], _losses(problem, np.array([row])))
    change = comes * (own + remaining[:, follows] @ after[follows] - remaining[:, state])
    sums = np.asarray(plan.costs.costs) + change[: len(taken.costs)]
    shown = sums.copy()
    lost = change[len(taken.costs) :]
    executions = {each.name: each.expected_executions for each in plan.costs.limits}
    limits = [
        (place, each, each.per) for place, each in enumerate(problem.constraints, 1) if each.per is not None
    ]
    for more, (place, constraint, per) in zip(lost.tolist(), limits, strict=True):
        often = executions[constraint.name] - more
        forgone = 0.0
        if np.isfinite(constraint.at_most):
            forgone = constraint.lost_execution * (per.most_executions - often)
        shown[place] = (sums[place] - forgone) / often if often > _NEVER else nan
    return Deviation(shown, not len(broken(sums[1:], problem.bounds)))


def _losses(problem: HCSSP, rows: IntArray) -> FloatArray:
    """For each limit of a use, how many executions fewer each of some flat rows makes one expect."""
    flattening = problem.flattening
    limits = [each.per for each in problem.constraints if each.per is not None]
    losses = np.zeros((len(limits), len(rows)))
    at_events = np.flatnonzero(rows < flattening.num_event_rows)
    for place, per in enumerate(limits):
        choices = flattening.event_row_choice[rows[at_events]].tolist()
        losses[place, at_events] = [per.losses.get(choice, 0.0) for choice in choices]
    return losses
