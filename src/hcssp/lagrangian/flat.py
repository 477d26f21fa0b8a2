"""The oracle of a flat C-SSP: policy iteration on the prepared problem."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.lagrangian.oracle import Minimum, Vertex
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.region import Region


class FlatVertex(Vertex):
    """A policy of the prepared problem; its visits are computed when they are asked for."""

    def __init__(self, optimum: ScalarOptimum, system: PolicySystem) -> None:
        self.costs = optimum.costs
        self.values = optimum.values
        self._rows = optimum.rows
        self._system = system

    @property
    def rows(self) -> IntArray:
        return self._rows

    @cached_property
    def visits(self) -> FloatArray:
        return self._system.visits(self._rows)


class FlatOracle:
    """Minimises a C-SSP under weights; its decision states are the live states of the prepared problem.

    Parameters
    ----------
    problem
        The C-SSP. Unreachable states and dead ends are taken out first.
    """

    def __init__(self, problem: CSSP) -> None:
        self._problem = problem
        self._prepared = prepare(problem)
        self._balance = Balance(self._prepared.problem)
        self._solver = PolicyIteration(self._balance)

    @property
    def bounds(self) -> FloatArray:
        return self._problem.bounds

    @property
    def row_start(self) -> IntArray:
        return self._balance.row_start

    @property
    def row_state(self) -> IntArray:
        return self._balance.row_state

    def minimise(self, weights: FloatArray, region: Region, near: Vertex | None = None) -> Minimum | None:
        allowed = region.allowed(self._balance.num_rows) if region.forbidden else None
        optimum = self._solver.minimise(weights, allowed, None if near is None else near.rows)
        if optimum is None:
            return None
        return Minimum(FlatVertex(optimum, self._solver.system), optimum.bound)

    def improve(self, vertex: Vertex, region: Region) -> Vertex | None:
        return None

    def lift(self, vertex: Vertex) -> IntArray:
        rows = np.full(self._prepared.problem.num_states, NO_ROW, dtype=np.int64)
        rows[self._balance.live] = vertex.rows
        return self._prepared.lift(rows)
