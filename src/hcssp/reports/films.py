"""The films of a page: how the anytime algorithm closes the gap, and how budget allocation divides its space.

A film is data that the page's script draws step by step (``page/films.js``). Both come from what
``on_progress`` is given: the policies that the anytime algorithm met
(:class:`hcssp.contract.progress.MetPolicy`), and the boxes of budget allocation with the incumbents
(:class:`hcssp.contract.progress.AllocationSpace`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf, isfinite
from typing import Any

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.progress import AllocationSpace, MaxIterations
from hcssp.errors import HcsspError
from hcssp.methods.paper import BudgetAllocation
from hcssp.reports.figures import short
from hcssp.solving.lagrangian import Lagrangian, lagrangian
from hcssp.solving.solve import solve

BOXES = 80
"""Where no budget allocation made the plan, the boxes that it examines for the film."""

MOST_BOXES, MOST_ACTIVITIES = 1_500, 20
"""A page holds this many boxes, the first ones, and the Lagrangians of this many activities."""


def films_of(plan: Plan, time_limit: float = inf) -> dict[str, Any]:
    """The films about a plan as data for the page, without those that there are not.

    There are none where a reward is maximised: the searches see only what is missed of it.

    Parameters
    ----------
    plan
        The plan.
    time_limit
        The seconds that both may take together, about half of it each.
    """
    solved, began = plan.as_procedure(), time.perf_counter()
    problem = solved.problem
    if plan.problem.is_part or plan.reward is not None or problem.limits_choices or time_limit <= 0.0:
        return {}
    films: dict[str, Any] = {}
    pictures = [_lagrangian_data(each) for each in _lagrangians(solved, 0.5 * time_limit)]
    if pictures:
        films["lagrangians"] = pictures
    space = plan.allocation
    if space is None and len(problem.activities) > 1 and problem.bounds.min(initial=inf) < inf:
        left = began + time_limit - time.perf_counter()
        stop = [MaxIterations(BOXES)]
        space = solve(problem, BudgetAllocation(), stop, time_limit=max(0.0, left)).allocation
    if space is not None and len(space.axes) > 1 and space.count:
        films["allocation"] = _allocation_data(space)
    return films


def _lagrangians(plan: ProcedurePlan, time_limit: float) -> Iterator[Lagrangian]:
    """The Lagrangian of the whole, then of the activities that it runs, under their budgets."""
    problem, deadline = plan.problem, time.perf_counter() + time_limit
    bounded = [each.name for each in problem.constraints if isfinite(each.at_most) and each.per is None]
    if not bounded:
        return

    def drawn(constraint: str | None, activity: str | None = None) -> Lagrangian | None:
        left = deadline - time.perf_counter()
        try:
            return lagrangian(problem, constraint, activity=activity, budget=plan, time_limit=left)
        except HcsspError:
            # There is no dual, or no time to meet a policy.
            return None

    whole = drawn(bounded[0] if len(bounded) == 1 else None)
    if whole is None:
        return
    yield whole
    if len(problem.activities) < 2 or not problem.flattening.separable:
        return
    name = whole.constraint
    shares = [each for each in plan.costs.activities if name in each.usage and each.expected_executions]
    for share in sorted(shares, key=lambda each: -each.usage[name])[:MOST_ACTIVITIES]:
        found = drawn(name, share.name)
        if found is not None:
            yield found


def _lagrangian_data(picture: Lagrangian) -> dict[str, Any]:
    return {
        "name": picture.name,
        "cost": picture.cost_name,
        "constraint": picture.constraint,
        "bound": short(picture.bound, 9),
        "dual": short(picture.dual, 12),
        "lines": [[short(line.cost, 12), short(line.use, 12), line.feasible] for line in picture.lines],
        "steps": [
            [
                step.line,
                step.rank,
                short(step.price, 12),
                short(step.lower_bound, 12),
                short(step.upper_bound, 12),
            ]
            for step in picture.steps
        ],
    }


def _allocation_data(space: AllocationSpace) -> dict[str, Any]:
    """The boxes, each as its parent, its bound and what it does not share with its parent."""
    first = space.boxes[0]
    shown = space.at(MOST_BOXES)
    boxes: list[list[float | None]] = []
    for box in shown.boxes:
        written: list[float | None] = [box.parent, short(box.bound, 9)]
        if box.parent is not None:
            whole = space.all_boxes[box.parent]
            for side, own, other in ((0, box.lower, whole.lower), (1, box.upper, whole.upper)):
                for axis in (own != other).nonzero()[0].tolist():
                    written += [axis, side, short(float(own[axis]), 9)]
        boxes.append(written)
    return {
        "axes": [list(axis) for axis in space.axes],
        "shown": list(space.axes_of()),
        "lower": [short(each, 9) for each in first.lower.tolist()],
        "upper": [short(each, 9) for each in first.upper.tolist()],
        "boxes": boxes,
        "count": space.count,
        "incumbents": [
            [
                each.count,
                short(each.cost, 9),
                short(each.cutoff, 12),
                [short(u, 9) for u in each.usage.tolist()],
            ]
            for each in shown.incumbents
        ],
    }
