"""All pictures of a plan, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hcssp.contract.plan import Plan
from hcssp.reports.budget import draw_budget
from hcssp.reports.histograms import draw_histograms
from hcssp.reports.history import draw_history
from hcssp.reports.outlook import look_ahead
from hcssp.reports.rooms import draw_rooms

_RUNS = 10_000


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
    solved = plan.as_procedure()
    problem = solved.problem
    if any(problem.world(index) is not None for index in range(problem.num_activities)):
        yield "rooms", draw_rooms(solved)
    yield "budget", draw_budget(solved)
    yield "costs", draw_histograms(look_ahead(solved, _RUNS, seed), solved.costs)
    if solved.trace:
        yield "history", draw_history(solved)
