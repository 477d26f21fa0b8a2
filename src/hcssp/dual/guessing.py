"""Which multiplier to solve next, guessed from the policy that is best at the present one.

The multiplier of a region is close to that of the region it is a part of. There a guess
(:mod:`hcssp.dual.foresight`) is better than the lines of policies from afar, which meet far away. It goes a
little beyond where the best policy is expected to change sides, so that policies on both sides are known, and
not beyond where the present policy's line reaches the cutoff: less far nothing can be pruned, and there it is
seen whether anything can.

Only the pace of an ascent depends on it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Generic

import numpy as np

from hcssp.dual.vertex import V

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent

MAX_GUESSES = 2
"""So many multipliers of an ascent are guessed; then one goes where lines meet, which ends for sure."""

BEYOND = 1e-3
"""Where a line reaches the cutoff is aimed at, and this share of the way more: rounding is no matter then."""

OVERSHOOT = 0.1
FARTHER = 16.0
"""The share of what the ascent may leave open that may be lost for being on the other side. Each time that
the policy stays on its side, so many times as much."""

MAX_OVERSHOOT = 0.04
"""The same, as a share of the multiplier, however little is lost."""

STILL = 1e-9
"""A step of less than this share of the multiplier leads nowhere: rows are equally good where it is."""


class Guessing(Generic[V]):
    """Guesses for one ascent.

    Parameters
    ----------
    ascent, index, bound
        What is known of the region, the constraint whose multiplier is looked for, and its bound.
    cutoff
        A bound at which the caller loses interest.
    """

    def __init__(self, ascent: Ascent[V], index: int, bound: float, cutoff: float) -> None:
        self._ascent = ascent
        self._index = index
        self._bound = bound
        self._cutoff = cutoff
        self._left = MAX_GUESSES
        self._stayed = 0
        self._was_broken: bool | None = None

    def beyond(self, met: V, multiplier: float) -> float | None:
        """The next multiplier after one at which `met` is the best policy; None if there is no good guess."""
        excess = float(met.costs[1 + self._index]) - self._bound
        if not self._left or (excess <= 0.0 and multiplier == 0.0):
            return None
        self._left -= 1
        step = self._step(met, multiplier, excess)
        if self._cutoff < inf and excess != 0.0:
            value = float(met.costs[0]) + multiplier * excess
            step = min(step, (1.0 + BEYOND) * (self._cutoff - value) / abs(excess))
        if not STILL * multiplier < step < inf:
            return None
        return multiplier + step if excess > 0.0 else max(multiplier - step, 0.0)

    def _step(self, met: V, multiplier: float, excess: float) -> float:
        """How far it is to the other side, and a little more; ``inf`` if there is none."""
        ascent = self._ascent
        self._stayed = self._stayed + 1 if (excess > 0.0) == self._was_broken else 0
        self._was_broken = excess > 0.0
        prices = np.zeros(len(ascent.oracle.bounds))
        prices[self._index] = multiplier
        turn = ascent.oracle.foresee(met, prices, ascent.region, self._index, excess)
        if turn is None or turn.step == inf:
            return inf
        loss = OVERSHOOT * ascent.tolerance(self._cutoff)
        farthest = MAX_OVERSHOOT * multiplier
        further = min(loss / turn.beyond, farthest) if turn.beyond > 0.0 else farthest
        return turn.step + FARTHER**self._stayed * further
