"""From the state of a search to the progress it tells."""

from __future__ import annotations

import logging
import time
from math import inf
from typing import Any, Generic
from weakref import WeakSet

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Policy, Progress
from hcssp.contract.proof import Infeasible
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import Oracle
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.dual.vertex import V
from hcssp.errors import CostOverflow, ImproperPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.methods.best_first import BestFirst
from hcssp.methods.careful_costs import careful_evaluation, is_doubtful, is_limited
from hcssp.numerics import excess, is_feasible
from hcssp.procedure.policy import policy_of

logger = logging.getLogger(__name__)

DOUBT = 1e-3
"""A policy is hopeless, however doubtful its costs are, if they are this far from keeping the bounds or from
being better, relatively."""


class Reporter(Generic[V]):
    """Makes snapshots of a best-first search over the policies of an oracle.

    Parameters
    ----------
    problem
        The problem that incumbents are told as policies of; None if nobody wants to hear of them.
    oracle, search, began
        The search, and when its clock was started.

    Attributes
    ----------
    search
        The search.
    iterations, prices, stochastic, workers, open_nodes
        What the next snapshot says of them; the search keeps them up to date.
    """

    def __init__(
        self, problem: Problem | None, oracle: Oracle[V], search: BestFirst[Any, Any], began: float
    ) -> None:
        self._problem = problem
        self._limited = problem is not None and is_limited(problem)
        self._oracle = oracle
        self.search = search
        if problem is not None and problem.reward is not None:
            search.most = problem.reward.most
        self._began = began
        self._lifted: Any = None
        self._policy: Policy | None = None
        # The last incumbent that came as a policy, and not as a vertex.
        self._offered: Policy | None = None
        self._judged: WeakSet[V] = WeakSet()
        self.iterations = 0
        self.prices: FloatArray | None = None
        self.stochastic: StochasticOptimum | None = None
        self.workers: int | None = None
        self.open_nodes: int | None = None

    @property
    def seconds(self) -> float:
        """Since the clock was started."""
        return time.perf_counter() - self._began

    def offer(self, vertex: V) -> None:
        """Take a policy as incumbent if it keeps the bounds and is better."""
        # Regions inherit policies: one that was not good enough before never will be.
        if vertex in self._judged:
            return
        self._judged.add(vertex)
        costs, bounds = vertex.costs, self._oracle.bounds
        if costs[0] * (1.0 - DOUBT) >= self.search.upper_bound or (over := excess(costs, bounds)) > DOUBT:
            return
        kept = is_feasible(costs, bounds)
        # Within the tolerance, the evaluation decides: it divides probabilities by their sum.
        checks = (self._limited or over > 0.0) and kept and costs[0] < self.search.upper_bound
        if self._problem is not None and (checks or is_doubtful(vertex, bounds)):
            careful = careful_evaluation(self._problem, self._oracle, vertex)
            if careful is None:
                return
            costs, kept = careful.costs, careful.keeps_bounds()
        if costs[0] < self.search.upper_bound and kept:
            self.search.offer(float(costs[0]), vertex)

    def offer_policy(self, rows: IntArray) -> bool:
        """Take a policy of the user's problem that somebody else has found, if it is as good as they say.

        What it costs is computed anew, whoever it comes from. Says whether it was taken.
        """
        if self._problem is None:
            raise RuntimeError("a policy of a problem was offered to a search that has none")
        policy = policy_of(self._problem, rows)
        try:
            found = evaluate(self._problem, policy)
        except (CostOverflow, ImproperPolicy) as error:
            logger.info("a policy is no incumbent: %s", error)
            return False
        if not found.keeps_bounds():
            return False
        if not self.search.offer(float(found.costs[0]), policy):
            return False
        self._offered = self._policy = policy
        return True

    def snapshot(
        self, lower_bound: float, ending: Reason | None = None, infeasible: Infeasible | None = None
    ) -> Progress:
        """The progress at this moment; at the end with the reason, and the proof if nothing is feasible."""
        incumbent = self.search.incumbent
        if incumbent is not self._lifted and incumbent is not None:
            # A policy of millions of states is written out once, not with every snapshot.
            self._lifted = incumbent
            if self._problem is not None and incumbent is not self._offered:
                self._policy = policy_of(self._problem, self._oracle.lift(incumbent))
        return Progress(
            seconds=self.seconds,
            iterations=self.iterations,
            # The incumbent's cost is rounded, and no bound is told that only its rounding could prove.
            lower_bound=min(lower_bound, self.search.floor),
            upper_bound=inf if incumbent is None else self.search.upper_bound,
            incumbent=self._policy,
            prices=self.prices,
            stochastic=self.stochastic,
            infeasible=infeasible,
            workers=self.workers,
            open_nodes=len(self.search) if self.open_nodes is None else self.open_nodes,
            ending=None if ending is None else Ending(ending),
        )
