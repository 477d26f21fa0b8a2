"""Algorithm 1, Branch-and-Bound over boxes of budget allocations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.cssp.model import FloatArray
from hcssp.dual.procedure_oracle import ProcedureVertex
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.methods.best_first import BestFirst
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.compute_lb import LowerBound, LowerBoundKind, compute_lb
from hcssp.methods.paper.compute_ub import compute_ub
from hcssp.methods.paper.leftover import suggested_solutions
from hcssp.methods.paper.planning import Planning
from hcssp.methods.paper.splitting import split
from hcssp.numerics import PRUNE_TOLERANCE, relative_gap


@dataclass(frozen=True)
class Incumbent:
    """A feasible solution, and the limits it was planned under, one for each edge of a box."""

    solution: ProcedureVertex
    limits: FloatArray


def branch_and_bound(
    planning: Planning,
    root: Box,
    iterations: float,
    epsilon: float,
    kind: LowerBoundKind,
    began: float,
    lower_bound: float = -inf,
    stochastic: StochasticOptimum | None = None,
) -> Iterator[Progress]:
    """Split boxes, best bound first, until the interval is no wider than `epsilon`.

    Parameters
    ----------
    planning
        The problem and what is known about it.
    root
        The allocation space to begin with.
    iterations
        Of the second stages: the paper's l.
    epsilon
        The tolerated difference of both bounds.
    kind
        Which Compute-LB.
    began
        When the solver began.
    lower_bound, stochastic
        What is known about the optimum already.
    """
    search: BestFirst[tuple[Box, LowerBound], Incumbent] = BestFirst(lower_bound)
    prices: FloatArray | None = None
    boxes = 0

    def snapshot(finished: str | None = None) -> Progress:
        incumbent = search.incumbent
        return Progress(
            seconds=time.perf_counter() - began,
            iterations=boxes,
            lower_bound=search.lower_bound,
            upper_bound=search.upper_bound,
            incumbent=None if incumbent is None else planning.oracle.lift(incumbent.solution),
            prices=prices,
            stochastic=stochastic,
            finished=finished,
            details=None if incumbent is None else _budgets(planning, incumbent),
        )

    def examine(box: Box, known: LowerBound) -> LowerBound:
        cost, solution = compute_ub(planning, box, iterations, known.prices)
        if solution is not None:
            search.offer(cost, Incumbent(solution, box.upper))
        bound = compute_lb(planning, box, iterations, kind, known.prices, search.cutoff)
        if bound.dual is not None and bound.value < search.cutoff:
            for solution in suggested_solutions(planning, bound.dual, iterations):
                search.offer(float(solution.costs[0]), Incumbent(solution, _usage(planning, solution)))
        # What holds for the larger box holds for this one.
        search.push(max(bound.value, known.value), (box, bound))
        return bound

    nothing_known = LowerBound(lower_bound, np.zeros(len(planning.bounds)), np.zeros(0))
    prices = examine(root, nothing_known).prices
    boxes += 1
    yield snapshot()
    while len(search) and search.upper_bound - search.lower_bound > epsilon:
        value, (box, bound) = search.pop()
        parts = split(planning, box, root, bound, iterations) if value < search.cutoff else ()
        if not parts:
            search.prune(value)
        for part in parts:
            examine(part, LowerBound(value, bound.prices, bound.executions))
            boxes += 1
        yield snapshot()
    yield snapshot(_reason(search, epsilon))


def _reason(search: BestFirst[tuple[Box, LowerBound], Incumbent], epsilon: float) -> str:
    if search.lower_bound == inf:
        return "infeasible"
    if relative_gap(search.lower_bound, search.upper_bound) <= 2.0 * PRUNE_TOLERANCE:
        return "proved"
    return "epsilon" if search.upper_bound - search.lower_bound <= epsilon else "converged"


def _usage(planning: Planning, solution: ProcedureVertex) -> FloatArray:
    """What each activity of a solution uses: the least limits it could have been planned under."""
    usage = np.zeros(len(planning.edges))
    for activity, plan in enumerate(solution.plans):
        if plan is not None:
            usage[planning.edges_of(activity)] = planning.activities[activity].usage(plan)
    return usage


def _budgets(planning: Planning, incumbent: Incumbent) -> Mapping[str, Mapping[str, float]]:
    """The limits of the activities that the incumbent runs, by activity and constraint."""
    budgets: dict[str, dict[str, float]] = {}
    for index in np.flatnonzero(incumbent.solution.executions > 0.0).tolist():
        limits = incumbent.limits[planning.edges_of(index)]
        share = planning.by_constraint(index, limits)
        budgets[planning.problem.activities[index].name] = {
            planning.problem.constraints[j].name: float(share[j]) for j, _ in planning.counts[index]
        }
    return budgets
