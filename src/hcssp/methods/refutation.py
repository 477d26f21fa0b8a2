"""Why no policy keeps the bounds, where the dual of the whole has shown it.

Under a bound of 0 whatever costs some of what it counts is taken out of the problem
(:mod:`hcssp.dual.affordable_oracle`), and a dual finds that nothing is left. That is a proof, but it does not
tell how much would do; the least that any policy costs does.
"""

from __future__ import annotations

from math import inf

import numpy as np

from hcssp.contract.proof import Infeasible
from hcssp.deadline import OutOfTime
from hcssp.dual.affordable_oracle import zero_bounds
from hcssp.dual.ascent import Dual, Infeasibility
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import V
from hcssp.ssp.region import Region


def refuted(oracle: Oracle[V], dual: Dual[V]) -> Infeasible:
    """The proof of a dual that is infeasible, with what a bound of 0 would have to be instead."""
    if dual.infeasibility is not None:
        return Infeasible(dual.infeasibility)
    try:
        return Infeasible(_least_of_nothing(oracle))
    except OutOfTime:
        # It is proven without.
        return Infeasible()


def _least_of_nothing(oracle: Oracle[V]) -> Infeasibility | None:
    """A bound of 0 that no policy keeps, whatever the others are; None if each can be kept alone."""
    bounds = oracle.asked_bounds
    free = oracle.under(np.full(len(bounds), inf))
    for constraint in zero_bounds(bounds):
        weights = np.zeros(len(bounds))
        weights[constraint] = 1.0
        least = free.minimise(np.append(0.0, weights), Region())
        if least is not None and least.bound > 0.0:
            return Infeasibility(weights, least.bound, 0.0)
    return None
