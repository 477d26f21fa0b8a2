"""The dual for one constraint: intersect the lines of the best infeasible and the best feasible policy.

As a function of the multiplier, the Lagrangian value of a policy is a line; the dual is their lower
envelope. Solve where the lines of the two best policies meet, replace one of them, until the value meets
the intersection. As long as what is known already gives new lines, nothing is planned; then as precisely
as the distance between the intersection and the bound asks for.

Reference: Aneja and Nair 1979.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import (
    DUAL_TOLERANCE,
    FINER,
    MAX_ROUNDS,
    Dual,
    enough,
    explore,
    refute,
    repeats,
    settle,
)
from hcssp.dual.oracle import Oracle, Vertex
from hcssp.numerics import tolerated
from hcssp.ssp.region import Region

MAX_MULTIPLIER = 1e9
MAX_RAISES = 3
COARSE = 1e-3
"""How precisely a multiplier is solved before another one is tried, relative to one plus the value."""


def intersect_lines(
    oracle: Oracle, region: Region, dual: Dual, index: int, start: FloatArray | None, cutoff: float = inf
) -> Iterator[Dual]:
    """One constraint: the multiplier at which the model of the known policies is highest."""
    bound = float(tolerated(oracle.bounds)[index])
    multiplier = 0.0 if start is None else float(start[index])
    kept, broken = _best_pair(dual.vertices, index, bound)
    if kept is not None and broken is not None:
        multiplier = _crossing(kept, broken, index)
    lowest_tried, raised, precision = inf, 0, inf
    for _ in range(MAX_ROUNDS):
        prices = np.zeros(len(oracle.bounds))
        prices[index] = multiplier
        model = min((_line(each, multiplier, index, bound) for each in dual.vertices), default=inf)
        minimum = explore(oracle, region, dual, prices, precision)
        if minimum is None:
            yield dual
            return
        value = _line(minimum.vertex, multiplier, index, bound)
        is_new = value < model - DUAL_TOLERANCE * (1.0 + abs(value))
        is_rough = precision == inf and value - minimum.bound > COARSE * (1.0 + abs(value))
        if not is_new and repeats(dual):
            dual.vertices.pop()
        kept, broken = _best_pair(dual.vertices, index, bound)
        if kept is not None and kept.costs[0] - dual.bound <= enough(dual, inf):
            # A feasible policy meets the bound: nothing is left between them.
            settle(dual, [kept], np.ones(1))
        elif kept is not None and broken is not None:
            crossing = _crossing(kept, broken, index)
            distance = _line(kept, crossing, index, bound) - dual.bound
            is_there = not is_new and abs(crossing - multiplier) <= DUAL_TOLERANCE * multiplier
            if distance <= enough(dual, cutoff) or (is_there and precision == 0.0):
                settle(dual, [broken, kept], _mixture(kept, broken, index, bound))
            elif is_there:
                precision = _finer(min(distance / (1.0 + abs(dual.bound)), precision))
            else:
                multiplier, precision = crossing, inf
        elif is_rough:
            # Before going elsewhere, know what is here.
            precision = COARSE
        elif kept is not None and multiplier == 0.0:
            if precision == 0.0:
                settle(dual, [kept], np.ones(1))
            precision = _finer(precision)
        elif kept is not None:
            lowest_tried = min(lowest_tried, multiplier)
            multiplier, precision = (lowest_tried / 4.0 if lowest_tried > 1e-6 else 0.0), inf
        elif raised < MAX_RAISES:
            multiplier, precision = _dearer(minimum.vertex, multiplier, index, bound), inf
            raised += 1
        elif _least_use(oracle, region, dual, index):
            kept, broken = _best_pair(dual.vertices, index, bound)
            if kept is None:
                # Rounding hides on which side of the bound the least use lies; nothing more can be said.
                settle(dual, [dual.vertices[-1]], np.ones(1))
            multiplier = 0.0 if kept is None or broken is None else _crossing(kept, broken, index)
            precision = inf
        yield dual
        if dual.converged or dual.infeasible:
            return
    raise RuntimeError(f"the dual did not converge within {MAX_ROUNDS} rounds")


def _line(vertex: Vertex, multiplier: float, index: int, bound: float) -> float:
    """The Lagrangian value of a policy."""
    return float(vertex.costs[0] + multiplier * (vertex.costs[1 + index] - bound))


def _finer(precision: float) -> float:
    """The next precision to try; exact once there is nothing to be gained from less."""
    finer = FINER * min(precision, 1.0)
    return finer if finer > DUAL_TOLERANCE else 0.0


def _dearer(broken: Vertex, multiplier: float, index: int, bound: float) -> float:
    """A higher multiplier to try while no feasible policy is known.

    The first one prices the excess at the whole primary cost, which most often is a little too much.
    """
    whole = max(abs(float(broken.costs[0])), 1e-9) / max(float(broken.costs[1 + index]) - bound, 1e-9)
    return min(MAX_MULTIPLIER, max(8.0 * multiplier, whole))


def _least_use(oracle: Oracle, region: Region, dual: Dual, index: int) -> bool:
    """Whether the least achievable cost keeps the bound; if not, the region is refuted."""
    bound = float(tolerated(oracle.bounds)[index])
    weights = np.zeros(1 + len(oracle.bounds))
    weights[1 + index] = 1.0
    least = oracle.minimise(weights, region, near=dual.vertices[-1])
    if least is None or least.bound > bound:
        refute(dual, oracle, weights[1:], least)
        return False
    dual.vertices.append(least.vertex)
    return True


def _best_pair(vertices: Sequence[Vertex], index: int, bound: float) -> tuple[Vertex | None, Vertex | None]:
    """The feasible and the infeasible policy whose lines meet where the model is highest."""
    if not vertices:
        return None, None
    costs = np.array([vertex.costs for vertex in vertices])
    cost, slope = costs[:, 0], costs[:, 1 + index] - bound
    keeps = np.flatnonzero(slope <= 0.0)
    breaks = np.flatnonzero(slope > 0.0)
    if len(keeps) == 0:
        return None, vertices[int(breaks[np.argmin(slope[breaks])])]
    if len(breaks) == 0:
        return vertices[int(keeps[np.argmin(cost[keeps])])], None
    # Newton's method on the concave model, from multiplier zero upwards: it ends after finitely many lines.
    kept = int(keeps[np.argmin(cost[keeps])])
    broken = int(breaks[np.argmin(cost[breaks])])
    if cost[kept] <= cost[broken]:
        return vertices[kept], None
    for _ in range(2 * len(vertices) + 2):
        multiplier = (cost[kept] - cost[broken]) / (slope[broken] - slope[kept])
        lines = cost + multiplier * slope
        least = int(np.argmin(lines))
        level = cost[broken] + multiplier * slope[broken]
        if lines[least] >= level - 1e-13 * (1.0 + abs(level)):
            break
        if slope[least] > 0.0:
            broken = least
        else:
            kept = least
        if cost[kept] <= cost[broken]:
            break
    return vertices[kept], vertices[broken]


def _crossing(kept: Vertex, broken: Vertex, index: int) -> float:
    """The multiplier at which both policies have the same Lagrangian value."""
    saved = kept.costs[0] - broken.costs[0]
    return max(0.0, float(saved / (broken.costs[1 + index] - kept.costs[1 + index])))


def _mixture(kept: Vertex, broken: Vertex, index: int, bound: float) -> FloatArray:
    """The weights of (broken, kept) with which the mixture spends exactly the budget."""
    span = broken.costs[1 + index] - kept.costs[1 + index]
    share = float(np.clip((bound - kept.costs[1 + index]) / span, 0.0, 1.0))
    return np.array([share, 1.0 - share])
