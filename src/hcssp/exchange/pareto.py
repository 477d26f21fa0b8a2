r"""Pareto queries: what randomised policies reach of two or three objectives at once.

Policies are found that minimise weighted sums of the objectives. The convex hull of the points that they
reach, whose values were verified, is reached by randomised policies; and a certificate of each weighted sum
bounds all policies from the other side. The next weights are those of the facet of the hull that is farthest
from these bounds, until none is farther than the gap (a sandwich algorithm).

**Reference.** Forejt, Kwiatkowska and Parker, *Pareto curves for probabilistic model checking*, 2012.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from hcssp.cssp.model import FloatArray
from hcssp.exchange.objectives import MARGIN, Decided, Reduced, decide

GAP = 1e-3
"""By default the largest distance between what is reached and the bounds, as a share of the values' range."""

FAR = 10.0
"""How far behind the points the hull goes on, in ranges of the values: worse values can be reached, too."""

ZERO = 1e-9
"""Weights that differ by no more are equal."""


class Front(NamedTuple):
    """The answer to a Pareto query.

    Attributes
    ----------
    points
        The signed costs of policies, as they were verified; none is at most another one.
    bounds
        Weights of the optimised objectives, and what the weighted sum of their signed costs is at least.
    gap
        The distance between the hull of the points and the bounds, as a share of the range of values;
        infinite if there are too few bounds.
    failed
        The answer for weights where no point was proven, and the search ended; None if there are none.
    """

    points: tuple[tuple[Fraction, ...], ...]
    bounds: tuple[tuple[FloatArray, float], ...]
    gap: float
    failed: Decided | None = None


def pareto_front(
    question: Reduced,
    gap: float = GAP,
    time_limit: float | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> Front:
    """The Pareto front of the objectives that are optimised, under the bounds of the others.

    Parameters
    ----------
    question
        The query as a problem.
    gap
        When to stop.
    time_limit
        Seconds for all of it.
    goes_on
        Asked before each search whether to continue.
    """
    deadline = time.perf_counter() + (inf if time_limit is None else time_limit)
    places = question.open
    reached: list[tuple[Fraction, ...]] = []
    bounds: list[tuple[FloatArray, float]] = []
    queue: list[FloatArray] = list(np.eye(len(places)))
    worst = inf
    while queue and goes_on() and (left := deadline - time.perf_counter()) > 0.0:
        weights = queue.pop(0)
        answer = _weighted(question, weights, None if left == inf else left)
        if answer.best is None:
            return Front(_best(reached, places), tuple(bounds), worst, answer)
        reached.append(answer.costs)
        # The costs of the steps are rounded sums.
        lower = float(answer.best)
        bounds.append((weights, lower - MARGIN * (abs(lower) + float(sum(question.greatest)) + 1.0)))
        if not queue:
            worst, further = _farthest(
                np.array([[float(p[i]) for i in places] for p in reached]), bounds, gap
            )
            queue = [] if further is None else [further]
    return Front(_best(reached, places), tuple(bounds), worst)


def _weighted(question: Reduced, weights: FloatArray, time_limit: float | None) -> Decided:
    """The least weighted sum of the optimised objectives; `best` bounds the sum of their signed costs."""
    costs = np.array(question.problem.costs)
    costs[0] = weights @ costs[[1 + place for place in question.open]]
    answer = decide(replace(question, problem=question.problem.derive(costs=costs)), "randomised", time_limit)
    if answer.best is None:
        return answer
    shift = sum(
        (
            Fraction(each) * question.greatest[place]
            for each, place in zip(weights.tolist(), question.open, strict=True)
        ),
        Fraction(0),
    )
    return answer._replace(best=answer.best + question.greatest[question.open[0]] - shift)


def _farthest(
    points: FloatArray, bounds: Sequence[tuple[FloatArray, float]], gap: float
) -> tuple[float, FloatArray | None]:
    """The distance between the hull of points and the bounds, and the weights to use next; None if none help.

    These are those where it is largest, if above the gap and not used before. Distances are in units of the
    ranges of the values.
    """
    scale = np.ptp(points, axis=0)
    scale[scale <= ZERO * (1.0 + np.abs(points).max(axis=0))] = 1.0
    scaled = (points - points.min(axis=0)) / scale
    used = np.array([weights for weights, _ in bounds]) * scale
    least = np.array([lower - weights @ points.min(axis=0) for weights, lower in bounds])
    used, least = used / used.sum(axis=1, keepdims=True), least / used.sum(axis=1)
    far = [scaled + FAR * unit for unit in np.eye(points.shape[1])]
    normals = -ConvexHull(np.concatenate([scaled, *far])).equations[:, :-1]
    normals = np.maximum(normals[(normals >= -ZERO).all(axis=1)], 0.0)
    worst, most, further = 0.0, gap, None
    for weights in normals / normals.sum(axis=1, keepdims=True):
        outside = linprog(weights, A_ub=-used, b_ub=-least, bounds=(None, None))
        distance = float((scaled @ weights).min() - outside.fun)
        worst = max(worst, distance)
        if distance > most and np.abs(used - weights).max(axis=1).min() > ZERO:
            most, further = distance, weights / scale / (weights / scale).sum()
    return worst, further


def _best(reached: Sequence[tuple[Fraction, ...]], places: Sequence[int]) -> tuple[tuple[Fraction, ...], ...]:
    """The points without those that another one is as good as."""
    if not reached:
        return ()
    values = np.array([[float(point[place]) for place in places] for point in reached])
    allowed = ZERO * (1.0 + np.abs(values).max(axis=0))
    kept: list[int] = []
    for n in np.argsort(values.sum(axis=1)).tolist():
        if not any((values[other] <= values[n] + allowed).all() for other in kept):
            kept.append(n)
    return tuple(reached[n] for n in sorted(kept, key=lambda n: tuple(values[n])))
