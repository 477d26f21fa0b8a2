"""``hcssp solve``: find a plan, prove how good it is, and say why the search stopped."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli import properties
from hcssp.cli.arguments import (
    SEARCH,
    WORKERS,
    UsageError,
    add,
    add_output,
    add_problem,
    count_or_inf,
    likelihoods,
    whole,
    workers_of,
)
from hcssp.cli.plans import PlanSaver, ProofSaver, check_picture, where_it_was
from hcssp.cli.problems import asked_again, load_problem, title_of, with_bounds
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED, Faulty, first_progress, stopped, work
from hcssp.cli.terminal import ProgressPrinter, style_of
from hcssp.errors import DeadEnd
from hcssp.exchange import MODEL_SUFFIXES

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import StopCriterion
    from hcssp.contract.solver import Solver
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord
    from hcssp.solving.registry import Method
    from hcssp.workers import Workers

DESCRIPTION = """\
Find the plan of least expected cost that keeps the bounds, and prove how good it is.

The plan is printed as text, or with --json as one object. Cost, usage and allocated budget
of an activity are those of one execution, in expectation, and null if it is never executed;
weighted with expected_executions, costs and usages add up to those of the whole plan.
Only the method budget-allocation allocates budgets."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp solve``."""
    add_problem(parser)
    add(parser, "--method", "--policies", "--mode", *SEARCH)
    parser.add_argument(
        "--iterations",
        type=count_or_inf,
        metavar="L",
        help="budget-allocation and anytime: the paper's l, the number of iterations of stage 2; may be inf",
    )
    parser.add_argument(
        "--choices",
        choices=("per state", "per event"),
        metavar="HOW",
        help="exact and budget-allocation: 'per state' (the default, unless the file says otherwise) lets "
        "the choice at an event depend on the state in which it is entered, 'per event' (the default of the "
        "mode published) makes one choice for each event, as the paper does",
    )
    parser.add_argument(
        "--likelihoods",
        type=likelihoods,
        metavar="PAIRS",
        help="budget-allocation: start with budgets of a bound divided by these numbers, NAME=VALUE,... of "
        "activities or a YAML file of them, in place of the least probabilities of running the activities",
    )
    add(
        parser,
        "--out",
        help="save the plan, at every better one that is found; beside it, in FILE.search, what is still to "
        "be searched",
    )
    add(
        parser,
        "--certificate",
        help="write a proof of what the search found out, which hcssp check verifies without a solver",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="PLAN",
        help="start from a saved plan, and continue its search if that was stopped or killed",
    )
    add(parser, "--plot", help="draw the plan: its rooms, or else what it chooses (needs matplotlib)")
    parser.add_argument(
        "--alternatives",
        type=whole("number of plans", least=1),
        metavar="K",
        help="exact: list the K best different plans that keep the bounds, each with its costs",
    )
    parser.add_argument(
        "--lagrangian",
        type=Path,
        metavar="FILE",
        help="draw what policies cost over the price of the first bound, and how the dual bounds the optimum "
        "(needs matplotlib)",
    )
    parser.add_argument(
        "--allocation",
        type=Path,
        metavar="FILE",
        help="budget-allocation: draw the boxes of the allocation space, open and pruned, and the best plan "
        "(needs matplotlib)",
    )
    parser.add_argument(
        "--axes",
        nargs=2,
        metavar="ACTIVITY",
        help="two activities for --allocation (default: those whose budgets were split most often)",
    )
    add(parser, "--bounds-of", *WORKERS, "--feasibility-tolerance")
    properties.add_arguments(parser)
    add_output(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Solve, print the plan, and answer with the exit code."""
    from hcssp.contract.proof import Reason
    from hcssp.numerics import Tolerances
    from hcssp.solving.registry import find_method

    if arguments.verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")
    if arguments.props is not None or arguments.property is not None:
        return properties.run(arguments, interruption)
    if arguments.policies == "randomised" and arguments.method == "exact":
        arguments.method = "dual"
    method = find_method(arguments.method)
    solver = make_solver(method, arguments)
    _check_options(arguments, solver)
    printer = ProgressPrinter.wanted(arguments, method.counts, hint=True)
    if arguments.alternatives is not None:
        return _list_alternatives(arguments, printer, interruption)
    tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
    # Made before anything is solved: what cannot be written must be known by then.
    prover = None if arguments.certificate is None else ProofSaver(arguments.certificate)
    was_read = False
    saver: PlanSaver | None = None
    fault: Faulty | None = None
    workers: Workers | None = None
    try:
        interruption.begin()
        printer.note(f"reading {arguments.problem}")
        if arguments.time_limit is not None and Path(arguments.problem).suffix.lower() in MODEL_SUFFIXES:
            # There is no end to the states that a short model may have.
            interruption.allow(arguments.time_limit)
        problem, start, record = _read(arguments, solver, tolerances)
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
        return _print_unread(arguments, interruption, f"no policy ends: {error}")
    except KeyboardInterrupt:
        if not was_read:
            return _print_unread(arguments, interruption)
        plan = stopped(problem, method.name, first_progress(start), interruption)
    except Faulty as error:
        fault, plan, prover = error, error.plan, None
    finally:
        printer.close()
        if workers is not None:
            workers.close()
    _hand_over(arguments, problem, plan, printer, saver, prover)
    print_time(arguments, plan, interruption)
    if fault is not None:
        raise fault
    if plan.ending.reason is Reason.INTERRUPTED:
        return INTERRUPTED
    return SOLVED if plan.found else NO_PLAN


def _list_alternatives(
    arguments: argparse.Namespace, printer: ProgressPrinter, interruption: Interruption
) -> int:
    """Find the best plans, print the first one and what the others cost, and answer with the exit code."""
    import json
    from math import inf

    from hcssp.contract.proof import Reason
    from hcssp.reports.plan_text import plan_document, plan_in_words
    from hcssp.reports.results_text import alternatives_document, alternatives_in_words
    from hcssp.solving.best_plans import best_plans

    try:
        interruption.begin()
        problem = with_bounds(load_problem(arguments), arguments.bound)
        printer.reward = problem.reward
        interruption.allow(inf if arguments.time_limit is None else arguments.time_limit)
        found = best_plans(
            problem, arguments.alternatives, time_limit=arguments.time_limit, on_progress=printer
        )
        interruption.end()
    finally:
        printer.close()
    if not found.plans:
        proved = found.ending.reason is Reason.PROVED
        print(
            f"hcssp: no plan: {'nothing keeps the bounds' if proved else found.ending.reason}",
            file=sys.stderr,
        )
    elif arguments.json:
        document = plan_document(found[0]) | {"problem": arguments.problem}
        print(json.dumps(document | {"alternatives": alternatives_document(found)}, allow_nan=False))
    else:
        style = style_of(sys.stdout)
        print(plan_in_words(found[0], style, title_of(arguments)))
        print("\n" + alternatives_in_words(found, style))
    if found.ending.reason is Reason.INTERRUPTED and not interruption.expired:
        return INTERRUPTED
    return SOLVED if found.plans else NO_PLAN


def _check_options(arguments: argparse.Namespace, solver: Solver) -> None:
    """Refuse options that do not go together, and targets that cannot be written.

    Raises
    ------
    HcsspError
        With the option's name.
    """
    from hcssp.numerics import FEASIBILITY_TOLERANCE

    own = getattr(solver, "policies", "deterministic")
    if arguments.policies not in (None, own):
        raise UsageError(
            f"--policies {arguments.policies}: the method {arguments.method!r} finds the best {own} plan; "
            "leave one of both out"
        )
    if (arguments.jobs or arguments.scheduler) and not getattr(solver, "uses_workers", False):
        raise UsageError(
            f"--jobs, --scheduler: the method {arguments.method!r} works in one process; use exact"
        )
    if arguments.certificate is not None and arguments.choices == "per event":
        raise UsageError("--certificate: there is none for --choices 'per event'; leave one out")
    if arguments.alternatives is not None:
        alone = (
            "out",
            "certificate",
            "resume",
            "plot",
            "lagrangian",
            "allocation",
            "choices",
            "jobs",
            "scheduler",
        )
        others = [f"--{option}" for option in alone if getattr(arguments, option)]
        if arguments.method != "exact":
            others.insert(0, f"--method {arguments.method}")
        if others:
            raise UsageError(f"--alternatives: {', '.join(others)} cannot be combined with it; leave one out")
    if arguments.certificate is not None and arguments.feasibility_tolerance != FEASIBILITY_TOLERANCE:
        raise UsageError("--feasibility-tolerance: a certificate is about bounds kept to 1e-9; leave one out")
    if arguments.plot is not None:
        check_picture("--plot", arguments.plot)
    if arguments.lagrangian is not None:
        check_picture("--lagrangian", arguments.lagrangian)
    if arguments.allocation is not None:
        if arguments.method != "budget-allocation":
            raise UsageError("--allocation: only the method 'budget-allocation' divides an allocation space")
        check_picture("--allocation", arguments.allocation)
    if arguments.out is not None:
        from hcssp.files.atomic import check_writable

        check_writable(arguments.out)


def _hand_over(
    arguments: argparse.Namespace,
    problem: HCSSP,
    plan: Plan,
    printer: ProgressPrinter,
    saver: PlanSaver | None,
    prover: ProofSaver | None,
) -> None:
    """Save the plan and its proof, print and draw it; what could not be saved is raised last."""
    # Saved before it is printed, so that a reader that has gone does not cost the plan; a full disk waits.
    unsaved = None if saver is None else saver.finish(plan)
    try:
        if prover is not None:
            printer.note(f"writing {arguments.certificate}")
            prover.finish(plan)
    finally:
        # The plan is printed even if the proof fails.
        printer.close()
        print_plan(arguments, plan, prover)
    if unsaved is not None:
        raise unsaved
    if saver is not None and plan.found and not arguments.json:
        print(f"\nThe plan is saved in {arguments.out}.")
    if prover is not None and not arguments.json:
        print("\n" + prover.in_words(asked_again(arguments, problem), problem))
    if arguments.lagrangian is not None and plan.found:
        from hcssp.solving.lagrangian import lagrangian

        lagrangian(problem).plot(arguments.lagrangian)
        if not arguments.json:
            print(f"\nThe policies over the multiplier are drawn in {arguments.lagrangian}.")
    if arguments.allocation is not None and plan.allocation is not None:
        plan.allocation.plot(arguments.allocation, activities=arguments.axes)
        if not arguments.json:
            print(f"\nThe boxes of allocations are drawn in {arguments.allocation}.")
    if arguments.plot is not None and plan.found:
        plan.plot(arguments.plot)
        if not arguments.json:
            what = "rooms with the plan's arrows are"
            if not problem.has_rooms:
                what = "procedure with the plan's choices is"
            print(f"\nThe {what} drawn in {arguments.plot}.")


def _read(
    arguments: argparse.Namespace, solver: Solver, tolerances: Tolerances
) -> tuple[HCSSP, Plan | None, SearchRecord]:
    """The problem, the plan to begin with if one is given and keeps the bounds, regions to go on with."""
    from hcssp.contract.solver import as_chosen_by
    from hcssp.proofs.search_record import SearchRecord

    loaded = as_chosen_by(solver, load_problem(arguments))
    if arguments.resume is not None:
        return where_it_was(arguments, loaded, tolerances)
    return with_bounds(loaded, arguments.bound), None, SearchRecord()


def _print_unread(arguments: argparse.Namespace, interruption: Interruption, dead_end: str = "") -> int:
    """Say that the work ended while the problem was read, by a signal or a dead end."""
    import json

    stopped_by = "proved" if dead_end else str(interruption.ending.reason)
    expired = interruption.expired and not interruption.requested
    ended = "the time limit was reached" if expired else "interrupted"
    message = dead_end or f"{ended} while {arguments.problem} was read"
    if arguments.json:
        from hcssp.reports.plan_text import unread_document

        seconds = interruption.seconds
        document = unread_document(arguments.problem, arguments.method, message, stopped_by, seconds)
        print(json.dumps(document, allow_nan=False))
    print(f"hcssp: no plan: {message}", file=sys.stderr)
    return NO_PLAN if dead_end or expired else INTERRUPTED


def make_solver(method: Method, arguments: argparse.Namespace) -> Solver:
    """The method with the options of the command line that it takes.

    Raises
    ------
    UsageError
        If an option was given that the method does not take.
    """
    from hcssp.solving.registry import METHODS

    # Commands other than solve, such as replan, have fewer options.
    names = ("iterations", "mode", "likelihoods", "choices")
    given = {name: getattr(arguments, name, None) for name in names}
    for option, value in given.items():
        if value is not None and option not in method.options:
            takers = ", ".join(other.name for other in METHODS.values() if option in other.options)
            raise UsageError(f"--{option} means nothing to the method {method.name!r}, only to {takers}")
    return method.make(
        **{name: value for name, value in given.items() if name in method.options and value is not None}
    )


def wanted_gap(method: Method, arguments: argparse.Namespace) -> StopCriterion:
    """The gap at which to stop: that which was asked for, or that of the method."""
    from hcssp.contract.progress import Gap

    return Gap(method.gap if arguments.gap is None else arguments.gap)


def print_plan(arguments: argparse.Namespace, plan: Plan, prover: ProofSaver | None = None) -> None:
    """Print the answer on stdout, and on stderr why there is none or that it is not the last word."""
    import json

    from hcssp.contract.proof import Reason, Status
    from hcssp.reports.plan_text import plan_document, plan_in_words
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


def print_time(arguments: argparse.Namespace, plan: Plan, interruption: Interruption) -> None:
    """Print, if the time limit ended the search, what it did not count."""
    from hcssp.contract.proof import Reason

    if plan.ending.reason is Reason.TIME_LIMIT and not arguments.quiet:
        limit, before = arguments.time_limit, interruption.before
        print(
            f"hcssp: the time limit of {limit:g} s was reached; reading took {before:.1f} s before it",
            file=sys.stderr,
        )
