"""Capacities of a whole procedure: what one activity has used is missing in the next.

Every activity carries the levels in its states (:mod:`hcssp.cssp.levels`) and hands them over at its exits,
so that choices and policies may depend on what is left. What an activity handed over before, it still does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from hcssp.cssp.levels import Capacity, LevelLabel, LevelLabels, Uses, level_label, used_in, with_levels
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.entries import goal_event_states
from hcssp.procedure.model import CAPACITY_MODEL, HCSSP
from hcssp.procedure.rest import UNDER_WAY, Position, rest_of
from hcssp.procedure.single import as_procedure


def with_capacities(
    problem: CSSP | HCSSP,
    capacities: Sequence[Capacity],
    uses: Mapping[str, FloatArray] | None = None,
    give_up: Mapping[str, Mapping[str, float]] | None = None,
    give_up_to: Mapping[str, Hashable] | None = None,
) -> HCSSP:
    """The same procedure, in no run of which more is used than there is.

    Parameters
    ----------
    problem
        The procedure, or a single problem as one.
    capacities
        What there is. One that may be exceeded with some probability adds a constraint.
    uses
        For each activity, by name, how much of each capacity each of its rows uses, or gives back if
        negative: an array with a row for each capacity. By default the cost that has the capacity's name,
        which may depend on the state that is reached.
    give_up
        For some activities, by name, what it costs to end where no goal can be reached with what is left.
    give_up_to
        For some of these, the label of the goal where they end then; by default the first.

    Raises
    ------
    InvalidProblem
        If an activity has no cost or goal of that name, or begins in one of several states after another.
    """
    problem = as_procedure(problem)
    if uses is not None:
        return with_uses(problem, capacities, uses, give_up, give_up_to)
    # Activities that share their arrays share their uses.
    own = {id(each.cssp): _own_uses(each, capacities) for each in problem.activities}
    used = {each.name: own[id(each.cssp)] for each in problem.activities}
    return with_uses(problem, capacities, used, give_up, give_up_to)


def with_uses(
    problem: HCSSP,
    capacities: Sequence[Capacity],
    used: Mapping[str, Uses | FloatArray],
    give_up: Mapping[str, Mapping[str, float]] | None = None,
    give_up_to: Mapping[str, Hashable] | None = None,
) -> HCSSP:
    """As :func:`with_capacities`, where uses may depend on the state that is reached."""
    prices, ends = give_up or {}, give_up_to or {}
    _check(problem)
    made: dict[tuple[int, int, int, Hashable], CSSP] = {}
    cssps = []
    for activity in problem.activities:
        # Activities that share their arrays still do.
        use, price, end = used[activity.name], prices.get(activity.name), ends.get(activity.name)
        key = (id(activity.cssp), id(use), id(price), end)
        if key not in made:
            made[key] = validated(with_levels(activity.cssp, capacities, use, price, end))
        cssps.append(made[key])
    exceeded = [
        Constraint(
            capacity.exceeded,
            capacity.probability,
            {
                index: len(activity.cssp.cost_names) + number
                for index, activity in enumerate(problem.activities)
            },
            probability_of=f"using more than {capacity.at_most:g} of {capacity.name}",
        )
        for number, capacity in enumerate(each for each in capacities if each.probability > 0.0)
    ]
    levelled = carried_over(problem, cssps, exceeded)
    # A problem that is derived from this one keeps it as long as its structure is the same.
    uses = {each.name: Uses.of(each.cssp, used[each.name]) for each in problem.activities}
    levelled.__dict__[CAPACITY_MODEL] = CapacityModel(problem, tuple(capacities), uses, prices, ends)
    return levelled


@dataclass(frozen=True, eq=False)
class CapacityModel:
    """A procedure without levels, and the capacities that another one carries in its states.

    Attributes
    ----------
    problem
        The procedure without levels.
    capacities, uses, give_up, give_up_to
        As for :func:`with_capacities`.
    """

    problem: HCSSP
    capacities: tuple[Capacity, ...]
    uses: Mapping[str, Uses]
    give_up: Mapping[str, Mapping[str, float]]
    give_up_to: Mapping[str, Hashable]


def capacity_model(problem: HCSSP) -> CapacityModel | None:
    """What `problem` was made from by :func:`with_capacities`, under its own bounds and names.

    None if it carries no capacities, or its parts or constraints have been changed since.
    """
    model: CapacityModel | None = problem.__dict__.get(CAPACITY_MODEL)
    if model is None:
        return None
    exceeded = [each.exceeded for each in model.capacities if each.probability > 0.0]
    if problem.constraint_names != (*model.problem.constraint_names, *exceeded):
        return None
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    # A bound of more than 1 on a probability is none.
    capacities = tuple(
        replace(each, probability=min(bounds.pop(each.exceeded), 1.0)) if each.probability > 0.0 else each
        for each in model.capacities
    )
    stated = model.problem.with_bounds(bounds).named(problem.name, problem.description, problem.positions)
    return replace(model, problem=stated.measured_in(problem.units), capacities=capacities)


def rest_with_capacities(problem: HCSSP, position: Position, left: Mapping[str, float]) -> HCSSP:
    """As :func:`~hcssp.procedure.rest.rest_of`; the rest carries its capacities from the level reached on.

    So it can be written to a file as it is stated. Once a capacity has been exceeded, the rest is a part of
    the problem with levels.
    """
    model = capacity_model(problem)
    if model is None:
        return rest_of(problem, position, left)
    label, place = _without_levels(problem, model, position)
    amounts = used_in(label) if label is not None else {each.name: each.used for each in model.capacities}
    if inf in amounts.values():
        return rest_of(problem, position, left)
    rest = rest_of(model.problem, place, left)
    capacities = [
        replace(each, used=amounts[each.name], probability=_left_of(each, left)) for each in model.capacities
    ]
    names = {each.name: _own_name(each.name, model.uses) for each in rest.activities}
    # An activity that only enters an event uses nothing.
    uses = {
        each.name: model.uses.get(names[each.name], np.zeros((len(capacities), each.cssp.num_rows)))
        for each in rest.activities
    }
    give_up = {new: model.give_up[old] for new, old in names.items() if old in model.give_up}
    give_up_to = {new: model.give_up_to[old] for new, old in names.items() if old in model.give_up_to}
    return with_uses(rest, capacities, uses, give_up, give_up_to)


def _left_of(capacity: Capacity, left: Mapping[str, float]) -> float:
    """With what probability a capacity may still be exceeded."""
    return min(max(left[capacity.exceeded], 0.0), 1.0) if capacity.probability > 0.0 else 0.0


def _own_name(name: str, known: Mapping[str, object]) -> str:
    """What an activity of a rest was called in the whole."""
    return name if name in known else name.removesuffix(UNDER_WAY)


def _without_levels(
    problem: HCSSP, model: CapacityModel, position: Position
) -> tuple[Hashable | None, Position]:
    """The label at a position, and the position in the procedure without levels."""
    if position.activity is not None and position.state is not None:
        labels = problem.activities[position.activity].cssp.state_labels
        count = len(labels) // model.problem.activities[position.activity].cssp.num_states
        return labels[position.state], replace(position, state=position.state // count)
    base = _without_last_level(position.entry)
    is_entered = (position.event, base) in model.problem.entered_states[0]
    return position.entry, replace(position, entry=base if is_entered else None)


def _without_last_level(label: Hashable | None) -> Hashable | None:
    if not isinstance(label, LevelLabel):
        return label
    *others, _ = label.levels
    return LevelLabel(label.base, tuple(others)) if others else label.base


def carried_over(
    problem: HCSSP,
    cssps: Sequence[CSSP],
    constraints: Sequence[Constraint],
    unlabelled: str | None = None,
) -> HCSSP:
    """The same procedure, whose activities carry levels in their states and hand them over at their exits.

    Parameters
    ----------
    problem
        The procedure.
    cssps
        Each activity with levels in its states; an activity that hands nothing over starts at the first.
    constraints
        What must be kept to besides.
    unlabelled
        The first level, if exits are handed over only where they were before: an activity that handed over
        nothing then hands over its level alone, and still nothing at the first one. By default every exit is
        handed over with its level.

    Raises
    ------
    InvalidProblem
        If an activity begins in one of several states after another.
    """
    _check(problem, unlabelled)
    entered = _entries(problem, unlabelled)
    activities = [
        replace(
            activity,
            cssp=cssp,
            entries=_entry_states(activity, cssp, entered[_event(problem, index)], unlabelled),
            hands_over=_handed_over(problem, index, cssp, unlabelled),
        )
        for index, (activity, cssp) in enumerate(zip(problem.activities, cssps, strict=True))
    ]
    return HCSSP(
        events=problem.events,
        start=problem.start,
        end=problem.end,
        activities=tuple(activities),
        choices=tuple(_choice(problem, activities, choice) for choice in problem.choices),
        constraints=(*problem.constraints, *constraints),
        name=problem.name,
        description=problem.description,
        positions=problem.positions,
        units=problem.units,
    )


def _check(problem: HCSSP, unlabelled: str | None = None) -> None:
    found = _violations(problem, _entries(problem, unlabelled))
    if found:
        raise InvalidProblem(found)


def _own_uses(activity: Activity, capacities: Sequence[Capacity]) -> Uses:
    names = activity.cssp.cost_names
    for capacity in capacities:
        if capacity.name not in names:
            told = (
                f"activity {activity.name!r}: it has no cost {capacity.name!r}, of which there is a capacity"
            )
            raise InvalidProblem([f"{told}; say what it uses with `uses`"])
    return Uses.of_costs(activity.cssp, [capacity.name for capacity in capacities])


_Handed = tuple[Hashable | None, bool]
"""What is handed over besides a level, and whether the next activity starts in its state of that label."""


def _handed(problem: HCSSP, activity: int, unlabelled: str | None) -> dict[int, tuple[int, _Handed]]:
    """For each goal of an activity the event that it leads to, and what it hands over besides a level."""
    labels = problem.activities[activity].cssp.state_labels
    found: dict[int, tuple[int, _Handed]] = {}
    for goal, (event, label) in goal_event_states(problem, activity).items():
        # The end may be an event of another procedure, to which every exit is handed over.
        named = label is None and (unlabelled is None or event == problem.end)
        found[goal] = event, (labels[goal] if named else label, label is not None)
    return found


def _entries(problem: HCSSP, unlabelled: str | None) -> list[set[_Handed]]:
    """What each event can be entered with, but for the very beginning."""
    found: list[set[_Handed]] = [set() for _ in problem.events]
    for index in range(problem.num_activities):
        for event, handed in _handed(problem, index, unlabelled).values():
            found[event].add(handed)
    passing = [
        (choice.event, outcome.event)
        for choice in problem.choices
        for outcome in choice.outcomes
        if outcome.runs is None
    ]
    grown = True
    while grown:
        grown = False
        for before, after in passing:
            if not found[before] <= found[after]:
                found[after] |= found[before]
                grown = True
    return found


def _violations(problem: HCSSP, entered: Sequence[set[_Handed]]) -> list[str]:
    found = []
    for index, activity in enumerate(problem.activities):
        handed = entered[_event(problem, index)]
        begins = any(not kept for _, kept in handed)
        if begins and np.count_nonzero(activity.cssp.initial) > 1:
            found.append(
                f"activity {activity.name!r}: it begins in one of several states after another activity; "
                "where something is carried in the state let it begin in one, and let its first action draw "
                "the lots"
            )
        found += [
            f"activity {activity.name!r}: {label!r} is handed over to it by one activity and only ends "
            "another; where something is carried in the state give them different names"
            for label, kept in sorted(handed, key=str)
            if kept and (label, False) in handed
        ]
    return found


def _event(problem: HCSSP, activity: int) -> int:
    return problem.choices[int(problem.activity_choice[activity])].event


def _levels(cssp: CSSP) -> Sequence[str]:
    labels = cssp.state_labels
    if not isinstance(labels, LevelLabels):
        raise TypeError("an activity with levels has labels with levels")
    return labels.levels


def _entry_states(
    activity: Activity, cssp: CSSP, handed: set[_Handed], unlabelled: str | None
) -> dict[Hashable, Hashable]:
    """Where an activity with levels starts, by what is handed over to it."""
    start = activity.cssp.state_labels[int(np.argmax(activity.cssp.initial))]
    entries: dict[Hashable, Hashable] = {}
    for label, kept in handed:
        own = activity.entries.get(label, label) if kept else start
        if own != label:
            entries |= {
                level_label(label, level): level_label(own, level)
                for level in _levels(cssp)
                if label is not None or level != unlabelled
            }
    return entries


def _handed_over(
    problem: HCSSP, activity: int, cssp: CSSP, unlabelled: str | None
) -> dict[Hashable, Hashable]:
    """What an activity with levels hands over, by the labels of its goals; empty if these labels."""
    labels = problem.activities[activity].cssp.state_labels
    handed = {goal: label for goal, (_, (label, _)) in _handed(problem, activity, unlabelled).items()}
    if all(label == labels[goal] for goal, label in handed.items()):
        return {}
    return {
        level_label(labels[goal], level): level_label(label, level)
        for goal, label in handed.items()
        for level in _levels(cssp)
        if label is not None or level != unlabelled
    }


def _choice(problem: HCSSP, activities: Sequence[Activity], choice: Choice) -> Choice:
    return replace(
        choice, outcomes=tuple(_outcome(problem, activities, outcome) for outcome in choice.outcomes)
    )


def _outcome(problem: HCSSP, activities: Sequence[Activity], outcome: Outcome) -> Outcome:
    if not outcome.exits or outcome.runs is None:
        return outcome
    levels = _levels(activities[outcome.runs].cssp)
    before = problem.activities[outcome.runs].exit_labels
    return replace(
        outcome,
        exits={level_label(label, level): outcome.event_after(label) for label in before for level in levels},
    )
