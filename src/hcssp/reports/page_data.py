"""Everything that a page shows, as one object of plain numbers, texts and lists: no numpy, no NaN.

Problem and places are told once, then the plans along the trade-off curve, the curve itself, and how the
proven interval narrowed over time.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.files.fingerprint import fingerprint
from hcssp.procedure import HCSSP
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.candidates import along_curve
from hcssp.reports.figures import given, plain, short
from hcssp.reports.judged import JudgedCurve, limit, own
from hcssp.reports.levels import levels_data
from hcssp.reports.placement import Panel, place, sheet_size
from hcssp.reports.plan_data import PlanWriter
from hcssp.reports.procedure_graph import graph_data
from hcssp.reports.words import history_of, why_it_stopped
from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp.solving.trade_off import TradeOff

FORMAT = "hcssp-report"
VERSION = 1
_HISTORY_POINTS = 400


def page_data(
    plan: Plan, *curves: TradeOff, runs: int = 24, samples: int = 4000, seed: int = 0
) -> dict[str, Any]:
    """The data of a page.

    Parameters
    ----------
    plan
        What is reported; it must have a policy.
    curves
        The trade-off curves that were drawn, each of another bound; the first is shown first.
    runs, samples, seed
        As for :class:`~hcssp.reports.plan_data.PlanWriter`.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    """
    solved = plan.as_procedure()
    problem = solved.problem
    writer = PlanWriter(runs, samples, seed)
    views = [_view_data(writer, solved, curve) for curve in curves or (None,)]
    graph, uses = levels_data(problem) if problem.uses else (graph_data(problem), [])
    return {
        "format": FORMAT,
        "version": VERSION,
        "hcssp": __version__,
        "problem": _problem_data(problem, fingerprint(plan.problem)),
        "sheet": _sheet_data(problem),
        "graph": graph,
        "uses": uses,
        "status": str(plan.status),
        "stopped": why_it_stopped(plan),
        "stochastic": None
        if plan.stochastic is None
        else plain(Aim.of(problem).judged(float(plan.stochastic.value))),
        **views[0],
        # What the page shows once another bound is chosen; the first view is there already.
        "views": [{"varied": view["varied"]} | (view if number else {}) for number, view in enumerate(views)],
        "grids": writer.pool.entries,
        "history": _history(plan),
        "historyWord": history_of(plan)[1],
        "samples": {"runs": runs, "samples": samples, "seed": seed},
    }


def _view_data(writer: PlanWriter, plan: ProcedurePlan, curve: TradeOff | None) -> dict[str, Any]:
    """The plans along one curve."""
    shown, own = along_curve(plan, curve)
    return {
        "varied": None if curve is None else curve.constraint,
        "curve": None if curve is None else _curve_data(curve),
        "plans": [writer.write(each) for each in shown],
        "reported": own,
    }


def _problem_data(problem: HCSSP, fingerprint: str) -> dict[str, Any]:
    aim = Aim.of(problem)
    return {
        "name": problem.name or "plan",
        "description": problem.description,
        "fingerprint": fingerprint,
        "primary": aim.name,
        "greatest": aim.greatest,
        "called": {name: called(problem, name) for name in aim.names},
        "constraints": list(aim.others),
        "probabilities": [each.name for each in problem.constraints if each.probability_of],
        "events": list(problem.events),
        "start": int(problem.start),
        "end": int(problem.end),
        "choices": [
            {
                "event": int(choice.event),
                "name": choice.name,
                "outcomes": [
                    {
                        "probability": plain(outcome.probability),
                        "events": [int(event) for event in outcome.events],
                        "activity": None if outcome.runs is None else int(outcome.runs),
                    }
                    for outcome in choice.outcomes
                ],
            }
            for choice in problem.choices
        ],
        "activities": [_activity_data(problem, index) for index in range(problem.num_activities)],
    }


def _activity_data(problem: HCSSP, index: int) -> dict[str, Any]:
    activity, outcome = problem.activities[index], problem.activity_outcome[index]
    world = problem.world(index)
    return {
        "name": activity.name,
        "room": activity.room,
        "states": activity.cssp.num_states,
        "from": int(problem.choices[int(problem.activity_choice[index])].event),
        "to": [int(event) for event in outcome.events],
        "starts": [] if world is None else [[int(x), int(y)] for x, y in world.starts],
        "goals": [] if world is None else [[int(x), int(y)] for x, y in world.goals],
        "goalEvents": [] if world is None else [int(outcome.event_after(cell)) for cell in world.goals],
        "step": None if world is None else {n: short(c) for n, c in world.step_costs.items() if c},
        "slip": None if world is None else short(_slip(world.slip)),
    }


def _slip(slip: float | tuple[float, float]) -> float:
    return sum(slip) if isinstance(slip, tuple) else slip


def _sheet_data(problem: HCSSP) -> dict[str, Any]:
    panels = place(problem)
    width, height = sheet_size(panels)
    return {
        "width": width,
        "height": height,
        "map": any(panel.on_map for panel in panels) and len(panels) > 0,
        "panels": [_panel_data(problem, panel) for panel in panels],
    }


def _panel_data(problem: HCSSP, panel: Panel) -> dict[str, Any]:
    worlds = [problem.world(index) for index in panel.activities]
    openings = {
        (int(x), int(y)) for world in worlds if world is not None for x, y in (*world.starts, *world.goals)
    }
    world = panel.world
    return {
        "title": panel.title,
        "corner": list(panel.corner),
        "width": panel.width,
        "height": panel.height,
        "grid": world is not None,
        "onMap": panel.on_map,
        "activities": list(panel.activities),
        "walls": [] if world is None else [[int(each) for each in wall] for wall in world.walls],
        "hazards": []
        if world is None
        else [
            {
                "place": [int(each) for each in hazard.rectangle],
                "costs": ", ".join(f"{name} {given(cost)}" for name, cost in hazard.costs.items()),
            }
            for hazard in world.hazards
        ],
        "openings": [list(opening) for opening in sorted(openings)],
    }


def _curve_data(curve: TradeOff) -> dict[str, Any]:
    shown = JudgedCurve.of(curve)
    return {
        "least": plain(curve.least),
        "exact": curve.exact,
        "breakpoints": [[short(float(x), 9), short(float(y), 9)] for x, y in shown.breakpoints],
        "points": [
            {
                "bound": plain(point.bound),
                "stochastic": plain(shown.stochastic(point)),
                "limit": plain(limit(point.plan)),
                "own": plain(own(point.plan)),
                "price": plain(point.price),
            }
            for point in curve.points
        ],
    }


def _history(plan: Plan) -> list[list[float | None]]:
    """The proven interval over time, ending when the search did; a long one is thinned out."""
    trace, word = history_of(plan)
    points = [[point.seconds, point.lower_bound, point.upper_bound] for point in trace]
    stride = -(-len(points) // _HISTORY_POINTS) or 1
    kept = points[::stride]
    if points and kept[-1] is not points[-1]:
        kept.append(points[-1])
    if points and isfinite(plan.seconds) and plan.seconds > points[-1][0]:
        last = plan.claim if word == "claimed" and plan.claim is not None else plan
        kept.append([plan.seconds, last.lower_bound, last.upper_bound])
    aim = Aim.of(plan.problem)
    return [
        [short(seconds), plain(aim.limit(lower)), plain(aim.judged(upper))] for seconds, lower, upper in kept
    ]
