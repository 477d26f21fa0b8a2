"""Where policy iteration begins: a proper policy, built from the goals backwards.

Policy iteration needs a policy that reaches a goal almost surely. Every state takes the row that begins a
shortest path to a goal, where crossing from ``s`` to ``s'`` by a row costs the row's cost divided by the
probability of ``s'``. The next state of that path is hit with positive probability, from every state, so
the policy is proper; and where the world mostly does as told, it is close to optimal.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards
from hcssp.ssp.balance import Balance

STEP_SHARE = 1e-6
"""A step is at least this share of the largest cost long (of one, if all are free), so that paths get shorter
with every step even where steps are free. Only the choice among proper policies depends on it."""

SWALLOWED = 4.0 * float(np.finfo(np.float64).eps)
"""A step that is no longer than this share of a path may be lost in the rounding of the path's length."""


def starting_policy(balance: Balance, row_costs: FloatArray, allowed: BoolArray) -> IntArray:
    """Rows that begin shortest paths of allowed rows to a goal.

    A live state without a path has NO_ROW. The policy is proper if every state has a row and every allowed
    row stays among the live states, which holds for prepared problems without a region. Otherwise see
    :func:`safe_rows`.
    """
    live = balance.num_live
    matrix = balance.matrix
    row_of_entry = np.repeat(np.arange(balance.num_rows), np.diff(matrix.indptr))
    # Below zero at a row's own state.
    probability = -matrix.data
    to_goal = balance.goal_probability
    entry = np.flatnonzero(probability > 0.0)
    goal_row = np.flatnonzero(to_goal > 0.0)
    step = np.maximum(row_costs, STEP_SHARE * (float(np.max(row_costs, initial=0.0)) or 1.0))
    step = np.where(allowed, step, np.inf)
    row = np.concatenate([row_of_entry[entry], goal_row])
    head = np.concatenate([matrix.indices[entry], np.full(len(goal_row), live, dtype=matrix.indices.dtype)])
    length = step[row] / np.concatenate([probability[entry], to_goal[goal_row]])
    distance = path_lengths(live, balance.row_state[row], head, length)
    usable = allowed[row]
    longest = max(
        distance.max(where=np.isfinite(distance), initial=0.0), length.max(where=usable, initial=0.0)
    )
    if SWALLOWED * longest >= length.min(where=usable, initial=np.inf):
        # Every step counts the same, or rounding might let a path run in circles.
        length = np.where(usable, 1.0, np.inf)
        distance = path_lengths(live, balance.row_state[row], head, length)
    through = np.full(balance.num_rows, np.inf)
    np.minimum.at(through, row, distance[head] + length)
    least = balance.least_of_state(through)
    rows = balance.least_rows(through, least, np.arange(live))
    return np.where(np.isfinite(least), rows, NO_ROW)


def path_lengths(live: int, tail: IntArray, head: IntArray, length: FloatArray) -> FloatArray:
    """The length of a shortest path from each state, and from the goals at last, to the goals.

    Parameters
    ----------
    live
        The number of states without the goals, which are one more.
    tail, head, length
        From where each edge leads, where to, and how long it is.
    """
    # The search goes backwards, from heads to tails. Parallel edges do no harm, but must not be added up.
    by_head = np.argsort(head, kind="stable")
    pointers = np.append(0, np.cumsum(np.bincount(head, minlength=live + 1)))
    backwards: SparseMatrix = csr_array(
        (length[by_head], tail[by_head], pointers), shape=(live + 1, live + 1)
    )
    distances: FloatArray = dijkstra(backwards, indices=[live])[0]
    return distances


def safe_rows(balance: Balance, row_costs: FloatArray, allowed: BoolArray) -> tuple[IntArray, BoolArray]:
    """A proper policy of a region, where it has one, and the rows that keep out of its dead ends.

    Returns
    -------
    rows
        A row for each live state, NO_ROW in those from which the region cannot reach a goal surely.
    safe
        The allowed rows that can never lead to such a state.
    """
    search: Backwards | None = None
    while True:
        rows = starting_policy(balance, row_costs, allowed)
        lost = rows == NO_ROW
        if not lost.any():
            return rows, allowed
        if search is None:
            # Through the diagonal of the matrix a row leads to its own state too: lost states lose theirs.
            search = Backwards(balance.matrix, balance.row_state, np.zeros(balance.num_live, dtype=np.bool_))
        safe = search.spread(lost, allowed)
        if np.array_equal(safe, allowed):
            return rows, allowed
        allowed = safe
