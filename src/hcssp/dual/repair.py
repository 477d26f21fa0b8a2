"""Good incumbents from near misses: repair what breaks a bound, fill the budget of what does not.

Both look at the policies one switch away: taking another row in one state changes every expected cost by
about the visits of the state times the row's reduced cost. The most promising switches are evaluated
exactly; the best one is made, and the search goes on from there. What comes out is a policy with exactly
known costs, never a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import ImproperPolicy
from hcssp.numerics import is_feasible, tolerated
from hcssp.ssp.balance import Balance
from hcssp.ssp.system import EXACT, System

MAX_EVALUATED_SWITCHES = 4
"""So many switches are evaluated exactly in one round."""

NEGATIVE_VALUE_TOLERANCE = 1e-6
"""A policy with a value below zero by more than this, relative to one plus the largest, is taken for one that
never ends: its system is singular, and rounding has hidden it. Incumbents are evaluated anew anyway."""

GAIN_TOLERANCE = 1e-12
"""A switch is cheaper only if it saves more than this, relative to one plus the cost."""

MIN_RELIEF = 1e-12
"""A switch that lowers the excess, squared, by no more than this does not help; MIN_COST is what a switch
without cost counts as, so that the one with the most relief comes first."""
MIN_COST = 1e-12

SECOND_CHOICE = 1e12
"""Added to the merit of switches that only help, so that those that repair a policy at once come first."""


@dataclass(eq=False)
class Part:
    """An activity as it stands in a policy of the whole; a flat problem is one part executed once.

    Attributes
    ----------
    counts
        Pairs of a constraint and the part's own cost that it counts.
    executions
        How often the part is executed, in expectation.
    """

    balance: Balance
    system: System
    counts: Sequence[tuple[int, int]]
    executions: float
    rows: IntArray
    values: FloatArray
    visits: FloatArray
    changed: bool = False
    _effects: FloatArray | None = None

    def take(self, rows: IntArray, values: FloatArray) -> None:
        """Go on from the policy `rows`, whose values are known."""
        self.rows, self.values, self.changed = rows, values, True
        self.visits = self.system.visits(rows)
        self._effects = None

    def effects(self, num_constraints: int) -> FloatArray:
        """By how much each row, taken instead of its state's, changes the whole's costs; about."""
        if self._effects is None:
            self._effects = self._estimate(num_constraints)
        return self._effects

    def _estimate(self, num_constraints: int) -> FloatArray:
        balance = self.balance
        reduced = balance.costs.T - balance.matrix @ self.values
        weight = (self.executions * self.visits)[balance.row_state]
        effects = np.zeros((balance.num_rows, 1 + num_constraints))
        effects[:, 0] = weight * reduced[:, 0]
        for constraint, own in self.counts:
            effects[:, 1 + constraint] += weight * reduced[:, own]
        return effects

    def switched(self, row: int) -> tuple[IntArray, FloatArray, FloatArray] | None:
        """The policy with `row` taken in its state: rows, values, change of own costs; None if improper."""
        rows = self.rows.copy()
        rows[self.balance.row_state[row]] = row
        try:
            values = self.system.values(rows, EXACT)
        except ImproperPolicy:
            return None
        least, largest = np.min(values), np.max(np.abs(values))
        if not np.isfinite(largest) or least < -NEGATIVE_VALUE_TOLERANCE * largest:
            return None
        return rows, values, self._change(values)

    def _change(self, values: FloatArray) -> FloatArray:
        """By how much the costs of one execution change with the values of the states."""
        change: FloatArray = self.balance.initial @ (values - self.values)
        return change


def improve(parts: Sequence[Part], costs: FloatArray, bounds: FloatArray, rounds: int) -> FloatArray | None:
    """Switch rows of `parts`, in place, to a cheaper feasible policy; None if none was found.

    Parameters
    ----------
    parts
        What may be switched; those with ``changed`` set afterwards have new rows.
    costs, bounds
        The whole policy's expected costs, the primary first, and the constraints' bounds.
    rounds
        How many switches are made at most.

    Returns
    -------
    The costs of the best feasible policy met, which `parts` then hold.
    """
    found = costs if is_feasible(costs, bounds) else None
    for _ in range(rounds):
        step = _best_switch(parts, costs, bounds, repairing=found is None)
        if step is None:
            break
        part, rows, values, costs = step
        part.take(rows, values)
        if is_feasible(costs, bounds):
            found = costs
    return found


def _best_switch(
    parts: Sequence[Part], costs: FloatArray, bounds: FloatArray, repairing: bool
) -> tuple[Part, IntArray, FloatArray, FloatArray] | None:
    effects = [part.effects(len(bounds)) for part in parts]
    merit = [_merit(each, part, costs, bounds, repairing) for each, part in zip(effects, parts, strict=True)]
    candidates: list[tuple[float, int, int]] = []
    for index, values in enumerate(merit):
        few = min(MAX_EVALUATED_SWITCHES, len(values))
        rows = np.argpartition(values, few - 1)[:few] if few else ()
        candidates.extend((float(values[row]), index, int(row)) for row in rows if np.isfinite(values[row]))
    best = None
    for _, index, row in sorted(candidates)[:MAX_EVALUATED_SWITCHES]:
        part = parts[index]
        switched = part.switched(row)
        if switched is None:
            continue
        new_rows, new_values, change = switched
        after = costs.copy()
        after[0] += part.executions * change[0]
        for constraint, own in part.counts:
            after[1 + constraint] += part.executions * change[own]
        if _acceptable(after, costs, bounds, repairing) and (best is None or after[0] < best[3][0]):
            best = (part, new_rows, new_values, after)
    return best


def _merit(
    effects: FloatArray, part: Part, costs: FloatArray, bounds: FloatArray, repairing: bool
) -> FloatArray:
    """The lower the better; ``inf`` for what is not to be tried."""
    bounded = np.flatnonzero(np.isfinite(bounds))
    room = bounds[bounded] - costs[1:][bounded]
    change = effects[:, 1:][:, bounded]
    fits = np.all(change <= tolerated(bounds[bounded]) - costs[1:][bounded], axis=1)
    visited = part.visits[part.balance.row_state] > 0.0
    merit = np.where(fits & visited, effects[:, 0], np.inf)
    merit[part.rows] = np.inf
    if not repairing:
        merit[effects[:, 0] >= -GAIN_TOLERANCE * abs(costs[0])] = np.inf
    elif not np.isfinite(merit).any():
        # No single switch repairs it: the largest reduction of the excess for its cost comes first.
        over = np.maximum(-room, 0.0)
        relief = -(change @ over)
        helps = visited & (relief > MIN_RELIEF)
        ratio = np.maximum(effects[:, 0], MIN_COST) / np.where(helps, relief, 1.0)
        merit = np.where(helps, ratio + SECOND_CHOICE, np.inf)
        merit[part.rows] = np.inf
    return merit


def _acceptable(after: FloatArray, before: FloatArray, bounds: FloatArray, repairing: bool) -> bool:
    if not repairing:
        return is_feasible(after, bounds) and after[0] < before[0] - GAIN_TOLERANCE * abs(before[0])
    bounded = np.isfinite(bounds)
    over = np.maximum(after[1:][bounded] - bounds[bounded], 0.0).sum()
    return bool(over < np.maximum(before[1:][bounded] - bounds[bounded], 0.0).sum())
