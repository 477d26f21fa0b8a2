"""All pictures of a plan, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hcssp.contract.result import Result
from hcssp.reports.budget import draw_budget
from hcssp.reports.histograms import draw_histograms
from hcssp.reports.history import draw_history
from hcssp.reports.outlook import look_ahead
from hcssp.reports.rooms import draw_rooms
from hcssp.reports.scene import Scene

_RUNS = 10_000


def plan_pictures(scene: Scene, result: Result, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """The name and the figure of every picture that can be drawn of a plan.

    Parameters
    ----------
    scene, result
        What was solved, and the answer, which must have a plan.
    seed
        Names the simulated runs for good.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    NoSolution
        If the result has no plan.
    """
    problem = scene.problem
    if any(scene.world(index) is not None for index in range(problem.num_activities)):
        yield "rooms", draw_rooms(scene, result)
    yield "budget", draw_budget(problem, result.evaluation)
    yield "costs", draw_histograms(look_ahead(problem, result.policy, _RUNS, seed), result.evaluation)
    if result.trace:
        yield "history", draw_history(result, problem.primary_name)
