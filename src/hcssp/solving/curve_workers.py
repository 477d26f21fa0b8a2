"""The points of a trade-off curve, side by side: each is a task for a worker.

They are given out in ascending order, each with the best policy that is known by then and keeps its bound. A
worker keeps what it has learnt about the activities for its next point; a policy is evaluated anew here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.cssp.model import IntArray
from hcssp.procedure.policy import policy_of
from hcssp.solving.curve_point import CurvePoint, Enough, finished_point, unkept
from hcssp.solving.solve import solve
from hcssp.solving.travelled_plan import TravelledPlan
from hcssp.workers import Task, open_workers
from hcssp.workers.at_work import kept


def points_by_workers(
    problem: Problem,
    constraint: str,
    curve: Mapping[float, tuple[float, float | None]],
    below_least: Mapping[float, float],
    gap: float,
    deadline: float,
    executor: Any,
) -> Iterator[CurvePoint]:
    """The points as they are done.

    Parameters
    ----------
    problem, constraint
        What is solved, and whose bound varies.
    curve
        The bounds in ascending order, with the stochastic optimum there and the price.
    below_least
        The bounds that nobody can keep, with the least that can be kept.
    gap, deadline
        When a point is done, and when nobody listens any more, by ``time.perf_counter()``.
    executor
        Who works.
    """
    waiting = [bound for bound in curve if bound not in below_least]
    plans: dict[float, Plan] = {}
    for bound, least in below_least.items():
        plan = unkept(problem.with_bounds({constraint: bound}), constraint, bound, least, Memory())
        yield finished_point(constraint, bound, plan, *curve[bound])
    with open_workers(executor=executor) as workers:
        shared = workers.share(problem)
        tasks: dict[Task, float] = {}
        while waiting or tasks:
            while waiting and len(tasks) < workers.count:
                # Whoever works at the same time has the same time: what is left is shared by rounds.
                rounds = -(-(len(waiting) + len(tasks)) // workers.count)
                seconds = max(0.0, deadline - time.perf_counter()) / rounds
                bound = waiting.pop(0)
                rows = _best_rows(plans, bound)
                task = workers.submit(
                    _solve_point, shared, constraint, bound, curve[bound][0], gap, seconds, rows
                )
                tasks[task] = bound
            task = next(workers.as_completed())
            bound = tasks.pop(task)
            travelled: TravelledPlan = task.result()
            plan = travelled.arrived(problem.with_bounds({constraint: bound}))
            plans[bound] = plan
            yield finished_point(constraint, bound, plan, *curve[bound])


def be_ready() -> None:
    """Nothing; whoever is asked for it has imported what a point needs."""


def _best_rows(plans: Mapping[float, Plan], bound: float) -> IntArray | None:
    """The best policy known that keeps a bound, since it keeps a smaller one."""
    known = [plan for smaller, plan in plans.items() if smaller <= bound and plan.found]
    best = min(known, key=lambda plan: plan.upper_bound, default=None)
    return None if best is None else best.policy.rows


def _solve_point(
    problem: Problem,
    constraint: str,
    bound: float,
    value: float,
    gap: float,
    seconds: float,
    rows: IntArray | None,
) -> TravelledPlan:
    """What a worker does for a point."""
    memory: Memory = kept("memory", Memory)
    under = problem.with_bounds({constraint: bound})
    start = None if rows is None else Plan(under, policy_of(under, rows))
    until = time.perf_counter() + seconds if seconds < inf else inf
    return TravelledPlan.of(solve(under, stop=Enough(value, gap, until), start=start, memory=memory))
