r"""The oracle of an implicit C-SSP: it expands what the prices make good, and the heuristics bound the rest.

For weights :math:`w` the problem is expanded where its best policy goes (:mod:`hcssp.ssp.guided_expansion`).
The bound is that of the expanded part, certified on all its rows; the policy is the best that never leaves
the part (:mod:`hcssp.ssp.closed_policies`). What is learnt at some weights is a floor under the values at all
others (:mod:`hcssp.dual.floors`), and what is expanded serves all of them.

The oracle answers for all policies together, under weights with a primary weight of 1 and where nobody can go
in circles for nothing: that is enough for the dual. It leaves all else to the exact method on the part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import almost_sure
from hcssp.dual.ascent import lagrangian_bound
from hcssp.dual.floors import Floors
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.vertex import Vertex
from hcssp.errors import OutOfPrecision
from hcssp.numerics import is_feasible
from hcssp.ssp.closed_policies import ClosedPolicies, ClosedPolicy, close_by_policy, is_acyclic, widen
from hcssp.ssp.guided_expansion import DEAD, EVERYWHERE, Departures, GuidedExpansion
from hcssp.ssp.potential import Certifier
from hcssp.ssp.region import Region
from hcssp.ssp.scalar_problem import FREE_COST

FIRST_MASS, LEAST_MASS = 1e-4, 1e-9
"""What holds less of the probability is left behind by the first trials, and by the last."""

LESS_MASS = 0.1
"""The factor by which that shrinks when trials have nothing left to find."""

SETTLED = 0.1
"""Trials of one kind end once the start's value rises by less than this share of the precision."""

FINEST = 1e-6
COARSEST = 1e-2
"""The precision of an answer, relative to the cost: no finer and no coarser than this is ever wanted."""

MAX_RINGS = 100
RINGS_AT_ONCE = 6
"""So often the expanded part is widened all around until a policy can stay in it, and by so many rings."""

MOST_CLOSING = 3
"""To close a policy, no more states are expanded than so many times those that are known."""

HOPELESS = 0.2
"""Where less mass raises the value by less than this share of the precision, it is left as it is."""

MAX_TRIALS = 400
MAX_KEPT = 12
"""So many potentials are kept, one for each vector of weights; the latest."""

CERTIFIED_LOSS = 0.01
"""This share of the precision may be lost where that saves mending the values of a proof."""

CONVERGING_SWEEPS = 300
"""So many sweeps make potentials of values that are none, as where the heuristics are not consistent."""


class ExpandedVertex(Vertex):
    """A closed policy; its rows are numbered by the expansion."""

    def __init__(self, policy: ClosedPolicy) -> None:
        self.policy = policy
        self.costs = policy.costs

    @property
    def rows(self) -> IntArray:
        return self.policy.rows

    @property
    def visits(self) -> FloatArray:
        return (self.policy.rows >= 0).astype(np.float64)


class ClosedOracle(Oracle[ExpandedVertex]):
    """Minimises among the closed policies of a part as it is: to find good prices and policies quickly.

    Its bounds are what its policies cost, and say nothing about the whole problem.

    Parameters
    ----------
    expanding
        The oracle of the whole problem, which has answered at least once.
    """

    def __init__(self, expanding: ExpandingOracle) -> None:
        super().__init__(expanding.bounds, np.zeros(1, dtype=np.int64))
        self._expanding = expanding

    def minimise(
        self, weights: FloatArray, region: Region, near: ExpandedVertex | None = None
    ) -> Minimum[ExpandedVertex] | None:
        if weights[0] != 1.0:
            raise OutOfPrecision("only prices are tried")
        policy = self._expanding.closed_at(weights, None if near is None else near.policy)
        if policy is None:
            raise OutOfPrecision("no closed policy was found")
        return Minimum(ExpandedVertex(policy), float(weights @ policy.costs))


class ExpandingOracle(Oracle[ExpandedVertex]):
    """Minimises an implicit C-SSP under weights.

    Parameters
    ----------
    expansion
        What is known of the problem; it grows with every answer.
    bounds
        One upper bound for each constraint.
    precision
        How far the bound of an answer may be below its policy's cost, relatively, whatever is asked for.
    is_over
        Whether nobody listens any more, or there is no memory left: answers end early then.

    Attributes
    ----------
    proven
        The highest lower bound on the optimum that was certified so far, also where no policy was found.
    """

    def __init__(
        self,
        expansion: Expansion,
        bounds: FloatArray,
        precision: float = FINEST,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(bounds, np.zeros(1, dtype=np.int64))
        self.expansion = expansion
        self._precision = precision
        self._is_over = is_over
        self.proven = 0.0
        self._departures = Departures(expansion)
        self._known: list[tuple[FloatArray, FloatArray]] = []
        self._dead: BoolArray = np.zeros(0, dtype=np.bool_)
        self._closing: tuple[int, ClosedPolicies] | None = None
        self._mass = FIRST_MASS
        # Whether policies have come to an end when they were followed wherever they go.
        self._closable = True
        self._last: GuidedExpansion | None = None
        self._best: ClosedPolicy | None = None

    def minimise(
        self, weights: FloatArray, region: Region, near: ExpandedVertex | None = None
    ) -> Minimum[ExpandedVertex] | None:
        return self.approximate(weights, region, 0.0, near)

    def approximate(
        self, weights: FloatArray, region: Region, precision: float, near: ExpandedVertex | None = None
    ) -> Minimum[ExpandedVertex] | None:
        """As :meth:`Oracle.approximate`, for all policies together.

        Raises
        ------
        OutOfPrecision
            If it is not one of the questions that it answers; the part is to be solved as a problem.
        """
        if region.forbidden or weights[0] != 1.0:
            raise OutOfPrecision("an implicit problem is asked about a part of its policies")
        search = GuidedExpansion(
            self.expansion, self._departures, weights, self._floor(weights), self._dead_states()
        )
        policy = self._settle(search, min(max(precision, self._precision), COARSEST))
        # What was expanded to close a policy has the values of its heuristic, which need not be consistent.
        search.sweep(EVERYWHERE)
        bound = self._certified(search)
        self._take(lagrangian_bound(bound, weights[1:], self.bounds), weights)
        self._keep(weights, search.values)
        self._last = search
        if policy is None:
            raise OutOfPrecision("no policy was found that stays among the expanded states")
        return Minimum(ExpandedVertex(policy), bound)

    def _take(self, proven: float, weights: FloatArray) -> None:
        """Keep a bound on the optimum, and where heuristics that know prices have proven it."""
        if proven > self.proven:
            self.proven = proven
            known = self.expansion.weighted_heuristic.knows_prices
            self.expansion.proven_under = weights.copy() if known else None

    def closed_at(self, weights: FloatArray, near: ClosedPolicy | None) -> ClosedPolicy | None:
        """A good policy among those that stay in the part as it is."""
        search = GuidedExpansion(self.expansion, self._departures, weights, self._floor(weights))
        return self._closings().best(search, near=near)

    def between(self, support: tuple[ExpandedVertex, ...]) -> ExpandedVertex | None:
        """A policy that keeps the bounds and follows one that breaks them as far from the start as it can."""
        kept = [each for each in support if is_feasible(each.costs, self.bounds)]
        broken = [each for each in support if not is_feasible(each.costs, self.bounds)]
        if not kept or not broken or self._last is None:
            return None
        mixed = self._closings().between(self._last, kept[0].policy, broken[0].policy, self.bounds)
        return None if mixed is None else ExpandedVertex(mixed)

    def _settle(self, search: GuidedExpansion, precision: float) -> ClosedPolicy | None:
        """Expand until a closed policy costs no more than the bound promises, but for the precision."""
        mass: float = self._mass
        best: ClosedPolicy | None = None
        least, max_steps, reported = np.inf, 1_000, 0.0
        for _ in range(MAX_TRIALS):
            before = search.start_value
            if self._is_over():
                break
            expanded, ended = search.trial(mass, max_steps, self._is_over)
            self._require_costs(search)
            if not ended:
                max_steps *= 2
                self._find_dead()
                search.bury(self._dead)
            search.sweep(EVERYWHERE)
            if search.start_value >= DEAD:
                raise OutOfPrecision("the start looks like a dead end")
            if ended and search.start_value - before > SETTLED * precision * search.start_value:
                continue
            value = search.start_value
            policy = self._closed(search, value * (1.0 + precision), best or self._best)
            if policy is not None:
                cost = float(search.weights @ policy.costs)
                if cost < least:
                    best, least = policy, cost
                if least - value <= precision * least:
                    break
            if value - reported <= HOPELESS * precision * value or (mass <= LEAST_MASS and not expanded):
                # Less mass has raised nothing to speak of: what is missing is a better policy.
                break
            reported = value
            mass = self._mass = max(LESS_MASS * mass, LEAST_MASS)
        self._best = best or self._best
        return best

    def _closed(
        self, search: GuidedExpansion, enough: float, near: ClosedPolicy | None
    ) -> ClosedPolicy | None:
        """A closed policy that costs no more than `enough`, or the best one found."""
        best = self._closings().best(search, enough, near)
        if best is not None and float(search.weights @ best.costs) <= enough:
            return best
        if best is not None and not self._closable:
            return best
        self._close(search)
        candidates = [best, self._closings().best(search, enough, best)]
        found = [each for each in candidates if each is not None]
        return min(found, key=lambda policy: float(search.weights @ policy.costs), default=None)

    def _close(self, search: GuidedExpansion) -> None:
        """Expand until some policy stays inside: where the greedy one goes, then all around."""
        if self._closable:
            most = MOST_CLOSING * self.expansion.num_states
            self._closable = close_by_policy(search, most, self._is_over)
        for _ in range(MAX_RINGS):
            closing = self._closings()
            if self._is_over() or closing.is_possible:
                break
            if not widen(search, closing.outside(), RINGS_AT_ONCE):
                break

    def _closings(self) -> ClosedPolicies:
        size = self.expansion.num_expanded
        if self._closing is None or self._closing[0] != size:
            self._closing = size, ClosedPolicies(self.expansion)
        return self._closing[1]

    def _require_costs(self, search: GuidedExpansion) -> None:
        """Rows that cost nothing are welcome where no policy can go in circles by them alone."""
        costs = search.row_costs(slice(None))
        free = costs <= FREE_COST * float(costs[costs < DEAD].max(initial=0.0))
        if free.any() and not is_acyclic(self.expansion, free):
            raise OutOfPrecision("one can go in circles by steps that cost nothing under the weights")

    def _dead_states(self) -> BoolArray:
        dead = np.zeros(self.expansion.num_states, dtype=np.bool_)
        dead[: len(self._dead)] = self._dead
        return dead

    def _find_dead(self) -> None:
        """Look for states from which no goal is reached with certainty, whatever lies beyond."""
        certain = almost_sure(self.expansion.part())
        self._dead = ~certain.states[: self.expansion.num_states]

    def _floor(self, weights: FloatArray) -> FloatArray | None:
        if not self._known:
            return None
        floors = Floors()
        for known, values in self._known:
            beyond = self.expansion.weighted_heuristic.under(known, len(values))
            floors.add(known, np.append(np.where(values < DEAD, values, 0.0), beyond))
        return floors.at(weights)

    def _keep(self, weights: FloatArray, values: FloatArray) -> None:
        self._known = [each for each in self._known if not np.array_equal(each[0], weights)][1 - MAX_KEPT :]
        self._known.append((weights, values.copy()))

    def _certified(self, search: GuidedExpansion) -> float:
        """What the values prove about the part, and so about the whole."""
        part = self.expansion.part()
        certifier = Certifier.of(part)
        bound = 0.0
        for _ in range(2):
            values = search.values
            dead = values >= DEAD
            forbidden = None
            if dead.any():
                self._find_dead()
                # Only what the graph shows to be dead may be left out of a proof.
                lost = np.append(self._dead, False)
                forbidden = (part.transitions @ lost.astype(np.float64) > 0.0) | lost[part.row_state]
            live = ~part.goals[:-1]
            potential = np.where(dead, 0.0, values)[live]
            costs = search.weights @ part.costs
            edge = np.flatnonzero(part.frontier)
            costs[part.row_start[edge]] = self.expansion.weighted_heuristic.under(search.weights)[edge]
            loss = CERTIFIED_LOSS * self._precision
            bound = max(bound, certifier.certify(costs, potential, forbidden, loss).bound)
            if bound >= (1.0 - FINEST) * search.start_value:
                break
            search.sweep(CONVERGING_SWEEPS)
        return bound
