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
            lines.append((depth + 1, chance + _outcome(problem, outcome), outcome.event))
    return lines[::-1]


def _outcome(problem: HCSSP, outcome: Outcome) -> str:
    reach = f"reach {problem.events[outcome.event]}"
    if outcome.runs is None:
        return reach
    activity = problem.activities[outcome.runs]
    return f"run {activity.name} ({activity.cssp.num_states:,} states), {reach}"


def _constraint(problem: HCSSP, constraint: Constraint) -> str:
    by_cost: dict[str, list[str]] = {}
    for index, cost in constraint.counts.items():
        activity = problem.activities[index]
        by_cost.setdefault(activity.cssp.cost_names[cost], []).append(activity.name)
    counted = "; ".join(f"{cost} of {', '.join(names)}" for cost, names in by_cost.items())
    return f"constraint {constraint.name} <= {constraint.at_most:.6g}: counts {counted}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
