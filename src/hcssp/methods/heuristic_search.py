r"""Heuristic search of a problem that is never enumerated.

**Problem.** An :class:`~hcssp.cssp.implicit.ImplicitCSSP`: functions, a heuristic for each cost, bounds.
Wanted is the best deterministic policy, with few states expanded.

**Method.** First the Lagrangian dual, as for any problem: at each price the best policy is looked for where
the heuristic leads (:mod:`hcssp.dual.expanding_oracle`), and what is expanded for one price serves all
others. Heuristics that know prices tell more there, and only there: where they do, the dual is solved once
more without it. Then the exact method on the part that was expanded (:mod:`hcssp.cssp.expansion`), a problem
of its own in which the rest costs what the heuristic says. If its best policy comes to states that were not
expanded, they are, and the method begins anew with the larger part.

**Guarantee.** Every bound on a part is one on the whole if the heuristics are right, and incumbents are
policies that never leave their part, evaluated exactly: the interval is valid at every instant. If finitely
many states matter, it ends with the best policy.

**References.** Hansen and Zilberstein 2001 (LAO*); Trevizan et al. 2016, 2017 (i-dual, i2-dual); Schmalz and
Trevizan 2024, 2025 (CG-iLAO*, CARL).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.contract.solver import Context
from hcssp.contract.stop import resident_memory
from hcssp.cssp.expansion import Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.dual.ascent import Dual, ascend
from hcssp.dual.expanding_oracle import ClosedOracle, ExpandedVertex, ExpandingOracle
from hcssp.dual.oracles import oracle_of
from hcssp.errors import CostOverflow, ImproperPolicy, OutOfPrecision, UnsupportedProblem
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.methods.policy_branching import branch
from hcssp.numerics import at_least, is_feasible, may_be_feasible
from hcssp.ssp.region import Region

logger = logging.getLogger(__name__)

PRECISION_SHARE = 0.2
FINEST, COARSEST = 1e-6, 1e-4
"""Prices are solved to this share of the gap that is wanted, within these limits."""

MAX_CLOSED_ROUNDS = 5
"""So many prices are tried among the closed policies before the whole problem is asked."""

STALLED_ROUNDS = 2
"""The dual ends when so many rounds have moved neither end of the interval."""


@dataclass(frozen=True)
class HeuristicSearch:
    """The method for implicit problems; stop criteria decide how far it goes."""

    name = "heuristic-search"

    def iterate(self, problem: Any, context: Context | None = None) -> Iterator[Progress]:
        """Yield progress after every price and every node.

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
        yield from _Search(problem, context or Context()).run()


class _Search:
    """What one search knows."""

    def __init__(self, problem: ImplicitCSSP, context: Context) -> None:
        self._began = time.perf_counter()
        self._problem = problem
        self._context = context
        self._expansion: Expansion = context.memory.expansion(problem)
        self._lower = 0.0
        self._upper = context.known_cost
        self._incumbent: DeterministicPolicy | None = None
        self._prices: FloatArray | None = None
        self._iterations = 0

    def run(self) -> Iterator[Progress]:
        self._expansion.weighted_heuristic.apart = False
        yield from self._dual()
        if self._expansion.weighted_heuristic.knows_prices:
            # What is known under prices is of no use to who splits policies: with less known, more is to be
            # expanded before the exact method begins.
            yield self._snapshot()
            self._expansion.weighted_heuristic.apart = True
            yield from self._dual()
        # Here a search whose time is over ends: the part may be large, and the exact method slow to begin.
        yield self._snapshot()
        while True:
            tips: IntArray = np.zeros(0, dtype=np.int64)
            for step, found in self._exact():
                tips = found
                yield step
                if step.ending is not None:
                    return
            logger.info("a policy comes to %d states that were not expanded", len(tips))
            self._expansion.expand(tips)

    def _snapshot(self, **more: Any) -> Progress:
        return Progress(
            seconds=time.perf_counter() - self._began,
            iterations=self._iterations,
            # The incumbent's cost is rounded, and no bound is told that only its rounding could prove.
            lower_bound=min(self._lower, at_least(self._upper)),
            upper_bound=inf if self._incumbent is None else self._upper,
            incumbent=self._incumbent,
            prices=self._prices,
            **more,
        )

    def _offer(self, costs: FloatArray, rows: IntArray) -> None:
        """Take a closed policy, its rows numbered by the part, if it keeps the bounds and is better."""
        if costs[0] >= self._upper or not may_be_feasible(costs, self._problem.bounds):
            return
        policy = DeterministicPolicy(self._expansion.part_of(self._problem), rows)
        try:
            found = evaluate(policy.problem, policy)
        except (CostOverflow, ImproperPolicy) as error:
            logger.info("a policy is no incumbent: %s", error)
            return
        if found.costs[0] < self._upper and found.keeps_bounds():
            self._upper, self._incumbent = float(found.costs[0]), policy

    def _dual(self) -> Iterator[Progress]:
        """The dual at the prices that its ascent asks for, where every step costs something."""
        wanted = PRECISION_SHARE * self._context.wanted_gap
        oracle = ExpandingOracle(
            self._expansion,
            self._problem.bounds,
            min(max(wanted, FINEST), COARSEST),
            self._is_over,
        )
        oracle.proven = self._lower
        seen, stalled = 0, 0
        try:
            first = oracle.approximate(np.append(1.0, np.zeros(len(oracle.bounds))), Region(), inf)
        except OutOfPrecision as error:
            logger.info("the dual is left to the exact method: %s", error)
            self._lower = max(self._lower, oracle.proven)
            return
        if first is not None:
            self._lower = max(self._lower, first.bound)
            self._offer_vertex(first.vertex)
        yield self._snapshot()
        closed = self._among_closed(oracle)
        yield self._snapshot()
        first_prices = self._context.prices if self._prices is None else self._prices
        for dual in ascend(oracle, Region(), closed.vertices, first_prices):
            before = self._lower, self._upper
            self._iterations += 1
            self._raise(dual)
            for vertex in dual.vertices[seen:]:
                self._offer_vertex(vertex)
            seen = len(dual.vertices)
            yield self._snapshot()
            moved = self._lower - before[0] > wanted * self._lower or self._upper < before[1]
            stalled = 0 if moved else stalled + 1
            if stalled == 1 or self._iterations == 1:
                self._mix(oracle, dual)
                yield self._snapshot()
            if dual.infeasible or (stalled > STALLED_ROUNDS and len(dual.vertices) > 1 + STALLED_ROUNDS):
                break

    def _is_over(self) -> bool:
        """Whether time or memory is used up; the stop criteria say so, once they are asked."""
        if time.perf_counter() >= self._began + self._context.time_limit:
            return True
        limit = self._context.memory_limit
        return limit < inf and resident_memory() >= limit

    def _among_closed(self, oracle: ExpandingOracle) -> Dual[ExpandedVertex]:
        """The dual of the closed policies alone: good prices and policies, without expanding anything."""
        steps = ascend(ClosedOracle(oracle), Region(), start=self._context.prices)
        *_, dual = Dual[ExpandedVertex](), *islice(steps, MAX_CLOSED_ROUNDS)
        for vertex in dual.vertices:
            self._offer_vertex(vertex)
        self._mix(oracle, dual)
        return dual

    def _offer_vertex(self, vertex: ExpandedVertex) -> None:
        rows = np.full(self._expansion.num_states + 1, NO_ROW, dtype=np.int64)
        acting = np.flatnonzero(vertex.rows != NO_ROW)
        rows[acting] = self._expansion.part_rows()[vertex.rows[acting]]
        self._offer(vertex.costs, rows)

    def _mix(self, oracle: ExpandingOracle, dual: Dual[ExpandedVertex]) -> None:
        """Look for a policy between the best that keeps the bounds and the best that does not."""
        weights = np.append(1.0, dual.prices)
        ranked = sorted(dual.vertices, key=lambda vertex: float(weights @ vertex.costs))
        kept = [each for each in ranked if is_feasible(each.costs, oracle.bounds)]
        broken = [each for each in ranked if not is_feasible(each.costs, oracle.bounds)]
        if kept and broken:
            mixed = oracle.between((min(kept, key=lambda vertex: float(vertex.costs[0])), broken[0]))
            if mixed is not None:
                self._offer_vertex(mixed)

    def _raise(self, dual: Dual[Any]) -> None:
        if -inf < dual.bound < inf and dual.bound > self._lower:
            self._lower, self._prices = dual.bound, dual.prices

    def _exact(self) -> Iterator[tuple[Progress, IntArray]]:
        """The exact method on the part, and what its policies come to that was not expanded."""
        part = self._expansion.part_of(self._problem)
        context = self._context
        tips: IntArray = np.zeros(0, dtype=np.int64)
        last: Any = None
        steps = branch(
            part,
            oracle_of(part),
            self._began,
            self._upper,
            context.record,
            context.node_memory,
            self._prices,
        )
        for step in steps:
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
                    rows = np.where(reached, found.rows, NO_ROW)
                    self._offer(evaluate(part, found).costs, rows)
            ending = step.ending
            if ending is not None and (len(tips) == 0 or step.infeasible is not None):
                yield self._snapshot(ending=ending, infeasible=step.infeasible), tips
                return
            yield self._snapshot(), tips
            if len(tips):
                return
