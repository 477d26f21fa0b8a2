"""A plan as one page: the trade-off curve around its bound and simulated runs, written to a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from hcssp.contract.plan import Plan
from hcssp.procedure.single import is_part
from hcssp.reports.candidates import curve_bounds, draw_curve, varied_constraints
from hcssp.reports.page import save_page
from hcssp.reports.page_data import page_data
from hcssp.reports.plan_data import choice_counts
from hcssp.reports.words import history_of
from hcssp.solving.trade_off import CurvePoint, TradeOff

_RUNS = 10_000
"""Simulated runs that the picture of the costs is drawn from."""


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
        What is reported; it must have a policy.
    path
        Where to write the page.
    vary
        The constraint whose bound the slider moves at first; by default the scarcest. The page offers every
        other bound as well.
    points
        About how many positions the slider has; 0 for no slider.
    time_limit
        Seconds to work on the plans of the slider.
    seed
        Names the simulated runs for good.
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
    save_page(path, page_data(plan, *curves, seed=seed))


def curves_around(
    plan: Plan,
    vary: str | None = None,
    points: int = 11,
    time_limit: float = inf,
    on_point: Callable[[str, CurvePoint], object] | None = None,
) -> list[TradeOff]:
    """The trade-off curves around a plan's bounds, one for each, as far as they get.

    That of `vary`, or else of the scarcest bound, comes first and has half of the time, or all that the
    others leave. Around a plan of an implicit problem there are none: its curve would need all states.
    """
    if is_part(plan.problem):
        return []
    solved = plan.as_procedure()
    curves: list[TradeOff] = []
    waiting = varied_constraints(solved, vary) if points else []
    left = time_limit
    while waiting:
        constraint = waiting.pop(0)
        began = time.perf_counter()
        bounds = curve_bounds(solved, constraint, points)
        if bounds:
            share = left if not waiting else left / 2
            told = None if on_point is None else partial(on_point, constraint)
            curves.append(draw_curve(solved, constraint, bounds, time_limit=share, on_point=told))
        left = max(0.0, left - (time.perf_counter() - began))
    return curves


def save_plot(plan: Plan, path: str | Path) -> None:
    """Draw a plan: its rooms with arrows, or its procedure with what is chosen where there are no rooms.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    NoSolution
        If the plan has no policy.
    """
    from hcssp.reports.pictures import save_picture
    from hcssp.reports.procedure_picture import draw_procedure
    from hcssp.reports.rooms import draw_rooms

    solved = plan.as_procedure()
    problem = solved.problem
    if problem.has_rooms:
        save_picture(Path(path), draw_rooms(solved))
    else:
        chosen = (choice_counts(solved) > 0.0).tolist()
        save_picture(Path(path), draw_procedure(problem, problem.name, chosen))


def plan_pictures(plan: Plan, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """The name and the figure of every picture that can be drawn of a plan.

    Parameters
    ----------
    plan
        What is drawn; it must have a policy.
    seed
        Names the simulated runs for good.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    NoSolution
        If the plan has no policy.
    """
    from hcssp.reports.charts import draw_budget, draw_histograms, draw_history
    from hcssp.reports.outlook import look_ahead
    from hcssp.reports.rooms import draw_rooms

    solved = plan.as_procedure()
    if solved.problem.has_rooms:
        yield "rooms", draw_rooms(solved)
    yield "budget", draw_budget(solved)
    yield "costs", draw_histograms(look_ahead(solved, _RUNS, seed), solved.costs, solved.problem)
    if history_of(solved)[0]:
        yield "history", draw_history(solved)
