r"""The anytime algorithm for a C-SSP with deterministic policies (Hong and Williams, 2021).

**Problem.** The best deterministic policy under one or several constraints.

**Method.** Stage 1 maximises the Lagrangian dual and gives multipliers :math:`\lambda^*`. Stage 2
enumerates policies :math:`\pi^1, \pi^2, \dots` in non-decreasing :math:`L(\lambda^*, \pi)`: each value is a
lower bound on the optimum, each feasible policy a candidate; it ends when the bound meets the incumbent.
The enumeration is Lawler's and Murty's: the best policy of a region is taken out, and the rest of the
region splits into disjoint regions, one for each state it reaches (the same actions in earlier states,
another one here).

**Procedures.** Where budgets alone tie activities together, both stages work activity by activity: a policy
costs what its choices cost with every activity at its best, plus what the activities' policies cost more than
that. So choices and the policies of each activity are ranked by themselves
(:func:`next_best_of_procedure`), and the flat problem is never built. Other procedures are flattened.

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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np

from hcssp.contract.progress import MetPolicy, Progress
from hcssp.contract.proof import Infeasible, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.ascent import Dual, ascend, lagrangian_bound, optimum_of
from hcssp.dual.event_chain import events_as_cssp
from hcssp.dual.flat import Evaluation, FlatOracle, FlatPoint
from hcssp.dual.oracle import Oracle, V
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.value_cache import ActivityPlan
from hcssp.errors import OutOfPrecision
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter, refuted
from hcssp.numerics import PRUNE_TOLERANCE
from hcssp.procedure.model import HCSSP
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region

Policy = TypeVar("Policy")
AnyOracle = TypeVar("AnyOracle", bound=Oracle[Any])


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
        if isinstance(problem, HCSSP):
            oracle = (context or Context()).memory.oracle(problem, self.evaluation)
            if isinstance(oracle, ProcedureOracle) and not oracle.zeros and oracle.choice_costs is None:
                yield from _run(problem, oracle, next_best_of_procedure, self.iterations, began)
                return
        flat = FlatOracle(problem.flat, self.evaluation, affordable=True)
        yield from _run(problem, flat, next_best, self.iterations, began)


def _run(
    problem: Problem,
    oracle: AnyOracle,
    ranked: Callable[[AnyOracle, FloatArray], Iterator[tuple[float, V]]],
    iterations: float,
    began: float,
) -> Iterator[Progress]:
    """Both stages on the problem of `oracle`, whose policies are `ranked` under weights."""
    search: BestFirst[None, V] = BestFirst()
    reporter = Reporter(problem, oracle, search, began)
    dual: Dual[V] = Dual()
    for dual in ascend(oracle, Region()):
        reporter.prices = dual.prices
        met = None
        for point in dual.points[-1:]:
            reporter.offer(point)
            met = MetPolicy(point.costs, None)
        yield replace(reporter.snapshot(dual.bound), met=met)
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
        for step in stage_two(ranked(oracle, weights), dual.prices, oracle.bounds, iterations):
            reporter.iterations = step.iterations
            best = max(best, step.bound)
            met = None
            if step.policy is not None:
                met = MetPolicy(step.policy.costs, step.iterations + 1)
            if best >= search.cutoff:
                if search.incumbent is None:
                    yield reporter.snapshot(best, Reason.INFEASIBLE, Infeasible())
                else:
                    yield replace(reporter.snapshot(best, Reason.PROVED), met=met)
                return
            if step.policy is not None:
                reporter.offer(step.policy)
            yield replace(reporter.snapshot(best), met=met)
    except OutOfPrecision:
        # The bounds so far are valid.
        yield reporter.snapshot(best, Reason.ROUNDING)
        return
    yield reporter.snapshot(best, Reason.ITERATIONS)


@dataclass(frozen=True)
class StageTwoStep(Generic[Policy]):
    """The state of stage 2 after some iterations.

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
    """The rest of `region` without `point`: other rows at ``states[position]``."""

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


class _Ranking:
    """The policies of an activity in the order of their cost, as far as they were asked for."""

    def __init__(self, oracle: ProcedureOracle, activity: int, weights: FloatArray) -> None:
        flat = FlatOracle(oracle.flattening.problem.activities[activity].cssp)
        self._ranked = next_best(flat, oracle.own_weights(activity, weights))
        self._plan_from = oracle.planners[activity].plan_from
        self._found: list[tuple[float, ActivityPlan]] = []

    def at(self, position: int) -> tuple[float, ActivityPlan] | None:
        """A bound on this policy and all later ones, and its plan; None if there are fewer."""
        while len(self._found) <= position:
            found = next(self._ranked, None)
            if found is None:
                return None
            self._found.append((found[0], self._plan_from(found[1].rows)))
        return self._found[position]


def next_best_of_procedure(
    oracle: ProcedureOracle, weights: FloatArray
) -> Iterator[tuple[float, ProcedurePoint]]:
    """As :func:`next_best`, for a procedure whose activities nothing but budgets ties together.

    With given choices the policies of its activities are combined in the order of their sum: each combination
    is followed by those that have the next policy of one activity, the last one that has not its best, or a
    later one.
    """
    rankings: dict[int, _Ranking] = {}

    def ranking(activity: int) -> _Ranking:
        if activity not in rankings:
            rankings[activity] = _Ranking(oracle, activity, weights)
        return rankings[activity]

    procedure, order = oracle.procedure, count()
    best = [
        planner.plan(oracle.own_weights(k, weights), frozenset()) for k, planner in enumerate(oracle.planners)
    ]
    values = np.array([0.0 if each is None else max(0.0, each.lower) for each in best])
    row_costs = oracle.row_costs(values, weights) * (1.0 - 4.0 * ROUNDINGS)
    usable = ~procedure.rows_that_run(np.array([each is None for each in best]))
    events, rows = events_as_cssp(oracle.flattening, row_costs[np.newaxis], np.zeros(0), usable)
    flat = FlatOracle(events)
    ranked_choices = next_best(flat, np.ones(1))
    waiting = next(ranked_choices, None)
    heap: list[tuple[float, int, IntArray, tuple[int, ...]]] = []
    proven = -inf

    def push(choices: IntArray, positions: tuple[int, ...]) -> None:
        executions = procedure.executions_at_least(choices)
        total = 0.0
        for activity, position in zip(np.flatnonzero(executions > 0.0).tolist(), positions, strict=True):
            found = ranking(activity).at(position)
            if found is None:
                return
            total += float(executions[activity]) * max(0.0, found[0]) * (1.0 - 4.0 * ROUNDINGS)
        heapq.heappush(heap, (total * (1.0 - len(positions) * ROUNDINGS), next(order), choices, positions))

    while heap or waiting is not None:
        if waiting is not None and (not heap or waiting[0] <= heap[0][0]):
            taken = flat.lift(waiting[1])
            choices = np.where(taken == NO_ROW, NO_ROW, rows[taken])
            push(choices, (0,) * int(np.count_nonzero(procedure.executions_at_least(choices) > 0.0)))
            waiting = next(ranked_choices, None)
            continue
        value, _, choices, positions = heapq.heappop(heap)
        # What was proven of all that was left stays proven; the sums are rounded down.
        proven = max(proven, value)
        plans: list[ActivityPlan | None] = [None] * len(oracle.planners)
        executed = np.flatnonzero(procedure.executions_at_least(choices) > 0.0).tolist()
        for activity, position in zip(executed, positions, strict=True):
            found = ranking(activity).at(position)
            plans[activity] = None if found is None else found[1]
        point = oracle.point_of(choices, tuple(plans))
        if point is not None:
            yield proven, point
        moved = [each for each, position in enumerate(positions) if position]
        for each in range(moved[-1] if moved else 0, len(positions)):
            push(choices, (*positions[:each], positions[each] + 1, *positions[each + 1 :]))
