r"""The oracle of an implicit C-SSP: it expands where good policies go, and the heuristics bound the rest.

For weights :math:`w` the problem is expanded along its best policy (:mod:`hcssp.ssp.guided_expansion`). The
bound is that of the expanded part, certified on all its rows. The policy is the best *closed* one: it takes
only rows that stay among expanded states, so it is a policy of the whole problem, and the flat oracle of the
part without its frontier finds it.

A potential :math:`U` under weights :math:`w` is warm start for others: since costs are not negative,
:math:`\alpha U` is a potential under all weights that are not below :math:`\alpha w`.

The oracle answers for all policies together, under weights with a primary weight of 1, and if no policy can
cycle at no cost. That is sufficient for the dual; the exact method on the part does the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.reachability import almost_sure
from hcssp.dual.ascent import lagrangian_bound
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.dual.oracle import Minimum, Oracle, PolicyPoint
from hcssp.errors import DeadEnd, OutOfPrecision
from hcssp.ssp.guided_expansion import DEAD, ExpansionParameters, GuidedExpansion
from hcssp.ssp.potential import Certifier
from hcssp.ssp.scalar_problem import Region


class ImplicitPoint(PolicyPoint):
    """A closed policy of the part that was expanded when it was found.

    Parameters
    ----------
    policy
        The policy.
    costs
        Its expected costs.
    """

    def __init__(self, policy: DeterministicPolicy, costs: FloatArray) -> None:
        self.policy = policy
        self.costs = costs

    @property
    def rows(self) -> IntArray:
        return self.policy.rows

    @property
    def visits(self) -> FloatArray:
        return (self.policy.rows >= 0).astype(np.float64)


class ImplicitOracle(Oracle[ImplicitPoint]):
    """Minimises an implicit C-SSP under weights.

    Parameters
    ----------
    expansion
        The known part of the problem; it grows with every answer.
    bounds
        One upper bound for each constraint.
    precision
        How far the bound of an answer may be below the cost of its policy, relatively.
    is_over
        Whether time or memory is used up: answers end early then.
    parameters
        What steers the expansion.

    Attributes
    ----------
    proven
        The highest lower bound on the optimum that was certified so far, also where no policy was found.
    """

    def __init__(
        self,
        expansion: Expansion,
        bounds: FloatArray,
        precision: float = 1e-6,
        is_over: Callable[[], bool] = lambda: False,
        parameters: ExpansionParameters | None = None,
    ) -> None:
        super().__init__(bounds, np.zeros(1, dtype=np.int64))
        self.expansion = expansion
        self.proven = 0.0
        self._precision = precision
        self._is_over = is_over
        self._parameters = parameters or ExpansionParameters()
        self._limit = self._parameters.first_probability
        self._potentials: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=self._parameters.potentials)
        # Whether completions have ended so far.
        self._completes = True
        self._closed: tuple[int, FlatOracle | None] = (-1, None)
        self._near: FlatPoint | None = None

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: ImplicitPoint | None = None
    ) -> Minimum[ImplicitPoint] | None:
        """As :meth:`Oracle.minimise`, for all policies together.

        Raises
        ------
        OutOfPrecision
            If it cannot answer; the exact method can, on the part.
        """
        if region.forbidden or weights[0] != 1.0:
            raise OutOfPrecision("an implicit problem is asked about a part of its policies")
        floor = self._floor(weights)
        search = GuidedExpansion(self.expansion, weights, self._parameters, floor, self._is_over)
        point = self._settle(search, min(max(precision, self._precision), self._parameters.coarsest))
        bound = self._certified(search)
        proven = lagrangian_bound(bound, weights[1:], self.bounds)
        if proven > self.proven:
            self.proven = proven
            joint = self.expansion.weighted_heuristic.knows_prices
            self.expansion.proven_under = weights.copy() if joint else None
        self._potentials.append((weights, np.where(search.values < DEAD, search.values, 0.0)))
        if point is None:
            raise OutOfPrecision("no policy was found that stays among the expanded states")
        return Minimum(point, bound)

    def closed(self) -> FlatOracle | None:
        """The oracle of the closed policies of the part as it is now; None if there are none."""
        size = self.expansion.num_expanded
        if self._closed[0] != size:
            part = self.expansion.part()
            self._near = None
            try:
                self._closed = size, FlatOracle(part, thin=~part.frontier[part.row_state]).under(self.bounds)
            except DeadEnd:
                self._closed = size, None
        return self._closed[1]

    def point(self, closed: FlatOracle, found: FlatPoint) -> ImplicitPoint:
        """A policy of :meth:`closed` as a policy of the part."""
        return ImplicitPoint(DeterministicPolicy(self.expansion.part(), closed.lift(found)), found.costs)

    def _floor(self, weights: FloatArray) -> FloatArray:
        """The highest potential that follows from those at other weights."""
        floor = np.zeros(self.expansion.num_states)
        for known, values in self._potentials:
            used = known > 0.0
            share = min(1.0, float(np.min(weights[used] / known[used])))
            np.maximum(floor[: len(values)], share * values, out=floor[: len(values)])
        return floor

    def _settle(self, search: GuidedExpansion, precision: float) -> ImplicitPoint | None:
        """Expand until a closed policy costs no more than the value of the start, up to the precision."""
        parameters = self._parameters
        best: ImplicitPoint | None = None
        least, reported = np.inf, 0.0
        for _ in range(parameters.max_trials):
            before = search.start_value
            if self._is_over():
                break
            expanded = self._explore(search, self._limit)
            value = search.start_value
            if value - before > parameters.settled * precision * value:
                continue
            for completed in (False, True):
                if completed:
                    self._complete(search)
                    search.sweep(parameters.sweeps)
                point = self._best_closed(search.weights)
                if point is not None and search.weights @ point.costs < least:
                    best, least = point, float(search.weights @ point.costs)
                if best is not None and least - search.start_value <= precision * least:
                    return best
            value = search.start_value
            at_end = self._limit <= parameters.least_probability and not expanded
            if at_end or (reported and value - reported <= parameters.settled * precision * value):
                break
            reported = value
            self._limit = max(parameters.reduction * self._limit, parameters.least_probability)
        return best

    def _explore(self, search: GuidedExpansion, limit: float) -> int:
        """A trial and sweeps; the number of states that were expanded.

        Raises
        ------
        OutOfPrecision
            If some policy can cycle at no cost, or no policy seems to reach a goal.
        """
        expanded = search.trial(limit)
        if search.has_free_cycle():
            raise OutOfPrecision("a policy can cycle by steps that cost nothing under the weights")
        search.sweep(self._parameters.sweeps)
        if search.start_value >= DEAD:
            raise OutOfPrecision("the start looks like a dead end")
        return expanded

    def _complete(self, search: GuidedExpansion) -> None:
        """Expand until some policy stays among the expanded states."""
        self._completes = self._completes and search.complete()
        while self.closed() is None and not self._is_over() and self.expansion.frontier.any():
            search.widen()

    def _best_closed(self, weights: FloatArray) -> ImplicitPoint | None:
        closed = self.closed()
        found = None if closed is None else closed.minimise(weights, Region(), near=self._near)
        if closed is None or found is None:
            return None
        self._near = found.point
        return self.point(closed, found.point)

    def _certified(self, search: GuidedExpansion) -> float:
        """The bound that the values prove about the part, and so about the whole."""
        part, weights = self.expansion.part(), search.weights
        costs = weights @ part.costs
        edge = np.flatnonzero(part.frontier)
        costs[part.row_start[edge]] = self.expansion.weighted_heuristic.under(weights)[edge]
        # Only states that the graph shows to be dead may be left out of a proof.
        lost = ~almost_sure(part).states
        forbidden = (part.transitions @ lost.astype(np.float64) > 0.0) | lost[part.row_state]
        certifier, bound = Certifier.of(part), 0.0
        for _ in range(2):
            potential = np.where(search.values >= DEAD, 0.0, search.values)[~part.goals[:-1]]
            bound = max(bound, certifier.certify(costs, potential, forbidden, 0.01 * self._precision).bound)
            if bound >= (1.0 - self._precision) * search.start_value:
                break
            # Values are no potentials yet, as where heuristics are not consistent.
            search.sweep(10 * self._parameters.sweeps)
        return bound
