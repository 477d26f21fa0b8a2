r"""Evaluation of policies: expected costs to go and expected visits, as precisely as they are needed.

The values of a policy :math:`\pi` solve :math:`A_\pi V = c_\pi` with the M-matrix :math:`A_\pi = I - P_\pi`.
Three classes solve such systems for the policies of one problem, behind one interface, :class:`System`:

- :class:`PolicySystem` factorises a sparse system, and updates its solutions for neighbouring policies;
- :class:`DenseSystem` factorises every policy of a small problem by itself;
- :class:`SweepSystem` iterates where sparse factors would be dense.

:func:`system_for` chooses among them. Orders of elimination are in :mod:`hcssp.evaluation.linear_systems`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.evaluation.linear_systems import (
    EVALUATION,
    Layers,
    Products,
    algebra_for,
    eliminate,
)
from hcssp.numerics import EXACT, LARGEST_VALUE, LOST_SHARE, NEGATIVE_VALUE_TOLERANCE, PIVOT_TOLERANCE
from hcssp.ssp.balance import Balance


class System(Protocol):
    """Evaluates policies of one problem, given as one row for each live state.

    Attributes
    ----------
    balance
        The problem.
    """

    balance: Balance

    def values(self, rows: IntArray, tolerance: float = EXACT) -> FloatArray:
        """Expected costs to go under the policy `rows`, shape ``(num_live, num_costs)``.

        Parameters
        ----------
        rows
            One row for each live state.
        tolerance
            How far the values may be off, relative to the largest. Zero means as precise as possible.

        Raises
        ------
        ImproperPolicy
            If the policy does not reach a goal almost surely.
        OutOfPrecision
            If it does, but so late that its values cannot be computed.
        """

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`.

        Parameters
        ----------
        rows
            One row for each live state.
        initial
            How often it begins in each live state, in expectation; None for the problem's own distribution.
        """

    def release(self) -> None:
        """Free the memory of quickly computed data; answers stay the same."""


def require_proper(balance: Balance, rows: IntArray) -> None:
    """Raise :class:`ImproperPolicy` if the policy `rows` may go on for ever; the graph alone decides."""
    if not balance.is_proper(rows):
        raise ImproperPolicy("the policy does not reach a goal almost surely")


class PolicyUpdate(NamedTuple):
    """How a policy differs from the reference.

    Attributes
    ----------
    states, rows
        The states ``D`` where it takes other rows, and these rows.
    columns
        The solutions ``Z`` of the reference's system for a unit in each of those states.
    factors
        The factors of the small system ``A_D Z``.
    """

    states: IntArray
    rows: IntArray
    columns: FloatArray
    factors: tuple[FloatArray, IntArray]

    def solve(self, right: FloatArray, transposed: bool = False) -> FloatArray:
        """The solution of the small system, or of its transpose."""
        solution: FloatArray
        solution, _ = dgetrs(*self.factors, right, trans=int(transposed))
        return solution


class PolicySystem:
    r"""Evaluates policies of one problem by sparse factorisation, see :class:`System`.

    Searches evaluate policies that differ from one another in a few states :math:`D`. With a factorised
    *reference* policy :math:`A_0` and the columns :math:`Z = A_0^{-1} E_D`, the Woodbury identity gives

    .. math:: V = V_0 + Z u, \qquad (A_D Z)\, u = c_D - A_D V_0,

    where :math:`A_D` are the rows of :math:`A_\pi` at :math:`D` and the right-hand side is their reduced cost
    under :math:`V_0`. The columns are kept, because a search returns to the same states. A policy that
    differs in too many states becomes the new reference.

    Every answer is exact up to rounding. For a smaller tolerance than that, it factorises again,
    because updates lose some of the last digits.

    Parameters
    ----------
    balance
        The problem.
    """

    def __init__(self, balance: Balance) -> None:
        self.balance = balance
        self._capacity = int(
            max(8, min(2 * EVALUATION.max_changed, EVALUATION.column_bytes // (8 * max(1, balance.num_live))))
        )
        self._reference: IntArray | None = None
        self._factors: Any = None
        self._values: FloatArray = np.empty((0, 0))
        self._visits: FloatArray | None = None
        # Kept transposed, one column a line, so that picking some is copying lines.
        self._columns: FloatArray = np.empty((0, 0))
        self._slots: dict[int, int] = {}

    def values(self, rows: IntArray, tolerance: float = EXACT) -> FloatArray:
        """Expected costs to go, see :meth:`System.values`."""
        if tolerance < EXACT:
            if self._reference is None or not np.array_equal(rows, self._reference):
                self._refer_to(rows)
            return self._values
        update = self._update_to(rows)
        return self._values if update is None else self._values_after(update, rows)

    def _values_after(self, update: PolicyUpdate, rows: IntArray) -> FloatArray:
        """The values of the policy `rows` that an update leads to; where that is not good enough, its own."""
        balance = self.balance
        wanted = balance.costs.take(update.rows, axis=1).T - balance.times(update.rows, self._values)
        # Rounding may leave a value slightly below zero, and no cost is.
        values: FloatArray = np.maximum(self._values + update.columns @ update.solve(wanted), 0.0)
        if np.any(balance.initial @ values < LOST_SHARE * (balance.initial @ self._values)):
            self._refer_to(rows)
            return self._values
        return values

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the initial distribution."""
        update = self._update_to(rows)
        base: FloatArray
        if initial is not None:
            base = self._factors.solve(initial, "N")
        elif self._visits is None:
            base = self._visits = self._factors.solve(self.balance.initial, "N")
        else:
            base = self._visits
        if update is None:
            return np.maximum(base, 0.0)
        weights = update.solve(base[update.states], transposed=True)
        spread = self.balance.row_times(weights, update.rows)
        visits: FloatArray = base - self._factors.solve(spread, "N")
        visits[update.states] += weights
        return np.maximum(visits, 0.0)

    def release(self) -> None:
        """Give back the factors and all that was computed with them."""
        self._reference = self._visits = self._factors = None
        self._columns = np.empty((0, 0))
        self._slots = {}

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        """The states where `rows` differ from the reference; None if that is too many."""
        if self._reference is None:
            return None
        changed = np.flatnonzero(rows != self._reference)
        if len(changed) > min(EVALUATION.max_changed, self._capacity):
            return None
        most = EVALUATION.max_new_columns
        if len(changed) > most and sum(state not in self._slots for state in changed.tolist()) > most:
            return None
        return changed

    def _refer_to(self, rows: IntArray) -> None:
        """Factorise the system of `rows` and make it the reference."""
        balance = self.balance
        costs = self._costs_of(rows)
        try:
            self._factors = self._factorise(rows)
            values = self._factors.solve(costs, "T")
        except RuntimeError:
            values = np.full(costs.shape, np.nan)
        largest = costs.max(axis=0, initial=0.0)
        if not (
            np.all(values >= -NEGATIVE_VALUE_TOLERANCE * largest)
            and np.all(values <= LARGEST_VALUE * largest)
        ):
            self._reference = None
            require_proper(balance, rows)
            if not np.all(np.isfinite(values)):
                raise OutOfPrecision("the policy ends so seldom that its values are lost in double precision")
        # Rounding may leave a value slightly below zero, and no cost is.
        values = np.maximum(values, 0.0)
        self._reference = rows.copy()
        self._values = values
        self._visits = None
        self._columns = np.empty((0, balance.num_live))
        self._slots = {}

    def _costs_of(self, rows: IntArray) -> FloatArray:
        """The costs of the given rows, one line each."""
        return np.ascontiguousarray(self.balance.costs.take(rows, axis=1).T)

    def _factorise(self, rows: IntArray) -> Any:
        """The factors of the transposed system of `rows`; RuntimeError if it is singular."""
        return eliminate(self.balance.matrix[rows])

    def _update_to(self, rows: IntArray) -> PolicyUpdate | None:
        """What leads from the reference to the policy `rows`, which becomes the reference where that is best.

        None if it is the reference now.
        """
        changed = self._changed_from_reference(rows)
        if changed is not None and not len(changed):
            return None
        if changed is not None:
            taken = rows[changed]
            columns = self._columns_of(changed)
            factors, pivots, _ = dgetrf(self.balance.times(taken, columns))
            diagonal = np.abs(np.diagonal(factors))
            # A tiny pivot is a policy that (nearly) never leaves; the sparse factorisation decides.
            if diagonal.min() >= PIVOT_TOLERANCE * max(1.0, diagonal.max()):
                return PolicyUpdate(changed, taken, columns, (factors, pivots))
        self._refer_to(rows)
        return None

    def _columns_of(self, states: IntArray) -> FloatArray:
        """``A_0^{-1} E_states``, solving only for columns that are not stored yet."""
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
            self._columns[first : first + len(missing)] = self._factors.solve(units, "T").T
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


class DenseSystem(PolicySystem):
    """Evaluates policies of one small problem by dense factorisation, see :class:`System`.

    Every policy is a reference of its own: up to about a hundred states a dense factorisation takes no longer
    than the preparation of a sparse update, and loses no digits. The transposed system is eliminated. Its
    columns are diagonally dominant, so that partial pivoting leaves every row where it is: it is the
    elimination without pivoting that suits M-matrices.
    """

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance)
        self._matrix: FloatArray = balance.matrix.toarray()
        self._costs: FloatArray = np.ascontiguousarray(balance.costs.T)

    @staticmethod
    def suits(balance: Balance) -> bool:
        """Whether the problem is small enough; of nothing at all LAPACK makes no factors."""
        size = balance.num_live
        return (
            0 < size <= EVALUATION.max_dense_states
            and size * balance.num_rows <= EVALUATION.max_dense_entries
        )

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        if self._reference is None or not np.array_equal(rows, self._reference):
            return None
        return np.empty(0, dtype=np.int64)

    def _costs_of(self, rows: IntArray) -> FloatArray:
        return self._costs[rows]

    def _factorise(self, rows: IntArray) -> DenseFactors:
        # The transpose of a row-major array is column-major, as LAPACK needs it.
        lu, pivots, singular = dgetrf(self._matrix[rows].T, overwrite_a=True)
        if singular:
            raise RuntimeError("the system is singular")
        return DenseFactors(lu, pivots)


class DenseFactors(NamedTuple):
    """The dense factors of a matrix."""

    lu: FloatArray
    pivots: IntArray

    def solve(self, right: FloatArray, trans: Literal["N", "T"] = "N") -> FloatArray:
        """As ``scipy.sparse.linalg.SuperLU.solve``."""
        solution, _ = dgetrs(self.lu, self.pivots, right, trans=int(trans == "T"))
        return np.asarray(solution)


class SweepSystem:
    r"""Evaluates policies of one problem by iteration, without a factorisation, see :class:`System`.

    Products with the system, each followed by a Gauss-Seidel sweep in the order of the last values, see
    :class:`~hcssp.evaluation.linear_systems.Products`. With the states ordered by their distance from a goal,
    a policy's system is almost lower triangular, because actions mostly lead closer to a goal. A policy for
    which that does not converge soon is factorised, whatever the fill.

    Parameters
    ----------
    balance
        The problem.
    mixes
        Whether steps lead anywhere, so that no order of the states is any good: then no sweeps are made.
    """

    def __init__(self, balance: Balance, mixes: bool = False) -> None:
        self.balance = balance
        self._mixes = mixes
        self._values: FloatArray = np.zeros((balance.num_live, balance.costs.shape[0]))
        self._rows: IntArray | None = None
        self._products: Products | None = None

    def values(self, rows: IntArray, tolerance: float = EXACT) -> FloatArray:
        """Expected costs to go, see :meth:`System.values`."""
        costs = np.ascontiguousarray(self.balance.costs[:, rows].T)
        values = self._solved(rows, costs, "T", self._values, max(tolerance, EXACT))
        # Rounding may leave a value slightly below zero, and no cost is.
        self._values = np.maximum(values, 0.0)
        return self._values

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the initial distribution."""
        begins = self.balance.initial if initial is None else initial
        return np.maximum(self._solved(rows, begins, "N", None, EXACT), 0.0)

    def release(self) -> None:
        """Release the preconditioner; the values, a good start for the next policy, are kept."""
        self._rows = self._products = None

    def _solved(
        self,
        rows: IntArray,
        right: FloatArray,
        trans: Literal["N", "T"],
        start: FloatArray | None,
        tolerance: float,
    ) -> FloatArray:
        """The solution of the system of `rows`, or of its transpose; of late policies by factors."""
        system = self.balance.matrix[rows]
        limit = LARGEST_VALUE * float(np.max(right, initial=0.0))
        try:
            if self._products is None or self._rows is None or not np.array_equal(rows, self._rows):
                self._products = None
                order = None if self._mixes else np.argsort(self._values.sum(axis=1), kind="stable")
                self._products, self._rows = Products(system, order), rows.copy()
            solution = self._products.solve(right, trans, start, tolerance)
            if np.all(np.abs(solution) <= limit):
                return solution
            require_proper(self.balance, rows)
            factors = eliminate(system)
            solution = factors.solve(right, trans=trans)
        except RuntimeError:
            solution = np.full(right.shape, np.nan)
        if not np.all(np.abs(solution) <= limit):
            require_proper(self.balance, rows)
        if not np.all(np.isfinite(solution)):
            raise OutOfPrecision("the policy ends so seldom that its values are lost in double precision")
        return solution


def layers_of(balance: Balance) -> Layers:
    """The layers of a problem's states under all actions."""
    return Layers(balance.graph, int(np.argmax(balance.initial)) if balance.num_live else 0)


def side_of(balance: Balance, layers: Layers) -> float:
    """The side of a square grid whose states take as much work to eliminate, each, as those of a problem."""
    return min(float(np.sqrt(balance.num_live)), layers.mean_width / EVALUATION.grid_width)


def system_for(balance: Balance, layers: Layers) -> System:
    """The system that evaluates the policies of a problem fastest, see :func:`algebra_for`."""
    if DenseSystem.suits(balance):
        return DenseSystem(balance)

    def system() -> SparseMatrix:
        # The rows that lead to most states fill in as much as any.
        fewest = -np.diff(balance.matrix.indptr).astype(np.float64)
        every = np.arange(balance.num_live)
        return balance.matrix[balance.least_rows(fewest, balance.least_of_state(fewest), every)]

    algebra = algebra_for(layers, system)
    if algebra.by_products:
        return SweepSystem(balance, algebra.mixes)
    return PolicySystem(balance)
