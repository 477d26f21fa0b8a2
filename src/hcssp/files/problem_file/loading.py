"""Loading a problem file: everything that is wrong with it is reported together, with file, line and field.

The format is described in ``docs/file-format.md`` and by the JSON Schema that ``hcssp schema`` prints.
Loading executes nothing, reads nothing outside of the problem's folder, and keeps to limits.

The bounds on probabilities of a problem file: ``crash: {probability: {of: crashed, at_most: 1%}}``.

The procedure and the constraints of a problem file, or of a procedure inside it.

The procedures of a problem file that its activities can be: from the same file, or from others beside it.

A procedure is made when an activity asks for it, once, and all its uses share it. One that would be inside
itself is refused, and the message names the chain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from math import fsum, inf
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from hcssp.cssp.validation import unknown_cost
from hcssp.errors import (
    HcsspError,
    InvalidProblem,
    OutOfPrecision,
    UnboundedReward,
    UnsupportedProblem,
    did_you_mean,
)
from hcssp.files.atomic import decoded, read_stream, read_text
from hcssp.files.problem_file.arithmetic import NO_PARAMETERS, Parameters, Settings, computed
from hcssp.files.problem_file.document import (
    Field,
    Findings,
    Limits,
    Unreadable,
    is_json,
    parse_document,
    read_beside,
)
from hcssp.files.problem_file.format import (
    FORMAT,
    PARAMETERS,
    PROBLEM,
    Activity,
    BoundedProbability,
    Choice,
    Constraint,
    Problem,
    Procedure,
    UsedProcedure,
)
from hcssp.files.problem_file.format import Floor as WrittenFloor
from hcssp.files.problem_file.format import Outcome as WrittenOutcome
from hcssp.files.problem_file.models import ActivityReader, Loaded, LoadedActivity
from hcssp.files.problem_file.tables import label_text, state_label
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.parameters import Number
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.builder import ActivityHandle, EventHandle
from hcssp.procedure.model import Floor, Line
from hcssp.procedure.nesting import OTHER_EXIT

if TYPE_CHECKING:
    from hcssp.procedure.product import What


def with_probabilities(read: Problem, problem: HCSSP) -> HCSSP:
    """The problem with the bounds on probabilities that the document states; mistakes are noted."""
    for name, constraint in (read.constraints or {}).items():
        stated = constraint.probability if isinstance(constraint, BoundedProbability) else None
        if stated is None or stated.of is None:
            continue
        from hcssp.procedure.product import with_probability

        try:
            problem = with_probability(problem, name, of=_what(stated.of), at_most=stated.at_most)
        except HcsspError as error:
            read.where("constraints", name, "probability", "of").wrong(str(error))
    return problem


def _what(of: str | dict[str, tuple[int, ...] | str | None]) -> What:
    """What is meant: a name, or from activities to states."""
    if isinstance(of, str):
        return of
    return {name: _label(target) for name, target in of.items() if target is not None}


def _label(target: tuple[int, ...] | str) -> Hashable:
    return state_label(target) if isinstance(target, str) else target


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
            if problem.procedure.choices is not None and isinstance(problem, UsedProcedure):
                problem.procedure.where("choices").wrong(_CHOICES_INSIDE)
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
                why = f"the probabilities of the outcomes sum to {total:.10g}, not 1"
                where.at(name).wrong(why)
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
                    why = f"{name!r} and {named[label]!r} are the same exit of activity {runs!r}; keep one"
                    where.at(name).wrong(why)
                named[label] = name
                if event is not None:
                    exits[label] = self._events[event][0]
        goals = [label for label in self._goal_labels(activity) if label not in named]
        if goals and all(activity.exits.get(name) for name in to):
            why = f"it does not say where the exit {label_text(goals[0])!r} of activity {runs!r} leads"
            where.wrong(f"{why}; name an event for each exit")
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
                why = f"{cost!r} is the cost to minimise; a constraint counts one of the others"
                where.at(name).wrong(why)
            elif cost not in names:
                why = f"activity {name!r} has no cost {cost!r}; {did_you_mean(cost, names[1:])}"
                where.at(name).wrong(why)
            else:
                counts[self._handles[name]] = cost
        return counts


class ProcedureLibrary:
    """Makes the procedures of one document.

    Parameters
    ----------
    problem
        The document.
    activities
        What makes activities of it.
    load_beside
        The problem in a file beside the document, and how often the whole uses it; None, and mistakes noted,
        if none is sound.
    limits
        How deep procedures may be inside each other, and how many activities they may have in all.
    times
        How often the document itself is used.
    """

    def __init__(
        self,
        problem: Problem,
        activities: ActivityReader,
        load_beside: Callable[[str, Field, int], HCSSP | None],
        limits: Limits,
        times: int,
    ) -> None:
        self._parts = problem.procedures or {}
        self._activities = activities
        self._load_beside = load_beside
        self._limits = limits
        self._uses = self._counted(problem, times)
        self._made: dict[str, HCSSP | None] = {}
        self._chain: list[str] = []

    def procedure(self, name: str, where: Field) -> HCSSP | None:
        """The procedure of that name; None, and the mistakes noted, if it is not sound."""
        if name in self._made:
            return self._made[name]
        if name not in self._parts:
            where.wrong(f"there is no procedure {name!r}; {did_you_mean(name, [*self._parts])}")
            return None
        if name in self._chain:
            chain = " > ".join(repr(each) for each in [*self._chain[self._chain.index(name) :], name])
            where.wrong(f"a procedure cannot be inside itself: {chain}; let one of them run something else")
            return None
        if len(self._chain) >= self._limits.depth:
            where.wrong(f"procedures are inside each other more than {self._limits.depth} deep")
            return None
        part = self._parts[name]
        self._chain.append(name)
        made = None if part is None else self._read(name, part)
        self._chain.pop()
        self._made[name] = made
        return made

    def finish(self) -> None:
        """Look at the procedures that nothing uses, too: mistakes are mistakes."""
        for name, part in self._parts.items():
            if part is not None:
                self.procedure(name, part.place)

    def _read(self, name: str, part: UsedProcedure) -> HCSSP | None:
        if not part.sound:
            return None
        if part.file is not None:
            made = self._load_beside(part.file, part.where("file"), self._uses[name])
        else:
            findings = part.place.findings
            before = len(findings)
            activities = self._activities.read(part.activities, self.procedure)
            reader = ProcedureReader(part, activities)
            if len(findings) > before:
                return None
            made = reader.build()
            made = None if made is None else made.named("", sources=sources(activities))
        return None if made is None else made.named(name, part.description or made.description)

    def _counted(self, problem: Problem, times: int) -> Counter[str | None]:
        """How often the whole uses each procedure of the document, which itself has the name None.

        It is counted before anything is made: files of a few lines can ask for 2^30 activities.
        """
        activities: dict[str | None, Mapping[str, Activity | None]] = {None: problem.activities or {}}
        activities |= {name: part.activities or {} for name, part in self._parts.items() if part is not None}
        users: defaultdict[str | None, Counter[str | None]] = defaultdict(Counter)
        for user, inside in activities.items():
            for each in inside.values():
                if each is not None and each.procedure is not None:
                    users[each.procedure][user] += 1
        uses: Counter[str | None] = Counter({None: times})
        total = 0
        try:
            for name in TopologicalSorter({**dict.fromkeys(activities, ()), **users}).static_order():
                if name is not None:
                    # One that nothing uses is looked at all the same.
                    uses[name] = max(1, sum(uses[user] * count for user, count in users[name].items()))
                total += uses[name] * len(activities.get(name, ()))
        except CycleError:
            # It is refused where the procedures are made.
            return Counter(dict.fromkeys(activities, times))
        most = self._limits.activities
        if total > most:
            place = problem.place
            place.findings.fatal(
                place.line,
                "",
                f"the problem has more than the {most:,} activities that are allowed, each counted as often "
                "as the procedures around it are used; use them less often",
            )
        return uses


def sources(activities: Loaded) -> dict[str, str]:
    """Where the file says what each activity is."""
    return {
        name: f"{each.field.findings.file}:{each.field.line}: {each.field.path}"
        for name, each in activities.items()
    }


_Chain = tuple[Path | None, ...]
"""The files around a file that holds a procedure; None for a text or a stream."""


def load(
    path: str | Path,
    limits: Limits | None = None,
    *,
    parameters: Mapping[str, Number] | None = None,
    **settings: Number,
) -> HCSSP:
    """The problem that a file holds, with its name, its rooms and their places.

    Parameters
    ----------
    path
        A YAML file, or a JSON file if its name ends in ``.json``.
    limits
        How large it may be.
    parameters, settings
        What the file's parameters are instead of their defaults: ``load("mine.yaml", slip=0.2)``.

    Raises
    ------
    UnknownName
        If the file has no such parameter.
    InvalidProblem
        If anything is wrong; each violation begins with file, line and field.
    """
    source = Path(path)
    findings = Findings(str(path))
    bounded = limits or Limits()
    text = read_text(source, bounded.document_bytes)
    json = source.suffix.lower() == ".json"
    return _whole(text, json, findings, source, source.parent, bounded, {**(parameters or {}), **settings})


def load_parameters(path: str | Path, parameters: Mapping[str, Number] | None = None) -> dict[str, Fraction]:
    """The parameters that a file declares, with their values.

    Parameters
    ----------
    path, parameters
        As for :func:`load`.
    """
    source, findings, limits = Path(path), Findings(str(path)), Limits()
    text = read_text(source, limits.document_bytes)
    tree = parse_document(text, findings, limits, json=source.suffix.lower() == ".json")
    found = _parameters(Field.root(tree, findings), NO_PARAMETERS, Settings.given(parameters))
    return dict(found.values)


def load_stream(
    stream: BinaryIO,
    folder: str | Path = ".",
    limits: Limits | None = None,
    *,
    parameters: Mapping[str, Number] | None = None,
) -> HCSSP:
    """The problem that a stream such as standard input holds, YAML or JSON; tables lie in `folder`.

    Raises
    ------
    InvalidProblem
        If anything is wrong; each violation begins with "standard input", line and field.
    """
    bounded = limits or Limits()
    findings = Findings("standard input")
    text = decoded(read_stream(stream, findings.file, bounded.document_bytes), findings.file)
    # No file name says which it is, and every JSON document that is a problem begins with a brace.
    json = text.lstrip().startswith("{") and is_json(text)
    return _whole(text, json, findings, None, Path(folder), bounded, parameters)


def load_text(
    text: str,
    folder: str | Path = ".",
    *,
    json: bool = False,
    limits: Limits | None = None,
    parameters: Mapping[str, Number] | None = None,
) -> HCSSP:
    """The problem that a text holds; tables that it names lie in `folder`.

    >>> loaded = load_text('''
    ... format: hcssp-problem
    ... version: 1
    ... costs: [time]
    ... activities:
    ...   cross: {grid: {width: 3, height: 2}, start: [0, 1], goal: [4, 2]}
    ... ''')
    >>> loaded.activities[0].cssp.num_states
    8
    """
    return _whole(text, json, Findings("problem"), None, Path(folder), limits or Limits(), parameters)


def _whole(
    text: str,
    json: bool,
    findings: Findings,
    source: Path | None,
    folder: Path,
    limits: Limits,
    parameters: Mapping[str, Number] | None,
) -> HCSSP:
    """The problem of a document that is inside of no other, with what the user sets."""
    settings = Settings.given(parameters)
    try:
        problem = _load(text, json, findings, source, folder, limits, settings)
    except InvalidProblem:
        # What is set under a wrong name may be the cause of all the rest.
        if settings.declared:
            settings.check()
        raise
    settings.check()
    return problem


def _load(
    text: str,
    json: bool,
    findings: Findings,
    source: Path | None,
    folder: Path,
    limits: Limits,
    settings: Settings,
    around: Parameters | None = None,
    inside: _Chain = (),
    times: int = 1,
) -> HCSSP:
    """The problem of a document, which the files around it use `times` times."""
    document = Field.root(parse_document(text, findings, limits, json=json), findings)
    _check_format(document)
    parameters = _parameters(document, around or NO_PARAMETERS, settings)
    capacities = frozenset(document.at("capacities").members() if "capacities" in document else ())
    document = replace(document, parameters=replace(parameters, capacities=capacities))
    read = PROBLEM.read(document)
    if read is None or read.costs is None or read.activities is None:
        # Without the costs everything else would be called wrong.
        findings.raise_if_any()
        raise InvalidProblem(f"{findings.file}: the costs or the activities cannot be read")
    cost_names = tuple(name for name in read.costs if name is not None)
    if len(set(cost_names)) < len(read.costs):
        findings.raise_if_any()

    def beside(name: str, where: Field, times: int) -> HCSSP | None:
        return _load_beside(name, where, folder, limits, settings, (*inside, source), times)

    made = ActivityReader(read, cost_names, folder, limits)
    library = ProcedureLibrary(read, made, beside, limits, times)
    activities = made.read(read.activities, library.procedure)
    library.finish()
    made.finish()
    procedure = ProcedureReader(read, activities)
    findings.raise_if_any()
    problem = procedure.build()
    findings.raise_if_any()
    if problem is None:
        raise InvalidProblem(f"{findings.file}: the procedure cannot be read")
    name = read.name or (source.stem if source is not None else "problem")
    named = problem.named(name, read.description or "", sources=sources(activities))
    carried = made.carried.over(named.measured_in(_units(read, named)), document)
    findings.raise_if_any()
    bounded = with_probabilities(read, carried or named)
    if read.procedure is not None and read.procedure.choices is not None:
        bounded = bounded.choosing(read.procedure.choices)
        if inside:
            read.procedure.where("choices").wrong(_CHOICES_INSIDE)
    bounded = bounded.derive(
        drawing={level: _floor(floor) for level, floor in (read.drawing or {}).items() if floor}
    )
    findings.raise_if_any()
    if read.maximise is None:
        return bounded
    if inside:
        read.where("maximise").wrong("only a whole problem is maximised; say it in the file that uses it")
        findings.raise_if_any()
    return _maximised(bounded, read)


_CHOICES_INSIDE = "how plans choose is said for the whole; say it in the outermost procedure"


def _floor(read: WrittenFloor) -> Floor:
    """A level of the drawing, in which every line has an even number of coordinates."""

    def lines(key: str) -> dict[str, Line]:
        found = getattr(read, key) or {}
        return {name: line(item, read.where(key, name)) for name, item in found.items()}

    def line(item: list[float | None], where: Field) -> Line:
        if len(item) % 2:
            where.wrong(f"a line of {len(item)} coordinates has a point without y")
        return tuple(float(each or 0.0) for each in item)

    walls = [line(item, read.where("walls", index)) for index, item in enumerate(read.walls or []) if item]
    return Floor(tuple(walls), *(lines(key) for key in ("doors", "lifts", "places", "paths")))


def _maximised(problem: HCSSP, read: Problem) -> HCSSP:
    """The problem that asks for the greatest reward instead; what prevents it is noted with its line."""
    from hcssp.solving.maximisation import maximise

    where = read.where("maximise")
    known = tuple(dict.fromkeys(name for each in problem.activities for name in each.cssp.cost_names))
    if read.maximise in known:
        try:
            return maximise(problem, read.maximise)
        except (OutOfPrecision, UnboundedReward, UnsupportedProblem) as error:
            where.wrong(str(error))
    else:
        where.wrong(unknown_cost(str(read.maximise), known))
    where.findings.raise_if_any()
    return problem


def _parameters(document: Field, around: Parameters, settings: Settings) -> Parameters:
    """The values of the document's parameters; without them nothing else can be read."""
    findings = document.findings
    before = len(findings)
    where = document.at("parameters")
    declared = PARAMETERS.read(where) if "parameters" in document else None
    if len(findings) == before:
        known = [(name, default) for name, default in (declared or {}).items() if default is not None]
        parameters, wrong = computed(known, around, settings)
        for name, why in wrong.items():
            where.at(name).wrong(why)
    if len(findings) > before:
        findings.raise_if_any()
    return parameters


def _units(read: Problem, problem: HCSSP) -> dict[str, str]:
    """What the costs are measured in; units of what is no cost are noted."""
    known = tuple(dict.fromkeys(name for each in problem.activities for name in each.cssp.cost_names))
    for name in read.units or {}:
        if name not in known:
            read.where("units", name).wrong(unknown_cost(name, known))
    return {name: unit for name, unit in (read.units or {}).items() if unit is not None}


def _load_beside(
    name: str, where: Field, folder: Path, limits: Limits, settings: Settings, inside: _Chain, times: int
) -> HCSSP | None:
    """The problem in a file beside another one; None, and the mistakes noted, if it is not sound."""
    try:
        path, text = read_beside(folder, name, limits)
    except Unreadable as error:
        where.wrong(str(error))
        return None
    source = Path(path)
    if any(each is not None and each.resolve() == source.resolve() for each in inside):
        chain = " > ".join(str(each) for each in [*inside, source] if each is not None)
        where.wrong(f"a procedure cannot be inside itself: {chain}; let one of them run something else")
        return None
    if len(inside) > limits.depth:
        where.wrong(f"procedures are inside each other more than {limits.depth} deep")
        return None
    try:
        json = source.suffix.lower() == ".json"
        found = Findings(path)
        around = where.parameters
        return _load(text, json, found, source, source.parent, limits, settings, around, inside, times)
    except InvalidProblem as error:
        for violation in error.violations:
            where.wrong(violation)
        return None


def _check_format(document: Field) -> None:
    """What is no problem file, or one of a later version, is not looked at any further."""
    findings = document.findings
    if document.kind != "a mapping":
        findings.fatal(document.line, "", f"{document.shown} is not a problem; begin with 'format: {FORMAT}'")
    members = document.members()
    if "format" not in members:
        from difflib import get_close_matches

        nearest = get_close_matches("format", members, n=1)
        instead = f" instead of {nearest[0]!r}" if nearest else ""
        findings.fatal(document.line, "", f"the key 'format' is missing; write 'format: {FORMAT}'{instead}")
    before = len(findings)
    for key in ("format", "version"):
        if key in members:
            Problem.keys[key].form.read(members[key])
        if len(findings) > before:
            findings.raise_if_any()
