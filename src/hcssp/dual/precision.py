"""How precisely multipliers are solved on the way to the dual's maximum.

A multiplier that turns out to be no good need not have been solved exactly. So a search first looks at what
is known already, and asks for more only where it stays, as far as the answer can still matter.

>>> precision = Precision()
>>> precision.value
inf
>>> precision.refine(gap=0.002)
>>> precision.value
0.0001
>>> precision.refine(gap=1e-9)
>>> precision.is_exact
True
"""

from __future__ import annotations

from math import inf

DUAL_TOLERANCE = 1e-9
"""The dual has converged once the model exceeds the certified bound by no more than this share of it. The
bound is certified wherever the ascent ends, so this only decides how tight it is."""

PRECISION_SHARE = 0.05
"""Multipliers are solved to this share of the distance between the model and the bound."""

CUTOFF_SHARE = 0.1
"""With a cutoff, the ascent ends once the model exceeds the bound by no more than this share of what is
missing to the cutoff: such a region is split anyway, and the rest is cheaper to find in its parts."""

UNFORESEEN_SHARE = 0.25
"""The same under one bound, where an oracle cannot tell where the best policy changes sides: the last steps
are taken in the dark, and each costs as much as the first."""

ENDING_SHARE = 0.5
"""Multipliers at which the ascent may end are solved to this share of the distance with which it may."""

COARSE_PRECISION = 1e-3
"""How precisely a multiplier is solved before another one is tried, relative to the value."""

STEP_SHARE = 0.2
"""With a cutoff, it is solved at least to this share of what is missing: a value that leaves more open
neither prunes a region nor teaches anything about it, and the next multiplier is tried for nothing."""


def ending_precision(missing: float, level: float) -> float:
    """How precisely to solve where the ascent of a region may end, to which so much is missing to the cutoff.

    >>> ending_precision(2.0, -100.0) == ENDING_SHARE * CUTOFF_SHARE * 0.02
    True
    >>> ending_precision(2.0, 0.0)
    0.0
    """
    return ENDING_SHARE * CUTOFF_SHARE * missing / abs(level) if level else 0.0


class Precision:
    """The precision of the next solve, relative to the value.

    Attributes
    ----------
    value
        ``inf`` plans nothing of which anything is known; 0 is exact.
    """

    def __init__(self) -> None:
        self.value = inf

    @property
    def is_exact(self) -> bool:
        """Whether the next solve is exact."""
        return self.value == 0.0

    @property
    def is_lookup(self) -> bool:
        """Whether the next solve only looks at what is known."""
        return self.value == inf

    def look_up(self) -> None:
        """Begin anew, for a multiplier that has not been tried."""
        self.value = inf

    def coarsen(self, missing: float = inf) -> None:
        """Ask for a little more than what is known.

        Parameters
        ----------
        missing
            What is missing to the cutoff, relative to the value.
        """
        self.value = min(COARSE_PRECISION, max(STEP_SHARE * missing, DUAL_TOLERANCE))

    def demand(self, precision: float) -> None:
        """Ask for `precision` at once; exactly, if that was not enough."""
        self.value = precision if DUAL_TOLERANCE < precision < self.value else 0.0

    def refine(self, gap: float = inf) -> None:
        """Ask for more than before; exactly, once there is nothing to be gained from less.

        Parameters
        ----------
        gap
            The distance between the model and the bound, relative to the bound.
        """
        finer = PRECISION_SHARE * min(gap, self.value, 1.0)
        self.value = finer if finer > DUAL_TOLERANCE else 0.0
