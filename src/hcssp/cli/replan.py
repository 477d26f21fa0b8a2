"""``hcssp replan``: a new plan for the rest of a saved one, from where its execution is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import SEARCH, UsageError, add, add_output, add_problem, bound, place, setting
from hcssp.cli.plans import PlanSaver, read_plan
from hcssp.cli.problems import load_problem, settings_of, with_bounds
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED, work
from hcssp.cli.solve import print_plan, print_time, wanted_gap
from hcssp.cli.terminal import ProgressPrinter

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.contract.plan import Plan
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP

DESCRIPTION = """\
While a plan is executed the world has changed, or a budget has gone faster than expected: find the best plan
for the rest, from an event or a state of an activity on, with what is left of the budgets.

What is left of a bound is the bound less what was spent (--spent), or, if nothing is said, less what
the plan was expected to spend until here: so the bound is kept on average, over many executions.

  hcssp replan mine.yaml plan.json --at hallway --spent damage=0.5
  hcssp replan mine.yaml plan.json --at cross-hall 3,4 --world changed.yaml
  hcssp replan mine.yaml plan.json --at hallway --now locked=60%

The rest is a problem of its own; --rest writes it as a file, for the other commands."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp replan``."""
    add_problem(parser)
    add(parser, "plan", "--bounds-of", "--at")
    parser.add_argument(
        "--spent",
        type=bound,
        action="append",
        metavar="NAME=VALUE",
        help="what was spent of a constraint until here; name every constraint, or none if what the plan "
        "expected is to count",
    )
    parser.add_argument(
        "--world",
        metavar="PROBLEM",
        help="the problem as the world is now, with the same names where it is the same; a bound that it "
        "states otherwise than PROBLEM has changed, too",
    )
    parser.add_argument(
        "--now",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the world as it is now; without --world that is PROBLEM, with what --set says "
        "otherwise; may be repeated",
    )
    add(parser, *SEARCH)
    add(parser, "--out", help="save the plan for the rest")
    parser.add_argument("--rest", type=Path, metavar="FILE", help="write the rest as a problem file")
    add(parser, "--feasibility-tolerance")
    add_output(parser)
    # The method is fixed; what prints a plan asks for it.
    parser.set_defaults(method="exact", iterations=None, mode=None)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Plan the rest, print the plan, and answer with the exit code."""
    from hcssp.contract.proof import Reason
    from hcssp.errors import BudgetSpent
    from hcssp.files.atomic import check_writable, write_atomically
    from hcssp.files.problem_file.dumping import dump_problem
    from hcssp.methods.policy_branching import PolicyBranching
    from hcssp.numerics import Tolerances
    from hcssp.solving.registry import find_method

    for path in (arguments.out, arguments.rest):
        if path is not None:
            check_writable(path)
    method = find_method(arguments.method)
    printer = ProgressPrinter.wanted(arguments, method.counts, hint=True)
    tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
    try:
        interruption.begin()
        printer.note(f"reading {arguments.problem}")
        try:
            rest, start = _rest(arguments, tolerances)
            printer.reward = rest.reward
        except BudgetSpent as error:
            print(f"hcssp: no plan: {error}", file=sys.stderr)
            return NO_PLAN
        if arguments.rest is not None:
            write_atomically(arguments.rest, dump_problem(rest))
        saver = None
        if arguments.out is not None:
            saver = PlanSaver(arguments.out, rest, method.name, start)
        gap, limit = wanted_gap(method, arguments), arguments.time_limit
        plan = work(
            rest, PolicyBranching(), [gap], printer, interruption, saver, start, tolerances, time_limit=limit
        )
    except KeyboardInterrupt:
        printer.close()
        print(f"hcssp: interrupted while {arguments.problem} was read", file=sys.stderr)
        return INTERRUPTED
    finally:
        printer.close()
    unsaved = None if saver is None else saver.finish(plan)
    print_plan(arguments, plan)
    print_time(arguments, plan, interruption)
    if unsaved is not None:
        raise unsaved
    if not arguments.json:
        if saver is not None and plan.found:
            print(f"\nThe plan for the rest is saved in {arguments.out}.")
        if arguments.rest is not None:
            print(f"\nThe rest is written to {arguments.rest}, a problem file.")
    if plan.ending.reason is Reason.INTERRUPTED:
        return INTERRUPTED
    return SOLVED if plan.found else NO_PLAN


def _rest(arguments: argparse.Namespace, tolerances: Tolerances) -> tuple[HCSSP, Plan | None]:
    """The problem that is left, and the old plan if it can still be followed."""
    from hcssp.solving.replan import rest_to_plan

    changed = arguments.world is not None or bool(arguments.now)
    if changed and arguments.problem == "-" and arguments.world in (None, "-"):
        raise UsageError("-: standard input is read once, and has the plan's problem; --world names a file")
    problem = load_problem(arguments)
    plan = read_plan(arguments, arguments.plan, problem, tolerances).as_procedure()
    spent = None if arguments.spent is None else dict(arguments.spent)
    world = _world(arguments, problem, plan) if changed else None
    rest, start = rest_to_plan(plan, place(arguments.at), spent, world, None, tolerances)
    return rest.procedure, start


def _world(arguments: argparse.Namespace, problem: HCSSP, plan: Plan) -> HCSSP:
    """The problem as the world is now, which is asked what the plan's was."""
    now = settings_of(arguments.now)
    if arguments.world is None:
        world = load_problem(arguments, settings=settings_of(arguments.settings) | now)
    else:
        world = load_problem(arguments, arguments.world, now)
    given = dict(arguments.bound)
    # A bound that the world states otherwise has changed with it; the others are those of the plan.
    stated = {each.name: each.at_most for each in problem.constraints}
    kept = [
        (each.name, given.get(each.name, plan.bounds[each.name]))
        for each in world.constraints
        if each.name in plan.bounds and (each.name in given or each.at_most == stated[each.name])
    ]
    return with_bounds(world, kept)
