"""``hcssp curve``: what the optimum costs as one bound grows, and what a unit of that bound is worth."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from hcssp.cli.arguments import WORKERS, UsageError, add, add_output, add_problem, amount, whole, workers_of
from hcssp.cli.plans import check_picture
from hcssp.cli.problems import load_problem, title_of, with_bounds
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.terminal import ProgressPrinter, answer
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.procedure import HCSSP
    from hcssp.solving.trade_off import CurvePoint, TradeOff
    from hcssp.workers import Workers

DESCRIPTION = """\
Compute what the best plan costs as one bound grows. Over randomised policies the curve is exact,
with all its breakpoints; for the best deterministic plan there is a proven interval at each of the
asked bounds. The price is what one more unit of the bound saves. All points share their work."""

_MAX_POINTS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp curve``."""
    add_problem(parser)
    add(parser, "--constraint", help="whose bound varies (default: the problem's only constraint)")
    parser.add_argument(
        "--from",
        dest="low",
        type=amount,
        metavar="LOW",
        help="the smallest bound (default: the least that can be kept)",
    )
    parser.add_argument(
        "--to",
        dest="high",
        type=amount,
        metavar="HIGH",
        help="the largest bound (default: the most that is of any use)",
    )
    add(parser, "--points", type=whole("count", 1), help="how many bounds (default: 11)")
    add(parser, "--gap", default=1e-4, help="prove each to this relative gap (default: 1e-4)")
    add(parser, "--time-limit", help="print what is proven after about S seconds; reading does not count")
    add(parser, *WORKERS)
    add(parser, "--csv", help="write points and breakpoints as CSV")
    add(parser, "--plot", help="draw the curve (needs matplotlib)")
    add_output(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Compute the curve, print it, and answer with the exit code."""
    from math import inf, isfinite

    from hcssp.files.atomic import check_writable, write_atomically
    from hcssp.reports.results_text import curve_csv, curve_document, curve_in_words

    if arguments.low is not None and arguments.high is not None:
        # What makes no sense is said before anything is read.
        asked_bounds(arguments.low, arguments.high, arguments.points)
    if arguments.csv is not None:
        check_writable(arguments.csv)
    if arguments.plot is not None:
        check_picture("--plot", arguments.plot)
    printer = ProgressPrinter.wanted(arguments)
    try:
        interruption.begin()
        printer.note(f"reading {arguments.problem}")
        problem = with_bounds(load_problem(arguments), arguments.bound)
        interruption.allow(inf if arguments.time_limit is None else arguments.time_limit)
        constraint = varied(problem, arguments.constraint)
        low, high = arguments.low, arguments.high
        if low is None or high is None:
            printer.note(f"looking for the bounds on {constraint} that matter")
            low, high = _range(problem, constraint, low, high)
        bounds = asked_bounds(low, high, arguments.points)
        curve = _compute(arguments, problem, constraint, bounds, printer, interruption)
    except KeyboardInterrupt:
        if not interruption.expired or interruption.requested:
            raise
        printer.close()
        print("hcssp: no plan: the time limit was reached before the first point", file=sys.stderr)
        return NO_PLAN
    finally:
        printer.close()
    interruption.end()
    if arguments.csv is not None:
        write_atomically(arguments.csv, curve_csv(curve))
    if arguments.plot is not None:
        curve.plot(arguments.plot)
    answer(
        arguments,
        lambda: curve_document(arguments.problem, problem, curve),
        lambda style: curve_in_words(title_of(arguments), problem, curve, style),
    )
    if not arguments.json:
        for what, path in (("The figures are", arguments.csv), ("The curve is drawn", arguments.plot)):
            if path is not None:
                print(f"\n{what} in {path}.")
    if interruption.requested:
        print("hcssp: interrupted; the points are those finished so far", file=sys.stderr)
        return INTERRUPTED
    if not curve.points:
        print("hcssp: no plan: the time limit was reached before the first point", file=sys.stderr)
        return NO_PLAN
    if interruption.expired:
        print("hcssp: the time limit was reached; the points are those finished so far", file=sys.stderr)
    if not any(point.plan.found for point in curve.points):
        why = f"the least achievable {constraint} is {curve.least:.9g}"
        if curve.points[-1].bound >= curve.least or not isfinite(curve.least):
            # It is not for this bound.
            why = curve.points[-1].plan.message
        print(f"hcssp: no plan: {why}", file=sys.stderr)
        return NO_PLAN
    return SOLVED


def _range(problem: HCSSP, constraint: str, low: float | None, high: float | None) -> tuple[float, float]:
    """The ends of the curve, where the user has not named them."""
    from hcssp.solving.trade_off import bound_range, rounded_range

    least, most = rounded_range(*bound_range(problem, constraint))
    first = least if low is None else low
    return first, max(first, most) if high is None else high


def asked_bounds(low: float, high: float, count: int) -> list[float]:
    """The asked number of bounds, equally far apart.

    Raises
    ------
    UsageError
        If they make no sense.
    """
    from math import isfinite

    if not (isfinite(low) and isfinite(high)):
        raise UsageError(f"--from {low:g} --to {high:g}: give finite numbers")
    if low > high:
        raise UsageError(f"--from {low:g} --to {high:g}: the smallest bound comes first")
    if count > _MAX_POINTS:
        raise UsageError(f"--points {count}: give at most {_MAX_POINTS}")
    if count == 1 or low == high:
        return [low]
    return [low + (high - low) * step / (count - 1) for step in range(count - 1)] + [high]


def varied(problem: HCSSP, name: str | None) -> str:
    """The constraint whose bound varies.

    Raises
    ------
    UsageError, UnknownName
        If it is not clear which one is meant.
    """
    from hcssp.procedure.description import Aim

    known = [constraint.name for constraint in problem.constraints]
    if name is None:
        # What counts a reward is not meant unless it is named.
        meant = Aim.of(problem).others
        if len(meant) != 1:
            there_are = ", ".join(known) or "none"
            raise UsageError(f"--constraint: say whose bound varies; the constraints are: {there_are}")
        return meant[0]
    if name not in known:
        raise UnknownName("constraint", name, known)
    return name


def _compute(
    arguments: argparse.Namespace,
    problem: HCSSP,
    constraint: str,
    bounds: list[float],
    printer: ProgressPrinter,
    interruption: Interruption,
) -> TradeOff:
    """The curve; after a signal, the points finished so far."""
    from math import inf

    from hcssp.reports.results_text import point_line
    from hcssp.solving.trade_off import TradeOff, trade_off

    done: list[CurvePoint] = []
    began = time.perf_counter()

    def on_point(point: CurvePoint) -> None:
        done.append(point)
        printer.step(len(done), len(bounds), f"{constraint} at most {point_line(point)}")

    limit = inf
    if arguments.time_limit is not None:
        limit = max(0.0, arguments.time_limit - interruption.seconds)
    workers: Workers | None = None
    printer.note(f"tracing the curve of {constraint}")
    try:
        interruption.begin()
        workers = workers_of(arguments, interruption.seconds)
        return trade_off(problem, constraint, bounds, arguments.gap, limit, on_point, executor=workers)
    except KeyboardInterrupt:
        done.sort(key=lambda point: point.bound)
        return TradeOff.interrupted(problem, constraint, done, time.perf_counter() - began)
    finally:
        if workers is not None:
            workers.close()
