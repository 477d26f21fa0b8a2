"""``hcssp simulate``: follow a saved plan many times, and tell how the costs are spread."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    UsageError,
    add_output_arguments,
    add_plan_arguments,
    add_problem_arguments,
    positive_count,
    seed,
)
from hcssp.cli.exit_codes import NO_PLAN, SOLVED
from hcssp.cli.plans import plan_heading, read_plan
from hcssp.cli.problems import load_problem, title_of
from hcssp.cli.progress import notes_on
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.procedure import HCSSP

HELP = "follow a saved plan many times: means, percentiles, and one run told"
DESCRIPTION = """\
Follow a saved plan many times, drawing lots for everything that is left to chance: means with 95%
confidence intervals beside the exact expectations, percentiles, the chance that a run exceeds
each bound, and one run told in words. A bound is kept in expectation; single runs may exceed it.

Exit code 0 if the plan keeps the bounds in expectation, 1 if not."""

_MOST_NUMBERS = 200_000_000
"""Numbers that all runs together may leave behind: costs, and how often each activity was executed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp simulate``."""
    add_problem_arguments(parser)
    add_plan_arguments(parser)
    parser.add_argument(
        "--runs", type=positive_count, default=100_000, metavar="N", help="how many runs (default: 100000)"
    )
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="names the runs for good (default: 0)"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Simulate and print."""
    import json

    from hcssp.cli.simulation_text import simulation_document, simulation_in_words
    from hcssp.evaluation.procedure_simulation import narrate_procedure, simulate_procedure
    from hcssp.evaluation.simulation import MAX_STEPS

    with notes_on(arguments, interruption) as printer:
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        plan = read_plan(arguments, arguments.plan, problem).as_procedure()
        check_runs(arguments.runs, plan.problem)
        printer.note(f"following {arguments.plan} {arguments.runs:,} times")
        runs = simulate_procedure(plan.policy, arguments.runs, arguments.seed, MAX_STEPS)
        legs = list(narrate_procedure(plan.policy, seed=arguments.seed))
    if arguments.json:
        document = plan_heading(arguments, plan)
        document |= simulation_document(runs, plan.costs, legs, plan.problem)
        print(json.dumps(document, allow_nan=False))
    else:
        often = "once" if arguments.runs == 1 else f"{arguments.runs:,} times"
        title = f"{arguments.plan}, a plan for {title_of(arguments)}, followed {often}"
        print(simulation_in_words(title, runs, plan.costs, legs, style_of(sys.stdout), plan.problem))
    return SOLVED if plan.keeps_bounds() else NO_PLAN


def check_runs(runs: int, problem: HCSSP) -> None:
    """Refuse more runs than fit into memory.

    Raises
    ------
    UsageError
        If there are too many; the message says how many there may be.
    """
    most = _MOST_NUMBERS // (2 + problem.num_constraints + problem.num_activities)
    if runs > most:
        raise UsageError(f"--runs {runs:,}: they do not fit into memory; give at most {most:,}")
