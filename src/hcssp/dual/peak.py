r"""The dual of a region under several bounds, from the peak of all that is known about it.

Where activities are planned one by one, every combination of their known plans is a policy, and the simplex
method finds the highest point of the model of *all of them* in no time (:mod:`hcssp.dual.known_model`). There
the problem is solved, as precisely as one might end with. Either the bound meets the model, or new plans
lower it, and it has another peak.

A region of a search has most of its plans from the region around it, so that two or three solves suffice.
Its multipliers are close to those of the larger region, too, but what is left out of the larger one makes
the peak of what is *known* jump, or rise without end if no mixture of known policies keeps the bounds. So the
peak is looked for within reach of the best multipliers, and farther away each time that it lies at the edge.
If it is not even within the limits of the multipliers, cutting planes go on from what was met
(:mod:`hcssp.dual.several_bounds`).

Reference: Marsten, Hogan and Blankenship 1975 for the reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Generic

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.known_model import LOOK_TOLERANCE, MAX_LOOKS, SUPPORT_TOLERANCE, Model
from hcssp.dual.oracle import KnownBest, KnownVertices
from hcssp.dual.precision import ending_precision
from hcssp.dual.vertex import V

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent, Dual

MAX_STEPS = 30
"""After so many solves it is left to cutting planes."""

REACH = 0.2
FARTHER = 4.0
"""How far multipliers go at first, and how many times as far after each time that the peak was at the edge:
as a share of the largest multiplier, where each is counted by its limit."""

LEAST_REACH = 1e-3
"""What the largest multiplier is at least taken for, as a share of its limit, where all are nearly nought."""


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
        at_edge = peak.is_at_edge
        if at_edge:
            if not peak.reach_farther():
                return
            if peak.level - ascent.bound <= tolerance:
                # Nothing is to be learnt there.
                continue
        elif peak.level - ascent.bound <= tolerance:
            ascent.converge(peak.support(), peak.shares / peak.shares.sum())
            yield ascent.snapshot()
            return
        may_end_roughly = is_mixed or at_edge
        precision = ending_precision(abs(cutoff - peak.level), peak.level) if may_end_roughly else 0.0
        if ascent.explore(peak.prices, precision) is not None and ascent.repeats():
            ascent.vertices.pop()
        yield ascent.snapshot()
        if ascent.decided:
            return


class _Peak(Generic[V]):
    """The highest point of the model within reach.

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
        self._reach = REACH

    def find(self, known: KnownVertices[V]) -> bool:
        """Look for the peak again, among more policies; False if nothing is known."""
        self._confine()
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
    def is_at_edge(self) -> bool:
        """Whether it is higher beyond the reach, as far as known policies can tell."""
        return self._model.is_confined

    def reach_farther(self) -> bool:
        """Look farther away from now on; False if everything was within reach."""
        if self._reach == inf:
            return False
        self._reach *= FARTHER
        return True

    def _confine(self) -> None:
        """Look within reach of the best multipliers only."""
        centre, limits = self._ascent.prices[self._bounded], self._limits
        radius = self._reach * max(float((centre / limits).max()), LEAST_REACH) * limits
        lowest, highest = np.maximum(centre - radius, 0.0), np.minimum(centre + radius, limits)
        if not lowest.any() and np.all(highest == limits):
            self._reach = inf
        self._model.confine(lowest, highest)

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
