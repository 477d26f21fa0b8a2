"""Algorithm 4, Compute-LB: a lower bound on the cost of the solutions in a box.

**paper.** Every activity costs its lower bound under the box's upper limits and uses the box's lower limits;
Procedural-Planning with these estimates bounds every solution of the box.

**sharp.** The hierarchical dual restricted to the box (:mod:`hcssp.methods.paper.box_dual`),
which lets no activity have the cost of one limit and the use of the other. With l = 0 it is never below the
paper's bound; with l > 0 the procedure's second stage may lift the paper's above it, and the larger is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Literal

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.methods.paper.activity_planning import activity_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.box_dual import BoxOracle, BoxVertex
from hcssp.methods.paper.planning import ActivityAnswer, Planning
from hcssp.methods.paper.procedural_planning import procedural_planning
from hcssp.numerics import FEASIBILITY_TOLERANCE
from hcssp.ssp.region import Region

LowerBoundKind = Literal["sharp", "paper"]

MAX_ASCENT = 300


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on a box, and what it was made of.

    Attributes
    ----------
    value
        The bound; ``inf`` if the box holds no solution that is needed.
    prices
        Multipliers of the constraints.
    executions
        How often the procedures that carry the bound run each activity, in expectation.
    dual
        The dual restricted to the box, where it was asked for.
    """

    value: float
    prices: FloatArray
    executions: FloatArray
    dual: Dual[BoxVertex] | None = field(default=None, repr=False)


def compute_lb(
    planning: Planning,
    box: Box,
    iterations: float,
    kind: LowerBoundKind = "sharp",
    start: FloatArray | None = None,
    cutoff: float = inf,
) -> LowerBound:
    """A lower bound on the cost of every solution of `box`, or of one that is as good as it.

    Parameters
    ----------
    planning
        The problem and what is known about it.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    kind
        Which bound.
    start
        Multipliers near the answer, such as those of a larger box.
    cutoff
        A bound at which the caller loses interest.
    """
    answers: list[ActivityAnswer | None] = [None] * planning.problem.num_activities
    primary = np.full(planning.problem.num_activities, inf)
    secondary = np.zeros((planning.problem.num_activities, len(planning.bounds)))
    for activity in planning.order:
        edges = planning.edges_of(activity)
        answer = activity_planning(planning, activity, box.upper[edges], iterations)
        if np.isfinite(answer.lower_bound) and not _is_dominated(planning, activity, box, answer):
            answers[activity] = answer
            primary[activity] = answer.lower_bound
            secondary[activity] = planning.by_constraint(activity, box.lower[edges])
    if kind == "paper":
        found = procedural_planning(planning, primary, secondary, iterations, start)
        return LowerBound(found.lower_bound, found.prices, found.executions)
    sharp = _restricted_dual(planning, box, answers, start, cutoff)
    if iterations == 0 or sharp.value >= cutoff:
        return sharp
    found = procedural_planning(planning, primary, secondary, iterations, start)
    executions = np.maximum(sharp.executions, found.executions)
    return LowerBound(max(sharp.value, found.lower_bound), sharp.prices, executions, sharp.dual)


def _restricted_dual(
    planning: Planning,
    box: Box,
    answers: list[ActivityAnswer | None],
    start: FloatArray | None,
    cutoff: float,
) -> LowerBound:
    dual: Dual[BoxVertex] = Dual(prices=np.zeros(len(planning.bounds)))
    # With several counted costs the planes need not fit together, and the ascent may not settle. The bound
    # it has reached holds all the same.
    for dual in islice(ascend(BoxOracle(planning, box, answers), Region(), start=start), MAX_ASCENT):
        if dual.bound >= cutoff:
            break
    executions = np.zeros(len(answers))
    carrying = dual.support or dual.vertices[-1:]
    weights = dual.mixture if dual.support else np.ones(len(carrying))
    for weight, vertex in zip(weights, carrying, strict=True):
        executions += weight * planning.procedure.executions(vertex.rows)
    return LowerBound(dual.bound, dual.prices, executions, dual)


def _is_dominated(planning: Planning, activity: int, box: Box, answer: ActivityAnswer) -> bool:
    """Whether a plan outside the box is as cheap as anything in it, and uses less.

    Then a solution in the box that runs the activity is not needed: one with that plan is as good.
    """
    if answer.plan is None or not answer.exact:
        return False
    usage = planning.activities[activity].usage(answer.plan)
    lower = box.lower[planning.edges_of(activity)]
    tolerance = FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(lower))
    return bool(np.all(usage <= lower + tolerance) and np.any(usage < lower - 10.0 * tolerance))
