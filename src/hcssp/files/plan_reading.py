"""Reading a plan's file: everything that is wrong with it is told together, with file and field.

Nothing in it is trusted: sizes are checked before arrays are made of them, and every action must be one
that its state has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.plan import ProcedurePlan
from hcssp.contract.proof import Interval
from hcssp.contract.trace import Trace
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.files.problem_file.source import read_bytes
from hcssp.procedure import HCSSP, Activity, Flattening, ProcedurePolicy
from hcssp.procedure.entries import EventState

LARGEST_FILE = 2**30
_SHOWN = 60


class PlanDocument:
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
    def read(cls, path: str | Path, kind: str, version: int) -> PlanDocument:
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
        bounds = self._bounds(problem)
        lower_bound = self._number("lower_bound", self._content.get("lower_bound"), -inf)
        upper_bound = self._number("upper_bound", self._content.get("upper_bound"), inf)
        told: dict[str, Any] = {
            "method": self._get("method", str, "a text", ""),
            "proof": Interval(lower_bound, upper_bound),
            "seconds": self._number("seconds", self._content.get("seconds"), 0.0),
            "ending": self._ending(),
            "prices": self._prices(problem),
            "trace": self._trace(),
            "budgets": self._budgets(),
        }
        self._raise_if_any()
        bounded = problem.with_bounds(bounds)
        return ProcedurePlan(bounded, ProcedurePolicy.compose(bounded, choices, activities), **told)

    def _ending(self) -> Ending:
        """Why the search stopped; a reason that this version does not know is told as a detail."""
        reason = self._get("stopped_by", str, "a text", "")
        detail = self._get("stop_detail", str, "a text", "")
        if reason in set(Reason):
            return Ending(Reason(reason), detail)
        return Ending(Reason.UNKNOWN, reason)

    def _prices(self, problem: HCSSP) -> dict[str, float] | None:
        given = self._get("prices", dict, "an object", None)
        if given is None:
            return None
        return {
            name: self._number(f"prices.{name}", given.get(name), 0.0) for name in problem.constraint_names
        }

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

    def _bounds(self, problem: HCSSP) -> dict[str, float]:
        given = self._get("bounds", dict, "an object", {})
        names = [constraint.name for constraint in problem.constraints]
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
