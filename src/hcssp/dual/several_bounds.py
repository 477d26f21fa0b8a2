r"""The dual for several constraints: cutting planes, with a small linear program as master.

Over known policies with costs :math:`(f_k, g_k)` the dual's model is
:math:`\max_{\lambda \ge 0} \min_k f_k + \lambda (g_k - \Delta)`; its dual is the best mixture of those
policies that keeps the bounds. The master finds the multipliers at which the model is highest; solving there
gives a new policy, until the value meets the model. The multipliers are limited at first, which a mixture
sees as a price for breaking a bound. Where no mixture of policies keeps the bounds, a master that minimises
the violation gives the weights of a proof.

Reference: Kelley 1960.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import V
from hcssp.dual.precision import PRECISION_SHARE
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance, is_feasible, tolerated

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent, Dual

LIMIT_FACTOR = 10.0
MIN_BOUND = 1e-3
"""The first limit of a multiplier prices its whole bound at LIMIT_FACTOR times the primary cost; a bound
below MIN_BOUND counts as this much. A limit that proves too low is dropped: only the pace depends on both."""

SUPPORT_TOLERANCE = 1e-12
"""A policy with a smaller weight does not belong to the mixture: it is the rounding of the simplex method."""

VIOLATION_SHARE = 1e-3
"""A mixture keeps the bounds once the master's violation is within this share of the tolerance on bounds."""

MASTER_TOLERANCE = 1e-10
"""HiGHS's tolerances for the master; the tightest it takes. No bound rests on them."""

MIN_TOTAL = 1e-300
"""The divisor of a mixture whose weights are all zero, which only a failed master has."""


def cut_planes(
    ascent: Ascent[V], bounded: IntArray, start: FloatArray | None = None, cutoff: float = inf
) -> Iterator[Dual[V]]:
    """Find the multipliers at which the model of the known policies is highest.

    Parameters
    ----------
    ascent
        What is known so far; it is added to.
    bounded
        The constraints with a finite bound.
    start
        Multipliers near the answer.
    cutoff
        A bound at which the caller loses interest.
    """
    oracle = ascent.oracle
    prices = np.zeros(len(oracle.bounds)) if start is None else start.copy()
    first = ascent.explore(prices)
    yield ascent.snapshot()
    if first is None:
        return
    if not prices.any() and is_feasible(first.vertex.costs, oracle.bounds):
        ascent.converge([first.vertex], np.ones(1))
        yield ascent.snapshot()
        return
    planes = CuttingPlanes(ascent, bounded, scale=max(1.0, abs(float(first.vertex.costs[0]))))
    for _ in ascent.rounds():
        optimum = planes.cut()
        if not ascent.decided and planes.has_converged(optimum, cutoff):
            if planes.is_kept(optimum):
                planes.converge(optimum)
            else:
                # The multipliers press against their limits: is there a mixture that keeps the bounds?
                yield from seek_feasible(ascent, bounded)
                if ascent.infeasible:
                    return
                planes.lift_limits()
        yield ascent.snapshot()
        if ascent.decided:
            return


def seek_feasible(ascent: Ascent[V], bounded: IntArray) -> Iterator[Dual[V]]:
    """Either weights that prove that no policy keeps the bounds, or policies whose mixture does."""
    bounds = tolerated(ascent.oracle.bounds)[bounded]
    scale = allowance(bounds, 1.0)
    master = Master(len(bounds), feasibility=True)
    for vertex in ascent.vertices:
        master.add(float(vertex.costs[0]), (vertex.costs[1 + bounded] - bounds) / scale)
    for _ in ascent.rounds():
        optimum = master.solve()
        if optimum.violation <= VIOLATION_SHARE * FEASIBILITY_TOLERANCE:
            return
        weights = np.zeros(len(ascent.oracle.bounds))
        weights[bounded] = optimum.multipliers / scale
        weights /= weights.sum()
        if not ascent.can_keep(weights):
            yield ascent.snapshot()
            return
        costs = ascent.vertices[-1].costs
        master.add(float(costs[0]), (costs[1 + bounded] - bounds) / scale)
        yield ascent.snapshot()


class CuttingPlanes(Generic[V]):
    """Kelley's method with the multipliers in a box, which is dropped where it binds for good.

    Parameters
    ----------
    ascent, bounded
        As for :func:`cut_planes`.
    scale
        The size of the primary cost.
    """

    def __init__(self, ascent: Ascent[V], bounded: IntArray, scale: float) -> None:
        self._ascent = ascent
        self._bounded = bounded
        self._bounds = tolerated(ascent.oracle.bounds)[bounded]
        self._limited = True
        self._repeats = False
        self._precision = 0.0
        self._master = Master(
            len(bounded), LIMIT_FACTOR * scale / np.maximum(np.abs(self._bounds), MIN_BOUND)
        )
        self._fill()

    def cut(self) -> MasterOptimum:
        """Solve the master, and the problem at its multipliers."""
        ascent, optimum = self._ascent, self._master.solve()
        prices = np.zeros(len(ascent.oracle.bounds))
        prices[self._bounded] = optimum.multipliers
        # As precisely as the distance between the model and the bound asks for; exactly where that leads
        # no further.
        distance = optimum.value - ascent.bound
        self._precision = 0.0 if self._repeats else PRECISION_SHARE * distance / (1.0 + abs(ascent.bound))
        minimum = ascent.explore(prices, self._precision)
        if minimum is not None:
            self._add(minimum.vertex)
            self._repeats = ascent.repeats()
        return optimum

    def has_converged(self, optimum: MasterOptimum, cutoff: float) -> bool:
        """Whether the model meets the bound, or nothing more can be learnt."""
        # A single policy is the answer only if nothing is missing.
        tolerance = self._ascent.tolerance(cutoff if len(self._support(optimum)) > 1 else inf)
        is_stuck = self._repeats and self._precision == 0.0
        return optimum.value - self._ascent.bound <= tolerance or is_stuck

    def is_kept(self, optimum: MasterOptimum) -> bool:
        """Whether the mixture keeps the bounds, rather than pay for breaking them."""
        allowed = FEASIBILITY_TOLERANCE * float(np.min(np.abs(self._bounds), initial=1.0))
        return not self._limited or optimum.violation <= allowed

    def converge(self, optimum: MasterOptimum) -> None:
        """End with the master's mixture."""
        support = self._support(optimum)
        self._ascent.converge([self._ascent.vertices[k] for k in support], optimum.mixture[support])

    def lift_limits(self) -> None:
        """Go on with multipliers of any size, once some mixture is known to keep the bounds."""
        self._limited = False
        # Some room, because HiGHS has tolerances of its own; the bounds come from the oracle anyway.
        self._bounds = tolerated(self._bounds)
        self._master = Master(len(self._bounded))
        self._fill()

    def _support(self, optimum: MasterOptimum) -> IntArray:
        return np.flatnonzero(optimum.mixture > SUPPORT_TOLERANCE)

    def _fill(self) -> None:
        """Add the policies known so far; a column of the master for each, in their order."""
        for vertex in self._ascent.vertices:
            self._add(vertex)

    def _add(self, vertex: V) -> None:
        self._master.add(float(vertex.costs[0]), vertex.costs[1 + self._bounded] - self._bounds)


class MasterOptimum(NamedTuple):
    """The model's maximum: its value, the multipliers, the mixture and how far it breaks the bounds."""

    value: float
    multipliers: FloatArray
    mixture: FloatArray
    violation: float


class Master:
    """A small linear program that grows by one column for each policy.

    Parameters
    ----------
    num_constraints
        How many bounds there are.
    limits
        The largest multiplier of each constraint; None sets none, and then some mixture of the policies
        must keep the bounds.
    feasibility
        Minimise the largest violation instead of the cost: the multipliers then sum to one and prove
        infeasibility if the violation cannot be brought to zero.
    """

    def __init__(
        self, num_constraints: int, limits: FloatArray | None = None, feasibility: bool = False
    ) -> None:
        import highspy

        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("primal_feasibility_tolerance", MASTER_TOLERANCE)
        self._highs.setOptionValue("dual_feasibility_tolerance", MASTER_TOLERANCE)
        self._highs.setOptionValue("threads", 1)
        self._feasibility = feasibility
        self._num_constraints = num_constraints
        for _ in range(num_constraints):
            self._highs.addRow(-highspy.kHighsInf, 0.0, 0, [], [])
        self._highs.addRow(1.0, 1.0, 0, [], [])
        self._num_slacks = 0
        if feasibility:
            every = np.arange(num_constraints, dtype=np.int32)
            infinity = highspy.kHighsInf
            self._highs.addCol(1.0, -infinity, infinity, num_constraints, every, -np.ones(num_constraints))
            self._num_slacks = 1
        elif limits is not None:
            for index, limit in enumerate(limits):
                self._highs.addCol(limit, 0.0, highspy.kHighsInf, 1, [index], [-1.0])
            self._num_slacks = num_constraints

    def add(self, cost: float, excess: FloatArray) -> None:
        """Add a policy with primary cost `cost` that exceeds the bounds by `excess`; negative keeps them."""
        import highspy

        values = np.append(excess, 1.0)
        indices = np.arange(self._num_constraints + 1, dtype=np.int32)
        primary = 0.0 if self._feasibility else cost
        self._highs.addCol(primary, 0.0, highspy.kHighsInf, len(values), indices, values)

    def solve(self) -> MasterOptimum:
        """Maximise the model over the columns added so far; there must be one."""
        import highspy

        self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            # The simplex method may stumble over badly scaled columns; a cold start has always helped.
            self._highs.clearSolver()
            self._highs.run()
            status = self._highs.getModelStatus()
            if status != highspy.HighsModelStatus.kOptimal:
                raise RuntimeError(f"the master problem ended with status {status}")
        solution = self._highs.getSolution()
        values = np.asarray(solution.col_value)
        slacks = values[: self._num_slacks]
        mixture = np.maximum(values[self._num_slacks :], 0.0)
        multipliers = np.maximum(-np.asarray(solution.row_dual)[: self._num_constraints], 0.0)
        violation = float(np.max(slacks, initial=-inf if self._feasibility else 0.0))
        value = float(self._highs.getInfo().objective_function_value)
        return MasterOptimum(value, multipliers, mixture / max(mixture.sum(), MIN_TOTAL), violation)
