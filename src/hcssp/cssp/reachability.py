"""Which states can be reached, and from which the goal is reached almost surely.

*Problem*: an action that may lead where no goal can be reached has infinite expected cost. Wanted are
the states from which some policy reaches a goal with probability one, and the actions that stay there.

*Method*: the standard fixed point. Take away the states from which no goal can be reached, then the
actions that may lead to a state taken away, and repeat until nothing changes. A search along the
transitions, forwards or backwards, is one call of a compiled routine; what is taken away spreads in
layers, each a few array operations.

*Guarantee*: exact, because only the pattern of the transitions counts. The work of one round is linear
in the transitions; most problems need one round or two.

Every search of the package along a graph is one of these: of a problem, of the chain of a policy, of the
events of a procedure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

from hcssp.cssp.arrays import distinct, joined_spans
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix, states_of_rows


def closure(graph: SparseMatrix, sources: BoolArray) -> BoolArray:
    """The nodes that can be reached along the edges of `graph` from any of `sources`, those included.

    Every stored entry of the matrix is an edge, from its row to its column, whatever its value.

    >>> one_way = csr_array(np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]]))
    >>> closure(one_way, np.array([True, False, False])).tolist()
    [True, True, False]
    """
    size = graph.shape[0]
    found = np.zeros(size + 1, dtype=np.bool_)
    starts = np.flatnonzero(sources)
    if len(starts) == 1:
        nodes = breadth_first_order(graph, int(starts[0]), return_predecessors=False)
    else:
        # One more node leads to all of them, which turns many searches into one.
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


def reachable(problem: CSSP, rows: BoolArray | None = None) -> BoolArray:
    """The states that can be reached from the initial distribution with the actions `rows` (all)."""
    return closure(state_graph(problem, rows), problem.initial > 0.0)


def state_graph(problem: CSSP, rows: BoolArray | None = None) -> SparseMatrix:
    """The graph of the states along the possible transitions of the actions `rows` (all)."""
    transitions = _pattern(problem.transitions)
    if rows is not None and not rows.all():
        transitions = _without(transitions, np.repeat(rows, np.diff(transitions.indptr)))
    # The rows of a state are neighbours, so coarser boundaries turn rows into a graph of states.
    return csr_array(
        (transitions.data, transitions.indices, transitions.indptr[problem.row_start]),
        shape=(problem.num_states, problem.num_states),
    )


def can_reach_goal(problem: CSSP, rows: BoolArray | None = None) -> BoolArray:
    """The states from which a goal can be reached at all, however improbably, with `rows` (all)."""
    return _backwards(problem).can_reach_goal(rows)


@dataclass(frozen=True)
class AlmostSure:
    """Where a goal is reached with certainty, by a policy that keeps to `rows`."""

    states: BoolArray
    rows: BoolArray


def almost_sure(problem: CSSP, within: BoolArray | None = None, rows: BoolArray | None = None) -> AlmostSure:
    """The states from which some policy reaches a goal almost surely, and the actions that keep it so.

    Parameters
    ----------
    problem
        The problem.
    within
        States to which to restrict the question; it must be closed under all transitions of `rows` (the
        reachable states are), and the answer lies within it.
    rows
        The actions that may be taken; None for all.
    """
    return _backwards(problem).almost_sure(rows, within)


class Backwards:
    """Searches against the transitions: from states to the rows that may lead there.

    Parameters
    ----------
    transitions
        One row for each action, one column for each state; entries that are not zero are possible moves.
    row_state
        The state of each row, in any order.
    goals
        Where the searches end.
    """

    def __init__(self, transitions: SparseMatrix, row_state: IntArray, goals: BoolArray) -> None:
        self._row_state = row_state
        self._goals = goals
        # For each state the rows that may lead there; kept for all searches.
        self._into: SparseMatrix = _pattern(transitions).T.tocsr()

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self._goals)

    def rows_into(self, states: IntArray) -> IntArray:
        """The rows that may lead to one of `states`; a row may come several times."""
        starts = self._into.indptr[states].astype(np.int64)
        counts = self._into.indptr[states + 1] - starts
        rows: IntArray = self._into.indices[joined_spans(starts, counts)[0]]
        return rows

    def can_reach_goal(self, rows: BoolArray | None = None) -> BoolArray:
        """The states from which a goal can be reached with the actions `rows` (all)."""
        return closure(self._graph(rows), self._goals)

    def spread(self, lost: BoolArray, rows: BoolArray) -> BoolArray:
        """The `rows` left when all that may lead to `lost` are taken away.

        A state that has no row left is lost as well, and is added to `lost`, unless it is a goal.
        """
        rows = rows.copy()
        left = np.bincount(self._row_state[rows], minlength=self.num_states)
        layer = np.flatnonzero(lost)
        while len(layer):
            into = distinct(self.rows_into(layer))
            into = into[rows[into]]
            rows[into] = False
            states = self._row_state[into]
            np.subtract.at(left, states, 1)
            layer = distinct(states)
            layer = layer[(left[layer] == 0) & ~lost[layer] & ~self._goals[layer]]
            lost[layer] = True
        return rows

    def almost_sure(self, rows: BoolArray | None = None, within: BoolArray | None = None) -> AlmostSure:
        """As the function of this name, with the actions `rows` (all) only."""
        states = self.can_reach_goal(rows)
        inside = np.ones(self.num_states, dtype=np.bool_) if within is None else within
        lost = inside & ~states
        states = states & inside
        left = inside[self._row_state] if rows is None else rows & inside[self._row_state]
        while lost.any():
            left = left & self.spread(lost, left)
            still = self.can_reach_goal(left) & states
            lost, states = states & ~still, still
        return AlmostSure(states, left & states[self._row_state])

    def approaching(self, rows: BoolArray) -> BoolArray:
        """Those of `rows` that may lead closer to a goal, in steps along `rows`.

        One of them in every state makes a policy that reaches a goal almost surely, provided that `rows`
        lead only to states that have one.
        """
        graph = self._graph(rows)
        distance = dijkstra(graph, indices=np.flatnonzero(self._goals), unweighted=True, min_only=True)
        targets = np.repeat(np.arange(self.num_states), np.diff(self._into.indptr))
        closest = np.full(len(self._row_state), np.inf)
        np.minimum.at(closest, self._into.indices, distance[targets])
        closer: BoolArray = rows & (closest < distance[self._row_state])
        return closer

    def _graph(self, rows: BoolArray | None) -> SparseMatrix:
        """The graph of the states against the transitions of `rows` (all)."""
        into = self._into if rows is None else _without(self._into, rows[self._into.indices])
        return csr_array(
            (into.data, self._row_state[into.indices], into.indptr), shape=(self.num_states, self.num_states)
        )


def _backwards(problem: CSSP) -> Backwards:
    return Backwards(problem.transitions, states_of_rows(problem.row_start), problem.goals)


def _pattern(transitions: SparseMatrix) -> SparseMatrix:
    """The same matrix without impossible successors, which only hand-made matrices have."""
    if transitions.data.all():
        return transitions
    return _without(transitions, transitions.data != 0.0)


def _without(matrix: SparseMatrix, kept: BoolArray) -> SparseMatrix:
    """A CSR matrix with only the entries `kept`."""
    starts = np.concatenate(([0], np.cumsum(kept)))[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def path_lengths(
    tails: IntArray, heads: IntArray, targets: BoolArray, lengths: FloatArray | None = None
) -> FloatArray:
    """For every state the length of the shortest path to one of `targets`; ``inf`` where there is no way.

    >>> tails, heads, targets = np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([False, False, True])
    >>> path_lengths(tails, heads, targets, np.array([2.0, 1.0, 0.0])).tolist()
    [1.0, 0.0, 0.0]

    Parameters
    ----------
    tails, heads
        Where each arrow leads from and to; there may be several between two states.
    targets
        The states where paths end.
    lengths
        Of each arrow, not negative; None for 1.
    """
    count = len(targets)
    # The search goes backwards, from heads to tails. Parallel arrows do no harm, but must not be added up.
    order = np.argsort(heads, kind="stable")
    pointers = np.append(0, np.cumsum(np.bincount(heads, minlength=count)))
    own = np.ones(len(tails)) if lengths is None else lengths[order]
    back = csr_array((own, tails[order], pointers), shape=(count, count))
    found: FloatArray = dijkstra(back, indices=np.flatnonzero(targets), min_only=True)
    return found


def free_groups(
    num_states: int, entry_row: IntArray, tails: IntArray, heads: IntArray, free: BoolArray
) -> tuple[IntArray, BoolArray]:
    """Groups of states among which free rows can cycle for ever, and the rows that stay in their group.

    They are the maximal end components of the free rows: rows that may leave their strongly connected part
    are taken away until none does.

    Parameters
    ----------
    num_states
        The number of states.
    entry_row, tails, heads
        The row of every arrow, and the states it leads from and to.
    free
        Which rows are free.
    """
    rows = free.copy()
    while True:
        # What may lead to where nothing is free is not a part of a group; that is quicker than what follows.
        acting = np.zeros(num_states, dtype=np.bool_)
        acting[tails[rows[entry_row]]] = True
        leaking = entry_row[rows[entry_row] & ~acting[heads]]
        if len(leaking) == 0:
            break
        rows[leaking] = False
    if not rows.any():
        return np.arange(num_states), rows
    while True:
        kept = rows[entry_row]
        shape = (num_states, num_states)
        graph = csr_array((np.ones(int(kept.sum())), (tails[kept], heads[kept])), shape=shape)
        _, group = connected_components(graph, connection="strong")
        staying = rows.copy()
        staying[entry_row[group[tails] != group[heads]]] = False
        if np.array_equal(staying, rows):
            return group.astype(np.int64), rows
        rows = staying
