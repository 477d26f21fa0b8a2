"""Capacities of a whole procedure: what one activity has used is missing in the next.

Every activity carries the levels in its states (:mod:`hcssp.cssp.levels`) and hands them over at its exits,
so that choices and policies may depend on what is left. What an activity handed over before, it still does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hcssp.cssp.levels import Capacity, LevelLabels, Uses, level_label, with_levels
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.model import HCSSP
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
    return carried_over(problem, cssps, exceeded)


def carried_over(problem: HCSSP, cssps: Sequence[CSSP], constraints: Sequence[Constraint]) -> HCSSP:
    """The same procedure, whose activities carry something in their states and hand it over at their exits.

    Parameters
    ----------
    problem
        The procedure.
    cssps
        Each activity with levels in its states; an activity that hands nothing over starts at the first.
    constraints
        What must be kept to besides.

    Raises
    ------
    InvalidProblem
        If an activity begins in one of several states after another.
    """
    _check(problem)
    entered = _entries(problem)
    activities = [
        _entered(activity, cssp, entered[_event(problem, index)])
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


def _check(problem: HCSSP) -> None:
    found = _violations(problem, _entries(problem))
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


_Handed = tuple[Hashable, bool]
"""The label of an exit, and whether the next activity starts in its own state of that label."""


def _entries(problem: HCSSP) -> list[set[_Handed]]:
    """What each event can be entered with, but for the very beginning."""
    found: list[set[_Handed]] = [set() for _ in problem.events]
    for activity in problem.activities:
        outcome = problem.activity_outcome[problem.activities.index(activity)]
        reached = {label: outcome.event_after(label) for label in activity.exit_labels}
        several = Counter(reached.values())
        for label, event in reached.items():
            found[event].add((label, several[event] > 1))
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


def _entered(activity: Activity, cssp: CSSP, handed: set[_Handed]) -> Activity:
    """The activity with levels, and where it starts when it is entered with what is handed over."""
    labels = cssp.state_labels
    if not isinstance(labels, LevelLabels):
        raise TypeError("an activity with levels has labels with levels")
    start = activity.cssp.state_labels[int(np.argmax(activity.cssp.initial))]
    entries: dict[Hashable, Hashable] = {}
    for label, kept in handed:
        own = activity.entries.get(label, label) if kept else start
        if own != label:
            entries |= {level_label(label, level): level_label(own, level) for level in labels.levels}
    return replace(activity, cssp=cssp, entries=entries)


def _choice(problem: HCSSP, activities: Sequence[Activity], choice: Choice) -> Choice:
    return replace(
        choice, outcomes=tuple(_outcome(problem, activities, outcome) for outcome in choice.outcomes)
    )


def _outcome(problem: HCSSP, activities: Sequence[Activity], outcome: Outcome) -> Outcome:
    if not outcome.exits or outcome.runs is None:
        return outcome
    labels = activities[outcome.runs].cssp.state_labels
    levels = labels.levels if isinstance(labels, LevelLabels) else ()
    before = problem.activities[outcome.runs].exit_labels
    return replace(
        outcome,
        exits={level_label(label, level): outcome.event_after(label) for label in before for level in levels},
    )
