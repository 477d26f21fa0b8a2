r"""The anytime algorithm for a C-SSP with deterministic policies (Hong and Williams, 2021).

**Problem.** The best deterministic policy under one or several constraints.

**Method.** Stage 1 maximises the Lagrangian dual and gives multipliers :math:`\lambda^*`. Stage 2
enumerates policies :math:`\pi^1, \pi^2, \dots` in non-decreasing :math:`L(\lambda^*, \pi)`: each value is a
lower bound on the optimum, each feasible policy a candidate; it ends when the bound meets the incumbent.
The enumeration is Lawler's and Murty's: the best policy of a region is taken out, and the rest of the
region splits into disjoint regions, one for each state it reaches (the same actions in earlier states,
another one here).

**Guarantee.** The interval is proven at every instant; with ``iterations=inf`` it closes.

**References.** Hong and Williams 2021; Lawler 1972; Murty 1968.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import inf

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend, lagrangian_bound
from hcssp.dual.flat_oracle import Evaluation, FlatOracle, FlatVertex
from hcssp.dual.stochastic import optimum_of
from hcssp.methods.best_first import BestFirst
from hcssp.methods.reporter import Reporter
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.model import HCSSP
from hcssp.ssp.region import Region


@dataclass(frozen=True)
class Anytime:
    """The anytime algorithm.

    Parameters
    ----------
    iterations
        How many policies stage 2 enumerates (the paper's l): 0 is the dual alone, ``inf`` goes on to the
        proof.
    evaluation
        How policies are evaluated, see :class:`hcssp.dual.flat_oracle.FlatOracle`.
    """

    iterations: float = inf
    evaluation: Evaluation = "auto"
    name = "anytime"

    def iterate(self, problem: CSSP | HCSSP) -> Iterator[Progress]:
        """Yield progress after every solved multiplier and every enumerated policy."""
        began = time.perf_counter()
        flat = Flattening(problem).cssp if isinstance(problem, HCSSP) else problem
        yield from run_anytime(FlatOracle(flat, self.evaluation), self.iterations, began)


def run_anytime(oracle: FlatOracle, iterations: float, began: float) -> Iterator[Progress]:
    """Both stages on the problem of `oracle`; see :class:`Anytime`."""
    search: BestFirst[None, FlatVertex] = BestFirst()
    reporter = Reporter(oracle, search, began)
    dual: Dual[FlatVertex] = Dual()
    for dual in ascend(oracle, Region()):
        reporter.prices = dual.prices
        for vertex in dual.vertices[-1:]:
            reporter.offer(vertex)
        yield reporter.snapshot(dual.bound)
    if dual.infeasible:
        yield reporter.snapshot(inf, "infeasible", dual.infeasibility)
        return
    reporter.stochastic = optimum_of(dual, oracle)
    for vertex in dual.support:
        reporter.offer(vertex)
    yield reporter.snapshot(dual.bound, None if iterations > 0 else "iterations")
    weights = np.append(1.0, dual.prices)
    best = dual.bound
    for value, vertex in next_best(oracle, weights):
        if reporter.iterations >= iterations:
            yield reporter.snapshot(best, "iterations")
            return
        reporter.iterations += 1
        best = max(best, lagrangian_bound(value, dual.prices, oracle.bounds))
        if best >= search.cutoff:
            yield reporter.snapshot(best, "proved")
            return
        reporter.offer(vertex)
        yield reporter.snapshot(best)
    yield reporter.snapshot(inf, "infeasible" if search.incumbent is None else "proved")


@dataclass(frozen=True, eq=False)
class _Rest:
    """What is left of `region` after `vertex` was taken out: other rows at ``states[position]``."""

    region: Region
    vertex: FlatVertex
    states: IntArray
    position: int

    def split_off(self, oracle: FlatOracle) -> Region:
        forced = self.vertex.rows[self.states[: self.position]]
        same = {row for state in self.states[: self.position] for row in _rows_of(oracle, int(state))}
        here = int(self.vertex.rows[self.states[self.position]])
        return Region(self.region.forbidden | (same - set(forced.tolist())) | {here})


def _rows_of(oracle: FlatOracle, state: int) -> range:
    return range(int(oracle.row_start[state]), int(oracle.row_start[state + 1]))


def next_best(oracle: FlatOracle, weights: FloatArray) -> Iterator[tuple[float, FlatVertex]]:
    """All distinct policies in non-decreasing certified weighted cost, each with that cost.

    Regions wait with a cheap bound and are planned only when it is their turn.
    """
    order = count()
    first = oracle.minimise(weights, Region())
    if first is None:
        return
    heap: list[tuple[float, int, _Rest | None, Region | None, FlatVertex | None]] = [
        (first.bound, next(order), None, Region(), first.vertex)
    ]
    while heap:
        bound, _, rest, region, vertex = heapq.heappop(heap)
        if rest is not None:
            region = rest.split_off(oracle)
            found = oracle.minimise(weights, region, near=rest.vertex)
            if found is not None:
                heapq.heappush(heap, (max(found.bound, bound), next(order), None, region, found.vertex))
            continue
        if region is None or vertex is None:
            raise RuntimeError("a planned region without a policy")
        yield bound, vertex
        states, surcharges = oracle.deviations(vertex, weights, region)
        for position, surcharge in enumerate(surcharges.tolist()):
            rest = _Rest(region, vertex, states, position)
            heapq.heappush(heap, (bound + surcharge, next(order), rest, None, None))
