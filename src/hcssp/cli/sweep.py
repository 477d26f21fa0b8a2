"""``hcssp sweep``: the best plan for every combination of parameters and bounds."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    UsageError,
    add_maximise_argument,
    add_model_arguments,
    add_output_arguments,
    add_scale_argument,
    gap,
    seconds,
)
from hcssp.cli.exit_codes import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.pictures import check_picture
from hcssp.cli.problems import asked_of, named_problem, question_of
from hcssp.cli.progress import ProgressPrinter
from hcssp.cli.terminal import style_of
from hcssp.cli.workers import add_worker_arguments, workers_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hcssp.cli.interruption import Interruption
    from hcssp.exchange.reading import Question
    from hcssp.procedure import HCSSP
    from hcssp.scenarios.dials import Number
    from hcssp.solving.sweep_record import Sweep, SweepPoint
    from hcssp.workers import Workers

HELP = "solve for all combinations of parameters and bounds: a table, CSV, Parquet, a plot, a page"
DESCRIPTION = """\
Solve a problem for all combinations of parameters and bounds. Each point begins with what its
neighbours have found, and is proven by itself. With --results, points are kept as they are found,
and a second run does only what is missing.

  hcssp sweep small-building --set locked=0.1:0.5:0.1 --bound damage=1,2,5
  hcssp sweep mine.yaml --set slip=5%,10% --bound damage=1:3:0.5 --results s.jsonl --page s.html"""

_MOST_VALUES = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp sweep``."""
    parser.add_argument(
        "problem",
        metavar="PROBLEM",
        help="a built-in problem (hcssp problems lists them), a problem file, or a model of PRISM, JANI, DRN "
        "or UMB",
    )
    parser.add_argument(
        "--set",
        type=axis,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUES",
        help="a parameter and its values: a list 0.1,0.2 or a range FROM:TO:STEP; may be repeated",
    )
    parser.add_argument(
        "--bound",
        type=bound_axis,
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="a constraint and its bounds, written in the same way; may be repeated",
    )
    parser.add_argument(
        "--probability",
        type=chance_axis,
        action="append",
        default=[],
        metavar="WHAT=VALUES",
        help="bounds on the probability that an event is reached or a state entered, such as "
        "crashed=1%%,2%%; may be repeated",
    )
    add_maximise_argument(parser)
    add_scale_argument(parser)
    parser.add_argument(
        "--gap",
        type=gap,
        default=1e-4,
        metavar="G",
        help="the relative gap at which a point is done (default: 1e-4)",
    )
    parser.add_argument("--time-limit", type=seconds, metavar="S", help="seconds for each point")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="keep the points there as they are found; those that are there are not solved again, and are "
        "printed as claims",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the points as CSV")
    parser.add_argument(
        "--parquet", type=Path, metavar="FILE", help="write the points as Parquet (needs hcssp[parquet])"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw lines or a heat map (.png, .svg, .pdf)"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write one page of HTML with a slider for all that varies",
    )
    add_worker_arguments(parser, "points")
    add_model_arguments(parser)
    add_output_arguments(parser)


def axis(text: str) -> tuple[str, list[Fraction]]:
    """``NAME=VALUES``: a parameter, and a list or a range of its values."""
    return _axis(text, "slip=0.05:0.3:0.05 or slip=0.1,0.2")


def bound_axis(text: str) -> tuple[str, list[float]]:
    """``NAME=VALUES``: a constraint, and a list or a range of its bounds, among which ``inf`` may be."""
    name, _, values = text.rpartition("=")
    parts = [part.strip() for part in values.split(",")]
    finite = [part for part in parts if part.lower() not in ("inf", "+inf")]
    if finite == parts or not name.strip():
        return name.strip(), [float(value) for value in _axis(text, "damage=1,2,5 or damage=1:5:1")[1]]
    found = _axis(f"{name}={','.join(finite)}", "damage=1,2,inf")[1] if finite else []
    return name.strip(), [*(float(value) for value in found), float("inf")]


def chance_axis(text: str) -> tuple[str, list[float]]:
    """``WHAT=VALUES``: an event or a state, and the most probabilities with which it may happen."""
    # The name of a state may have "=" in it, as those of PRISM have.
    what, _, values_of = text.rpartition("=")
    values = bound_axis(f"{what and 'probability'}={values_of}")[1]
    wrong = [value for value in values if not (0.0 <= value <= 1.0 or value == float("inf"))]
    if wrong:
        told = (
            f"the probability of {what!r} is {wrong[0]:g}, which is no share from 0 to 1; write crashed=1%,2%"
        )
        raise argparse.ArgumentTypeError(told)
    return what.strip(), values


def _axis(text: str, example: str) -> tuple[str, list[Fraction]]:
    name, separator, values = (part.strip() for part in text.rpartition("="))
    if not (separator and name and values):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUES, such as {example}")
    found: list[Fraction] = []
    for part in values.split(","):
        ends = [_number(name, each.strip(), example) for each in part.split(":")]
        if len(ends) == 1:
            found += ends
        elif len(ends) == 3:
            found += _range(part, *ends)
        else:
            raise argparse.ArgumentTypeError(
                f"{name!r} is {part!r}; a range is FROM:TO:STEP, such as {example}"
            )
    return name, found


def _number(name: str, text: str, example: str) -> Fraction:
    from hcssp.files.problem_file.written_numbers import exact_number

    found = exact_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{name!r} is {text!r}, which is no number; write {example}")
    return found


def _range(text: str, first: Fraction, last: Fraction, step: Fraction) -> list[Fraction]:
    """From the first value to the last that is not beyond the end, exactly."""
    if step <= 0 or last < first:
        raise argparse.ArgumentTypeError(f"{text!r} is no range FROM:TO:STEP; it goes up by a positive step")
    count = (last - first) // step + 1
    if count > _MOST_VALUES:
        raise argparse.ArgumentTypeError(f"{text!r} has {count:,} values; give at most {_MOST_VALUES:,}")
    return [first + step * number for number in range(count)]


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Solve the points, and answer with them in every form that was asked for."""
    _check_outputs(arguments)
    printer = ProgressPrinter.wanted(arguments)
    try:
        interruption.begin()
        found = _compute(arguments, printer)
    finally:
        printer.close()
    interruption.end()
    written = _write(arguments, found)
    if arguments.json:
        from hcssp.reports.sweep_tables import sweep_document

        print(json.dumps(sweep_document(found, arguments.problem), allow_nan=False))
    else:
        from hcssp.reports.sweep_tables import sweep_in_words

        print(sweep_in_words(found, style_of(sys.stdout), arguments.problem))
        for line in written:
            print(f"\n{line}")
    if interruption.requested:
        print("hcssp: interrupted; the points are those finished so far", file=sys.stderr)
        return INTERRUPTED
    if not any(point.found for point in found.points):
        why = found.points[-1].message if found.points else "no point was finished"
        print(f"hcssp: no plan at any point: {why}", file=sys.stderr)
        return NO_PLAN
    return SOLVED


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Find out before the work whether everything can be written."""
    from hcssp.files.atomic import check_writable

    bounds = [*arguments.bound, *arguments.probability]
    for flag, given in (("--set", arguments.settings), ("--bound", bounds)):
        names = [name for name, _ in given]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(f"{flag} {twice[0]}: given twice; write all its values in one list")
    if arguments.plot is not None:
        check_picture("--plot", arguments.plot)
    if arguments.parquet is not None:
        from hcssp.reports.sweep_tables import require_parquet

        require_parquet()
    for path in (arguments.csv, arguments.parquet, arguments.page, arguments.results):
        if path is not None:
            check_writable(path)


def _compute(arguments: argparse.Namespace, printer: ProgressPrinter) -> Sweep:
    """The sweep; after a signal, the points finished so far."""
    from math import inf

    from hcssp.reports.sweep_tables import point_line
    from hcssp.solving.sweep import sweep, sweep_of
    from hcssp.solving.sweep_grid import Grid

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
        printer.note(f"{len(done):3d} of {len(grid)}: {point_line(grid.axes, point)}")

    printer.note(f"{len(grid)} points of {arguments.problem}")
    workers: Workers | None = None
    try:
        workers = workers_of(arguments)
        return sweep(
            make,
            settings,
            bounds,
            gap=arguments.gap,
            time_limit=inf if arguments.time_limit is None else arguments.time_limit,
            file=arguments.results,
            on_point=on_point,
            executor=workers,
        )
    except KeyboardInterrupt:
        if not done:
            raise
        first = make(**{name: values[0] for name, values in settings.items()})
        places = {grid.place(point.settings, point.bounds): point for point in done}
        return sweep_of(first, grid, places, time.perf_counter() - began)
    finally:
        if workers is not None:
            workers.close()


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
    return asked_of(problem, [(what, float("inf")) for what in events], reward)


def _write(arguments: argparse.Namespace, found: Sweep) -> Sequence[str]:
    """Write what was asked for; what is where, for people."""
    from hcssp.files.atomic import write_atomically
    from hcssp.reports.sweep_tables import sweep_csv, sweep_parquet

    told = []
    if arguments.csv is not None:
        write_atomically(arguments.csv, sweep_csv(found))
        told.append(f"The figures are in {arguments.csv}.")
    if arguments.parquet is not None:
        write_atomically(arguments.parquet, sweep_parquet(found))
        told.append(f"The figures are in {arguments.parquet}.")
    if arguments.plot is not None:
        found.plot(arguments.plot)
        told.append(f"The picture is {arguments.plot}.")
    if arguments.page is not None:
        found.report(arguments.page)
        told.append(f"The page is {arguments.page}.")
    return told
