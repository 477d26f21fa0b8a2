"""A sweep as tables: words for people, CSV and Parquet for spreadsheets, JSON for programs."""

from __future__ import annotations

from math import isfinite
from typing import Any

from hcssp.contract.proof import Status
from hcssp.errors import MissingDependency
from hcssp.numerics import OPTIMALITY_TOLERANCE
from hcssp.reports.figures import Measure, csv_text, document, given, percent, plain, table_down, table_up
from hcssp.reports.plan_text import Style, aligned
from hcssp.solving.sweep import Sweep, SweepAxis, SweepPoint


def axis_name(sweep: Sweep, axis: SweepAxis) -> str:
    """What an axis is called for people."""
    return f"bound on {sweep.called.get(axis.name, axis.name)}" if axis.is_bound else axis.name


def reported_constraints(sweep: Sweep) -> list[str]:
    """The constraints that are reported: not what only counts the reward."""
    bounded = {axis.name for axis in sweep.axes if axis.is_bound}
    return [name for name in sweep.constraints if name != sweep.reward or name in bounded]


def measure_of(sweep: Sweep, name: str) -> Measure:
    """The texts for a constraint."""
    stated, is_chance = sweep.called.get(name, name), name in sweep.probabilities
    return Measure(stated, stated if is_chance else f"expected {stated}", is_chance)


def value_on(sweep: Sweep, axis: SweepAxis, value: float) -> str:
    """A value on an axis; a bound on a probability is a percentage."""
    return measure_of(sweep, axis.name).given(value, 6) if axis.is_bound else given(value, 6)


def sweep_point_line(sweep_axes: tuple[SweepAxis, ...], point: SweepPoint) -> str:
    """One point in a line of progress."""
    stated = [
        f"{axis.name} {'at most ' if axis.is_bound else ''}{given(point.at(axis))}" for axis in sweep_axes
    ]
    where = ", ".join(stated)
    if not point.found:
        return f"{where}   no plan"
    low, high = _ends(point)
    return f"{where}   between {low} and {high}   gap {percent(point.gap)}"


def _ends(point: SweepPoint) -> tuple[str, str]:
    """The lower and the upper end of the proven interval; without a plan, one of them is a text."""
    greatest = point.reward_at_most is not None
    limit = "-" if not isfinite(point.limit) else (table_up if greatest else table_down)(point.limit)
    plan = "no plan" if not point.found else (table_down if greatest else table_up)(point.figure)
    return (plan, limit) if greatest else (limit, plan)


def aim_of(sweep: Sweep) -> str:
    """What the plans of a sweep are after."""
    return f"{'least' if sweep.reward is None else 'greatest'} expected {sweep.judged}"


def sweep_in_words(sweep: Sweep, style: Style, name: str = "") -> str:
    """What ``hcssp sweep`` prints for people."""
    varied = [axis for axis in sweep.axes if len(axis.values) > 1]
    head = [axis_name(sweep, axis) for axis in varied]
    head += [f"{sweep.judged}: from", "to", "gap"]
    measures = {each: measure_of(sweep, each) for each in reported_constraints(sweep)}
    head += [measure.expected for measure in measures.values()]
    rows = [head]
    for point in sweep.points:
        row = [value_on(sweep, axis, point.at(axis)) for axis in varied]
        row += _ends(point)
        row.append(_quality(point))
        for constraint, measure in measures.items():
            bound = point.bounds.get(constraint, float("inf"))
            row.append(measure.used(point.costs[constraint], bound) if point.found else "-")
        rows.append(row)
    fixed = [
        f"{measure_of(sweep, axis.name).name if axis.is_bound else axis.name} "
        f"{'at most ' if axis.is_bound else '= '}{value_on(sweep, axis, float(axis.values[0]))}"
        for axis in sweep.axes
        if len(axis.values) == 1
    ]
    title = f"{name or sweep.problem}: {aim_of(sweep)}"
    title += f", {', '.join(fixed)}" if fixed else ""
    cpu = sum(point.cpu_seconds for point in sweep.points)
    slowest = max((point.cpu_seconds for point in sweep.points), default=0.0)
    count = len(sweep.points)
    blocks = [style.strong(title), aligned(rows)]
    stated, claims = f"{count} {'point' if count == 1 else 'points'}", claims_of(sweep)
    proven = "the best deterministic plan is proven to lie between the two figures."
    if claims:
        stated += f", {claims}."
        stated += f"\nFor the others {proven}" if any(not point.is_claimed for point in sweep.points) else ""
    else:
        stated += f". {proven.capitalize()}"
    blocks.append(
        f"{stated}\nSolving took {cpu:.1f} s of processor time, {slowest:.1f} s of it at the slowest point."
    )
    return "\n\n".join(blocks)


def claims_of(sweep: Sweep) -> str:
    """How many points are claims of a results file, as a text; empty if there are none."""
    claimed = sum(point.is_claimed for point in sweep.points)
    return f"of which {claimed} are claims of a results file that were not checked" if claimed else ""


def _quality(point: SweepPoint) -> str:
    if not point.found:
        return "claimed" if point.is_claimed else "-"
    if point.is_claimed:
        return f"claimed: {percent(point.gap)}" if point.gap > OPTIMALITY_TOLERANCE else "claimed: optimal"
    return "optimal" if point.status is Status.OPTIMAL else percent(point.gap)


def sweep_document(sweep: Sweep, name: str = "") -> dict[str, Any]:
    """The object that ``hcssp sweep --json`` prints."""
    return {
        "problem": name or sweep.problem,
        **document(sweep, "primary", "reward", "constraints"),
        "axes": [
            {"name": axis.name, "bound": axis.is_bound, "values": document(axis.numbers)}
            for axis in sweep.axes
        ],
        "points": [point_document(point) for point in sweep.points],
        "seconds": plain(sweep.seconds),
    }


def point_document(point: SweepPoint) -> dict[str, Any]:
    """A point as JSON knows it; infinities are nothing."""
    before = ("settings", "bounds", "status", "lower_bound", "upper_bound", "gap", "randomised", "reward")
    after = ("prices", "reason", "message", "iterations", "seconds", "cpu_seconds")
    return {
        **document(point, *before, "reward_at_most"),
        "expected": document(point.costs),
        **document(point, *after),
    }


def sweep_csv(sweep: Sweep) -> str:
    """The points, a line each; what is not known, or infinite, is empty."""
    columns = sweep.columns()
    rows = zip(*columns.values(), strict=True)
    return csv_text((dict(zip(columns, row, strict=True)) for row in rows), list(columns))


def sweep_parquet(sweep: Sweep) -> bytes:
    """The points as a Parquet file.

    Raises
    ------
    MissingDependency
        If pyarrow is not installed.
    """
    pyarrow, parquet = _pyarrow()
    stream = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(sweep.columns()), stream)
    written: bytes = stream.getvalue().to_pybytes()
    return written


def require_parquet() -> None:
    """Find out beforehand whether Parquet can be written.

    Raises
    ------
    MissingDependency
        If pyarrow is not installed.
    """
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "Parquet files need pyarrow, which is not installed; pip install 'hcssp[parquet]', or write CSV"
        ) from error
    return pa, pq
