"""What is known of many regions of a procedure at once, each at prices of its own.

A search that is begun with the regions of another one looks at each of them. Most of it is the same in all:
what an activity costs at least where nothing is forbidden is read off its curve for all prices together, and
the choices at the events are the same. Whatever those choices are, the bounds hold; they are good where no
others are better.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.ssp.region import Region

if TYPE_CHECKING:
    from hcssp.dual.procedure_oracle import ProcedureOracle


def glances(oracle: ProcedureOracle, weights: FloatArray, regions: Sequence[Region]) -> FloatArray | None:
    """Lower bounds on what all policies of each region cost under its weights; None if nothing is known so.

    Parameters
    ----------
    oracle
        The problem; every activity counts one cost at most.
    weights
        A row for each region: one for the primary cost, and prices.
    regions
        The policies that are meant.
    """
    values = np.empty((len(oracle.planners), len(regions)))
    for activity, planner in enumerate(oracle.planners):
        known = planner.bounds_at(oracle.prices(activity, weights))
        if known is None:
            return None
        values[activity] = known
    forbidden = np.zeros((oracle.procedure.num_rows, len(regions)), dtype=np.bool_)
    for column, (region, each) in enumerate(zip(regions, weights.tolist(), strict=True)):
        choices, parts = oracle.alike.forbidden(region)
        forbidden[list(choices), column] = True
        for activity, own in parts.items():
            bound = oracle.planners[activity].known_bound(oracle.price(activity, each), own)
            values[activity, column] = max(values[activity, column], bound)
    return oracle.procedure.bounds(np.where(forbidden, inf, oracle.row_costs(values, weights)))
