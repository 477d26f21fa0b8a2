"""The predicted breakpoint: at which multiplier of one bound the best policy changes sides, about.

A policy that is best at some multiplier breaks the bound, or leaves some of it. As the multiplier is raised,
or lowered, states change to other rows one after the other: a state at the multiplier at which the first of
its other rows costs no more than its own. Each change moves the bounded cost by about the visits of the state
times the row's reduced cost. Their sum, in this order, predicts where the bound is met. Near the answer the
prediction is mostly right, so that the dual of a region, whose multiplier is near that of a larger one, takes
one or two solves.

No bound rests on it: the dual is solved at every multiplier. A wrong prediction costs time only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import Prediction, V
from hcssp.ssp.balance import Balance

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent


@dataclass(frozen=True)
class PredictionParameters:
    """What steers the prediction.

    Attributes
    ----------
    max_changes
        The number of changes of each activity's plan that are kept, the first ones.
    tie
        Multipliers this close, relatively, are one.
    max_steps
        The number of multipliers of an ascent that are predicted. The intersection of lines, which always
        leads to the end, follows.
    overshoot
        The share of what the ascent may leave open that may be lost by going beyond the breakpoint, so that
        policies on both sides are known.
    overshoot_growth
        The factor by which the overshoot grows each time that the policy stays on its side.
    max_overshoot
        The largest overshoot, as a share of the multiplier.
    past_cutoff
        The step to where a line reaches the cutoff is longer by this share, so that rounding does not matter.
    """

    max_changes: int = 32
    tie: float = 1e-9
    max_steps: int = 2
    overshoot: float = 0.1
    overshoot_growth: float = 16.0
    max_overshoot: float = 0.04
    past_cutoff: float = 1e-3


DEFAULT_PREDICTION = PredictionParameters()


class Breakpoint(NamedTuple):
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


class PlanChanges(NamedTuple):
    """The first changes of an activity's plan as the price of its counted cost falls, or rises.

    Attributes
    ----------
    prices
        At which a state changes its row.
    moved
        By how much that moves the counted cost of one execution.
    rows
        The new rows of the states.
    """

    prices: FloatArray
    moved: FloatArray
    rows: IntArray


def plan_changes(
    balance: Balance,
    values: FloatArray,
    visits: FloatArray,
    own: IntArray,
    index: int,
    falls: bool,
    most: int | None = None,
) -> PlanChanges:
    """The first changes of a plan that is best at the present price, whatever that is.

    A row takes the place of the plan's where its reduced cost is zero, and that is linear in the price.

    Parameters
    ----------
    balance
        The activity.
    values, visits
        The plan's costs-to-go of every live state, a column for each cost, and the expected visits.
    own
        The plan's rows.
    index
        The counted cost.
    falls
        Whether the price falls.
    most
        The number of changes that are wanted; None for all.
    """
    cost, use = (
        balance.reduced_costs(balance.costs[each], np.ascontiguousarray(values[:, each]))
        for each in (0, index)
    )
    moves = use if falls else -use
    helps = moves > 0.0
    # What rounding has left of the plan's own rows.
    helps[own] = False
    # The price of the change, or its negative where prices fall: either way the first one is the least.
    changes = np.full(len(moves), inf)
    with np.errstate(over="ignore"):
        np.divide(cost, moves, out=changes, where=helps)
    first = balance.least_of_state(changes)
    states = np.flatnonzero((first < inf) & (visits > 0.0))
    if most is not None and len(states) > most:
        states = np.sort(states[np.argpartition(first[states], most)[:most]])
    rows = balance.least_rows(changes, first, states)
    return PlanChanges(-first[states] if falls else first[states], visits[states] * moves[rows], rows)


def breakpoint_of_plans(
    plans: Sequence[tuple[float, PlanChanges, frozenset[int]]], price: float, excess: float
) -> Breakpoint:
    """Where plans that are best now change sides, about.

    Parameters
    ----------
    plans
        For each activity the expected executions, the changes of its plan, and the rows it must not take.
    price
        At which the plans are best.
    excess
        By how much all of them together break the bound: below zero if they keep it, and then the price
        falls.
    """
    prices, moved = [np.zeros(0)], [np.zeros(0)]
    for executions, changes, forbidden in plans:
        if not len(changes.prices):
            continue
        by = executions * changes.moved
        if forbidden:
            by[[row in forbidden for row in changes.rows.tolist()]] = 0.0
        prices.append(changes.prices)
        moved.append(by)
    away = np.concatenate(prices) - price
    steps = np.maximum(-away if excess < 0.0 else away, 0.0)
    order = np.argsort(steps, kind="stable")
    total = np.cumsum(np.concatenate(moved)[order])
    place = int(np.searchsorted(total, abs(excess)))
    if place == len(order) or steps[order[place]] == inf:
        return Breakpoint(inf, 0.0)
    return Breakpoint(float(steps[order[place]]), float(total[place] - abs(excess)))


class PredictedSteps(Generic[V]):
    """The next multipliers of an ascent, from predicted breakpoints.

    A step goes a little beyond the breakpoint, so that policies on both sides are known, and not beyond where
    the present policy's line reaches the cutoff: before that nothing can be pruned, and there it is seen
    whether anything can.

    Parameters
    ----------
    prediction
        The oracle's strategy.
    ascent, index, bound
        What is known of the region, the constraint whose multiplier is looked for, and its bound.
    """

    def __init__(self, prediction: Prediction[V], ascent: Ascent[V], index: int, bound: float) -> None:
        self._prediction, self._ascent, self._index, self._bound = prediction, ascent, index, bound
        self._left = DEFAULT_PREDICTION.max_steps
        self._stayed = 0
        self._was_broken: bool | None = None

    def after(self, met: V, multiplier: float) -> float | None:
        """The next multiplier after one at which `met` is the best policy; None if none is predicted."""
        excess = float(met.costs[1 + self._index]) - self._bound
        if not self._left or (excess <= 0.0 and multiplier == 0.0):
            return None
        self._left -= 1
        step, cutoff = self._step(met, multiplier, excess), self._ascent.cutoff
        if cutoff < inf and excess != 0.0:
            value = float(met.costs[0]) + multiplier * excess
            step = min(step, (1.0 + DEFAULT_PREDICTION.past_cutoff) * (cutoff - value) / abs(excess))
        if not DEFAULT_PREDICTION.tie * multiplier < step < inf:
            return None
        return multiplier + step if excess > 0.0 else max(multiplier - step, 0.0)

    def _step(self, met: V, multiplier: float, excess: float) -> float:
        """How far it is to the other side, and a little more; ``inf`` if that is unknown."""
        ascent, parameters = self._ascent, DEFAULT_PREDICTION
        self._stayed = self._stayed + 1 if (excess > 0.0) == self._was_broken else 0
        self._was_broken = excess > 0.0
        prices = np.zeros(len(ascent.oracle.bounds))
        prices[self._index] = multiplier
        found = self._prediction.breakpoint(met, prices, ascent.region, self._index, excess)
        if found is None or found.step == inf:
            return inf
        loss = parameters.overshoot * ascent.tolerance(ascent.parameters.cutoff_share)
        farthest = parameters.max_overshoot * multiplier
        further = min(loss / found.beyond, farthest) if found.beyond > 0.0 else farthest
        return found.step + parameters.overshoot_growth**self._stayed * further
