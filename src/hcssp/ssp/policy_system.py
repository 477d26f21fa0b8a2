r"""Values and visits of policies: one sparse factorisation serves many neighbouring policies.

The values of a policy :math:`\pi` solve :math:`A_\pi V = c_\pi` with :math:`A_\pi = I - P_\pi`. Searches ask
for policies that differ from one another in a few states :math:`D`. With a factorised *reference* policy
:math:`A_0` and the columns :math:`Z = A_0^{-1} E_D`, the Woodbury identity gives

.. math:: V = V_0 + Z u, \qquad (A_D Z)\, u = c_D - A_D V_0,

where :math:`A_D` are the rows of :math:`A_\pi` at :math:`D` and the right-hand side is their reduced cost
under :math:`V_0`. The columns are kept, because a search keeps coming back to the same states. Once a policy
differs in too many states, it becomes the new reference.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.factorisation import Factoriser, Factors

# A solve costs about 1/60 of a factorisation on grids of any size, so some dozens of columns pay.
MAX_CHANGED_STATES = 100
COLUMN_MEMORY = 32 * 2**20  # bytes of columns kept for one reference


class PolicySystem:
    """Evaluates policies of one problem, given as one row for each live state."""

    coarse = False  # every answer is exact up to rounding

    def __init__(self, balance: Balance) -> None:
        self.balance = balance
        self.num_factorisations = 0
        self._factoriser = Factoriser(balance)
        self._capacity = int(
            max(8, min(2 * MAX_CHANGED_STATES, COLUMN_MEMORY // (8 * max(1, balance.num_live))))
        )
        self._reference: IntArray | None = None
        self._factors: Factors
        self._values: FloatArray = np.empty((0, 0))
        self._visits: FloatArray | None = None
        # Kept transposed, one column a line, so that picking some is copying lines.
        self._columns: FloatArray = np.empty((0, 0))
        self._slots: dict[int, int] = {}

    def values(self, rows: IntArray, fresh: bool = False) -> FloatArray:
        """Expected costs to go under the policy `rows`, shape ``(num_live, num_costs)``.

        Parameters
        ----------
        rows
            One row for each live state.
        fresh
            Factorise anew, whatever is known already.

        Raises
        ------
        ImproperPolicy
            If the policy does not reach a goal almost surely.
        """
        changed = self._changed_from_reference(rows)
        if changed is None or (fresh and len(changed)):
            self._refer_to(rows)
            return self._values
        if len(changed) == 0:
            return self._values
        update = self._update(rows, changed)
        if update is None:
            self._refer_to(rows)
            return self._values
        columns, small, new_rows = update
        balance = self.balance
        reduced = balance.costs[:, new_rows].T - balance.times(new_rows, self._values)
        correction, _ = dgetrs(*small, reduced)
        values: FloatArray = self._values + columns @ correction
        return values

    def visits(self, rows: IntArray) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the initial distribution."""
        changed = self._changed_from_reference(rows)
        update = None
        if changed is None:
            self._refer_to(rows)
            changed = np.empty(0, dtype=np.int64)
        elif len(changed):
            update = self._update(rows, changed)
            if update is None:
                self._refer_to(rows)
                changed = np.empty(0, dtype=np.int64)
        if self._visits is None:
            self._visits = self._factors.solve_transposed(self.balance.initial)
        if update is None:
            return np.maximum(self._visits, 0.0)
        _, small, new_rows = update
        weights, _ = dgetrs(*small, self._visits[changed], trans=1)
        spread = self.balance.row_times(weights, new_rows)
        visits: FloatArray = self._visits - self._factors.solve_transposed(spread)
        visits[changed] += weights
        return np.maximum(visits, 0.0)

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        """The states where `rows` differ from the reference; None if that is too many."""
        if self._reference is None:
            return None
        changed = np.flatnonzero(rows != self._reference)
        if len(changed) > min(MAX_CHANGED_STATES, self._capacity):
            return None
        return changed

    def _refer_to(self, rows: IntArray) -> None:
        """Factorise the system of `rows` and make it the reference."""
        balance = self.balance
        try:
            self._factors = self._factoriser.factorise(rows)
        except RuntimeError as error:
            raise ImproperPolicy("the policy does not reach a goal almost surely") from error
        self.num_factorisations += 1
        costs = np.ascontiguousarray(balance.costs[:, rows].T)
        values = self._factors.solve(costs)
        scale = 1.0 + float(np.max(costs, initial=0.0))
        # Rounding may hide that the system is singular; its answers then are negative or absurd.
        if not np.all(np.isfinite(values)) or np.any(values < -1e-6 * scale) or np.any(values > 1e15 * scale):
            self._reference = None
            raise ImproperPolicy("the policy does not reach a goal almost surely")
        self._reference = rows.copy()
        self._values = values
        self._visits = None
        self._columns = np.empty((0, balance.num_live))
        self._slots = {}

    def _update(
        self, rows: IntArray, changed: IntArray
    ) -> tuple[FloatArray, tuple[FloatArray, IntArray], IntArray] | None:
        """Columns, the factorised small system and the new rows; None if it is not to be trusted."""
        columns = self._columns_of(changed)
        new_rows = rows[changed]
        small = self.balance.times(new_rows, columns)
        factors, pivots, _ = dgetrf(small)
        diagonal = np.abs(np.diagonal(factors))
        # A tiny pivot is a policy that (nearly) never leaves; the sparse factorisation decides.
        if diagonal.min() < 1e-9 * max(1.0, diagonal.max()):
            return None
        return columns, (factors, pivots), new_rows

    def _columns_of(self, states: IntArray) -> FloatArray:
        """``A_0^{-1} E_states``, solving only for what is not kept yet."""
        wanted = states.tolist()
        missing = [state for state in wanted if state not in self._slots]
        if len(self._slots) + len(missing) > self._capacity:
            # Forget all rather than the oldest: a search that has moved on needs few of them again.
            self._slots = {}
            missing = wanted
        if missing:
            first = len(self._slots)
            self._make_room(first + len(missing))
            units = np.zeros((self.balance.num_live, len(missing)), order="F")
            units[missing, np.arange(len(missing))] = 1.0
            self._columns[first : first + len(missing)] = self._factors.solve(units).T
            self._slots.update((state, first + offset) for offset, state in enumerate(missing))
        slots = [self._slots[state] for state in wanted]
        columns: FloatArray = self._columns.take(slots, axis=0).T
        return columns

    def _make_room(self, needed: int) -> None:
        """Grow the kept columns to at least `needed`, doubling up to the capacity."""
        have = len(self._columns)
        if needed <= have:
            return
        size = max(needed, min(max(16, 2 * have), self._capacity))
        grown = np.empty((size, self.balance.num_live))
        kept = len(self._slots)
        grown[:kept] = self._columns[:kept]
        self._columns = grown
