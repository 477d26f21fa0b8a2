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

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import OutOfPrecision
from hcssp.ssp.balance import Balance
from hcssp.ssp.factoriser import Factoriser, Factors
from hcssp.ssp.system import EXACT, require_proper

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
wrong with it is solved for, lest its last digits decide whether it keeps a bound."""

MAX_CORRECTIONS, SETTLED, NOTHING = 2, 1e-12, 1e-30
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
    """Evaluates policies of one problem by factorisation, see :class:`hcssp.ssp.system.System`.

    Every answer is exact up to rounding. Asked for a smaller tolerance than that, it factorises anew, because
    updates lose some of the last digits.

    Parameters
    ----------
    balance, order
        As for :class:`~hcssp.ssp.factoriser.Factoriser`.
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
        """Expected costs to go, see :meth:`hcssp.ssp.system.System.values`."""
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
            if np.all(moved <= np.maximum(SETTLED * after, NOTHING * before)):
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
        """How rows answer to costs elsewhere, see :meth:`hcssp.ssp.system.System.answers`."""
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
