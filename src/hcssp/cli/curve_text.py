"""A trade-off curve for people, for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
from math import isfinite
from typing import TYPE_CHECKING, Any

from hcssp.procedure.units import called, probability_of
from hcssp.reports.figures import given, in_table, percent, plain, rounded_down, rounded_up
from hcssp.reports.judged import JudgedCurve, limit, own
from hcssp.reports.measures import Measure
from hcssp.reports.plan_words import Style, aligned
from hcssp.reports.words import with_lots_explained

if TYPE_CHECKING:
    from hcssp.procedure import HCSSP
    from hcssp.solving.trade_off import CurvePoint, TradeOff

_COLUMNS = ("kind", "bound", "stochastic", "price", "lower_bound", "upper_bound", "gap", "expected")
_REWARD_COLUMNS = ("reward", "reward_at_most")
"""What is told besides where a reward is maximised; the costs are then what is missed of it."""


def point_line(point: CurvePoint) -> str:
    """One point in a line of progress."""
    if not point.plan.found:
        return f"{given(point.bound)}   no plan"
    low, high = sorted((limit(point.plan), own(point.plan)))
    return (
        f"{given(point.bound)}   between {rounded_down(low, 4)} and {rounded_up(high, 4)}   "
        f"gap {percent(point.gap)}"
    )


def _expected(point: CurvePoint, constraint: str) -> float:
    """What the plan of a point uses of the bound; of a limit for each execution, whenever it is run."""
    plan = point.plan.as_procedure()
    limit = next((each for each in plan.costs.limits if each.name == constraint), None)
    return plan.cost(constraint) if limit is None else limit.usage_per_execution or 0.0


def curve_in_words(name: str, problem: HCSSP, curve: TradeOff, style: Style) -> str:
    """What ``hcssp curve`` prints for people."""
    shown, varied = JudgedCurve.of(curve), called(problem, curve.constraint)
    told = Measure.of(problem, curve.constraint)
    unit = "100% more" if told.is_probability else "one more unit of"
    rows = [["bound", "with lots", "price", "without: from", "to", "gap", told.expected]]
    for point in curve.points:
        known = point.plan.found
        lots = shown.stochastic(point)
        rows.append(
            [
                told.given(point.bound),
                in_table(lots) if isfinite(lots) else "-",
                "-" if point.price is None else in_table(point.price),
                *_interval(point),
                percent(point.gap) if known else "-",
                told.used(_expected(point, curve.constraint), point.bound) if known else "-",
            ]
        )
    others = [c for c in problem.constraints if c.name != curve.constraint and isfinite(c.at_most)]
    besides = "".join(
        f", {called(problem, c.name)} at most {Measure.of(problem, c.name).given(c.at_most)}" for c in others
    )
    title = f"{name}: {shown.best} as the bound on {varied} grows{besides}"
    blocks = [style.strong(title), aligned(rows)]
    pieces = len(curve.prices)
    if pieces:
        first, last = curve.breakpoints[0, 0], curve.breakpoints[-1, 0]
        exact = (
            "Over plans that draw lots the curve is exact"
            if curve.exact
            else f"No plan lies {shown.worse} the curve, not even one that draws lots, but none may lie on it"
        )
        blocks.append(
            f"{exact}: {pieces} straight "
            f"{'piece' if pieces == 1 else 'pieces'} between {told.given(first)} and {told.given(last)}.\n"
            f"The best plan without lots is proven to lie between the two figures given.\n"
            f"The price is what {unit} {varied} {shown.gains}, in {shown.name}."
        )
    if isfinite(curve.least) and curve.least >= 1e-6:
        least = (
            f"{rounded_down(100 * curve.least, 4)}%" if told.is_probability else rounded_down(curve.least, 6)
        )
        blocks.append(f"No plan has {'a' if told.is_probability else 'an'} {told.expected} below {least}.")
    return with_lots_explained("\n\n".join(blocks))


def _interval(point: CurvePoint) -> tuple[str, str]:
    """From where to where the best is proven to lie."""
    found, proven = own(point.plan), limit(point.plan)
    if point.plan.reward is None:
        low = rounded_down(proven, 4) if isfinite(proven) else "-"
        return low, rounded_up(found, 4) if point.plan.found else "no plan"
    high = rounded_up(proven, 4) if isfinite(proven) else "-"
    return rounded_down(found, 4) if point.plan.found else "no plan", high


def curve_document(name: str, problem: HCSSP, curve: TradeOff) -> dict[str, Any]:
    """The object that ``hcssp curve --json`` prints."""
    return {
        "problem": name,
        "primary": problem.primary_name,
        **({} if problem.reward is None else {"reward": problem.reward.name}),
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
    columns = _COLUMNS if curve.problem.reward is None else (*_COLUMNS, *_REWARD_COLUMNS)
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _point(curve: TradeOff, point: CurvePoint) -> dict[str, float | None]:
    expected = _expected(point, curve.constraint) if point.plan.found else None
    reward = point.plan.reward
    figures = () if reward is None else (plain(reward.value), plain(reward.at_most))
    return {
        "bound": plain(point.bound),
        "stochastic": plain(point.stochastic),
        "price": plain(point.price),
        "lower_bound": plain(point.lower_bound),
        "upper_bound": plain(point.upper_bound),
        "gap": plain(point.gap),
        "expected": plain(expected),
        **({} if reward is None else dict(zip(_REWARD_COLUMNS, figures, strict=True))),
    }
