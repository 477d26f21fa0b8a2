r"""Evaluation of policies: expected costs to go and expected visits, as precisely as they are needed.

The values of a policy :math:`\pi` solve :math:`A_\pi V = c_\pi` with the M-matrix :math:`A_\pi = I - P_\pi`.
Three classes solve such systems for the policies of one problem, behind one interface, :class:`System`:

- :class:`PolicySystem` factorises a sparse system, and updates its solutions for neighbouring policies;
- :class:`DenseSystem` factorises every policy of a small problem by itself;
- :class:`SweepSystem` iterates where sparse factors would be dense.

:func:`system_for` chooses among them. Orders of elimination are in :mod:`hcssp.cssp.factorisation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, csr_array

from hcssp.cssp.factorisation import (
    GRID_WIDTH,
    NARROW,
    SAMPLE,
    SMALL,
    Layers,
    OrderedFactors,
    eliminate,
    factorise,
    fills_in_nearby,
    flow_order,
)
from hcssp.cssp.krylov import solve_by_products
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.deadline import keep_time
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.ssp.balance import Balance

EXACT = 1e-13
"""The tolerance, relative to the largest value, of what is meant to be exact up to rounding."""


class System(Protocol):
    """Evaluates policies of one problem, given as one row for each live state.

    Attributes
    ----------
    balance
        The problem.
    default_tolerance
        How far the values are off, relative to the largest, if nothing more precise is asked for.
    """

    balance: Balance
    default_tolerance: float

    def values(self, rows: IntArray, tolerance: float | None = None) -> FloatArray:
        """Expected costs to go under the policy `rows`, shape ``(num_live, num_costs)``.

        Parameters
        ----------
        rows
            One row for each live state.
        tolerance
            How far the values may be off, relative to the largest; None for the default. Zero asks for the
            best there is, whatever it costs.

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

    def answers(self, rows: IntArray, taken: IntArray) -> FloatArray | None:
        """How each of some rows, taken instead of a policy's, answers to a unit cost in the states of all.

        With the system ``A`` of the policy, the rows ``B`` and their states ``D``, that is ``B A^-1 E_D``.

        Parameters
        ----------
        rows
            The policy: one row for each live state.
        taken
            Other rows, not many.

        Returns
        -------
        None where it takes as long as evaluating as many policies.
        """

    def release(self) -> None:
        """Give back the memory of what is quickly made again; answers stay the same."""


def require_proper(balance: Balance, rows: IntArray) -> None:
    """Raise :class:`ImproperPolicy` if the policy `rows` may go on for ever; the graph alone decides."""
    if not balance.is_proper(rows):
        raise ImproperPolicy("the policy does not reach a goal almost surely")


MIN_STATES_TO_ORDER = 100
"""Fewer states are factorised in no time, in whatever order."""

MAX_CIRCLING = 2
"""If so many more policies went in circles than not, the order of the flow is not looked for any more."""


class Factors:
    """The factors of one policy's system ``A``.

    Parameters
    ----------
    lu
        The factors of the transpose of ``A``.
    flows
        Whether states were eliminated in the order of the flow, see
        :func:`~hcssp.cssp.factorisation.flow_order`.
    """

    def __init__(self, lu: Any = None, flows: bool = False) -> None:
        self._lu = lu
        self.flows = flows

    @classmethod
    def of(cls, system: SparseMatrix) -> Factors:
        """The factors of a system, in the order of its flow if it has one.

        Raises
        ------
        RuntimeError
            If it is singular.
        """
        flow = flow_order(system) if system.shape[0] > MIN_STATES_TO_ORDER else None
        return (
            cls(eliminate(system)) if flow is None else cls(OrderedFactors(system, flow.states), flows=True)
        )

    def solve(self, right: FloatArray) -> FloatArray:
        """``x`` with ``A x = right``."""
        solution: FloatArray = self._lu.solve(right, trans="T")
        return solution

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        """``x`` with ``x A = right``."""
        solution: FloatArray = self._lu.solve(right, trans="N")
        return solution


class Factoriser:
    """Factorises the systems of one problem's policies.

    Parameters
    ----------
    balance
        The problem.
    order
        The states in an order that serves every policy, such as that of a line or a corridor; None if there
        is none.
    """

    def __init__(self, balance: Balance, order: IntArray | None = None) -> None:
        self._balance = balance
        self._always = order
        self._hubs: IntArray = np.empty(0, dtype=np.int64)
        self._num_flowing = self._num_circling = 0

    def factorise(self, rows: IntArray) -> Factors:
        """The factors of the policy `rows`, one for each live state.

        Raises
        ------
        RuntimeError
            If the system is singular.
        """
        system = self._balance.matrix[rows]
        if self._always is not None:
            return Factors(OrderedFactors(system, self._always))
        if len(rows) > MIN_STATES_TO_ORDER and self._num_circling <= self._num_flowing + MAX_CIRCLING:
            flow = flow_order(system, self._hubs)
            if flow is not None:
                self._hubs = flow.hubs
                self._num_flowing += 1
                return Factors(OrderedFactors(system, flow.states), flows=True)
            self._num_circling += 1
        return Factors(eliminate(system))


MAX_CHANGED_STATES = 100
"""A policy that differs from the reference in more states becomes the reference. A solve costs about 1/60 of
a factorisation on grids of any size, so some dozens of columns pay."""

MAX_CHANGED_ALONG_A_LINE = 4
"""The same where one ordering serves all policies: there a solve costs about a fifth of a factorisation."""

MAX_NEW_COLUMNS = 40
"""For more columns than these that are not kept yet, a policy becomes the reference as well: so many take
about as long as a factorisation, with all that is done to them."""

MAX_NEW_COLUMNS_IN_FLOW = 8
"""The same where states are eliminated in the order of the flow."""

COLUMN_MEMORY = 32 * 2**20
"""Bytes of columns kept for one reference."""

NEGATIVE_VALUE_TOLERANCE = 1e-6
"""A value below zero by more than this, relative to the largest cost, makes one ask whether the policy ends
at all: a singular system may look regular by rounding."""

LARGEST_VALUE = 1e12
"""A value above this, relative to the largest cost, makes one ask the same."""

LOST_SHARE = 1e-3
"""A cost that falls below this share of the reference's is what large numbers leave of one another. The
update of one above it is right to a thousand roundings, which is what a cost may be off; below it, what is
wrong with it is solved for, so that its last digits do not decide whether it keeps a bound."""

MAX_CORRECTIONS, CORRECTION_TOLERANCE, NOTHING = 2, 1e-12, 1e-30
"""Each correction is smaller than the one before by as much as that was than the reference's costs. One that
moves a cost by this share of it, or of the reference's where none is left, is the last that is needed; if so
many do not lead there, the policy is factorised for its own sake."""

MAX_CORRECTED = 2
"""So many policies are corrected before one is factorised: then such costs are what is asked for, and the
reference had better be one of their policies."""

PIVOT_TOLERANCE = 1e-9
"""A small system whose least pivot is below this, relative to the largest (or to one), is not trusted: its
policy nearly never leaves, and half of the digits of the update would be lost."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyUpdate:
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

    Searches ask for policies that differ from one another in a few states :math:`D`. With a factorised
    *reference* policy :math:`A_0` and the columns :math:`Z = A_0^{-1} E_D`, the Woodbury identity gives

    .. math:: V = V_0 + Z u, \qquad (A_D Z)\, u = c_D - A_D V_0,

    where :math:`A_D` are the rows of :math:`A_\pi` at :math:`D` and the right-hand side is their reduced cost
    under :math:`V_0`. The columns are kept, because a search returns to the same states. A policy that
    differs in too many states becomes the new reference.

    Every answer is exact up to rounding. Asked for a smaller tolerance than that, it factorises again,
    because updates lose some of the last digits.

    Parameters
    ----------
    balance, order
        As for :class:`Factoriser`.
    """

    default_tolerance = EXACT

    def __init__(self, balance: Balance, order: IntArray | None = None) -> None:
        self.balance = balance
        self._factoriser = Factoriser(balance, order)
        self._most_changed = MAX_CHANGED_STATES if order is None else MAX_CHANGED_ALONG_A_LINE
        self._capacity = int(
            max(8, min(2 * MAX_CHANGED_STATES, COLUMN_MEMORY // (8 * max(1, balance.num_live))))
        )
        self._reference: IntArray | None = None
        self._num_corrected = 0
        self._factors: Factors
        self._values: FloatArray = np.empty((0, 0))
        self._visits: FloatArray | None = None
        # Kept transposed, one column a line, so that picking some is copying lines.
        self._columns: FloatArray = np.empty((0, 0))
        self._slots: dict[int, int] = {}

    def values(self, rows: IntArray, tolerance: float | None = None) -> FloatArray:
        """Expected costs to go, see :meth:`System.values`."""
        if tolerance is not None and tolerance < self.default_tolerance:
            if self._reference is None or not np.array_equal(rows, self._reference):
                self._refer_to(rows)
            return self._values
        update = self._update_to(rows)
        return self._values if update is None else self._values_after(update, rows)

    def _values_after(self, update: PolicyUpdate, rows: IntArray) -> FloatArray:
        """The values of the policy `rows` that an update leads to; where that is not good enough, its own."""
        balance = self.balance
        # Rounding may leave a value a hair below zero, and no cost is.
        values = np.maximum(
            self._updated(update, self._values, balance.costs.take(update.rows, axis=1).T), 0.0
        )
        before = balance.initial @ self._values
        if np.all(balance.initial @ values >= LOST_SHARE * before):
            return values
        self._num_corrected += 1
        if self._num_corrected > MAX_CORRECTED:
            self._refer_to(rows)
            return self._values
        costs, system = self._costs_of(rows), balance.matrix[rows]
        for _ in range(MAX_CORRECTIONS):
            wrong = costs - system @ values
            correction = self._updated(update, self._factors.solve(wrong), wrong[update.states])
            values = np.maximum(values + correction, 0.0)
            moved, after = balance.initial @ np.abs(correction), balance.initial @ values
            if np.all(moved <= np.maximum(CORRECTION_TOLERANCE * after, NOTHING * before)):
                return values
        self._refer_to(rows)
        return self._values

    def _updated(self, update: PolicyUpdate, known: FloatArray, right: FloatArray) -> FloatArray:
        """The solution of another policy's system.

        Parameters
        ----------
        update
            What leads to the policy.
        known
            The solution of the reference's system.
        right
            The right-hand side in the states where the policy takes other rows; elsewhere it is the same.
        """
        wanted = right - self.balance.times(update.rows, known)
        solution: FloatArray = known + update.columns @ update.solve(wanted)
        return solution

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the initial distribution."""
        update = self._update_to(rows)
        if initial is not None:
            base = self._factors.solve_transposed(initial)
        elif self._visits is None:
            base = self._visits = self._factors.solve_transposed(self.balance.initial)
        else:
            base = self._visits
        if update is None:
            return np.maximum(base, 0.0)
        weights = update.solve(base[update.states], transposed=True)
        spread = self.balance.row_times(weights, update.rows)
        visits: FloatArray = base - self._factors.solve_transposed(spread)
        visits[update.states] += weights
        return np.maximum(visits, 0.0)

    def answers(self, rows: IntArray, taken: IntArray) -> FloatArray | None:
        """How rows answer to costs elsewhere, see :meth:`System.answers`."""
        states, place = np.unique(self.balance.row_state[taken], return_inverse=True)
        if len(states) > self._capacity:
            return None
        update = self._update_to(rows)
        known = self._columns_of(states)
        answers: FloatArray = self.balance.times(taken, known)
        if update is not None:
            # As for values: a unit cost in a state is a right-hand side like any other.
            units = (update.states[:, np.newaxis] == states).astype(np.float64)
            excess = units - self.balance.times(update.rows, known)
            answers += self.balance.times(taken, update.columns) @ update.solve(excess)
        return answers[:, place]

    def release(self) -> None:
        """Give back the factors and all that was computed with them."""
        self._reference = self._visits = None
        self._factors = Factors()
        self._columns = np.empty((0, 0))
        self._slots = {}

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        """The states where `rows` differ from the reference; None if that is too many."""
        if self._reference is None:
            return None
        changed = np.flatnonzero(rows != self._reference)
        if len(changed) > min(self._most_changed, self._capacity):
            return None
        most = MAX_NEW_COLUMNS_IN_FLOW if self._factors.flows else MAX_NEW_COLUMNS
        if len(changed) > most and sum(state not in self._slots for state in changed.tolist()) > most:
            return None
        return changed

    def _refer_to(self, rows: IntArray) -> None:
        """Factorise the system of `rows` and make it the reference."""
        balance = self.balance
        costs = self._costs_of(rows)
        try:
            self._factors = self._factorise(rows)
            values = self._factors.solve(costs)
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
                raise OutOfPrecision("the policy ends so seldom that double precision cannot tell its values")
        # Rounding may leave a value a hair below zero, and no cost is.
        values = np.maximum(values, 0.0)
        self._reference = rows.copy()
        self._num_corrected = 0
        self._values = values
        self._visits = None
        self._columns = np.empty((0, balance.num_live))
        self._slots = {}

    def _costs_of(self, rows: IntArray) -> FloatArray:
        """The costs of the given rows, one line each."""
        return np.ascontiguousarray(self.balance.costs.take(rows, axis=1).T)

    def _factorise(self, rows: IntArray) -> Factors:
        """The factors of the policy `rows`; RuntimeError if its system is singular."""
        return self._factoriser.factorise(rows)

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


MAX_DENSE_STATES = 120
"""With more live states, updates of a sparse factorisation are quicker."""

MAX_DENSE_ENTRIES = 250_000
"""Nor are the rows of a problem kept as a dense matrix with more entries than this: two megabytes."""


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
        return 0 < size <= MAX_DENSE_STATES and size * balance.num_rows <= MAX_DENSE_ENTRIES

    def _changed_from_reference(self, rows: IntArray) -> IntArray | None:
        if self._reference is None or not np.array_equal(rows, self._reference):
            return None
        return np.empty(0, dtype=np.int64)

    def _costs_of(self, rows: IntArray) -> FloatArray:
        return self._costs[rows]

    def _factorise(self, rows: IntArray) -> Factors:
        # The transpose of what lies row by row lies column by column, as LAPACK wants it.
        lu, pivots, singular = dgetrf(self._matrix[rows].T, overwrite_a=True)
        if singular:
            raise RuntimeError("the system is singular")
        return DenseFactors(lu, pivots)


class DenseFactors(Factors):
    """The factors of one policy's transposed system."""

    def __init__(self, lu: FloatArray, pivots: IntArray) -> None:
        super().__init__()
        self._dense, self._pivots = lu, pivots

    def solve(self, right: FloatArray) -> FloatArray:
        solution, _ = dgetrs(self._dense, self._pivots, right, trans=1)
        return np.asarray(solution)

    def solve_transposed(self, right: FloatArray) -> FloatArray:
        solution, _ = dgetrs(self._dense, self._pivots, right, trans=0)
        return np.asarray(solution)


ROUGH = 1e-5
"""Sweeps end once they change no value by more than this, relative to the largest value or cost, if nothing
more precise is asked for: good enough to go on improving a policy. No bound is taken from such values."""

MAX_GAUSS_SEIDEL_SWEEPS = 20_000

MAX_FAILURES = 3
"""After so many policies in a row that products did not evaluate, they are not tried any more."""


class SweepSystem:
    r"""Evaluates policies of one problem by iteration, without a factorisation, see :class:`System`.

    Gauss-Seidel in the order of the values: with the states ordered by their distance from a goal, a policy's
    system :math:`A_\pi = L + U` is almost lower triangular, because actions mostly lead closer to a goal.
    Each sweep solves with :math:`L`, whose factors have no fill, and the error shrinks by about the share of
    probability that leads away. The splitting is regular (the systems are M-matrices), so it always
    converges. Where steps lead anywhere, no order is any good, and a Krylov method serves better.

    The tolerance is on what one more sweep would change, which bounds the error only as well as sweeps
    converge. Whoever needs a bound looks at the residual.

    Parameters
    ----------
    balance
        The problem.
    mixes
        Whether steps lead anywhere, so that policies forget in a few steps where they were: then a few
        products with the system are tried first, see :mod:`hcssp.cssp.krylov`.
    """

    default_tolerance = ROUGH

    def __init__(self, balance: Balance, mixes: bool = False) -> None:
        self.balance = balance
        self._failures = 0 if mixes else MAX_FAILURES
        if mixes:
            # The way from rough values to exact ones is as long as the way to rough ones.
            self.default_tolerance = EXACT
        self._values: FloatArray = np.zeros((balance.num_live, balance.costs.shape[0]))
        self._order: IntArray | None = None
        self._permuted: SparseMatrix = None
        self._rows: IntArray | None = None
        self._lower: SparseMatrix = None
        self._upper: SparseMatrix = None

    def values(self, rows: IntArray, tolerance: float | None = None) -> FloatArray:
        """Expected costs to go, see :meth:`System.values`."""
        tolerance = self.default_tolerance if tolerance is None else max(tolerance, EXACT)
        if self._mixes:
            mixed = self._mixed_values(rows, tolerance)
            if mixed is not None:
                self._values = mixed
                return mixed
        self._split(rows)
        order = self._order
        costs = self.balance.costs[:, rows].T[order]
        values = self._values[order]
        scale = float(np.max(costs, initial=0.0))
        doubtful = LARGEST_VALUE * scale
        for _ in range(MAX_GAUSS_SEIDEL_SWEEPS):
            keep_time()
            after = self._lower.solve(costs - self._upper @ values, trans="T")
            change = float(np.max(np.abs(after - values), initial=0.0))
            values = after
            largest = float(np.max(values, initial=0.0))
            if not largest <= doubtful:
                require_proper(self.balance, rows)
                doubtful = np.inf
            if change <= tolerance * max(largest, scale):
                break
        else:
            require_proper(self.balance, rows)
            raise OutOfPrecision(
                f"the policy's values did not converge within {MAX_GAUSS_SEIDEL_SWEEPS} sweeps"
            )
        self._values = np.empty_like(values)
        self._values[order] = values
        return self._values

    @property
    def _mixes(self) -> bool:
        return self._failures < MAX_FAILURES

    def _mixed_values(self, rows: IntArray, tolerance: float) -> FloatArray | None:
        """The values by products; None if they do not converge soon."""
        system, costs = self.balance.matrix[rows], self.balance.costs[:, rows]
        values = np.empty_like(self._values)
        for index, own in enumerate(costs):
            start = np.ascontiguousarray(self._values[:, index])
            found = solve_by_products(system, own, start, tolerance)
            largest = LARGEST_VALUE * float(np.max(own, initial=0.0))
            if found is None or not np.all(np.abs(found) <= largest):
                self._failures += 1
                if not self._mixes:
                    self.default_tolerance = ROUGH
                return None
            # Rounding may leave a value a hair below zero, and no cost is.
            values[:, index] = np.maximum(found, 0.0)
        self._failures = 0
        return values

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the initial distribution."""
        begins = self.balance.initial if initial is None else initial
        if self._mixes:
            found = solve_by_products(self.balance.matrix[rows].T.tocsr(), begins, begins, EXACT)
            if found is not None:
                return np.maximum(found, 0.0)
        self._split(rows)
        initial = begins[self._order]
        backwards = self._upper.T.tocsr()
        flow = self._lower.solve(initial)
        for _ in range(MAX_GAUSS_SEIDEL_SWEEPS):
            keep_time()
            after = self._lower.solve(initial - backwards @ flow)
            change = float(np.max(np.abs(after - flow), initial=0.0))
            flow = after
            if change <= EXACT * max(1.0, float(np.max(flow, initial=0.0))):
                break
        else:
            require_proper(self.balance, rows)
            raise OutOfPrecision(
                f"the policy's visits did not converge within {MAX_GAUSS_SEIDEL_SWEEPS} sweeps"
            )
        visits: FloatArray = np.empty_like(flow)
        visits[self._order] = np.maximum(flow, 0.0)
        return visits

    def answers(self, rows: IntArray, taken: IntArray) -> FloatArray | None:
        """None: every column would be an evaluation."""
        return None

    def release(self) -> None:
        """Give back the split system; the values, a good start for the next policy, are kept."""
        self._rows = self._lower = self._upper = self._permuted = None

    def _split(self, rows: IntArray) -> None:
        """Split the system of `rows` into a lower part, factorised, and the rest."""
        if self._rows is not None and np.array_equal(rows, self._rows):
            return
        # From here to the end the parts belong to no policy, also if one turns out to stay for ever.
        self._rows = None
        if not self._values.any():
            # Nothing is known yet: the number of steps is as good an order as any.
            self._order_by(np.arange(self.balance.num_live, dtype=np.float64))
        else:
            self._order_by(self._values.sum(axis=1))
        system = self._permuted[rows[self._order]]
        state = np.repeat(np.arange(len(rows)), np.diff(system.indptr))
        below = system.indices <= state
        self._lower = _factorised(system, below, state)
        self._upper = _part(system, ~below, state)
        self._rows = rows.copy()

    def _order_by(self, key: FloatArray) -> None:
        self._order = np.argsort(key, kind="stable")
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        matrix = self.balance.matrix
        columns = place[matrix.indices].astype(matrix.indices.dtype)
        self._permuted = csr_array((matrix.data, columns, matrix.indptr), shape=matrix.shape)


def _part(system: SparseMatrix, chosen: np.ndarray, state: IntArray) -> SparseMatrix:
    counts = np.bincount(state[chosen], minlength=system.shape[0])
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(system.indptr.dtype)
    return csr_array((system.data[chosen], system.indices[chosen], pointers), shape=system.shape)


def _factorised(system: SparseMatrix, below: np.ndarray, state: IntArray) -> SparseMatrix:
    lower = _part(system, below, state)
    lower.sort_indices()
    transposed = csc_array((lower.data, lower.indices, lower.indptr), shape=lower.shape)
    try:
        return factorise(transposed, "NATURAL", diag_pivot_thresh=0.0)
    except RuntimeError as error:
        raise ImproperPolicy("the policy stays in a state for ever") from error


MAX_FACTORISED_STATES = 400_000
"""With more live states, problems that are wider than a square grid are evaluated by sweeps, unless the user
says otherwise. Factors of a grid have 27 entries a state at 150,000 states and 33 at 900,000; where more than
two things vary, that number grows with a power of the states, and a small part does not show it."""

SURELY_SPARSE = 2.5e6
"""With fewer states times mean width, factors are made in no time, whatever the steps within a layer: layer
after layer they have some three times as many entries. That of a grid is reached at 25,000 states."""

MAX_NARROW_SIDE = NARROW / GRID_WIDTH
"""What is as narrow as a grid of this side has sparse factors, whatever its steps."""


def layers_of(balance: Balance) -> Layers:
    """The layers of a problem's states, whatever is done in them."""
    return Layers(balance.graph, int(np.argmax(balance.initial)) if balance.num_live else 0)


def side_of(balance: Balance, layers: Layers) -> float:
    """The side of a square grid whose states take as much work to eliminate, each, as those of a problem."""
    return min(float(np.sqrt(balance.num_live)), layers.mean_width / GRID_WIDTH)


def system_for(balance: Balance, layers: Layers, side: float) -> System:
    """What evaluates the policies of a problem fastest. How much factors fill in decides, not the size.

    ============================================ =================== =========================================
    problem                                      answer              measured without it
    ============================================ =================== =========================================
    at most MAX_DENSE_STATES states              dense               1.2 times as slow on 100 activities
    steps lead anywhere (``layers.fill_in``)     iteration           12 times as slow on 10,000 random states
    above MAX_FACTORISED_STATES, wider than a    iteration           fill grows with a power of the states
    grid
    dense factors around the start               iteration           factors of hundreds of entries a state
    a line or a corridor (MAX_NARROW_SIDE)       sparse, one order   1.4 times as slow on 30,000 states
    all else                                     sparse              -
    ============================================ =================== =========================================

    Parameters
    ----------
    balance
        The problem.
    layers
        Those of its states.
    side
        See :func:`side_of`; of a problem that is not large, the root of its states will do.
    """
    if DenseSystem.suits(balance):
        return DenseSystem(balance)
    if layers.fill_in or (balance.num_live > MAX_FACTORISED_STATES and layers.wider_than_grid):
        return SweepSystem(balance, layers.fill_in)
    wide = balance.num_live > SAMPLE and side > MAX_NARROW_SIDE
    if wide and balance.num_live * layers.mean_width > SURELY_SPARSE:
        # The rows that lead to most states fill in as much as any.
        fewest = -np.diff(balance.matrix.indptr).astype(np.float64)
        rows = balance.least_rows(fewest, balance.least_of_state(fewest), np.arange(balance.num_live))
        if fills_in_nearby(balance.matrix[rows], layers):
            return SweepSystem(balance)
    narrow = balance.num_live > SMALL and side <= MAX_NARROW_SIDE
    return PolicySystem(balance, layers.narrow_order() if narrow else None)
