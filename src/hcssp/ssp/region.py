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

import sys
from array import array
from collections.abc import Iterable

import numpy as np

from hcssp.cssp.model import BoolArray, IntArray


class Region:
    """All policies that never use a row of `forbidden`.

    A search keeps one for each open node, so the rows are packed: four bytes for each, where a set takes ten
    times as much.
    """

    __slots__ = ("_packed",)

    def __init__(self, forbidden: Iterable[int] = ()) -> None:
        self._packed = array("i", sorted(forbidden)).tobytes()

    @property
    def forbidden(self) -> frozenset[int]:
        """The rows that are avoided."""
        return frozenset(memoryview(self._packed).cast("i"))

    @property
    def nbytes(self) -> int:
        """The memory that it takes, about."""
        return sys.getsizeof(self) + sys.getsizeof(self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._packed == other._packed

    def __hash__(self) -> int:
        return hash(self._packed)

    def __repr__(self) -> str:
        return f"Region({sorted(self.forbidden)})"

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
