"""A problem, or the list of built-in ones, for people and for programs."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from hcssp.procedure import HCSSP, describe
from hcssp.procedure.description import Aim
from hcssp.reports.figures import document, plain
from hcssp.reports.plan_text import WIDTH, Style, aligned
from hcssp.scenarios.scenario import scenarios
from hcssp.solving.registry import METHODS


def problem_in_words(title: str, problem: HCSSP, style: Style) -> str:
    """What ``hcssp show`` prints for people."""
    flattening = problem.flattening
    wanted = Aim.of(problem)
    aim = f"{'maximise' if wanted.greatest else 'minimise'} the expected {problem.called(wanted.name)}"
    sizes = [["activity", "states", "actions", "transitions", "starts", "goals"]]
    for activity in problem.activities:
        cssp = activity.cssp
        counts = (
            cssp.num_states, cssp.num_rows, cssp.transitions.nnz, int((cssp.initial > 0).sum()),
            int(cssp.goals.sum()),
        )  # fmt: skip
        sizes.append([activity.name, *(f"{count:,}" for count in counts)])
    # The first line of the description counts what the title and the table count.
    tree = describe(problem).splitlines()[1:]
    flat = f"flattened: {flattening.num_states:,} states, {flattening.num_rows:,} actions"
    events = (
        f"{problem.num_events} events, {len(problem.choices)} choices, {problem.num_activities} activities"
    )
    return "\n\n".join(
        [
            style.strong(f"{title}: {aim}") + f"\n  {events}; {flat}",
            style.strong("Sizes") + "\n" + aligned(sizes),
            style.strong("Procedure") + "\n" + "\n".join(f"  {line}" for line in tree),
        ]
    )


def problem_document(name: str, problem: HCSSP) -> dict[str, Any]:
    """The object that ``hcssp show --json`` prints."""
    flattening = problem.flattening
    return {
        "problem": name,
        "primary": problem.primary_name,
        "start": problem.events[problem.start],
        "end": problem.events[problem.end],
        "events": list(problem.events),
        "choices": [
            {
                "event": problem.events[choice.event],
                "choice": choice.name,
                "outcomes": [
                    {
                        "probability": outcome.probability,
                        "runs": None if outcome.runs is None else problem.activities[outcome.runs].name,
                        "reaches": problem.events[outcome.event]
                        if not outcome.exits
                        else {str(label): problem.events[event] for label, event in outcome.exits.items()},
                    }
                    for outcome in choice.outcomes
                ],
            }
            for choice in problem.choices
        ],
        "activities": {
            activity.name: {
                "states": activity.cssp.num_states,
                "actions": activity.cssp.num_rows,
                "transitions": int(activity.cssp.transitions.nnz),
            }
            for activity in problem.activities
        },
        "constraints": {
            constraint.name: {
                "at_most": plain(constraint.at_most),
                "counts": {
                    problem.activities[index].name: problem.activities[index].cssp.cost_names[cost]
                    for index, cost in constraint.counts.items()
                },
            }
            for constraint in problem.constraints
        },
        "flattened": {"states": flattening.num_states, "actions": flattening.num_rows},
    }


def problems_document() -> dict[str, Any]:
    """The object that ``hcssp problems --json`` prints."""
    listed = [
        {
            **document(each, "name", "description"),
            "size": each.size,
            "parameters": [
                document(parameter, "name", "default", "meaning") for parameter in each.parameters
            ],
        }
        for each in scenarios().values()
    ]
    return {"problems": listed}


def problems_in_words() -> str:
    """The built-in problems, and under each its size and its parameters."""
    lines = []
    for each in scenarios().values():
        lines += [f"{each.name:<18} {each.description}", f"    {each.size}"]
        for parameter in each.parameters:
            lines.append(f"    {f'{parameter.name} = {parameter.default:g}':<20} {parameter.meaning}")
    return "\n".join(lines)


def methods_document() -> dict[str, Any]:
    """The object that ``hcssp methods --json`` prints."""
    return {"methods": [document(each, "name", "description", "gap") for each in METHODS.values()]}


def methods_in_words() -> str:
    """The methods, with the gap that each stops at."""
    lines = (
        fill(
            f"{each.name:<18} {each.description} (stops at a gap of {each.gap:g})",
            WIDTH,
            subsequent_indent=" " * 19,
        )
        for each in METHODS.values()
    )
    return "\n".join(lines)
