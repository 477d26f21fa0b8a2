"""The stochastic curve, exactly: the optimum over randomised policies as a function of one bound.

It is convex and piecewise linear, and its slope is minus the price. Two tangents meet in a point that either
lies on the curve, and then is a breakpoint, or shows a piece between them that is not known yet: so all
breakpoints are found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.oracle import Oracle
from hcssp.dual.vertex import Vertex
from hcssp.numerics import OPTIMALITY_TOLERANCE, may_be_feasible, relative_gap
from hcssp.ssp.region import Region

SAME = 2e-9
"""Values, prices and bounds that differ by no more than this share are one."""

TOWARDS_NOTHING, NEXT_TO_NOTHING = 1e-3, 1e-15
"""Under a bound of 0 there is no slope, and what tolerances allow elsewhere may make the curve jump there.
Pieces are then looked for in steps of such shares, down to this share of the largest bound: between there and
0 nothing is to be seen."""


@dataclass(frozen=True)
class Tangent:
    """The curve at a bound and its slope there; whether a mixture of policies reaches it, and those known."""

    bound: float
    value: float
    price: float
    reached: bool
    vertices: tuple[Vertex, ...] = field(repr=False)

    def at(self, bound: float) -> float:
        """Its value at another bound, which the curve is not below."""
        if not isfinite(self.price):
            return self.value if bound == self.bound else -inf
        return self.value - self.price * (bound - self.bound)


def _under(oracle: Oracle[Any], index: int, bound: float) -> Oracle[Any]:
    bounds = oracle.asked_bounds.copy()
    bounds[index] = bound
    return oracle.under(bounds)


def least_use(oracle: Oracle[Any], index: int) -> float:
    """The least achievable value of the constrained cost, whatever the other bounds say."""
    weights = np.zeros(1 + len(oracle.bounds))
    weights[1 + index] = 1.0
    minimum = _under(oracle, index, inf).minimise(weights, Region())
    if minimum is None:
        return inf
    return minimum.bound


def _tangent(oracle: Oracle[Any], index: int, bound: float, known: Sequence[Vertex]) -> Tangent | None:
    there = _under(oracle, index, bound)
    # Under a bound of 0 actions are forbidden instead of priced: what is known there and elsewhere are two
    # things, and what is proven there says nothing about other bounds.
    priced = bound != 0.0
    dual: Dual[Any] = maximise(there, Region(), known=known if priced else ())
    if dual.infeasible:
        return None
    reached = False
    if dual.support:
        mixture = dual.mixture @ np.array([vertex.costs for vertex in dual.support])
        reached = (
            may_be_feasible(mixture, there.bounds)
            and relative_gap(dual.bound, float(mixture[0])) <= OPTIMALITY_TOLERANCE
        )
    price = float(dual.prices[index]) if priced else inf
    return Tangent(bound, dual.bound, price, reached, tuple(dual.vertices) if priced else ())


def tangents_between(
    oracle: Oracle[Any], index: int, asked: Sequence[float], deadline: float
) -> tuple[dict[float, Tangent], bool]:
    """Tangents at all breakpoints between the asked bounds, and at the first and last that can be kept.

    Once the deadline has passed, none is added; whether that was all is answered, too.
    """
    found: dict[float, Tangent] = {}
    high = asked[-1]
    last = _tangent(oracle, index, high, ())
    if last is None:
        return found, True
    found[high] = last
    first, low = last, high
    for low in asked[:-1]:
        # Together with the other bounds, the first ones may be more than can be kept.
        tangent = _tangent(oracle, index, low, last.vertices)
        if tangent is not None:
            first = tangent
            break
    else:
        return found, True
    found[low] = first
    waiting = [(first, last)]
    while waiting:
        left, right = waiting.pop()
        if right.bound - left.bound <= SAME * abs(right.bound) or right.bound <= NEXT_TO_NOTHING * high:
            continue
        meet = _meeting(left, right)
        if meet is None or not left.bound < meet < right.bound:
            continue
        if time.perf_counter() >= deadline:
            return found, False
        known = {id(vertex): vertex for vertex in (*left.vertices, *right.vertices)}
        middle = _tangent(oracle, index, meet, tuple(known.values()))
        if middle is None:
            continue
        found[meet] = middle
        if middle.value > left.at(meet) + _rounding(middle.value, right.price * meet):
            waiting += [(left, middle), (middle, right)]
    return found, True


def _rounding(value: float, worth: float) -> float:
    """What rounding, and the tolerance of a bound that is worth so much, make of a value."""
    return SAME * (abs(value) + abs(worth))


def _meeting(left: Tangent, right: Tangent) -> float | None:
    """Where to look for a piece between two tangents; None if there is none."""
    if not isfinite(left.price):
        # Nothing is known of the slope there; the next piece may go all the way.
        if right.at(left.bound) >= left.value - _rounding(left.value, right.price * right.bound):
            return None
        return TOWARDS_NOTHING * right.bound
    if left.price <= right.price + SAME * left.price:
        return None
    return (left.at(0.0) - right.at(0.0)) / (left.price - right.price)


def pieces_of(tangents: dict[float, Tangent]) -> tuple[FloatArray, FloatArray]:
    """Breakpoints in ascending order, without those in the middle of a straight piece."""
    bounds = sorted(tangents)
    points = np.array([[bound, tangents[bound].value] for bound in bounds]).reshape(-1, 2)
    kept = list(range(len(points)))
    position = 1
    while position < len(kept) - 1:
        before, here, after = points[kept[position - 1]], points[kept[position]], points[kept[position + 1]]
        share = (here[0] - before[0]) / (after[0] - before[0])
        straight = before[1] + share * (after[1] - before[1])
        worth = here[0] * (before[1] - after[1]) / (after[0] - before[0])
        if abs(straight - here[1]) <= _rounding(here[1], worth):
            del kept[position]
        else:
            position += 1
    points = points[kept]
    # Where the least use is next to nothing, a price may be beyond all numbers.
    with np.errstate(over="ignore"):
        prices = -np.diff(points[:, 1]) / np.diff(points[:, 0])
    return points, np.maximum(prices, 0.0)


def on_curve(tangents: dict[float, Tangent], bound: float) -> tuple[float, float | None]:
    """The stochastic optimum at a bound and the price there; at a breakpoint that of more, not of less.

    Below the first tangent no mixture of policies keeps the bounds, which costs ``inf``.
    """
    if not tangents:
        return -inf, None
    if bound < min(tangents):
        return inf, None
    value = max(float(tangent.at(bound)) for tangent in tangents.values())
    near = value - _rounding(value, 0.0)
    price = min(tangent.price for tangent in tangents.values() if tangent.at(bound) >= near)
    return value, price if isfinite(price) else None
