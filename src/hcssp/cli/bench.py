"""``hcssp bench``: our methods and other tools on the same problems, on one page and as CSV."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import WORKERS, UsageError, add, add_model, add_output, whole, workers_of
from hcssp.cli.problems import question_of, settings_of
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.terminal import ProgressPrinter, style_of

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.comparison.measuring import Pair, ResultsFile
    from hcssp.comparison.solvers import Measurement
    from hcssp.workers import Workers

DESCRIPTION = """\
Run our methods and, where they are installed, other tools over a suite of built-in problems or over
problem files, each in a fresh process and with a time limit. Measurements of built-in problems are kept
as they are made: a second run does only what is missing, and calls the others claims of the results
file. The folder gets bench.html, bench.csv and ratios.md; values that disagree are printed first, and
the exit code is 1 if there are any.

  hcssp bench --suite small
  hcssp bench --suite full --method exact --peer storm --problem evacuation
  hcssp bench --problem mine.yaml --method exact --method budget-allocation:mode=published --repeat 5
  hcssp bench --suite paper --jobs 4
  hcssp bench --problem dice.prism --constants N=5 --goal done --minimise time --bound heat=2
  hcssp bench --suite full --scheduler tcp://localhost:8786"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp bench``."""
    parser.add_argument(
        "--suite",
        choices=("small", "full", "paper"),
        default="small",
        help="one small setting of every built-in problem, or small, usual and large ones, or random "
        "procedures as in docs/experiments.md (default: small)",
    )
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
    add(
        parser,
        "--method",
        **several,
        help="one of our methods (hcssp methods lists them), perhaps with options, as in "
        "budget-allocation:mode=published; may be repeated (default: all)",
    )
    parser.add_argument(
        "--peer",
        **several,
        help="another tool, storm or scikit-decide, or none; may be repeated (default: those installed)",
    )
    parser.add_argument(
        "--problem",
        **several,
        help="only this built-in problem, problem file or model of another tool; may be repeated",
    )
    add(parser, "--set", "--bound")
    parser.add_argument(
        "--repeat",
        type=whole("number of runs", 1),
        metavar="N",
        help="solve each problem N times, with other seeds where it has one, and print medians and quartiles "
        "(default: 1; in the paper suite 30)",
    )
    add(
        parser,
        "--time-limit",
        help="seconds for each run (default: 3 in the small suite, 60 in full, 10 in paper)",
    )
    add(parser, *WORKERS)
    add(
        parser,
        "--out",
        default=Path("hcssp-bench"),
        metavar="FOLDER",
        help="where everything is written and kept (default: hcssp-bench)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is there already")
    add_model(parser)
    add_output(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Measure what is missing, and write what is known."""
    from hcssp.comparison.measuring import ResultsFile, in_order
    from hcssp.comparison.page import (
        comparison_summary,
        disagreements,
        markdown_table,
        measurements_csv,
        save_comparison_page,
    )
    from hcssp.comparison.suite import SUITES
    from hcssp.files.atomic import make_folder, write_atomically

    limit = SUITES[arguments.suite] if arguments.time_limit is None else arguments.time_limit
    pairs = _pairs(arguments)
    make_folder(arguments.out)
    known = ResultsFile(arguments.out / "results.jsonl")
    printer = ProgressPrinter.wanted(arguments)
    try:
        interruption.begin()
        found = _measure(pairs, limit, arguments, known, printer)
    finally:
        printer.close()
    interruption.end()
    if not found:
        print("hcssp: nothing was measured before the interruption", file=sys.stderr)
        return INTERRUPTED
    places = {pair[0].name: place for place, pair in reversed(list(enumerate(pairs)))}
    found.sort(key=lambda each: places[each.instance])
    found = in_order(found, list(dict.fromkeys(name for _, name in pairs)))
    write_atomically(arguments.out / "bench.csv", measurements_csv(found))
    write_atomically(arguments.out / "ratios.md", markdown_table(found))
    save_comparison_page(found, arguments.out / "bench.html", arguments.suite)
    contradictions = disagreements(found)
    if arguments.json:
        document = {
            "suite": arguments.suite,
            "disagreements": contradictions,
            "measurements": [each.to_document() for each in found],
        }
        print(json.dumps(document, allow_nan=False))
    else:
        print(comparison_summary(found, style_of(sys.stdout)))
        print(
            f"\nThe page is {arguments.out / 'bench.html'}, the figures are in {arguments.out / 'bench.csv'}."
        )
    if interruption.requested:
        print("hcssp: interrupted; what was measured is kept", file=sys.stderr)
        return INTERRUPTED
    return NO_PLAN if contradictions else SOLVED


def _pairs(arguments: argparse.Namespace) -> list[Pair]:
    """Which solvers solve which problems, in the order in which they begin."""
    from hcssp.comparison.solvers import find_solver
    from hcssp.comparison.suite import PAPER_REPEATS, paper_suite, suite

    if arguments.suite != "paper":
        settings, bounds = settings_of(arguments.settings), dict(arguments.bound)
        question, repeats = question_of(arguments), arguments.repeat or 1
        problems = suite(arguments.suite, arguments.problem, repeats, settings, bounds, question)
        solvers = _solvers(arguments)
        return [(problem, name) for problem in problems for name in solvers]
    if arguments.problem or arguments.peer or arguments.settings or arguments.bound:
        raise UsageError(
            "--suite paper: leave --problem, --peer, --set and --bound out; its problems are fixed"
        )
    methods = [find_solver(name).name for name in arguments.method]
    return paper_suite(methods, arguments.repeat or PAPER_REPEATS)


def _solvers(arguments: argparse.Namespace) -> list[str]:
    """Who takes part, in the order of the tables.

    Raises
    ------
    UnknownName
        If there is no such method or tool.
    """
    from importlib.util import find_spec

    from hcssp.comparison.solvers import MODULES, PEERS, SOLVERS, find_solver
    from hcssp.errors import UnknownName
    from hcssp.solving.registry import METHODS

    wanted = [find_solver(name).name for name in arguments.method] or list(METHODS)
    if not arguments.peer:
        peers = [peer for peer in PEERS if find_spec(MODULES[peer]) is not None]
    else:
        peers = [name for name in arguments.peer if name != "none"]
    for peer in peers:
        if peer not in PEERS:
            raise UnknownName("peer", peer, [*PEERS, "none"])
        wanted += PEERS[peer]
    order = list(SOLVERS)
    return sorted(dict.fromkeys(wanted), key=lambda name: order.index(name.partition(":")[0]))


def _measure(
    pairs: list[Pair],
    limit: float,
    arguments: argparse.Namespace,
    known: ResultsFile,
    printer: ProgressPrinter,
) -> list[Measurement]:
    """Everything that is known in the end; after a signal, what is known by then."""
    from hcssp.comparison.measuring import measure_all
    from hcssp.files.named_problem import is_file

    found: list[Measurement] = []
    missing = []
    for instance, solver in pairs:
        # A file may have changed since it was measured.
        again = arguments.fresh or is_file(instance.domain)
        kept = None if again else known.find((instance.name, solver, limit))
        if kept is None:
            missing.append((instance, solver))
        else:
            found.append(kept.as_claim())
    workers: Workers | None = None
    try:
        workers = workers_of(arguments)
        for measurement in measure_all(missing, limit, workers):
            known.add(measurement)
            found.append(measurement)
            text = f"{measurement.solver} on {measurement.instance}: {measurement.status}"
            why = f": {measurement.note}" if measurement.status in ("failed", "missing") else ""
            printer.step(len(found), len(pairs), f"{text}, {measurement.seconds:.2f} s{why}")
    except KeyboardInterrupt:
        return found
    finally:
        if workers is not None:
            workers.close()
    return found
