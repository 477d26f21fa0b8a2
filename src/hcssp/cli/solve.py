"""``hcssp solve`` and ``hcssp replan``: find a plan, prove how good it is, and report the result."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError
from hcssp.cli.plans import PlanSaver, first_progress, save_proof, stopped, where_it_was, work
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED, Faulty
from hcssp.cli.session import Session, asked_again, load_problem, once, settings_of, with_bounds
from hcssp.cli.terminal import style_of
from hcssp.contract.progress import Gap, Policies
from hcssp.contract.proof import Reason, Status
from hcssp.contract.solver import as_chosen_by
from hcssp.errors import BudgetSpent, DeadEnd
from hcssp.exchange import MODEL_SUFFIXES
from hcssp.numerics import FEASIBILITY_TOLERANCE, Tolerances
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.registry import METHODS, find_method

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.solver import Solver
    from hcssp.procedure import HCSSP
    from hcssp.solving.registry import Method


def solve(session: Session) -> int:
    """Solve, print the plan, and answer with the exit code."""
    arguments, interruption = session.arguments, session.interruption
    if arguments.verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")
    if arguments.props is not None or arguments.property is not None:
        from hcssp.cli import properties

        return properties.run(session)
    if arguments.policies == "randomised" and arguments.method == "exact":
        arguments.method = "dual"
    method = find_method(arguments.method)
    solver = make_solver(method, arguments)
    _check_options(session, solver)
    session.printer.counts, session.printer.hint = method.counts, True
    if arguments.alternatives is not None:
        return _list_alternatives(session)
    tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
    certificate = arguments.certificate
    saver: PlanSaver | None = None
    fault: Faulty | None = None
    with ExitStack() as cleaning:
        cleaning.callback(session.printer.close)
        try:
            interruption.begin()
            if arguments.time_limit is not None and Path(arguments.problem).suffix.lower() in MODEL_SUFFIXES:
                # There is no end to the states that a short model may have.
                interruption.allow(arguments.time_limit)
            problem, start, record = _read(session, solver, tolerances)
            # Before a search that may take long.
            for name in filter(None, (arguments.activity, *(arguments.axes or ()))):
                problem.activity_index(name)
        except DeadEnd as error:
            return _print_unread(session, f"no policy ends: {error}")
        except KeyboardInterrupt:
            return _print_unread(session)
        try:
            session.printer.reward = problem.reward
            if arguments.out is not None:
                saver = PlanSaver(arguments.out, problem, method.name, start, record)
            workers = cleaning.enter_context(session.workers(0.0))
            plan = work(
                session,
                problem,
                solver,
                [_gap(method, arguments)],
                arguments.time_limit,
                saver,
                start,
                tolerances,
                workers,
                record,
            )
        except KeyboardInterrupt:
            plan = stopped(problem, method.name, first_progress(start), interruption)
        except Faulty as error:
            fault, plan, certificate = error, error.plan, None
    _hand_over(session, plan, saver, certificate, getattr(solver, "mode", None))
    _draw(session, problem, plan)
    if fault is not None:
        raise fault
    return _code(plan)


def _code(plan: Plan) -> int:
    if plan.ending.reason is Reason.INTERRUPTED:
        return INTERRUPTED
    return SOLVED if plan.found else NO_PLAN


def _gap(method: Method, arguments: argparse.Namespace) -> Gap:
    """The gap at which to stop: that which was asked for, or that of the method."""
    return Gap(method.gap if arguments.gap is None else arguments.gap)


def _list_alternatives(session: Session) -> int:
    """Find the best plans, print the first one and the costs of the others, and return the exit code."""
    from hcssp.reports.plan_text import plan_document, plan_in_words
    from hcssp.reports.results_text import alternatives_document, alternatives_in_words
    from hcssp.solving.best_plans import best_plans

    arguments, interruption = session.arguments, session.interruption
    with session.working() as printer:
        problem = with_bounds(load_problem(arguments), arguments.bound)
        printer.reward = problem.reward
        session.allow()
        found = best_plans(
            problem, arguments.alternatives, time_limit=arguments.time_limit, on_progress=printer
        )
    if not found.plans:
        proved = found.ending.reason is Reason.PROVED
        session.fail(f"no plan: {'nothing keeps the bounds' if proved else found.ending.reason}")
    elif arguments.json:
        document = plan_document(found[0]) | {"problem": arguments.problem}
        print(json.dumps(document | {"alternatives": alternatives_document(found)}, allow_nan=False))
    else:
        style = style_of(sys.stdout)
        print(plan_in_words(found[0], style, session.title))
        print("\n" + alternatives_in_words(found, style))
    if found.ending.reason is Reason.INTERRUPTED and not interruption.expired:
        return INTERRUPTED
    return SOLVED if found.plans else NO_PLAN


_NOT_WITH_ALTERNATIVES = (
    "out", "certificate", "resume", "plot", "lagrangian", "allocation", "choices", "jobs", "scheduler",
)  # fmt: skip


def _check_options(session: Session, solver: Solver) -> None:
    """Refuse options that do not go together, and targets that cannot be written.

    Raises
    ------
    HcsspError
        With the option's name.
    """
    arguments = session.arguments
    method, own = arguments.method, getattr(solver, "policies", "deterministic")
    without = [f"--{option}" for option in _NOT_WITH_ALTERNATIVES if getattr(arguments, option)]
    if method != "exact":
        without.insert(0, f"--method {method}")
    certified = arguments.certificate is not None
    for wrong, message in (
        (
            arguments.policies not in (None, own),
            f"--policies {arguments.policies}: the method {method!r} finds the best {own} plan; leave one of "
            "both out",
        ),
        (
            (arguments.jobs or arguments.scheduler) and not getattr(solver, "uses_workers", False),
            f"--jobs, --scheduler: the method {method!r} works in one process; use exact",
        ),
        (
            certified and arguments.choices == "per event",
            "--certificate: not available with --choices 'per event'; leave one out",
        ),
        (
            arguments.alternatives is not None and without,
            f"--alternatives: {', '.join(without)} cannot be combined with it; leave one out",
        ),
        (
            certified and arguments.feasibility_tolerance != FEASIBILITY_TOLERANCE,
            "--feasibility-tolerance: a certificate is about bounds kept to 1e-9; leave one out",
        ),
        (
            arguments.allocation is not None and method != "budget-allocation",
            "--allocation: only the method 'budget-allocation' divides an allocation space",
        ),
        (
            arguments.activity is not None and arguments.lagrangian is None,
            "--activity: only --lagrangian draws one activity; name its file",
        ),
        (
            arguments.axes is not None and arguments.allocation is None,
            "--axes: only --allocation draws two activities; name its file",
        ),
    ):
        if wrong:
            raise UsageError(message)
    session.check_outputs("plot", "lagrangian", "allocation", "out", "certificate")


def _hand_over(
    session: Session,
    plan: Plan,
    saver: PlanSaver | None,
    certificate: Path | None = None,
    mode: str | None = None,
) -> None:
    """Save the plan and its proof, and print it; what could not be saved is raised last."""
    from hcssp.reports.verdict_text import certificate_document, certificate_in_words

    arguments, interval = session.arguments, None
    document: dict[str, Any] = {} if mode is None else {"mode": mode}
    document |= {} if certificate is None else {"certificate": None}
    # Saved before it is printed, so that a reader that has gone does not cost the plan; a full disk waits.
    unsaved = None if saver is None else saver.finish(plan)
    try:
        if certificate is not None:
            session.printer.note(f"writing {certificate}")
            interval = save_proof(plan, certificate)
            document["certificate"] = certificate_document(certificate, interval)
    finally:
        # The plan is printed even if the proof fails.
        session.printer.close()
        _print_plan(session, plan, document)
    if unsaved is not None:
        raise unsaved
    if saver is not None and plan.found:
        session.say(f"The plan is saved in {arguments.out}.")
    if certificate is not None:
        asked = asked_again(arguments, plan.problem.procedure)
        session.say(certificate_in_words(certificate, interval, plan, asked))


def _draw(session: Session, problem: HCSSP, plan: Plan) -> None:
    """Draw the requested pictures."""
    arguments = session.arguments
    if arguments.lagrangian is not None and plan.found:
        from hcssp.solving.lagrangian import lagrangian

        lagrangian(problem, activity=arguments.activity, budget=plan).plot(arguments.lagrangian)
        session.say(f"The policies over the multiplier are drawn in {arguments.lagrangian}.")
    if arguments.allocation is not None and plan.allocation is not None:
        plan.allocation.plot(arguments.allocation, activities=arguments.axes)
        session.say(f"The boxes of allocations are drawn in {arguments.allocation}.")
    if arguments.plot is not None and plan.found:
        plan.plot(arguments.plot)
        rooms, procedure = "rooms with the plan's arrows are", "procedure with the plan's choices is"
        session.say(f"The {rooms if problem.has_rooms else procedure} drawn in {arguments.plot}.")


def _read(
    session: Session, solver: Solver, tolerances: Tolerances
) -> tuple[HCSSP, Plan | None, SearchRecord]:
    """The problem, the plan to begin with if one is given and keeps the bounds, regions to go on with."""
    arguments, loaded = session.arguments, as_chosen_by(solver, session.read())
    if arguments.resume is not None:
        return where_it_was(arguments, loaded, tolerances)
    return with_bounds(loaded, arguments.bound), None, SearchRecord()


def _print_unread(session: Session, dead_end: str = "") -> int:
    """Say that the work ended while the problem was read, by a signal or a dead end."""
    arguments, interruption = session.arguments, session.interruption
    session.printer.close()
    expired = interruption.expired and not interruption.requested
    ended = "the time limit was reached" if expired else "interrupted"
    message = dead_end or f"{ended} while {arguments.problem} was read"
    if arguments.json:
        from hcssp.reports.plan_text import unread_document

        stopped_by = "proved" if dead_end else str(interruption.ending.reason)
        document = unread_document(
            arguments.problem, arguments.method, message, stopped_by, interruption.seconds
        )
        print(json.dumps(document, allow_nan=False))
    session.fail(f"no plan: {message}")
    return NO_PLAN if dead_end or expired else INTERRUPTED


def make_solver(method: Method, arguments: argparse.Namespace) -> Solver:
    """The method with the options of the command line that it takes.

    Raises
    ------
    UsageError
        If an option was given that the method does not take.
    """
    names = ("iterations", "mode", "likelihoods", "choices")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    for option in given:
        if option not in method.options:
            takers = ", ".join(other.name for other in METHODS.values() if option in other.options)
            raise UsageError(f"--{option} does not apply to the method {method.name!r}, only to {takers}")
    return method.make(**given)


def _print_plan(session: Session, plan: Plan, more: dict[str, Any]) -> None:
    """Print the answer on stdout, and on stderr why there is none or that it is not the last word.

    `more` are further keys of its JSON object.
    """
    from hcssp.reports.plan_text import plan_document, plan_in_words

    arguments, before = session.arguments, session.interruption.before
    if arguments.json:
        print(json.dumps(plan_document(plan) | {"problem": arguments.problem} | more, allow_nan=False))
    elif plan.status is not Status.INFEASIBLE:
        print(plan_in_words(plan, style_of(sys.stdout), session.title))
    sys.stdout.flush()
    if not plan.found:
        session.fail(f"no plan: {plan.message}")
    elif plan.ending.reason is Reason.INTERRUPTED:
        session.fail("interrupted; the plan is the best one so far")
    if plan.ending.reason is Reason.TIME_LIMIT and not arguments.quiet:
        limit = arguments.time_limit
        session.fail(f"the time limit of {limit:g} s was reached; reading took {before:.1f} s before it")


def replan(session: Session) -> int:
    """Plan the rest, print the plan, and answer with the exit code."""
    from hcssp.files.atomic import write_atomically
    from hcssp.files.problem_file.dumping import dump_problem

    arguments = session.arguments
    session.check_outputs("out", "rest")
    tolerances = Tolerances(feasibility=arguments.feasibility_tolerance)
    saver = None
    try:
        session.interruption.begin()
        rest, start, policies = _rest(session, tolerances)
        method = find_method("exact" if policies == "deterministic" else "dual")
        session.printer.counts, session.printer.hint = method.counts, True
        session.printer.reward = rest.reward
        if arguments.rest is not None:
            write_atomically(arguments.rest, dump_problem(rest))
        if arguments.out is not None:
            saver = PlanSaver(arguments.out, rest, method.name, start)
        plan = work(
            session,
            rest,
            method.make(),
            [_gap(method, arguments)],
            arguments.time_limit,
            saver,
            start,
            tolerances,
        )
    except BudgetSpent as error:
        session.fail(f"no plan: {error}")
        return NO_PLAN
    except KeyboardInterrupt:
        session.printer.close()
        session.fail(f"interrupted while {arguments.problem} was read")
        return INTERRUPTED
    finally:
        session.printer.close()
    _hand_over(session, plan, saver)
    if arguments.rest is not None:
        session.say(f"The rest is written to {arguments.rest}, a problem file.")
    return _code(plan)


def _rest(session: Session, tolerances: Tolerances) -> tuple[HCSSP, Plan | None, Policies]:
    """The problem that is left, the old plan if it can still be followed, and its kind of policies."""
    from hcssp.solving.replan import rest_to_plan

    arguments = session.arguments
    changed = arguments.world is not None or bool(arguments.now)
    if changed and arguments.problem == "-" and arguments.world in (None, "-"):
        raise UsageError("-: standard input is read once, and has the plan's problem; --world names a file")
    problem = session.read()
    plan = session.read_plan(problem, tolerances).as_procedure()
    spent = dict(arguments.spent) or None
    world = _world(arguments, problem, plan) if changed else None
    rest, start = rest_to_plan(plan, " ".join(arguments.at) or None, spent, world, None, tolerances)
    return rest.procedure, start, plan.policies


def _world(arguments: argparse.Namespace, problem: HCSSP, plan: Plan) -> HCSSP:
    """The changed problem, read with the same options as the plan's problem."""
    now = once("--now", arguments.now)
    if arguments.world is None:
        world = load_problem(arguments, settings=settings_of(arguments) | now)
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
