"""The comparison as one page of HTML that holds everything it needs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hcssp.comparison.contestants import CONTESTANTS
from hcssp.comparison.judgement import (
    best_known,
    by_instance,
    compared_seconds,
    disagreements,
    growth_power,
    primal_integral,
)
from hcssp.comparison.measurement import Measurement
from hcssp.comparison.tables import claims_of, ratio_table
from hcssp.files.atomic import write_atomically
from hcssp.reports.figures import plain
from hcssp.reports.page import filled_page
from hcssp.version import __version__

_MOST_STEPS = 200
"""Steps of a contestant's history that are drawn; of more, some are left out."""


def save_comparison_page(measurements: Sequence[Measurement], path: str | Path, name: str) -> None:
    """Write the page; a reader never sees half of it.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, comparison_html(measurements, name))


def comparison_html(measurements: Sequence[Measurement], name: str) -> str:
    """The page about the suite called `name`."""
    shared, own = files("hcssp.reports") / "page", files("hcssp.comparison") / "page"
    groups = by_instance(measurements)
    claims = claims_of(measurements)
    contestants = list(dict.fromkeys(each.contestant for each in measurements))
    texts = {
        "title": escape(f"Comparison: the {name} suite"),
        "name": escape(f"The {name} suite"),
        "lead": escape(
            f"{len(contestants)} contestants on {len(groups)} problems, each in a fresh process."
            + (f" {claims}." if claims else "")
        ),
        "version": escape(__version__),
    }
    data = comparison_data(measurements)
    scripts, styles = [shared / "drawing.js", own / "bench.js"], [own / "bench.css"]
    return filled_page(own / "bench.html", scripts, texts, data, styles)


def comparison_data(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """What the page's scripts draw; infinities are nothing."""
    groups = by_instance(measurements)
    names = list(dict.fromkeys(each.contestant for each in measurements))
    return {
        "problem": {"called": {}},
        "disagreements": disagreements(measurements),
        "ratios": ratio_table(measurements),
        "contestants": [
            {
                "name": name,
                "description": CONTESTANTS[name].description,
                "deterministic": CONTESTANTS[name].deterministic,
                "growth": growth_power(measurements, name),
            }
            for name in names
        ],
        "instances": [
            {
                "name": instance,
                "domain": next(iter(group.values())).domain,
                "states": max(each.states for each in group.values()),
                "best": plain(best_known(list(group.values()))),
                "runs": [_run(each, best_known(list(group.values()))) for each in group.values()],
            }
            for instance, group in groups.items()
        ],
    }


def _run(measurement: Measurement, best: float) -> dict[str, Any]:
    trace = measurement.trace
    step = 1 + len(trace) // _MOST_STEPS
    # The last step is always among those that are drawn.
    shown = [*trace[:-1:step], *trace[-1:]]
    return {
        "contestant": measurement.contestant,
        "status": measurement.status,
        "lower": plain(measurement.lower_bound),
        "upper": plain(measurement.upper_bound),
        "randomised": plain(measurement.randomised),
        "first": plain(measurement.first),
        "answered": plain(compared_seconds(measurement)),
        "seconds": plain(measurement.seconds),
        "cpu": plain(measurement.cpu_seconds),
        "limit": plain(measurement.time_limit),
        "integral": plain(primal_integral(measurement, best)),
        "trace": [[plain(each) for each in point] for point in shown],
        "note": measurement.note,
    }
