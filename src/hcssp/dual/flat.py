"""The oracle of a flat C-SSP: policy iteration on the prepared problem."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import UNDOMINATED, dominating_rows, hollow, prepare
from hcssp.dual.local_search import FlatLocalSearch
from hcssp.dual.oracle import (
    CLEARLY_VISITED,
    AffordableOracle,
    Minimum,
    PolicyPoint,
    Strategies,
    estimated_rounding,
)
from hcssp.dual.potentials import WholePotentials
from hcssp.dual.prediction import Breakpoint, breakpoint_of_plans, plan_changes
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem, SweepSystem
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.scalar_problem import Region

Evaluation = Literal["auto", "factorise", "sweep"]

STEP_LENGTH = 1e-12
"""Every step of a most likely path is this long besides: it keeps the states of a path in their order. The
probability of a path is understated by as much a step, relatively, and so is a surcharge."""

MAX_BITS = 40
MAX_WHOLE = 2.0**53
"""Costs are multiples of a unit if, times a power of two up to ``2**MAX_BITS``, all are whole numbers that a
double holds exactly. Sums of them are multiples, too, and no rounding is involved."""


class FlatPoint(PolicyPoint):
    """A policy of the prepared problem; its visits are computed on demand.

    Parameters
    ----------
    rows
        A row for each live state.
    costs, values
        Its expected costs, and those to go from every live state.
    system
        Computes the expected visits of the live states under such rows.
    """

    def __init__(self, rows: IntArray, costs: FloatArray, values: FloatArray, system: Any) -> None:
        self.costs = costs
        self.values = values
        self._rows = rows
        self._system = system

    @property
    def rows(self) -> IntArray:
        return self._rows

    def switched(self, rows: IntArray, values: FloatArray) -> FlatPoint:
        """The policy of other rows, whose costs-to-go are known."""
        return FlatPoint(rows, self._system.balance.initial @ values, values, self._system)

    @cached_property
    def visits(self) -> FloatArray:
        visits: FloatArray = self._system.visits(self._rows)
        return visits

    @property
    def rounding(self) -> FloatArray:
        return estimated_rounding(self.values, self.costs, float(self.visits.sum()))

    @cached_property
    def reached(self) -> BoolArray:
        reached: BoolArray = self._system.balance.reached(self._rows)
        return reached

    def goes_to(self, state: int) -> bool:
        # The graph decides. Visits are used if they are known; they may need an evaluation.
        if "visits" in vars(self) and self.visits[state] > CLEARLY_VISITED:
            return True
        return bool(self.reached[state])


class FlatOracle(AffordableOracle[FlatPoint]):
    """Minimises a C-SSP under weights; its decision states are the live states of the prepared problem.

    Parameters
    ----------
    problem
        The C-SSP. Unreachable states and dead ends are taken out first.
    evaluation
        How the scalar solver evaluates policies: ``"factorise"``, ``"sweep"`` (for problems too large to
        factorise), or ``"auto"``, by the size of the problem and its graph.
    affordable
        Whether to remove the rows with a cost whose bound is 0, see
        :func:`~hcssp.dual.oracle.zero_bounds`.
    thin
        Whether to take out dominated rows, see :func:`~hcssp.cssp.preprocessing.dominating_rows`; or the rows
        that are left.
    """

    def __init__(
        self,
        problem: CSSP,
        evaluation: Evaluation = "auto",
        *,
        affordable: bool = False,
        thin: bool | BoolArray = False,
    ) -> None:
        self._problem = problem
        self._thin = thin
        self._evaluation = evaluation
        self._leave_out(problem.bounds, affordable)
        self._is_hollow = False
        try:
            self._prepared = prepare(problem, usable_rows(problem, self._zeros, thin))
        except DeadEnd:
            if not self._zeros:
                raise
            self._prepared, self._is_hollow = hollow(problem), True
        self._balance = Balance(self._prepared.problem)
        super().__init__(problem.bounds, self._balance.row_start)
        system = system_of(evaluation)
        self._solver = PolicyIteration(self._balance, None if system is None else system(self._balance))

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: FlatPoint | None = None
    ) -> Minimum[FlatPoint] | None:
        if near is None:
            return self._solve(weights, region)
        return self._solve(weights, region, near.rows, near.values)

    def _solve(
        self,
        weights: FloatArray,
        region: Region,
        rows: IntArray | None = None,
        values: FloatArray | None = None,
    ) -> Minimum[FlatPoint] | None:
        """As :meth:`minimise`, near a policy of which the values may not be known."""
        if self._is_hollow:
            return None
        allowed = region.allowed(self._balance.num_rows) if region.forbidden else None
        optimum = self._solver.minimise(weights, allowed, rows, values)
        if optimum is None:
            return None
        point = FlatPoint(optimum.rows, optimum.costs, optimum.values, self._solver.system)
        return Minimum(point, optimum.bound)

    def deviations(
        self, point: FlatPoint, weights: FloatArray, region: Region
    ) -> tuple[float, IntArray, FloatArray]:
        """What leaving an optimal policy costs at least, state by state.

        Parameters
        ----------
        point
            The optimum of `region` under `weights`.

        Returns
        -------
        bound
            A lower bound on the cost of every policy of the region.
        states
            The states it reaches where another allowed row exists, most likely first, so that a most
            likely path to a state runs through earlier ones only.
        surcharges
            For each, a lower bound on what a policy of the region costs more than `bound` under `weights` if
            it takes another row there and the same rows in all earlier states.
        """
        balance, rows = self._balance, point.rows
        forbidden = None if not region.forbidden else ~region.allowed(balance.num_rows)
        row_costs = weights @ balance.problem.costs
        certificate = balance.certifier.certify(row_costs, point.values @ weights, forbidden)
        # A row adds to the bound whenever it is taken: at least once if its state is visited.
        added = balance.certifier.surcharges(row_costs, certificate, forbidden)
        added[rows] = np.inf
        surcharge = balance.least_of_state(added)
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
        states = np.flatnonzero(np.isfinite(surcharge) & np.isfinite(distance))
        states = states[np.argsort(distance[states], kind="stable")]
        return certificate.bound, states, surcharge[states] * np.exp(-distance[states])

    def _alike(self, bounds: FloatArray) -> FlatOracle:
        limited = self._problem.derive(bounds=bounds)
        return FlatOracle(limited, self._evaluation, affordable=self._affordable, thin=self._thin)

    def release(self) -> None:
        for oracle in self._others.values():
            oracle._solver.system.release()

    @property
    def strategies(self) -> Strategies[FlatPoint]:
        system = self._solver.system
        is_swept = isinstance(system, SweepSystem)
        return Strategies(
            local_search=FlatLocalSearch(self._balance, system, self.bounds),
            prediction=None if is_swept else FlatPrediction(self._balance),
            rounding_up=self._grid,
            potentials=WholePotentials(self),
        )

    @cached_property
    def _grid(self) -> CostGrid | None:
        return CostGrid.of(self._prepared.problem)

    def values_of(self, point: FlatPoint, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every state of the user's problem; nan where nothing is known."""
        return self._prepared.lift_values(self._balance.live, point.values @ weights)

    def original_row(self, row: int) -> int:
        """The row of the user's problem that a row of the oracle is."""
        return int(self._prepared.rows[row])

    def lift(self, point: FlatPoint) -> IntArray:
        rows = np.full(self._prepared.problem.num_states, NO_ROW, dtype=np.int64)
        rows[self._balance.live] = point.rows
        return self._prepared.lift(rows)


class FlatPrediction:
    """Predicts breakpoints from the reduced costs of a flat problem, see :mod:`hcssp.dual.prediction`.

    Parameters
    ----------
    balance
        The problem.
    """

    def __init__(self, balance: Balance) -> None:
        self._balance = balance

    def breakpoint(
        self, point: FlatPoint, prices: FloatArray, region: Region, index: int, excess: float
    ) -> Breakpoint | None:
        """As :meth:`hcssp.dual.oracle.Prediction.breakpoint`."""
        changes = plan_changes(self._balance, point.values, point.visits, point.rows, 1 + index, excess < 0.0)
        return breakpoint_of_plans([(1.0, changes, region.forbidden)], float(prices[index]), excess)


class CostGrid(NamedTuple):
    """All costs of deterministic policies are multiples of ``unit / scale``; the scale is a power of two."""

    unit: int
    scale: float

    @classmethod
    def of(cls, problem: CSSP) -> CostGrid | None:
        """The coarsest grid of a problem without chance; None if there is none."""
        if problem.transitions.nnz != problem.num_rows or np.count_nonzero(problem.initial) != 1:
            return None
        for bits in range(MAX_BITS + 1):
            whole = problem.costs[0] * 2.0**bits
            if np.any(whole >= MAX_WHOLE):
                break
            if np.all(whole == np.rint(whole)):
                unit = int(np.gcd.reduce(whole.astype(np.int64), initial=0))
                return cls(unit, 2.0**bits) if unit else None
        return None

    def round_up(self, bound: float) -> float:
        """The least multiple that is not below `bound`."""
        if not np.isfinite(bound):
            return bound
        # Division rounds monotonically, so a bound below a multiple is never taken beyond it.
        steps = np.ceil(bound * self.scale / self.unit) * self.unit
        return bound if steps >= MAX_WHOLE else max(bound, float(steps / self.scale))


def usable_rows(problem: CSSP, constraints: tuple[int, ...], thin: bool | BoolArray) -> BoolArray | None:
    """The rows without cost in the given constraints, and not dominated if `thin`.

    None if those are all.
    """
    usable = free_rows(problem, constraints)
    if thin is False:
        return usable
    needed: BoolArray = dominating_rows(problem) == UNDOMINATED if thin is True else thin
    if needed.all():
        return usable
    return needed if usable is None else needed & usable


def system_of(evaluation: Evaluation) -> type[PolicySystem] | type[SweepSystem] | None:
    """How policies are evaluated; None if it depends on the problem.

    Raises
    ------
    InvalidProblem
        If there is no such evaluation.
    """
    systems: dict[str, type[PolicySystem] | type[SweepSystem] | None] = {
        "auto": None,
        "factorise": PolicySystem,
        "sweep": SweepSystem,
    }
    if evaluation not in systems:
        known = ", ".join(repr(name) for name in systems)
        raise InvalidProblem([f"evaluation {evaluation!r}: choose one of {known}"])
    return systems[evaluation]


def free_rows(problem: CSSP, constraints: tuple[int, ...]) -> BoolArray | None:
    """The rows without cost in the given constraints; None if there are no constraints."""
    if not constraints:
        return None
    rows: BoolArray = problem.costs[[1 + index for index in constraints]].max(axis=0, initial=0.0) == 0.0
    return rows
