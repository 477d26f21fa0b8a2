"""A part of a policy that may be switched: what another row in one of its states would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.switch_sets import Couplings
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import EXACT, System

NEGATIVE_VALUE_TOLERANCE = 1e-6
"""A policy with a value below zero by more than this, relative to one plus the largest, is taken for one that
never ends: its system is singular, and rounding has hidden it. Incumbents are evaluated anew anyway."""

NOTICED = 1e-11
"""What changes no cost by more than this share of it fills no budget."""


@dataclass(eq=False)
class Part:
    """An activity as it stands in a policy of the whole; a flat problem is one part executed once.

    Attributes
    ----------
    counts
        Pairs of a constraint and the part's own cost that it counts.
    executions
        How often the part is executed, in expectation.
    alike
        A part with the same plan that counts the same, if there is one: what it tells need not be worked out
        again for as long as neither is changed.
    """

    balance: Balance
    system: System
    counts: Sequence[tuple[int, int]]
    executions: float
    rows: IntArray
    values: FloatArray
    visits: FloatArray
    changed: bool = False
    alike: Part | None = None
    _effects: FloatArray | None = None
    _useful: tuple[IntArray, FloatArray] | None = None

    def take(self, rows: IntArray, values: FloatArray) -> None:
        """Go on from the policy `rows`, whose values are known."""
        self.rows, self.values, self.changed = rows, values, True
        self.visits = self.system.visits(rows)
        self._effects = self._useful = None

    def useful(self, costs: FloatArray, limited: IntArray) -> tuple[IntArray, FloatArray]:
        """The switches that save something: their rows and effects.

        Parameters
        ----------
        costs
            Those of the whole policy; what changes none of them noticeably is left out.
        limited
            The constraints with a bound.
        """
        if self._useful is None:
            effects = self.effects(len(costs) - 1)
            # What costs more and spares nothing is of no use, not even beside another switch.
            usable = (effects[:, 0] < 0.0) | (effects[:, 1:][:, limited] < 0.0).any(axis=1)
            usable[self.rows] = False
            rows = np.flatnonzero(usable)
            chosen = effects[rows]
            noticed = np.any(np.abs(chosen) > NOTICED * np.abs(costs), axis=1)
            self._useful = rows[noticed], chosen[noticed]
        return self._useful

    def effects(self, num_constraints: int) -> FloatArray:
        """By how much each row, taken instead of its state's, changes the whole's costs; about."""
        if self._effects is None:
            self._effects = self._estimate(num_constraints)
        return self._effects

    def _estimate(self, num_constraints: int) -> FloatArray:
        if self.alike is not None and self.alike.rows is self.rows:
            again: FloatArray = self.executions / self.alike.executions * self.alike.effects(num_constraints)
            return again
        balance = self.balance
        reduced = balance.costs.T - balance.matrix @ self.values
        weight = (self.executions * self.visits)[balance.row_state]
        effects = np.zeros((balance.num_rows, 1 + num_constraints))
        effects[:, 0] = weight * reduced[:, 0]
        for constraint, own in self.counts:
            effects[:, 1 + constraint] += weight * reduced[:, own]
        return effects

    def couplings(self, taken: IntArray, wanted: IntArray, num_constraints: int) -> Couplings | None:
        """How switches to the rows `taken` act on one another; None where that is not quickly known.

        Parameters
        ----------
        taken
            The rows.
        wanted
            Which of the whole's costs are wanted, the primary first.
        num_constraints
            How many constraints there are.
        """
        answers = self.system.answers(self.rows, taken)
        if answers is None:
            return None
        own = self.balance.costs.take(taken, axis=1).T - self.balance.times(taken, self.values)
        reduced = np.zeros((len(taken), 1 + num_constraints))
        reduced[:, 0] = own[:, 0]
        for constraint, counted in self.counts:
            reduced[:, 1 + constraint] += own[:, counted]
        visits = self.executions * self.visits[self.balance.row_state[taken]]
        return Couplings(answers, visits, reduced[:, wanted])

    def switched(self, taken: Sequence[int]) -> tuple[IntArray, FloatArray, FloatArray] | None:
        """The policy with `taken` in their states: rows, values, change of own costs; None if improper."""
        rows = self.rows.copy()
        rows[self.balance.row_state[taken]] = taken
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
