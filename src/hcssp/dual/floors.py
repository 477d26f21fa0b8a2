r"""What is known of some policies at some prices bounds them at all others, state by state.

For every state the least weighted cost to go is concave and positively homogeneous in the weights. So a
combination :math:`\sum_k \alpha_k U_k` of potentials for weights :math:`w_k` is one for all weights that are
not below :math:`\sum_k \alpha_k w_k`, and the larger of two potentials is one, too. What holds in a region
holds in every part of it: what the ascent of a region has learnt serves the regions it is split into.

>>> floors = Floors()
>>> floors.add(np.array([1.0, 0.0]), np.array([2.0, 1.0]))
>>> floors.add(np.array([1.0, 4.0]), np.array([6.0, 1.0]))
>>> floors.at(np.array([1.0, 1.0])).tolist()
[3.0, 1.0]
>>> floors.at(np.array([1.0, 8.0])).tolist()
[6.0, 1.0]

Without row 5, more is known of the first state, but only there:

>>> floors.add(np.array([1.0, 1.0]), np.array([3.5, 1.0]), frozenset({5}))
>>> floors.at(np.array([1.0, 1.0]), frozenset({5, 7})).tolist()
[3.5, 1.0]
>>> floors.at(np.array([1.0, 1.0]), frozenset({7})).tolist()
[3.0, 1.0]
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray

MAX_WHOLE = 32
MAX_PARTS = 64
"""So many potentials of all policies are kept, and so many of regions: the latest, since a search goes on
where it has just been."""

NEIGHBOURS = 3
"""Chords are drawn between so many potentials at the nearest prices on either side."""


class _Floor(NamedTuple):
    weights: FloatArray
    values: FloatArray
    forbidden: frozenset[int]


class Floors:
    """Potentials of one problem's regions, under weights with a primary weight of 1."""

    def __init__(self) -> None:
        self._whole: deque[_Floor] = deque(maxlen=MAX_WHOLE)
        self._parts: deque[_Floor] = deque(maxlen=MAX_PARTS)

    def __len__(self) -> int:
        return len(self._whole)

    def add(self, weights: FloatArray, values: FloatArray, forbidden: frozenset[int] = frozenset()) -> None:
        """Keep the potential `values` for `weights`, of the policies that avoid the `forbidden` rows."""
        (self._parts if forbidden else self._whole).append(_Floor(weights, values, forbidden))

    def at(self, weights: FloatArray, forbidden: frozenset[int] = frozenset()) -> FloatArray:
        """The highest potential for `weights` that follows easily from what is known; one is."""
        known = [*self._whole, *(part for part in self._parts if part.forbidden <= forbidden)]
        prices = np.array([floor.weights for floor in known])
        varied = np.flatnonzero((prices != weights).any(axis=0))
        if len(varied) == 0:
            highest: FloatArray = np.max([floor.values for floor in known], axis=0)
            return highest
        if len(varied) == 1:
            values = [floor.values for floor in known]
            return _highest_chord(prices[:, varied[0]], values, float(weights[varied[0]]))
        # Scaled down until no weight is above the wanted one.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(prices > 0.0, weights / prices, 1.0)
        shares = np.minimum(ratios.min(axis=1), 1.0)
        highest = np.zeros(len(known[0].values))
        for share, floor in zip(shares, known, strict=True):
            if share > 0.0:
                np.maximum(highest, share * floor.values, out=highest)
        return highest


def _highest_chord(prices: FloatArray, values: list[FloatArray], price: float) -> FloatArray:
    """Where one weight varies: the highest chord between potentials on either side of it."""
    # Of potentials at the same price, the later ones are of smaller regions, and higher.
    order = np.lexsort((-np.arange(len(prices)), np.abs(prices - price)))
    lower = [index for index in order if prices[index] <= price][:NEIGHBOURS]
    upper = [index for index in order if prices[index] > price][:NEIGHBOURS]
    highest = np.zeros(len(values[0]))
    for low in lower:
        # No cost is negative, so what holds at a lower price holds at a higher one.
        np.maximum(highest, values[low], out=highest)
        for high in upper:
            share = (price - prices[low]) / (prices[high] - prices[low])
            if share > 0.0:
                np.maximum(highest, (1.0 - share) * values[low] + share * values[high], out=highest)
    if not lower:
        for high in upper:
            np.maximum(highest, values[high] * (price / prices[high]), out=highest)
    return highest
