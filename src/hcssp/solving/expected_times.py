"""How long points of a grid will take, by how long others took: neighbours are about as hard as each other.

Where several work on the points, whoever gets a long one last keeps all the others waiting. So the last few
are not solved in the order of the grid, but those that are expected to take longest come first.

>>> times = ExpectedTimes((2, 4))
>>> times.took(0, 1.0)
>>> times.took(3, 6.0)
>>> [round(times.of(place), 2) for place in (1, 2, 7)], max([4, 5, 6, 7], key=times.of)
([1.69, 5.31, 5.84], 7)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hcssp.cssp.model import FloatArray

LAST_PER_WORKER = 4
"""Once no more than so many points are left for each of those who work, the longest come first."""


class ExpectedTimes:
    """What is known of the times that points take.

    Parameters
    ----------
    shape
        How many values each axis of the grid has; points are numbered row by row, the last axis fastest.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self._shape = tuple(shape)
        self._seconds: dict[int, float] = {}
        self._known: tuple[FloatArray, FloatArray] | None = None

    def took(self, place: int, seconds: float) -> None:
        """A point is done."""
        self._seconds[place] = seconds
        self._known = None

    def of(self, place: int) -> float:
        """How many seconds a point is expected to take; 0.0 if nothing is known yet.

        The mean of all that are done, where one that is twice as far counts for a sixteenth, except close by:
        how hard a point is changes within a few steps, and a single neighbour may be an exception.
        """
        if not self._seconds:
            return 0.0
        if self._known is None:
            self._known = self._positions(list(self._seconds)), np.array(list(self._seconds.values()))
        positions, seconds = self._known
        steps = positions - self._positions([place])
        weights = (1.0 + (steps * steps).sum(axis=1)) ** -2.0
        return float(weights @ seconds / weights.sum())

    def _positions(self, places: list[int]) -> FloatArray:
        return np.array(np.unravel_index(places, self._shape), dtype=float).T
