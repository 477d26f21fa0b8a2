"""The oracle of a flat C-SSP whose good policies touch few of its states: regions are searched there.

All policies together are solved as a whole, at the prices that the dual's ascent asks for. What that proves
about every state is the floor under everything after it (:mod:`hcssp.dual.floors`). A region is then solved
above the floor, in the states that its policies touch (:mod:`hcssp.ssp.envelope`), and its bound is certified
for the whole problem. Where that is not to be had, the whole problem is solved after all.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray
from hcssp.dual.flat_oracle import Evaluation, FlatOracle, FlatVertex
from hcssp.dual.floors import Floors
from hcssp.dual.oracle import Minimum
from hcssp.dual.vertex import estimated_rounding
from hcssp.ssp.balance import Balance
from hcssp.ssp.envelope import EnvelopeOptimum, envelope_reached, envelope_visits, minimise_above
from hcssp.ssp.policy_evaluation import PolicySystem, System
from hcssp.ssp.region import Region
from hcssp.ssp.scalar_problem import ScalarProblem

MIN_STATES = 100
"""A smaller problem is solved as a whole: that costs no more than looking after a part."""


MAX_REACHED_SHARE = 0.4
"""Where policies touch more than this share of the states, the whole problem is planned as fast as a part."""


MAX_KNOWN_VALUES = 8
"""So many policies of the whole stand for what policies of a part do elsewhere: the latest of them."""


MIN_ATTEMPTS = 10
MIN_SUCCESS = 0.6
"""After so many attempts the whole is planned from then on if fewer than this share of them succeeded."""


class EnvelopeVertex(FlatVertex):
    """A policy of which only the states it touches were planned.

    Parameters
    ----------
    balance
        The problem.
    optimum
        The policy, and the states that it does not leave.
    system
        Evaluates policies of the whole problem.
    """

    def __init__(self, balance: Balance, optimum: EnvelopeOptimum, system: System) -> None:
        self.costs = balance.initial[optimum.states] @ optimum.values
        self.optimum = optimum
        self._balance = balance
        self._rows = optimum.rows
        self._system = system

    @cached_property
    def values(self) -> FloatArray:  # type: ignore[override]
        """Expected costs to go from every live state; a solve of the whole problem."""
        values: FloatArray = self._system.values(self._rows)
        return values

    @cached_property
    def visits(self) -> FloatArray:
        visits, optimum = np.zeros(self._balance.num_live), self.optimum
        inside = optimum.visits
        if inside is None:
            inside = envelope_visits(self._balance, optimum.states, self._rows)
        visits[optimum.states] = inside
        return visits

    @cached_property
    def reached(self) -> BoolArray:
        return envelope_reached(self._balance, self.optimum.states, self._rows)

    @property
    def rounding(self) -> FloatArray:
        return estimated_rounding(self.optimum.values, self.costs, float(self.visits.sum()))

    @property
    def rounding_at_most(self) -> FloatArray:
        # The values of the whole problem would take longer than the visits of a part of it.
        return self.rounding


class EnvelopeOracle(FlatOracle):
    """As :class:`~hcssp.dual.flat_oracle.FlatOracle`, without dominated rows; regions are solved in part.

    Parameters
    ----------
    problem, evaluation, affordable, thin
        As there.
    """

    def __init__(
        self,
        problem: CSSP,
        evaluation: Evaluation = "auto",
        *,
        affordable: bool = False,
        thin: bool | BoolArray = True,
    ) -> None:
        super().__init__(problem, evaluation, affordable=affordable, thin=thin)
        self._floors = Floors()
        self._num_attempts = self._num_successes = 0
        # Costs to go under policies of the whole, by the weights under which they are best.
        self._known_values: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=MAX_KNOWN_VALUES)

    def minimise(
        self, weights: FloatArray, region: Region, near: FlatVertex | None = None
    ) -> Minimum[FlatVertex] | None:
        if region.forbidden and weights[0] == 1.0 and near is not None and self._may_be_in_part:
            found = self._above_the_floor(weights, region, near)
            if found is not None:
                return found
        values = near.values if near is not None and not isinstance(near, EnvelopeVertex) else None
        minimum = self._solve(weights, region, None if near is None else near.rows, values)
        if minimum is not None and weights[0] == 1.0 and not region.forbidden:
            self._floors.add(weights, minimum.vertex.values @ weights)
            self._known_values.append((weights, minimum.vertex.values))
        return minimum

    @property
    def _may_be_in_part(self) -> bool:
        """Whether there is a floor, parts can be factorised, and mostly that was enough so far."""
        if self._num_attempts >= MIN_ATTEMPTS and self._num_successes < MIN_SUCCESS * self._num_attempts:
            return False
        return len(self._floors) > 0 and isinstance(self._solver.system, PolicySystem)

    def _values_about(self, vertex: FlatVertex, prices: FloatArray) -> FloatArray:
        if not isinstance(vertex, EnvelopeVertex):
            return vertex.values
        # Outside of what was planned, those of the best policy at about the same prices.
        nearest = min(self._known_values, key=lambda known: float(np.abs(known[0][1:] - prices).sum()))
        values = nearest[1].copy()
        values[vertex.optimum.states] = vertex.optimum.values
        return values

    def values_of(self, vertex: FlatVertex, weights: FloatArray) -> FloatArray:
        if not isinstance(vertex, EnvelopeVertex):
            return super().values_of(vertex, weights)
        return self._prepared.lift_values(self._balance.live, vertex.optimum.potential)

    def _alike(self, bounds: FloatArray) -> EnvelopeOracle:
        limited = self._problem.derive(bounds=bounds)
        return EnvelopeOracle(limited, self._evaluation, affordable=self._affordable, thin=self._thin)

    def _above_the_floor(
        self, weights: FloatArray, region: Region, near: FlatVertex
    ) -> Minimum[FlatVertex] | None:
        """The best policy of the region, from the states that `near` touches; None if not to be had so."""
        balance = self._balance
        reached = near.reached
        if balance.num_live < MIN_STATES or np.count_nonzero(reached) > MAX_REACHED_SHARE * balance.num_live:
            return None
        problem = ScalarProblem(balance, weights, region.allowed(balance.num_rows))
        floor = self._floors.at(weights, region.forbidden)
        if isinstance(near, EnvelopeVertex):
            values = near.optimum.values[reached[near.optimum.states]]
        else:
            values = near.values[reached]
        optimum = minimise_above(problem, floor, near.rows, reached, values, self._solver.precision)
        self._num_attempts += 1
        self._num_successes += optimum is not None
        if optimum is None:
            return None
        self._floors.add(weights, optimum.potential, region.forbidden)
        return Minimum(EnvelopeVertex(balance, optimum, self._solver.system), optimum.bound)
