"""Incumbents of a search, and the progress that it reports.

A search has the costs of a policy up to rounding. If rounding could decide whether a policy keeps a
bound, or is better than the incumbent, the independent evaluation decides
(:func:`hcssp.evaluation.exact.evaluate`).
"""

from __future__ import annotations

import logging
import time
from math import inf
from typing import Any, Generic
from weakref import WeakSet

import numpy as np

from hcssp.contract.progress import Policy, Progress
from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.contract.solver import Problem
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import Extra
from hcssp.deadline import OutOfTime
from hcssp.dual.ascent import Dual, Infeasibility, StochasticOptimum
from hcssp.dual.oracle import Oracle, V, zero_bounds
from hcssp.errors import CostOverflow, ImproperPolicy
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.methods.best_first import BestFirst
from hcssp.numerics import COST_ROUNDING, REEVALUATION_SHARE, allowance, excess, is_feasible, tolerated
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)

HOPELESS = 1e-3
"""A policy is not evaluated again if its costs exceed the bounds, or the incumbent's cost, by more than this
share: no rounding is that large."""


class Reporter(Generic[V]):
    """Accepts incumbents of a best-first search, and makes snapshots of its progress.

    Parameters
    ----------
    problem
        The problem that incumbents are policies of; None if only the oracle is known.
    oracle, search
        The oracle whose policies are searched, and the state of the search.
    began
        The start of the clock, by ``time.perf_counter()``; None for now.

    Attributes
    ----------
    iterations, prices, stochastic, workers, open_nodes
        The content of the next snapshot, which the search updates. If `open_nodes` is None, the nodes of
        `search` are counted.
    """

    def __init__(
        self,
        problem: Problem | None,
        oracle: Oracle[V],
        search: BestFirst[Any, Any],
        began: float | None = None,
    ) -> None:
        self._problem = problem
        self._limited = problem is not None and is_limited(problem)
        self._oracle = oracle
        self._search = search
        if problem is not None and problem.reward is not None:
            search.most = problem.reward.most
        self._began = time.perf_counter() if began is None else began
        self._lifted: Any = None
        self._policy: Policy | None = None
        # The last incumbent that was offered as a policy of the problem.
        self._offered: Policy | None = None
        self._judged: WeakSet[V] = WeakSet()
        self.iterations = 0
        self.prices: FloatArray | None = None
        self.stochastic: StochasticOptimum | None = None
        self.workers: int | None = None
        self.open_nodes: int | None = None

    @property
    def seconds(self) -> float:
        """The time since the clock was started."""
        return time.perf_counter() - self._began

    def offer(self, point: V) -> None:
        """Accept a policy of the oracle as incumbent if it keeps the bounds and is better."""
        # Regions inherit policies: one that was rejected before is rejected again.
        if point in self._judged:
            return
        self._judged.add(point)
        costs, bounds, best = point.costs, self._oracle.bounds, self._search.upper_bound
        if costs[0] * (1.0 - HOPELESS) >= best or (over := excess(costs, bounds)) > HOPELESS:
            return
        kept = is_feasible(costs, bounds)
        # Within the tolerance the evaluation decides, since it normalises probabilities.
        within_tolerance = (self._limited or over > 0.0) and kept and costs[0] < best
        if self._problem is not None and (within_tolerance or is_doubtful(point, bounds)):
            careful = careful_evaluation(self._problem, self._oracle, point)
            if careful is None:
                return
            costs, kept = careful.costs, careful.keeps_bounds()
        if costs[0] < best and kept:
            self._search.offer(float(costs[0]), point)

    def offer_policy(self, rows: IntArray, extra: Extra = ()) -> bool:
        """Evaluate a policy of the problem that was found elsewhere, and accept it if it is better."""
        if self._problem is None:
            raise RuntimeError("a policy of a problem was offered to a search that has none")
        policy = self._problem.policy(rows, extra)
        try:
            found = evaluate(self._problem, policy)
        except (CostOverflow, ImproperPolicy) as error:
            logger.info("a policy is not an incumbent: %s", error)
            return False
        if not found.keeps_bounds() or not self._search.offer(float(found.costs[0]), policy):
            return False
        self._offered = self._policy = policy
        return True

    def snapshot(
        self, lower_bound: float, reason: Reason | None = None, infeasible: Infeasible | None = None
    ) -> Progress:
        """The progress at this moment; at the end with the reason, and the proof if nothing is feasible."""
        incumbent = self._search.incumbent
        if incumbent is not self._lifted and incumbent is not None:
            # A policy of millions of states is lifted once, not for every snapshot.
            self._lifted = incumbent
            if self._problem is not None and incumbent is not self._offered:
                self._policy = self._problem.policy(self._oracle.lift(incumbent))
        return Progress(
            seconds=self.seconds,
            iterations=self.iterations,
            # The incumbent's cost is rounded: no bound is reported that only its rounding could prove.
            lower_bound=min(lower_bound, self._search.floor),
            upper_bound=inf if incumbent is None else self._search.upper_bound,
            incumbent=self._policy,
            prices=self.prices,
            stochastic=self.stochastic,
            infeasible=infeasible,
            workers=self.workers,
            open_nodes=len(self._search) if self.open_nodes is None else self.open_nodes,
            ending=None if reason is None else Ending(reason),
        )


def careful_evaluation(problem: Problem, oracle: Oracle[V], point: V) -> Evaluation | None:
    """The independent evaluation of a policy of `oracle`; None if its costs overflow."""
    try:
        return evaluate(problem, problem.policy(oracle.lift(point)))
    except CostOverflow as error:
        logger.info("a policy is not an incumbent: %s", error)
        return None


def is_limited(problem: Problem) -> bool:
    """Whether a constraint limits each execution; only the evaluation has the number of executions."""
    return any(problem.is_limit(index) and bound < inf for index, bound in enumerate(problem.bounds.tolist()))


def is_doubtful(point: V, bounds: FloatArray) -> bool:
    """Whether rounding may hide the cost of a policy, or on which side of a bound it lies."""
    rounding = point.rounding
    if rounding[0] > COST_ROUNDING * point.costs[0]:
        return True
    distance = np.abs(point.costs[1:] - tolerated(bounds))
    left = (1.0 - REEVALUATION_SHARE) * allowance(bounds)
    return bool(np.any(np.isfinite(bounds) & (distance <= np.maximum(rounding[1:], left))))


def refuted(oracle: Oracle[V], dual: Dual[V]) -> Infeasible:
    """The proof of an infeasible dual, with the least achievable value of a bound that cannot be kept.

    Under a bound of 0 the oracle leaves out all that costs anything (:mod:`hcssp.dual.oracle`).
    If no policy is left, that is a proof without a value; the least value is then computed without bounds.
    """
    if dual.infeasibility is not None:
        return Infeasible(dual.infeasibility)
    bounds = oracle.asked_bounds
    free = oracle.under(np.full(len(bounds), inf))
    try:
        for constraint in zero_bounds(bounds):
            weights = np.zeros(len(bounds))
            weights[constraint] = 1.0
            least = free.minimise(np.append(0.0, weights), Region())
            if least is not None and least.bound > 0.0:
                return Infeasible(Infeasibility(weights, least.bound, 0.0))
    except OutOfTime:
        logger.debug("no time is left to compute the least value of a bound")
    return Infeasible()
