"""Commands that solve one problem many times: ``hcssp curve`` and ``hcssp sweep``."""

from __future__ import annotations

import time
from functools import partial
from math import inf, isfinite

from hcssp.cli.arguments import UsageError
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.session import Session, asked_of, load_problem, named_problem, question_of, with_bounds
from hcssp.cli.terminal import ProgressPrinter
from hcssp.errors import UnknownName
from hcssp.exchange.reading import Question
from hcssp.files.atomic import write_atomically
from hcssp.parameters import Number
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.reports.results_text import curve_csv, curve_document, curve_in_words, point_line
from hcssp.reports.sweep_tables import (
    require_parquet,
    sweep_csv,
    sweep_document,
    sweep_in_words,
    sweep_parquet,
    sweep_point_line,
)
from hcssp.solving.sweep import Grid, Sweep, SweepPoint, sweep_of
from hcssp.solving.sweep import sweep as solve_all
from hcssp.solving.trade_off import CurvePoint, TradeOff, bound_range, rounded_range, trade_off

_MAX_POINTS = 10_000


def curve(session: Session) -> int:
    """Compute the curve, print it, and answer with the exit code."""
    arguments, interruption = session.arguments, session.interruption
    if arguments.low is not None and arguments.high is not None:
        # What makes no sense is said before anything is read.
        asked_bounds(arguments.low, arguments.high, arguments.points)
    session.check_outputs("csv", "plot")
    expired = "the time limit was reached"
    try:
        with session.working() as printer:
            printer.note(f"reading {arguments.problem}")
            problem = with_bounds(load_problem(arguments), arguments.bound)
            session.allow()
            constraint = _varied(problem, arguments.constraint)
            low, high = arguments.low, arguments.high
            if low is None or high is None:
                printer.note(f"looking for the bounds on {constraint} that matter")
                least, most = rounded_range(*bound_range(problem, constraint))
                low = least if low is None else low
                high = max(low, most) if high is None else high
            found = _curve(session, problem, constraint, asked_bounds(low, high, arguments.points))
    except KeyboardInterrupt:
        if not interruption.expired or interruption.requested:
            raise
        session.fail(f"no plan: {expired} before the first point")
        return NO_PLAN
    if arguments.csv is not None:
        write_atomically(arguments.csv, curve_csv(found))
    if arguments.plot is not None:
        found.plot(arguments.plot)
    session.answer(
        lambda: curve_document(arguments.problem, problem, found),
        lambda style: curve_in_words(session.title, problem, found, style),
    )
    for what, path in (("The figures are", arguments.csv), ("The curve is drawn", arguments.plot)):
        if path is not None:
            session.say(f"{what} in {path}.")
    if interruption.requested:
        session.fail("interrupted; the points are those finished so far")
        return INTERRUPTED
    if not found.points:
        session.fail(f"no plan: {expired} before the first point")
        return NO_PLAN
    if interruption.expired:
        session.fail(f"{expired}; the points are those finished so far")
    if not any(point.plan.found for point in found.points):
        why = f"the least achievable {constraint} is {found.least:.9g}"
        if found.points[-1].bound >= found.least or not isfinite(found.least):
            # It is not for this bound.
            why = found.points[-1].plan.message
        session.fail(f"no plan: {why}")
        return NO_PLAN
    return SOLVED


def asked_bounds(low: float, high: float, count: int) -> list[float]:
    """The asked number of bounds, equally far apart.

    Raises
    ------
    UsageError
        If they make no sense.
    """
    if not (isfinite(low) and isfinite(high)):
        raise UsageError(f"--from {low:g} --to {high:g}: give finite numbers")
    if low > high:
        raise UsageError(f"--from {low:g} --to {high:g}: the smallest bound comes first")
    if not 1 <= count <= _MAX_POINTS:
        raise UsageError(f"--points {count}: give 1 to {_MAX_POINTS}")
    if count == 1 or low == high:
        return [low]
    return [low + (high - low) * step / (count - 1) for step in range(count - 1)] + [high]


def _varied(problem: HCSSP, name: str | None) -> str:
    """The constraint whose bound varies.

    Raises
    ------
    UsageError, UnknownName
        If it is not clear which one is meant.
    """
    if name is None:
        # What counts a reward is not meant unless it is named.
        meant = Aim.of(problem).others
        if len(meant) != 1:
            there_are = ", ".join(problem.constraint_names) or "none"
            raise UsageError(
                f"--constraint: name the constraint whose bound varies; the constraints are: {there_are}"
            )
        return meant[0]
    if name not in problem.constraint_names:
        raise UnknownName("constraint", name, problem.constraint_names)
    return name


def _curve(session: Session, problem: HCSSP, constraint: str, bounds: list[float]) -> TradeOff:
    """The curve; after a signal, the points finished so far."""
    arguments, interruption = session.arguments, session.interruption
    done: list[CurvePoint] = []
    began = time.perf_counter()

    def on_point(point: CurvePoint) -> None:
        done.append(point)
        session.printer.step(len(done), len(bounds), f"{constraint} at most {point_line(point)}")

    limit = inf
    if arguments.time_limit is not None:
        limit = max(0.0, arguments.time_limit - interruption.seconds)
    session.printer.note(f"tracing the curve of {constraint}")
    try:
        interruption.begin()
        with session.workers(interruption.seconds) as workers:
            return trade_off(problem, constraint, bounds, arguments.gap, limit, on_point, executor=workers)
    except KeyboardInterrupt:
        done.sort(key=lambda point: point.bound)
        return TradeOff.interrupted(problem, constraint, done, time.perf_counter() - began)


def sweep(session: Session) -> int:
    """Solve the points, and answer with them in every form that was asked for."""
    arguments = session.arguments
    _refuse_repeated_axes(session)
    with session.working() as printer:
        found = _sweep(session, printer)
    session.answer(
        lambda: sweep_document(found, arguments.problem),
        lambda style: sweep_in_words(found, style, arguments.problem),
    )
    for path, write, text in (
        (arguments.csv, lambda path: write_atomically(path, sweep_csv(found)), "The figures are in"),
        (arguments.parquet, lambda path: write_atomically(path, sweep_parquet(found)), "The figures are in"),
        (arguments.plot, found.plot, "The picture is"),
        (arguments.page, found.report, "The page is"),
    ):
        if path is not None:
            write(path)
            session.say(f"{text} {path}.")
    if session.interruption.requested:
        session.fail("interrupted; the points are those finished so far")
        return INTERRUPTED
    if not any(point.found for point in found.points):
        why = found.points[-1].message if found.points else "no point was finished"
        session.fail(f"no plan at any point: {why}")
        return NO_PLAN
    return SOLVED


def _refuse_repeated_axes(session: Session) -> None:
    arguments = session.arguments
    bounds = [*arguments.bound, *arguments.probability]
    for flag, given in (("--set", arguments.settings), ("--bound", bounds)):
        names = [name for name, _ in given]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(f"{flag} {twice[0]}: given twice; write all its values in one list")
    if arguments.parquet is not None:
        require_parquet()
    session.check_outputs("plot", "csv", "parquet", "page", "out")


def _sweep(session: Session, printer: ProgressPrinter) -> Sweep:
    """The sweep; after a signal, the points finished so far."""
    arguments = session.arguments
    settings, bounds = dict(arguments.settings), dict([*arguments.bound, *arguments.probability])
    grid = Grid.of(settings, bounds)
    make = partial(
        _made,
        arguments.problem,
        arguments.scale,
        question_of(arguments),
        tuple(what for what, _ in arguments.probability),
        arguments.maximise,
    )
    done: list[SweepPoint] = []
    began = time.perf_counter()

    def on_point(point: SweepPoint) -> None:
        done.append(point)
        printer.step(len(done), len(grid), sweep_point_line(grid.axes, point))

    printer.note(f"{len(grid)} points of {arguments.problem}")
    try:
        with session.workers() as workers:
            return solve_all(
                make,
                settings,
                bounds,
                method=arguments.method,
                gap=arguments.gap,
                time_limit=inf if arguments.time_limit is None else arguments.time_limit,
                file=arguments.out,
                on_point=on_point,
                executor=workers,
            )
    except KeyboardInterrupt:
        if not done:
            raise
        first = make(**{name: values[0] for name, values in settings.items()})
        places = {grid.place(point.settings, point.bounds): point for point in done}
        return sweep_of(first, grid, places, time.perf_counter() - began)


def _made(
    name: str,
    scale: int,
    question: Question | None,
    events: tuple[str, ...],
    reward: str | None,
    **settings: Number,
) -> HCSSP:
    if name == "-":
        raise UsageError("-: a sweep reads its problem more than once; give it as a file")
    problem = named_problem(name, settings, scale, question)
    # The sweep bounds the probabilities; here they only become costs that can be bounded.
    return asked_of(problem, [(what, inf) for what in events], reward)
