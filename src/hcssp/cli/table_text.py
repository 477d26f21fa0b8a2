"""The table for people: a header, its rows, and what must be known to read it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from textwrap import fill

from hcssp.cli.table_rows import BASELINE, TableRow
from hcssp.reports.figures import rounded_down, rounded_up
from hcssp.scenarios.published import SHARES

_GAP_WIDTH = 7
_COLUMNS = (
    # heading, width
    ("Delta", 6),
    ("MILP", 8),
    ("s", 7),
    *((f"{share:.0%}", _GAP_WIDTH) for share in SHARES),
    ("LP s", 8),
    ("stochastic", 10),
    ("deterministic", 19),
    ("s", 6),
    *((f"{share:.0%}", _GAP_WIDTH) for share in SHARES),
)
_GROUPS = (("", 1), ("published", 5), ("here: baseline", 2), ("exact", 2), ("budget allocation", 3))
_LAST_OF_GROUP = (0, 5, 7, 9)


def header() -> str:
    """Two lines: groups of columns, and the columns."""
    groups, first = [], 0
    for title, count in _GROUPS:
        width = sum(width for _, width in _COLUMNS[first : first + count]) + count - 1
        groups.append(f"{title:^{width}}")
        first += count
    return (" | ".join(groups)).rstrip() + "\n" + _line([heading for heading, _ in _COLUMNS])


def row_text(row: TableRow) -> str:
    """One row."""
    published, exact = row.published, row.exact
    late = "" if row.baseline_finished else ">"
    interval = "no plan"
    if isfinite(exact.upper_bound):
        interval = f"{rounded_down(exact.lower_bound, 4)}-{rounded_up(exact.upper_bound, 4)}"
    return _line(
        [
            f"{published.bound:g}",
            _decimal(published.objective, 2),
            _decimal(published.seconds, 2),
            *(_percent(None if found is None else found.gap) for found in published.gaps),
            f"{late}{row.baseline.seconds:.1f}",
            _decimal(row.stochastic, 4),
            interval,
            f"{exact.seconds:.2f}",
            *(_percent(found.gap if (found := row.gap_after(share)) else None) for share in SHARES),
        ]
    )


def footnotes(rows: Sequence[TableRow]) -> str:
    """What the columns are and why the baseline is what it is."""
    notes = [
        "Published: Hong and Williams, Section V: objective and seconds of their MILP (Gurobi 9, their "
        "laptop), and the gap of their method against it after 10%, 20% and 50% of the MILP's time. Its "
        "objectives are optima over stochastic plans: its encoding lets flow leak through the binaries.",
        f"Baseline: {BASELINE}, since no MILP solver here finishes on it. Its optimum is that over "
        "stochastic plans, and 10%, 20% and 50% are shares of its time.",
        "Exact: the proven interval around the best deterministic plan.",
        "Budget allocation: how far its plan lies above the stochastic optimum by then, as in the published "
        "columns; - while it has none.",
    ]
    if not all(row.baseline_finished for row in rows):
        notes.append(
            "> The baseline did not finish within its time limit: the shares are of that limit, and the "
            "stochastic optimum is the exact method's dual."
        )
    return "\n".join(fill(note, width=110, subsequent_indent="  ") for note in notes)


def _line(cells: Sequence[str]) -> str:
    text = ""
    for index, (cell, (_, width)) in enumerate(zip(cells, _COLUMNS, strict=True)):
        text += f"{cell:>{width}}" + (" | " if index in _LAST_OF_GROUP else " ")
    return text.rstrip()


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else "-"


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}%"
