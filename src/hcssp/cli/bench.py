"""``hcssp bench``: our methods and other tools on the same problems, on one page and as CSV."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import add_output_arguments, seconds
from hcssp.cli.exit_codes import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.progress import ProgressPrinter
from hcssp.cli.terminal import style_of
from hcssp.cli.workers import add_worker_arguments, workers_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.comparison.measurement import Measurement
    from hcssp.comparison.measuring import Pair
    from hcssp.comparison.results import ResultsFile
    from hcssp.workers import Workers

HELP = "compare methods and other tools over a suite of problems: a page, CSV and a table of ratios"
DESCRIPTION = """\
Run our methods and, where they are installed, other tools over a suite of built-in problems, each in a
fresh process and with a time limit. Measurements are kept as they are made: a second run does only what
is missing, and calls the others claims of the results file. The folder gets bench.html, bench.csv and
ratios.md; values that disagree are printed first, and the exit code is 1 if there are any.

  hcssp bench --suite small
  hcssp bench --suite full --method exact --peer storm --domain evacuation
  hcssp bench --suite full --scheduler tcp://localhost:8786"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp bench``."""
    parser.add_argument(
        "--suite",
        choices=("small", "full"),
        default="small",
        help="one small setting of every built-in problem, or small, usual and large ones (default: small)",
    )
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME",
        help="one of our methods (hcssp methods lists them); may be repeated (default: all)",
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME",
        help="another tool, storm or scikit-decide, or none; may be repeated (default: those installed)",
    )
    parser.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="NAME",
        help="only this problem; may be repeated",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="seconds for each run (default: 3 in the small suite, 60 in the full one)",
    )
    add_worker_arguments(parser, "runs")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("hcssp-bench"),
        metavar="FOLDER",
        help="where everything is written and kept (default: hcssp-bench)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is there already")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Measure what is missing, and write what is known."""
    from hcssp.comparison.judgement import disagreements
    from hcssp.comparison.page import save_comparison_page
    from hcssp.comparison.results import ResultsFile, in_order
    from hcssp.comparison.suite import SUITES, suite
    from hcssp.comparison.tables import comparison_in_words, markdown_table, measurements_csv
    from hcssp.files.atomic import make_folder, write_atomically

    contestants = _contestants(arguments)
    limit = SUITES[arguments.suite] if arguments.time_limit is None else arguments.time_limit
    pairs = [(each, name) for each in suite(arguments.suite, arguments.domain) for name in contestants]
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
    found = in_order(found, contestants)
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
        print(comparison_in_words(found, style_of(sys.stdout)))
        print(
            f"\nThe page is {arguments.out / 'bench.html'}, the figures are in {arguments.out / 'bench.csv'}."
        )
    if interruption.requested:
        print("hcssp: interrupted; what was measured is kept", file=sys.stderr)
        return INTERRUPTED
    return NO_PLAN if contradictions else SOLVED


def _contestants(arguments: argparse.Namespace) -> list[str]:
    """Who takes part, in the order of the tables.

    Raises
    ------
    UnknownName
        If there is no such method or tool.
    """
    from importlib.util import find_spec

    from hcssp.comparison.contestants import CONTESTANTS, MODULES, PEERS
    from hcssp.errors import UnknownName
    from hcssp.solving.registry import METHODS, find_method

    wanted = [find_method(name).name for name in arguments.method] or list(METHODS)
    if not arguments.peer:
        peers = [peer for peer in PEERS if find_spec(MODULES[peer]) is not None]
    else:
        peers = [name for name in arguments.peer if name != "none"]
    for peer in peers:
        if peer not in PEERS:
            raise UnknownName("peer", peer, [*PEERS, "none"])
        wanted += PEERS[peer]
    return [name for name in CONTESTANTS if name in wanted]


def _measure(
    pairs: list[Pair],
    limit: float,
    arguments: argparse.Namespace,
    known: ResultsFile,
    printer: ProgressPrinter,
) -> list[Measurement]:
    """Everything that is known in the end; after a signal, what is known by then."""
    from hcssp.comparison.measuring import measure_all

    found: list[Measurement] = []
    missing = []
    for instance, contestant in pairs:
        kept = None if arguments.fresh else known.find((instance.name, contestant, limit))
        if kept is None:
            missing.append((instance, contestant))
        else:
            found.append(kept.as_claim())
    workers: Workers | None = None
    try:
        workers = workers_of(arguments)
        for measurement in measure_all(missing, limit, workers):
            known.add(measurement)
            found.append(measurement)
            told = f"{measurement.contestant} on {measurement.instance}: {measurement.status}"
            printer.note(f"{len(found):3d} of {len(pairs)}: {told}, {measurement.seconds:.2f} s")
    except KeyboardInterrupt:
        return found
    finally:
        if workers is not None:
            workers.close()
    return found
