"""Where policy iteration begins: a proper policy, built from the goals backwards.

Policy iteration needs a policy that reaches a goal almost surely. Every state takes the row that begins a
shortest path to a goal, where crossing from ``s`` to ``s'`` by a row costs the row's cost divided by the
probability of ``s'``. The next state of that path is hit with positive probability, from every state, so
the policy is proper; and where the world mostly does as told, it is close to optimal.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.ssp.balance import Balance


def starting_policy(
    balance: Balance, row_costs: FloatArray, allowed: BoolArray, likeliest_only: bool = False
) -> tuple[IntArray, FloatArray]:
    """Rows that begin shortest paths of allowed rows to a goal, and the lengths of those paths.

    A live state without a path has NO_ROW and infinite length. The policy is proper if every state has a row
    and every allowed row stays among the live states, which holds for prepared problems without a region.
    Otherwise see :func:`safe_rows`. With `likeliest_only`, paths may count on likely outcomes only: fewer
    edges, and more states without a path.
    """
    live = balance.num_live
    matrix = balance.matrix
    row_of_entry = np.repeat(np.arange(balance.num_rows), np.diff(matrix.indptr))
    probability = -matrix.data.copy()
    own = matrix.indices == balance.row_state[row_of_entry]
    to_goal = goal_probability(balance)
    # Steps without cost still count a little: a path must get shorter with every step.
    step = np.maximum(row_costs, 1e-6 * max(1.0, float(np.max(row_costs, initial=0.0))))
    probability[own] = 0.0
    # A row that always stays where it is has no entry at all, and no likeliest one.
    if likeliest_only and np.all(np.diff(matrix.indptr) > 0):
        floor = np.maximum(to_goal, 0.5 * np.maximum.reduceat(probability, matrix.indptr[:-1]))
        floor = np.maximum(floor, 1e-15)
    else:
        floor = np.full(balance.num_rows, 1e-15)
    entry = np.flatnonzero((probability > floor[row_of_entry]) & allowed[row_of_entry])
    goal_row = np.flatnonzero((to_goal > 1e-15) & allowed)
    tail_row = np.concatenate([row_of_entry[entry], goal_row])
    head = np.concatenate([matrix.indices[entry].astype(np.int64), np.full(len(goal_row), live)])
    length = np.concatenate(
        [step[row_of_entry[entry]] / probability[entry], step[goal_row] / to_goal[goal_row]]
    )
    tail = balance.row_state[tail_row]
    # Of parallel edges only the shortest counts.
    order = np.lexsort((length, tail, head))
    tail, head, length, tail_row = tail[order], head[order], length[order], tail_row[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    tail, head, length, tail_row = tail[first], head[first], length[first], tail_row[first]
    backwards: SparseMatrix = csr_array((length, (head, tail)), shape=(live + 1, live + 1))
    distance = dijkstra(backwards, indices=[live])[0]
    through = distance[head] + length
    rows = np.full(live, NO_ROW, dtype=np.int64)
    order = np.lexsort((through, tail))
    order = order[np.isfinite(through[order])]
    owners = tail[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = owners[1:] != owners[:-1]
    rows[owners[first]] = tail_row[order[first]]
    return rows, distance[:live]


def safe_rows(balance: Balance, row_costs: FloatArray, allowed: BoolArray) -> tuple[IntArray, BoolArray]:
    """A proper policy of a region, where it has one, and the rows that keep out of its dead ends.

    Returns
    -------
    rows
        A row for each live state, NO_ROW in those from which the region cannot reach a goal surely.
    safe
        The allowed rows that can never lead to such a state.
    """
    while True:
        rows, _ = starting_policy(balance, row_costs, allowed)
        lost = rows == NO_ROW
        if not lost.any():
            return rows, allowed
        touches = (abs(balance.matrix) @ lost.astype(np.float64)) > 0.0
        safe = allowed & ~touches
        if np.array_equal(safe, allowed):
            return rows, allowed
        allowed = safe


def goal_probability(balance: Balance) -> FloatArray:
    """The probability of each row to end in a goal at once."""
    probability: FloatArray = balance.matrix @ np.ones(balance.num_live)
    # Rounding of sums that are exactly one must not look like an exit.
    probability[probability < 1e-12] = 0.0
    return probability


def policy_reaches_goal(balance: Balance, rows: IntArray) -> bool:
    """Whether every live state can reach a goal along the rows of a policy, which makes it proper."""
    live = balance.num_live
    system = balance.matrix[rows]
    exits = np.flatnonzero(goal_probability(balance)[rows] > 0.0)
    state = np.repeat(np.arange(live), np.diff(system.indptr))
    head = np.concatenate([system.indices, np.full(len(exits), live)])
    tail = np.concatenate([state, exits])
    backwards = csr_array((np.ones(len(head)), (head, tail)), shape=(live + 1, live + 1))
    reached = breadth_first_order(backwards, live, return_predecessors=False)
    return len(reached) == live + 1
