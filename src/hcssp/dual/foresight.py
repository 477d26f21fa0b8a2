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

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.ssp.balance import Balance

MAX_TURNS = 32
"""So many changes of each plan are looked at; where more of them would be made, there is no guess."""

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
        rows, begins, counts = balance.rows_of(states)
        reduced = balance.costs.take(rows, axis=1).T - balance.times(rows, values)
    moves = reduced[:, 1 + index] if excess < 0.0 else -reduced[:, 1 + index]
    helps = moves > 0.0
    if allowed is not None:
        helps &= allowed[rows]
    steps = np.full(len(moves), inf)
    steps[helps] = np.maximum(reduced[helps] @ weights, 0.0) / moves[helps]
    first = np.minimum.reduceat(steps, begins)
    at_once = steps <= np.repeat(first, counts) * (1.0 + TIED)
    moved = visits[states] * np.maximum.reduceat(np.where(at_once & helps, moves, 0.0), begins)
    return _reached(first, moved, excess)


def _reached(steps: FloatArray, moved: FloatArray, excess: float) -> TurningPoint:
    """Where changes after some `steps` that have `moved` so much of the bounded cost make up for `excess`."""
    order = np.argsort(steps, kind="stable")
    total = np.cumsum(moved[order])
    place = int(np.searchsorted(total, abs(excess)))
    if place == len(order) or steps[order[place]] == inf:
        return TurningPoint(inf, 0.0)
    return TurningPoint(float(steps[order[place]]), float(total[place] - abs(excess)))


class Turns(NamedTuple):
    """The first changes of an activity's plan as the price of its counted cost falls, or rises.

    Attributes
    ----------
    prices
        At which a state changes its row.
    moved
        By how much that moves the counted cost of one execution.
    rows
        What the states change to.
    """

    prices: FloatArray
    moved: FloatArray
    rows: IntArray


def turns_of(
    balance: Balance, values: FloatArray, visits: FloatArray, own: IntArray, index: int, falls: bool
) -> Turns:
    """The first changes of a plan that is best at the present price, whatever that is.

    A row takes the place of the plan's where its reduced cost is nought, and that is linear in the price.

    Parameters
    ----------
    balance
        The activity.
    values, visits
        The plan's costs to go from every live state, a column for each cost, and how often it goes there.
    own
        The plan's rows.
    index
        The counted cost.
    falls
        Whether the price falls.
    """
    cost, use = (
        balance.reduced_costs(balance.costs[each], np.ascontiguousarray(values[:, each]))
        for each in (0, index)
    )
    moves = use if falls else -use
    helps = moves > 0.0
    # What rounding has left of the plan's own rows.
    helps[own] = False
    # The price of the turn, or where it falls that below zero: either way the first one is the least.
    turns = np.full(len(moves), inf)
    with np.errstate(over="ignore"):
        np.divide(cost, moves, out=turns, where=helps)
    first = balance.least_of_state(turns)
    states = np.flatnonzero((first < inf) & (visits > 0.0))
    if len(states) > MAX_TURNS:
        states = np.sort(states[np.argpartition(first[states], MAX_TURNS)[:MAX_TURNS]])
    rows = balance.least_rows(turns, first, states)
    return Turns(-first[states] if falls else first[states], visits[states] * moves[rows], rows)


def turning_point_of(
    parts: Sequence[tuple[float, Turns, frozenset[int]]], price: float, excess: float
) -> TurningPoint:
    """As :func:`turning_point`, for a procedure of activities with known turns.

    Parameters
    ----------
    parts
        How often each activity is executed, how its plan changes, and which rows it must not take.
    price
        At which the plans are best.
    excess
        By how much the procedure breaks its bound: below zero if it keeps it, and then the price falls.
    """
    prices, moved = [np.zeros(0)], [np.zeros(0)]
    for executions, turns, forbidden in parts:
        if not len(turns.prices):
            continue
        by = executions * turns.moved
        if forbidden:
            by[[row in forbidden for row in turns.rows.tolist()]] = 0.0
        prices.append(turns.prices)
        moved.append(by)
    away = np.concatenate(prices) - price
    return _reached(np.maximum(-away if excess < 0.0 else away, 0.0), np.concatenate(moved), excess)
