r"""A problem as the scalar solvers see it: live states, rows, and the flow-balance matrix.

A *live* state is one that is not a goal. Only where a row leads when it leaves its state matters: staying for
a while first only multiplies its cost by the number of repetitions. So every row is counted from one
departure to the next: with :math:`p` its probability to leave, it costs :math:`c / p` and leads to
:math:`s'` with :math:`T(s, a, s') / p`. A row that stays all but forever is then a row like any other, and no
digits are lost on it. The flow-balance matrix :math:`B` has a row for each state-action pair and a column for
each live state,

.. math:: (B v)(s, a) = v(s) - \sum_{s' \text{ live}} T(s, a, s')\, v(s') / p.

It serves twice: the rows of a policy form the system :math:`I - P_\pi` of its values and its departures, and
:math:`c / p - B v` are the reduced costs that decide optimality.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import index_type, joined_spans
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix, states_of_rows
from hcssp.cssp.reachability import closure
from hcssp.evaluation.linear_systems import EVALUATION
from hcssp.ssp.potential import (
    ROUNDINGS,
    SCALING_LOSS,
    Certificate,
    Certifier,
    divided,
    largest_share,
    quick_shortfalls,
)


class Balance:
    """The arrays of one prepared problem, restricted to its live states.

    Parameters
    ----------
    problem
        A problem in which every state reaches a goal almost surely under some policy and every row stays
        among such states; :func:`hcssp.cssp.preprocessing.prepare` makes it so.
    """

    def __init__(self, problem: CSSP) -> None:
        self.problem = problem
        live = np.flatnonzero(~problem.goals)
        self.live: IntArray = live
        self.num_live = len(live)
        self.num_rows = problem.num_rows
        # Goals own no rows, so the rows of the live states are all rows, in order.
        self.row_start: IntArray = np.append(problem.row_start[live], problem.num_rows)
        counts = np.diff(self.row_start)
        self.row_state: IntArray = np.repeat(np.arange(self.num_live), counts)
        self.actions_per_state = int(counts[0]) if len(counts) and np.all(counts == counts[0]) else 0
        self.initial: FloatArray = problem.initial[live]
        entries = _Entries(problem)
        leaving = entries.leaving()
        # A row that never leaves has no departure, and an empty line in the matrix.
        departs = (leaving > 0.0).astype(np.float64)
        self.costs: FloatArray = _per_departure(problem.costs, leaving)
        leaving[leaving == 0.0] = 1.0
        self.goal_probability: FloatArray = entries.to_goals() / leaving
        self.matrix: SparseMatrix = entries.balance(departs, 1.0 / leaving)
        longest = int(np.max(np.diff(self.matrix.indptr), initial=0))
        self._swept: SparseMatrix | None = None
        # Twice the successors: their probabilities are divided by a sum of them.
        self._rounding = (2 * longest + len(problem.costs) + 16) * ROUNDINGS

    def certify(
        self,
        weights: FloatArray,
        values: FloatArray,
        reduced: FloatArray,
        forbidden: IntArray | None = None,
        loss: float = 0.0,
    ) -> Certificate:
        """A certain lower bound on the cost of every proper policy that avoids the `forbidden` rows.

        Parameters
        ----------
        weights
            Of the costs, not negative.
        values
            Of the live states, near the least weighted costs to go.
        reduced
            The reduced costs that they give all rows; ``inf`` where a row is forbidden.
        forbidden
            Rows that are not to be used; None forbids none.
        loss
            The share of the bound that may be lost where that saves work.
        """
        quick = self.certify_quickly(weights, values, reduced, loss)
        if quick is not None:
            return quick
        mask = None
        if forbidden is not None:
            mask = np.zeros(self.num_rows, dtype=np.bool_)
            mask[forbidden] = True
        return self.certifier.certify(weights @ self.problem.costs, values, mask, loss)

    def certify_quickly(
        self, weights: FloatArray, values: FloatArray, reduced: FloatArray, loss: float = 0.0
    ) -> Certificate | None:
        """As :meth:`certify`, from the reduced costs alone; None where they are too coarse for that."""
        # A value below zero would be no bound, and rounding may have made one.
        if not np.all(values >= 0.0):
            return None
        short, shortfalls = quick_shortfalls(reduced, values, self.row_state, self._rounding)
        share = largest_share(shortfalls, weights @ self.costs.take(short, axis=1))
        return divided(values, share, self.initial) if share <= max(loss, SCALING_LOSS) else None

    @cached_property
    def certifier(self) -> Certifier:
        """What proves bounds where reduced costs are too coarse; made when it is needed first."""
        return Certifier.of(self.problem)

    def is_proper(self, rows: IntArray) -> bool:
        """Whether the policy that takes `rows` in the live states ends almost surely, from every one."""
        ends = self.goal_probability[rows] > 0.0
        return bool(closure(self._graph(rows).T.tocsr(), ends).all())

    def rows_of(self, states: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The rows of some live states, where those of each begin among them, and how many each has."""
        firsts = self.row_start[states]
        counts = self.row_start[states + 1] - firsts
        return *joined_spans(firsts, counts), counts

    def reached(self, rows: IntArray, begins: BoolArray | None = None) -> BoolArray:
        """The live states that the policy `rows` enters from the start, or `begins`, however improbably."""
        return closure(self._graph(rows), self.initial > 0.0 if begins is None else begins)

    def _graph(self, rows: IntArray) -> SparseMatrix:
        """The moves between live states of the policy `rows`."""
        moves = self.matrix[rows]
        moves.data = np.where(moves.data < 0.0, 1.0, 0.0)
        moves.eliminate_zeros()
        return moves

    @property
    def graph(self) -> SparseMatrix:
        """An entry from each live state to where its rows lead, and to itself."""
        matrix = self.matrix
        pointers = matrix.indptr[self.row_start]
        return csr_array((matrix.data, matrix.indices, pointers), shape=(self.num_live, self.num_live))

    def reduced_costs(self, row_costs: FloatArray, values: FloatArray) -> FloatArray:
        """``row_costs - B @ values``: the reduced cost of each row."""
        reduced: FloatArray = row_costs - self.matrix @ values
        return reduced

    def times(self, rows: IntArray, columns: FloatArray) -> FloatArray:
        """``B[rows] @ columns`` for a handful of rows, without building a sparse matrix for them."""
        if self._padded is None:
            product: FloatArray = self.matrix[rows] @ columns
            return product
        places, entries = self._lines(rows, *self._padded)
        dense: FloatArray = np.einsum("ij,ijk->ik", entries, columns[places])
        return dense

    def policy_moves(self, rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        """``B[rows] @ values`` as a function of the values, for one row of each live state."""
        if len(rows) > EVALUATION.max_padded_states or self._padded is None:
            chosen = self.matrix[rows]
        else:
            # Lines of equal length make a sparse matrix in no time, another one with other entries.
            places, entries = (each.take(rows, axis=0).ravel() for each in self._padded)
            if self._swept is None or self._swept.shape[0] != len(rows):
                pointers = np.arange(0, len(entries) + 1, len(entries) // len(rows), dtype=places.dtype)
                self._swept = csr_array((entries, places, pointers), shape=(len(rows), self.num_live))
            chosen = copy(self._swept)
            chosen.data, chosen.indices = entries, places
        return lambda values: chosen @ values

    @staticmethod
    def _lines(rows: IntArray, places: IntArray, entries: FloatArray) -> tuple[IntArray, FloatArray]:
        """The lines `rows` of the padded arrays; numpy takes whole lines far quicker than it indexes them."""
        # They are stored with few bits, and the used part is converted once.
        return places.take(rows, axis=0).astype(np.intp, copy=False), entries.take(rows, axis=0)

    def row_times(self, weights: FloatArray, rows: IntArray) -> FloatArray:
        """``weights @ B[rows]`` for a handful of rows."""
        if self._padded is None:
            product: FloatArray = weights @ self.matrix[rows]
            return product
        places, entries = self._lines(rows, *self._padded)
        gathered: FloatArray = np.zeros(self.num_live)
        np.add.at(gathered, places, weights[:, np.newaxis] * entries)
        return gathered

    def successors(self, rows: IntArray) -> IntArray:
        """The live states that a handful of rows lead to, with repetitions, and their own states."""
        if self._padded is None:
            indices: IntArray = self.matrix[rows].indices
            return indices
        places, entries = self._lines(rows, *self._padded)
        led: IntArray = places[entries != 0.0]
        return led

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
            local: IntArray = np.argmin(
                table if len(states) == self.num_live else table.take(states, axis=0), axis=1
            )
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
        width = int(lengths.max(initial=1))
        if width > EVALUATION.max_padded_width or matrix.nnz > EVALUATION.max_padded_entries:
            return None
        used = np.arange(width) < lengths[:, np.newaxis]
        places = np.zeros(used.shape, dtype=matrix.indices.dtype)
        places[used] = matrix.indices
        entries = np.zeros(used.shape)
        entries[used] = matrix.data
        return places, entries


def _per_departure(costs: FloatArray, leaving: FloatArray) -> FloatArray:
    """The costs of rows from one departure to the next; of one that never leaves, those of a step."""
    if np.all((leaving == 1.0) | (leaving == 0.0)):
        return costs
    return costs / np.where(leaving == 0.0, 1.0, leaving)


class _Entries:
    """The entries of a problem's transitions by kind: those that stay, those to goals, and the others."""

    def __init__(self, problem: CSSP) -> None:
        transitions = problem.transitions
        self._shape = transitions.shape
        self._goals = problem.goals
        self._own = states_of_rows(problem.row_start).astype(index_type(problem.num_rows + transitions.nnz))
        self._first = transitions.indptr
        self._column = transitions.indices
        self._lengths = np.diff(self._first)
        stays = self._column == np.repeat(self._own, self._lengths)
        self._data: FloatArray = np.where(stays, 0.0, transitions.data)
        self._ends = self._goals[self._column]

    def leaving(self) -> FloatArray:
        """The probability of each row to leave its state: a sum, without the cancellation of ``1 - stay``."""
        return self._sums(self._data)

    def to_goals(self) -> FloatArray:
        """The probability of each row to end in a goal at once."""
        return self._sums(np.where(self._ends, self._data, 0.0))

    def _sums(self, data: FloatArray) -> FloatArray:
        entries = csr_array((data, self._column, self._first), shape=self._shape)
        sums: FloatArray = entries @ np.ones(self._shape[1])
        return sums

    def balance(self, diagonal: FloatArray, scale: FloatArray | None = None) -> SparseMatrix:
        """`diagonal` at each row's own state, less the probabilities of the others, times `scale`."""
        data = np.where(self._ends, 0.0, self._data)
        if scale is not None:
            data *= np.repeat(scale, self._lengths)
        moves = csr_array((data, self._column, self._first), shape=self._shape)
        every = np.arange(self._shape[0] + 1, dtype=self._own.dtype)
        # Entries that are zero fall away, and with them all in the columns of goals.
        matrix: SparseMatrix = csr_array((diagonal, self._own, every), shape=self._shape) - moves
        matrix.sort_indices()
        number = np.cumsum(~self._goals, dtype=matrix.indices.dtype) - 1
        shape = self._shape[0], self._shape[1] - int(np.count_nonzero(self._goals))
        return csr_array((matrix.data, number[matrix.indices], matrix.indptr), shape=shape)


def balance_matrix(problem: CSSP) -> SparseMatrix:
    """The flow-balance matrix step by step, not from departure to departure, for linear programs.

    CSR, a row for each row of the problem, a column for each live state.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=2.0)
    >>> balance_matrix(plan.build()).toarray().tolist()
    [[0.5]]
    """
    entries = _Entries(problem)
    return entries.balance(entries.leaving())
