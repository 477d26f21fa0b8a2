"""A trade-off curve for people, for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
from math import isfinite
from typing import TYPE_CHECKING, Any

from hcssp.procedure.units import called, probability_of
from hcssp.reports.figures import given, in_table, percent, plain, rounded_down, rounded_up
from hcssp.reports.measures import Measure
from hcssp.reports.plan_words import Style, aligned
from hcssp.reports.words import with_lots_explained

if TYPE_CHECKING:
    from hcssp.procedure import HCSSP
    from hcssp.solving.trade_off import CurvePoint, TradeOff

_COLUMNS = ("kind", "bound", "stochastic", "price", "lower_bound", "upper_bound", "gap", "expected")


def point_line(point: CurvePoint) -> str:
    """One point in a line of progress."""
    if not point.plan.found:
        return f"{given(point.bound)}   no plan"
    return (
        f"{given(point.bound)}   between {rounded_down(point.lower_bound, 4)} and "
        f"{rounded_up(point.upper_bound, 4)}   gap {percent(point.gap)}"
    )


def _expected(point: CurvePoint, constraint: str) -> float:
    """What the plan of a point uses of the bound; of a limit for each execution, whenever it is run."""
    plan = point.plan.as_procedure()
    limit = next((each for each in plan.costs.limits if each.name == constraint), None)
    return plan.cost(constraint) if limit is None else limit.usage_per_execution or 0.0


def curve_in_words(name: str, problem: HCSSP, curve: TradeOff, style: Style) -> str:
    """What ``hcssp curve`` prints for people."""
    primary, varied = called(problem, problem.primary_name), called(problem, curve.constraint)
    told = Measure.of(problem, curve.constraint)
    unit = "100% more" if told.is_probability else "one more unit of"
    rows = [["bound", "with lots", "price", "without: from", "to", "gap", told.expected]]
    for point in curve.points:
        known = point.plan.found
        rows.append(
            [
                told.given(point.bound),
                in_table(point.stochastic) if isfinite(point.stochastic) else "-",
                "-" if point.price is None else in_table(point.price),
                rounded_down(point.lower_bound, 4) if isfinite(point.lower_bound) else "-",
                rounded_up(point.upper_bound, 4) if known else "no plan",
                percent(point.gap) if known else "-",
                told.used(_expected(point, curve.constraint), point.bound) if known else "-",
            ]
        )
    others = [c for c in problem.constraints if c.name != curve.constraint and isfinite(c.at_most)]
    besides = "".join(
        f", {called(problem, c.name)} at most {Measure.of(problem, c.name).given(c.at_most)}" for c in others
    )
    title = f"{name}: least expected {primary} as the bound on {varied} grows{besides}"
    blocks = [style.strong(title), aligned(rows)]
    pieces = len(curve.prices)
    if pieces:
        first, last = curve.breakpoints[0, 0], curve.breakpoints[-1, 0]
        exact = (
            "Over plans that draw lots the curve is exact"
            if curve.exact
            else "No plan lies below the curve, not even one that draws lots, but none may lie on it"
        )
        blocks.append(
            f"{exact}: {pieces} straight "
            f"{'piece' if pieces == 1 else 'pieces'} between {told.given(first)} and {told.given(last)}.\n"
            f"The best plan without lots is proven to lie between the two figures given.\n"
            f"The price is what {unit} {varied} saves, in {primary}."
        )
    if isfinite(curve.least) and curve.least >= 1e-6:
        least = (
            f"{rounded_down(100 * curve.least, 4)}%" if told.is_probability else rounded_down(curve.least, 6)
        )
        blocks.append(f"No plan has {'a' if told.is_probability else 'an'} {told.expected} below {least}.")
    return with_lots_explained("\n\n".join(blocks))


def curve_document(name: str, problem: HCSSP, curve: TradeOff) -> dict[str, Any]:
    """The object that ``hcssp curve --json`` prints."""
    return {
        "problem": name,
        "primary": problem.primary_name,
        "constraint": curve.constraint,
        **({"probability_of": of} if (of := probability_of(problem, curve.constraint)) else {}),
        "least": plain(curve.least),
        "exact": curve.exact,
        "points": [_point(curve, point) for point in curve.points],
        "breakpoints": curve.breakpoints.tolist(),
        "prices": curve.prices.tolist(),
        "seconds": plain(curve.seconds),
    }


def curve_csv(curve: TradeOff) -> str:
    """Points and breakpoints by ascending bound; the price is that of what lies above the bound."""
    rows: list[dict[str, Any]] = [{"kind": "point", **_point(curve, point)} for point in curve.points]
    for index, (bound, value) in enumerate(curve.breakpoints.tolist()):
        price = float(curve.prices[index]) if index < len(curve.prices) else None
        rows.append({"kind": "breakpoint", "bound": bound, "stochastic": value, "price": price})
    rows.sort(key=lambda row: (row["bound"], row["kind"]))
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _point(curve: TradeOff, point: CurvePoint) -> dict[str, float | None]:
    expected = _expected(point, curve.constraint) if point.plan.found else None
    return {
        "bound": plain(point.bound),
        "stochastic": plain(point.stochastic),
        "price": plain(point.price),
        "lower_bound": plain(point.lower_bound),
        "upper_bound": plain(point.upper_bound),
        "gap": plain(point.gap),
        "expected": plain(expected),
    }
