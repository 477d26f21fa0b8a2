r"""The Lagrangian dual of a constrained problem within a region: lower bound, prices, mixture.

**Problem.** :math:`\max_{\lambda \ge 0} L(\lambda)`, where
:math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) - \Delta)` over the policies of a region. Every
:math:`L(\lambda)` is a lower bound on the deterministic optimum; the maximum is the optimum over randomised
policies.

**Method.** One constraint: intersect the lines of the best infeasible and the best feasible policy, solve
at that multiplier, replace one of them, until the value meets the intersection. Several: the same idea with
a linear program as master (Kelley's cutting planes, column generation).

**Guarantee.** The bound reported is the largest *certified* :math:`L(\lambda)` met, whatever the master said.
A region is called infeasible only with weights :math:`w \ge 0` for which the least :math:`w g` exceeds
:math:`w \Delta`.

**References.** Aneja and Nair 1979; Kelley 1960; Altman 1999.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.lagrangian.master import Master
from hcssp.lagrangian.oracle import Minimum, Oracle, Vertex, is_feasible, tolerated
from hcssp.search.progress import Infeasibility
from hcssp.search.result import FEASIBILITY_TOLERANCE
from hcssp.ssp.region import Region

DUAL_TOLERANCE = 1e-9
"""The dual has converged once the model exceeds the certified bound by no more than this, relatively."""

MAX_MULTIPLIER = 1e9
MAX_RAISES = 3
MAX_GUESSES = 20
MAX_ROUNDS = 2_000


@dataclass
class Dual:
    """The state of a dual ascent in one region; all it claims holds at every moment.

    Attributes
    ----------
    bound
        The best certified lower bound; ``inf`` once the region is known to hold no feasible policy.
    prices
        The multipliers that gave it, one for each constraint.
    support, mixture
        The policies that carry the optimum and their weights; empty before the ascent has converged.
    vertices
        All policies of the region met so far.
    infeasibility
        The proof, if no policy of the region can keep the bounds.
    empty
        The region holds no proper policy at all.
    converged
        Whether the bound is the dual's maximum, up to the tolerance.
    """

    bound: float = -inf
    prices: FloatArray = field(default_factory=lambda: np.zeros(0))
    support: tuple[Vertex, ...] = ()
    mixture: FloatArray = field(default_factory=lambda: np.zeros(0))
    vertices: list[Vertex] = field(default_factory=list)
    infeasibility: Infeasibility | None = None
    empty: bool = False
    converged: bool = False

    @property
    def infeasible(self) -> bool:
        """Whether the region is known to hold no feasible policy."""
        return self.empty or self.infeasibility is not None


def maximise(
    oracle: Oracle,
    region: Region,
    known: Sequence[Vertex] = (),
    start: FloatArray | None = None,
    cutoff: float = inf,
) -> Dual:
    """Maximise the dual of `region`; stop early once the bound reaches `cutoff`.

    Parameters
    ----------
    oracle, region
        The problem and the part of its policies that is meant.
    known
        Policies of the region that are known already.
    start
        Multipliers near the answer, such as those of a larger region.
    cutoff
        A bound at which the caller loses interest, such as the incumbent's cost.
    """
    dual = Dual()
    for dual in ascend(oracle, region, known, start):
        if dual.bound >= cutoff:
            break
    return dual


def ascend(
    oracle: Oracle, region: Region, known: Sequence[Vertex] = (), start: FloatArray | None = None
) -> Iterator[Dual]:
    """The ascent step by step, after every solved multiplier; the same object grows.

    See :func:`maximise` for the parameters.
    """
    dual = Dual(prices=np.zeros(len(oracle.bounds)), vertices=list(known))
    bounded = np.flatnonzero(np.isfinite(oracle.bounds))
    if len(bounded) == 0:
        if _explore(oracle, region, dual, np.zeros(len(oracle.bounds))) is not None:
            _settle(dual, [dual.vertices[-1]], np.ones(1))
        yield dual
    elif len(bounded) == 1:
        yield from _intersect_lines(oracle, region, dual, int(bounded[0]), start)
    else:
        yield from _cut_planes(oracle, region, dual, bounded, start)


def _intersect_lines(
    oracle: Oracle, region: Region, dual: Dual, index: int, start: FloatArray | None
) -> Iterator[Dual]:
    """One constraint: the multiplier at which the model of the known policies is highest."""
    bound = float(tolerated(oracle.bounds)[index])
    multiplier = 0.0 if start is None else float(start[index])
    kept, broken = _best_pair(dual.vertices, index, bound)
    if kept is not None and broken is not None:
        multiplier = _foresee(oracle, region, dual, index, bound, _crossing(kept, broken, index))
    lowest_tried, raised = inf, 0
    for _ in range(MAX_ROUNDS):
        prices = np.zeros(len(oracle.bounds))
        prices[index] = multiplier
        minimum = _explore(oracle, region, dual, prices)
        if minimum is None:
            yield dual
            return
        lowest_tried = min(lowest_tried, multiplier)
        kept, broken = _best_pair(dual.vertices, index, bound)
        if kept is not None and kept.costs[0] - dual.bound <= DUAL_TOLERANCE * (1.0 + abs(dual.bound)):
            # A feasible policy meets the bound: nothing is left between them.
            _settle(dual, [kept], np.ones(1))
        elif kept is not None and broken is not None:
            crossing = _crossing(kept, broken, index)
            model = float(kept.costs[0] + crossing * (kept.costs[1 + index] - bound))
            # Where the multiplier does not move any more, the model cannot be told from the bound.
            if crossing == multiplier or model - minimum.bound <= DUAL_TOLERANCE * (1.0 + abs(model)):
                _settle(dual, [broken, kept], _mixture(kept, broken, index, bound))
            else:
                multiplier = _foresee(oracle, region, dual, index, bound, crossing)
        elif kept is not None:
            multiplier = lowest_tried / 4.0 if lowest_tried > 1e-6 else 0.0
        elif raised < MAX_RAISES:
            multiplier = _dearer(minimum.vertex, multiplier, index, bound)
            raised += 1
        elif _least_use(oracle, region, dual, index):
            kept, broken = _best_pair(dual.vertices, index, bound)
            if kept is None or broken is None:
                raise RuntimeError("the least use of a constraint keeps its bound, but its policy does not")
            multiplier = _crossing(kept, broken, index)
        yield dual
        if dual.converged or dual.infeasible:
            return
    raise RuntimeError(f"the dual did not converge within {MAX_ROUNDS} rounds")


def _foresee(
    oracle: Oracle, region: Region, dual: Dual, index: int, bound: float, multiplier: float
) -> float:
    """The multiplier at which the lines of all policies that can be put together from known parts meet.

    A hierarchy knows more policies than it has met: every activity's plans go with every other's.
    """
    kept, broken = _best_pair(dual.vertices, index, bound)
    for _ in range(MAX_GUESSES):
        prices = np.zeros(len(oracle.bounds))
        prices[index] = multiplier
        guess = oracle.guess(np.append(1.0, prices), region)
        if guess is None or kept is None or broken is None:
            break
        model = float(kept.costs[0] + multiplier * (kept.costs[1 + index] - bound))
        value = float(guess.costs[0] + multiplier * (guess.costs[1 + index] - bound))
        if value >= model - DUAL_TOLERANCE * (1.0 + abs(model)):
            break
        dual.vertices.append(guess)
        kept, broken = _best_pair(dual.vertices, index, bound)
        if kept is not None and broken is not None:
            multiplier = _crossing(kept, broken, index)
    return multiplier


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
        _refute(dual, oracle, weights[1:], least)
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


def _cut_planes(
    oracle: Oracle, region: Region, dual: Dual, bounded: IntArray, start: FloatArray | None
) -> Iterator[Dual]:
    """Several constraints: Kelley's method with the multipliers in a box that widens while it binds."""
    bounds = tolerated(oracle.bounds)[bounded]
    prices = np.zeros(len(oracle.bounds)) if start is None else start.copy()
    minimum = _explore(oracle, region, dual, prices)
    yield dual
    if minimum is None:
        return
    vertex = minimum.vertex
    if not prices.any() and is_feasible(vertex.costs, oracle.bounds):
        _settle(dual, [vertex], np.ones(1))
        yield dual
        return
    scale = max(1.0, abs(float(vertex.costs[0])))
    limits = 10.0 * scale / np.maximum(np.abs(bounds), 1e-3)
    master = _fill(Master(len(bounds), limits), dual, bounded, bounds)
    limited = True
    for _ in range(MAX_ROUNDS):
        optimum = master.solve()
        prices = np.zeros(len(oracle.bounds))
        prices[bounded] = optimum.multipliers
        minimum = _explore(oracle, region, dual, prices)
        if minimum is None:
            yield dual
            return
        master.add(float(minimum.vertex.costs[0]), minimum.vertex.costs[1 + bounded] - bounds)
        if optimum.value - minimum.bound <= DUAL_TOLERANCE * (1.0 + abs(optimum.value)) or _repeats(dual):
            if not limited or optimum.violation <= FEASIBILITY_TOLERANCE * float(
                np.min(np.abs(bounds), initial=1.0)
            ):
                used = np.flatnonzero(optimum.mixture > 1e-12)
                _settle(dual, [dual.vertices[k] for k in used], optimum.mixture[used])
            else:
                # The multipliers press against their limits: is there a mixture that keeps the bounds?
                yield from _seek_feasible(oracle, region, dual, bounded)
                if dual.infeasible:
                    return
                limited = False
                # Some room, because HiGHS has tolerances of its own; the bounds come from the oracle anyway.
                bounds = bounds + FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(bounds))
                master = _fill(Master(len(bounds)), dual, bounded, bounds)
        yield dual
        if dual.converged:
            return
    raise RuntimeError(f"the dual did not converge within {MAX_ROUNDS} rounds")


def _seek_feasible(oracle: Oracle, region: Region, dual: Dual, bounded: IntArray) -> Iterator[Dual]:
    """Either weights that prove that no policy keeps the bounds, or policies whose mixture does."""
    bounds = tolerated(oracle.bounds)[bounded]
    scale = np.maximum(1.0, np.abs(bounds))
    master = _fill(Master(len(bounds), feasibility=True), dual, bounded, bounds, scale)
    for _ in range(MAX_ROUNDS):
        optimum = master.solve()
        if optimum.violation <= 1e-3 * FEASIBILITY_TOLERANCE:
            return
        weights = np.zeros(1 + len(oracle.bounds))
        weights[1 + bounded] = optimum.multipliers / scale
        weights /= weights.sum()
        least = oracle.minimise(weights, region, near=dual.vertices[-1])
        allowed = float(weights[1 + bounded] @ bounds)
        if least is None or least.bound > allowed:
            _refute(dual, oracle, weights[1:], least)
            yield dual
            return
        dual.vertices.append(least.vertex)
        master.add(float(least.vertex.costs[0]), (least.vertex.costs[1 + bounded] - bounds) / scale)
        yield dual
    raise RuntimeError(f"feasibility was not decided within {MAX_ROUNDS} rounds")


def _fill(
    master: Master, dual: Dual, bounded: IntArray, bounds: FloatArray, scale: FloatArray | float = 1.0
) -> Master:
    for vertex in dual.vertices:
        master.add(float(vertex.costs[0]), (vertex.costs[1 + bounded] - bounds) / scale)
    return master


def _repeats(dual: Dual) -> bool:
    """Whether the newest policy has the costs of one met before: nothing new is to be learnt."""
    newest = dual.vertices[-1].costs
    tolerance = 1e-13 * (1.0 + np.abs(newest))
    return any(bool(np.all(np.abs(old.costs - newest) <= tolerance)) for old in dual.vertices[:-1])


def _explore(oracle: Oracle, region: Region, dual: Dual, prices: FloatArray) -> Minimum | None:
    """Solve at `prices`, keep the policy met, raise the bound if the value is higher."""
    near = dual.vertices[-1] if dual.vertices else None
    minimum = oracle.minimise(np.append(1.0, prices), region, near=near)
    if minimum is None:
        dual.empty = True
        dual.bound = inf
        return None
    spent = prices > 0.0
    offset = float(prices[spent] @ tolerated(oracle.bounds)[spent])
    value = minimum.bound - offset
    # The subtraction loses digits where the multiplied bounds dwarf the value.
    value -= 4.0 * np.finfo(np.float64).eps * abs(offset)
    dual.vertices.append(minimum.vertex)
    if value > dual.bound:
        dual.bound = value
        dual.prices = prices
    return Minimum(minimum.vertex, value)


def _settle(dual: Dual, support: Sequence[Vertex], mixture: FloatArray) -> None:
    dual.support = tuple(support)
    dual.mixture = mixture
    dual.converged = True


def _refute(dual: Dual, oracle: Oracle, weights: FloatArray, least: Minimum | None) -> None:
    """Record that no policy of the region keeps the bounds under `weights`."""
    dual.bound = inf
    if least is None:
        dual.empty = True
        return
    used = weights > 0.0
    allowed = float(weights[used] @ oracle.bounds[used])
    dual.infeasibility = Infeasibility(weights, least.bound, allowed)
