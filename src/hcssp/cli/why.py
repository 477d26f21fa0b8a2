"""``hcssp why``: what the alternatives to what a plan does at one place would cost."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    add_output_arguments,
    add_plan_arguments,
    add_problem_arguments,
    gap,
    seconds,
)
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.plans import plan_heading, read_plan
from hcssp.cli.problems import load_problem
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.contract.stop import StopCriterion

HELP = "why a saved plan does what it does at an event or in a state"
DESCRIPTION = """\
What each alternative at an event or in a state would cost: if one deviated there once and then followed
the plan, exactly; and the best whole plan that keeps the bounds and always takes the alternative
there, with what is proven about it.

  hcssp why evacuation plan.json --at door-1-open
  hcssp why evacuation plan.json --at "cross-NE 3,4"

A place is an event, or an activity and one of its states. Where the choice at an event depends on how
it was entered, the label follows the event in the same way.

Exit code 0 if the plan keeps the bounds, 1 if not."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp why``."""
    add_problem_arguments(parser)
    add_plan_arguments(parser)
    parser.add_argument(
        "--at", required=True, metavar="PLACE", help='an event, or an activity and a state: "cross-NE 3,4"'
    )
    parser.add_argument(
        "--gap", type=gap, default=1e-6, metavar="G", help="stop each search at this gap (default: 1e-6)"
    )
    parser.add_argument(
        "--time-limit", type=seconds, metavar="S", help="stop the search for each alternative after S seconds"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Look at the alternatives, and print."""
    import json

    from hcssp.contract.stop import Gap, MaxRuntime
    from hcssp.reports.why_words import reasons_document, reasons_in_words
    from hcssp.solving.why import why

    criteria: list[StopCriterion] = [Gap(arguments.gap)]
    if arguments.time_limit is not None:
        criteria.append(MaxRuntime(arguments.time_limit))
    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        plan = read_plan(arguments, arguments.plan, problem)
        printer.note(f"looking at the alternatives at {arguments.at}")
        reasons = why(plan, arguments.at, stop=criteria)
    if arguments.json:
        print(json.dumps(plan_heading(arguments, plan) | reasons_document(reasons), allow_nan=False))
    else:
        print(reasons_in_words(reasons, style_of(sys.stdout)))
    return SOLVED if plan.keeps_bounds() else NO_PLAN
