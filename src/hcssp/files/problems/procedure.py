"""The procedure and the constraints of a problem file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import fsum, inf

from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.files.problems.models import LoadedActivity
from hcssp.files.reading.fields import Field
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.builder import ActivityHandle, EventHandle

_NO_BOUND = ("inf", ".inf")


class Procedure:
    """Reads the procedure and the constraints of one document, and builds the problem.

    Parameters
    ----------
    document
        The document, for what belongs to no other place.
    activities
        The activities that are sound.
    names
        The names of all activities, sound or not.
    """

    def __init__(self, document: Field, activities: Mapping[str, LoadedActivity], names: list[str]) -> None:
        self._document = document
        self._activities = activities
        self._names = names
        self._builder = ProcedureBuilder()
        self._events: dict[str, tuple[EventHandle, Field]] = {}
        self._handles: dict[str, ActivityHandle] = {}
        self._run_by: dict[str, Field] = {}
        self._ends: tuple[str, str] | None = None
        self._constraints: dict[str, Field] = {}

    def read(self, procedure: Field | None, constraints: Field | None) -> None:
        """Note everything that is wrong with the parts."""
        for name, activity in self._activities.items():
            self._handles[name] = self._builder.add_activity(name, activity.cssp)
        if procedure is None:
            self._single()
        else:
            self._read_procedure(procedure)
        if constraints is not None:
            for name, field in (constraints.members("a mapping from names to constraints") or {}).items():
                self._constraint(name, field)

    def build(self) -> HCSSP | None:
        """The problem; None, and the mistakes noted, if the whole makes no sense. Call it if the parts do."""
        if self._ends is None:
            return None
        start, end = (self._events[name][0] for name in self._ends)
        try:
            return self._builder.build(start=start, end=end)
        except InvalidProblem as error:
            for violation in error.violations:
                self._wrong(violation)
            return None

    def _wrong(self, violation: str) -> None:
        """Note a violation where it belongs: its sentence begins with the thing that is wrong."""
        places = {
            **{f"event {name!r}": field for name, (_, field) in self._events.items()},
            **{f"activity {name!r}": each.field for name, each in self._activities.items()},
            **{f"constraint {name!r}": field for name, field in self._constraints.items()},
        }
        for head, field in places.items():
            if violation.startswith(head):
                # The path says what the head says.
                field.wrong(violation.removeprefix(f"{head}: "))
                return
        self._document.wrong(violation)

    def _single(self) -> None:
        """Without a procedure the only activity is run, and that is all."""
        if len(self._names) != 1:
            self._document.wrong(
                f"the key 'procedure' is missing; with {len(self._names)} activities it must say which "
                "runs when"
            )
            return
        (name,) = self._names
        start, end = self._builder.add_event("start"), self._builder.add_event("end")
        self._events = {"start": (start, self._document), "end": (end, self._document)}
        if name in self._handles:
            self._builder.add_choice(start, name, to=[Outcome(1.0, end, runs=self._handles[name])])
        self._ends = ("start", "end")

    def _read_procedure(self, procedure: Field) -> None:
        parts = procedure.entries("a procedure", ("start", "end", "events"))
        if parts is None:
            return
        events = (
            (parts["events"].members("a mapping from events to choices") or {}) if "events" in parts else {}
        )
        end = parts["end"].name("the name of an event") if "end" in parts else None
        for name, field in events.items():
            self._events[name] = (self._builder.add_event(name), field)
        # There is nothing to say about the end, so it need not be listed.
        if end is not None and end not in self._events:
            self._events[end] = (self._builder.add_event(end), parts["end"])
        if "events" not in parts:
            return
        before = len(procedure.findings)
        start = self._event(parts["start"]) if "start" in parts else None
        for name, field in events.items():
            self._choices(name, field, is_end=name == end)
        # An outcome that is wrong might have run what seems to be run by none.
        for name in self._names if len(procedure.findings) == before else ():
            if name in self._activities and name not in self._run_by:
                self._activities[name].field.wrong(
                    "no outcome runs this activity; let one run it, or leave it out"
                )
        if start is not None and end is not None:
            self._ends = (start, end)

    def _event(self, field: Field) -> str | None:
        name = field.name("the name of an event")
        if name is not None and name not in self._events:
            field.wrong(f"there is no event {name!r}; {did_you_mean(name, [*self._events])}")
            return None
        return name

    def _choices(self, event: str, field: Field, *, is_end: bool) -> None:
        choices = {} if field.is_nothing else field.members("a mapping from choices to outcomes") or {}
        if is_end and choices:
            field.wrong("the procedure ends at this event, so there is nothing to choose; remove the choices")
            return
        for name, choice in choices.items():
            outcomes = list(self._outcomes(choice))
            total = fsum(outcome.probability for outcome in outcomes)
            if outcomes and len(outcomes) == self._count(choice) and abs(total - 1.0) > PROBABILITY_TOLERANCE:
                choice.wrong(f"the probabilities of the outcomes sum to {total:.10g}, not 1")
            self._builder.add_choice(self._events[event][0], name, to=outcomes)

    @staticmethod
    def _count(choice: Field) -> int:
        return len(choice.items("outcomes") or ()) if choice.is_list else 1

    def _outcomes(self, choice: Field) -> Iterator[Outcome]:
        """The outcomes that are sound: one, or a list of them with their probabilities."""
        items = (choice.items("a list of outcomes") or []) if choice.is_list else [choice]
        if not items:
            choice.wrong("there are no outcomes; say where the choice leads")
        for item in items:
            required = ("to",) if len(items) == 1 else ("to", "probability")
            optional = ("runs", "probability") if len(items) == 1 else ("runs",)
            parts = item.entries("an outcome, {to: an event, runs: an activity}", required, optional)
            if parts is None:
                continue
            reached = self._event(parts["to"]) if "to" in parts else None
            probability = parts["probability"].probability() if "probability" in parts else 1.0
            runs = self._activity(parts["runs"]) if "runs" in parts else None
            if (
                reached is not None
                and probability is not None
                and ("probability" in parts or len(items) == 1)
            ):
                handle = self._handles.get(runs) if runs is not None else None
                yield Outcome(probability, self._events[reached][0], runs=handle)

    def _activity(self, field: Field) -> str | None:
        name = field.name("the name of an activity")
        if name is None:
            return None
        if name not in self._names:
            field.wrong(f"there is no activity {name!r}; {did_you_mean(name, self._names)}")
            return None
        if name in self._run_by:
            field.wrong(
                f"activity {name!r} is run on line {self._run_by[name].line} already, and an activity has "
                f"one plan; add another activity with 'model: {name}'"
            )
            return None
        self._run_by[name] = field
        return name

    def _constraint(self, name: str, field: Field) -> None:
        self._constraints[name] = field
        parts = field.entries("a constraint, {at_most: a number, counts: a cost}", ("at_most",), ("counts",))
        if parts is None:
            return
        bound = self._bound(parts["at_most"]) if "at_most" in parts else None
        primary = {activity.cssp.cost_names[0] for activity in self._activities.values()}
        if primary == {name}:
            field.wrong(f"{name!r} is the cost to minimise; give the constraint another name")
        if "counts" in parts and parts["counts"].is_mapping:
            counts = self._counts_by_activity(parts["counts"])
        else:
            where = parts.get("counts", field)
            cost = where.name("a cost, or a mapping from activities to costs") if "counts" in parts else name
            counts = self._counts_of_all(where, cost, shorthand="counts" not in parts)
        if bound is not None and counts:
            self._builder.add_constraint(name, at_most=bound, counts=counts)

    def _bound(self, field: Field) -> float | None:
        if field.value in (*_NO_BOUND, inf) and not isinstance(field.value, bool):
            return inf
        return field.number("a bound: a finite number, or inf for none")

    def _counts_of_all(self, field: Field, cost: str | None, *, shorthand: bool) -> dict[ActivityHandle, str]:
        """The activities that have a secondary cost of that name."""
        if cost is None:
            return {}
        counts = {
            self._handles[name]: cost
            for name, activity in self._activities.items()
            if cost in activity.cssp.cost_names[1:]
        }
        # An activity that cannot be read might have had it.
        if not counts and len(self._activities) == len(self._names):
            known = sorted({each for a in self._activities.values() for each in a.cssp.cost_names[1:]})
            remedy = "; say what it counts with 'counts'" if shorthand else ""
            field.wrong(
                f"no activity has the secondary cost {cost!r}; {did_you_mean(cost, known)}{remedy}"
                if known
                else f"no activity has the secondary cost {cost!r}, nor any other; name it in 'costs'"
            )
        return counts

    def _counts_by_activity(self, field: Field) -> dict[ActivityHandle, str]:
        counts: dict[ActivityHandle, str] = {}
        members = field.members("a mapping from activities to costs") or {}
        if not members:
            field.wrong("it counts nothing; say which cost of which activities it counts")
        for name, member in members.items():
            if name not in self._names:
                member.wrong(f"there is no activity {name!r}; {did_you_mean(name, self._names)}")
                continue
            cost = member.name("the name of a cost")
            if cost is None or name not in self._activities:
                continue
            names = self._activities[name].cssp.cost_names
            if cost == names[0]:
                member.wrong(f"{cost!r} is the cost to minimise; a constraint counts one of the others")
            elif cost not in names:
                known = did_you_mean(cost, names[1:])
                member.wrong(f"activity {name!r} has no cost {cost!r}; {known}")
            else:
                counts[self._handles[name]] = cost
        return counts
