"""The sharper Compute-LB: the hierarchical dual restricted to the box, without what the box does not need.

The paper's bound lets every activity have the cost of its upper limit and the use of its lower one. The
restricted dual (:mod:`hcssp.methods.paper.sharp.box_dual`) does not. With l = 0 it is never below the
paper's; with l > 0 the procedure's second stage may lift the paper's above it, and the larger is taken.

An activity is left out where a plan below its lower limit is as cheap as anything within: a solution that
runs it there is not needed, since one with that plan is as good and lies in another box. So the bound holds
for every solution of the box, or for one outside of it that is as good.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, ascend
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_3_procedural_planning import procedural_planning
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound
from hcssp.methods.paper.answers import ActivityAnswer
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.sharp.box_dual import BoxOracle, BoxVertex
from hcssp.numerics import allowance
from hcssp.ssp.region import Region

MAX_ASCENT = 300
"""With several counted costs the planes need not fit together, and the ascent may not settle. The bound it
has reached by then holds all the same."""


def sharp_lower_bound(
    instance: Instance, box: Box, iterations: float, parent: LowerBound | None = None, cutoff: float = inf
) -> LowerBound:
    """A lower bound on the cost of every solution of `box`, or of one that is as good as it.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    parent
        The bound of a larger box; what holds for that one holds for this one.
    cutoff
        A bound at which the caller loses interest.
    """
    start = None if parent is None else parent.prices
    answers: list[ActivityAnswer | None] = [None] * len(instance.activities)
    primary = np.full(len(answers), inf)
    secondary = np.zeros((len(answers), len(instance.bounds)))
    for activity in instance.order:
        edges = instance.edges_of(activity)
        answer = activity_planning(instance, activity, box.upper[edges], iterations)
        if answer.lower_bound < inf and not is_dominated(instance, activity, box, answer):
            answers[activity] = answer
            primary[activity] = answer.lower_bound
            secondary[activity] = instance.by_constraint(activity, box.lower[edges])
    bound = _restricted_dual(instance, BoxOracle(instance, box, answers), start, cutoff)
    if iterations > 0 and bound.value < cutoff:
        found = procedural_planning(instance, primary, secondary, iterations, start)
        executions = np.maximum(bound.executions, found.executions)
        bound = replace(bound, value=max(bound.value, found.lower_bound), executions=executions)
    return bound if parent is None else replace(bound, value=max(bound.value, parent.value))


def _restricted_dual(
    instance: Instance, oracle: BoxOracle, start: FloatArray | None, cutoff: float
) -> LowerBound:
    dual: Dual[BoxVertex] = Dual(prices=np.zeros(len(instance.bounds)))
    for dual in islice(ascend(oracle, Region(), start=start), MAX_ASCENT):
        if dual.bound >= cutoff:
            break
    executions = np.zeros(len(instance.activities))
    carrying = dual.support or dual.vertices[-1:]
    weights = dual.mixture if dual.support else np.ones(len(carrying))
    for weight, vertex in zip(weights, carrying, strict=True):
        executions += weight * instance.procedure.executions(vertex.rows)
    return LowerBound(dual.bound, dual.prices, executions, dual)


def is_dominated(instance: Instance, activity: int, box: Box, answer: ActivityAnswer) -> bool:
    """Whether a plan outside the box is as cheap as anything in it, and uses less.

    Only a plan that is proven to be the best under the upper limits is.
    """
    if answer.plan is None or not answer.exact:
        return False
    usage = instance.activities[activity].usage(answer.plan)
    lower = box.lower[instance.edges_of(activity)]
    tolerance = allowance(lower)
    return bool(np.all(usage <= lower + tolerance) and np.any(usage < lower - 10.0 * tolerance))
