"""The oracle of a flat C-SSP: policy iteration on the prepared problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.oracle import Minimum, Oracle, Vertex
from hcssp.dual.repair import Part, improve
from hcssp.errors import InvalidProblem
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.region import Region
from hcssp.ssp.sweep_system import SweepSystem

Evaluation = Literal["auto", "factorise", "sweep"]

STEP_LENGTH = 1e-12
"""Every step of a most likely path is this long besides: it keeps the states of a path in their order. The
probability of a path is understated by as much a step, relatively, and so is a surcharge."""

GRID_TOLERANCE = 1e-6
"""A bound within this share of a unit above a multiple of it is not rounded up: the bound's own rounding must
not cost a whole unit."""

MAX_DIGITS = 6
MAX_WHOLE = 1e9
WHOLE_TOLERANCE = 1e-9
"""Costs are taken for multiples of a unit if, times a power of ten up to MAX_DIGITS, all are within
WHOLE_TOLERANCE of whole numbers below MAX_WHOLE. That is absolute: a smaller cost counts as nothing, however
often it is paid."""


class FlatVertex(Vertex):
    """A policy of the prepared problem; its visits are computed when they are asked for.

    Parameters
    ----------
    rows
        A row for each live state.
    costs, values
        Its expected costs, and those to go from every live state.
    visits_of
        Computes the expected visits of the live states under such rows.
    """

    def __init__(
        self,
        rows: IntArray,
        costs: FloatArray,
        values: FloatArray,
        visits_of: Callable[[IntArray], FloatArray],
    ) -> None:
        self.costs = costs
        self.values = values
        self._rows = rows
        self._visits_of = visits_of

    @property
    def rows(self) -> IntArray:
        return self._rows

    @cached_property
    def visits(self) -> FloatArray:
        return self._visits_of(self._rows)


class FlatOracle(Oracle[FlatVertex]):
    """Minimises a C-SSP under weights; its decision states are the live states of the prepared problem.

    Parameters
    ----------
    problem
        The C-SSP. Unreachable states and dead ends are taken out first.
    evaluation
        How the scalar solver evaluates policies: ``"factorise"``, ``"sweep"`` (for problems too large to
        factorise), or ``"auto"``, by size.
    """

    def __init__(self, problem: CSSP, evaluation: Evaluation = "auto") -> None:
        self._prepared = prepare(problem)
        self._balance = Balance(self._prepared.problem)
        super().__init__(problem.bounds, self._balance.row_start)
        systems: dict[str, type[PolicySystem] | type[SweepSystem] | None] = {
            "auto": None,
            "factorise": PolicySystem,
            "sweep": SweepSystem,
        }
        if evaluation not in systems:
            known = ", ".join(repr(name) for name in systems)
            raise InvalidProblem([f"evaluation {evaluation!r}: choose one of {known}"])
        system = systems[evaluation]
        self._solver = PolicyIteration(self._balance, None if system is None else system(self._balance))

    def minimise(
        self, weights: FloatArray, region: Region, near: FlatVertex | None = None
    ) -> Minimum[FlatVertex] | None:
        allowed = region.allowed(self._balance.num_rows) if region.forbidden else None
        if near is None:
            optimum = self._solver.minimise(weights, allowed)
        else:
            optimum = self._solver.minimise(weights, allowed, near.rows, near.values)
        if optimum is None:
            return None
        vertex = FlatVertex(optimum.rows, optimum.costs, optimum.values, self._solver.system.visits)
        return Minimum(vertex, optimum.bound)

    def deviations(
        self, vertex: FlatVertex, weights: FloatArray, region: Region
    ) -> tuple[IntArray, FloatArray]:
        """What leaving an optimal policy costs at least, state by state.

        Parameters
        ----------
        vertex
            The optimum of `region` under `weights`.

        Returns
        -------
        states
            The states it reaches where another allowed row exists, most likely first, so that a most
            likely path to a state runs through earlier ones only.
        surcharges
            For each, a lower bound on what a policy of the region costs more under `weights` if it takes
            another row there and the same rows in all earlier states.
        """
        balance = self._balance
        rows = vertex.rows
        reduced = balance.reduced_costs(weights @ balance.costs, vertex.values @ weights)
        if region.forbidden:
            reduced[list(region.forbidden)] = np.inf
        reduced[rows] = np.inf
        surcharge = np.maximum(balance.least_of_state(reduced), 0.0)
        chain = balance.matrix[rows]
        probability = -chain.data
        state = np.repeat(np.arange(balance.num_live), np.diff(chain.indptr))
        onwards = (chain.indices != state) & (probability > 0.0)
        starts = np.flatnonzero(balance.initial > 0.0)
        source = balance.num_live
        lengths = STEP_LENGTH - np.log(np.append(probability[onwards], balance.initial[starts]))
        tails = np.append(state[onwards], np.full(len(starts), source))
        heads = np.append(chain.indices[onwards], starts)
        graph: SparseMatrix = csr_array((lengths, (tails, heads)), shape=(source + 1, source + 1))
        distance = dijkstra(graph, indices=[source])[0][:source]
        states = np.flatnonzero(vertex.reached & np.isfinite(surcharge) & np.isfinite(distance))
        states = states[np.argsort(distance[states], kind="stable")]
        return states, surcharge[states] * np.exp(-distance[states])

    def release(self) -> None:
        self._solver.system.release()

    def improve(self, vertex: FlatVertex, rounds: int) -> FlatVertex | None:
        system = self._solver.system
        counts = [(index, 1 + index) for index in range(len(self.bounds))]
        part = Part(self._balance, system, counts, 1.0, vertex.rows, vertex.values, vertex.visits)
        costs = improve([part], vertex.costs, self.bounds, rounds)
        if costs is None or not part.changed:
            return None
        return FlatVertex(part.rows, self._balance.initial @ part.values, part.values, system.visits)

    def round_up(self, bound: float) -> float:
        if self._granularity == 0.0 or not np.isfinite(bound):
            return bound
        steps = np.ceil(bound / self._granularity - GRID_TOLERANCE)
        return max(bound, float(steps * self._granularity))

    @cached_property
    def _granularity(self) -> float:
        """The unit of all costs of deterministic policies if nothing is left to chance; 0 otherwise."""
        problem = self._prepared.problem
        if problem.transitions.nnz != problem.num_rows or np.count_nonzero(problem.initial) != 1:
            return 0.0
        for digits in range(MAX_DIGITS + 1):
            whole = problem.costs[0] * 10.0**digits
            if np.all(whole < MAX_WHOLE) and np.all(np.abs(whole - np.rint(whole)) < WHOLE_TOLERANCE):
                return float(np.gcd.reduce(np.rint(whole).astype(np.int64))) / 10.0**digits
        return 0.0

    def lift(self, vertex: FlatVertex) -> IntArray:
        rows = np.full(self._prepared.problem.num_states, NO_ROW, dtype=np.int64)
        rows[self._balance.live] = vertex.rows
        return self._prepared.lift(rows)
