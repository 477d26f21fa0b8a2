"""A procedure for people: an indented tree of its events, choices, outcomes and activities.

An event that several outcomes lead to is shown where it is first met and referred to from then on, so
that the text is no longer than the problem and a procedure that retries is shown once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hcssp.procedure.model import HCSSP, Constraint, Outcome


def describe(problem: HCSSP) -> str:
    """The text that ``print(problem)`` shows."""
    counts = ", ".join(
        _counted(len(things), *names)
        for things, names in (
            (problem.events, ("event", "events")),
            (problem.activities, ("activity", "activities")),
            (problem.constraints, ("constraint", "constraints")),
        )
    )
    lines = [f"procedure: {counts}; minimise {problem.primary_name}", problem.events[problem.start]]
    shown = {problem.start}
    # A stack of lines still to write instead of recursion: procedures may be long.
    waiting = _choices(problem, problem.start, 1)
    while waiting:
        depth, text, event = waiting.pop()
        if event is not None:
            if event == problem.end:
                text += ", the end"
            elif event in shown:
                text += " (see above)"
            else:
                shown.add(event)
                waiting += _choices(problem, event, depth + 1)
        lines.append("  " * depth + text)
    lines += [_constraint(problem, constraint) for constraint in problem.constraints]
    return "\n".join(lines)


_Line = tuple[int, str, "int | None"]
"""Its depth, its text, and the event that it leads to, if any."""


def _choices(problem: HCSSP, event: int, depth: int) -> list[_Line]:
    """The lines below an event, the first of them last, ready to be popped."""
    lines: list[_Line] = []
    for index in problem.choices_at(event):
        choice = problem.choices[index]
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
    reach = f"reach {problem.events[outcome.event]}"
    if outcome.runs is None:
        return [(0, reach, outcome.event)]
    activity = problem.activities[outcome.runs]
    run = f"run {activity.name} ({activity.cssp.num_states:,} states)"
    if not outcome.exits:
        return [(0, f"{run}, {reach}", outcome.event)]
    exits = [
        (1, f"from {label}: reach {problem.events[event]}", event) for label, event in outcome.exits.items()
    ]
    return [(0, run, None), *exits]


def _constraint(problem: HCSSP, constraint: Constraint) -> str:
    by_cost: dict[str, list[str]] = {}
    for index, cost in constraint.counts.items():
        activity = problem.activities[index]
        by_cost.setdefault(activity.cssp.cost_names[cost], []).append(activity.name)
    counted = "; ".join(f"{cost} of {', '.join(names)}" for cost, names in by_cost.items())
    return f"constraint {constraint.name} <= {constraint.at_most:.6g}: counts {counted}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
