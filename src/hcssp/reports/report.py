"""A plan as one page: the trade-off curve around its bound and simulated runs, written to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

from hcssp.contract.plan import Plan
from hcssp.reports.candidates import curve_bounds, draw_curve, varied_constraint
from hcssp.reports.page import save_page
from hcssp.reports.page_data import page_data
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
        The constraint whose bound the slider moves; by default the scarcest.
    points
        About how many positions the slider has; 0 for no slider.
    time_limit
        Seconds to work on the plans of the slider.
    seed
        Names the simulated runs for good.
    curve
        The curve, if it is at hand; else it is drawn.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    CannotWrite
        If the file cannot be written.
    """
    if curve is None:
        curve = curve_around(plan, vary, points, time_limit)
    save_page(path, page_data(plan, curve, seed=seed))


def curve_around(
    plan: Plan,
    vary: str | None = None,
    points: int = 11,
    time_limit: float = inf,
    on_point: Callable[[CurvePoint], object] | None = None,
) -> TradeOff | None:
    """The trade-off curve around a plan's bound, as far as it gets; None if there is nothing to vary."""
    solved = plan.as_procedure()
    constraint = varied_constraint(solved, vary)
    if constraint is None or not points:
        return None
    bounds = curve_bounds(solved, constraint, points)
    if not bounds:
        return None
    return draw_curve(solved, constraint, bounds, time_limit=time_limit, on_point=on_point)


def save_plot(plan: Plan, path: str | Path) -> None:
    """Draw a plan: its rooms with arrows, or its procedure where there are no rooms.

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
        save_picture(Path(path), draw_procedure(problem, problem.name))


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
    yield "costs", draw_histograms(look_ahead(solved, _RUNS, seed), solved.costs)
    if history_of(solved)[0]:
        yield "history", draw_history(solved)
