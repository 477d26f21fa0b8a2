"""``hcssp table``: the paper's table of results, with what is proven here beside it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import add_output_arguments, number, seconds
from hcssp.cli.exit_codes import INTERRUPTED, SOLVED
from hcssp.cli.progress import ProgressPrinter
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
the paper's columns beside what is proven here, and beside budget allocation in both modes,
as published and sharp.

The baseline takes minutes a bound, and each mode up to half of its time again. --bounds,
--modes and --time-limit make it less."""

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
        "--modes",
        nargs="+",
        metavar="NAME",
        help="run these modes of budget allocation only (default: published and sharp)",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="give the baseline and the exact method at most S seconds each, and every mode at most half",
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Run the bounds one after another; print each row as soon as it is known."""
    from hcssp.cli.problems import named_problem
    from hcssp.cli.table_text import footnotes, header, row_text
    from hcssp.methods.paper import MODES, find_mode

    modes = tuple(dict.fromkeys(arguments.modes or MODES))
    for mode in modes:
        find_mode(mode)
    printer = ProgressPrinter.wanted(arguments)
    style = style_of(sys.stdout)
    problem = named_problem(PROBLEM)
    rows: list[TableRow] = []
    if not arguments.json:
        print(style.strong(header(modes)), flush=True)
    code = SOLVED
    for published in wanted_rows(arguments.bounds):
        try:
            row = _measure(problem, published, modes, arguments.time_limit, printer, interruption)
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
        print("\n" + footnotes(rows, modes))
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
    modes: Sequence[str],
    time_limit: float | None,
    printer: ProgressPrinter,
    interruption: Interruption,
) -> TableRow:
    """Run the baseline, the exact method and the modes of budget allocation under one bound."""
    from math import inf

    from hcssp.cli.table_rows import TableRow
    from hcssp.cli.work import work
    from hcssp.contract.ending import Reason
    from hcssp.contract.stop import Gap, MaxRuntime
    from hcssp.scenarios.published import SHARES
    from hcssp.solving.registry import find_method

    bounded = problem.with_bounds(damage=published.bound)
    limit = inf if time_limit is None else time_limit

    def run_method(name: str, seconds_given: float, gap: float | None = None, **options: Any) -> Plan:
        method = find_method(name)
        printer.restart(f"damage <= {published.bound:g}, {' '.join([name, *options.values()])}: ")
        printer.counts = method.counts
        criteria: list[StopCriterion] = [MaxRuntime(seconds_given), Gap(method.gap if gap is None else gap)]
        result = work(bounded, method.make(**options), criteria, printer, interruption)
        if result.ending.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        return result

    exact = run_method("exact", limit)
    baseline = run_method("lp", limit)
    # The method of budgets is looked at up to the largest share of the baseline's time, and no gap ends it
    # before.
    share = max(SHARES) * baseline.seconds
    budgets = {mode: run_method("budget-allocation", share, gap=0.0, mode=mode) for mode in modes}
    return TableRow(published, exact, baseline, budgets)


def _print_json(rows: list[TableRow]) -> None:
    import json

    from hcssp.cli.table_rows import BASELINE, row_document

    answer: dict[str, Any] = {
        "problem": PROBLEM,
        "baseline": BASELINE,
        "rows": [row_document(row) for row in rows],
    }
    print(json.dumps(answer, allow_nan=False))
