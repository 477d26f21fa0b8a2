r"""Algorithm 3, Procedural-Planning: what to choose at the events, given what activities cost.

Both stages are those of the anytime algorithm, on the C-SSP over events of
:mod:`hcssp.methods.paper.estimated_procedure`. Stage 1 is its dual, stage 2 looks at procedures in the order
of their Lagrangian value, for :math:`l` iterations as :func:`hcssp.methods.anytime.stage_two` counts them; an
instance that takes shortcuts proves :math:`l = \infty` by branching on choices instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.methods.anytime import next_best, stage_two
from hcssp.methods.paper.estimated_procedure import EstimatedProcedure, EstimatedVertex
from hcssp.methods.paper.instance import Instance
from hcssp.methods.policy_branching import prove
from hcssp.numerics import at_least, may_be_feasible
from hcssp.ssp.region import Region


@dataclass(frozen=True)
class ProceduralAnswer:
    """What Procedural-Planning returns.

    Attributes
    ----------
    choices
        An event row for each event state of the best procedure found that keeps the bounds, or None.
    lower_bound, upper_bound
        Around the least estimated cost within the bounds; both ``inf`` if nothing keeps them.
    prices
        Multipliers of the constraints from the dual.
    executions
        Expected executions of each activity under the procedures that carry the dual.
    """

    choices: IntArray | None
    lower_bound: float
    upper_bound: float
    prices: FloatArray
    executions: FloatArray


def procedural_planning(
    instance: Instance,
    primary: FloatArray,
    secondary: FloatArray,
    iterations: float,
    start: FloatArray | None = None,
) -> ProceduralAnswer:
    """The best procedure if activities cost what the estimates say.

    Parameters
    ----------
    instance
        The problem.
    primary
        An estimate of each activity's primary cost; ``inf`` for one that must not be run.
    secondary
        For each activity and constraint an estimate of what one execution uses of it.
    iterations
        Of stage 2: the paper's l.
    start
        Multipliers near the answer.
    """
    nothing = np.zeros(len(primary))
    estimated = EstimatedProcedure(instance, primary, secondary)  # line 1
    dual = maximise(estimated, Region(), start=start)  # line 2
    if dual.infeasible:
        return ProceduralAnswer(None, inf, inf, np.zeros(len(instance.bounds)), nothing)
    lower_bound, upper_bound, choices = dual.bound, inf, None
    for vertex in dual.vertices:
        if vertex.costs[0] < upper_bound and may_be_feasible(vertex.costs, instance.bounds):
            upper_bound, choices = float(vertex.costs[0]), vertex.rows
    executions = nothing
    for weight, vertex in zip(dual.mixture, dual.support, strict=True):
        executions = executions + weight * instance.procedure.executions(vertex.rows)
    if iterations > 0 and lower_bound < upper_bound:  # line 3
        lower_bound, upper_bound, choices = _stage_two(  # line 4
            instance, estimated, dual, iterations, upper_bound, choices
        )
    if iterations > 0 and choices is not None and lower_bound >= upper_bound:
        executions = instance.procedure.executions(choices)
    lower_bound = min(lower_bound, at_least(upper_bound))
    return ProceduralAnswer(choices, lower_bound, upper_bound, dual.prices, executions)  # line 5


def _stage_two(
    instance: Instance,
    estimated: EstimatedProcedure,
    dual: Dual[EstimatedVertex],
    iterations: float,
    upper_bound: float,
    choices: IntArray | None,
) -> tuple[float, float, IntArray | None]:
    if iterations == inf and instance.shortcuts:
        return prove(estimated)
    problem, rows = estimated.as_cssp()
    flat = FlatOracle(problem)
    ranked = next_best(flat, np.append(1.0, dual.prices))
    lower_bound = dual.bound
    for step in stage_two(ranked, dual.prices, instance.bounds, iterations):
        lower_bound = max(lower_bound, step.bound)
        if lower_bound >= upper_bound:
            break
        procedure = step.policy
        if (
            procedure is not None
            and procedure.costs[0] < upper_bound
            and may_be_feasible(procedure.costs, instance.bounds)
        ):
            taken = flat.lift(procedure)
            upper_bound = float(procedure.costs[0])
            choices = np.where(taken == NO_ROW, NO_ROW, rows[taken])
    return lower_bound, upper_bound, choices
