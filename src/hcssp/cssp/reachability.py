"""Which states can be reached, and from which the goal is reached almost surely.

*Problem*: an action that may lead where no goal can be reached has infinite expected cost. Wanted are
the states from which some policy reaches a goal with probability one, and the actions that stay there.

*Method*: the standard fixed point. Take away the states from which no goal can be reached, then the
actions that may lead to a state taken away, and repeat until nothing changes. A search along the
transitions, forwards or backwards, is one call of a compiled routine; what is taken away spreads in
layers, each a few array operations.

*Guarantee*: exact, because only the pattern of the transitions counts. The work of one round is linear
in the transitions; most problems need one round or two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hcssp.cssp.model import CSSP, BoolArray, IntArray, SparseMatrix


def reachable(problem: CSSP, rows: BoolArray | None = None) -> BoolArray:
    """The states that can be reached from the initial distribution with the actions `rows` (all)."""
    starts = np.flatnonzero(problem.initial > 0.0)
    transitions = _pattern(problem.transitions)
    if rows is not None and not rows.all():
        return _search(_masked(transitions, rows), problem.row_start, starts)
    return _search(transitions, problem.row_start, starts)


def can_reach_goal(problem: CSSP) -> BoolArray:
    """The states from which a goal can be reached at all, however improbably."""
    return Backwards(problem).from_goals()


@dataclass(frozen=True)
class AlmostSure:
    """Where a goal is reached with certainty, by a policy that keeps to `rows`."""

    states: BoolArray
    rows: BoolArray


def almost_sure(problem: CSSP, within: BoolArray | None = None) -> AlmostSure:
    """The states from which some policy reaches a goal almost surely, and the actions that keep it so.

    Parameters
    ----------
    problem
        The problem.
    within
        States to which to restrict the question; it must be closed under all transitions (the
        reachable states are), and the answer lies within it.
    """
    backwards = Backwards(problem)
    states = backwards.from_goals()
    inside = np.ones(problem.num_states, dtype=np.bool_) if within is None else within
    lost = inside & ~states
    states = states & inside
    rows = inside[problem.row_state]
    while lost.any():
        rows = rows & backwards.spread(lost, rows)
        still = backwards.from_goals(rows) & states
        lost, states = states & ~still, still
    return AlmostSure(states, rows & states[problem.row_state])


class Backwards:
    """Searches against the transitions: from states to the rows that may lead there.

    Parameters
    ----------
    problem
        The problem whose transposed transitions are kept for all searches.
    """

    def __init__(self, problem: CSSP) -> None:
        self._problem = problem
        # For each state the rows that may lead there.
        self._into: SparseMatrix = _pattern(problem.transitions).T.tocsr()

    def rows_into(self, states: IntArray) -> IntArray:
        """The rows that may lead to one of `states`; a row may come several times."""
        starts = self._into.indptr[states].astype(np.int64)
        counts = self._into.indptr[states + 1] - starts
        # Positions of all entries of all states: for each, its start and then one after the other.
        offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        rows: IntArray = self._into.indices[offsets + np.arange(len(offsets))]
        return rows

    def from_goals(self, rows: BoolArray | None = None) -> BoolArray:
        """The states from which a goal can be reached with the actions `rows` (all)."""
        problem = self._problem
        into = self._into
        if rows is not None:
            into = _without(into, rows[into.indices])
        # From rows to their states, the graph of the states against the transitions.
        graph = csr_array(
            (into.data, problem.row_state[into.indices], into.indptr),
            shape=(problem.num_states, problem.num_states),
        )
        return _breadth_first(graph, np.flatnonzero(problem.goals))

    def spread(self, lost: BoolArray, rows: BoolArray) -> BoolArray:
        """The `rows` left when all that may lead to `lost` are taken away.

        A state that has no row left is lost as well, and is added to `lost`, unless it is a goal.
        """
        problem = self._problem
        rows = rows.copy()
        left = np.bincount(problem.row_state[rows], minlength=problem.num_states)
        layer = np.flatnonzero(lost)
        while len(layer):
            into = np.unique(self.rows_into(layer))
            into = into[rows[into]]
            rows[into] = False
            states = problem.row_state[into]
            np.subtract.at(left, states, 1)
            layer = np.unique(states)
            layer = layer[(left[layer] == 0) & ~lost[layer] & ~problem.goals[layer]]
            lost[layer] = True
        return rows


def _pattern(transitions: SparseMatrix) -> SparseMatrix:
    """The same matrix without impossible successors, which only hand-made matrices have."""
    if transitions.data.all():
        return transitions
    return _without(transitions, transitions.data != 0.0)


def _without(matrix: SparseMatrix, kept: BoolArray) -> SparseMatrix:
    """A CSR matrix with only the entries `kept`."""
    starts = np.concatenate(([0], np.cumsum(kept)))[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def _masked(transitions: SparseMatrix, rows: BoolArray) -> SparseMatrix:
    return _without(transitions, np.repeat(rows, np.diff(transitions.indptr)))


def _search(transitions: SparseMatrix, row_start: IntArray, starts: IntArray) -> BoolArray:
    """The states reachable from `starts`."""
    num_states = len(row_start) - 1
    # The rows of a state are neighbours, so coarser boundaries turn rows into a graph of states.
    graph = csr_array(
        (transitions.data, transitions.indices, transitions.indptr[row_start]), shape=(num_states, num_states)
    )
    return _breadth_first(graph, starts)


def _breadth_first(graph: SparseMatrix, starts: IntArray) -> BoolArray:
    """The nodes of `graph` reachable from any of `starts`."""
    size = graph.shape[0]
    found = np.zeros(size + 1, dtype=np.bool_)
    if len(starts) == 1:
        nodes = breadth_first_order(graph, int(starts[0]), return_predecessors=False)
    else:
        # One more node leads to all of them.
        joined = csr_array(
            (
                np.concatenate((graph.data, np.ones(len(starts)))),
                np.concatenate((graph.indices, starts)),
                np.concatenate((graph.indptr, [graph.indptr[-1] + len(starts)])),
            ),
            shape=(size + 1, size + 1),
        )
        nodes = breadth_first_order(joined, size, return_predecessors=False)
    found[nodes] = True
    return found[:size]
