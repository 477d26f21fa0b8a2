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
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Ending, FileClaim, Reason, Trace
from hcssp.contract.solver import Memory, Problem
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, Extra
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidPlan, InvalidProblem
from hcssp.files.atomic import CheckedDocument, figure, figures, head, write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed
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
        "seconds": figure(plan.seconds),
        "lower_bound": figure(said.lower_bound),
        "upper_bound": figure(said.upper_bound),
        "prices": None if plan.prices is None else figures(plan.prices),
        "policy": {
            "choices": _choices(plan),
            "activities": _activities(plan),
            **_extra(plan),
            **by_state,
        },
        "budgets": {activity: figures(budgets) for activity, budgets in plan.budgets.items()},
        "evaluation": _evaluation(plan),
        "trace": [[figure(value) for value in point] for point in said.trace],
    }


def _by_state(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """What the plan of an implicit problem does in each state where it acts; nothing of other plans."""
    policy = plan.policy
    if not isinstance(plan.problem, ExpandedCSSP) or not isinstance(policy, DeterministicPolicy):
        return {}
    taken = policy.actions()
    return {"by_state": {"states": list(map(repr, taken)), "actions": list(map(repr, taken.values()))}}


def _claimed(plan: Plan) -> FileClaim:
    """What a file will claim: what was proven here, or what the plan's own file claims."""
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
        "costs": figures(dict(zip(evaluation.cost_names, evaluation.costs.tolist(), strict=True))),
        "activities": {
            activity.name: {
                "expected_executions": figure(activity.expected_executions),
                "cost": figure(activity.cost_per_execution),
                "usage": activity.usage_per_execution or dict.fromkeys(activity.usage),
            }
            for activity in evaluation.activities
        },
    }


class PlanDocument(CheckedDocument):
    """A plan's file that has been read, but not yet compared with a problem."""

    def plan(self, problem: HCSSP) -> ProcedurePlan:
        """The plan, for a problem that it is known to be for.

        Raises
        ------
        InvalidPlan
            If anything is wrong.
        """
        policy = self.get("policy", dict, "an object", {})
        flattening = problem.flattening
        choices = self._choices(flattening, policy.get("choices"))
        activities = self._activities(problem, policy.get("activities"))
        extra = self._extra(problem, policy.get("extra", []))
        said = self._said(problem)
        self.raise_if_any()
        rows = ProcedurePolicy.compose(problem, choices, activities).rows
        try:
            return ProcedurePlan(problem, problem.policy(rows, extra), **said)
        except InvalidProblem as error:
            raise InvalidPlan(f"{self.file}: policy.extra: {each}" for each in error.violations) from error

    def _extra(self, problem: HCSSP, listed: Any) -> Extra:
        """The extra rows of a randomised plan."""
        flattening, found = problem.flattening, list[tuple[int, float]]()
        names = [activity.name for activity in problem.activities]
        if not isinstance(listed, list):
            self.wrong("policy.extra", listed, "a list of objects")
            return ()
        for index, each in enumerate(listed):
            where = f"policy.extra[{index}]"
            if not isinstance(each, dict):
                self.wrong(where, each, "an object with 'activity', 'state', 'action' and 'probability'")
                continue
            name, place = each.get("activity"), (each.get("state"), each.get("action"))
            if name is not None and name not in names:
                self.wrong(f"{where}.activity", name, "an activity of this problem, or null for an event")
                continue
            starts, first = flattening.row_start[: flattening.num_event_states + 1], 0
            if name is not None:
                first = int(flattening.row_offset[names.index(name)])
                starts = problem.activities[names.index(name)].cssp.row_start
            state, action = (part if type(part) is int else -1 for part in place)
            if not 0 <= state < len(starts) - 1 or not 0 <= action < starts[state + 1] - starts[state]:
                self.wrong(where, list(place), "the positions of a state and of one of its actions")
                continue
            chance = self.number(f"{where}.probability", each.get("probability"), 0.0)
            found.append((first + int(starts[state]) + action, chance))
        return tuple(found)

    def implicit_plan(self, problem: ImplicitCSSP) -> Plan:
        """The plan of an implicit problem, which is expanded where the plan goes.

        Raises
        ------
        InvalidPlan
            If anything is wrong, such as a state that the plan reaches and does not know.
        """
        policy = self.get("policy", dict, "an object", {})
        given = policy.get("by_state")
        lists = [given.get(key) if isinstance(given, dict) else None for key in ("states", "actions")]
        for key, listed in zip(("states", "actions"), lists, strict=True):
            if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
                self.wrong(
                    f"policy.by_state.{key}", listed, "a list of texts, as plans of implicit problems have"
                )
        said = self._said(problem)
        self.raise_if_any()
        states, actions = lists[0] or [], lists[1] or []
        if len(states) != len(actions):
            self.violate(f"policy.by_state: {len(states)} states have {len(actions)} actions; give one each")
        self.raise_if_any()
        memory = Memory()
        expansion = memory.expansion(problem)
        try:
            found = expansion.follow(dict(zip(states, actions, strict=True)), by_text=True)
        except InvalidProblem as error:
            raise InvalidPlan(f"{self.file}: {each}" for each in error.violations) from error
        return Plan(expansion.part(), found, memory=memory, **said)

    def _said(self, problem: HCSSP | ImplicitCSSP) -> dict[str, Any]:
        """What the file says besides the policy, as far as it is about the bounds of `problem`."""
        names = problem.constraint_names
        made_for = self.bounds(names)
        policies = self.get("policies", str, "a text", "deterministic")
        if policies not in ("deterministic", "randomised"):
            self.wrong("policies", policies, "'deterministic' or 'randomised'")
        method = self.get("method", str, "a text", "")
        always = {"method": method, "made_for": made_for, "policies": policies}
        under_its_bounds = {
            "claim": self._claim(),
            "seconds": self.number("seconds", self.content.get("seconds"), 0.0),
            "ending": self._ending(),
            "prices": self._prices(names),
            "budgets": self._budgets(),
        }
        same = made_for == dict(zip(names, problem.bounds.tolist(), strict=True))
        return always | under_its_bounds if same else always

    def evaluated(self, plan: Plan) -> Plan:
        """The plan with its costs computed again, which must be those that the file claims.

        Raises
        ------
        InvalidPlan
            If they are not, or the policy does not end.
        """
        try:
            found = plan.evaluated()
        except (ImproperPolicy, CostOverflow) as error:
            raise InvalidPlan(f"{self.file}: {error}") from error
        claimed = self.number("upper_bound", self.content.get("upper_bound"), inf)
        cost = found.cost(plan.problem.primary_name)
        if isfinite(claimed) and abs(claimed - cost) > CLAIM_TOLERANCE * max(abs(claimed), abs(cost)):
            self.violate(f"upper_bound: it claims an expected cost of {claimed:.9g}, but it is {cost:.9g}")
        self.raise_if_any()
        return found

    def _claim(self) -> FileClaim:
        lower_bound = self.number("lower_bound", self.content.get("lower_bound"), -inf)
        upper_bound = self.number("upper_bound", self.content.get("upper_bound"), inf)
        try:
            return FileClaim(lower_bound, upper_bound, self._trace())
        except InvalidPlan as error:
            for violation in error.violations:
                self.violate(violation)
            return FileClaim()

    def _ending(self) -> Ending:
        """Why the search stopped; a reason that this version does not know becomes a detail."""
        reason = self.get("stopped_by", str, "a text", "")
        detail = self.get("stop_detail", str, "a text", "")
        if reason in set(Reason):
            return Ending(Reason(reason), detail)
        return Ending(Reason.UNKNOWN, reason)

    def _prices(self, names: Sequence[str]) -> dict[str, float] | None:
        given = self.get("prices", dict, "an object", None)
        if given is None:
            return None
        prices: dict[str, float] = {}
        for name in names:
            if given.get(name) is None:
                continue
            prices[name] = self.number(f"prices.{name}", given[name], 0.0)
            if prices[name] < 0.0:
                self.wrong(f"prices.{name}", given[name], "a price, which is never negative")
        return prices

    def _choices(self, flattening: Flattening, listed: Any) -> dict[EventState, int]:
        problem, where = flattening.problem, "policy.choices"
        found: dict[EventState, int] = {}
        if not isinstance(listed, list) or len(listed) != flattening.num_event_states:
            self.wrong(where, listed, f"a list of {flattening.num_event_states} choices, one for each event")
            return found
        for index, (state, entry) in enumerate(zip(flattening.event_states, listed, strict=True)):
            event = problem.events[state[0]]
            place = f"{where}[{index}]"
            if not isinstance(entry, dict) or entry.get("event") != event:
                said = entry.get("event") if isinstance(entry, dict) else entry
                self.wrong(f"{place}.event", said, f"the event {event!r}")
                continue
            name = entry.get("choice")
            if name is None:
                continue
            known = {problem.choices[choice].name: choice for choice in problem.choices_at(state[0])}
            if not isinstance(name, str) or name not in known:
                there = ", ".join(map(repr, known)) or "none"
                self.wrong(f"{place}.choice", name, f"a choice at {event!r}; there are {there}")
                continue
            found[state] = known[name]
        return found

    def _activities(self, problem: HCSSP, given: Any) -> tuple[IntArray, ...]:
        if not isinstance(given, dict):
            self.wrong("policy.activities", given, "an object")
            return ()
        names = [activity.name for activity in problem.activities]
        for name in given.keys() - set(names):
            self.wrong("policy.activities", name, "an activity of this problem")
        return tuple(self._rows(activity, given.get(activity.name)) for activity in problem.activities)

    def _rows(self, activity: Activity, given: Any) -> IntArray:
        """The rows of one activity's policy."""
        cssp, where = activity.cssp, f"policy.activities.{activity.name}"
        nothing = np.full(cssp.num_states, NO_ROW, dtype=np.int64)
        if not isinstance(given, dict):
            self.wrong(where, given, "an object with 'actions' and 'repeats'")
            return nothing
        actions = self.whole_numbers(f"{where}.actions", given.get("actions"))
        repeats = self.whole_numbers(f"{where}.repeats", given.get("repeats"))
        if actions is None or repeats is None:
            return nothing
        if len(actions) != len(repeats) or any(repeat < 1 for repeat in repeats):
            self.violate(f"{where}.repeats: there must be a positive number for each of the actions")
            return nothing
        if sum(repeats) != cssp.num_states:
            self.violate(
                f"{where}.repeats: they make {sum(repeats)} actions, but the activity has "
                f"{cssp.num_states} states"
            )
            return nothing
        most = int(np.diff(cssp.row_start).max(initial=0))
        for action in actions:
            # Before they become an array, which takes no number of any size.
            if not NO_ROW <= action < most:
                self.wrong(f"{where}.actions", action, f"{NO_ROW} or the position of an action")
                return nothing
        local = np.repeat(np.array(actions, dtype=np.int64), repeats)
        wrong = np.flatnonzero(local >= np.diff(cssp.row_start))
        if len(wrong):
            label = cssp.state_labels[int(wrong[0])]
            count = int(np.diff(cssp.row_start)[wrong[0]])
            more = f" (and {len(wrong) - 1} more such states)" if len(wrong) > 1 else ""
            self.violate(
                f"{where}.actions: state {label!r} has {count} actions, but the plan takes number "
                f"{int(local[wrong[0]])} there, counted from 0{more}"
            )
            return nothing
        return np.where(local == NO_ROW, NO_ROW, local + cssp.row_start[:-1])

    def _budgets(self) -> dict[str, dict[str, float]]:
        given = self.get("budgets", dict, "an object", {}) or {}
        budgets: dict[str, dict[str, float]] = {}
        for activity, each in given.items():
            if not isinstance(each, dict):
                self.wrong(f"budgets.{activity}", each, "an object")
                continue
            budgets[activity] = {
                name: self.number(f"budgets.{activity}.{name}", value, inf) for name, value in each.items()
            }
        return budgets

    def _trace(self) -> Trace:
        points = []
        for index, point in enumerate(self.get("trace", list, "a list", []) or []):
            where = f"trace[{index}]"
            if not isinstance(point, list) or len(point) != 3:
                self.wrong(where, point, "three numbers: seconds, lower bound, upper bound")
                continue
            unknown = (0.0, -inf, inf)
            seconds, lower, upper = (
                self.number(where, value, other) for value, other in zip(point, unknown, strict=True)
            )
            points.append((seconds, lower, upper))
        return Trace(points)


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
    return plan_of(PlanDocument.of_format(path, FORMAT, (VERSION,)), problem)


def plan_of(document: PlanDocument, problem: Problem | ImplicitCSSP) -> Plan:
    """The plan of a document that has been read; see :func:`load_plan`."""
    if not problem.lists_states:
        return document.evaluated(document.implicit_plan(problem))
    if isinstance(problem, HCSSP) and (per_event := problem.choosing("per event")).limits_choices:
        named = document.get("problem", dict, "an object", {}).get("fingerprint")
        # Made with one choice per event: a plan of this problem, too, but what is proven of it is not.
        problem = per_event if named == fingerprint_of(per_event) else problem
    document.check_problem(fingerprint_of(problem))
    plan = document.plan(unnamed(problem).procedure)
    policy = plan.policy
    found: Plan
    if isinstance(problem, HCSSP):
        found = replace(plan, problem=problem, found_policy=policy.under(problem))
    else:
        parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
        found = Plan(**parts | {"problem": problem, "found_policy": policy.activity(0).under(problem)})
    return document.evaluated(found)
