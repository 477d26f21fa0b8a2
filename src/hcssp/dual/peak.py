r"""The dual of a region under several bounds, from the peak of all that is known about it.

Where activities are planned one by one, every combination of their known plans is a policy, and the simplex
method finds the highest point of the model of *all of them* in no time (:mod:`hcssp.dual.known_model`). There
the problem is solved, as precisely as one might end with. Either the bound meets the model, or new plans
lower it, and it has another peak.

A region of a search has most of its plans from the region around it, so that two or three solves suffice.
While no mixture of known policies keeps the bounds, the peak is far away; then the multipliers rise step by
step, until plans are met that spare more. If that leads nowhere, cutting planes go on from what was met
(:mod:`hcssp.dual.several_bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Generic

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.known_model import LOOK_TOLERANCE, MAX_LOOKS, SUPPORT_TOLERANCE, Model
from hcssp.dual.oracle import KnownBest, KnownVertices, V
from hcssp.dual.precision import ending_precision

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent, Dual

MAX_STEPS = 30
"""After so many solves it is left to cutting planes."""

RISE = 4.0
"""While no known mixture keeps the bounds, multipliers rise to so many times what they were; those that are
nought to FIRST_RISE of their limits."""
FIRST_RISE = 1e-3


def climb(
    ascent: Ascent[V], bounded: IntArray, bounds: FloatArray, limits: FloatArray, cutoff: float
) -> Iterator[Dual[V]]:
    """Maximise a dual whose oracle tells what it knows; it may end undecided.

    Parameters
    ----------
    ascent
        What is known so far: a bound, and a policy at least.
    bounded, bounds
        The constraints with a finite bound, and these.
    limits
        Of their multipliers.
    cutoff
        A finite bound at which the caller loses interest.
    """
    peak = _Peak(ascent, bounded, bounds, limits)
    for _ in range(MAX_STEPS):
        known = ascent.oracle.known_policies(ascent.region)
        if known is None or not peak.find(known):
            return
        # A single policy is the answer only if nothing is missing.
        is_mixed = len(peak.shares) > 1
        tolerance = ascent.tolerance(cutoff if is_mixed else inf)
        if peak.is_kept and peak.level - ascent.bound <= tolerance:
            ascent.converge(peak.support(), peak.shares / peak.shares.sum())
            yield ascent.snapshot()
            return
        prices = peak.prices if peak.is_kept else peak.on_the_way()
        if prices is None:
            return
        precision = ending_precision(abs(cutoff - peak.level), peak.level) if is_mixed else 0.0
        if ascent.explore(prices, precision) is not None and ascent.repeats():
            ascent.vertices.pop()
        yield ascent.snapshot()
        if ascent.decided:
            return


class _Peak(Generic[V]):
    """The highest point of the model.

    Attributes
    ----------
    level, prices
        Its level, and its multipliers, one for each constraint.
    shares
        Those of the policies that carry it.
    """

    def __init__(self, ascent: Ascent[V], bounded: IntArray, bounds: FloatArray, limits: FloatArray) -> None:
        self._ascent, self._bounded, self._limits = ascent, bounded, limits
        self._priced = np.append(0, 1 + bounded)
        self._first = list(ascent.vertices)
        self._met: list[KnownBest[V]] = []
        self._model = Model(bounds, limits, np.array([each.costs[self._priced] for each in self._first]))
        self.level, self.prices, self.shares = -inf, ascent.prices, np.zeros(0)
        self._carriers: list[int] = []
        self._reached = ascent.prices[bounded]

    def find(self, known: KnownVertices[V]) -> bool:
        """Look for the peak again, among more policies; False if nothing is known."""
        model = self._model
        for _ in range(MAX_LOOKS):
            self.level, prices = model.highest()
            self.prices = np.zeros(len(self._ascent.oracle.bounds))
            self.prices[self._bounded] = prices
            found = known.best(np.append(1.0, self.prices))
            if found is None:
                return False
            costs = found.costs[self._priced]
            if model.value(costs, prices) >= self.level - LOOK_TOLERANCE * abs(self.level):
                break
            model.add(costs)
            self._met.append(found)
        carriers, shares = model.mixture()
        used = shares > SUPPORT_TOLERANCE
        self.shares = shares[used]
        self._carriers = [each for each, is_used in zip(carriers, used.tolist(), strict=True) if is_used]
        return True

    @property
    def is_kept(self) -> bool:
        """Whether a mixture of known policies keeps the bounds."""
        return not self._model.is_limited

    def on_the_way(self) -> FloatArray | None:
        """Multipliers on the way to a peak that is far away; None if there are none."""
        bounded, reached = self._bounded, self._reached
        highest = np.where(reached > 0.0, RISE * reached, FIRST_RISE * self._limits)
        if np.all(self.prices[bounded] <= highest):
            return None
        self._reached = np.minimum(self.prices[bounded], highest)
        prices = np.zeros(len(self.prices))
        prices[bounded] = self._reached
        return prices

    def support(self) -> list[V]:
        """The policies that carry the peak; those that are new are added to what the ascent has met."""
        support, vertices = [], self._ascent.vertices
        for index in self._carriers:
            if index < len(self._first):
                support.append(self._first[index])
                continue
            vertices.append(self._met[index - len(self._first)].vertex())
            support.append(vertices[-1])
            if self._ascent.repeats():
                vertices.pop()
        return support
