"""A box of budget allocations: for every activity, limits on each of its costs that a constraint counts.

A solution lies in the box that contains what its activities use; an activity that it does not run may lie
anywhere. Boxes are closed, so neighbours share their face and no solution falls between them.

>>> box = Box(np.array([0.0, 1.0]), np.array([4.0, 2.0]))
>>> left, right = box.split(0, at=1.5)
>>> left.upper.tolist(), right.lower.tolist()
([1.5, 2.0], [1.5, 1.0])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import FloatArray


@dataclass(frozen=True, eq=False)
class Box:
    """Limits for each edge: a pair of an activity and one of its counted costs, in the planning's order.

    Attributes
    ----------
    lower, upper
        The limits, for one execution of the activity.
    """

    lower: FloatArray
    upper: FloatArray

    @property
    def lengths(self) -> FloatArray:
        """The length of each edge; 0 where nothing is left of it."""
        return np.maximum(self.upper - self.lower, 0.0)

    def split(self, edge: int, at: float) -> tuple[Box, Box]:
        """The two parts below and above `at` on `edge`."""
        upper, lower = self.upper.copy(), self.lower.copy()
        upper[edge] = at
        lower[edge] = at
        return Box(self.lower, upper), Box(lower, self.upper)
