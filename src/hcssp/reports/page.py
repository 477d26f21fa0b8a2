"""Reports as one page of HTML that holds everything it needs: no network, no other files.

The page's text, style and scripts are files of this package in ``page``; writing puts them and the data into
one document. Its content security policy forbids every request, so that nothing can be fetched by mistake.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import inf
from pathlib import Path
from typing import Any

from hcssp.contract.plan import Plan
from hcssp.files.atomic import write_atomically
from hcssp.reports.figures import document, plain
from hcssp.reports.films import films_of
from hcssp.reports.page_data import curve_bounds, draw_curve, page_data, varied_constraints
from hcssp.reports.sweep_tables import aim_of, axis_name, claims_of, reported_constraints
from hcssp.solving.sweep import Sweep
from hcssp.solving.trade_off import CurvePoint, TradeOff
from hcssp.version import __version__

_SCRIPTS = "drawing charts levels map site cells procedure runs tables compare films app"
"""What draws the page, in this order."""


def page_html(data: Mapping[str, Any]) -> str:
    """The page that shows `data`, as made by :func:`hcssp.reports.page_data.page_data`.

    Raises
    ------
    ValueError
        If the data has a number that JSON does not have.
    """
    plan = data["plans"][data["reported"]]
    description = data["problem"]["description"]
    texts = {
        "title": escape(f"{data['problem']['name']}: {plan['brief']}"),
        "name": escape(data["problem"]["name"]),
        "description": escape(description[:1].upper() + description[1:]),
        "brief": "".join(f"<p>{escape(sentence)}</p>" for sentence in (*plan["words"], data["stopped"])),
        "version": escape(data["hcssp"]),
        "fingerprint": escape(data["problem"]["fingerprint"]),
    }
    folder = files("hcssp.reports") / "page"
    scripts = [folder / f"{name}.js" for name in _SCRIPTS.split()]
    return filled_page(folder / "template.html", scripts, texts, data)


def filled_page(
    template: Traversable,
    scripts: Iterable[Traversable],
    texts: Mapping[str, str],
    data: Mapping[str, Any],
    styles: Iterable[Traversable] = (),
) -> str:
    """A page of the same kind as the report: its style, these scripts, and data for them.

    Parameters
    ----------
    template
        What the page shows, as HTML with places to fill, such as ``{{name}}``; ``frame.html`` stands around.
    scripts
        What draws the page, in this order.
    texts
        The markup of its places, and the title; what comes from users is escaped.
    data
        The data for the scripts.
    styles
        More style than all pages have.

    Raises
    ------
    ValueError
        If the data has a number that JSON does not have.
    """
    folder = files("hcssp.reports") / "page"
    parts = {
        **texts,
        "style": _joined((folder / "style.css", *styles)),
        "script": _joined(scripts),
        # No text of the data may end the element that it stands in.
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    frame = (folder / "frame.html").read_text(encoding="utf-8")
    pieces = frame.replace("{{body}}", template.read_text(encoding="utf-8")).split("{{")
    # One pass, so that nothing in the data can be taken for a place to fill.
    return pieces[0] + "".join(
        parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:])
    )


def _joined(texts: Iterable[Traversable]) -> str:
    return "\n".join(text.read_text(encoding="utf-8") for text in texts)


def save_page(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write the page; a reader never sees half of it.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, page_html(data))


def save_report(
    plan: Plan,
    path: str | Path,
    *,
    vary: str | None = None,
    points: int = 11,
    time_limit: float = 20.0,
    seed: int = 0,
    curve: TradeOff | None = None,
) -> None:
    """Write one page of HTML about a plan, which needs no network.

    Parameters
    ----------
    plan
        The reported plan; it must have a policy.
    path
        Where to write the page.
    vary
        The constraint whose bound the slider moves at first; by default the scarcest. The page offers every
        other bound as well.
    points
        About how many positions the slider has; 0 for no slider.
    time_limit
        Seconds to work on the plans of the slider; the films of the search may take as long.
    seed
        The seed of the simulated runs.
    curve
        The curve, if it is at hand; else those of all bounds are drawn.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    CannotWrite
        If the file cannot be written.
    """
    curves = curves_around(plan, vary, points, time_limit) if curve is None else [curve]
    save_page(path, page_data(plan, *curves, seed=seed, films=films_of(plan, time_limit)))


_LEAST_SHARE = 4
"""Each of n curves has at least the n-th part of the time divided by this."""


def curves_around(
    plan: Plan,
    vary: str | None = None,
    points: int = 11,
    time_limit: float = inf,
    on_point: Callable[[str, CurvePoint], object] | None = None,
) -> list[TradeOff]:
    """The trade-off curves around a plan's bounds, one for each, as far as they get.

    That of `vary`, or else of the scarcest bound, comes first and has half of the time, or all that the
    others leave; each has a part of the time, however long those before it took.
    Around a plan of an implicit problem there are none: its curve would need all states. Nor are there where
    one choice per event is asked for.
    """
    solved = plan.as_procedure()
    if plan.problem.is_part or solved.problem.limits_choices:
        return []
    curves: list[TradeOff] = []
    waiting = varied_constraints(solved, vary) if points else []
    left, least = time_limit, time_limit / (_LEAST_SHARE * max(1, len(waiting)))
    while waiting:
        constraint = waiting.pop(0)
        began = time.perf_counter()
        bounds = curve_bounds(solved, constraint, points)
        if bounds:
            share = max(left if not waiting else left / 2, least)
            report = None if on_point is None else partial(on_point, constraint)
            curves.append(draw_curve(solved, constraint, bounds, time_limit=share, on_point=report))
        left = max(0.0, left - (time.perf_counter() - began))
    return curves


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
    """The data that the page's scripts draw; infinities are null."""
    return {
        "problem": {
            "name": sweep.problem,
            "primary": sweep.primary,
            "judged": sweep.judged,
            "greatest": sweep.reward is not None,
            "constraints": reported_constraints(sweep),
            "probabilities": list(sweep.probabilities),
            "called": dict(sweep.called),
        },
        "axes": [
            {
                "name": axis.name,
                "label": axis_name(sweep, axis),
                "bound": axis.is_bound,
                "values": document(axis.numbers),
            }
            for axis in sweep.axes
        ],
        "points": [
            {
                "at": [axis.numbers.index(point.at(axis)) for axis in sweep.axes],
                "status": str(point.status),
                "own": plain(point.figure) if point.found else None,
                "limit": plain(point.limit),
                "randomised": plain(point.randomised),
                **document(point, "costs", "prices", "message"),
            }
            for point in sweep.points
        ],
    }
