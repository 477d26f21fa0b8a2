r"""A scalar problem: one problem under given weights of its costs, within a region of policies.

A value for each live state gives every row a *reduced cost*, what the row costs more than its state's value
says. The reduced costs say where a policy can be improved, and how much of the value is a proven bound: if
:math:`V \le (1 + \epsilon)\,c + T V` for every row of the region, then :math:`V / (1 + \epsilon)` is below
the value of every proper policy of the region, however :math:`V` was found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.balance import Balance

SWITCH_TOLERANCE = 1e-12
"""A row is better than another only if it saves more than this, relative to one plus the largest cost plus
the state's value. Smaller savings may be rounding, and ties would make policy iteration cycle; a bound stays
sound because it is lowered by the reduced costs that are left."""

FREE_COST = 1e-6
"""A row that costs no more than this share of the largest row cost may be taken in circles: values that are
only roughly right could make the circle look like a gain, so nothing is swept."""

FREE_COST_OF_BOUND = 1e-6
"""A row that costs no more than this, relative to one plus the bound, is free as far as the bound goes: a
negative reduced cost there cannot be divided away, because the divisor would be next to nothing."""

FREE_GAIN_TOLERANCE = 1e-11
"""A negative reduced cost of a free row within this, relative to one plus its state's value, is rounding."""

FREE_GAIN_LOSS = 1e-10
"""What rounding on free rows is taken to cost the bound, relative to one plus its value. That covers ten
visits of a row at the tolerance: an allowance for rounding, where the division above is a proof."""

MAX_LOWERINGS = 1_000
"""How often values are lowered for the sake of free rows before the trivial bound is taken."""


class Estimate(NamedTuple):
    """A value for each live state, and what it says about the rows.

    Attributes
    ----------
    value
        Of each live state.
    reduced
        The reduced cost of each row; ``inf`` where the region forbids it.
    least
        The least reduced cost of each live state.
    """

    value: FloatArray
    reduced: FloatArray
    least: FloatArray


class ScalarProblem:
    """One problem under weights, within a region.

    Parameters
    ----------
    balance
        The prepared problem.
    weights
        One non-negative weight for each cost.
    allowed
        Mask over rows; None allows all.

    Attributes
    ----------
    row_costs
        The weighted cost of each row.
    forbidden
        The rows outside the region; None if it is everything.
    least_cost, largest_cost
        The least and the largest weighted cost of an allowed row.
    """

    def __init__(self, balance: Balance, weights: FloatArray, allowed: BoolArray | None = None) -> None:
        self.balance = balance
        self.weights = weights
        self.allowed = allowed
        self.row_costs: FloatArray = weights @ balance.costs
        self.forbidden: IntArray | None = None if allowed is None else np.flatnonzero(~allowed)
        usable = self.row_costs if allowed is None else self.row_costs[allowed]
        self.least_cost = float(np.min(usable, initial=np.inf))
        self.largest_cost = float(np.max(usable, initial=0.0))

    @property
    def every_step_costs(self) -> bool:
        """Whether no allowed row is (nearly) free, so that no circle is."""
        return self.least_cost > FREE_COST * self.largest_cost

    def estimate(self, value: FloatArray, reduced: FloatArray | None = None) -> Estimate:
        """What a `value` for each live state says.

        Parameters
        ----------
        value
            Of each live state.
        reduced
            The reduced costs of all rows, where they are known already; those of forbidden rows are changed.
        """
        if reduced is None:
            reduced = self.balance.reduced_costs(self.row_costs, value)
        if self.forbidden is not None:
            reduced[self.forbidden] = np.inf
        return Estimate(value, reduced, self.balance.least_of_state(reduced))

    def improvable(self, estimate: Estimate, rows: IntArray | None = None) -> BoolArray:
        """The states where another row is better, beyond the tolerance.

        Parameters
        ----------
        estimate
            The values of a policy, or values near them.
        rows
            The policy's rows, where the values are not its own.
        """
        # Rounding is relative to the largest costs that values are summed from, even where a value is zero.
        tolerance = SWITCH_TOLERANCE * ((1.0 + self.largest_cost) + np.abs(estimate.value))
        if rows is None:
            return estimate.least < -tolerance
        return estimate.reduced[rows] - estimate.least > tolerance

    def is_within(self, estimate: Estimate, precision: float) -> bool:
        """Whether no improvement that is left can lower a value by more than `precision`, relatively."""
        return precision > 0.0 and bool(np.all(estimate.reduced >= -precision * self.row_costs))

    def lower_bound(self, estimate: Estimate) -> float:
        """A certified lower bound on the cost of every policy of the region, from values near the best."""
        balance, row_costs = self.balance, self.row_costs
        for _ in range(MAX_LOWERINGS):
            bound = float(balance.initial @ estimate.value)
            free = np.flatnonzero(row_costs <= FREE_COST_OF_BOUND * (1.0 + abs(bound)))
            rounding = FREE_GAIN_TOLERANCE * (1.0 + np.abs(estimate.value[balance.row_state[free]]))
            if np.all(estimate.reduced[free] >= -rounding):
                return _corrected(bound, row_costs, estimate.reduced)
            # Beside enormous costs the tolerance is coarse, and what it hides on rows without cost cannot be
            # scaled away: the values are lowered until nothing is hidden.
            estimate = self.estimate(estimate.value + np.minimum(estimate.least, 0.0))
        return 0.0


def _corrected(value: float, row_costs: FloatArray, reduced: FloatArray) -> float:
    """`value` lowered until it survives the remaining negative reduced costs."""
    negative = np.flatnonzero(reduced < 0.0)
    if len(negative) == 0:
        return value
    shortfall, cost = -reduced[negative], row_costs[negative]
    costly = cost > FREE_COST_OF_BOUND * (1.0 + abs(value))
    excess = float(np.max(shortfall[costly] / cost[costly], initial=0.0))
    corrected = value / (1.0 + excess)
    if not costly.all():
        # Rounding on (nearly) free rows cannot be scaled away.
        corrected -= FREE_GAIN_LOSS * (1.0 + abs(value))
    return corrected
