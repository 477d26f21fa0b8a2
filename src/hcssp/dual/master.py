r"""The cutting-plane master: the best multipliers for the policies known so far.

Over known policies with costs :math:`(f_k, g_k)` the dual's model is
:math:`\max_{\lambda \ge 0} \min_k f_k + \lambda (g_k - \Delta)`; its dual is the best mixture of those
policies that keeps the bounds. The multipliers may be limited, which a mixture sees as a price for breaking
a bound.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray


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
        self._highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
        self._highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
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
            # The simplex method may stumble over badly scaled columns; a cold start has always mended it.
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
        return MasterOptimum(value, multipliers, mixture / max(mixture.sum(), 1e-300), violation)
