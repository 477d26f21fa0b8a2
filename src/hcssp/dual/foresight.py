"""Where the multiplier of one bound is expected at which the best policy changes sides: a guess.

A policy that is best at some multiplier breaks the bound, or leaves some of it. As the multiplier is raised,
or lowered, states change to other rows one after the other: a state at the multiplier at which the first of
its other rows costs no more than its own. Each change moves the bounded cost by about the visits of the state
times the row's reduced cost. Added up in their order, they tell about when the bound is met. Near the answer
that is most often right, so that the dual of a region, whose multiplier is near that of a larger one, is
found with one or two solves.

Nothing rests on it: the dual is solved wherever one goes, see :mod:`hcssp.dual.guessing`.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.balance import Balance

TIED = 1e-9
"""Rows that a state changes to at multipliers this close, relatively, change places at once."""


class TurningPoint(NamedTuple):
    """Where the best policy changes sides.

    Attributes
    ----------
    step
        How far the multiplier has to be moved; ``inf`` if the policy stays on its side.
    beyond
        How far from the bound the policy on the other side is.
    """

    step: float
    beyond: float


def turning_point(
    balance: Balance,
    states: IntArray,
    visits: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    index: int,
    excess: float,
    allowed: BoolArray | None = None,
) -> TurningPoint:
    """Where a policy that is best now changes sides, about.

    Parameters
    ----------
    balance
        The problem.
    states, visits
        The live states that the policy goes to, ascending, and how often it visits every live state.
    values
        The costs to go from every live state, a column for each cost.
    weights
        Those of the costs, the primary first, under which the policy is best.
    index
        The constraint whose multiplier is moved.
    excess
        By how much the policy breaks its bound: below zero if it keeps it, and then the multiplier falls.
    allowed
        Mask over rows; None allows all.
    """
    rows: IntArray | slice
    if 2 * len(states) > balance.num_live:
        # Most of the states: the product of all rows takes no longer than that of some.
        states, rows, begins = np.arange(balance.num_live), slice(None), balance.row_start[:-1]
        counts = np.diff(balance.row_start)
        reduced = balance.costs.T - balance.matrix @ values
    else:
        firsts = balance.row_start[states]
        counts = balance.row_start[states + 1] - firsts
        begins = np.cumsum(counts) - counts
        rows = np.repeat(firsts - begins, counts) + np.arange(int(counts.sum()))
        reduced = balance.costs[:, rows].T - balance.times(rows, values)
    moves = reduced[:, 1 + index] if excess < 0.0 else -reduced[:, 1 + index]
    helps = moves > 0.0
    if allowed is not None:
        helps &= allowed[rows]
    steps = np.full(len(moves), inf)
    steps[helps] = np.maximum(reduced[helps] @ weights, 0.0) / moves[helps]
    first = np.minimum.reduceat(steps, begins)
    at_once = steps <= np.repeat(first, counts) * (1.0 + TIED)
    moved = visits[states] * np.maximum.reduceat(np.where(at_once & helps, moves, 0.0), begins)
    order = np.argsort(first, kind="stable")
    total = np.cumsum(moved[order])
    place = int(np.searchsorted(total, abs(excess)))
    if place == len(order) or first[order[place]] == inf:
        return TurningPoint(inf, 0.0)
    return TurningPoint(float(first[order[place]]), float(total[place] - abs(excess)))
