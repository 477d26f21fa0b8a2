"""How policies differ from a factorised one, and what was learnt about those that were asked for lately.

A search asks for the visits of a policy soon after its values, and comes back to policies that it left a
moment ago. What leads to a policy is therefore kept for a while, with the values that came out of it. The
columns that it was made of are not: they are long, and the small factors say all about them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from scipy.linalg.lapack import dgetrs

from hcssp.cssp.model import FloatArray, IntArray

MAX_RECENT = 16
"""Of so many policies it is kept what leads to them."""

RECENT_MEMORY = 16 * 2**20
"""Bytes that their values may take; where they take more, fewer are kept."""


@dataclass(slots=True)
class PolicyUpdate:
    """How a policy differs from the reference.

    Attributes
    ----------
    states, rows
        Where it takes other rows, and which.
    factors
        Those of the small system ``A_D Z``, see :mod:`hcssp.ssp.policy_system`.
    columns
        The solutions ``Z`` of the reference's system for a unit in each of those states, for whoever asks
        first; None afterwards.
    values
        Those of the policy, once they are known.
    """

    states: IntArray
    rows: IntArray
    factors: tuple[FloatArray, IntArray]
    columns: FloatArray | None
    values: FloatArray | None = None

    def solve(self, right: FloatArray, transposed: bool = False) -> FloatArray:
        """The solution of the small system, or of its transpose."""
        solution: FloatArray
        solution, _ = dgetrs(*self.factors, right, trans=int(transposed))
        return solution


class RecentUpdates:
    """The updates of one reference that were asked for lately.

    >>> import numpy as np
    >>> recent = RecentUpdates(bytes_each=RECENT_MEMORY)
    >>> for row in (7, 8):
    ...     recent.keep(PolicyUpdate(np.array([3]), np.array([row]), (np.eye(1), np.zeros(1)), None))
    >>> [recent.find(np.array([row])) is not None for row in (7, 8)]
    [False, True]

    Parameters
    ----------
    bytes_each
        What the values of a policy take.
    """

    def __init__(self, bytes_each: int) -> None:
        self._most = max(1, min(MAX_RECENT, RECENT_MEMORY // max(1, bytes_each)))
        self._kept: OrderedDict[bytes, PolicyUpdate] = OrderedDict()

    def find(self, rows: IntArray) -> PolicyUpdate | None:
        """The update to the policy that differs from the reference in `rows` alone, if it is kept."""
        key = rows.tobytes()
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, update: PolicyUpdate) -> None:
        """Keep an update, and forget the one that nobody has asked for the longest."""
        if len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        self._kept[update.rows.tobytes()] = update

    def forget(self) -> None:
        """Forget all of them: they led from a reference that is none any more."""
        self._kept.clear()
