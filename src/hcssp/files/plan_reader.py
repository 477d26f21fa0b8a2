"""A plan's file, read and compared with its problem; :mod:`hcssp.files.plan_file` says what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import FileClaim
from hcssp.contract.trace import Trace
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidPlan, InvalidProblem
from hcssp.files.checked_document import CheckedDocument, read_json, shown
from hcssp.files.plan_writer import FORMAT, VERSION
from hcssp.numerics import CLAIM_TOLERANCE
from hcssp.procedure import HCSSP, Activity, Flattening, ProcedurePolicy
from hcssp.procedure.entries import EventState


class PlanDocument(CheckedDocument):
    """A plan's file that has been read, but not yet compared with a problem."""

    @classmethod
    def read(cls, path: str | Path) -> PlanDocument:
        """Read a file that must be a plan's.

        Raises
        ------
        InvalidPlan
            If it is not.
        """
        file, content = str(path), read_json(path)
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise InvalidPlan([f"{file}: format: {shown(found)} is not {FORMAT!r}; this is no plan"])
        version = content.get("version")
        if version != VERSION or isinstance(version, bool):
            told = shown(version)
            raise InvalidPlan([f"{file}: version: {told} cannot be read; this hcssp reads version {VERSION}"])
        return cls(file, content)

    def check_problem(self, fingerprint: str) -> None:
        """Refuse a plan for another problem.

        Raises
        ------
        InvalidPlan
            If the fingerprint is another one.
        """
        about = self.get("problem", dict, "an object", {})
        found = about.get("fingerprint")
        if not isinstance(found, str):
            self.wrong("problem.fingerprint", found, "a text")
        self.raise_if_any()
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
        policy = self.get("policy", dict, "an object", {})
        flattening = problem.flattening
        choices = self._choices(flattening, policy.get("choices"))
        activities = self._activities(problem, policy.get("activities"))
        told = self._told(problem)
        self.raise_if_any()
        return ProcedurePlan(problem, ProcedurePolicy.compose(problem, choices, activities), **told)

    def implicit_plan(self, problem: ImplicitCSSP) -> Plan:
        """The plan of an implicit problem, which is expanded where the plan goes.

        Raises
        ------
        InvalidPlan
            If anything is wrong, such as a state that the plan comes to and does not know.
        """
        policy = self.get("policy", dict, "an object", {})
        given = policy.get("by_state")
        lists = [given.get(key) if isinstance(given, dict) else None for key in ("states", "actions")]
        for key, listed in zip(("states", "actions"), lists, strict=True):
            if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
                self.wrong(
                    f"policy.by_state.{key}", listed, "a list of texts, as plans of implicit problems have"
                )
        told = self._told(problem)
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
        return Plan(expansion.part(), found, memory=memory, **told)

    def _told(self, problem: HCSSP | ImplicitCSSP) -> dict[str, Any]:
        """What the file says besides the policy, as far as it is about the bounds of `problem`."""
        names = problem.constraint_names
        made_for = self.bounds(names)
        always = {"method": self.get("method", str, "a text", ""), "made_for": made_for}
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
            raise InvalidPlan([f"{self.file}: {error}"]) from error
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
        """Why the search stopped; a reason that this version does not know is told as a detail."""
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
                told = entry.get("event") if isinstance(entry, dict) else entry
                self.wrong(f"{place}.event", told, f"the event {event!r}")
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
