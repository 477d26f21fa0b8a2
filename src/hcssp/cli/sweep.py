"""``hcssp sweep``: the best plan for every combination of parameters and bounds."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import (
    WORKERS,
    UsageError,
    add,
    add_model,
    add_output,
    axis,
    bound_axis,
    chance_axis,
    workers_of,
)
from hcssp.cli.plans import check_picture
from hcssp.cli.problems import asked_of, named_problem, question_of
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.terminal import ProgressPrinter, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hcssp.cli.running import Interruption
    from hcssp.exchange.reading import Question
    from hcssp.parameters import Number
    from hcssp.procedure import HCSSP
    from hcssp.solving.sweep import Sweep, SweepPoint
    from hcssp.workers import Workers

DESCRIPTION = """\
Solve a problem for all combinations of parameters and bounds. Each point begins with what its
neighbours have found, and is proven by itself. With --out, points are kept as they are found,
and a second run does only what is missing.

  hcssp sweep small-building --set locked=0.1:0.5:0.1 --bound damage=1,2,5
  hcssp sweep mine.yaml --set slip=5%,10% --bound damage=1:3:0.5 --out s.jsonl --page s.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp sweep``."""
    add(parser, "problem")
    add(
        parser,
        "--set",
        type=axis,
        metavar="NAME=VALUES",
        help="a parameter and its values: a list 0.1,0.2 or a range FROM:TO:STEP; may be repeated",
    )
    add(
        parser,
        "--bound",
        type=bound_axis,
        metavar="NAME=VALUES",
        help="a constraint and its bounds, written in the same way; may be repeated",
    )
    add(
        parser,
        "--probability",
        type=chance_axis,
        metavar="WHAT=VALUES",
        help="bounds on the probability that an event is reached or a state entered, such as "
        "crashed=1%%,2%%; may be repeated",
    )
    add(parser, "--maximise", "--scale")
    add(parser, "--gap", default=1e-4, help="the relative gap at which a point is done (default: 1e-4)")
    add(parser, "--time-limit", help="seconds for each point")
    add(
        parser,
        "--out",
        help="keep the points there as they are found, a JSON object a line; those that are there are not "
        "solved again, and are printed as claims",
    )
    add(parser, "--csv")
    parser.add_argument(
        "--parquet", type=Path, metavar="FILE", help="write the points as Parquet (needs hcssp[parquet])"
    )
    add(parser, "--plot", help="draw lines or a heat map (.png, .svg, .pdf)")
    add(parser, "--page", *WORKERS)
    add_model(parser)
    add_output(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Solve the points, and answer with them in every form that was asked for."""
    from hcssp.reports.sweep_tables import sweep_document, sweep_in_words

    _check_outputs(arguments)
    printer = ProgressPrinter.wanted(arguments)
    try:
        interruption.begin()
        found = _compute(arguments, printer)
    finally:
        printer.close()
    interruption.end()
    written = _write(arguments, found)
    answer(
        arguments,
        lambda: sweep_document(found, arguments.problem),
        lambda style: sweep_in_words(found, style, arguments.problem),
    )
    if not arguments.json:
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
    for path in (arguments.csv, arguments.parquet, arguments.page, arguments.out):
        if path is not None:
            check_writable(path)


def _compute(arguments: argparse.Namespace, printer: ProgressPrinter) -> Sweep:
    """The sweep; after a signal, the points finished so far."""
    from math import inf

    from hcssp.reports.sweep_tables import point_line
    from hcssp.solving.sweep import Grid, sweep, sweep_of

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
        printer.step(len(done), len(grid), point_line(grid.axes, point))

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

    written = []
    if arguments.csv is not None:
        write_atomically(arguments.csv, sweep_csv(found))
        written.append(f"The figures are in {arguments.csv}.")
    if arguments.parquet is not None:
        write_atomically(arguments.parquet, sweep_parquet(found))
        written.append(f"The figures are in {arguments.parquet}.")
    if arguments.plot is not None:
        found.plot(arguments.plot)
        written.append(f"The picture is {arguments.plot}.")
    if arguments.page is not None:
        found.report(arguments.page)
        written.append(f"The page is {arguments.page}.")
    return written
