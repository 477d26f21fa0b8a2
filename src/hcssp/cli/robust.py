"""``hcssp robust``: what a saved plan costs in the worst case if the probabilities are wrong."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    add_output_arguments,
    add_plan_arguments,
    add_problem_arguments,
    deviation,
    positive_count,
)
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.plans import plan_heading, read_plan
from hcssp.cli.problems import load_problem, title_of
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption

HELP = "the worst case of a saved plan if the probabilities are wrong"
DESCRIPTION = """\
If every probability of the problem may be wrong by a share of itself, each row on its own: the exact worst
case of every cost of a saved plan, the largest share under which it keeps each bound, and the probabilities
and costs that it is most sensitive to.

Exit code 0 if the plan keeps the bounds in the worst case, 1 if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp robust``."""
    add_problem_arguments(parser)
    add_plan_arguments(parser)
    parser.add_argument(
        "--within",
        type=deviation,
        default=0.1,
        metavar="SHARE",
        help="by which share of itself a probability may be wrong, such as 10%% or 0.1 (default: 10%%)",
    )
    parser.add_argument(
        "--most",
        type=positive_count,
        default=5,
        metavar="N",
        help="how many influences are told for each cost (default: 5)",
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Find the worst case, print, and answer with the exit code."""
    import json

    from hcssp.cli.robust_text import robustness_document, robustness_in_words
    from hcssp.evaluation.robustness import robustness

    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        plan = read_plan(arguments, arguments.plan, problem).as_procedure()
        printer.note(f"looking for the worst case of {arguments.plan}")
        found = robustness(plan.problem, plan.policy, arguments.within, most=arguments.most)
    if arguments.json:
        document = plan_heading(arguments, plan)
        print(json.dumps(document | robustness_document(found), allow_nan=False))
    else:
        title = f"{arguments.plan}, a plan for {title_of(arguments)}, with probabilities that may be wrong"
        print(robustness_in_words(title, found, plan.problem, style_of(sys.stdout)))
    return SOLVED if found.keeps_bounds() else NO_PLAN
