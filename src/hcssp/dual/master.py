"""The master of the cutting planes: a small linear program over known policies, solved by HiGHS."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.errors import OutOfPrecision

MAX_ENTRY = 2.0**12
"""A policy whose cost, or use, is beyond this many times what is usual, is counted in smaller portions in the
master, which is solved with absolute tolerances."""

LARGEST_EXCESS = 1e100
"""Beyond this, an excess is as good as any other; it would overflow."""

MASTER_TOLERANCE = 1e-10
"""HiGHS's tolerances for the master; the tightest it takes. No bound rests on them."""

MIN_TOTAL = 1e-300
"""The divisor of a mixture whose weights are all zero, which only a failed master has."""


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
        self._portions: list[float] = []
        self._excesses: list[FloatArray] = []
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

        excess = np.clip(excess, -LARGEST_EXCESS, LARGEST_EXCESS)
        values = np.append(excess, 1.0)
        indices = np.arange(self._num_constraints + 1, dtype=np.int32)
        primary = 0.0 if self._feasibility else cost
        largest = max(primary, float(np.max(np.abs(values))))
        portion = 2.0 ** np.ceil(np.log2(largest / MAX_ENTRY)) if largest > MAX_ENTRY else 1.0
        self._portions.append(portion)
        self._excesses.append(excess)
        self._highs.addCol(primary / portion, 0.0, highspy.kHighsInf, len(values), indices, values / portion)

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
                raise OutOfPrecision(f"the master problem ended with status {status}")
        solution = self._highs.getSolution()
        values = np.asarray(solution.col_value)
        mixture = np.maximum(values[self._num_slacks :], 0.0) / np.array(self._portions)
        mixture /= max(mixture.sum(), MIN_TOTAL)
        multipliers = np.maximum(-np.asarray(solution.row_dual)[: self._num_constraints], 0.0)
        # Looked at here: what HiGHS takes for kept may be broken by more than the tolerance on bounds.
        violation = float(np.max(mixture @ np.array(self._excesses)))
        value = float(self._highs.getInfo().objective_function_value)
        return MasterOptimum(value, multipliers, mixture, violation)
