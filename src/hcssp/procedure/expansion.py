"""A procedure that runs others, written out: one level of events and activities that says the same.

An outcome that runs a procedure leads to the procedure's start instead, and the procedure's end is the event
that the outcome leads to; so an exit state is handed on as it is between activities. Every use has events and
activities of its own, hence choices and policies of its own, and all uses of a procedure share its C-SSPs.
What a constraint counts of a procedure is what the procedure's own constraint of that name counts inside; a
bound of the procedure itself is a limit for each execution (:mod:`hcssp.procedure.limits`).

>>> from hcssp.cssp.builder import CSSPBuilder
>>> step = CSSPBuilder(cost_names=("time", "damage"))
>>> _ = step.add_action(step.add_state("here"), "go", to=step.add_goal("there"), costs={"time": 2.0})
>>> from hcssp.procedure.builder import ProcedureBuilder
>>> from hcssp.procedure.elements import Outcome
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
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.grid import Cell
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.limits import limits
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import SEPARATOR, Nesting, event_places

OTHER_EXIT = "any other exit"
"""The exit of a stand-in for all those of its procedure for which no outcome names an event."""


def cost_names(problem: CSSP | HCSSP | ImplicitCSSP) -> tuple[str, ...]:
    """The names of an activity's costs; those of a procedure are its primary one and its constraints."""
    if isinstance(problem, HCSSP):
        return (problem.primary_name, *problem.outline.constraint_names)
    return problem.cost_names


def stand_in(procedure: HCSSP, exits: Sequence[Hashable] = ()) -> CSSP:
    """A C-SSP with the costs of a procedure that does nothing but end, in one of `exits` or otherwise."""
    names = cost_names(procedure)
    goals = list(dict.fromkeys((OTHER_EXIT, *exits)))
    return CSSP.unchecked(
        transitions=csr_array(np.array([[0.0, *(1.0 / len(goals) for _ in goals)]])),
        row_start=np.array([0, *(1 for _ in goals), 1]),
        costs=np.zeros((len(names), 1)),
        initial=np.array([1.0, *(0.0 for _ in goals)]),
        goals=np.array([False, *(True for _ in goals)]),
        cost_names=names,
        bounds=procedure.outline.bounds,
        state_labels=("begun", *goals),
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
        or if a limit belongs to a use that can be run as often as one likes.
    """
    outline = nesting.outline
    found: list[str] = []
    events, activities, choices = list(outline.events), list[Activity](), list[Choice]()
    # Where an activity of the outline begins: its number, or the event that its procedure starts with.
    number, entry = dict[int, int](), dict[int, int]()
    positions = dict[str, Cell]()
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
        nesting=nesting,
        units=outline.units,
    )
    own, found = limits(written_out)
    if found:
        raise InvalidProblem(found)
    return written_out.with_limits(own) if own else written_out


@dataclass(frozen=True)
class _Moved:
    """The choices of a procedure among the events and activities of one that uses it.

    Attributes
    ----------
    procedure
        What is used.
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
        # What runs nothing cannot tell exits apart.
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
