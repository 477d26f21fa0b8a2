r"""Heuristic search of a problem that is never enumerated.

**Problem.** An :class:`~hcssp.cssp.implicit.ImplicitCSSP`: functions, a heuristic for each cost, bounds.
Wanted is the best deterministic policy, with few states expanded.

**Method.** First the Lagrangian dual, as for any problem: at each multiplier the problem is expanded where
the best policy goes (:mod:`hcssp.dual.implicit`), and what is expanded for one multiplier serves all others.
Heuristics for weighted costs are higher there, and only there: if so, the dual is solved a second time
without this knowledge. Then the exact method solves the expanded part (:mod:`hcssp.cssp.expansion`), a
problem of its own in which the rest costs what the heuristic says. If its best policy reaches states that
were not expanded, they are expanded, and the method starts again on the larger part.

**Guarantee.** Every bound on a part is one on the whole if the heuristics are admissible. Incumbents never
leave their part and are evaluated exactly. So the interval is valid at every instant. If finitely many states
matter, the search ends with the best policy.

**References.** Hansen and Zilberstein 2001 (LAO*); Trevizan et al. 2016, 2017 (i-dual, i2-dual); Schmalz and
Trevizan 2024, 2025 (CG-iLAO*, CARL).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from hcssp.contract.progress import Progress, resident_memory
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.expansion import Expansion, lifted
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.dual.ascent import ascend, maximise
from hcssp.dual.implicit import ImplicitOracle, ImplicitPoint
from hcssp.dual.oracles import oracle_of
from hcssp.errors import CostOverflow, ImproperPolicy, OutOfPrecision, UnsupportedProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.methods.policy_branching import PolicySearch
from hcssp.numerics import at_least, may_be_feasible
from hcssp.ssp.guided_expansion import ExpansionParameters
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HeuristicSearch:
    """The method for implicit problems; stop criteria decide how far it goes.

    Attributes
    ----------
    parameters
        What steers the expansion.
    """

    parameters: ExpansionParameters = field(default_factory=ExpansionParameters)
    name = "heuristic-search"
    needs_all_states = False

    def iterate(self, problem: Problem | ImplicitCSSP, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every multiplier and every node.

        Raises
        ------
        UnsupportedProblem
            If the problem is not an implicit one.
        """
        if not isinstance(problem, ImplicitCSSP):
            raise UnsupportedProblem(
                f"heuristic search is for implicit problems, and this is a {type(problem).__name__}; use the "
                "method 'exact'"
            )
        yield from _Search(problem, context or Context(), self.parameters).run()


class _Search:
    """The state of one search."""

    def __init__(self, problem: ImplicitCSSP, context: Context, parameters: ExpansionParameters) -> None:
        self._began = time.perf_counter()
        self._problem = problem
        self._context = context
        self._parameters = parameters
        self._expansion: Expansion = context.memory.expansion(problem)
        self._lower = 0.0
        self._upper = context.known_cost
        self._incumbent: DeterministicPolicy | None = None
        self._prices: FloatArray | None = None
        self._iterations = 0

    def run(self) -> Iterator[Progress]:
        heuristic = self._expansion.weighted_heuristic
        heuristic.apart = False
        yield from self._dual()
        if heuristic.knows_prices:
            # Regions of policies cannot use bounds under prices, so more states must be expanded first.
            heuristic.apart = True
            yield from self._dual()
        while True:
            for step in self._exact():
                yield step
                if step.ending is not None:
                    return

    def _snapshot(self, **more: Any) -> Progress:
        return Progress(
            seconds=time.perf_counter() - self._began,
            iterations=self._iterations,
            # The cost of the incumbent is rounded: no bound may rest on its last digits.
            lower_bound=min(self._lower, at_least(self._upper)),
            upper_bound=inf if self._incumbent is None else self._upper,
            incumbent=self._incumbent,
            prices=self._prices,
            **more,
        )

    def _offer(self, policy: DeterministicPolicy, costs: FloatArray) -> None:
        """Accept a closed policy if it keeps the bounds and is better than the incumbent."""
        if costs[0] >= self._upper or not may_be_feasible(costs, self._problem.bounds):
            return
        policy = lifted(policy, self._expansion.part_of(self._problem))
        try:
            found = evaluate(policy.problem, policy)
        except (CostOverflow, ImproperPolicy) as error:
            logger.info("a policy is not an incumbent: %s", error)
            return
        if found.costs[0] < self._upper and found.keeps_bounds():
            self._upper, self._incumbent = float(found.costs[0]), policy

    def _dual(self) -> Iterator[Progress]:
        """The dual, if every cycle costs something; a snapshot follows each multiplier."""
        parameters, context = self._parameters, self._context
        precision = parameters.precision_share * context.wanted_gap
        oracle = ImplicitOracle(
            self._expansion,
            self._problem.bounds,
            max(precision, parameters.finest),
            self._is_over,
            parameters,
        )
        oracle.proven = self._lower
        try:
            first = oracle.minimise(np.append(1.0, np.zeros(len(oracle.bounds))), Region(), inf)
        except OutOfPrecision as error:
            logger.info("the dual is left to the exact method: %s", error)
            self._lower = max(self._lower, oracle.proven)
            yield self._snapshot()
            return
        if first is not None:
            self._lower = max(self._lower, first.bound)
            self._offer(first.point.policy, first.point.costs)
        yield self._snapshot()
        points, prices = self._among_closed(oracle)
        yield self._snapshot()
        stalled = 0
        for dual in ascend(oracle, Region(), points, prices):
            before = self._lower, self._upper
            self._iterations += 1
            if self._lower < dual.bound < inf:
                self._lower, self._prices = dual.bound, dual.prices
            for point in dual.points[len(points) :]:
                self._offer(point.policy, point.costs)
            yield self._snapshot()
            moved = self._lower - before[0] > precision * self._lower or self._upper < before[1]
            stalled = 0 if moved else stalled + 1
            if stalled == 1 or self._iterations == 1:
                self._among_closed(oracle)
                yield self._snapshot()
            if dual.infeasible or stalled > parameters.stalled_rounds:
                break

    def _is_over(self) -> bool:
        """Whether time or memory is used up; the stop criteria then end the search at the next snapshot."""
        if time.perf_counter() >= self._began + self._context.time_limit:
            return True
        limit = self._context.memory_limit
        return limit < inf and resident_memory() >= limit

    def _among_closed(self, oracle: ImplicitOracle) -> tuple[list[ImplicitPoint], FloatArray | None]:
        """Good policies and multipliers of the closed policies alone, without any expansion."""
        closed, start = oracle.closed(), self._context.prices if self._prices is None else self._prices
        if closed is None or self._is_over():
            return [], start
        dual = maximise(closed, Region(), start=start)
        found, search = list(dual.points), closed.strategies.local_search
        if search is not None and dual.support:
            near = [search.relink(dual.support), search.improve(dual.support[0], 3)]
            found += [point for point in near if point is not None]
        points = [oracle.point(closed, point) for point in found]
        for point in sorted(points, key=lambda point: float(point.costs[0])):
            self._offer(point.policy, point.costs)
        return points, dual.prices if dual.points else start

    def _exact(self) -> Iterator[Progress]:
        """The exact method on the part. If a policy reaches its frontier, that is expanded, and it ends."""
        part, context = self._expansion.part_of(self._problem), self._context
        tips: IntArray = np.zeros(0, dtype=np.int64)
        last: Any = None
        known = replace(context, known_cost=self._upper, prices=self._prices, guide=None)
        search = PolicySearch(oracle_of(part), part, known, began=self._began)
        for step in search.run():
            self._iterations += 1
            bound = min(step.lower_bound, self._upper)
            if bound > self._lower:
                self._lower, self._expansion.proven_under = bound, None
            self._prices = step.prices if step.prices is not None else self._prices
            found = step.incumbent
            if isinstance(found, DeterministicPolicy) and found is not last:
                last = found
                reached = induced_chain(part, found).reached
                tips = np.flatnonzero(reached & part.frontier)
                if not len(tips):
                    closed = DeterministicPolicy(part, np.where(reached, found.rows, NO_ROW))
                    self._offer(closed, evaluate(part, found).costs)
            if step.ending is not None and (len(tips) == 0 or step.infeasible is not None):
                yield self._snapshot(ending=step.ending, infeasible=step.infeasible)
                return
            yield self._snapshot()
            if len(tips):
                logger.info("a policy reaches %d states that were not expanded", len(tips))
                self._expansion.expand(tips)
                return
