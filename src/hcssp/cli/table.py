"""``hcssp table``: the paper's table of results, next to the proven optimum."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hcssp.cli.running import INTERRUPTED, SOLVED
from hcssp.cli.session import Session, named_problem
from hcssp.cli.terminal import style_of
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import StopCriterion
    from hcssp.procedure import HCSSP
    from hcssp.reports.paper_table import TableRow
    from hcssp.scenarios.domains.evacuation import PublishedRow

PROBLEM = "evacuation"


def table(session: Session) -> int:
    """Run the bounds one after another; print each row as soon as it is known."""
    from hcssp.methods.paper import MODES, find_mode
    from hcssp.reports.paper_table import footnotes, header, row_text

    arguments = session.arguments
    modes = tuple(dict.fromkeys(arguments.mode or MODES))
    bounds = [value for _, values in arguments.bound for value in values] or None
    for name, _ in arguments.bound:
        if name != "damage":
            raise UnknownName("constraint", name, ["damage"])
    for mode in modes:
        find_mode(mode)
    style = style_of(sys.stdout)
    problem = named_problem(PROBLEM)
    rows: list[TableRow] = []
    if not arguments.json:
        print(style.strong(header(modes)), flush=True)
    code = SOLVED
    for published in wanted_rows(bounds):
        try:
            row = _measure(session, problem, published, modes)
        except KeyboardInterrupt:
            code = INTERRUPTED
            break
        finally:
            session.printer.close()
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

    from hcssp.scenarios.domains.evacuation import PUBLISHED, SHARES, PublishedRow

    if bounds is None:
        return list(PUBLISHED)
    known = {row.bound: row for row in PUBLISHED}
    return [
        known.get(bound) or PublishedRow(bound, nan, nan, (None,) * len(SHARES))
        for bound in dict.fromkeys(bounds)
    ]


def _measure(session: Session, problem: HCSSP, published: PublishedRow, modes: Sequence[str]) -> TableRow:
    """Run the authors' program, the baseline, the exact method and budget allocation under one bound."""
    import time
    from math import inf

    from hcssp.cli.plans import work
    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.contract.proof import Reason
    from hcssp.reports.paper_table import TableRow, as_the_authors_ran
    from hcssp.scenarios.domains.evacuation import SHARES
    from hcssp.solving.registry import find_method

    bounded = problem.with_bounds(damage=published.bound)
    printer, interruption, given = session.printer, session.interruption, session.arguments.time_limit
    limit = inf if given is None else given

    def run_method(name: str, seconds_given: float, gap: float | None = None, **options: Any) -> Plan:
        method = find_method(name)
        printer.restart(f"damage <= {published.bound:g}, {' '.join([name, *options.values()])}: ")
        printer.counts = method.counts
        criteria: list[StopCriterion] = [MaxRuntime(seconds_given), Gap(method.gap if gap is None else gap)]
        result = work(session, bounded, method.make(**options), criteria)
        if result.ending.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        return result

    exact = run_method("exact", limit)
    authors = []
    interruption.begin()
    ends = time.perf_counter() + limit
    for plan in as_the_authors_ran(bounded):
        if plan is not None:
            authors.append(plan)
        if time.perf_counter() > ends:
            break
    interruption.end()
    baseline = run_method("lp", limit)
    # The method of budgets is looked at up to the largest share of the baseline's time, and no gap ends it
    # before.
    share = max(SHARES) * baseline.seconds
    budgets = {mode: run_method("budget-allocation", share, gap=0.0, mode=mode) for mode in modes}
    return TableRow(published, exact, baseline, budgets, tuple(authors))


def _print_json(rows: list[TableRow]) -> None:
    import json

    from hcssp.reports.paper_table import BASELINE, row_document

    answer: dict[str, Any] = {
        "problem": PROBLEM,
        "baseline": BASELINE,
        "rows": [row_document(row) for row in rows],
    }
    print(json.dumps(answer, allow_nan=False))
