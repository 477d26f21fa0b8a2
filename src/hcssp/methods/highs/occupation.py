r"""Occupation measures: flows :math:`x(s, a)` through the rows of a C-SSP, and the policies in them.

The expected number of times a policy takes each row satisfies, in every state that is no goal,
:math:`\sum_a x(s, a) - \sum P(s \mid s', a') x(s', a') = \mu(s)`: what leaves is what enters. Every
non-negative solution is the flow of a randomised policy (plus, perhaps, circulations that it never
enters), and its costs are linear in :math:`x`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.reachability import Backwards
from hcssp.evaluation.chain import is_proper
from hcssp.evaluation.exact import evaluate

TOO_LITTLE = 1e-6
"""Flow below this says nothing about what to do in a state: a linear program is solved up to a tolerance."""

NOISE = 1e-6
"""Flow that is not told from none when a flow is taken apart."""


def most_visited(problem: CSSP, flow: FloatArray, among: BoolArray | None = None) -> IntArray:
    """In each state the row with the largest flow, the first of them in a tie.

    Parameters
    ----------
    problem, flow
        The problem, and the flow of each row.
    among
        The rows to choose from; a state that has none of them gets :data:`NO_ROW`.
    """
    weight = flow if among is None else np.where(among, flow, -np.inf)
    # Last key first: by state, then by falling flow, then by row.
    order = np.lexsort((np.arange(problem.num_rows), -weight, problem.row_state))
    rows = np.full(problem.num_states, NO_ROW, dtype=np.int64)
    has_rows = np.diff(problem.row_start) > 0
    rows[has_rows] = order[problem.row_start[:-1][has_rows]]
    taken = rows >= 0
    rows[taken] = np.where(np.isneginf(weight[rows[taken]]), NO_ROW, rows[taken])
    return rows


def approaching(problem: CSSP, flow: FloatArray, among: BoolArray) -> IntArray:
    """A row for each state: the one with the largest flow of those `among` that may lead closer to a goal.

    It is proper wherever the rows `among` lead only to states from which they can reach a goal. States
    without such a row get :data:`NO_ROW`.
    """
    search = Backwards(problem.transitions, problem.row_state, problem.goals)
    return most_visited(problem, flow, search.approaching(among))


def randomised(problem: CSSP, flow: FloatArray, elsewhere: IntArray) -> FloatArray:
    """The stationary randomised policy of a flow: a probability for each row.

    A state through which nothing flows, or less than a solver's tolerance can tell from nothing, takes its
    row in `elsewhere`: noise may go in circles.
    """
    flow = np.where(flow > TOO_LITTLE, flow, 0.0)
    through = np.bincount(problem.row_state, weights=flow, minlength=problem.num_states)
    flowing = through[problem.row_state] > 0.0
    probabilities = np.zeros(problem.num_rows)
    probabilities[elsewhere[(through <= 0.0) & (elsewhere != NO_ROW)]] = 1.0
    probabilities[flowing] = flow[flowing] / through[problem.row_state[flowing]]
    return probabilities


def deterministic_candidates(problem: CSSP, flow: FloatArray, elsewhere: IntArray) -> Iterator[IntArray]:
    """Proper deterministic policies suggested by a flow, one row for each state.

    States where the flow suggests nothing take their row in `elsewhere`.
    """
    everywhere = np.ones(problem.num_rows, dtype=np.bool_)
    seen: set[bytes] = set()
    for support in (flow > 0.0, everywhere):
        for rows in (most_visited(problem, flow, support), approaching(problem, flow, support)):
            rows = np.where(rows == NO_ROW, elsewhere, rows)
            if rows.tobytes() not in seen and is_proper(problem, DeterministicPolicy(problem, rows)):
                seen.add(rows.tobytes())
                yield rows


def decompose(
    problem: CSSP, flow: FloatArray, limit: int, elsewhere: IntArray
) -> list[tuple[float, IntArray, FloatArray]]:
    """A flow as a mixture of at most `limit` deterministic policies: weights, rows and exact costs.

    Policies are peeled off one by one, each with the largest weight that leaves no flow negative; the
    flow of a vertex of the polytope with N constraints needs at most N + 1. Flow below :data:`NOISE` is
    ignored; where there is none, policies take the rows `elsewhere`. Empty if the mixture's costs are not
    those of the flow, as with an inexact solution.
    """
    remaining = np.maximum(flow, 0.0)
    left = 1.0
    mixture: list[tuple[float, IntArray, FloatArray]] = []
    while left > NOISE:
        rows = approaching(problem, remaining, remaining > NOISE * NOISE)
        rows = np.where(rows == NO_ROW, elsewhere, rows)
        if not is_proper(problem, DeterministicPolicy(problem, rows)):
            return []
        evaluation = evaluate(problem, DeterministicPolicy(problem, rows))
        visited = np.flatnonzero((evaluation.visits > NOISE) & ~problem.goals)
        used = np.maximum(remaining[rows[visited]], 0.0) / evaluation.visits[visited]
        # Rare states are noisy; what they would leave over belongs to the last policy.
        weight = left if len(mixture) + 1 == limit else float(np.min(used, initial=left))
        if weight <= NOISE:
            return []
        acting = ~problem.goals
        remaining[rows[acting]] -= weight * evaluation.visits[acting]
        left -= weight
        mixture.append((weight, rows, evaluation.costs))
    total = sum(weight for weight, _, _ in mixture)
    mixture = [(weight / total, rows, costs) for weight, rows, costs in mixture]
    mixed = sum((weight * costs for weight, _, costs in mixture), np.zeros(len(problem.costs)))
    wanted = problem.costs @ flow
    close = np.abs(mixed - wanted) <= NOISE * np.maximum(1.0, np.abs(wanted))
    return mixture if close.all() else []
