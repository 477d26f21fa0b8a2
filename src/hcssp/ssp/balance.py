r"""A problem as the scalar solvers see it: live states, rows, and the flow-balance matrix.

A *live* state is one that is not a goal. The flow-balance matrix :math:`B` has a row for each
state-action pair and a column for each live state,

.. math:: (B v)(s, a) = v(s) - \sum_{s' \text{ live}} T(s, a, s')\, v(s').

It serves three times: the rows of a policy form the system :math:`I - P_\pi` of its values and visits;
:math:`c - B v` are the reduced costs that decide optimality; and :math:`B^\top x = \text{initial}` are
the constraints of the linear program.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix

MAX_WIDTH = 12
MAX_PADDED_ENTRIES = 2_000_000
"""Rows with more entries, or matrices with more in all, are not padded: it would take more memory than the
matrix, and products of some rows gain less from it."""


class Balance:
    """The arrays of one prepared problem, restricted to its live states.

    Parameters
    ----------
    problem
        A problem in which every state reaches a goal almost surely under some policy and every row stays
        among such states; :func:`hcssp.cssp.preprocessing.prepare` makes it so.
    """

    def __init__(self, problem: CSSP) -> None:
        live = np.flatnonzero(~problem.goals)
        self.live: IntArray = live
        self.num_live = len(live)
        self.num_rows = problem.num_rows
        # Goals own no rows, so the rows of the live states are all rows, in order.
        self.row_start: IntArray = np.append(problem.row_start[live], problem.num_rows)
        counts = np.diff(self.row_start)
        self.row_state: IntArray = np.repeat(np.arange(self.num_live), counts)
        self.actions_per_state = int(counts[0]) if len(counts) and np.all(counts == counts[0]) else 0
        self.costs: FloatArray = problem.costs
        self.initial: FloatArray = problem.initial[live]
        self.matrix: SparseMatrix = balance_matrix(problem)

    def reduced_costs(self, row_costs: FloatArray, values: FloatArray) -> FloatArray:
        """``row_costs - B @ values``: what each row costs more than its state's value says."""
        reduced: FloatArray = row_costs - self.matrix @ values
        return reduced

    def times(self, rows: IntArray, columns: FloatArray) -> FloatArray:
        """``B[rows] @ columns`` for a handful of rows, without building a sparse matrix for them."""
        if self._padded is None:
            product: FloatArray = self.matrix[rows] @ columns
            return product
        places, entries = self._padded
        dense: FloatArray = np.einsum("ij,ijk->ik", entries[rows], columns[places[rows]])
        return dense

    def row_times(self, weights: FloatArray, rows: IntArray) -> FloatArray:
        """``weights @ B[rows]`` for a handful of rows."""
        if self._padded is None:
            product: FloatArray = weights @ self.matrix[rows]
            return product
        places, entries = self._padded
        gathered: FloatArray = np.zeros(self.num_live)
        np.add.at(gathered, places[rows], weights[:, np.newaxis] * entries[rows])
        return gathered

    def least_of_state(self, row_values: FloatArray) -> FloatArray:
        """The minimum of `row_values` over the rows of each live state."""
        if self.actions_per_state:
            # Column by column: numpy is slow along a short last axis.
            table = row_values.reshape(self.num_live, self.actions_per_state)
            least: FloatArray = table[:, 0]
            for action in range(1, self.actions_per_state):
                least = np.minimum(least, table[:, action])
            return least
        return np.minimum.reduceat(row_values, self.row_start[:-1])

    def least_rows(self, row_values: FloatArray, least: FloatArray, states: IntArray) -> IntArray:
        """The first row of each of `states` (ascending) that attains the state's minimum `least`."""
        if self.actions_per_state:
            table = row_values.reshape(self.num_live, self.actions_per_state)
            local: IntArray = np.argmin(table[states], axis=1)
            return self.row_start[states] + local
        wanted = np.zeros(self.num_live, dtype=np.bool_)
        wanted[states] = True
        rows = np.flatnonzero(wanted[self.row_state] & (row_values == least[self.row_state]))
        owners = self.row_state[rows]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = owners[1:] != owners[:-1]
        return rows[first]

    @cached_property
    def _padded(self) -> tuple[IntArray, FloatArray] | None:
        """Columns and entries of rows of equal length, zeros behind: small products are array expressions."""
        matrix = self.matrix
        lengths = np.diff(matrix.indptr)
        width = int(lengths.max(initial=0))
        if width > MAX_WIDTH or matrix.nnz > MAX_PADDED_ENTRIES:
            return None
        row = np.repeat(np.arange(self.num_rows), lengths)
        place = np.arange(matrix.nnz) - matrix.indptr[:-1][row]
        places = np.zeros((self.num_rows, width), dtype=np.int64)
        places[row, place] = matrix.indices
        entries = np.zeros((self.num_rows, width))
        entries[row, place] = matrix.data
        return places, entries


def balance_matrix(problem: CSSP) -> SparseMatrix:
    """The flow-balance matrix: CSR, a row for each row of the problem, a column for each live state.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=2.0)
    >>> balance_matrix(plan.build()).toarray().tolist()
    [[0.5]]
    """
    transitions = problem.transitions
    live = np.flatnonzero(~problem.goals)
    if len(live) < problem.num_states:
        transitions = transitions[:, live]
    num_rows = problem.num_rows
    # Goals own no rows, so the live states before a row's own are those before it, less the goals.
    columns = problem.row_state - np.cumsum(problem.goals)[problem.row_state]
    own = csr_array((np.ones(num_rows), columns, np.arange(num_rows + 1)), shape=(num_rows, len(live)))
    matrix = csr_array(own - transitions)
    matrix.sort_indices()
    return matrix
