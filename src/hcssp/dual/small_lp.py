r"""A linear program with a handful of rows and a few hundred columns, solved by the simplex method.

.. math:: \min_x \, c x \quad \text{such that} \quad \sum_k x_k a_k = b, x \ge 0.

The caller gives a feasible basis. A new column leaves that basis feasible, so a program that grows column by
column (column generation) needs a few pivots for each. The inverse of the basis is dense; each pivot updates
it, and after some of them it is computed again.

**Guarantee.** None that a proof may rest on: the shares and the dual values are rounded. Callers derive
bounds from them by arithmetic of their own.

**Reference.** Dantzig and Orchard-Hays 1954, the product form; Bland 1977 for degenerate programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray


@dataclass(frozen=True)
class SimplexParameters:
    """How the simplex method proceeds.

    Attributes
    ----------
    zero
        A reduced cost, or an entry of a direction, is zero if it is below this share of its terms.
    max_pivots
        A program that takes more pivots is lost in rounding.
    max_updates
        After this many pivots the inverse of the basis is computed again.
    """

    zero: float = 1e-11
    max_pivots: int = 500
    max_updates: int = 16


SIMPLEX = SimplexParameters()
"""The parameters of all programs."""


class SmallLP:
    """The program and its current basis.

    >>> columns = np.array([[1.0, 1.0], [1.0, 0.0]])
    >>> program = SmallLP(columns, np.array([5.0, 0.0]), np.array([2.0, 1.0]), basis=[0, 1])
    >>> program.add(np.array([2.0, 1.0]), 3.0)
    >>> program.solve()
    True
    >>> program.value, program.solution.tolist()
    (3.0, [0.0, 0.0, 1.0])

    Parameters
    ----------
    columns, costs
        The columns, a row each, and their costs.
    right
        The right-hand side.
    basis
        The columns of a feasible basis.
    inverse
        That of the basis, where it is known: the matrix whose product with the right-hand side gives the
        shares of the basis.
    """

    def __init__(
        self,
        columns: FloatArray,
        costs: FloatArray,
        right: FloatArray,
        basis: IntArray | list[int],
        inverse: FloatArray | None = None,
    ) -> None:
        self.columns, self.costs, self._right = columns, costs, right
        self.basis: IntArray = np.array(basis, dtype=np.int64)
        self.inverse: FloatArray = (
            np.linalg.inv(columns[self.basis].T).astype(np.float64) if inverse is None else inverse
        )
        self.shares: FloatArray = np.maximum(self.inverse @ right, 0.0)
        self._updates = 0

    def add(self, column: FloatArray, cost: float) -> None:
        """Add a column."""
        self.columns = np.vstack([self.columns, column])
        self.costs = np.append(self.costs, cost)

    @property
    def duals(self) -> FloatArray:
        """The dual value of each row at the current basis."""
        duals: FloatArray = self.costs[self.basis] @ self.inverse
        return duals

    @property
    def value(self) -> float:
        """The cost of the current basis."""
        return float(self.costs[self.basis] @ self.shares)

    @property
    def solution(self) -> FloatArray:
        """The share of each column at the current basis."""
        shares = np.zeros(len(self.costs))
        shares[self.basis] = self.shares
        return shares

    def solve(self) -> bool:
        """Pivot to an optimal basis; False if rounding does not let that be found."""
        still, found = 0, False
        for _ in range(SIMPLEX.max_pivots):
            # After as many pivots without a gain as there are rows, Bland's rule excludes a cycle.
            cautious = still > len(self.basis)
            enters = self._entering(cautious)
            if enters is None:
                found = True
                break
            direction = self.inverse @ self.columns[enters]
            rising = direction > SIMPLEX.zero * np.abs(direction).max()
            if not rising.any():
                break
            steps = np.where(rising, self.shares / np.where(rising, direction, 1.0), np.inf)
            step = float(steps.min())
            tied = steps <= step
            leaves = int(
                (np.where(tied, -self.basis, -len(self.costs)) if cautious else tied * direction).argmax()
            )
            self._updates += 1
            still = 0 if step > 0.0 else still + 1
            self.basis[leaves] = enters
            row = self.inverse[leaves] / direction[leaves]
            self.inverse = self.inverse - direction[:, np.newaxis] * row
            self.inverse[leaves] = row
            self.shares = np.maximum(self.inverse @ self._right, 0.0)
            if self._updates > SIMPLEX.max_updates:
                self._refactor()
        return found

    def _entering(self, cautious: bool) -> int | None:
        """The column of the least reduced cost, or the first with a negative one; None if there is none."""
        duals = self.duals
        reduced = self.costs - self.columns @ duals
        least = int(reduced.argmin())
        terms = abs(self.costs[least]) + np.abs(self.columns[least]) @ np.abs(duals)
        if not cautious and reduced[least] < -SIMPLEX.zero * terms:
            return least
        # The least one is rounding; there may be another that is not.
        terms = np.abs(self.costs) + np.abs(self.columns) @ np.abs(duals)
        reduced = np.where(reduced < -SIMPLEX.zero * terms, reduced, 0.0)
        enters = int((reduced < 0.0).argmax() if cautious else reduced.argmin())
        return enters if reduced[enters] < 0.0 else None

    def _refactor(self) -> None:
        """Compute the inverse of the basis again: pivots add up their rounding."""
        self._updates = 0
        try:
            self.inverse = np.linalg.inv(self.columns[self.basis].T).astype(np.float64)
        except np.linalg.LinAlgError:
            return
        self.shares = np.maximum(self.inverse @ self._right, 0.0)
