r"""The anytime algorithm for a C-SSP with deterministic policies (Hong and Williams, 2021).

**Problem.** The best deterministic policy under one or several constraints.

**Method.** Stage 1 maximises the Lagrangian dual and gives multipliers :math:`\lambda^*`. Stage 2
enumerates policies :math:`\pi^1, \pi^2, \dots` in non-decreasing :math:`L(\lambda^*, \pi)`: each value is a
lower bound on the optimum, each feasible policy a candidate; it ends when the bound meets the incumbent.
The enumeration is Lawler's and Murty's: the best policy of a region is taken out, and the rest of the
region splits into disjoint regions, one for each state it reaches (the same actions in earlier states,
another one here).

**The number of iterations.** Stage 1 ends with :math:`\pi^1`; every iteration of stage 2 finds the next best
policy. So the paper's :math:`l` counts the policies after :math:`\pi^1`, and :math:`l` iterations look at
:math:`\pi^1, \dots, \pi^{l+1}`. This is what :func:`stage_two` does, for the flat problem and for the paper's
Algorithms 2 and 3 alike.

**Guarantee.** The interval is proven at every instant; with ``iterations=inf`` it closes.

**References.** Hong and Williams 2021; Lawler 1972; Murty 1968.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Generic, TypeVar

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Context
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend, lagrangian_bound
from hcssp.dual.flat_oracle import Evaluation, FlatOracle, FlatVertex
from hcssp.dual.stochastic import optimum_of
from hcssp.methods.best_first import BestFirst
from hcssp.methods.refutation import refuted
from hcssp.methods.reporter import Reporter
from hcssp.procedure.model import HCSSP
from hcssp.ssp.region import Region

Policy = TypeVar("Policy")


@dataclass(frozen=True)
class Anytime:
    """The anytime algorithm.

    Parameters
    ----------
    iterations
        Of stage 2, each of which finds the next best policy (the paper's l, see :func:`stage_two`): 0 is the
        dual alone, ``inf`` goes on to the proof.
    evaluation
        How policies are evaluated, see :class:`hcssp.dual.flat_oracle.FlatOracle`.
    """

    iterations: float = inf
    evaluation: Evaluation = "auto"
    name = "anytime"

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every solved multiplier and every enumerated policy."""
        began = time.perf_counter()
        refuse_implicit(problem, f"the method {self.name!r}")
        flat = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
        oracle = FlatOracle(flat, self.evaluation, affordable=True)
        yield from run_anytime(problem, oracle, self.iterations, began)


def run_anytime(problem: Problem, oracle: FlatOracle, iterations: float, began: float) -> Iterator[Progress]:
    """Both stages on the problem of `oracle`; see :class:`Anytime`."""
    search: BestFirst[None, FlatVertex] = BestFirst()
    reporter = Reporter(problem, oracle, search, began)
    dual: Dual[FlatVertex] = Dual()
    for dual in ascend(oracle, Region()):
        reporter.prices = dual.prices
        for vertex in dual.vertices[-1:]:
            reporter.offer(vertex)
        yield reporter.snapshot(dual.bound)
    if dual.infeasible:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, refuted(oracle, dual))
        return
    reporter.stochastic = optimum_of(dual, oracle)
    for vertex in dual.support:
        reporter.offer(vertex)
    if iterations <= 0:
        yield reporter.snapshot(dual.bound, Reason.ITERATIONS)
        return
    yield reporter.snapshot(dual.bound)
    weights = np.append(1.0, dual.prices)
    best = dual.bound
    for step in stage_two(next_best(oracle, weights), dual.prices, oracle.bounds, iterations):
        reporter.iterations = step.iterations
        best = max(best, step.bound)
        if best >= search.cutoff:
            if search.incumbent is None:
                yield reporter.snapshot(best, Reason.INFEASIBLE, Infeasible())
            else:
                yield reporter.snapshot(best, Reason.PROVED)
            return
        if step.policy is not None:
            reporter.offer(step.policy)
        yield reporter.snapshot(best)
    yield reporter.snapshot(best, Reason.ITERATIONS)


@dataclass(frozen=True)
class StageTwoStep(Generic[Policy]):
    """What stage 2 knows after some iterations.

    Attributes
    ----------
    iterations
        How many.
    bound
        No feasible policy but those of earlier steps costs less; ``inf`` if there is no other.
    policy
        The next best policy, a candidate for the incumbent; None if there is no other.
    """

    iterations: int
    bound: float
    policy: Policy | None


def stage_two(
    ranked: Iterable[tuple[float, Policy]], prices: FloatArray, bounds: FloatArray, iterations: float
) -> Iterator[StageTwoStep[Policy]]:
    r"""Stage 2: policies in the order of their Lagrangian value, for a number of iterations.

    The step of iteration 0 is :math:`\pi^1`, which stage 1 ended with; then come `iterations` more, unless
    all policies have been seen before that.

    Parameters
    ----------
    ranked
        The policies in non-decreasing weighted cost, each with that cost.
    prices
        The multipliers that weigh them.
    bounds
        One for each price.
    iterations
        The paper's l.

    Examples
    --------
    >>> ranked = [(4.0, "first"), (5.0, "second"), (7.0, "third")]
    >>> [step.policy for step in stage_two(ranked, np.zeros(0), np.zeros(0), 1)]
    ['first', 'second']
    >>> [step.bound for step in stage_two(ranked, np.zeros(0), np.zeros(0), 3)]
    [4.0, 5.0, 7.0, inf]
    """
    done = 0
    for done, (value, policy) in enumerate(ranked):
        yield StageTwoStep(done, lagrangian_bound(value, prices, bounds), policy)
        if done >= iterations:
            return
    yield StageTwoStep(done, inf, None)


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
        base, states, surcharges = oracle.deviations(vertex, weights, region)
        for position, surcharge in enumerate(surcharges.tolist()):
            rest = _Rest(region, vertex, states, position)
            heapq.heappush(heap, (max(bound, base + surcharge), next(order), rest, None, None))
