"""The fragments: what ``_repr_html_`` of problems, plans and curves answers with.

A notebook shows them in place of the object. They hold tables and drawings, in the notebook's own light or
dark colours where it tells them, on a ground of their own in any case.
"""

from __future__ import annotations

from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Status
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, as_procedure
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.figures import given, rounded, rounded_down, rounded_up
from hcssp.reports.judged import JudgedCurve, limit, own
from hcssp.reports.notebook.charts import curve_chart, history_chart, price_chart
from hcssp.reports.notebook.markup import Markup, element, paragraphs, shortened, unfolding
from hcssp.reports.notebook.procedure_drawing import procedure_drawing
from hcssp.reports.notebook.room_map import drawn_activities, room_map
from hcssp.reports.notebook.signs import legend
from hcssp.reports.notebook.tables import (
    activities_table,
    capped,
    choices_table,
    costs_table,
    figures_table,
    rows_table,
    sizes_table,
    states_table,
)
from hcssp.reports.words import (
    history_of,
    what_is_proven,
    what_it_costs,
    what_more_would_save,
    why_it_stopped,
)

if TYPE_CHECKING:
    from hcssp.solving.trade_off import CurvePoint, TradeOff


def plan_html(plan: Plan) -> str:
    """A plan: what it costs, what is proven, where it goes, what it chooses."""
    solved = plan.as_procedure()
    problem = solved.problem
    parts: list[object] = [_heading(plan.problem.name, "plan", str(plan.status))]
    if plan.found:
        costs = {name: solved.costs.cost(name) for name in solved.costs.cost_names}
        parts.append(
            paragraphs(
                what_it_costs(problem, costs),
                what_is_proven(plan),
                what_more_would_save(problem, plan.prices),
            )
        )
    else:
        parts.append(paragraphs(_sentence(plan.message)))
    parts += [figures_table(solved), *_pictures(plan.problem, solved if plan.found else None)]
    if plan.found and isinstance(plan.problem, CSSP):
        parts.append(states_table(plan.problem, plan))
    elif plan.found:
        parts.append(activities_table(solved))
    trace, word = history_of(plan)
    aim = Aim.of(solved.problem)
    history = history_chart(trace, plan.seconds, aim, called(solved.problem, aim.name), word)
    if history is not None and plan.status is not Status.INFEASIBLE:
        side = "upper" if aim.greatest else "lower"
        told = f"The full line is the best plan so far, the dotted one the {word} {side} bound."
        parts.append(unfolding("The proof over time", history, paragraphs(told)))
    return _fragment(*parts, paragraphs(why_it_stopped(plan)))


def problem_html(problem: CSSP | HCSSP) -> str:
    """A problem: its sizes, its costs and bounds, its rooms and its procedure."""
    procedure = as_procedure(problem)
    kind = "C-SSP" if isinstance(problem, CSSP) else "HC-SSP"
    parts: list[object] = [
        _heading(problem.name, kind),
        paragraphs(_sentence(problem.description), _sizes(problem)),
        costs_table(procedure),
        *_pictures(problem, None),
    ]
    parts.append(rows_table(problem) if isinstance(problem, CSSP) else sizes_table(problem))
    return _fragment(*parts)


def _proven(aim: Aim, point: CurvePoint) -> tuple[str, str]:
    """What no plan is better than at a point, and what its plan has."""
    proven, found = limit(point.plan), own(point.plan)
    down, up = (rounded_up, rounded_down) if aim.greatest else (rounded_down, rounded_up)
    return down(proven) if isfinite(proven) else "–", up(found) if isfinite(found) else "–"


def curve_html(curve: TradeOff) -> str:
    """A trade-off curve: what the optimum costs as the bound grows, and the price along it."""
    problem = curve.problem
    procedure = as_procedure(problem)
    judged, varied = JudgedCurve.of(curve), called(procedure, curve.constraint)
    primary = judged.name
    parts: list[object] = [_heading(problem.name, f"{primary} against the bound on {varied}")]
    chart = curve_chart(curve, judged)
    if chart is None:
        parts.append(paragraphs("No plan keeps any of these bounds."))
    else:
        told = (
            "Dots are the best plans found, whiskers reach to what is proven, the shaded steps hold the "
            "optimum between those bounds. "
        )
        told += (
            "The broken line is the optimum of plans that may draw lots."
            if curve.exact
            else f"No plan lies {judged.worse} the broken line."
        )
        parts += [chart, price_chart(curve, primary) or "", paragraphs(told)]
    if isfinite(curve.least) and curve.least > 0.0:
        parts.append(
            paragraphs(f"No plan has an expected {curve.constraint} below {rounded_down(curve.least)}.")
        )
    rows = [
        (
            given(point.bound),
            *_proven(judged.aim, point),
            str(point.plan.status),
            rounded(judged.stochastic(point)) if isfinite(point.stochastic) else "–",
            "–" if point.price is None else rounded(point.price),
        )
        for point in curve.points
    ]
    head = (f"{curve.constraint} at most", f"proven: not {judged.worse}", f"{primary} of the best plan",
            "status", f"{primary} if lots are drawn", "price")  # fmt: skip
    parts.append(unfolding(f"The points ({len(rows)})", capped(head, rows, texts=0)))
    return _fragment(*parts)


def _fragment(*parts: object) -> str:
    style = (files("hcssp.reports.notebook") / "style.css").read_text(encoding="utf-8")
    # Names may hold dollars, which notebooks would take for formulas.
    shield = "hcssp tex2jax_ignore mathjax_ignore"
    return str(element("div", {"class": shield}, element("style", {}, Markup(style)), *parts))


def _heading(name: str, kind: str, status: str | None = None) -> Markup:
    """The name, or what it is where there is none."""
    parts: list[object] = [element("strong", {}, shortened(name or _sentence(kind)))]
    if name:
        parts += [" ", element("span", {"class": "kind"}, kind)]
    if status is not None:
        parts += [" ", element("span", {"class": f"status {status}"}, status)]
    return element("p", {"class": "heading"}, *parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pictures(problem: CSSP | HCSSP, plan: ProcedurePlan | None) -> list[object]:
    """The map of the rooms and the procedure, where there are any."""
    procedure = as_procedure(problem) if plan is None else plan.problem
    parts: list[object] = []
    drawn = room_map(procedure, plan)
    if drawn is not None:
        parts += [drawn, legend(with_visits=plan is not None)]
        _, left_out = drawn_activities(procedure, plan)
        if left_out:
            parts.append(paragraphs(f"{left_out:,} more activities are not drawn."))
    if isinstance(problem, HCSSP):
        graph = procedure_drawing(procedure, plan)
        if graph is None:
            parts.append(paragraphs("The procedure is too large to be drawn here."))
            parts.append("" if plan is None else choices_table(plan))
        else:
            parts.append(graph)
    return parts


def _sizes(problem: CSSP | HCSSP) -> str:
    if isinstance(problem, CSSP):
        return (
            f"{problem.num_states:,} states, {problem.num_rows:,} state-action pairs, "
            f"{problem.transitions.nnz:,} transitions."
        )
    states = sum(activity.cssp.num_states for activity in problem.activities)
    return (
        f"{problem.num_events:,} events, {len(problem.choices):,} choices, "
        f"{problem.num_activities:,} activities with {states:,} states in all."
    )
