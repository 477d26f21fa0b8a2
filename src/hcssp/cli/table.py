"""``hcssp table``: the paper's table of results, with what is proven here beside it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import add_output_arguments, number, seconds
from hcssp.cli.exit_codes import INTERRUPTED, SOLVED
from hcssp.cli.progress import ProgressPrinter, Talk
from hcssp.cli.terminal import style_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.cli.table_rows import TableRow
    from hcssp.contract.plan import Plan
    from hcssp.contract.stop import StopCriterion
    from hcssp.procedure import HCSSP
    from hcssp.scenarios.published import PublishedRow

HELP = "run the paper's table and print it beside the published one"
DESCRIPTION = """\
Run the evacuation scenario under the paper's seven bounds and print the paper's table:
the published columns beside what is proven here. The baseline takes minutes a bound."""

PROBLEM = "evacuation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp table``."""
    parser.add_argument(
        "--bounds",
        type=number,
        nargs="+",
        metavar="DELTA",
        help="run these bounds on damage only (default: the paper's seven)",
    )
    parser.add_argument(
        "--time-limit", type=seconds, metavar="S", help="give every run of a method at most S seconds"
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Run the bounds one after another; print each row as soon as it is known."""
    from hcssp.cli.problems import load_problem
    from hcssp.cli.table_text import footnotes, header, row_text

    talk = Talk.suited_to(sys.stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    printer = ProgressPrinter(sys.stderr, talk)
    style = style_of(sys.stdout)
    problem = load_problem(PROBLEM)
    rows: list[TableRow] = []
    if not arguments.json:
        print(style.strong(header()), flush=True)
    code = SOLVED
    for published in wanted_rows(arguments.bounds):
        try:
            row = _measure(problem, published, arguments.time_limit, printer, interruption)
        except KeyboardInterrupt:
            code = INTERRUPTED
            break
        finally:
            printer.close()
        rows.append(row)
        if not arguments.json:
            print(row_text(row), flush=True)
    if arguments.json:
        _print_json(rows)
    else:
        print("\n" + footnotes(rows))
    if code == INTERRUPTED:
        print("hcssp: interrupted; the rows are those finished so far", file=sys.stderr)
    return code


def wanted_rows(bounds: list[float] | None) -> list[PublishedRow]:
    """The rows to run: the published ones, or those of `bounds`, of which some may be unpublished."""
    from math import nan

    from hcssp.scenarios.published import PUBLISHED, SHARES, PublishedRow

    if bounds is None:
        return list(PUBLISHED)
    known = {row.bound: row for row in PUBLISHED}
    return [
        known.get(bound) or PublishedRow(bound, nan, nan, (None,) * len(SHARES))
        for bound in dict.fromkeys(bounds)
    ]


def _measure(
    problem: HCSSP,
    published: PublishedRow,
    time_limit: float | None,
    printer: ProgressPrinter,
    interruption: Interruption,
) -> TableRow:
    """Run the three methods under one bound."""
    from math import inf

    from hcssp.cli.solve import work
    from hcssp.cli.table_rows import TableRow
    from hcssp.contract.ending import Reason
    from hcssp.contract.stop import Gap, MaxRuntime
    from hcssp.scenarios.published import SHARES
    from hcssp.solving.registry import find_method

    bounded = problem.with_bounds(damage=published.bound)
    limit = inf if time_limit is None else time_limit
    results: dict[str, Plan] = {}
    for name in ("exact", "lp", "budget-allocation"):
        method = find_method(name)
        printer.restart(f"damage <= {published.bound:g}, {name}: ")
        printer.counts = method.counts
        # The method of budgets is looked at up to the largest share of the baseline's time, and no gap
        # ends it before.
        seconds_given = limit if name != "budget-allocation" else max(SHARES) * results["lp"].seconds
        criteria: list[StopCriterion] = [
            MaxRuntime(seconds_given),
            Gap(0.0 if name == "budget-allocation" else method.gap),
        ]
        results[name] = work(bounded, method.make(), criteria, printer, interruption)
        if results[name].ending.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
    return TableRow(published, results["exact"], results["lp"], results["budget-allocation"])


def _print_json(rows: list[TableRow]) -> None:
    import json

    from hcssp.cli.table_rows import BASELINE, row_document

    answer: dict[str, Any] = {
        "problem": PROBLEM,
        "baseline": BASELINE,
        "rows": [row_document(row) for row in rows],
    }
    print(json.dumps(answer, allow_nan=False))
