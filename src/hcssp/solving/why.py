r"""Why a plan does what it does: what the alternatives at one place would cost.

There are two questions about an alternative, and both are answered exactly. *Once*: if one deviated the first
time one comes there, and then followed the plan, what would be expected of every cost? With :math:`V_i` what
the plan still costs from a state on, and :math:`p` the probability that it comes to :math:`s`, the deviation
to a row :math:`r` changes the expectation by :math:`p \, (C_i(r) + \sum_{s'} T(r, s') V_i(s') - V_i(s))`.
Where the plan does not say what to do then, the best plan with the alternative says it.

*Altogether*: of all plans that keep the bounds and take the alternative wherever they come there, which is
best? That is another problem, the same without the other rows of the state, and is searched like any other:
with an interval that is proven. Such a plan may avoid the place; then it says so.

Reference: the values of deviations are those of policy improvement (Howard 1960).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hcssp.contract.memory import Memory
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Infeasible
from hcssp.contract.stop import Stop, criteria_of
from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.levels import with_used
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import DeadEnd, InvalidProblem, UnsupportedProblem
from hcssp.evaluation.exact import evaluate
from hcssp.procedure.model import HCSSP
from hcssp.procedure.part import part_of
from hcssp.procedure.places import Place, label_called
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.rest import position_of
from hcssp.procedure.single import is_part
from hcssp.solving.deviation import deviating_once, probability_of
from hcssp.solving.solve import solve


@dataclass(frozen=True, eq=False)
class Alternative:
    """What else could be done at a place.

    Attributes
    ----------
    action
        What it is called.
    once
        The expected costs, the primary first, if one does it the first time and then follows the plan; None
        if nobody says what to do then, or it would not end. A limit for each execution of a use is told as
        what an execution costs, nan if there is none.
    keeps_bounds
        Whether those keep the bounds.
    best
        The best plan that always does it there, as far as it was searched for; a plan of the same problem.
    comes_there
        With what probability that plan comes to the place; 0 if it avoids it, or there is none.
    """

    action: str
    once: FloatArray | None
    keeps_bounds: bool
    best: ProcedurePlan
    comes_there: float


@dataclass(frozen=True, eq=False)
class Reasons:
    """Why a plan does what it does at a place.

    Attributes
    ----------
    plan
        The plan, evaluated.
    place
        What the place is called.
    chosen
        What the plan does there.
    comes_there
        With what probability it comes there.
    alternatives
        What else could be done.
    """

    plan: ProcedurePlan
    place: str
    chosen: str
    comes_there: float
    alternatives: tuple[Alternative, ...]

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The primary cost and the constraints, in the order of the figures."""
        return (self.plan.problem.primary_name, *self.plan.problem.constraint_names)

    def __str__(self) -> str:
        from hcssp.reports.why_words import reasons_in_words

        return reasons_in_words(self)


def why(
    plan: Plan,
    at: Place,
    *,
    stop: Stop | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    best: bool = True,
) -> Reasons:
    """What the alternatives to what a plan does at a place would cost.

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
        Whether to look for the best plans at all; without, only what was there is completed.

    Raises
    ------
    UnknownName
        If there is no such place.
    InvalidProblem
        If the plan never comes there.
    UnsupportedProblem
        If the best plans are asked for, and the plan's problem is a part of an implicit one.
    """
    if time_limit is not None or gap is not None:
        stop = criteria_of(stop, time_limit, gap)
    if best and is_part(plan.problem):
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
    state, told = _find(problem, at)
    flat = problem.flattening.cssp
    rows = evaluated.policy.rows
    visits = evaluated.costs.visits
    if rows[state] == NO_ROW or not visits[state] > 0.0:
        raise InvalidProblem(
            [f"the plan never comes to {told}, so it does nothing there; ask about another place"]
        )
    comes = probability_of(flat, rows, state, visits)
    found = []
    for row in range(int(flat.row_start[state]), int(flat.row_start[state + 1])):
        if row != rows[state]:
            forced = _forced(evaluated, state, row, stop) if best else _nothing(evaluated)
            otherwise = forced.policy.rows if forced.found else None
            once = deviating_once(evaluated, state, row, comes, otherwise)
            there = 0.0
            if forced.found:
                # Evaluated by code that no solver uses, as every plan.
                there = probability_of(flat, forced.policy.rows, state, forced.costs.visits)
            costs, keeps = (None, False) if once is None else (once.costs, once.keeps_bounds)
            found.append(Alternative(str(flat.action_labels[row]), costs, keeps, forced, there))
    chosen = str(flat.action_labels[int(rows[state])])
    return Reasons(evaluated, told, chosen, comes, tuple(found))


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
    told = event if position.entry is None else f"{event}, entered in {with_used(position.entry)}"
    return flattening.event_state(position.event, position.entry), told


def _nothing(plan: ProcedurePlan) -> ProcedurePlan:
    return ProcedurePlan(plan.problem)


def _forced(plan: ProcedurePlan, state: int, row: int, stop: Stop | None) -> ProcedurePlan:
    """The best plan that takes a row of a state, as a plan of the same problem."""
    problem, flattening = plan.problem, plan.problem.flattening
    memory = Memory(plan.memory)
    if state >= flattening.num_event_states:
        return _in_activity(plan, state, row, stop, memory)
    event, entry = flattening.event_states[state]
    once = entry is None and sum(each == event for each, _ in flattening.event_states) == 1
    if once and all(each.per is None for each in problem.constraints):
        kept = np.array([choice.event != event for choice in problem.choices])
        kept[int(flattening.event_row_choice[row])] = True
        part = part_of(problem, kept)
        found = _solved(part.problem, stop, memory)
        policy = part.lift(found.policy) if isinstance(found, ProcedurePlan) and found.found else None
        return _as_plan(plan, found, policy)
    # Only in this way of entering, or under limits of uses, which a part of the procedure would not have: a
    # matter of the flat problem, in which such a limit is a bound like any other.
    cssp = _without(flattening.cssp, state, row)
    found = _solved(cssp[0], stop, Memory())
    lifted = None
    if found is not None and found.found:
        local = found.policy.rows
        lifted = ProcedurePolicy(problem, np.where(local == NO_ROW, NO_ROW, cssp[1][local]))
    return _as_plan(plan, found, lifted)


def _in_activity(
    plan: ProcedurePlan,
    state: int,
    row: int,
    stop: Stop | None,
    memory: Memory,
) -> ProcedurePlan:
    problem, flattening = plan.problem, plan.problem.flattening
    index = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
    activity = problem.activities[index]
    local = int(np.flatnonzero(flattening.flat_state(index) == state)[0])
    cssp, kept = _without(activity.cssp, local, row - int(flattening.row_offset[index]))
    activities = [*problem.activities]
    activities[index] = replace(activity, cssp=cssp)
    changed = replace(problem, activities=tuple(activities))
    found = _solved(changed, stop, memory)
    policy = None
    if found is not None and found.found:
        rows = [*found.as_procedure().policy.activities]
        rows[index] = np.where(rows[index] == NO_ROW, NO_ROW, kept[rows[index]])
        policy = ProcedurePolicy.compose(problem, found.as_procedure().policy.choices, rows)
    return _as_plan(plan, found, policy)


def _without(cssp: CSSP, state: int, row: int) -> tuple[CSSP, IntArray]:
    """The problem with one row in a state, and which rows of the original are left."""
    keep: BoolArray = cssp.row_state != state
    keep[row] = True
    kept = np.flatnonzero(keep)
    counts = np.bincount(cssp.row_state[kept], minlength=cssp.num_states)
    changed = cssp.derive(
        transitions=cssp.transitions[kept],
        row_start=np.concatenate(([0], np.cumsum(counts))),
        costs=cssp.costs[:, kept],
        action_labels=SelectedLabels(cssp.action_labels, kept),
        transition_costs=None if cssp.transition_costs is None else cssp.transition_costs.take(kept),
    )
    return changed, kept


def _solved(problem: CSSP | HCSSP, stop: Stop | None, memory: Memory) -> Plan | None:
    """The best plan; None if none ends."""
    try:
        found = solve(problem, stop=stop, memory=memory)
    except DeadEnd:
        return None
    return found.as_procedure() if isinstance(problem, HCSSP) else found


def _as_plan(plan: ProcedurePlan, found: Plan | None, policy: ProcedurePolicy | None) -> ProcedurePlan:
    """What was found out about the restricted problem, as a plan of the whole one."""
    if found is None:
        return ProcedurePlan(plan.problem, proof=Infeasible(ends=False))
    costs = None if policy is None else evaluate(plan.problem, policy)
    return ProcedurePlan(
        plan.problem,
        found_policy=policy,
        evaluation=costs,
        proof=found.proof,
        ending=found.ending,
        method=found.method,
        seconds=found.seconds,
        iterations=found.iterations,
        tolerances=found.tolerances,
    )
