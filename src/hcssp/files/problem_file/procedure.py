"""The procedure and the constraints of a problem file, or of a procedure inside it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import fsum, inf

import numpy as np

from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.files.problem_file.activities import LoadedActivity
from hcssp.files.problem_file.format import Choice, Constraint, Problem, Procedure, UsedProcedure
from hcssp.files.problem_file.format import Outcome as WrittenOutcome
from hcssp.files.problem_file.tables import label_text
from hcssp.files.problem_file.tree import Field
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.builder import ActivityHandle, EventHandle
from hcssp.procedure.expansion import OTHER_EXIT


class ProcedureReader:
    """Reads the procedure and the constraints of one document, and builds the problem.

    Parameters
    ----------
    problem
        The document.
    activities
        The activities that are sound.
    """

    def __init__(self, problem: Problem | UsedProcedure, activities: Mapping[str, LoadedActivity]) -> None:
        self._document = problem.place
        self._activities = activities
        self._names = problem.activities or {}
        self._builder = ProcedureBuilder(
            positions={each.room: each.position for each in activities.values() if each.position is not None}
        )
        self._events: dict[str, tuple[EventHandle, Field]] = {}
        self._run_by: dict[str, Field] = {}
        self._ends: tuple[str, str] | None = None
        self._constraints: dict[str, Field] = {}
        self._handles: dict[str, ActivityHandle] = {
            name: self._builder.add_activity(
                name, activity.problem, activity.room, activity.entries, activity.hands_over
            )
            for name, activity in activities.items()
        }
        if problem.procedure is not None:
            self._read_procedure(problem.procedure)
        elif "procedure" not in problem.place:
            self._single()
        for name, constraint in (problem.constraints or {}).items():
            self._constraints[name] = problem.where("constraints", name)
            if isinstance(constraint, Constraint):
                self._constraint(name, constraint)
        if isinstance(problem, UsedProcedure) and "constraints" not in problem.place:
            self._count_everything()

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

    def _read_procedure(self, procedure: Procedure) -> None:
        events, end = procedure.events, procedure.end
        if events is None:
            return
        for name in events:
            self._events[name] = (self._builder.add_event(name), procedure.where("events", name))
        # There is nothing to say about the end, so it need not be listed.
        if end is not None and end not in self._events:
            self._events[end] = (self._builder.add_event(end), procedure.where("end"))
        findings = procedure.place.findings
        before = len(findings)
        start = self._event(procedure.start, procedure.where("start"))
        for name, choices in events.items():
            if choices == {} and name != end:
                self._events[name][1].wrong("there is nothing to choose and it is not the end; add a choice")
            self._choices(name, choices or {}, is_end=name == end)
        # An outcome that is wrong might have run what seems to be run by none.
        for name in self._names if procedure.sound and len(findings) == before else ():
            if name in self._activities and name not in self._run_by:
                self._activities[name].field.wrong(
                    "no outcome runs this activity; let one run it, or leave it out"
                )
        if start is not None and end is not None:
            self._ends = (start, end)

    def _event(self, name: str | None, where: Field) -> str | None:
        if name is not None and name not in self._events:
            where.wrong(f"there is no event {name!r}; {did_you_mean(name, [*self._events])}")
            return None
        return name

    def _choices(self, event: str, choices: Mapping[str, Choice | None], *, is_end: bool) -> None:
        handle, where = self._events[event]
        if is_end and choices:
            where.wrong("the procedure ends at this event, so there is nothing to choose; remove the choices")
            return
        for name, choice in choices.items():
            written = choice if isinstance(choice, list) else [choice]
            found = [self._outcome(each, alone=len(written) == 1) for each in written if each is not None]
            outcomes = [outcome for outcome in found if outcome is not None]
            total = fsum(outcome.probability for outcome in outcomes)
            if len(outcomes) == len(written) and abs(total - 1.0) > PROBABILITY_TOLERANCE:
                told = f"the probabilities of the outcomes sum to {total:.10g}, not 1"
                where.at(name).wrong(told)
            self._builder.add_choice(handle, name, to=outcomes)

    def _outcome(self, outcome: WrittenOutcome, *, alone: bool) -> Outcome | None:
        """An outcome; None, and the mistakes noted, if it is not sound."""
        runs = self._activity(outcome.runs, outcome.where("runs"))
        exits: dict[Hashable, EventHandle] = {}
        if isinstance(outcome.to, dict):
            reached = self._events_by_exit(outcome, outcome.to, runs, exits)
        else:
            reached = self._event(outcome.to, outcome.where("to"))
        probability = outcome.probability
        if probability is None and alone and "probability" not in outcome.place:
            probability = 1.0
        if reached is None or probability is None:
            return None
        handle = self._handles.get(runs) if runs is not None else None
        return Outcome(probability, self._events[reached][0], runs=handle, exits=exits)

    def _events_by_exit(
        self,
        outcome: WrittenOutcome,
        to: Mapping[str, str | None],
        runs: str | None,
        exits: dict[Hashable, EventHandle],
    ) -> str | None:
        """The first of the events that an outcome names by exits, which are filled in; None if not sound."""
        where = outcome.where("to")
        events = {name: self._event(event, where.at(name)) for name, event in to.items()}
        if "runs" not in outcome.place:
            where.wrong("an outcome that runs no activity has no exits; name one event")
            return None
        activity = self._activities.get(runs) if runs is not None else None
        if activity is None:
            # What is wrong with it has been noted.
            return None
        named: dict[Hashable, str] = {}
        for name, event in events.items():
            labels = activity.exits.get(name, ())
            if not labels:
                known = did_you_mean(name, [*activity.exits])
                where.at(name).wrong(f"activity {runs!r} has no exit {name!r}; {known}")
            for label in labels:
                if label in named:
                    told = f"{name!r} and {named[label]!r} are the same exit of activity {runs!r}; keep one"
                    where.at(name).wrong(told)
                named[label] = name
                if event is not None:
                    exits[label] = self._events[event][0]
        goals = [label for label in self._goal_labels(activity) if label not in named]
        if goals and all(activity.exits.get(name) for name in to):
            told = f"it does not say where the exit {label_text(goals[0])!r} of activity {runs!r} leads"
            where.wrong(f"{told}; name an event for each exit")
            return None
        return next(iter(events.values())) if all(events.values()) and exits else None

    def _goal_labels(self, activity: LoadedActivity) -> list[Hashable]:
        """The exits for each of which an event must be named."""
        if isinstance(activity.problem, HCSSP):
            return [OTHER_EXIT]
        labels, goals = activity.problem.state_labels, activity.problem.goals
        return [labels[goal] for goal in np.flatnonzero(goals).tolist()]

    def _activity(self, name: str | None, where: Field) -> str | None:
        if name is None:
            return None
        if name not in self._names:
            where.wrong(f"there is no activity {name!r}; {did_you_mean(name, [*self._names])}")
            return None
        if name in self._run_by:
            where.wrong(
                f"activity {name!r} is run on line {self._run_by[name].line} already, and an activity has "
                f"one plan; add another activity with 'model: {name}'"
            )
            return None
        self._run_by[name] = where
        return name

    def _constraint(self, name: str, constraint: Constraint) -> None:
        primary = {activity.cost_names[0] for activity in self._activities.values()}
        if primary == {name}:
            constraint.place.wrong(f"{name!r} is the cost to minimise; give the constraint another name")
        if isinstance(constraint.counts, dict):
            counts = self._counts_by_activity(constraint.counts, constraint.where("counts"))
        elif constraint.counts is not None:
            counts = self._counts_of_all(constraint.counts, constraint.where("counts"))
        elif "counts" not in constraint.place:
            counts = self._counts_of_all(name, constraint.place, "; say what it counts with 'counts'")
        else:
            counts = {}
        if counts:
            self._builder.add_constraint(
                name,
                at_most=constraint.at_most,
                counts=counts,
                probability_of=constraint.probability_of or "",
            )

    def _count_everything(self) -> None:
        """Let every secondary cost be counted from outside under its own name."""
        names = {name: None for each in self._activities.values() for name in each.cost_names[1:]}
        primary = {activity.cost_names[0] for activity in self._activities.values()}
        for name in [each for each in names if primary != {each}]:
            counts = self._counts_of_all(name, self._document)
            self._builder.add_constraint(name, at_most=inf, counts=counts)

    def _counts_of_all(self, cost: str, where: Field, remedy: str = "") -> dict[ActivityHandle, str]:
        """The activities that have a secondary cost of that name."""
        counts = {
            self._handles[name]: cost
            for name, activity in self._activities.items()
            if cost in activity.cost_names[1:]
        }
        # An activity that cannot be read might have had it.
        if not counts and len(self._activities) == len(self._names):
            known = sorted({each for a in self._activities.values() for each in a.cost_names[1:]})
            where.wrong(
                f"no activity has the secondary cost {cost!r}; {did_you_mean(cost, known)}{remedy}"
                if known
                else f"no activity has the secondary cost {cost!r}, nor any other; name it in 'costs'"
            )
        return counts

    def _counts_by_activity(
        self, counted: Mapping[str, str | None], where: Field
    ) -> dict[ActivityHandle, str]:
        counts: dict[ActivityHandle, str] = {}
        for name, cost in counted.items():
            if name not in self._names:
                where.at(name).wrong(f"there is no activity {name!r}; {did_you_mean(name, [*self._names])}")
                continue
            if cost is None or name not in self._activities:
                continue
            names = self._activities[name].cost_names
            if cost == names[0]:
                told = f"{cost!r} is the cost to minimise; a constraint counts one of the others"
                where.at(name).wrong(told)
            elif cost not in names:
                told = f"activity {name!r} has no cost {cost!r}; {did_you_mean(cost, names[1:])}"
                where.at(name).wrong(told)
            else:
                counts[self._handles[name]] = cost
        return counts
