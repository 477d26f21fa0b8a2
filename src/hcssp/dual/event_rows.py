"""What event rows lead to: values of choices, and the chain of events that a whole plan makes.

An event row enters doors of activities and, where nothing is run, other events. Given a plan for every
activity, the procedure is a Markov chain over its event states: an activity takes from a door to its exits
with the probabilities of its plan, and costs what it costs from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.door_layout import DoorLayout
from hcssp.dual.door_planner import DoorPlan
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import tie_of


class EventRow(NamedTuple):
    """Where one event row leads, and with which probabilities.

    Attributes
    ----------
    events, event_chances
        The events that are reached at once.
    entered
        For each activity that is run: its number, the places of its doors among all of its doors, and their
        probabilities.
    """

    events: IntArray
    event_chances: FloatArray
    entered: tuple[tuple[int, IntArray, FloatArray], ...]


class EventRows:
    """The event rows of a layout."""

    def __init__(self, layout: DoorLayout) -> None:
        self.layout = layout
        entered: list[list[tuple[int, IntArray, FloatArray]]] = [[] for _ in range(layout.num_event_rows)]
        for activity, moves in enumerate(layout.door_moves):
            for row in np.flatnonzero(np.diff(moves.indptr)).tolist():
                span = slice(moves.indptr[row], moves.indptr[row + 1])
                entered[row].append((activity, moves.indices[span], moves.data[span]))
        self.rows: list[EventRow] = []
        terms, moves = 1, layout.event_moves
        for row in range(layout.num_event_rows):
            span = slice(moves.indptr[row], moves.indptr[row + 1])
            events = moves.indices[span]
            self.rows.append(EventRow(events, moves.data[span], tuple(entered[row])))
            terms = max(terms, len(events) + sum(len(doors) for _, doors, _ in entered[row]))
        self._rounding = 1.0 - (2 * (terms + layout.num_costs) + 8) * ROUNDINGS

    def rounded_down(self, value: float) -> float:
        """No more than a sum of products with the entries of one row, whatever its rounding."""
        return value * self._rounding

    def prices(self, weights: FloatArray) -> FloatArray:
        """What each event row costs by itself under weights."""
        prices: FloatArray = weights @ self.layout.event_costs
        return prices

    def value(
        self, row: int, prices: FloatArray, values: FloatArray, levels: Sequence[FloatArray | None]
    ) -> float:
        """What an event row costs, and all that follows.

        Parameters
        ----------
        row
            The event row.
        prices, values, levels
            What event rows cost by themselves, and what events and the doors of activities are worth.
        """
        moves = self.rows[row]
        total = float(prices[row])
        if len(moves.events):
            total += float(moves.event_chances @ values[moves.events])
        for activity, doors, chances in moves.entered:
            level = levels[activity]
            if level is None:
                return np.inf
            total += float(chances @ level[doors])
        return total

    def best(
        self,
        event: int,
        prices: FloatArray,
        values: FloatArray,
        levels: Sequence[FloatArray | None],
        forbidden: frozenset[int],
    ) -> tuple[int, float]:
        """The best allowed row of an event and the least value, rounded down; none and ``inf`` if none ends.

        Of rows that are as good up to ties the first is taken, but no value that is told is above another.
        """
        best, least, chosen = np.inf, np.inf, NO_ROW
        span = self.layout.rows_of_event(event)
        for row in range(span.start, span.stop):
            if row in forbidden:
                continue
            value = self.value(row, prices, values, levels)
            if not isfinite(value):
                continue
            least = min(least, value)
            if value < best - tie_of(value):
                best, chosen = value, row
        return chosen, self.rounded_down(least) if chosen != NO_ROW else np.inf

    def step(self, row: int, plans: Sequence[DoorPlan | None]) -> tuple[FloatArray, dict[int, float]]:
        """What an event row costs until the next event under given plans, and which event comes next.

        Returns
        -------
        costs, chances
            One for each cost of the whole problem, and one for each event state that can be next.
        """
        layout, moves = self.layout, self.rows[row]
        costs: FloatArray = layout.event_costs[:, row].copy()
        chances = dict(zip(moves.events.tolist(), moves.event_chances.tolist(), strict=True))
        for activity, doors, shares in moves.entered:
            block, plan = layout.blocks[activity], plans[activity]
            if block is None or plan is None:
                raise RuntimeError(f"activity {activity} is run without a plan")
            from_doors = plan.entered(row, block.doors[doors], shares)
            costs += from_doors[: block.num_costs]
            ends = from_doors[block.num_costs :] if len(block.exits) > 1 else shares.sum(keepdims=True)
            for event, chance in zip(block.exits.tolist(), ends.tolist(), strict=True):
                if chance > 0.0:
                    chances[event] = chances.get(event, 0.0) + chance
        return costs, chances
