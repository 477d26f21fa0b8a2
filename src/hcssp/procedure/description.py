"""A procedure for people: an indented tree of its events, choices, outcomes and activities.

An event that several outcomes lead to is shown where it is first met and referred to from then on, so
that the text is no longer than the problem and a procedure that retries is shown once. A procedure that
others run is shown once, below them, however often it is used.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from hcssp.cssp.levels import base_of

if TYPE_CHECKING:
    from hcssp.procedure.elements import Constraint, Outcome
    from hcssp.procedure.model import HCSSP


def describe(problem: HCSSP) -> str:
    """The text that ``print(problem)`` shows."""
    texts = [_one_level(problem)]
    for procedure, count in used_procedures(problem):
        again = "once" if count == 1 else f"{count} times"
        texts.append(f"procedure {procedure_name(procedure)}, used {again}: {_one_level(procedure)}")
    return "\n".join(["procedure: " + texts[0], *texts[1:]])


def used_procedures(problem: HCSSP) -> list[tuple[HCSSP, int]]:
    """The procedures that run inside `problem`, outer ones first, and how often each is used."""
    counts = Counter(id(use.procedure) for use in problem.uses)
    # By identity, since comparing procedures means comparing all their arrays.
    distinct = {id(use.procedure): use.procedure for use in problem.uses}
    return [(procedure, counts[key]) for key, procedure in distinct.items()]


def procedure_name(procedure: HCSSP) -> str:
    """What people call a procedure that others use."""
    return procedure.name or "without a name"


def _one_level(problem: HCSSP) -> str:
    """The tree of what was stated, without what is inside of procedures that it runs."""
    outline = problem.outline
    counts = ", ".join(
        _counted(len(things), *names)
        for things, names in (
            (outline.events, ("event", "events")),
            (outline.activities, ("activity", "activities")),
            (outline.constraints, ("constraint", "constraints")),
        )
    )
    wanted = f"minimise {problem.primary_name}"
    if problem.reward is not None:
        wanted = f"maximise {problem.reward.name}"
    lines = [f"{counts}; {wanted}", outline.events[outline.start]]
    shown = {outline.start}
    # A stack of lines still to write instead of recursion: procedures may be long.
    waiting = _choices(problem, outline.start, 1)
    while waiting:
        depth, text, event = waiting.pop()
        if event is not None:
            if event == outline.end:
                text += ", the end"
            elif event in shown:
                text += " (see above)"
            else:
                shown.add(event)
                waiting += _choices(problem, event, depth + 1)
        lines.append("  " * depth + text)
    lines += [
        _constraint(outline, constraint)
        for constraint in outline.constraints
        # What only counts the reward bounds nothing.
        if problem.reward is None or constraint.name not in problem.reward.weights or constraint.at_most < inf
    ]
    lines += [
        f"limit {constraint.name} <= {constraint.limit:.6g} for each execution of "
        f"{problem.uses[constraint.per.use].name}"
        for constraint in problem.constraints
        if constraint.per is not None
    ]
    return "\n".join(lines)


_Line = tuple[int, str, "int | None"]
"""Its depth, its text, and the event that it leads to, if any."""


def _choices(problem: HCSSP, event: int, depth: int) -> list[_Line]:
    """The lines below an event, the first of them last, ready to be popped."""
    lines: list[_Line] = []
    outline = problem.outline
    for index in outline.choices_at(event):
        choice = outline.choices[index]
        lines.append((depth, f"choose {choice.name}", None))
        for outcome in choice.outcomes:
            chance = f"{outcome.probability:.6g}: " if len(choice.outcomes) > 1 else ""
            lines += [
                (depth + 1 + below, (chance if not below else "") + text, event)
                for below, text, event in _outcome(problem, outcome)
            ]
    return lines[::-1]


def _outcome(problem: HCSSP, outcome: Outcome) -> list[_Line]:
    """One line; if the activity's exits lead to several events, one below it for each exit."""
    outline = problem.outline
    reach = f"reach {outline.events[outcome.event]}"
    if outcome.runs is None:
        return [(0, reach, outcome.event)]
    run = f"run {outline.activities[outcome.runs].name} ({_size(problem, outcome.runs)})"
    if not outcome.exits:
        return [(0, f"{run}, {reach}", outcome.event)]
    # At all levels of a capacity an exit leads to the same event.
    by_base = dict.fromkeys((base_of(label), event) for label, event in outcome.exits.items())
    exits = [(1, f"from {label}: reach {outline.events[event]}", event) for label, event in by_base]
    return [(0, run, None), *exits]


def _size(problem: HCSSP, activity: int) -> str:
    """How large an activity of the outline is, and which procedure it is if it is one."""
    procedure = None if problem.nesting is None else problem.nesting.procedures.get(activity)
    if procedure is None:
        return f"{problem.outline.activities[activity].cssp.num_states:,} states"
    return f"procedure {procedure_name(procedure)}, {procedure.flattening.num_states:,} states"


def _constraint(problem: HCSSP, constraint: Constraint) -> str:
    by_cost: dict[str, list[str]] = {}
    for index, cost in constraint.counts.items():
        activity = problem.activities[index]
        by_cost.setdefault(activity.cssp.cost_names[cost], []).append(activity.name)
    counted = "; ".join(f"{cost} of {', '.join(names)}" for cost, names in by_cost.items())
    if constraint.probability_of:
        bound = f"{100.0 * constraint.at_most:.6g}%" if constraint.at_most < inf else "inf"
        return f"constraint {constraint.name}: probability of {constraint.probability_of} <= {bound}"
    return f"constraint {constraint.name} <= {constraint.at_most:.6g}: counts {counted}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
