"""Plans on disk: one JSON object, written atomically, and refused where it does not fit.

``format`` and ``version``
    ``"hcssp-plan"`` and 1.
``problem``
    Its ``name``, and its ``fingerprint`` (:mod:`hcssp.files.fingerprint`), which says which problem the plan
    is for, whatever its bounds are.
``bounds``
    The bound of each constraint that the plan was made for; ``null`` for none. A reader judges the plan by
    the bounds of its own problem.
``method``, ``status``, ``stopped_by``, ``stop_detail``, ``seconds``, ``lower_bound``, ``upper_bound``,
``trace``
    What is claimed to be proven, by which method and why it stopped; ``stopped_by`` is ``null`` if the run
    was killed. ``trace`` holds triples of seconds, lower and upper bound; ``null`` is an infinite one.
    Anyone can write such a file, so its reader gets a policy, which is evaluated again, and a claim.
``prices``
    What a unit of each constraint's budget is worth, but for bounds of 0, which have no price; ``null`` if
    that is unknown.
``policy``
    ``choices`` lists every event with the state it was entered in (as a text, ``null`` if there is only
    one way to enter it) and the choice there. ``activities`` holds for each activity its ``actions``, as
    positions among the actions of each state in the order of the states, and how often each is repeated
    before the next one comes (``repeats``); -1 stands for no action, in goals and where the plan never goes.
    The plan of an implicit problem has ``by_state`` besides: two lists of texts, ``states`` where it acts, as
    Python writes their labels, and ``actions``.
``budgets``
    What an execution of each activity was allocated, by methods that do.
``evaluation``
    For readers: the plan's exact costs, and of each activity the expected executions and the cost and usage
    of one. ``null`` if the run was killed. Nothing relies on it.

>>> from tempfile import TemporaryDirectory
>>> from hcssp import solve
>>> from hcssp.scenarios import small_building
>>> problem = small_building(bound=2.0)
>>> plan = solve(problem)
>>> with TemporaryDirectory() as folder:
...     save_plan(f"{folder}/plan.json", plan)
...     again = load_plan(f"{folder}/plan.json", problem)
>>> again.method, round(again.upper_bound, 4), round(again.cost("damage"), 4)
('exact', 27.7191, 1.8969)

What was proven elsewhere is a claim here:

>>> str(plan.status), str(again.status), again.lower_bound, round(again.claim.lower_bound, 4)
('optimal', 'feasible', -inf, 27.7191)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Ending, FileClaim, Reason, Trace
from hcssp.contract.solver import Memory, Problem
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidPlan
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed
from hcssp.files.shapes import (
    AboutProblem,
    bounds_of,
    check_problem,
    document,
    head,
    naming,
    read_document,
    shown,
)
from hcssp.numerics import CLAIM_TOLERANCE
from hcssp.procedure import HCSSP, Activity, Flattening, ProcedurePolicy
from hcssp.procedure.model import EventState

if TYPE_CHECKING:
    from hcssp.cssp.implicit import ImplicitCSSP

FORMAT = "hcssp-plan"


VERSION = 1


def plan_document(plan: Plan, fingerprint: str | None = None) -> dict[str, Any]:
    """The object that a plan's file holds."""
    name, fingerprint = plan.name, fingerprint or fingerprint_of(plan.problem)
    said, by_state = _claimed(plan), _by_state(plan)
    plan = replace(plan, problem=unnamed(plan.problem)).as_procedure()
    return {
        **head(FORMAT, VERSION, name, fingerprint, plan.bounds),
        "method": plan.method,
        "policies": plan.policies,
        "status": str(plan.status),
        "stopped_by": None if plan.ending.reason is Reason.UNKNOWN else str(plan.ending.reason),
        "stop_detail": plan.ending.detail or None,
        "seconds": document(plan.seconds),
        **document(said, "lower_bound", "upper_bound"),
        "prices": document(plan.prices),
        "policy": {
            "choices": _choices(plan),
            "activities": _activities(plan),
            **_extra(plan),
            **by_state,
        },
        "budgets": document(plan.budgets),
        "evaluation": _evaluation(plan),
        "trace": document([*said.trace]),
    }


def _by_state(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """The actions of the plan of an implicit problem by state; empty for other plans."""
    policy = plan.policy
    if not isinstance(plan.problem, ExpandedCSSP) or not isinstance(policy, DeterministicPolicy):
        return {}
    taken = policy.actions()
    return {"by_state": {"states": list(map(repr, taken)), "actions": list(map(repr, taken.values()))}}


def _claimed(plan: Plan) -> FileClaim:
    """The claim for a file: the interval that was proven here, or the claim of the plan's file."""
    if plan.claim is not None and not isfinite(plan.lower_bound):
        return plan.claim
    return FileClaim(plan.lower_bound, plan.upper_bound, plan.trace)


def _choices(plan: ProcedurePlan) -> list[dict[str, str | None]]:
    problem = plan.problem
    listed = []
    for event, entry in problem.flattening.event_states:
        chosen = plan.policy.choices.get((event, entry))
        listed.append(
            {
                "event": problem.events[event],
                "entered_in": None if entry is None else str(entry),
                "choice": None if chosen is None else problem.choices[chosen].name,
            }
        )
    return listed


def _activities(plan: ProcedurePlan) -> dict[str, dict[str, list[int]]]:
    return {
        activity.name: run_lengths(local_actions(rows, activity.cssp.row_start))
        for activity, rows in zip(plan.problem.activities, plan.policy.activities, strict=True)
    }


def _extra(plan: ProcedurePlan) -> dict[str, list[dict[str, Any]]]:
    """The extra rows of a randomised plan: states and actions of activities by their positions."""
    policy, flattening = plan.policy, plan.problem.flattening
    listed: list[dict[str, Any]] = []
    for row, chance in policy.extra:
        if row < flattening.num_event_rows:
            activity, state, action = None, int(np.searchsorted(flattening.row_start, row, "right")) - 1, row
            action -= int(flattening.row_start[state])
        else:
            index = int(np.searchsorted(flattening.row_offset, row, "right")) - 1
            cssp, local = plan.problem.activities[index].cssp, row - int(flattening.row_offset[index])
            activity, state = plan.problem.activities[index].name, int(cssp.row_state[local])
            action = local - int(cssp.row_start[state])
        listed.append({"activity": activity, "state": state, "action": action, "probability": chance})
    return {"extra": listed} if listed else {}


def local_actions(rows: IntArray, row_start: IntArray) -> IntArray:
    """Rows as positions among the rows of their states."""
    return np.where(rows == NO_ROW, NO_ROW, rows - row_start[:-1])


def run_lengths(actions: IntArray) -> dict[str, list[int]]:
    """The actions without repetitions, and how often each is repeated.

    >>> run_lengths(np.array([2, 2, 2, 0, -1, -1]))
    {'actions': [2, 0, -1], 'repeats': [3, 1, 2]}
    """
    begins = np.flatnonzero(np.concatenate([[True], actions[1:] != actions[:-1]])[: len(actions)])
    lengths = np.diff(np.append(begins, len(actions)))
    return {"actions": actions[begins].tolist(), "repeats": lengths.tolist()}


def _evaluation(plan: ProcedurePlan) -> dict[str, Any] | None:
    if plan.evaluation is None:
        return None
    evaluation = plan.costs
    return {
        "costs": document(dict(zip(evaluation.cost_names, evaluation.costs.tolist(), strict=True))),
        "activities": {
            activity.name: {
                "expected_executions": document(activity.expected_executions),
                "cost": document(activity.cost_per_execution),
                "usage": activity.usage_per_execution or dict.fromkeys(activity.usage),
            }
            for activity in evaluation.activities
        },
    }


class WrittenChoice(TypedDict):
    """What is chosen at an event; null where the plan never goes."""

    event: str
    choice: NotRequired[str | None]


class WrittenActions(TypedDict):
    """The actions of an activity, and how often each is repeated."""

    actions: list[int]
    repeats: list[int]


class WrittenExtra(TypedDict):
    """An extra row of a randomised plan, by positions; of an event where there is no activity."""

    activity: NotRequired[str | None]
    state: int
    action: int
    probability: float


class WrittenStates(TypedDict):
    """What the plan of an implicit problem does, by the names of states."""

    states: list[str]
    actions: list[str]


class WrittenPolicy(TypedDict):
    """What a plan does."""

    choices: list[WrittenChoice]
    activities: dict[str, WrittenActions]
    extra: NotRequired[list[WrittenExtra]]
    by_state: NotRequired[WrittenStates]


class PlanDocument(AboutProblem):
    """A plan's file."""

    method: NotRequired[str | None]
    policies: NotRequired[Literal["deterministic", "randomised"] | None]
    stopped_by: NotRequired[str | None]
    stop_detail: NotRequired[str | None]
    seconds: NotRequired[float | None]
    lower_bound: NotRequired[float | None]
    upper_bound: NotRequired[float | None]
    prices: NotRequired[dict[str, float | None] | None]
    policy: WrittenPolicy
    budgets: NotRequired[dict[str, dict[str, float | None]] | None]
    trace: NotRequired[list[list[float | None]] | None]


def _plan(document: PlanDocument, problem: HCSSP) -> ProcedurePlan:
    """The plan of a problem that it is known to be for."""
    policy, flattening = document["policy"], problem.flattening
    choices = _chosen(flattening, policy["choices"])
    given, names = policy["activities"], [activity.name for activity in problem.activities]
    for name in sorted(given.keys() ^ set(names)):
        why = "this key is missing" if name in names else "this is not an activity of this problem"
        raise InvalidPlan(f"policy.activities.{name}: {why}")
    activities = tuple(_rows(each, given[each.name]) for each in problem.activities)
    extra = tuple(_extra_row(problem, each) for each in policy.get("extra", []))
    rows = ProcedurePolicy.compose(problem, choices, activities).rows
    return ProcedurePlan(problem, problem.policy(rows, extra), **_said(document, problem))


def _implicit_plan(document: PlanDocument, problem: ImplicitCSSP) -> Plan:
    """The plan of an implicit problem, which is expanded where the plan goes."""
    given = document["policy"].get("by_state")
    if given is None:
        raise InvalidPlan("policy.by_state: this key is missing, which plans of implicit problems have")
    states, actions = given["states"], given["actions"]
    if len(states) != len(actions):
        counts = f"{len(states)} states have {len(actions)} actions"
        raise InvalidPlan(f"policy.by_state: {counts}; give one each")
    memory = Memory()
    expansion = memory.expansion(problem)
    found = expansion.follow(dict(zip(states, actions, strict=True)), by_text=True)
    return Plan(expansion.part(), found, memory=memory, **_said(document, problem))


def _evaluated(document: PlanDocument, plan: Plan) -> Plan:
    """The plan with its costs computed again, which must be those that the file claims."""
    try:
        found = plan.evaluated()
    except (ImproperPolicy, CostOverflow) as error:
        raise InvalidPlan(str(error)) from error
    claimed, cost = document.get("upper_bound"), found.cost(plan.problem.primary_name)
    if claimed is not None and abs(claimed - cost) > CLAIM_TOLERANCE * max(abs(claimed), abs(cost)):
        raise InvalidPlan(f"upper_bound: it claims an expected cost of {claimed:.9g}, but it is {cost:.9g}")
    return found


def _said(document: PlanDocument, problem: HCSSP | ImplicitCSSP) -> dict[str, Any]:
    """What the file says besides the policy, as far as it is about the bounds of `problem`."""
    names = problem.constraint_names
    made_for = bounds_of(document, names)
    method, policies = document.get("method") or "", document.get("policies") or "deterministic"
    always = {"method": method, "made_for": made_for, "policies": policies}
    if made_for != dict(zip(names, problem.bounds.tolist(), strict=True)):
        return always
    budgets, prices = document.get("budgets") or {}, document.get("prices")
    if prices is not None:
        prices = {name: price for name in names if (price := prices.get(name)) is not None}
    for name, price in (prices or {}).items():
        if price is not None and price < 0.0:
            raise InvalidPlan(f"prices.{name}: {price} is not a price, which is never negative")
    return always | {
        "claim": _claim(document),
        "seconds": document.get("seconds") or 0.0,
        "ending": _ending(document),
        "prices": prices,
        "budgets": {
            activity: {name: inf if value is None else value for name, value in each.items()}
            for activity, each in budgets.items()
        },
    }


def _claim(document: PlanDocument) -> FileClaim:
    trace = document.get("trace") or []
    for index, point in enumerate(trace):
        if len(point) != 3:
            wanted = "three numbers: seconds, lower bound, upper bound"
            raise InvalidPlan(f"trace[{index}]: {shown(point)} is not {wanted}")
    _, lower, upper = _point(0.0, document.get("lower_bound"), document.get("upper_bound"))
    return FileClaim(lower, upper, Trace([_point(*point) for point in trace]))


def _ending(document: PlanDocument) -> Ending:
    """Why the search stopped; a reason that this version does not know becomes a detail."""
    reason, detail = document.get("stopped_by") or "", document.get("stop_detail") or ""
    return Ending(Reason(reason), detail) if reason in set(Reason) else Ending(Reason.UNKNOWN, reason)


def _extra_row(problem: HCSSP, written: WrittenExtra) -> tuple[int, float]:
    """An extra row of a randomised plan, and its probability."""
    flattening, names = problem.flattening, [activity.name for activity in problem.activities]
    name, state, action = written.get("activity"), written["state"], written["action"]
    starts, first = flattening.row_start[: flattening.num_event_states + 1], 0
    if name is not None and name not in names:
        raise InvalidPlan(f"policy.extra: {shown(name)} is not an activity of this problem")
    if name is not None:
        first = int(flattening.row_offset[names.index(name)])
        starts = problem.activities[names.index(name)].cssp.row_start
    if not 0 <= state < len(starts) - 1 or not 0 <= action < starts[state + 1] - starts[state]:
        raise InvalidPlan(f"policy.extra: state {state} has no action {action}")
    return first + int(starts[state]) + action, written["probability"]


def _chosen(flattening: Flattening, listed: Sequence[WrittenChoice]) -> dict[EventState, int]:
    problem, where = flattening.problem, "policy.choices"
    found: dict[EventState, int] = {}
    if len(listed) != flattening.num_event_states:
        wanted = f"a list of {flattening.num_event_states} choices, one for each event"
        raise InvalidPlan(f"{where}: {shown(listed)} is not {wanted}")
    for index, (state, entry) in enumerate(zip(flattening.event_states, listed, strict=True)):
        event, name = problem.events[state[0]], entry.get("choice")
        known = {problem.choices[choice].name: choice for choice in problem.choices_at(state[0])}
        if entry["event"] != event:
            raise InvalidPlan(f"{where}[{index}].event: {shown(entry['event'])} is not the event {event!r}")
        if name in known:
            found[state] = known[name]
        elif name is not None:
            wanted = f"a choice at {event!r}; available: {', '.join(map(repr, known)) or 'none'}"
            raise InvalidPlan(f"{where}[{index}].choice: {shown(name)} is not {wanted}")
    return found


def _rows(activity: Activity, given: WrittenActions) -> IntArray:
    """The rows of one activity's policy."""
    cssp, where = activity.cssp, f"policy.activities.{activity.name}"
    actions, repeats, counts = given["actions"], given["repeats"], np.diff(activity.cssp.row_start)
    if len(actions) != len(repeats) or any(repeat < 1 for repeat in repeats):
        raise InvalidPlan(f"{where}.repeats: there must be a positive number for each of the actions")
    if sum(repeats) != cssp.num_states:
        made = f"they make {sum(repeats)} actions, but the activity has {cssp.num_states} states"
        raise InvalidPlan(f"{where}.repeats: {made}")
    most = int(counts.max(initial=0))
    for action in actions:
        # Before they become an array, which takes no number of any size.
        if not NO_ROW <= action < most:
            raise InvalidPlan(f"{where}.actions: {action} is not {NO_ROW} or the position of an action")
    local = np.repeat(np.array(actions, dtype=np.int64), repeats)
    for state in np.flatnonzero(local >= counts)[:1].tolist():
        raise InvalidPlan(
            f"{where}.actions: state {cssp.state_labels[state]!r} has {counts[state]} actions, but the "
            f"plan takes number {local[state]} there, counted from 0"
        )
    return np.where(local == NO_ROW, NO_ROW, local + cssp.row_start[:-1])


def _point(seconds: float | None, lower: float | None, upper: float | None) -> tuple[float, float, float]:
    """A point of a trace; a bound that is null is infinite."""
    return seconds or 0.0, -inf if lower is None else lower, inf if upper is None else upper


def save_plan(path: str | Path, plan: Plan, *, fingerprint: str | None = None) -> None:
    """Write a plan; an old file is replaced in one step, or stays as it was.

    Parameters
    ----------
    path
        Where to.
    plan
        What to write.
    fingerprint
        That of the plan's problem, if it is at hand; it takes a moment to compute.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, json.dumps(plan_document(plan, fingerprint), allow_nan=False) + "\n")


def load_plan(path: str | Path, problem: Problem | ImplicitCSSP) -> Plan:
    """Read a plan for `problem`.

    The plan is judged by the bounds of `problem`, whatever bounds its file names (:attr:`Plan.made_for`);
    ``plan.under(problem.with_bounds(plan.made_for))`` puts it under those. The policy is evaluated again.
    What the file says was proven becomes the plan's claim if it is about the bounds of `problem`. Nothing
    follows from a claim: :meth:`Plan.verified` checks a certificate of it, and ``solve(problem, start=plan)``
    proves it again.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under the bounds that count. An implicit one is expanded where the plan goes. A plan that
        was made with one choice per event stays one, see :meth:`hcssp.HCSSP.choosing`.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, is no plan, is one for another problem, does not end, or contradicts
        itself; the message names the file, the field and the value.
    """
    file = str(path)
    return plan_of(read_document(file, FORMAT, (VERSION,), PlanDocument), problem, file)


def plan_of(document: PlanDocument, problem: Problem | ImplicitCSSP, file: str = "the plan") -> Plan:
    """The plan of a document of the right shape; see :func:`load_plan`."""
    with naming(file):
        if not problem.lists_states:
            return _evaluated(document, _implicit_plan(document, problem))
        if isinstance(problem, HCSSP) and (per_event := problem.choosing("per event")).limits_choices:
            # Made with one choice per event: a plan of this problem, too, but what is proven of it is not.
            named = document["problem"]["fingerprint"]
            problem = per_event if named == fingerprint_of(per_event) else problem
        check_problem(document, fingerprint_of(problem))
        plan = _plan(document, unnamed(problem).procedure)
        policy = plan.policy
        if isinstance(problem, HCSSP):
            found: Plan = replace(plan, problem=problem, found_policy=policy.under(problem))
        else:
            parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
            found = Plan(**parts | {"problem": problem, "found_policy": policy.activity(0).under(problem)})
        return _evaluated(document, found)
