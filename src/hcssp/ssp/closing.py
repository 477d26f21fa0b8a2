"""From values of an expanded part to a policy that never leaves it.

The greedy policy of a part may come to the frontier, however seldom: where steps slip, it does so almost
always. A *closed* policy takes the best of the rows that stay among the expanded states from which a goal is
reached with certainty. It is a policy of the whole problem, whatever lies beyond, and its costs come from a
linear solve on the states that it touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards, closure
from hcssp.ssp.guided_expansion import GuidedExpansion
from hcssp.ssp.policy_system import Factors, eliminate

MAX_IMPROVEMENTS = 6
"""So often a closed policy is improved by policy iteration among the closed ones."""

WORTHWHILE = 1e-7
"""Improvements below this share of the cost are not looked for."""

MAX_CLOSING_ROUNDS = 200
PATIENCE, FINISHING = 8, 0.7
"""Where what a policy comes to after so many rounds is still above this share of the most in a round, it goes
on for ever, or as good as that."""

TINY = 1e-300
"""In place of zero where something is divided by it."""

RESIDUAL_TOLERANCE = 1e-9
"""Values whose residual is larger, relative to the largest value, are not trusted: the policy hardly ends."""


@dataclass(frozen=True, eq=False)
class ClosedPolicy:
    """A policy of the whole problem that was found in a part.

    Attributes
    ----------
    rows
        For each state that was known, its row in the numbers of the expansion; -1 where it never goes.
    costs
        Its expected costs, the primary first.
    """

    rows: IntArray
    costs: FloatArray


class Closing:
    """Finds closed policies in an expansion as it is now."""

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        part, place = expansion.part(), expansion.part_rows()
        usable = np.zeros(part.num_rows, dtype=np.bool_)
        usable[place] = True
        self._backwards = Backwards(part.transitions, part.row_state, part.goals)
        certain = self._backwards.almost_sure(usable)
        self._place = place
        self._rows: BoolArray = certain.rows[place]
        self._certain_rows = certain.rows
        self._states: BoolArray = certain.states[: expansion.num_states]
        self.is_possible = bool(self._states[expansion.initial[0]].all())

    def outside(self) -> IntArray:
        """States of the frontier next to those from which nothing that can be done stays inside."""
        expansion = self._expansion
        unsafe = ~self._states & (expansion.first_row >= 0)
        entries = np.repeat(unsafe[expansion.row_state], expansion.entries_of_row)
        return _on_the_frontier(expansion, expansion.successor[entries])

    def best(self, search: GuidedExpansion, enough: float = 0.0) -> ClosedPolicy | None:
        """A closed policy that is good under the weights of `search`; None if there is none.

        Parameters
        ----------
        search
            The weights, and values near the best.
        enough
            A weighted cost at which nothing better is looked for.
        """
        if not self.is_possible or not len(self._rows):
            return None
        values = search.values.copy()
        best: ClosedPolicy | None = None
        least = np.inf
        for _ in range(MAX_IMPROVEMENTS):
            found = self._evaluated(search, self._greedy(search, values))
            if found is None:
                break
            policy, reached, own = found
            cost = float(search.weights @ policy.costs)
            if best is None or cost < least:
                gained = least - cost
                best, least = policy, cost
                if cost <= enough or gained <= WORTHWHILE * cost:
                    break
            else:
                break
            values[reached] = own @ search.weights
        return best

    def _greedy(self, search: GuidedExpansion, values: FloatArray) -> IntArray:
        """For each known state the best of its safe rows; -1 where it has none."""
        expansion = self._expansion
        after = np.add.reduceat(
            search.departures.probability * values[expansion.successor], expansion.first_entry
        )
        options = np.where(self._rows, search.row_costs(slice(None)) + after, np.inf)
        return best_rows(expansion, options)

    def _evaluated(
        self, search: GuidedExpansion, rows: IntArray
    ) -> tuple[ClosedPolicy, IntArray, FloatArray] | None:
        """The policy, mended where it would not end, with the states it touches and its values there."""
        expansion = self._expansion
        starts = np.zeros(expansion.num_states, dtype=np.bool_)
        starts[expansion.initial[0]] = True
        chain = policy_chain(search, rows)
        reached = closure(chain, starts)
        trapped = reached & ~closure(chain.T.tocsr(), expansion.goal)
        if trapped.any():
            rows = self._mended(rows, trapped)
            chain = policy_chain(search, rows)
            reached = closure(chain, starts)
        states = np.flatnonzero(reached & ~expansion.goal)
        own = rows[states]
        costs = (expansion.costs[:, own] / np.maximum(search.departures.leaving[own], TINY)).T
        system = csr_array(_identity(len(states)) - chain[states][:, states])
        system.sort_indices()
        if len(states) == 0:
            values = np.zeros(costs.shape)
        else:
            try:
                values = Factors(eliminate(system, "MMD_AT_PLUS_A"), None).solve(np.ascontiguousarray(costs))
            except RuntimeError:
                return None
        largest = values.max(axis=0, initial=0.0)
        off = np.abs(system @ values - costs).max(axis=0, initial=0.0)
        if not np.all(off <= RESIDUAL_TOLERANCE * np.maximum(largest, TINY)):
            return None
        values = np.maximum(values, 0.0)
        begin = np.zeros(expansion.num_states)
        np.add.at(begin, *expansion.initial)
        kept = np.full(expansion.num_states, NO_ROW, dtype=np.int64)
        kept[states] = own
        return ClosedPolicy(kept, begin[states] @ values), states, values

    def _mended(self, rows: IntArray, trapped: BoolArray) -> IntArray:
        """The policy with rows that lead closer to a goal wherever it would stay for ever."""
        expansion = self._expansion
        closer = self._backwards.approaching(self._certain_rows)[self._place]
        mended = best_rows(expansion, np.where(closer, 0.0, np.inf))
        return np.where(trapped & ~expansion.goal, mended, rows)


def close_by_policy(search: GuidedExpansion) -> bool:
    """Expand what the greedy policy comes to, however seldom; False if there is no end to be seen."""
    expansion = search.expansion
    starts = expansion.initial[0]
    counts: list[int] = []
    while len(counts) < MAX_CLOSING_ROUNDS:
        after = np.add.reduceat(
            search.departures.probability * search.values[expansion.successor], expansion.first_entry
        )
        chain = policy_chain(search, best_rows(expansion, search.row_costs(slice(None)) + after))
        begins = np.zeros(expansion.num_states, dtype=np.bool_)
        begins[starts] = True
        tips = _on_the_frontier(expansion, np.flatnonzero(closure(chain, begins)))
        if not len(tips):
            return True
        counts.append(len(tips))
        if len(counts) > PATIENCE and counts[-1] > FINISHING * max(counts):
            return False
        search.expand(tips)
        search.sweep(1)
    return False


def _on_the_frontier(expansion: Expansion, states: IntArray) -> IntArray:
    found = np.unique(states)
    frontier: IntArray = found[(expansion.first_row[found] < 0) & ~expansion.goal[found]]
    return frontier


def best_rows(expansion: Expansion, options: FloatArray) -> IntArray:
    """For each known state the first of its rows with the least option; -1 where all are infinite."""
    owner = expansion.row_state
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    counts = np.diff(np.append(begins, len(owner)))
    least = np.minimum.reduceat(options, begins)
    attained = np.flatnonzero(options == np.repeat(least, counts))
    first = attained[np.searchsorted(attained, begins)]
    rows = np.full(expansion.num_states, NO_ROW, dtype=np.int64)
    rows[owner[begins]] = np.where(np.isfinite(least), first, NO_ROW)
    return rows


def policy_chain(search: GuidedExpansion, rows: IntArray) -> SparseMatrix:
    """Where a policy leads from each known state when it leaves it; nowhere without a row."""
    expansion = search.expansion
    states = np.flatnonzero(rows != NO_ROW)
    own = rows[states]
    lengths = np.zeros(expansion.num_states, dtype=np.int64)
    lengths[states] = expansion.entries_of_row[own]
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    entries = np.repeat(expansion.first_entry[own] - starts[:-1][states], lengths[states])
    entries += np.arange(int(starts[-1]))
    count = expansion.num_states
    chain = csr_array(
        (search.departures.probability[entries], expansion.successor[entries], starts), shape=(count, count)
    )
    chain.sum_duplicates()
    chain.eliminate_zeros()
    return chain


def _identity(size: int) -> SparseMatrix:
    return csr_array((np.ones(size), np.arange(size), np.arange(size + 1)), shape=(size, size))
