"""The dual for several constraints: cutting planes, with a small linear program as master.

The master finds the multipliers at which the model of the policies met so far is highest; solving there
gives a new policy, until the value meets the model. Where no mixture of policies keeps the bounds, a master
that minimises the violation gives the weights of a proof.

Reference: Kelley 1960.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import FINER, MAX_ROUNDS, Dual, enough, explore, refute, repeats, settle
from hcssp.dual.master import Master
from hcssp.dual.oracle import Oracle
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance, is_feasible, tolerated
from hcssp.ssp.region import Region


def cut_planes(
    oracle: Oracle,
    region: Region,
    dual: Dual,
    bounded: IntArray,
    start: FloatArray | None,
    cutoff: float = inf,
) -> Iterator[Dual]:
    """Several constraints: Kelley's method with the multipliers in a box that widens while it binds."""
    bounds = tolerated(oracle.bounds)[bounded]
    prices = np.zeros(len(oracle.bounds)) if start is None else start.copy()
    minimum = explore(oracle, region, dual, prices)
    yield dual
    if minimum is None:
        return
    vertex = minimum.vertex
    if not prices.any() and is_feasible(vertex.costs, oracle.bounds):
        settle(dual, [vertex], np.ones(1))
        yield dual
        return
    scale = max(1.0, abs(float(vertex.costs[0])))
    limits = 10.0 * scale / np.maximum(np.abs(bounds), 1e-3)
    master = _fill(Master(len(bounds), limits), dual, bounded, bounds)
    limited, stuck = True, False
    for _ in range(MAX_ROUNDS):
        optimum = master.solve()
        prices = np.zeros(len(oracle.bounds))
        prices[bounded] = optimum.multipliers
        # As precisely as the distance between the model and the bound asks for; exactly where that leads
        # no further.
        precision = 0.0 if stuck else FINER * (optimum.value - dual.bound) / (1.0 + abs(dual.bound))
        minimum = explore(oracle, region, dual, prices, precision)
        if minimum is None:
            yield dual
            return
        master.add(float(minimum.vertex.costs[0]), minimum.vertex.costs[1 + bounded] - bounds)
        used = np.flatnonzero(optimum.mixture > 1e-12)
        # A single policy is the answer only if nothing is missing.
        tolerance = enough(dual, cutoff if len(used) > 1 else inf)
        stuck = repeats(dual)
        if optimum.value - dual.bound <= tolerance or (stuck and precision == 0.0):
            if not limited or optimum.violation <= FEASIBILITY_TOLERANCE * float(
                np.min(np.abs(bounds), initial=1.0)
            ):
                settle(dual, [dual.vertices[k] for k in used], optimum.mixture[used])
            else:
                # The multipliers press against their limits: is there a mixture that keeps the bounds?
                yield from _seek_feasible(oracle, region, dual, bounded)
                if dual.infeasible:
                    return
                limited = False
                # Some room, because HiGHS has tolerances of its own; the bounds come from the oracle anyway.
                bounds = tolerated(bounds)
                master = _fill(Master(len(bounds)), dual, bounded, bounds)
        yield dual
        if dual.converged:
            return
    raise RuntimeError(f"the dual did not converge within {MAX_ROUNDS} rounds")


def _seek_feasible(oracle: Oracle, region: Region, dual: Dual, bounded: IntArray) -> Iterator[Dual]:
    """Either weights that prove that no policy keeps the bounds, or policies whose mixture does."""
    bounds = tolerated(oracle.bounds)[bounded]
    scale = allowance(bounds, 1.0)
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
            refute(dual, oracle, weights[1:], least)
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
