r"""A scalar problem: one problem under given weights of its costs, within a region of policies.

A value for each live state gives every row a *reduced cost*: the cost of the row minus the value of its
state. The reduced costs show where a policy can be improved, and how much of the value is a proven bound, see
:mod:`hcssp.ssp.potential`.

A :class:`Region` is the set of policies that avoid some forbidden rows.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.balance import Balance
from hcssp.ssp.potential import Certificate

SWITCH_TOLERANCE = 1e-12
"""A row is better than another only if it saves more than this share of its state's value. Smaller savings
may be rounding, and ties would make policy iteration cycle. No bound rests on it."""

ROUNDING_SHARE = 1e-15
"""Besides, it must save more than this share of the largest value: so much may be rounding even where a
state's own value is next to nothing."""

FREE_COST = 1e-6
"""A row that costs no more than this share of the largest row cost may be part of a free cycle: values that
are only roughly right could make the cycle look like a gain, so nothing is swept."""


class Estimate(NamedTuple):
    """A value for each live state, and the reduced costs of the rows.

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
        """Whether no allowed row is (nearly) free, so that no cycle is."""
        return self.least_cost > FREE_COST * self.largest_cost

    def estimate(self, value: FloatArray, reduced: FloatArray | None = None) -> Estimate:
        """The reduced costs under a `value` for each live state.

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
        tolerance = tie(estimate.value)
        if rows is None:
            return estimate.least < -tolerance
        return estimate.reduced[rows] - estimate.least > tolerance

    def is_within(self, estimate: Estimate, precision: float) -> bool:
        """Whether no improvement that is left can lower a value by more than `precision`, relatively."""
        return precision > 0.0 and bool(np.all(estimate.reduced >= -precision * self.row_costs))

    def lower_bound(self, estimate: Estimate, precision: float = 0.0) -> float:
        """A certain lower bound on the cost of every policy of the region; see :meth:`certificate`."""
        return self.certificate(estimate, precision).bound

    def certificate(self, estimate: Estimate, precision: float = 0.0) -> Certificate:
        """What proves a lower bound on the cost of every policy of the region, from values near the best.

        Parameters
        ----------
        estimate
            The values and their reduced costs.
        precision
            The share of the bound that may be lost where that saves work.
        """
        return self.balance.certify(
            self.weights, estimate.value, estimate.reduced, self.forbidden, 2.0 * precision
        )


def tie(value: FloatArray) -> FloatArray:
    """The largest difference of the rows of a state that still counts as a tie."""
    size = np.abs(value)
    tolerance: FloatArray = SWITCH_TOLERANCE * size + ROUNDING_SHARE * float(np.max(size, initial=0.0))
    return tolerance


def tie_of(value: float) -> float:
    """The largest difference of the rows of a single state that still counts as a tie."""
    return (SWITCH_TOLERANCE + ROUNDING_SHARE) * abs(value)


class Region:
    """All policies that never use a row of `forbidden`.

    A search keeps one for each open node, so the rows are packed: four bytes for each, where a set takes ten
    times as much.
    """

    __slots__ = ("_packed",)

    def __init__(self, forbidden: Iterable[int] = ()) -> None:
        self._packed = array("i", sorted(forbidden)).tobytes()

    @property
    def forbidden(self) -> frozenset[int]:
        """The rows that are avoided."""
        return frozenset(memoryview(self._packed).cast("i"))

    @property
    def nbytes(self) -> int:
        """The memory that it takes, about."""
        return sys.getsizeof(self) + sys.getsizeof(self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._packed == other._packed

    def __hash__(self) -> int:
        return hash(self._packed)

    def __repr__(self) -> str:
        return f"Region({sorted(self.forbidden)})"

    def forbid(self, rows: Iterable[int]) -> Region:
        """The part of this region that avoids `rows` too."""
        return Region(self.forbidden.union(int(row) for row in rows))

    def force(self, row: int, row_start: IntArray, row_state: IntArray) -> Region:
        """The part of this region that uses `row` in its state."""
        state = row_state[row]
        siblings = range(int(row_start[state]), int(row_start[state + 1]))
        return self.forbid(sibling for sibling in siblings if sibling != row)

    def allowed(self, num_rows: int) -> BoolArray:
        """The region as a mask over all rows."""
        mask = np.ones(num_rows, dtype=np.bool_)
        if self.forbidden:
            mask[list(self.forbidden)] = False
        return mask
