r"""The comparison as one page of HTML that holds everything it needs.

The summary of measurements: whether values agree, ratios of times, and the quality of plans over time.

The *primal integral* is the average, over the time limit, of how far the best plan so far is above the best
plan that any method found: 0 is the best plan at once, 1 no plan at all (Berthold 2013).

The measurements as tables: CSV for spreadsheets, Markdown for a README, words for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from statistics import median
from typing import Any

from hcssp.comparison.solvers import MeasuredSolver, Measurement, find_solver
from hcssp.comparison.suite import without_repeat
from hcssp.errors import UnknownName
from hcssp.files.atomic import write_atomically
from hcssp.numerics import relative_gap
from hcssp.reports.figures import csv_text, document, plain
from hcssp.reports.page import filled_page
from hcssp.reports.plan_text import Style, aligned
from hcssp.version import __version__

OURS = "exact"
"""Whose time is the unit of the ratios."""


SHORTEST = 1e-3
"""Where the axis of time begins, in seconds."""


ABSOLUTE = 1e-9
"""Values of nearly zero that differ by this agree."""


def by_instance(measurements: Sequence[Measurement]) -> dict[str, dict[str, Measurement]]:
    """By problem, then by solver."""
    found: dict[str, dict[str, Measurement]] = {}
    for each in measurements:
        found.setdefault(each.instance, {})[each.solver] = each
    return found


def disagreements(measurements: Sequence[Measurement]) -> list[str]:
    """What cannot be true together, a sentence each; none if all agree."""
    return [
        f"{instance}: {message}"
        for instance, group in by_instance(measurements).items()
        for message in (*_below_bounds(group), *_different_optima(group), *_denied(group))
    ]


def _known(name: str) -> MeasuredSolver | None:
    """The solver of that name; None if there is none any more."""
    try:
        return find_solver(name)
    except UnknownName:
        return None


def _tolerance(*measurements: Measurement) -> float:
    """The relative error that some solvers together may have."""
    known = [_known(each.solver) for each in measurements]
    return max(1e-6 if each is None else each.tolerance for each in known)


def _is_above(low: float, high: float, tolerance: float) -> bool:
    """Whether a lower bound is above an upper one by more than errors explain."""
    return isfinite(low) and isfinite(high) and low > high + tolerance * abs(high) + ABSOLUTE


def _below_bounds(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Plans that cost less than a lower bound of some method; each with the highest such bound."""
    for plan in group.values():
        bounds = [(each.lower_bound, each) for each in group.values()]
        bounds += [(each.randomised, each) for each in group.values() if each.randomised is not None]
        wrong = [
            (bound, each)
            for bound, each in bounds
            if _is_above(bound, plan.upper_bound, _tolerance(plan, each))
        ]
        if wrong:
            bound, other = max(wrong, key=lambda pair: pair[0])
            yield (
                f"{plan.solver} has a plan of {plan.upper_bound:.9g}, but {other.solver} says that "
                f"none costs less than {bound:.9g}"
            )


def _different_optima(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Randomised optima that differ from that of the first solver that reports one."""
    known = [each for each in group.values() if each.randomised is not None]
    for other in known[1:]:
        low, high = sorted((known[0].randomised or 0.0, other.randomised or 0.0))
        if _is_above(high, low, _tolerance(known[0], other)):
            yield (
                f"randomised optimum: {known[0].solver} says {known[0].randomised:.9g} and "
                f"{other.solver} {other.randomised:.9g}"
            )


def _denied(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Plans for problems that some method reports as infeasible."""
    found = [each for each in group.values() if each.upper_bound < inf or each.randomised is not None]
    for each in group.values():
        if each.status == "infeasible" and found:
            yield f"{each.solver} says that there is no plan, but {found[0].solver} has one"


COARSER = {"budget-allocation": 1e-3, "storm-deterministic": 1e-3}
"""Methods that answer within this gap, unless they are asked for another, and are compared with the time that
ours takes to the same."""


def _coarse_gap(solver: str) -> float:
    """The gap at which a solver's answer counts, if another than that at which it ends."""
    base, _, options = solver.partition(":")
    return 0.0 if "gap=" in options else COARSER.get(base, 0.0)


def compared_seconds(measurement: Measurement) -> float | None:
    """The seconds until the solver's question was answered; None if it was not in time."""
    solver = _known(measurement.solver)
    if solver is not None and not solver.deterministic:
        return measurement.randomised_seconds if measurement.status == "optimal" else None
    done = measurement.proved or measurement.gap <= _coarse_gap(measurement.solver)
    return measurement.seconds if done else None


def seconds_to(measurement: Measurement, gap: float) -> float | None:
    """The seconds until a solver's interval was as narrow as `gap`; None if it never was."""
    for seconds, lower, upper in measurement.trace:
        if relative_gap(lower, upper) <= gap:
            return seconds
    return compared_seconds(measurement)


def ratio(ours: Measurement | None, measurement: Measurement) -> str:
    """A solver's time over ours for the same question, for people.

    A solver that did not answer in time is behind by more than what it had.
    """
    if measurement.status in ("missing", "unsupported", "failed"):
        return {"missing": "–", "unsupported": "no", "failed": "failed"}[measurement.status]
    solver = _known(measurement.solver)
    randomised = solver is not None and not solver.deterministic
    reference, coarse = None, _coarse_gap(measurement.solver)
    if ours is not None and randomised:
        reference = ours.randomised_seconds
    elif ours is not None and coarse > 0.0:
        reference = seconds_to(ours, coarse)
    elif ours is not None:
        reference = compared_seconds(ours)
    theirs = compared_seconds(measurement)
    if theirs is not None and reference is not None:
        return f"{_figure(theirs / max(reference, 1e-9))}×"
    if theirs is None and reference is not None:
        return f"> {_figure(measurement.time_limit / max(reference, 1e-9))}×"
    return f"{_figure(theirs)} s, ours not" if theirs is not None else "neither"


def _figure(value: float) -> str:
    """Two digits are enough for a time.

    >>> _figure(0.0123), _figure(3.14159), _figure(1234.5)
    ('0.012', '3.1', '1,234')
    """
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"


def best_known(group: Sequence[Measurement]) -> float:
    """The cost of the best deterministic plan that any method found for a problem."""
    return min((each.upper_bound for each in group), default=inf)


def primal_integral(measurement: Measurement, best: float) -> float | None:
    """How far a solver's plans were above the best one, on average over its time; None if it has none."""
    solver = _known(measurement.solver)
    if not isfinite(best) or not measurement.ran or (solver is not None and not solver.deterministic):
        return None
    steps = list(measurement.trace) or [(measurement.seconds, -inf, measurement.upper_bound)]
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, _, upper in steps:
        now = min(max(seconds, since), measurement.time_limit)
        total += gap * (now - since)
        since = now
        if isfinite(upper):
            gap = min(1.0, max(0.0, (upper - best) / max(abs(upper), ABSOLUTE)))
    return (total + gap * (measurement.time_limit - since)) / measurement.time_limit


_COLUMNS = (
    "instance",
    "domain",
    "states",
    "solver",
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
    rows = [
        document(each, *(name for name in _COLUMNS if name != "primal_integral"))
        | {"primal_integral": primal_integral(each, best_known(list(groups[each.instance].values())))}
        for each in measurements
    ]
    return csv_text(rows, _COLUMNS)


def ratio_table(measurements: Sequence[Measurement]) -> list[list[str]]:
    """A line for each problem: our seconds, and how many times longer the others take.

    First the solvers for the best deterministic plan, beside the time until ours was proven; then those for
    the best randomised policy, beside the time until ours had that optimum.
    """
    present = list(dict.fromkeys(each.solver for each in measurements))
    fixed = [name for name in present if name != OURS and find_solver(name).deterministic]
    randomised = [name for name in present if not find_solver(name).deterministic]
    head = ["problem", "states", "ours, proven", *fixed]
    head += ["ours, randomised", *randomised] if randomised else []
    rows = [head]
    for instance, group in by_instance(measurements).items():
        ours = group.get(OURS)
        states = max(each.states for each in group.values())
        row = [instance, f"{states:,}", _seconds(None if ours is None else compared_seconds(ours), ours)]
        row += [ratio(ours, group[name]) if name in group else "" for name in fixed]
        if randomised:
            row.append(_seconds(None if ours is None else ours.randomised_seconds, ours))
            row += [ratio(ours, group[name]) if name in group else "" for name in randomised]
        rows.append(row)
    return rows


def _seconds(value: float | None, ours: Measurement | None) -> str:
    if value is None:
        if ours is None:
            return ""
        return f"gap {100 * ours.gap:.2g}%" if isfinite(ours.gap) else f"> {ours.time_limit:g} s"
    return f"{value:.2g} s" if value >= 0.001 else "< 1 ms"


def repeated(measurements: Sequence[Measurement]) -> dict[str, dict[str, list[Measurement]]]:
    """By problem without the number of its repetition, then by solver; empty if nothing was repeated."""
    runs: dict[str, dict[str, list[Measurement]]] = {}
    for each in measurements:
        runs.setdefault(without_repeat(each.instance), {}).setdefault(each.solver, []).append(each)
    return runs if any(len(group) > 1 for solvers in runs.values() for group in solvers.values()) else {}


def first_runs(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those that are not repetitions."""
    return [each for each in measurements if without_repeat(each.instance) == each.instance]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third quartile, each one of the values.

    >>> quartiles([5.0, 1.0, inf, 2.0, 3.0])
    (2.0, 3.0, 5.0)
    """
    ordered = sorted(values)
    low, middle, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75))
    return low, middle, high


def spread_rows(solvers: Mapping[str, Sequence[Measurement]]) -> list[list[str]]:
    """What repeated runs on a problem did, a line for each solver: medians, and quartiles behind them.

    A run without a plan, or without that gap, in time is slower than all that have it.
    """
    coarse = max(COARSER.values())
    rows = [["solver", "answered", "plans", "first plan", f"gap of {100 * coarse:g}%", "gap at the end"]]
    for solver, group in solvers.items():
        answered = sum(compared_seconds(each) is not None for each in group)
        first, close = [each.first for each in group], [seconds_to(each, coarse) for each in group]
        row = [solver, f"{answered} of {len(group)}", f"{len(group) - first.count(None)} of {len(group)}"]
        for found in (first, close):
            seconds = [inf if value is None else value for value in found]
            row.append(_spread(seconds, lambda value: f"{value:.2g} s", f"> {group[0].time_limit:g} s"))
        gaps = [each.gap if each.gap < 1.0 else inf for each in group]
        rows.append([*row, _spread(gaps, lambda value: f"{100 * value:.2g}%", "100%")])
    return rows


def spread_table(measurements: Sequence[Measurement]) -> list[list[str]]:
    """The same for all problems, one below the other."""
    rows: list[list[str]] = []
    for problem, solvers in repeated(measurements).items():
        head, *own = spread_rows(solvers)
        rows = rows or [[f"problem: {head[0]}", *head[1:]]]
        rows += [[f"{problem}: {solver}", *figures] for solver, *figures in own]
    return rows


def _spread(values: Sequence[float], worded: Callable[[float], str], infinite: str) -> str:
    low, middle, high = (infinite if value == inf else worded(value) for value in quartiles(values))
    return middle if low == high else f"{middle} ({low} to {high})"


GRID = 60
"""The times, equally far apart on a logarithmic axis, at which the gap of repeated runs is drawn."""


def gap_over_time(runs: Sequence[Measurement]) -> list[tuple[float, float, float, float]]:
    """Times, and the quartiles of the gap at each over repeated runs; a gap of 1 while there is no plan."""
    limit = max(each.time_limit for each in runs)
    found = []
    for step in range(GRID):
        time = SHORTEST * (limit / SHORTEST) ** (step / (GRID - 1))
        gaps = []
        for each in runs:
            known = [relative_gap(low, high) for seconds, low, high in each.trace if seconds <= time]
            gaps.append(min(known[-1], 1.0) if known else 1.0)
        found.append((time, *quartiles(gaps)))
    return found


def markdown_table(measurements: Sequence[Measurement]) -> str:
    """The table of ratios in Markdown; of repeated runs their medians and quartiles."""
    head, *rows = spread_table(measurements) if repeated(measurements) else ratio_table(measurements)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


BUSY = 0.8
"""Runs in one thread that have less than this share of a processor wait for other work."""


LONG = 0.1
"""Of runs of fewer seconds the share of a processor is not known well."""


def remarks(measurements: Sequence[Measurement]) -> list[str]:
    """What must be known of how the figures came about: claims of a results file, and a busy machine."""
    found = []
    claimed = sum(each.is_claimed for each in measurements)
    if claimed:
        found.append(
            f"{claimed} of {len(measurements)} measurements are claims of a results file that were not "
            "checked; --fresh measures them again."
        )
    shares = [each.cpu_seconds / each.seconds for each in measurements if each.seconds > LONG]
    if shares and median(shares) < BUSY:
        found.append(
            f"The machine was busy: in the median a run had {median(shares):.0%} of a processor. "
            "Times are too long."
        )
    return found


def comparison_summary(measurements: Sequence[Measurement], style: Style) -> str:
    """What ``hcssp bench`` prints for people; disagreements come first."""
    found = disagreements(measurements)
    blocks = []
    if found:
        blocks.append(style.strong(f"{len(found)} disagreements") + "\n" + "\n".join(found))
    else:
        blocks.append("All values agree.")
    if repeated(measurements):
        blocks.append(style.strong("Repeated runs: medians, and quartiles in parentheses"))
        blocks.append(aligned(spread_table(measurements)))
    else:
        blocks.append(style.strong("Solving times, as multiples of ours"))
        blocks.append(aligned(ratio_table(measurements)))
    blocks += remarks(measurements)
    missing = sorted({each.note for each in measurements if each.status == "missing"})
    blocks.append(
        "'>': no answer within the time limit. 'no': the solver does not support such problems.\n"
        "'Randomised' is the time for the best randomised policy, an easier question."
        + "".join(f"\nLeft out: {note}." for note in missing)
    )
    return "\n\n".join(blocks)


_MOST_STEPS = 200
"""Steps of a solver's history that are drawn; of more, some are left out."""


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
    solvers = list(dict.fromkeys(each.solver for each in measurements))
    most = max(each.time_limit for each in measurements)
    texts = {
        "title": escape(f"Comparison: the {name} suite"),
        "name": escape(f"The {name} suite"),
        "lead": escape(
            f"{len(solvers)} solvers on {len(groups)} problems, each in a fresh process, with a "
            + " ".join([f"time limit of {most:g} s.", *remarks(measurements)])
        ),
        "version": escape(__version__),
    }
    data = comparison_data(measurements)
    scripts, styles = [shared / "drawing.js", own / "bench.js"], [own / "bench.css"]
    return filled_page(own / "bench.html", scripts, texts, data, styles)


def comparison_data(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The data that the page's scripts draw; infinities are null."""
    groups = by_instance(measurements)
    names = list(dict.fromkeys(each.solver for each in measurements))
    return {
        "problem": {"called": {}},
        "disagreements": disagreements(measurements),
        "ratios": ratio_table(first_runs(measurements) or measurements),
        "spread": {problem: spread_rows(solvers) for problem, solvers in repeated(measurements).items()},
        "gaps": {
            problem: {solver: gap_over_time(runs) for solver, runs in solvers.items()}
            for problem, solvers in repeated(measurements).items()
        },
        "solvers": [
            {
                "name": name,
                "description": find_solver(name).description,
                "deterministic": find_solver(name).deterministic,
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
    # Of repeated runs the page draws the quartiles, and the first of them.
    most = _MOST_STEPS if without_repeat(measurement.instance) == measurement.instance else 1
    step = 1 + len(trace) // most
    # The last step is always among those that are drawn.
    shown = [*trace[:-1:step], *trace[-1:]]
    return {
        **document(measurement, "solver", "status", "randomised", "first", "seconds", "note"),
        "lower": plain(measurement.lower_bound),
        "upper": plain(measurement.upper_bound),
        "answered": plain(compared_seconds(measurement)),
        "cpu": plain(measurement.cpu_seconds),
        "limit": plain(measurement.time_limit),
        "integral": plain(primal_integral(measurement, best)),
        "trace": document(shown),
    }
