"""``hcssp show``: what a problem is made of, its procedure as a tree, and as a graph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import add_output_arguments, add_problem_arguments
from hcssp.cli.exit_codes import SOLVED
from hcssp.cli.pictures import check_picture
from hcssp.cli.problems import load_problem, title_of, with_bounds
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.procedure import HCSSP
    from hcssp.reports.plan_words import Style

HELP = "show what a problem is made of: sizes, and the procedure as a tree or a graph"
DESCRIPTION = """\
Show the sizes of a problem and its procedure as a tree: events, what can be chosen there, how it
can turn out, and the activities on the way. --dot writes the same as a graph for Graphviz, --png
draws it."""

STDOUT = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp show``."""
    add_problem_arguments(parser)
    parser.add_argument(
        "--dot",
        type=Path,
        metavar="FILE",
        help="write the graph for Graphviz; - for stdout instead of the tree",
    )
    parser.add_argument(
        "--png", type=Path, metavar="FILE", help="draw the graph (needs matplotlib; .svg and .pdf work, too)"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the problem, and write its graph."""
    import json

    from hcssp.files.atomic import check_writable, write_atomically
    from hcssp.reports.procedure_graph import procedure_dot

    if arguments.png is not None:
        check_picture("--png", arguments.png)
    if arguments.dot is not None and arguments.dot != STDOUT:
        check_writable(arguments.dot)
    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = with_bounds(load_problem(arguments), arguments.bound)
        if arguments.png is not None:
            from hcssp.reports.pictures import save_picture
            from hcssp.reports.procedure_picture import draw_procedure

            printer.note(f"drawing {arguments.png}")
            save_picture(arguments.png, draw_procedure(problem, arguments.problem))
    if arguments.dot == STDOUT:
        sys.stdout.write(procedure_dot(problem, arguments.problem))
        return SOLVED
    if arguments.dot is not None:
        write_atomically(arguments.dot, procedure_dot(problem, arguments.problem))
    if arguments.json:
        print(json.dumps(_document(arguments.problem, problem), allow_nan=False))
        return SOLVED
    print(_words(title_of(arguments), problem, style_of(sys.stdout)))
    for path in (arguments.dot, arguments.png):
        if path is not None:
            print(f"\nThe graph is in {path}.")
    return SOLVED


def _words(title: str, problem: HCSSP, style: Style) -> str:
    from hcssp.procedure import describe
    from hcssp.procedure.aim import Aim
    from hcssp.procedure.units import called
    from hcssp.reports.plan_words import aligned

    flattening = problem.flattening
    wanted = Aim.of(problem)
    aim = f"{'maximise' if wanted.greatest else 'minimise'} the expected {called(problem, wanted.name)}"
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


def _document(name: str, problem: HCSSP) -> dict[str, Any]:
    from hcssp.reports.figures import plain

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
