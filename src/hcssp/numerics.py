"""Every tolerance that a claim rests on, once, and the few rules that follow from them.

A bound is *kept* up to :data:`FEASIBILITY_TOLERANCE`. Lower bounds are computed for what is kept in that
sense (:func:`tolerated`), so that they hold for every policy that counts as feasible.
"""

from __future__ import annotations

from math import inf, isfinite

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

OPTIMALITY_TOLERANCE = 1e-6
"""A policy is called optimal once its proven relative gap is at most this."""

FEASIBILITY_TOLERANCE = 1e-9
"""A bound is kept if it is exceeded by no more than this, relative to ``max(1, |bound|)``."""

REEVALUATION_SHARE = 0.999
"""A search keeps bounds up to this share of the feasibility tolerance; the rest is left to the rounding of
whoever evaluates its policies anew."""

PRUNE_TOLERANCE = 1e-9
"""A node within this of the incumbent, relatively, is dropped; the bound remembers it."""

PROBABILITY_TOLERANCE = 1e-9
"""Probabilities may miss a sum of one by no more than this."""


def relative_gap(lower_bound: float, upper_bound: float) -> float:
    """``(upper - lower) / upper``, the relative gap; ``inf`` while either bound is unknown.

    >>> relative_gap(99.0, 100.0)
    0.01

    No cost is negative, so an upper bound of zero leaves nothing open.

    >>> relative_gap(-1e-13, 0.0)
    0.0
    """
    if not (isfinite(lower_bound) and isfinite(upper_bound)):
        return inf
    if upper_bound <= max(lower_bound, 0.0):
        return 0.0
    return (upper_bound - lower_bound) / upper_bound


def allowance(bounds: FloatArray, tolerance: float = FEASIBILITY_TOLERANCE) -> FloatArray:
    """By how much each bound may be exceeded and still counts as kept.

    With a `tolerance` of one it is the scale to which excesses are relative.

    >>> allowance(np.array([0.5, 200.0])).tolist()
    [1e-09, 2e-07]
    """
    allowed: FloatArray = tolerance * np.maximum(1.0, np.abs(bounds))
    return allowed


def tolerated(bounds: FloatArray) -> FloatArray:
    """The largest secondary costs that count as keeping the bounds.

    >>> tolerated(np.array([2.0, np.inf])).tolist()
    [2.000000002, inf]
    """
    largest: FloatArray = bounds + allowance(bounds)
    return largest


def excess(costs: FloatArray, bounds: FloatArray) -> float:
    """By how much a policy's secondary costs exceed their bounds, relative to the documented scale.

    A policy is feasible if this is at most :data:`FEASIBILITY_TOLERANCE`.

    >>> excess(np.array([7.0, 2.5]), np.array([2.0]))
    0.25
    """
    bounded = np.isfinite(bounds)
    if not bounded.any():
        return -inf if not np.any(bounds == -inf) else inf
    return float(np.max((costs[1:][bounded] - bounds[bounded]) / allowance(bounds[bounded], 1.0)))


def is_feasible(costs: FloatArray, bounds: FloatArray) -> bool:
    """Whether the secondary costs keep their bounds, up to the documented tolerance.

    A little of it is left to another evaluation, see :data:`REEVALUATION_SHARE`.

    >>> is_feasible(np.array([7.0, 2.0]), np.array([2.0])), is_feasible(np.array([7.0, 2.1]), np.array([2.0]))
    (True, False)
    """
    return excess(costs, bounds) <= REEVALUATION_SHARE * FEASIBILITY_TOLERANCE
