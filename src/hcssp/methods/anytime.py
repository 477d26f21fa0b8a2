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

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Dual, ascend, lagrangian_bound, optimum_of
from hcssp.dual.flat import Evaluation, FlatOracle, FlatPoint
from hcssp.errors import OutOfPrecision
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter, refuted
from hcssp.numerics import PRUNE_TOLERANCE
from hcssp.ssp.scalar_problem import Region

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
        How policies are evaluated, see :class:`hcssp.dual.flat.FlatOracle`.
    """

    iterations: float = inf
    evaluation: Evaluation = "auto"
    name = "anytime"

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every solved multiplier and every enumerated policy."""
        began = time.perf_counter()
        flat = problem.flat
        oracle = FlatOracle(flat, self.evaluation, affordable=True)
        yield from run_anytime(problem, oracle, self.iterations, began)


def run_anytime(problem: Problem, oracle: FlatOracle, iterations: float, began: float) -> Iterator[Progress]:
    """Both stages on the problem of `oracle`; see :class:`Anytime`."""
    search: BestFirst[None, FlatPoint] = BestFirst()
    reporter = Reporter(problem, oracle, search, began)
    dual: Dual[FlatPoint] = Dual()
    for dual in ascend(oracle, Region()):
        reporter.prices = dual.prices
        for point in dual.points[-1:]:
            reporter.offer(point)
        yield reporter.snapshot(dual.bound)
    if dual.infeasible:
        yield reporter.snapshot(inf, Reason.INFEASIBLE, refuted(oracle, dual))
        return
    reporter.stochastic = optimum_of(dual, oracle)
    for point in dual.support:
        reporter.offer(point)
    if iterations <= 0:
        yield reporter.snapshot(dual.bound, Reason.ITERATIONS)
        return
    yield reporter.snapshot(dual.bound)
    weights = np.append(1.0, dual.prices)
    best = dual.bound
    try:
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
    except OutOfPrecision:
        # What is known so far holds.
        yield reporter.snapshot(best, Reason.ROUNDING)
        return
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
class Rest:
    """What is left of `region` after `point` was taken out: other rows at ``states[position]``."""

    region: Region
    point: FlatPoint
    states: IntArray
    position: int

    def split_off(self, oracle: FlatOracle) -> Region:
        forced = self.point.rows[self.states[: self.position]]
        same = {row for state in self.states[: self.position] for row in _rows_of(oracle, int(state))}
        here = int(self.point.rows[self.states[self.position]])
        return Region(self.region.forbidden | (same - set(forced.tolist())) | {here})


def _rows_of(oracle: FlatOracle, state: int) -> range:
    return range(int(oracle.row_start[state]), int(oracle.row_start[state + 1]))


def next_best(oracle: FlatOracle, weights: FloatArray) -> Iterator[tuple[float, FlatPoint]]:
    """All distinct policies in the order of their certified weighted cost, each with a bound on the rest.

    Regions wait with a cheap bound and are planned only when it is their turn. Policies whose costs differ by
    no more than :data:`~hcssp.numerics.PRUNE_TOLERANCE` come in any order: there may be thousands, one for
    each state that is hardly ever visited, and to sort them all of their regions would have to be planned.

    Yields
    ------
    float
        No policy that comes later costs less, nor does this one.
    FlatPoint
        The policy.
    """
    order = count()
    first = oracle.minimise(weights, Region())
    if first is None:
        return
    heap: list[tuple[float, int, Region | Rest, FlatPoint | None]] = [
        (first.bound, next(order), Region(), first.point)
    ]
    while heap:
        bound, _, region, point = heapq.heappop(heap)
        if isinstance(region, Rest):
            rest, region = region, region.split_off(oracle)
            found = oracle.minimise(weights, region, near=rest.point)
            if found is None:
                continue
            point = found.point
            if found.bound > bound + PRUNE_TOLERANCE * abs(bound):
                heapq.heappush(heap, (found.bound, next(order), region, point))
                continue
        if point is None:
            raise RuntimeError("a planned region without a policy")
        yield bound, point
        base, states, surcharges = oracle.deviations(point, weights, region)
        for position, surcharge in enumerate(surcharges.tolist()):
            rest = Rest(region, point, states, position)
            heapq.heappush(heap, (max(bound, base + surcharge), next(order), rest, None))
