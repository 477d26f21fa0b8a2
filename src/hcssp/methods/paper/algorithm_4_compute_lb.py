"""Algorithm 4, Compute-LB: a lower bound on the cost of the solutions in a box.

Every activity costs its lower bound under the box's upper limits and uses the box's lower limits;
Procedural-Planning with these estimates bounds every solution of the box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual
from hcssp.methods.paper.algorithm_2_activity_planning import activity_planning
from hcssp.methods.paper.algorithm_3_procedural_planning import procedural_planning
from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance


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
        The dual restricted to the box, which only the mode sharp has.
    """

    value: float
    prices: FloatArray
    executions: FloatArray
    dual: Dual[Any] | None = field(default=None, repr=False)


def compute_lb(instance: Instance, box: Box, iterations: float) -> LowerBound:
    """A lower bound on the cost of every solution of `box`.

    Parameters
    ----------
    instance
        The problem.
    box
        The limits.
    iterations
        Of the second stages: the paper's l.
    """
    primary = np.zeros(len(instance.activities))
    secondary = np.zeros((len(instance.activities), len(instance.bounds)))
    for activity in instance.order:  # line 1
        limits = box.upper[instance.edges_of(activity)]
        answer = activity_planning(instance, activity, limits, iterations)  # line 2
        # Infinite if nothing keeps the limits: then the box holds only procedures that do without.
        primary[activity] = answer.lower_bound  # line 3
    for activity in instance.order:  # line 4
        limits = box.lower[instance.edges_of(activity)]
        secondary[activity] = instance.by_constraint(activity, limits)  # line 5
    found = procedural_planning(instance, primary, secondary, iterations)  # line 6
    return LowerBound(found.lower_bound, found.prices, found.executions)  # line 7
