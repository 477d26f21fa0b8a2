"""The measurements as tables: CSV for spreadsheets, Markdown for a README, words for a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isfinite
from typing import Any

from hcssp.comparison.contestants import CONTESTANTS
from hcssp.comparison.judgement import (
    OURS,
    best_known,
    by_instance,
    compared_seconds,
    disagreements,
    primal_integral,
    ratio,
)
from hcssp.comparison.measurement import Measurement
from hcssp.reports.plan_words import Style, aligned

_COLUMNS = (
    "instance",
    "domain",
    "states",
    "contestant",
    "time_limit",
    "status",
    "lower_bound",
    "upper_bound",
    "gap",
    "randomised",
    "first",
    "randomised_seconds",
    "seconds",
    "cpu_seconds",
    "primal_integral",
    "note",
)


def measurements_csv(measurements: Sequence[Measurement]) -> str:
    """The measurements, a line each; what is not known, or infinite, is empty."""
    groups = by_instance(measurements)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in measurements:
        integral = primal_integral(each, best_known(list(groups[each.instance].values())))
        row = [integral if name == "primal_integral" else getattr(each, name) for name in _COLUMNS]
        writer.writerow(["" if _is_nothing(value) else value for value in row])
    return text.getvalue()


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not isfinite(value))


def ratio_table(measurements: Sequence[Measurement]) -> list[list[str]]:
    """A line for each problem: our seconds, and how many times longer the others take.

    First those who look for the best deterministic plan, beside the time until ours was proven; then those
    who look for one that may draw lots, beside the time until that optimum was known to ours.
    """
    present = list(dict.fromkeys(each.contestant for each in measurements))
    fixed = [name for name in present if name != OURS and CONTESTANTS[name].deterministic]
    lots = [name for name in present if not CONTESTANTS[name].deterministic]
    head = ["problem", "states", "ours, proven", *fixed]
    head += ["ours, with lots", *lots] if lots else []
    rows = [head]
    for instance, group in by_instance(measurements).items():
        ours = group.get(OURS)
        states = max(each.states for each in group.values())
        row = [instance, f"{states:,}", _seconds(None if ours is None else compared_seconds(ours), ours)]
        row += [ratio(ours, group[name]) if name in group else "" for name in fixed]
        if lots:
            row.append(_seconds(None if ours is None else ours.randomised_seconds, ours))
            row += [ratio(ours, group[name]) if name in group else "" for name in lots]
        rows.append(row)
    return rows


def _seconds(value: float | None, ours: Measurement | None) -> str:
    if value is None:
        if ours is None:
            return ""
        return f"gap {100 * ours.gap:.2g}%" if isfinite(ours.gap) else f"> {ours.time_limit:g} s"
    return f"{value:.2g} s" if value >= 0.001 else "< 1 ms"


def markdown_table(measurements: Sequence[Measurement]) -> str:
    """The table of ratios in Markdown."""
    head, *rows = ratio_table(measurements)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def claims_of(measurements: Sequence[Measurement]) -> str:
    """How many measurements are claims of a results file, in words; empty if there are none."""
    claimed = sum(each.is_claimed for each in measurements)
    if not claimed:
        return ""
    return f"{claimed} of {len(measurements)} measurements are claims of a results file that were not checked"


def comparison_in_words(measurements: Sequence[Measurement], style: Style) -> str:
    """What ``hcssp bench`` prints for people; disagreements come first."""
    found = disagreements(measurements)
    blocks = []
    if found:
        blocks.append(style.strong(f"{len(found)} disagreements") + "\n" + "\n".join(found))
    else:
        blocks.append("All values agree.")
    blocks.append(style.strong("How many times longer than ours the others take"))
    blocks.append(aligned(ratio_table(measurements)))
    claims = claims_of(measurements)
    if claims:
        blocks.append(f"{claims}; --fresh measures them again.")
    missing = sorted({each.note for each in measurements if each.status == "missing"})
    blocks.append(
        "'>' says that there was no answer in time, 'no' that such problems are not taken.\n"
        "'With lots' is about the best plan that may draw lots, an easier question."
        + "".join(f"\nLeft out: {note}." for note in missing)
    )
    return "\n\n".join(blocks)
