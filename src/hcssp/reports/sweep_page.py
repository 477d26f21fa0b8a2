"""A sweep as one page of HTML that holds everything it needs, with a slider for all that varies."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hcssp.files.atomic import write_atomically
from hcssp.reports.figures import plain
from hcssp.reports.page import filled_page
from hcssp.reports.sweep_tables import aim_of, axis_name, claims_of, told_constraints
from hcssp.solving.sweep_record import Sweep
from hcssp.version import __version__


def save_sweep_page(sweep: Sweep, path: str | Path) -> None:
    """Write the page; a reader never sees half of it.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, sweep_html(sweep))


def sweep_html(sweep: Sweep) -> str:
    """The page."""
    folder = files("hcssp.reports") / "page"
    name = sweep.problem or "problem"
    parts = (f"The {aim_of(sweep)} for {len(sweep.points)} combinations of what may vary", claims_of(sweep))
    lead = f"{', '.join(filter(None, parts))}."
    texts = {
        "title": escape(f"{name}: what if?"),
        "name": escape(name),
        "lead": escape(lead),
        "version": escape(__version__),
    }
    scripts = [folder / "drawing.js", folder / "sweep.js"]
    return filled_page(folder / "sweep.html", scripts, texts, sweep_data(sweep))


def sweep_data(sweep: Sweep) -> dict[str, Any]:
    """What the page's scripts draw; infinities are nothing."""
    return {
        "problem": {
            "name": sweep.problem,
            "primary": sweep.primary,
            "judged": sweep.judged,
            "greatest": sweep.reward is not None,
            "constraints": told_constraints(sweep),
            "probabilities": list(sweep.probabilities),
            "called": dict(sweep.called),
        },
        "axes": [
            {
                "name": axis.name,
                "label": axis_name(sweep, axis),
                "bound": axis.is_bound,
                "values": [plain(value) for value in axis.numbers],
            }
            for axis in sweep.axes
        ],
        "points": [
            {
                "at": [axis.numbers.index(point.at(axis)) for axis in sweep.axes],
                "status": point.status.value,
                "own": plain(point.figure) if point.found else None,
                "limit": plain(point.limit),
                "randomised": plain(point.randomised),
                "costs": {name: plain(value) for name, value in point.costs.items()},
                "prices": {name: plain(value) for name, value in point.prices.items()},
                "message": point.message,
            }
            for point in sweep.points
        ],
    }
