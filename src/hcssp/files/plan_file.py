"""Plans on disk: one JSON object, written atomically, and refused where it does not fit.

``format`` and ``version``
    ``"hcssp-plan"`` and 1.
``problem``
    Its ``name``, and its ``fingerprint`` (:mod:`hcssp.files.fingerprint`), which says which problem the plan
    is for, whatever its bounds are.
``bounds``
    The bound of each constraint that the plan was made for; ``null`` for none.
``method``, ``status``, ``stopped_by``, ``stop_detail``, ``seconds``, ``lower_bound``, ``upper_bound``,
``trace``
    What is claimed to be proven, by which method and why it stopped; ``stopped_by`` is ``null`` if the run
    was killed. ``trace`` holds triples of seconds, lower and upper bound; ``null`` is an infinite one.
    Anybody can write such a file, so its reader has a policy, which is evaluated anew, and a claim.
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
    What an execution of each activity was allotted, by methods that do.
``evaluation``
    For readers: the plan's exact costs, and of each activity the expected executions and the cost and usage
    of one. ``null`` if the run was killed. Nobody relies on it.

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
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import FileClaim
from hcssp.contract.trace import Trace
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidPlan, InvalidProblem
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint as fingerprint_of
from hcssp.files.fingerprint import unnamed
from hcssp.files.problem_file.source import read_bytes
from hcssp.numerics import CLAIM_TOLERANCE
from hcssp.procedure import HCSSP, Activity, Flattening, ProcedurePolicy, as_procedure, as_single_policy
from hcssp.procedure.entries import EventState

FORMAT = "hcssp-plan"
VERSION = 1


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


def load_plan(path: str | Path, problem: Problem | ImplicitCSSP, *, fingerprint: str | None = None) -> Plan:
    """Read a plan for `problem`.

    The plan's problem is `problem` under the bounds that the plan was made for; :meth:`Plan.under` puts it
    under others. The policy is evaluated anew; what the file says was proven becomes the plan's claim, from
    which nothing follows: :meth:`Plan.verified` checks a certificate of it, and ``solve(problem,
    start=plan)`` proves it again.

    Parameters
    ----------
    path
        The file.
    problem
        The problem, under whatever bounds. An implicit one is expanded where the plan goes.
    fingerprint
        That of `problem`, if it is at hand; an implicit one has none.

    Raises
    ------
    InvalidPlan
        If the file cannot be read, is no plan, is one for another problem, does not end, or contradicts
        itself; the message names the file, the field and the value.
    """
    document = _PlanDocument.read(path, FORMAT, VERSION)
    if isinstance(problem, ImplicitCSSP):
        return document.evaluated(document.implicit_plan(problem))
    document.check_problem(fingerprint or fingerprint_of(problem))
    plan = document.plan(as_procedure(unnamed(problem)))
    bounded = problem.with_bounds(plan.bounds)
    policy = plan.policy
    found: Plan
    if isinstance(bounded, HCSSP):
        found = replace(plan, problem=bounded, found_policy=policy.under(bounded))
    else:
        parts = {each.name: getattr(plan, each.name) for each in fields(plan)}
        found = Plan(**parts | {"problem": bounded, "found_policy": as_single_policy(bounded, policy)})
    return document.evaluated(found)


def plan_document(plan: Plan, fingerprint: str | None = None) -> dict[str, Any]:
    """The object that a plan's file holds."""
    name, fingerprint = plan.name, fingerprint or fingerprint_of(plan.problem)
    told, by_state = _told(plan), _by_state(plan)
    plan = replace(plan, problem=unnamed(plan.problem)).as_procedure()
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": {"name": name, "fingerprint": fingerprint},
        "bounds": {name: _figure(bound) for name, bound in plan.bounds.items()},
        "method": plan.method,
        "status": str(plan.status),
        "stopped_by": None if plan.ending.reason is Reason.UNKNOWN else str(plan.ending.reason),
        "stop_detail": plan.ending.detail or None,
        "seconds": _figure(plan.seconds),
        "lower_bound": _figure(told.lower_bound),
        "upper_bound": _figure(told.upper_bound),
        "prices": None
        if plan.prices is None
        else {name: _figure(price) for name, price in plan.prices.items()},
        "policy": {"choices": _choices(plan), "activities": _activities(plan), **by_state},
        "budgets": {
            activity: {name: _figure(budget) for name, budget in budgets.items()}
            for activity, budgets in plan.budgets.items()
        },
        "evaluation": _evaluation(plan),
        "trace": [[_figure(value) for value in point] for point in told.trace],
    }


def _by_state(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """What the plan of an implicit problem does in each state where it acts; nothing of other plans."""
    policy = plan.policy
    if not isinstance(plan.problem, ExpandedCSSP) or not isinstance(policy, DeterministicPolicy):
        return {}
    taken = policy.actions()
    return {"by_state": {"states": list(map(repr, taken)), "actions": list(map(repr, taken.values()))}}


def _told(plan: Plan) -> FileClaim:
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
        "costs": {
            name: _figure(cost)
            for name, cost in zip(evaluation.cost_names, evaluation.costs.tolist(), strict=True)
        },
        "activities": {
            activity.name: {
                "expected_executions": _figure(activity.expected_executions),
                "cost": _figure(activity.cost_per_execution),
                "usage": activity.usage_per_execution or dict.fromkeys(activity.usage),
            }
            for activity in evaluation.activities
        },
    }


def _figure(value: float | None) -> float | None:
    """A number that JSON knows, or None."""
    return None if value is None or not isfinite(value) else float(value)


LARGEST_FILE = 2**30
_SHOWN = 60


class _PlanDocument:
    """A plan's file that has been read, but not yet compared with a problem.

    Parameters
    ----------
    file
        What the user calls it.
    content
        The object it holds.
    """

    def __init__(self, file: str, content: Mapping[str, Any]) -> None:
        self.file = file
        self._content = content
        self._violations: list[str] = []

    @classmethod
    def read(cls, path: str | Path, kind: str, version: int) -> _PlanDocument:
        """Read a file that must be of a kind and version.

        Raises
        ------
        InvalidPlan
            If it is not.
        """
        file = str(path)
        try:
            content = json.loads(read_bytes(Path(path), file, LARGEST_FILE), parse_constant=_refuse)
        except InvalidProblem as error:
            raise InvalidPlan(error.violations) from None
        except (ValueError, RecursionError) as error:
            raise InvalidPlan([f"{file}: this is not JSON: {error}"]) from None
        found = content.get("format") if isinstance(content, dict) else None
        if found != kind:
            raise InvalidPlan([f"{file}: format: {_shown(found)} is not {kind!r}; this is no plan"])
        if content.get("version") != version or isinstance(content.get("version"), bool):
            told = _shown(content.get("version"))
            raise InvalidPlan([f"{file}: version: {told} cannot be read; this hcssp reads version {version}"])
        return cls(file, content)

    def check_problem(self, fingerprint: str) -> None:
        """Refuse a plan for another problem.

        Raises
        ------
        InvalidPlan
            If the fingerprint is another one.
        """
        about = self._get("problem", dict, "an object", {})
        found = about.get("fingerprint")
        if not isinstance(found, str):
            self._wrong("problem.fingerprint", found, "a text")
        self._raise_if_any()
        if found != fingerprint:
            name = about.get("name")
            called = f", called {name!r}" if isinstance(name, str) and name else ""
            raise InvalidPlan(
                [
                    f"{self.file}: this plan is for another problem{called} (its fingerprint is "
                    f"{found[:12]}, that of this problem is {fingerprint[:12]}); solve this one, or name "
                    "the plan's own problem, in its scale"
                ]
            )

    def plan(self, problem: HCSSP) -> ProcedurePlan:
        """The plan, for a problem that it is known to be for.

        Raises
        ------
        InvalidPlan
            If anything is wrong.
        """
        policy = self._get("policy", dict, "an object", {})
        flattening = problem.flattening
        choices = self._choices(flattening, policy.get("choices"))
        activities = self._activities(problem, policy.get("activities"))
        told, bounds = self._told(problem.constraint_names), self._bounds(problem.constraint_names)
        self._raise_if_any()
        bounded = problem.with_bounds(bounds)
        return ProcedurePlan(bounded, ProcedurePolicy.compose(bounded, choices, activities), **told)

    def implicit_plan(self, problem: ImplicitCSSP) -> Plan:
        """The plan of an implicit problem, which is expanded where the plan goes.

        Raises
        ------
        InvalidPlan
            If anything is wrong, such as a state that the plan comes to and does not know.
        """
        policy = self._get("policy", dict, "an object", {})
        given = policy.get("by_state")
        lists = [given.get(key) if isinstance(given, dict) else None for key in ("states", "actions")]
        for key, listed in zip(("states", "actions"), lists, strict=True):
            if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
                self._wrong(
                    f"policy.by_state.{key}", listed, "a list of texts, as plans of implicit problems have"
                )
        told, bounds = self._told(problem.constraint_names), self._bounds(problem.constraint_names)
        self._raise_if_any()
        states, actions = lists[0] or [], lists[1] or []
        if len(states) != len(actions):
            self._violate(f"policy.by_state: {len(states)} states have {len(actions)} actions; give one each")
        self._raise_if_any()
        memory, bounded = Memory(), problem.with_bounds(bounds)
        expansion = memory.expansion(bounded)
        try:
            found = expansion.follow(dict(zip(states, actions, strict=True)), by_text=True)
        except InvalidProblem as error:
            raise InvalidPlan(f"{self.file}: {each}" for each in error.violations) from error
        return Plan(expansion.part(), found, memory=memory, **told)

    def _told(self, names: Sequence[str]) -> dict[str, Any]:
        """What is told besides the policy, for constraints of these names."""
        return {
            "method": self._get("method", str, "a text", ""),
            "claim": self._claim(),
            "seconds": self._number("seconds", self._content.get("seconds"), 0.0),
            "ending": self._ending(),
            "prices": self._prices(names),
            "budgets": self._budgets(),
        }

    def evaluated(self, plan: Plan) -> Plan:
        """The plan with its costs computed anew, which must be those that are claimed.

        Raises
        ------
        InvalidPlan
            If they are not, or the policy does not end.
        """
        try:
            found = plan.evaluated()
        except (ImproperPolicy, CostOverflow) as error:
            raise InvalidPlan([f"{self.file}: {error}"]) from error
        claimed = inf if plan.claim is None else plan.claim.upper_bound
        cost = found.cost(plan.problem.primary_name)
        if isfinite(claimed) and abs(claimed - cost) > CLAIM_TOLERANCE * max(abs(claimed), abs(cost)):
            self._violate(f"upper_bound: it claims an expected cost of {claimed:.9g}, but it is {cost:.9g}")
        self._raise_if_any()
        return found

    def _claim(self) -> FileClaim:
        lower_bound = self._number("lower_bound", self._content.get("lower_bound"), -inf)
        upper_bound = self._number("upper_bound", self._content.get("upper_bound"), inf)
        try:
            return FileClaim(lower_bound, upper_bound, self._trace())
        except InvalidPlan as error:
            for violation in error.violations:
                self._violate(violation)
            return FileClaim()

    def _ending(self) -> Ending:
        """Why the search stopped; a reason that this version does not know is told as a detail."""
        reason = self._get("stopped_by", str, "a text", "")
        detail = self._get("stop_detail", str, "a text", "")
        if reason in set(Reason):
            return Ending(Reason(reason), detail)
        return Ending(Reason.UNKNOWN, reason)

    def _prices(self, names: Sequence[str]) -> dict[str, float] | None:
        given = self._get("prices", dict, "an object", None)
        if given is None:
            return None
        prices: dict[str, float] = {}
        for name in names:
            if given.get(name) is None:
                continue
            prices[name] = self._number(f"prices.{name}", given[name], 0.0)
            if prices[name] < 0.0:
                self._wrong(f"prices.{name}", given[name], "a price, which is never negative")
        return prices

    def _choices(self, flattening: Flattening, listed: Any) -> dict[EventState, int]:
        problem, where = flattening.problem, "policy.choices"
        found: dict[EventState, int] = {}
        if not isinstance(listed, list) or len(listed) != flattening.num_event_states:
            self._wrong(where, listed, f"a list of {flattening.num_event_states} choices, one for each event")
            return found
        for index, (state, entry) in enumerate(zip(flattening.event_states, listed, strict=True)):
            event = problem.events[state[0]]
            place = f"{where}[{index}]"
            if not isinstance(entry, dict) or entry.get("event") != event:
                told = entry.get("event") if isinstance(entry, dict) else entry
                self._wrong(f"{place}.event", told, f"the event {event!r}")
                continue
            name = entry.get("choice")
            if name is None:
                continue
            known = {problem.choices[choice].name: choice for choice in problem.choices_at(state[0])}
            if not isinstance(name, str) or name not in known:
                there = ", ".join(map(repr, known)) or "none"
                self._wrong(f"{place}.choice", name, f"a choice at {event!r}; there are {there}")
                continue
            found[state] = known[name]
        return found

    def _activities(self, problem: HCSSP, given: Any) -> tuple[IntArray, ...]:
        if not isinstance(given, dict):
            self._wrong("policy.activities", given, "an object")
            return ()
        names = [activity.name for activity in problem.activities]
        for name in given.keys() - set(names):
            self._wrong("policy.activities", name, "an activity of this problem")
        return tuple(self._rows(activity, given.get(activity.name)) for activity in problem.activities)

    def _rows(self, activity: Activity, given: Any) -> IntArray:
        """The rows of one activity's policy."""
        cssp, where = activity.cssp, f"policy.activities.{activity.name}"
        nothing = np.full(cssp.num_states, NO_ROW, dtype=np.int64)
        if not isinstance(given, dict):
            self._wrong(where, given, "an object with 'actions' and 'repeats'")
            return nothing
        actions = self._whole_numbers(f"{where}.actions", given.get("actions"))
        repeats = self._whole_numbers(f"{where}.repeats", given.get("repeats"))
        if actions is None or repeats is None:
            return nothing
        if len(actions) != len(repeats) or any(repeat < 1 for repeat in repeats):
            self._violate(f"{where}.repeats: there must be a positive number for each of the actions")
            return nothing
        if sum(repeats) != cssp.num_states:
            self._violate(
                f"{where}.repeats: they make {sum(repeats)} actions, but the activity has "
                f"{cssp.num_states} states"
            )
            return nothing
        most = int(np.diff(cssp.row_start).max(initial=0))
        for action in actions:
            # Before they become an array, which takes no number of any size.
            if not NO_ROW <= action < most:
                self._wrong(f"{where}.actions", action, f"{NO_ROW} or the position of an action")
                return nothing
        local = np.repeat(np.array(actions, dtype=np.int64), repeats)
        wrong = np.flatnonzero(local >= np.diff(cssp.row_start))
        if len(wrong):
            label = cssp.state_labels[int(wrong[0])]
            count = int(np.diff(cssp.row_start)[wrong[0]])
            more = f" (and {len(wrong) - 1} more such states)" if len(wrong) > 1 else ""
            self._violate(
                f"{where}.actions: state {label!r} has {count} actions, but the plan takes number "
                f"{int(local[wrong[0]])} there, counted from 0{more}"
            )
            return nothing
        return np.where(local == NO_ROW, NO_ROW, local + cssp.row_start[:-1])

    def _bounds(self, names: Sequence[str]) -> dict[str, float]:
        given = self._get("bounds", dict, "an object", {})
        if set(given) != set(names):
            wanted = ", ".join(map(repr, names)) or "none"
            self._wrong("bounds", list(given), f"the constraints of this problem, {wanted}")
            return {}
        return {name: self._number(f"bounds.{name}", given[name], inf) for name in names}

    def _budgets(self) -> dict[str, dict[str, float]]:
        given = self._get("budgets", dict, "an object", {}) or {}
        budgets: dict[str, dict[str, float]] = {}
        for activity, each in given.items():
            if not isinstance(each, dict):
                self._wrong(f"budgets.{activity}", each, "an object")
                continue
            budgets[activity] = {
                name: self._number(f"budgets.{activity}.{name}", value, inf) for name, value in each.items()
            }
        return budgets

    def _trace(self) -> Trace:
        points = []
        for index, point in enumerate(self._get("trace", list, "a list", []) or []):
            where = f"trace[{index}]"
            if not isinstance(point, list) or len(point) != 3:
                self._wrong(where, point, "three numbers: seconds, lower bound, upper bound")
                continue
            unknown = (0.0, -inf, inf)
            seconds, lower, upper = (
                self._number(where, value, other) for value, other in zip(point, unknown, strict=True)
            )
            points.append((seconds, lower, upper))
        return Trace(points)

    def _whole_numbers(self, where: str, given: Any) -> list[int] | None:
        if not isinstance(given, list) or not all(type(value) is int for value in given):
            self._wrong(where, given, "a list of whole numbers")
            return None
        return given

    def _number(self, where: str, given: Any, unknown: float) -> float:
        """A finite number, or `unknown` for null."""
        if given is None:
            return unknown
        if isinstance(given, bool) or not isinstance(given, int | float):
            self._wrong(where, given, "a number or null")
            return unknown
        try:
            value = float(given)
        except OverflowError:
            value = inf
        if not isfinite(value):
            self._wrong(where, given, "a number that a computer can hold")
            return unknown
        return value

    def _get(self, key: str, kind: type[Any], what: str, otherwise: Any) -> Any:
        """The value of a key, or `otherwise` if it is null, missing or something else."""
        value = self._content.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, kind):
            self._wrong(key, value, what)
            return otherwise
        return value

    def _wrong(self, where: str, value: Any, wanted: str) -> None:
        self._violate(f"{where}: {_shown(value)} is not {wanted}")

    def _violate(self, message: str) -> None:
        self._violations.append(f"{self.file}: {message}")

    def _raise_if_any(self) -> None:
        if self._violations:
            raise InvalidPlan(dict.fromkeys(self._violations))


def _shown(value: Any) -> str:
    """A value for a message: short, and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
