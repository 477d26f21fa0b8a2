"""From the state of a search to the progress it tells."""

from __future__ import annotations

import time
from math import inf
from typing import Any, Generic

from hcssp.contract.progress import Progress
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Infeasibility
from hcssp.dual.oracle import Oracle, V
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.methods.best_first import BestFirst
from hcssp.numerics import is_feasible


class Reporter(Generic[V]):
    """Makes snapshots of a best-first search over the policies of an oracle.

    Attributes
    ----------
    iterations, prices, stochastic
        What the next snapshot says of them; the search keeps them up to date.
    """

    def __init__(self, oracle: Oracle[V], search: BestFirst[Any, V], began: float) -> None:
        self._oracle = oracle
        self._search = search
        self._began = began
        self._lifted: V | None = None
        self._rows: IntArray | None = None
        self.iterations = 0
        self.prices: FloatArray | None = None
        self.stochastic: StochasticOptimum | None = None

    def offer(self, vertex: V) -> None:
        """Take a policy as incumbent if it keeps the bounds and is better."""
        if vertex.costs[0] < self._search.upper_bound and is_feasible(vertex.costs, self._oracle.bounds):
            self._search.offer(float(vertex.costs[0]), vertex)

    def snapshot(
        self, lower_bound: float, finished: str | None = None, infeasibility: Infeasibility | None = None
    ) -> Progress:
        """The progress at this moment, with the proof of infeasibility if there is one."""
        incumbent = self._search.incumbent
        if incumbent is not self._lifted and incumbent is not None:
            # A policy of millions of states is written out once, not with every snapshot.
            self._lifted, self._rows = incumbent, self._oracle.lift(incumbent)
        return Progress(
            seconds=time.perf_counter() - self._began,
            iterations=self.iterations,
            lower_bound=min(lower_bound, self._search.upper_bound),
            upper_bound=inf if incumbent is None else self._search.upper_bound,
            incumbent=self._rows,
            prices=self.prices,
            stochastic=self.stochastic,
            infeasibility=infeasibility,
            finished=finished,
        )
