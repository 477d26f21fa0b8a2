"""Narrower limits to begin with: no activity can use less than its least, nor need it use more than its best.

The lower limit is the least that any policy uses. The upper one is the smaller of the paper's and what the
unconstrained optimum uses: a policy that uses more of the only cost that counts is no cheaper than that. With
several counted costs this does not follow, since more of one may spare another, so there only the lower limit
is sharper.
"""

from __future__ import annotations

import numpy as np

from hcssp.methods.paper.box import Box
from hcssp.methods.paper.instance import Instance
from hcssp.methods.paper.limits import published_limits


def sharp_limits(instance: Instance) -> Box:
    """The box that holds an optimal solution of the problem, if it has any."""
    box = published_limits(instance)
    lower, upper = box.lower.copy(), box.upper.copy()
    for activity, budget in enumerate(instance.activities):
        edges = instance.edges_of(activity)
        lower[edges] = budget.least
        if len(budget.counted) == 1:
            upper[edges] = np.minimum(upper[edges], budget.usage(budget.unconstrained))
    return Box(lower, upper)
