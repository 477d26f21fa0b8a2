r"""Scalar SSP where nothing comes back: one pass from the end to the start, layer by layer.

**Problem.** As :mod:`hcssp.ssp.policy_iteration`, where no state can be entered twice: plans with a clock, a
horizon, a list of tasks. Staying in a state for a while is no way back to it.

**Method.** A state's *layer* is the length of the longest way to a goal, by whatever rows. Rows lead to lower
layers only, so that the states of a layer are decided at once when all below are: Bellman's backward
induction. There is nothing to iterate, and no linear system.

**Guarantee.** The policy's costs are sums of products of numbers that are not negative: no digits are lost.
Bounds are certified by whoever asks.

**Reference.** Bellman, *Dynamic programming*, 1957.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.ssp.balance import MAX_PADDED_ENTRIES, Balance
from hcssp.ssp.scalar_problem import ScalarProblem

MIN_STATES_OF_LAYER = 8
"""With fewer states to a layer on the average, a factorisation is as fast as going through all layers."""


class BackwardPass:
    """Finds best policies of one problem without circles; :meth:`of` says whether it is one.

    Parameters
    ----------
    balance
        The prepared problem.
    layers
        Its states, the last layer to be left first.
    """

    def __init__(self, balance: Balance, layers: list[IntArray]) -> None:
        self._balance = balance
        # States are numbered layer by layer, so that a layer is a slice; a goal is the one after the last.
        self._order: IntArray = np.concatenate(layers)
        ends = np.cumsum([0, *(len(states) for states in layers)]).tolist()
        self._layers = [slice(first, end) for first, end in pairwise(ends)]
        number = np.empty(balance.num_live, dtype=np.int64)
        number[self._order] = np.arange(balance.num_live)
        row, column, steps = _steps(balance)
        probabilities = -balance.matrix.data[steps]
        counts = np.bincount(row, minlength=balance.num_rows)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        # A table of rows, action by action and step by step; what is not there leads to a goal at no odds.
        actions = np.diff(balance.row_start)
        shape = balance.num_live, int(actions.max())
        self._rows = np.zeros(shape, dtype=np.int64)
        self._missing: FloatArray = np.full(shape, np.inf)
        rows = np.arange(balance.num_rows)
        where = number[balance.row_state], rows - balance.row_start[balance.row_state]
        self._rows[where] = rows
        # A row that never leaves has an empty line in the matrix, and no policy that ends takes it.
        self._missing[where] = np.where(np.diff(balance.matrix.indptr) > 0, 0.0, np.inf)
        size = (*shape, max(1, int(counts.max(initial=0))))
        self._heads = np.full(size, balance.num_live, dtype=np.int64)
        self._probabilities = np.zeros(size)
        cell = where[0][row], where[1][row], place
        self._heads[cell] = number[column]
        self._probabilities[cell] = probabilities

    @classmethod
    def of(cls, balance: Balance) -> BackwardPass | None:
        """The pass over a problem; None if states can be entered twice, or layers are too many."""
        if not balance.num_live:
            return None
        longest = int(np.diff(balance.matrix.indptr).max(initial=0))
        if balance.num_live * int(np.diff(balance.row_start).max()) * longest > MAX_PADDED_ENTRIES:
            return None
        # A row has an entry for its own state, and one for each step.
        most_entries = np.maximum.reduceat(np.diff(balance.matrix.indptr), balance.row_start[:-1])
        if np.all(most_entries > 1):
            # Without a last state, all are on a circle or before one; that is soon seen.
            return None
        row, column, _ = _steps(balance)
        shape = (balance.num_live, balance.num_live)
        backwards = csr_array((np.ones(len(row)), (column, balance.row_state[row])), shape=shape)
        backwards.sum_duplicates()
        ahead = np.bincount(backwards.indices, minlength=balance.num_live)
        ready = np.flatnonzero(ahead == 0)
        layers: list[IntArray] = []
        while len(ready):
            layers.append(ready)
            if MIN_STATES_OF_LAYER * len(layers) > balance.num_live:
                return None
            before = backwards[ready].indices
            np.subtract.at(ahead, before, 1)
            candidates = np.unique(before)
            ready = candidates[ahead[candidates] == 0]
        # What is on a circle, or before one, is never ready.
        return cls(balance, layers) if sum(map(len, layers)) == balance.num_live else None

    def minimise(self, problem: ScalarProblem) -> tuple[IntArray, FloatArray] | None:
        """The best policy and its costs to go, one column a cost; None if some state has no way to a goal.

        Parameters
        ----------
        problem
            The weights and the region.
        """
        count = self._balance.num_live
        paid = problem.row_costs[self._rows] + self._missing
        if problem.allowed is not None:
            paid[~problem.allowed[self._rows]] = np.inf
        value = np.zeros(count + 1)
        for layer in self._layers:
            options = paid[layer]
            options += np.einsum("ijk,ijk->ij", self._probabilities[layer], value[self._heads[layer]])
            np.minimum.reduce(options, axis=1, out=value[layer])
        if not np.all(np.isfinite(value)):
            return None
        every = np.arange(count)
        action = np.argmin(paid, axis=1)
        rows = np.empty(count, dtype=np.int64)
        rows[self._order] = self._rows[every, action]
        heads, probabilities = self._heads[every, action], self._probabilities[every, action]
        costs = np.zeros((count + 1, len(problem.weights)))
        costs[:-1] = self._balance.costs[:, rows[self._order]].T
        for layer in self._layers:
            costs[layer] += np.einsum("ij,ijk->ik", probabilities[layer], costs[heads[layer]])
        values = np.empty((count, len(problem.weights)))
        values[self._order] = costs[:-1]
        return rows, values

    def visits(self, rows: IntArray) -> FloatArray:
        """Expected visits of each live state under the policy `rows`, from the start to the end."""
        balance, order = self._balance, self._order
        every = np.arange(balance.num_live)
        action = rows[order] - balance.row_start[order]
        heads, probabilities = self._heads[every, action], self._probabilities[every, action]
        found = np.append(balance.initial[order], 0.0)
        for layer in reversed(self._layers):
            np.add.at(found, heads[layer], probabilities[layer] * found[layer, np.newaxis])
        visits = np.empty(balance.num_live)
        visits[order] = found[:-1]
        return visits


def _steps(balance: Balance) -> tuple[IntArray, IntArray, IntArray]:
    """Of every step between live states its row, where it leads, and its entry in the matrix."""
    matrix = balance.matrix
    row = np.repeat(np.arange(balance.num_rows), np.diff(matrix.indptr))
    entries = np.flatnonzero(matrix.data < 0.0)
    return row[entries], matrix.indices[entries], entries
