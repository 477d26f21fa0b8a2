"""Explicit problems told as implicit ones, and what their heuristics may say at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.cssp.reachability import almost_sure
from hcssp.cssp.state_space import TransitionBatch

SLIGHTLY_LESS = 1.0 - 1e-9
"""A heuristic from value iteration is lowered by this factor: it must not be above the truth."""


def implicit_of(problem: CSSP, heuristics: Callable[[Any], Any] | None = None, **more: Any) -> ImplicitCSSP:
    """A small problem, asked state by state."""
    rows, number = problem.transitions, problem.state_index

    def row_of(state: Any, action: Any) -> int:
        index = number[state]
        own = range(int(problem.row_start[index]), int(problem.row_start[index + 1]))
        return next(row for row in own if problem.action_labels[row] == action)

    def actions(state: Any) -> list[Any]:
        index = number[state]
        return list(problem.action_labels[int(problem.row_start[index]) : int(problem.row_start[index + 1])])

    def transitions(state: Any, action: Any) -> dict[Any, float]:
        row = row_of(state, action)
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        pairs = zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True)
        return {problem.state_labels[index]: probability for index, probability in pairs}

    return ImplicitCSSP(
        {problem.state_labels[i]: float(problem.initial[i]) for i in np.flatnonzero(problem.initial)},
        actions,
        transitions,
        lambda state, action: problem.costs[:, row_of(state, action)].tolist(),
        lambda state: bool(problem.goals[number[state]]),
        heuristics,
        problem.cost_names,
        dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True)),
        **more,
    )


def highest_heuristic(problem: CSSP) -> np.ndarray:
    """For each cost and state nearly the least expected cost to go of any proper policy; 0 in dead ends."""
    dense, certain = problem.transitions.toarray(), almost_sure(problem)
    values = np.zeros((len(problem.cost_names), problem.num_states))
    acting = [
        [row for row in range(*problem.row_start[state : state + 2].tolist()) if certain.rows[row]]
        for state in range(problem.num_states)
    ]
    for cost, value in zip(problem.costs, values, strict=True):
        # From below, so that it may end anywhere.
        for _ in range(100):
            options = cost + dense @ value
            value[:] = [options[rows].min() if rows else 0.0 for rows in acting]
    return values * SLIGHTLY_LESS


def walk_or_skate(step: float, last: int) -> Callable[[np.ndarray], TransitionBatch]:
    """Steps along the integers up to `last`: walk, or skate two at a time, which may fail and bruises."""

    def steps(states: np.ndarray) -> TransitionBatch:
        count, place = len(states), states[:, 0]
        return TransitionBatch(
            states=np.tile(np.arange(count), 2),
            actions=np.repeat([0, 1], count),
            costs=np.array([np.repeat([step, 1.5], count), np.repeat([0.0, 1.0], count)]),
            rows=np.concatenate((np.arange(2 * count), count + np.arange(count))),
            successors=np.minimum(np.concatenate((place + 1, place + 2, place)), last)[:, np.newaxis],
            probabilities=np.repeat([1.0, 0.75, 0.25], count),
        )

    return steps
