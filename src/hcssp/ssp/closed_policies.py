"""Policies of an implicit problem that never leave its expanded part.

The greedy policy of a part may reach the frontier, however seldom: where steps slip, it does so almost
always. A *closed* policy takes the best of the rows that stay among the expanded states from which a goal is
reached with certainty. It is a policy of the whole problem, whatever lies beyond, and its costs come from a
linear solve on the states that it visits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards, closure
from hcssp.cssp.spans import first_in_each, joined_spans
from hcssp.numerics import is_feasible
from hcssp.ssp.envelope import MAX_RESIDUAL
from hcssp.ssp.guided_expansion import DEAD, GuidedExpansion
from hcssp.ssp.policy_evaluation import Factors

MAX_IMPROVEMENTS = 2
"""So often a closed policy is improved by policy iteration among the closed ones."""

LOWERING_SWEEPS = 96
"""So many sweeps improve a closed policy before it is evaluated again."""

WORTHWHILE = 1e-5
"""Improvements below this share of the cost are not looked for."""

MAX_BORDERS = 7
"""So many places are tried where one policy takes over from another."""

UNKNOWN_STEPS = 10.0
"""So many steps are reckoned to come back from a state that was not expanded."""

BACK_SWEEPS = 10
"""So many sweeps follow each round of closing."""

MOST_WIDER, SOME_WIDER = 4, 1_000
"""Rings are no longer added once so many times more states are expanded than before, and so many."""

TINY = 1e-300
"""In place of zero where something is divided by it."""


@dataclass(frozen=True, eq=False)
class ClosedPolicy:
    """A policy of the whole problem that was found in a part.

    Attributes
    ----------
    rows
        For each state that was known, its row in the numbers of the expansion; -1 where it never goes.
    costs
        Its expected costs, the primary first.
    states, values
        The states it touches, and its expected costs to go from each.
    """

    rows: IntArray
    costs: FloatArray
    states: IntArray
    values: FloatArray

    def rows_in(self, num_states: int) -> IntArray:
        """The rows when more states are known."""
        rows = np.full(num_states, NO_ROW, dtype=np.int64)
        rows[: len(self.rows)] = self.rows
        return rows


class ClosedPolicies:
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

    def best(
        self, search: GuidedExpansion, enough: float = 0.0, near: ClosedPolicy | None = None
    ) -> ClosedPolicy | None:
        """A closed policy that is good under the weights of `search`; None if there is none.

        Parameters
        ----------
        search
            The weights, and values near the best.
        enough
            A weighted cost at which nothing better is looked for.
        near
            A closed policy to begin with, such as the best at other weights.
        """
        if not self.is_possible or not len(self._rows):
            return None
        if near is not None:
            best: ClosedPolicy | None = self._again(near)
        else:
            best = self.evaluated(search, self._greedy(search, search.values))
        if best is None:
            return None
        least = float(search.weights @ best.costs)
        for _ in range(MAX_IMPROVEMENTS):
            if least <= enough:
                break
            policy = self.evaluated(search, self._greedy(search, self._lowered(search, best)))
            cost = np.inf if policy is None else float(search.weights @ policy.costs)
            if policy is None or cost >= least:
                break
            gained, best, least = least - cost, policy, cost
            if gained <= WORTHWHILE * cost:
                break
        return best

    def _again(self, policy: ClosedPolicy) -> ClosedPolicy:
        """A policy that was found when less was expanded."""
        if len(policy.rows) == self._expansion.num_states:
            return policy
        rows = policy.rows_in(self._expansion.num_states)
        return ClosedPolicy(rows, policy.costs, policy.states, policy.values)

    def _lowered(self, search: GuidedExpansion, policy: ClosedPolicy) -> FloatArray:
        """What is to come at most, by sweeps of the safe rows from what a policy pays."""
        expansion = self._expansion
        values = np.full(expansion.num_states, DEAD)
        values[expansion.goal] = 0.0
        values[policy.states] = policy.values @ search.weights
        costs = np.where(self._rows, search.row_costs(slice(None)), DEAD)
        for sweep in range(LOWERING_SWEEPS):
            states, least = search.departures.least_of_state(costs + search.departures.after(values))
            least = np.minimum(least, values[states])
            if sweep % 16 == 15 and np.all(values[states] - least <= WORTHWHILE * least):
                break
            values[states] = least
        return values

    def between(
        self, search: GuidedExpansion, kept: ClosedPolicy, broken: ClosedPolicy, bounds: FloatArray
    ) -> ClosedPolicy | None:
        """The best policy found that keeps the bounds and follows first one policy, then the other.

        Parameters
        ----------
        search
            Whose values say how far a state is from the goal.
        kept, broken
            A policy that keeps the bounds, and a cheaper one that does not.
        bounds
            One for each constraint.
        """
        count = self._expansion.num_states
        first, second = kept.rows_in(count), broken.rows_in(count)
        touched = (first >= 0) | (second >= 0)
        anything = self._greedy(search, search.values)
        first, second = (
            np.where(own >= 0, own, np.where(other >= 0, other, anything))
            for own, other in ((first, second), (second, first))
        )
        values = search.values
        levels = np.unique(values[touched])
        best: ClosedPolicy | None = None
        for near, far in ((first, second), (second, first)):
            # The nearer to the goal the border lies, the more of the way is gone by the policy that is far.
            low, high = 0, len(levels)
            for _ in range(MAX_BORDERS):
                border = (low + high) // 2
                if border in (low, high):
                    break
                rows = np.where(values <= levels[border], near, far)
                policy = self.evaluated(search, rows)
                if policy is None:
                    break
                feasible = is_feasible(policy.costs, bounds)
                if feasible and (best is None or policy.costs[0] < best.costs[0]):
                    best = policy
                if feasible == (near is first):
                    high = border
                else:
                    low = border
            if best is not None:
                break
        return best

    def _greedy(self, search: GuidedExpansion, values: FloatArray) -> IntArray:
        """For each known state the best of its safe rows; -1 where it has none."""
        options = search.row_costs(slice(None)) + search.departures.after(values)
        return best_rows(self._expansion, np.where(self._rows, options, np.inf))

    def evaluated(self, search: GuidedExpansion, rows: IntArray) -> ClosedPolicy | None:
        """The policy, mended where it would not end, with its costs.

        None if it cannot be mended, or its costs cannot be told.
        """
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
            if np.any(reached & ~closure(chain.T.tocsr(), expansion.goal)):
                # Where nothing that is expanded leads to a goal with certainty, there is nothing to mend it.
                return None
        states = np.flatnonzero(reached & ~expansion.goal)
        own = rows[states]
        costs = (expansion.costs[:, own] / np.maximum(search.departures.leaving[own], TINY)).T
        system = csr_array(_identity(len(states)) - chain[states][:, states])
        system.sort_indices()
        if len(states) == 0:
            values = np.zeros(costs.shape)
        else:
            try:
                values = Factors.of(system).solve(np.ascontiguousarray(costs))
            except RuntimeError:
                return None
        largest = values.max(axis=0, initial=0.0)
        off = np.abs(system @ values - costs).max(axis=0, initial=0.0)
        if not np.all(off <= MAX_RESIDUAL * np.maximum(largest, TINY)):
            return None
        values = np.maximum(values, 0.0)
        begin = np.zeros(expansion.num_states)
        np.add.at(begin, *expansion.initial)
        kept = np.full(expansion.num_states, NO_ROW, dtype=np.int64)
        kept[states] = own
        return ClosedPolicy(kept, begin[states] @ values, states, values)

    def _mended(self, rows: IntArray, trapped: BoolArray) -> IntArray:
        """The policy with rows that lead closer to a goal wherever it would stay for ever."""
        expansion = self._expansion
        closer = self._backwards.approaching(self._certain_rows)[self._place]
        mended = best_rows(expansion, np.where(closer, 0.0, np.inf))
        return np.where(trapped & ~expansion.goal, mended, rows)


def close_by_policy(search: GuidedExpansion, most: int, is_over: Callable[[], bool] = lambda: False) -> bool:
    """Expand what the greedy policy comes to, however seldom, until it never leaves what is expanded.

    Where the last trial went, the policy stays as it is now. In all other states, which it comes to seldom,
    it matters more to come back there soon than to be cheap.

    Parameters
    ----------
    search
        The weights, and values near the best; a trial has been made.
    most
        Give up before more states than this were expanded.
    is_over
        Whether nobody listens any more; then it gives up.

    Returns
    -------
    closed
        Whether nothing is left to be expanded.
    """
    expansion = search.expansion
    on_the_way = search.on_the_way
    fixed = greedy_rows(search, search.values)[on_the_way]
    far = np.zeros(0)
    while not is_over():
        far, rows = _back_soon(search, far, on_the_way)
        rows[on_the_way] = fixed
        starts = np.zeros(expansion.num_states, dtype=np.bool_)
        starts[expansion.initial[0]] = True
        tips = _on_the_frontier(expansion, np.flatnonzero(closure(policy_chain(search, rows), starts)))
        if not len(tips):
            return True
        if expansion.num_expanded + len(tips) > most:
            return False
        search.expand(tips)
    return False


def _back_soon(search: GuidedExpansion, far: FloatArray, on_the_way: IntArray) -> tuple[FloatArray, IntArray]:
    """How many steps it takes to come back on the way, and the rows that lead there.

    Parameters
    ----------
    search
        What is expanded.
    far
        The steps that were found for the states that were known the last time.
    on_the_way
        The states to come back to.
    """
    expansion, departures = search.expansion, search.departures
    steps = np.append(far, np.zeros(expansion.num_states - len(far)))
    steps[expansion.frontier] = UNKNOWN_STEPS
    lost = (search.values >= DEAD) & ~expansion.frontier
    with np.errstate(divide="ignore"):
        costs = np.where(departures.leaving > 0.0, 1.0 / departures.leaving, DEAD)
    for _ in range(BACK_SWEEPS):
        options = costs + departures.after(steps)
        states, least = departures.least_of_state(options)
        steps[states] = np.minimum(least, DEAD)
        steps[on_the_way] = 0.0
        steps[lost] = DEAD
    return steps, best_rows(expansion, costs + departures.after(steps))


def widen(search: GuidedExpansion, states: IntArray, rings: int) -> bool:
    """Expand `states` of the frontier and all that they lead to within some steps; False if nothing was."""
    expansion = search.expansion
    most = MOST_WIDER * expansion.num_expanded + SOME_WIDER
    expanded = search.expand(states)
    for _ in range(rings - 1):
        if expansion.num_expanded > most:
            break
        rows = np.flatnonzero(np.isin(expansion.row_state, states))
        entries, _ = joined_spans(expansion.first_entry[rows], expansion.entries_of_row[rows])
        states = _on_the_frontier(expansion, expansion.successor[entries])
        search.expand(states)
    search.sweep(1)
    return expanded > 0


def is_acyclic(expansion: Expansion, rows: BoolArray) -> bool:
    """Whether no way that takes only such rows comes back to a state that it has left."""
    entries = np.repeat(rows, expansion.entries_of_row)
    tails = np.repeat(expansion.row_state, expansion.entries_of_row)[entries]
    heads = expansion.successor[entries]
    leaves = tails != heads
    size = expansion.num_states
    graph = csr_array((np.ones(int(leaves.sum())), (tails[leaves], heads[leaves])), shape=(size, size))
    count, _ = connected_components(graph, connection="strong")
    return bool(count == size)


def _on_the_frontier(expansion: Expansion, states: IntArray) -> IntArray:
    found = np.unique(states)
    frontier: IntArray = found[(expansion.first_row[found] < 0) & ~expansion.goal[found]]
    return frontier


def _identity(size: int) -> SparseMatrix:
    return csr_array((np.ones(size), np.arange(size), np.arange(size + 1)), shape=(size, size))


def greedy_rows(search: GuidedExpansion, values: FloatArray) -> IntArray:
    """For each known state the best of its rows if `values` are to come after it; -1 where it has none."""
    options = search.row_costs(slice(None)) + search.departures.after(values)
    return best_rows(search.expansion, options)


def best_rows(expansion: Expansion, options: FloatArray) -> IntArray:
    """For each known state the first of its rows with the least option; -1 where all are infinite."""
    owner = expansion.row_state
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    counts = np.diff(np.append(begins, len(owner)))
    least = np.minimum.reduceat(options, begins)
    first = first_in_each(options == np.repeat(least, counts), begins)
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
    entries, _ = joined_spans(expansion.first_entry[own], lengths[states])
    count = expansion.num_states
    chain = csr_array(
        (search.departures.probability[entries], expansion.successor[entries], starts), shape=(count, count)
    )
    chain.sum_duplicates()
    chain.eliminate_zeros()
    return chain
