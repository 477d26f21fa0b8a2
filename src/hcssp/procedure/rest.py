r"""The rest of a procedure after a part of it has been executed.

From an event on, the rest is the procedure that starts there, without what cannot be reached any more. In a
state of an activity, the rest begins with that activity, started in that state: an execution that is under
way has a policy of its own, also where a cycle may run the activity again later.

The bounds of the rest are the rests of the budgets. Of a limit for each execution of a use
(:mod:`hcssp.procedure.nesting`), let :math:`R` be what is left of it: for an execution that is under way what
may still be spent in it, else 0. Later executions, :math:`N` of them, may spend
:math:`\Delta` each, so the rest keeps :math:`G \le R + \Delta N`, which is
:math:`G + \Delta \cdot \text{losses} \le R + \Delta M` with the :math:`M` of where it starts.

>>> from hcssp.scenarios.domains.evacuation import small_building
>>> building = small_building(bound=2.0)
>>> rest = rest_of(building, position_of(building, ("go-to-E", (3, 1))), {"damage": 0.5})
>>> print(rest)
procedure: 3 events, 2 activities, 1 constraint; minimise time
in go-to-E
  choose go on
    run go-to-E (14 states), reach hallway
      choose leave-through-E
        run leave-through-E (11 states), reach exit, the end
constraint damage <= 0.5: counts damage of leave-through-E, go-to-E
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hcssp.cssp.grid import GridWorld
from hcssp.cssp.labels import as_label
from hcssp.cssp.model import CSSP
from hcssp.cssp.product import Level, LevelLabel, LevelLabels, base_of, listed_by_level, with_used
from hcssp.errors import BudgetSpent, InvalidProblem, UnknownName
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance
from hcssp.procedure.model import (
    HCSSP,
    Choice,
    Constraint,
    Outcome,
    PerExecution,
    free_step,
    goal_event_states,
)
from hcssp.procedure.nesting import Nesting, ToCome, Use, to_come
from hcssp.procedure.parts import Part, part_of

GO_ON = "go on"
"""The only choice where a rest begins within an activity."""

UNDER_WAY = " (under way)"
"""After the name of an activity that is under way and may be run again."""


@dataclass(frozen=True)
class Position:
    """Where in a procedure one is: at an event, or in a state of an activity.

    Attributes
    ----------
    event, entry
        The event, and the label that it was entered with if there are several; for an activity that is under
        way, the event before it.
    activity, state
        The activity and its state, as numbers; None at an event.
    """

    event: int
    entry: Hashable | None = None
    activity: int | None = None
    state: int | None = None


def position_of(problem: HCSSP, at: Place, *, measured: bool = False) -> Position:
    """The position that is called `at`: an event's name, a pair, or a text that means one.

    >>> from hcssp.scenarios.domains.evacuation import small_building
    >>> building = small_building()
    >>> position_of(building, "go-to-E 3,1") == position_of(building, ("go-to-E", (3, 1)))
    True

    Parameters
    ----------
    problem
        The procedure.
    at
        The name of an event; with the label that it was entered with, if there are several; or the name of an
        activity with the label of its state; see :mod:`hcssp.procedure.rest`. A state that is a goal is the
        event behind it.
    measured
        Whether an event may be entered at every level of a capacity, also where the model never does.

    Raises
    ------
    UnknownName
        If there is no such event, activity or state.
    InvalidProblem
        If it does not say in which state, or how the event was entered.
    """
    meant = readings(problem, at)
    for name, label in meant:
        found = _position(problem, name, label, measured)
        if found is not None:
            return found
    raise _no_place(problem, at, meant)


def _position(problem: HCSSP, name: str, label: Hashable | None, measured: bool) -> Position | None:
    """A state of an activity, or an event as it is entered; None if there is no such place."""
    names = [activity.name for activity in problem.activities]
    if label is not None and name in names:
        activity = names.index(name)
        index = problem.activities[activity].cssp.state_index
        state = index.get(label)
        if state is None and isinstance(label, str):
            state = index.get(label_called(label, index))
        if state is not None:
            return _inside(problem, activity, state)
    if name not in problem.events:
        return None
    event = problem.event_index(name)
    entries = _entries(problem, event)
    if measured:
        entries += _at_every_level(problem, entries)
    entry = None if label is None else label_called(label, entries)
    # One that is entered without a label is not entered with one.
    return Position(event, entry) if (entry is None) == (label is None) and entry in entries else None


def _entries(problem: HCSSP, event: int) -> list[Hashable | None]:
    return [entry for each, entry in problem.flattening.event_states if each == event]


def _at_every_level(problem: HCSSP, entries: list[Hashable | None]) -> list[Hashable]:
    """The labels of entries at all levels of a capacity."""
    every = dict.fromkeys(
        level
        for activity in problem.activities
        if isinstance(activity.cssp.state_labels, LevelLabels)
        for level in activity.cssp.state_labels.levels
        if isinstance(level, Level)
    )
    labels = dict.fromkeys((each.base, each.levels[1:]) for each in entries if isinstance(each, LevelLabel))
    return [LevelLabel(base, (level, *others)) for base, others in labels for level in every]


def _no_place(
    problem: HCSSP, at: Place, meant: list[tuple[str, Hashable | None]]
) -> UnknownName | InvalidProblem:
    """The error about an unknown place."""
    activities = {activity.name: activity.cssp for activity in problem.activities}
    for name, label in meant:
        if name in problem.events:
            entries = [each for each in _entries(problem, problem.event_index(name)) if each is not None]
            listed = ", ".join(map(repr, listed_by_level(entries)))
            wrong = "" if label is None else f"it cannot be entered in {label!r}; "
            remedy = f"may be entered in {listed}; name one" if listed else "has no states; name it alone"
            return InvalidProblem([f"at event {name!r}: {wrong}it {remedy}"])
    if isinstance(at, str) and at in activities:
        cssp = activities[at]
        remedy = f"name its state as well, such as '{at} {cssp.state_labels[int(np.argmax(cssp.initial))]}'"
        return InvalidProblem([f"at {at!r}: this is an activity; {remedy}"])
    if meant and meant[0][0] in activities:
        name, label = meant[0]
        return UnknownName(f"state of {name!r}", str(label), listed_by_level(activities[name].state_labels))
    if not isinstance(at, str) and not meant:
        return InvalidProblem([f"at {at!r}: name an event, or give an activity (or an event) and its state"])
    name = at if isinstance(at, str) else meant[0][0]
    return UnknownName("event or activity", name, (*problem.events, *activities))


def _inside(problem: HCSSP, activity: int, state: int) -> Position:
    """A state of an activity; a goal is the event that is reached from it."""
    if problem.activities[activity].cssp.goals[state]:
        return Position(*goal_event_states(problem, activity)[state])
    before = problem.choices[int(problem.activity_choice[activity])].event
    return Position(before, None, activity, state)


def rest_of(problem: HCSSP, position: Position, left: Mapping[str, float]) -> HCSSP:
    """The rest of the procedure at `position`, under the rest of the budgets.

    Parameters
    ----------
    problem
        The whole.
    position
        Where one is.
    left
        By the names of constraints, what may still be spent; a constraint that counts nothing any more is
        left out. For a limit of a use: in the execution that is under way, and zero if none is.

    Raises
    ------
    InvalidProblem
        If nothing is left to do.
    BudgetSpent
        If less than nothing is left of a budget of which more may be spent.
    """
    if position.event == problem.end:
        end = problem.events[problem.end]
        raise InvalidProblem([f"at event {end!r}: the procedure is over, nothing is left to plan"])
    begun = _begun(problem, position)
    part = part_of(begun, np.ones(len(begun.choices), dtype=np.bool_))
    rest = _renamed(part, problem.num_activities, position)
    under_way = [
        position.activity is not None and inside(problem, position, number)
        for number in range(len(problem.uses))
    ]
    uses = tuple(_placed(use, part, begun) for use, begun in zip(problem.uses, under_way, strict=True))
    constraints = _constraints(problem, position, part, left)
    stated = tuple(each for each in constraints if each.per is None)
    rest = rest.derive(
        constraints=stated,
        name=f"rest of {problem.name}" if problem.name else "",
        description=f"what is left from {describe(problem, position)} on",
    )
    if len(stated) == len(constraints):
        return rest
    return rest.derive(constraints=constraints, nesting=Nesting(rest, {}, uses))


def describe(problem: HCSSP, position: Position) -> str:
    """The text of a position."""
    if position.activity is not None and position.state is not None:
        activity = problem.activities[position.activity]
        return f"state {_shown(activity.cssp.state_labels[position.state])} of activity {activity.name!r}"
    entered = "" if position.entry is None else f", entered in {_shown(position.entry)}"
    return f"event {problem.events[position.event]!r}{entered}"


def _shown(label: Hashable) -> str:
    return with_used(label) if isinstance(label, LevelLabel) else repr(label)


def inside(problem: HCSSP, position: Position, use: int) -> bool:
    """Whether a use is being executed at a position."""
    found = problem.uses[use]
    if position.activity is None:
        return position.event in found.events
    return position.activity in found.activities or position.activity == found.begun


def _begun(problem: HCSSP, position: Position) -> HCSSP:
    """The procedure that starts at a position, with all that it had before."""
    if position.activity is None or position.state is None:
        if position.entry is None:
            return problem.derive(start=position.event)
        # A step that hands over the label with which the event was entered.
        step = free_step("enter", problem.primary_name, [position.entry])
        activity = replace(step, cssp=_started(step.cssp, 0), entries={})
        outcome = Outcome(1.0, position.event, runs=problem.num_activities)
        name = f"in {position.entry}"
        source = None
    else:
        source = position.activity
        whole = problem.activities[source]
        activity = replace(whole, cssp=_started(whole.cssp, position.state), entries={})
        outcome = replace(problem.activity_outcome[source], probability=1.0, runs=problem.num_activities)
        name = f"in {whole.name}"
    while name in problem.events:
        name += "'"
    here = problem.num_events
    return problem.derive(
        events=(*problem.events, name),
        start=here,
        activities=(*problem.activities, activity),
        choices=(*problem.choices, Choice(here, GO_ON, (outcome,))),
        constraints=tuple(
            each
            if source is None or source not in each.counts
            else replace(each, counts={**each.counts, problem.num_activities: each.counts[source]})
            for each in problem.constraints
        ),
    )


def _started(cssp: CSSP, state: int) -> CSSP:
    """The problem from one of its states on."""
    initial = np.zeros(cssp.num_states)
    initial[state] = 1.0
    world, label = cssp.world, cssp.state_labels[state]
    if type(world) is GridWorld and isinstance(label, tuple):
        # An opening in which it could start is a cell that one may come back to.
        world = replace(world, start={**dict.fromkeys(world.starts, 0.0), label: 1.0})
    return cssp.derive(initial=initial, world=world)


def _renamed(part: Part, begun: int, position: Position) -> HCSSP:
    """The part, in which the activity that is under way has a name of its own."""
    rest = part.problem
    if position.activity is None or position.activity not in part.activities:
        return rest
    activities = list(rest.activities)
    place = part.activities.index(begun)
    activities[place] = replace(activities[place], name=activities[place].name + UNDER_WAY)
    return rest.derive(activities=tuple(activities))


def _placed(use: Use, part: Part, begun: bool) -> Use:
    """Where a use is in the part; its events and activities are neighbours there, too."""
    # What is under way was added as the last activity.
    last = len(part.activities) - 1
    events = {event: new for new, event in enumerate(part.events)}
    activities = {activity: new for new, activity in enumerate(part.activities)}
    return replace(
        use,
        start=events.get(use.start, -1),
        end=events.get(use.end, -1),
        events=_span([events[each] for each in use.events if each in events]),
        activities=_span([activities[each] for each in use.activities if each in activities]),
        begun=last if begun else None,
    )


def _span(places: list[int]) -> range:
    return range(places[0], places[-1] + 1) if places else range(0)


def _constraints(
    problem: HCSSP, position: Position, part: Part, left: Mapping[str, float]
) -> tuple[Constraint, ...]:
    """The constraints that still count something, under the rest of the budgets."""
    found: list[Constraint] = []
    spent: list[str] = []
    limited = [each for each in problem.constraints if each.per is not None and np.isfinite(each.at_most)]
    uses = [problem.uses[each.per.use] for each in limited if each.per is not None]
    known = dict(zip((each.name for each in limited), to_come(problem, uses), strict=True))
    for stated, kept in zip(problem.constraints, part.problem.constraints, strict=True):
        if not kept.counts:
            continue
        changed = replace(kept, at_most=left[stated.name], per=None)
        if stated.name in known:
            changed = _limit(problem, position, part, stated, changed, known[stated.name])
        if changed.at_most < 0.0:
            spent += overspent(stated, changed.at_most)
            changed = replace(changed, at_most=0.0)
        found.append(changed)
    if spent:
        raise BudgetSpent(spent)
    return tuple(found)


def overspent(stated: Constraint, left: float) -> list[str]:
    """The message about a constraint whose remaining budget is negative; none if that is rounding."""
    if not left < -allowance(np.array([stated.at_most]), FEASIBILITY_TOLERANCE)[0]:
        return []
    gone = f"{-left:.6g} too much is spent already"
    return [f"constraint {stated.name!r}: nothing is left of {stated.limit:g}, {gone}"]


def _limit(
    problem: HCSSP,
    position: Position,
    part: Part,
    stated: Constraint,
    left: Constraint,
    known: ToCome | None,
) -> Constraint:
    """A limit of a use: what is left of the execution under way, and as much for each that may come."""
    if stated.per is None:
        raise ValueError(f"{stated.name} is not a limit of a use")
    if known is None:
        raise RuntimeError(f"{stated.name}: a limit of a use whose executions are unbounded")
    most, losses = known
    after = position.event if position.activity is None else problem.activity_outcome[position.activity].event
    at_most = left.at_most + stated.limit * float(most[after])
    if float(most[after]) == 0.0:
        # What is left is for the execution under way. Ways back without probability are none.
        return replace(left, at_most=at_most)
    place = {choice: new for new, choice in enumerate(part.choices)}
    kept = {place[c]: float(losses[c]) for c in np.flatnonzero(losses).tolist() if c in place}
    per = PerExecution(stated.per.use, float(most[after]), kept, carried=left.at_most)
    return replace(left, at_most=at_most, per=per)


Place = Hashable
"""An event, ``(event, entry)``, ``(activity, state)``, or a text that means one, such as ``cross-NE 3,4``."""


def readings(problem: HCSSP, at: Place) -> list[tuple[str, Hashable | None]]:
    """What `at` may mean, the likeliest first: the name of an event or activity, and a label or None.

    >>> from hcssp.scenarios.domains.evacuation import small_building
    >>> readings(small_building(), "go-to-door 2,2")
    [('go-to-door', '2,2')]

    Parameters
    ----------
    problem
        The procedure.
    at
        The name of an event; a pair of a name and a label; a text that begins with a name; the label of a
        state, if there is one activity only.
    """
    found: list[tuple[str, Hashable | None]] = []
    if isinstance(at, tuple) and len(at) == 2 and isinstance(at[0], str):
        found.append((at[0], as_label(at[1])))
    if isinstance(at, str):
        if at in problem.events:
            found.append((at, None))
        # Names may have spaces in them, so whatever the text begins with may be the name.
        names = [*problem.events, *(activity.name for activity in problem.activities)]
        begun = {name for name in names if re.match(rf"{re.escape(name)}[ :]", at)}
        found += [(name, at[len(name) :].strip(" :")) for name in sorted(begun, key=len, reverse=True)]
    if problem.num_activities == 1:
        found.append((problem.activities[0].name, at))
    return found


def label_called(given: Hashable | None, labels: Iterable[Hashable | None]) -> Hashable | None:
    """The label that is meant: by itself, by its text, or as a cell without parentheses; None if none is.

    Of labels that differ in their levels only, the levels alone: ``battery 60``.

    >>> label_called("2,2", [(1, 2), (2, 2)])
    (2, 2)
    """
    if not isinstance(given, str):
        return next((label for label in labels if label == given), None)
    listed = [label for label in labels if label is not None]
    meant = [label for label in listed if _plain(str(label)) == _plain(given)]
    if not meant and len({base_of(label) for label in listed}) == 1:
        by_level = (label for label in listed if isinstance(label, LevelLabel))
        meant = [label for label in by_level if _plain(", ".join(label.levels)) == _plain(given)]
    return min(meant, key=lambda label: str(label) != given, default=None)


def _plain(text: str) -> str:
    return re.sub(r"[()\s]", "", text)
