r"""Values and visits of policies without a factorisation, for problems of 10^6 states and more.

Gauss-Seidel in the order of the values: with the states ordered by how far they are from a goal, a policy's
system :math:`A_\pi = L + U` is almost lower triangular, because actions mostly lead closer to a goal. Each
sweep solves with :math:`L`, whose factors have no fill, and the error shrinks by about the share of
probability that leads away. The splitting is regular (the systems are M-matrices), so it always converges.
Where steps lead anywhere, no order is any good, and products with the system serve better.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from hcssp.cssp.factorisation import factorise
from hcssp.cssp.krylov import solve_by_products
from hcssp.cssp.model import FloatArray, IntArray, SparseMatrix
from hcssp.deadline import keep_time
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.ssp.balance import Balance
from hcssp.ssp.system import EXACT, require_proper

ROUGH = 1e-5
"""Sweeps end once they change no value by more than this, relative to the largest value or cost, if nothing
more precise is asked for: good enough to go on improving a policy. No bound is taken from such values."""

LARGEST_VALUE = 1e12
"""Once values grow beyond this, relative to the largest cost, one asks whether the policy ends at all."""

MAX_SWEEPS = 20_000

MAX_FAILURES = 3
"""After so many policies in a row that products did not evaluate, they are not tried any more."""


class SweepSystem:
    """Evaluates policies of one problem by sweeps, see :class:`hcssp.ssp.system.System`.

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
        """Expected costs to go, see :meth:`hcssp.ssp.system.System.values`."""
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
        for _ in range(MAX_SWEEPS):
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
            raise OutOfPrecision(f"the policy's values did not converge within {MAX_SWEEPS} sweeps")
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
        for _ in range(MAX_SWEEPS):
            keep_time()
            after = self._lower.solve(initial - backwards @ flow)
            change = float(np.max(np.abs(after - flow), initial=0.0))
            flow = after
            if change <= EXACT * max(1.0, float(np.max(flow, initial=0.0))):
                break
        else:
            require_proper(self.balance, rows)
            raise OutOfPrecision(f"the policy's visits did not converge within {MAX_SWEEPS} sweeps")
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
