"""A region of policy space: the policies that avoid a set of forbidden rows.

Forcing an action in a state is forbidding the others there, so one set says both. Regions are small
(a search forbids a few rows at a time) and hashable, so that what was learnt about one can be kept.

>>> region = Region().forbid([3, 5])
>>> sorted(region.forbidden)
[3, 5]
>>> Region().forbid([3]) == Region(frozenset({3}))
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import BoolArray, IntArray


@dataclass(frozen=True)
class Region:
    """All policies that never use a row of `forbidden`."""

    forbidden: frozenset[int] = frozenset()

    def forbid(self, rows: Iterable[int]) -> Region:
        """The part of this region that avoids `rows` too."""
        return Region(self.forbidden.union(int(row) for row in rows))

    def force(self, row: int, row_start: IntArray, row_state: IntArray) -> Region:
        """The part of this region that uses `row` in its state."""
        state = row_state[row]
        siblings = range(int(row_start[state]), int(row_start[state + 1]))
        return self.forbid(sibling for sibling in siblings if sibling != row)

    def allowed(self, num_rows: int) -> BoolArray:
        """The region as a mask over all rows."""
        mask = np.ones(num_rows, dtype=np.bool_)
        if self.forbidden:
            mask[list(self.forbidden)] = False
        return mask
