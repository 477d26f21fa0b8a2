"""``hcssp solve``: find a plan, tell how good it is for certain, and say why the search stopped."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    UsageError,
    add_bounds_argument,
    add_output_arguments,
    add_problem_arguments,
    add_tolerance_argument,
    count_or_inf,
    gap,
    seconds,
)
from hcssp.cli.exit_codes import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.pictures import check_picture
from hcssp.cli.plans import PlanSaver, where_it_was
from hcssp.cli.problems import asked_again, load_problem, title_of, with_bounds
from hcssp.cli.progress import ProgressPrinter
from hcssp.cli.proofs import ProofSaver
from hcssp.cli.terminal import style_of
from hcssp.cli.work import Faulty, first_progress, stopped, work
from hcssp.cli.workers import add_worker_arguments, workers_of
from hcssp.errors import DeadEnd

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.contract.plan import Plan
    from hcssp.contract.solver import Solver
    from hcssp.contract.stop import StopCriterion
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord
    from hcssp.solving.registry import Method
    from hcssp.workers import Workers

HELP = "solve a problem"
DESCRIPTION = """\
Find the plan of least expected cost that keeps the bounds, and prove how good it is.

The plan is told in words, or with --json as one object. Cost, usage and budget of an
activity are those of one execution, in expectation, and null if it is never executed;
weighted with expected_executions, costs and usages add up to those of the whole plan."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp solve``."""
    add_problem_arguments(parser)
    parser.add_argument(
        "--method",
        default="exact",
        metavar="NAME",
        help="exact (the default), budget-allocation, milp or lp; hcssp methods says more",
    )
    parser.add_argument(
        "--gap",
        type=gap,
        metavar="G",
        help="stop at this proven relative gap (default: 1e-6, for budget-allocation 1e-3)",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="search for at most S seconds, then print the best plan so far; reading does not count",
    )
    parser.add_argument(
        "--iterations",
        type=count_or_inf,
        metavar="L",
        help="budget-allocation: the paper's l, how long an activity's planning goes on; inf for ever",
    )
    parser.add_argument(
        "--mode",
        metavar="NAME",
        help="budget-allocation: sharp (the default) or published, the paper's algorithm and nothing else, "
        "which may need a --time-limit to end",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="save the plan, at every better one that is found; beside it, in FILE.search, what is still to "
        "be searched",
    )
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write a proof of what the search found out, which hcssp check verifies without a solver",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="PLAN",
        help="start from a saved plan, and continue its search if that was stopped or killed",
    )
    add_bounds_argument(parser)
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the plan: its rooms, or else what it chooses (needs matplotlib)",
    )
    add_worker_arguments(parser, "parts of the search")
    add_tolerance_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Solve, print the plan, and answer with the exit code."""
    from hcssp.contract.ending import Reason
    from hcssp.numerics import Tolerances
    from hcssp.solving.registry import find_method

    if arguments.verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")
    method = find_method(arguments.method)
    solver = make_solver(method, arguments)
    _check_options(arguments, solver)
    printer = ProgressPrinter.wanted(arguments, method.counts)
    tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
    # Made before anything is solved: what cannot be written is to be known by then.
    prover = None if arguments.certificate is None else ProofSaver(arguments.certificate)
    was_read = False
    saver: PlanSaver | None = None
    fault: Faulty | None = None
    workers: Workers | None = None
    try:
        interruption.begin()
        printer.note(f"reading {arguments.problem}")
        problem, start, record = _read(arguments, tolerances)
        was_read = True
        printer.reward = problem.reward
        if arguments.out is not None:
            saver = PlanSaver(arguments.out, problem, method.name, start, record)
        workers = workers_of(arguments, 0.0)
        plan = work(
            problem,
            solver,
            [wanted_gap(method, arguments)],
            printer,
            interruption,
            saver,
            start,
            tolerances,
            workers,
            record,
            arguments.time_limit,
        )
    except DeadEnd as error:
        if was_read:
            raise
        return _tell_unread(arguments, interruption, f"no policy ends: {error}")
    except KeyboardInterrupt:
        if not was_read:
            return _tell_unread(arguments, interruption)
        plan = stopped(problem, method.name, first_progress(start), interruption)
    except Faulty as error:
        fault, plan, prover = error, error.plan, None
    finally:
        printer.close()
        if workers is not None:
            workers.close()
    _hand_over(arguments, problem, plan, printer, saver, prover)
    tell_time(arguments, plan, interruption)
    if fault is not None:
        raise fault
    if plan.ending.reason is Reason.INTERRUPTED:
        return INTERRUPTED
    return SOLVED if plan.found else NO_PLAN


def _check_options(arguments: argparse.Namespace, solver: Solver) -> None:
    """Refuse options that do not go together, and targets that cannot be written.

    Raises
    ------
    HcsspError
        With the option's name.
    """
    from hcssp.files.atomic import check_writable
    from hcssp.numerics import FEASIBILITY_TOLERANCE

    if (arguments.jobs or arguments.scheduler) and not getattr(solver, "uses_workers", False):
        raise UsageError(
            f"--jobs, --scheduler: the method {arguments.method!r} works in one process; use exact"
        )
    if arguments.certificate is not None and arguments.feasibility_tolerance != FEASIBILITY_TOLERANCE:
        raise UsageError("--feasibility-tolerance: a certificate is about bounds kept to 1e-9; leave one out")
    if arguments.plot is not None:
        check_picture("--plot", arguments.plot)
    if arguments.out is not None:
        check_writable(arguments.out)


def _hand_over(
    arguments: argparse.Namespace,
    problem: HCSSP,
    plan: Plan,
    printer: ProgressPrinter,
    saver: PlanSaver | None,
    prover: ProofSaver | None,
) -> None:
    """Save the plan and its proof, tell and draw it; what could not be saved is told last, as an error."""
    # Saved before it is told, lest a reader that has gone takes the plan along; a full disk waits.
    unsaved = None if saver is None else saver.finish(plan)
    try:
        if prover is not None:
            printer.note(f"writing {arguments.certificate}")
            prover.finish(plan)
    finally:
        # Whatever becomes of the proof, the plan is told.
        printer.close()
        tell(arguments, plan, prover)
    if unsaved is not None:
        raise unsaved
    if saver is not None and plan.found and not arguments.json:
        print(f"\nThe plan is saved in {arguments.out}.")
    if prover is not None and not arguments.json:
        print("\n" + prover.in_words(asked_again(arguments, problem), problem))
    if arguments.plot is not None and plan.found:
        from hcssp.reports.report import save_plot

        save_plot(plan, arguments.plot)
        if not arguments.json:
            what = "rooms with the plan's arrows are"
            if not problem.has_rooms:
                what = "procedure with the plan's choices is"
            print(f"\nThe {what} drawn in {arguments.plot}.")


def _read(arguments: argparse.Namespace, tolerances: Tolerances) -> tuple[HCSSP, Plan | None, SearchRecord]:
    """The problem, the plan to begin with if one is given and keeps the bounds, regions to go on with."""
    from hcssp.proofs.search_record import SearchRecord

    loaded = load_problem(arguments)
    if arguments.resume is not None:
        return where_it_was(arguments, loaded, tolerances)
    return with_bounds(loaded, arguments.bound), None, SearchRecord()


def _tell_unread(arguments: argparse.Namespace, interruption: Interruption, dead_end: str = "") -> int:
    """Say that the work ended while the problem was read, by a signal or a dead end."""
    import json

    from hcssp.reports.figures import plain

    stopped_by = "proved" if dead_end else str(interruption.ending.reason)
    message = dead_end or f"interrupted while {arguments.problem} was read"
    if arguments.json:
        document = {
            "problem": arguments.problem,
            "method": arguments.method,
            "status": "infeasible" if dead_end else "unknown",
            "infeasible_because": "no policy ends" if dead_end else None,
            "message": message,
            "stopped_by": stopped_by,
            "stop_detail": "while the problem was read",
            "lower_bound": None,
            "upper_bound": None,
            "gap": None,
            "constraints": {},
            "choices": {},
            "activities": {},
            "seconds": plain(interruption.seconds),
            "trace": [],
        }
        print(json.dumps(document, allow_nan=False))
    print(f"hcssp: no plan: {message}", file=sys.stderr)
    return NO_PLAN if dead_end else INTERRUPTED


def make_solver(method: Method, arguments: argparse.Namespace) -> Solver:
    """The method with the options of the command line that it takes.

    Raises
    ------
    UsageError
        If an option was given that the method does not take.
    """
    from hcssp.solving.registry import METHODS

    for option in ("iterations", "mode"):
        if getattr(arguments, option) is not None and option not in method.options:
            takers = ", ".join(other.name for other in METHODS.values() if option in other.options)
            raise UsageError(f"--{option} means nothing to the method {method.name!r}, only to {takers}")
    given = {"iterations": arguments.iterations, "mode": arguments.mode}
    return method.make(
        **{name: value for name, value in given.items() if name in method.options and value is not None}
    )


def wanted_gap(method: Method, arguments: argparse.Namespace) -> StopCriterion:
    """The gap at which to stop: that which was asked for, or that of the method."""
    from hcssp.contract.stop import Gap

    return Gap(method.gap if arguments.gap is None else arguments.gap)


def tell(arguments: argparse.Namespace, plan: Plan, prover: ProofSaver | None = None) -> None:
    """Print the answer on stdout, and on stderr why there is none or that it is not the last word."""
    import json

    from hcssp.contract.ending import Reason
    from hcssp.contract.proof import Status
    from hcssp.reports.plan_words import plan_in_words
    from hcssp.reports.summary import plan_document
    from hcssp.solving.registry import find_method

    if arguments.json:
        document = plan_document(plan) | {"problem": arguments.problem}
        mode = getattr(make_solver(find_method(arguments.method), arguments), "mode", None)
        if mode is not None:
            document["mode"] = mode
        if prover is not None:
            document["certificate"] = prover.document()
        print(json.dumps(document, allow_nan=False))
    elif plan.status is not Status.INFEASIBLE:
        print(plan_in_words(plan, style_of(sys.stdout), title_of(arguments)))
    sys.stdout.flush()
    if not plan.found:
        print(f"hcssp: no plan: {plan.message}", file=sys.stderr)
    elif plan.ending.reason is Reason.INTERRUPTED:
        print("hcssp: interrupted; the plan is the best one so far", file=sys.stderr)


def tell_time(arguments: argparse.Namespace, plan: Plan, interruption: Interruption) -> None:
    """Print, if the time limit ended the search, what it did not count."""
    from hcssp.contract.ending import Reason

    if plan.ending.reason is Reason.TIME_LIMIT and not arguments.quiet:
        limit, before = arguments.time_limit, interruption.before
        print(
            f"hcssp: the time limit of {limit:g} s was reached; reading took {before:.1f} s before it",
            file=sys.stderr,
        )
