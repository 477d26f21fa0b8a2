"""The table for people: a header, its rows, and what must be known to read it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from textwrap import fill

from hcssp.cli.table_rows import BASELINE, TableRow
from hcssp.reports.figures import rounded_down, rounded_up
from hcssp.scenarios.published import SHARES

_SHARES = tuple((f"{share:.0%}", 6) for share in SHARES)
_GROUPS: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    # heading of the group, then heading and width of its columns
    ("", (("Delta", 6),)),
    ("the paper", (("MILP", 8), ("s", 7), *_SHARES)),
    ("here: baseline", (("LP s", 8), ("stochastic", 10))),
    ("exact", (("deterministic", 19), ("s", 6))),
)


_MODES = {
    "published": "Published: budget allocation, the paper's algorithm and nothing else.",
    "sharp": "Sharp: budget allocation as it is done here unless told otherwise.",
}


def header(modes: Sequence[str]) -> str:
    """Two lines: groups of columns, and the columns."""
    titles = []
    for title, columns in _groups(modes):
        width = sum(width for _, width in columns) + len(columns) - 1
        titles.append(f"{title:^{width}}")
    cells = [[heading for heading, _ in columns] for _, columns in _groups(modes)]
    return (" | ".join(titles)).rstrip() + "\n" + _line(cells, modes)


def row_text(row: TableRow) -> str:
    """One row."""
    published, exact = row.published, row.exact
    late = "" if row.baseline_finished else ">"
    interval = "no plan"
    if isfinite(exact.upper_bound):
        interval = f"{rounded_down(exact.lower_bound, 4)}-{rounded_up(exact.upper_bound, 4)}"
    modes = tuple(row.budgets)
    gaps = [[row.gap_after(mode, share) for share in SHARES] for mode in modes]
    cells = [
        [f"{published.bound:g}"],
        [
            _decimal(published.objective, 2),
            _decimal(published.seconds, 2),
            *(_percent(None if found is None else found.gap) for found in published.gaps),
        ],
        [f"{late}{row.baseline.seconds:.1f}", _decimal(row.stochastic, 4)],
        [interval, f"{exact.seconds:.2f}"],
        *([_percent(None if found is None else found.gap) for found in each] for each in gaps),
    ]
    return _line(cells, modes)


def footnotes(rows: Sequence[TableRow], modes: Sequence[str]) -> str:
    """What the columns are and why the baseline is what it is."""
    notes = [
        "The paper: Hong and Williams, Section V: objective and seconds of their MILP (Gurobi 9, their "
        "laptop), and the gap of their method against it after 10%, 20% and 50% of the MILP's time. Its "
        "objectives are optima over stochastic plans: its encoding lets flow leak through the binaries.",
        f"Baseline: {BASELINE}, since no MILP solver here finishes on it. Its optimum is that over "
        "stochastic plans, and 10%, 20% and 50% are shares of its time.",
        "Exact: the proven interval around the best deterministic plan.",
        *(_MODES[mode] for mode in modes),
        "The figures of budget allocation say how far its plan lies above the stochastic optimum by then, as "
        "in the paper's columns; - while it has none.",
    ]
    if not all(row.baseline_finished for row in rows):
        notes.append(
            "> The baseline did not finish within its time limit: the shares are of that limit, and the "
            "stochastic optimum is the exact method's dual."
        )
    return "\n".join(fill(note, width=110, subsequent_indent="  ") for note in notes)


def _groups(modes: Sequence[str]) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    return [*_GROUPS, *((mode, _SHARES) for mode in modes)]


def _line(cells: Sequence[Sequence[str]], modes: Sequence[str]) -> str:
    groups = []
    for own, (_, columns) in zip(cells, _groups(modes), strict=True):
        groups.append(" ".join(f"{cell:>{width}}" for cell, (_, width) in zip(own, columns, strict=True)))
    return " | ".join(groups).rstrip()


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if isfinite(value) else "-"


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}%"
