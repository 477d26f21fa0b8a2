r"""Procedures inside procedures: the outline, the flattened form, and limits for each execution.

A procedure that runs others as activities is kept with all of them written out, so that planning, evaluation
and drawing see one level of events and activities. What is inside a use has the name of the use as a prefix:
event ``lobby`` of the procedure that runs as ``floor-1`` is ``floor-1/lobby``. :class:`Nesting` keeps what
was stated; a :class:`Use` says which events and activities belong to it.

An outcome that runs a procedure leads to the procedure's start instead, and the procedure's end is the event
that the outcome leads to; so an exit state is handed on as it is between activities. Every use has events and
activities of its own, hence choices and policies of its own, and all uses of a procedure share its C-SSPs.
What a constraint counts of a procedure is what the procedure's own constraint of that name counts inside; a
bound of the procedure itself is a limit for each execution.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> step = CSSPBuilder(cost_names=("time", "damage"))
>>> _ = step.add_action(step.add_state("here"), "go", to=step.add_goal("there"), costs={"time": 2.0})
>>> from hcssp.procedure.builder import ProcedureBuilder
>>> from hcssp.procedure.model import Outcome
>>> floor = ProcedureBuilder("floor")
>>> lobby, stairs = floor.add_event("lobby"), floor.add_event("stairs")
>>> floor.add_choice(lobby, "walk", to=[Outcome(1.0, stairs, runs=floor.add_activity("hall", step.build()))])
>>> floor = floor.build(start=lobby, end=stairs)
>>> house = ProcedureBuilder("house")
>>> top, middle, out = house.add_event("top"), house.add_event("middle"), house.add_event("out")
>>> house.add_choice(top, "down", to=[Outcome(1.0, middle, runs=house.add_activity("floor-2", floor))])
>>> house.add_choice(middle, "down", to=[Outcome(1.0, out, runs=house.add_activity("floor-1", floor))])
>>> house = house.build(start=top, end=out)
>>> house.events
('top', 'middle', 'out', 'floor-2/lobby', 'floor-1/lobby')
>>> [activity.name for activity in house.activities]
['floor-2/hall', 'floor-1/hall']
>>> [use.name for use in house.uses]
['floor-2', 'floor-1']

**Limits.** A limit bounds the expected cost of one execution of a use, whenever it is run.

Let :math:`G` be what a plan spends inside a use, all executions together, and :math:`N` how often it runs the
use. The limit says :math:`G \le \Delta N`. Costs are not negative, so :math:`-\Delta N` cannot be a cost.

Let :math:`M(e)` be a number for every event, 0 at the end, such that whatever is chosen at :math:`e`, at most
:math:`M(e)` executions can still be expected. A choice :math:`c` at :math:`e` runs the use with probability
:math:`n(c)` and loses :math:`M(e) - n(c) - \sum_o p_o M(e_o) \ge 0` of what could be expected. Along every
plan that ends, the losses and the executions add up to :math:`M` of the start (all terms between cancel). So

.. math:: G + \Delta \cdot \text{losses} \le \Delta \, M(\text{start})
   \quad\text{if and only if}\quad G \le \Delta N,

and that is an ordinary constraint whose choices cost something, none of them less than 0.

Such a constraint counts as kept if it exceeds its bound by a share :math:`\tau` of it, so of
:math:`\Delta M`. But a limit is to be kept relative to what the plan executes, :math:`G \le (1 + \tau) \Delta
N`, and :math:`N` may be far below :math:`M`. So a lost execution does not cost :math:`\Delta`, but
:math:`(1 + \tau - \rho) \Delta`, see :data:`hcssp.numerics.LOST_EXECUTION`:

.. math:: G + (1 + \tau - \rho) \Delta \, (M - N) \le (1 + \tau) \Delta M
   \quad\text{if and only if}\quad G \le (1 + \tau) \Delta N + \rho \Delta \, (M - N).

The share :math:`\rho`, :data:`hcssp.numerics.LIMIT_ROUNDING`, is for rounding. The numbers :math:`M` satisfy
their equations up to four roundings, so that a choice may lose that much of :math:`M(e)` less than is stated
here; :math:`\rho` covers 100 such choices in a run. Lower bounds then hold for every plan that keeps a limit,
and whether a plan does is decided by its evaluation, from :math:`G` and :math:`N` themselves.

A constant may be added to :math:`M` everywhere but at the end: so the start has 1 if the use runs at most
once in expectation, and then the bound of the constraint is the limit itself. (Not where the exit of an
activity decides whether the procedure is over: the losses belong to choices, which are made before.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from hcssp.cssp.grid import Cell
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.errors import InvalidProblem
from hcssp.numerics import ROUNDING
from hcssp.procedure.model import HCSSP, Activity, Choice, Constraint, Frozen, Outcome, PerExecution

SEPARATOR = "/"
"""Between the name of a use and a name inside it."""


@dataclass(frozen=True)
class Nesting:
    """A procedure as it was stated, with other procedures for activities.

    Attributes
    ----------
    outline
        The procedure with a stand-in (:func:`stand_in`) for every activity that is a procedure.
    procedures
        From activities of the outline to the procedures that they are.
    uses
        All uses, those inside others after them, in the order of events and activities. :func:`expand` sets
        them.
    """

    outline: HCSSP
    procedures: Mapping[int, HCSSP]
    uses: tuple[Use, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "procedures", Frozen(self.procedures))


@dataclass(frozen=True)
class Use:
    """A procedure that runs as an activity of another.

    Attributes
    ----------
    name
        Its path: the names of the uses around it and its own, as in ``building-2/floor-1``.
    procedure
        The procedure that is used.
    parent
        The use that it is inside of, as an index; None for none.
    start, end
        The event that it begins with and the one that it leads to; the same where it has none of its own.
    events, activities
        Its events and activities, including those of inner uses.
    begun
        In the rest of a procedure, the activity of it that is under way, if one is.
    """

    name: str
    procedure: HCSSP
    parent: int | None
    start: int
    end: int
    events: range
    activities: range
    begun: int | None = None

    @property
    def own_name(self) -> str:
        """Its name within the procedure that runs it."""
        return self.name.rpartition(SEPARATOR)[2] if self.parent is not None else self.name


def _uses(name: str, procedure: HCSSP, places: Sequence[int], activity: int, number: int) -> Iterator[Use]:
    """The use of a procedure, and those inside it.

    Parameters
    ----------
    name, procedure
        The name of the use, and the procedure.
    places
        Where the procedure's events lie, see :func:`event_places`.
    activity, number
        The index of its first activity, and of the use itself.
    """
    own = [place for event, place in enumerate(places) if event != procedure.end]
    events = range(own[0], own[0] + len(own)) if own else range(0)
    activities = range(activity, activity + procedure.num_activities)
    yield Use(name, procedure, None, places[procedure.start], places[procedure.end], events, activities)
    for inner in procedure.uses:
        # The end belongs to no use, so that events of a use stay neighbours.
        first = places[inner.events.start] if inner.events else 0
        yield replace(
            inner,
            name=name + SEPARATOR + inner.name,
            parent=number if inner.parent is None else number + 1 + inner.parent,
            start=places[inner.start],
            end=places[inner.end],
            events=range(first, first + len(inner.events)),
            activities=range(activity + inner.activities.start, activity + inner.activities.stop),
        )


def event_places(procedure: HCSSP, first: int, end: int) -> list[int]:
    """Where the events of a procedure lie in one that uses it: side by side, but for its end."""
    return [
        end if event == procedure.end else first + event - (event > procedure.end)
        for event in range(procedure.num_events)
    ]


OTHER_EXIT = "any other exit"
"""The exit of a stand-in for all goals for which no outcome names an event."""


def outlined(outcome: Outcome) -> Outcome:
    """An outcome that runs an implicit activity, with one exit for each event: it hands nothing else over."""
    first: dict[int, Hashable] = {}
    for label, event in outcome.exits.items():
        if event != outcome.event:
            first.setdefault(event, label)
    return replace(outcome, exits={label: event for event, label in first.items()})


def stand_in(names: Sequence[str], exits: Iterable[Hashable]) -> CSSP:
    """A C-SSP with costs of these names that does nothing but end, in a goal of its choice.

    The goals are `exits`, and :data:`OTHER_EXIT` for all others.
    """
    goals = list(dict.fromkeys((OTHER_EXIT, *exits)))
    count = len(goals)
    return CSSP.unchecked(
        transitions=csr_array(np.eye(count, 1 + count, 1)),
        row_start=np.minimum(np.arange(count + 2), 1) * count,
        costs=np.zeros((len(names), count)),
        initial=np.eye(1, 1 + count)[0],
        goals=np.arange(1 + count) > 0,
        cost_names=tuple(names),
        bounds=np.full(len(names) - 1, np.inf),
        state_labels=("begun", *goals),
        action_labels=tuple(f"end in {goal}" for goal in goals),
    )


def procedure_exits(procedure: HCSSP) -> list[Hashable]:
    """The labels of the goals with which activities inside reach the procedure's end."""
    last = [
        (outcome, label)
        for choice in procedure.choices
        for outcome in choice.outcomes
        if outcome.runs is not None
        for label in procedure.activities[outcome.runs].exit_labels
    ]
    return list(
        dict.fromkeys(label for outcome, label in last if outcome.event_after(label) == procedure.end)
    )


def expand(nesting: Nesting) -> HCSSP:
    """The problem with all its procedures written out.

    Parameters
    ----------
    nesting
        What was stated; its outline is valid.

    Raises
    ------
    InvalidProblem
        If a name inside a use is that of something else, if an exit of an activity does not fit what follows,
        or if a limit belongs to a use whose number of executions is unbounded.
    """
    outline = nesting.outline
    found: list[str] = []
    events, activities, choices = list(outline.events), list[Activity](), list[Choice]()
    # Where an activity of the outline begins: its number, or the event that its procedure starts with.
    number, entry = dict[int, int](), dict[int, int]()
    positions, uses = dict[str, Cell](), list[Use]()
    for index, activity in enumerate(outline.activities):
        number[index] = len(activities)
        procedure = nesting.procedures.get(index)
        if procedure is None:
            activities.append(activity)
            if activity.room in outline.positions:
                positions[activity.room] = outline.positions[activity.room]
            continue
        path = activity.name + SEPARATOR
        places = event_places(procedure, len(events), outline.activity_outcome[index].event)
        entry[index] = places[procedure.start]
        uses += _uses(activity.name, procedure, places, len(activities), len(uses))
        events += [path + name for event, name in enumerate(procedure.events) if event != procedure.end]
        moved = _Moved(procedure, places, number[index], outline.activity_outcome[index])
        found += [f"activity {activity.name!r}: {each}" for each in moved.violations()]
        choices += [moved.choice(choice) for choice in procedure.choices]
        activities += [
            replace(inner, name=path + inner.name, room=path + inner.room) for inner in procedure.activities
        ]
        if activity.room in outline.positions:
            positions |= _moved_rooms(procedure, path, outline.positions[activity.room])
    if found:
        raise InvalidProblem(found)
    for choice in outline.choices:
        outcomes = tuple(_into(outcome, number, entry) for outcome in choice.outcomes)
        choices.append(replace(choice, outcomes=outcomes))
    written_out = HCSSP(
        events=tuple(events),
        start=outline.start,
        end=outline.end,
        activities=tuple(activities),
        choices=tuple(choices),
        constraints=tuple(
            replace(each, counts=_counts(each, nesting, number)) for each in outline.constraints
        ),
        name=outline.name,
        description=outline.description,
        positions=positions,
        nesting=replace(nesting, uses=tuple(uses)),
        units=outline.units,
    )
    own, found = limits(written_out)
    if found:
        raise InvalidProblem(found)
    return written_out.derive(constraints=(*written_out.constraints, *own)) if own else written_out


@dataclass(frozen=True)
class _Moved:
    """The choices of a procedure among the events and activities of one that uses it.

    Attributes
    ----------
    procedure
        The procedure that is used.
    places
        Where its events lie.
    first_activity
        Where its activities begin.
    run_by
        The outcome that runs it, which says what its exits lead to.
    """

    procedure: HCSSP
    places: list[int]
    first_activity: int
    run_by: Outcome

    def choice(self, choice: Choice) -> Choice:
        outcomes = tuple(self._outcome(outcome) for outcome in choice.outcomes)
        return replace(choice, event=self.places[choice.event], outcomes=outcomes)

    def _outcome(self, outcome: Outcome) -> Outcome:
        if outcome.runs is None:
            return replace(outcome, event=self.places[outcome.event])
        labels = self.procedure.activities[outcome.runs].exit_labels
        return Outcome(
            outcome.probability,
            self.places[outcome.event],
            runs=self.first_activity + outcome.runs,
            exits={label: self._after(label, outcome.event_after(label)) for label in labels},
        )

    def _after(self, label: Hashable, event: int) -> int:
        """What the event that an activity inside reaches by its exit `label` is outside."""
        return self.run_by.event_after(label) if event == self.procedure.end else self.places[event]

    def violations(self) -> Iterator[str]:
        """What is wrong with the exits for which the outcome that runs the procedure names an event."""
        named = {label for label in self.run_by.exits if label != OTHER_EXIT}
        if not named:
            return
        end, known = self.procedure.end, procedure_exits(self.procedure)
        # An outcome without an activity cannot distinguish exits.
        passing = {
            (choice.event, entry)
            for choice in self.procedure.choices
            if any(outcome.runs is None and outcome.event == end for outcome in choice.outcomes)
            for event, entry in self.procedure.flattening.event_states
            if event == choice.event and entry in named
        }
        for label in named - set(known) - {entry for _, entry in passing}:
            listed = ", ".join(repr(each) for each in known) or "none"
            yield f"its procedure has no exit {label!r}; its exits are {listed}"
        for event, entry in sorted(passing, key=str):
            yield (
                f"its exit {entry!r} leads to an event of its own, but event "
                f"{self.procedure.events[event]!r} of its procedure hands it on to the end without an "
                "activity; lead the exit there directly"
            )


def _into(outcome: Outcome, number: Mapping[int, int], entry: Mapping[int, int]) -> Outcome:
    """An outcome of the outline; one that runs a procedure leads to its start."""
    if outcome.runs is None:
        return outcome
    if outcome.runs in entry:
        return Outcome(outcome.probability, entry[outcome.runs])
    return replace(outcome, runs=number[outcome.runs])


def _counts(constraint: Constraint, nesting: Nesting, number: Mapping[int, int]) -> dict[int, int]:
    """What a constraint of the outline counts of the activities inside, too."""
    counts: dict[int, int] = {}
    for index, cost in constraint.counts.items():
        procedure = nesting.procedures.get(index)
        if procedure is None:
            counts[number[index]] = cost
            continue
        # Cost 0 of a procedure is its primary one, the others are its constraints.
        inner = procedure.constraints[cost - 1].counts
        counts |= {number[index] + activity: own for activity, own in inner.items()}
    return counts


def _moved_rooms(procedure: HCSSP, path: str, corner: Cell) -> dict[str, Cell]:
    """Where the rooms of a use lie, if its procedure's map is laid down at `corner`."""
    return {
        path + room: (corner[0] + row, corner[1] + column)
        for room, (row, column) in procedure.positions.items()
    }


MOST_SWEEPS = 100_000
SOLVE_EVERY = 64
"""After this number of sweeps, the equations of the choices that run the use most often are solved."""

WITHOUT_END = 1e9
"""From this number on, the expected executions of a use count as unbounded."""

_USES_AT_ONCE = 256
"""The number of uses that share a pass over the events; this bounds the memory of the pass."""


class ToCome(NamedTuple):
    """The most executions of a use that can be expected from each event, and the loss of each choice."""

    most: FloatArray
    losses: FloatArray


def limits(problem: HCSSP) -> tuple[list[Constraint], list[str]]:
    """The limits of the uses in `problem`, as constraints, and what is wrong with them.

    They are the bounds of the procedures that are used, and the limits of the uses inside those.
    """
    stated = [
        (use, constraint, number if constraint.per is None else number + 1 + constraint.per.use)
        for number, use in enumerate(problem.uses)
        if use.parent is None
        for constraint in use.procedure.constraints
        if constraint.limit != np.inf
    ]
    limited = list(dict.fromkeys(number for _, _, number in stated))
    known = dict(zip(limited, _per_execution(problem, limited), strict=True))
    found: list[Constraint] = []
    violations: list[str] = []
    for use, constraint, number in stated:
        per, name = known[number], f"{use.name}/{constraint.name}"
        if isinstance(per, str):
            violations.append(f"constraint {name!r}: {per}")
            continue
        first = use.activities.start
        counts = {first + activity: cost for activity, cost in constraint.counts.items()}
        found.append(Constraint(name, constraint.limit * per.most_executions, counts, per))
    return found, violations


def _per_execution(problem: HCSSP, numbers: Sequence[int]) -> Iterator[PerExecution | str]:
    """For each of some uses, what makes a constraint hold for every execution of it; or why none can."""
    branching = [
        (choice, outcome.events)
        for choice in problem.choices
        for outcome in choice.outcomes
        if outcome.probability > 0.0 and len(outcome.events) > 1
    ]
    reached = np.array([event for _, events in branching for event in events], dtype=np.int64)
    firsts = np.cumsum([0, *(len(events) for _, events in branching)])[:-1]
    ending = np.array(
        [
            sum(each.probability for each in choice.outcomes if each.event == problem.end)
            for choice in problem.choices
        ]
    )
    ends_by_exit = _ends_by_exit(problem)
    uses = [problem.uses[number] for number in numbers]
    for number, use, found in zip(numbers, uses, to_come(problem, uses), strict=True):
        if found is None:
            yield (
                f"{use.name!r} can be run as often as one likes, and a limit for such a use cannot be kept "
                "apart from the others; let a way back to it be taken by chance only"
            )
            continue
        most, losses = found
        after = most[reached]
        if branching:
            differ = np.maximum.reduceat(after, firsts) > np.minimum.reduceat(after, firsts)
            if differ.any():
                choice, _ = branching[int(np.argmax(differ))]
                yield (
                    f"whether {use.name!r} is still to run depends on the exit of an activity, after choice "
                    f"{choice.name!r} at event {problem.events[choice.event]!r}; bound the whole instead"
                )
                continue
        first = float(most[problem.start])
        if first == 0.0:
            yield PerExecution(number, 1.0, {})
            continue
        # A constant more everywhere but at the end, so that the start has 1 at least: the last step loses it.
        # Where the exit of an activity decides whether a step is the last, no choice can pay for that.
        more = 0.0 if ends_by_exit else max(0.0, 1.0 - first)
        losses = losses + more * ending
        kept = {int(choice): float(losses[choice]) for choice in np.flatnonzero(losses)}
        yield PerExecution(number, first + more, kept)


def to_come(problem: HCSSP, uses: Sequence[Use]) -> Iterator[ToCome | None]:
    """How often each of some uses can still be run; None for one whose executions are unbounded."""
    events = np.array([choice.event for choice in problem.choices], dtype=np.int64)
    moves = _moves(problem)
    parts = _in_order(moves, events)
    for first in range(0, len(uses), _USES_AT_ONCE):
        entries = entries_of(problem, uses[first : first + _USES_AT_ONCE])
        most = _most_executions(entries, parts, problem.num_events)
        with np.errstate(invalid="ignore"):
            # Rounded down, so that no loss is overstated.
            losses = most[events] - (entries + moves @ most) - 4.0 * ROUNDING * most[events]
        losses = np.maximum(losses, 0.0)
        for own, lost in zip(most.T, losses.T, strict=True):
            yield ToCome(own.copy(), lost.copy()) if np.isfinite(own).all() else None


def _ends_by_exit(problem: HCSSP) -> bool:
    """Whether the procedure may be over or not after an activity, depending on where that ends."""
    return any(
        problem.end in outcome.events and len(outcome.events) > 1
        for choice in problem.choices
        for outcome in choice.outcomes
    )


def enters(use: Use, event: int, target: int) -> bool:
    """Whether an outcome that leads from `event` to `target` begins an execution of `use`."""
    return target == use.start and event not in use.events


def _moves(problem: HCSSP) -> csr_array:
    """With what probability each choice leads to each event."""
    arrows = [
        (number, outcome.event, outcome.probability)
        for number, choice in enumerate(problem.choices)
        for outcome in choice.outcomes
        if outcome.probability > 0.0
    ]
    rows, columns, values = (list(part) for part in zip(*arrows, strict=True))
    return csr_array((values, (rows, columns)), shape=(len(problem.choices), problem.num_events))


def entries_of(problem: HCSSP, uses: Sequence[Use]) -> FloatArray:
    """With what probability each choice begins an execution of each of some uses; one column a use."""
    starting: defaultdict[int, list[int]] = defaultdict(list)
    for column, use in enumerate(uses):
        starting[use.start].append(column)
    entries = np.zeros((len(problem.choices), len(uses)))
    for number, choice in enumerate(problem.choices):
        for outcome in choice.outcomes:
            for column in starting.get(outcome.event, ()) if outcome.runs is None else ():
                if enters(uses[column], choice.event, outcome.event):
                    entries[number, column] += outcome.probability
    return entries


class _Part(NamedTuple):
    """A strongly connected component of the events.

    Attributes
    ----------
    events, firsts
        Its events that have choices, and the place of the first choice of each.
    choices, moves
        Its choices, event by event, and where they lead.
    cyclic
        Whether some choice leads back into it.
    """

    events: IntArray
    firsts: IntArray
    choices: IntArray
    moves: csr_array
    cyclic: bool


def _in_order(moves: csr_array, events: IntArray) -> list[_Part]:
    """The components of the events, each after those that it leads to; `events` has that of each choice."""
    count = moves.shape[1]
    tails = np.repeat(events, np.diff(moves.indptr))
    graph = csr_array((np.ones(moves.nnz), (tails, moves.indices)), shape=(count, count))
    number, component = connected_components(graph, connection="strong")
    after: dict[int, set[int]] = {each: set() for each in component[events].tolist()}
    cyclic = np.zeros(number, dtype=np.bool_)
    for tail, head in zip(component[tails].tolist(), component[moves.indices].tolist(), strict=True):
        if tail == head:
            cyclic[tail] = True
        elif head in after:
            after[tail].add(head)
    order = np.argsort(component[events], kind="stable")
    places = np.searchsorted(component[events][order], np.arange(number + 1))
    parts = []
    for each in TopologicalSorter(after).static_order():
        choices = order[places[each] : places[each + 1]]
        firsts = np.flatnonzero(np.diff(events[choices], prepend=-1))
        own = events[choices][firsts]
        parts.append(_Part(own, firsts, choices, csr_array(moves[choices]), bool(cyclic[each])))
    return parts


def _most_executions(entries: FloatArray, parts: Sequence[_Part], num_events: int) -> FloatArray:
    """The most executions that can be expected from each event, whatever is chosen; one column a use.

    It is ``inf`` somewhere if the executions are unbounded.

    Parameters
    ----------
    entries
        The probability of running each use at once, one row a choice.
    parts
        See :func:`_in_order`.
    num_events
        With those that have no choice.
    """
    most = np.zeros((num_events, entries.shape[1]))
    for part in parts:
        # Nothing is known yet of the events of the part itself.
        others = entries[part.choices] + part.moves @ most
        if part.cyclic:
            uses = np.flatnonzero(others.any(axis=0))
            most[np.ix_(part.events, uses)] = _settled(others[:, uses], part)
        else:
            most[part.events] = np.maximum.reduceat(others, part.firsts)
    return most


def _settled(others: FloatArray, part: _Part) -> FloatArray:
    """The most executions from the events of a part that choices lead back into; ``inf`` if unbounded.

    Parameters
    ----------
    others
        The executions at once and after leaving the part, one row a choice and one column a use.
    part
        The events and choices.
    """
    inner = csr_array(part.moves[:, part.events])
    found = np.zeros((len(part.events), others.shape[1]))
    left = np.arange(others.shape[1])

    def swept(known: FloatArray, uses: IntArray) -> FloatArray:
        return np.maximum.reduceat(others[:, uses] + inner @ known, part.firsts)

    for sweep in range(1, MOST_SWEEPS + 1):
        if sweep % SOLVE_EVERY == 0:
            best = _best_choices(others[:, left] + inner @ found[:, left], part.firsts)
            solved = np.full((len(part.events), len(left)), np.nan)
            for policy in np.unique(best, axis=1).T:
                same = (best == policy[:, np.newaxis]).all(axis=0)
                solved[:, same] = _solved(others[policy][:, left[same]], inner[policy])
            error = np.abs(swept(solved, left) - solved)
            settled = ((solved >= found[:, left]) & (error <= 4.0 * ROUNDING * solved)).all(axis=0)
            found[:, left[settled]] = solved[:, settled]
            left = left[~settled]
        better = swept(found[:, left], left)
        # From below the sweeps rise until rounding ends it.
        rises = (better > found[:, left]).any(axis=0)
        endless = (better > WITHOUT_END).any(axis=0)
        found[:, left[rises]] = better[:, rises]
        found[:, left[endless]] = np.inf
        left = left[rises & ~endless]
        if not len(left):
            return found
    found[:, left] = np.inf
    return found


def _best_choices(values: FloatArray, firsts: IntArray) -> IntArray:
    """The first choice of the most executions at each event, for each column of uses."""
    count = len(values)
    most = np.repeat(np.maximum.reduceat(values, firsts), np.diff(firsts, append=count), axis=0)
    places = np.where(values == most, np.arange(count)[:, np.newaxis], count)
    return np.minimum.reduceat(places, firsts)


def _solved(right: FloatArray, moves: csr_array) -> FloatArray:
    """The executions to expect if one choice is made at each event; nan if they are unbounded."""
    try:
        factors = splu(csc_array(eye_array(len(right), format="csc") - moves))
    except RuntimeError:
        return np.full(right.shape, np.nan)
    solved: FloatArray = factors.solve(right)
    return solved
