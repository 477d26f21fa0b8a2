"""The procedure as a small SSP over event states whose costs are the activities' values.

Procedures are small (events, not cells), so policy iteration works on dense arrays, warm-started from the
last answer; a node of a search then spends microseconds here.
"""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.hierarchy.flattening import Flattening

MAX_ITERATIONS = 1_000
MAX_KEPT = 1_000


class ProcedureSolver:
    """Chooses at every event, given what every activity costs.

    Parameters
    ----------
    flattening
        The layout of a separable problem: one state for each event.

    Attributes
    ----------
    runs
        Shape ``(num_event_rows, num_activities)``: how often each event row runs each activity.
    """

    def __init__(self, flattening: Flattening) -> None:
        problem = flattening.problem
        self.num_states = flattening.num_event_states
        self.num_rows = flattening.num_event_rows
        self.start, self.end = flattening.start, flattening.end
        self.row_start = flattening.event_row_start
        self.row_state: IntArray = np.repeat(np.arange(self.num_states), np.diff(self.row_start))
        self.runs: FloatArray = np.zeros((self.num_rows, problem.num_activities))
        self._moves: FloatArray = np.zeros((self.num_rows, self.num_states))
        for row, choice in enumerate(flattening.event_row_choice):
            for outcome in problem.choices[int(choice)].outcomes:
                target = flattening.event_state(outcome.event)
                if target != self.end:
                    self._moves[row, target] += outcome.probability
                if outcome.runs is not None:
                    self.runs[row, outcome.runs] += outcome.probability
        self._live: IntArray = np.flatnonzero(np.arange(self.num_states) != self.end)
        self._last: IntArray | None = None
        # A search keeps coming back to the same few choices.
        self._executions: dict[bytes, FloatArray] = {}

    def minimise(
        self, row_costs: FloatArray, allowed: BoolArray | None = None
    ) -> tuple[IntArray, float] | None:
        """The best choice at every event state (-1 at the end) and the value of the start.

        None if the allowed rows cannot reach the end almost surely from the start.
        """
        usable = np.isfinite(row_costs) if allowed is None else allowed & np.isfinite(row_costs)
        rows, safe = self._start(usable)
        if rows is None:
            return None
        costs = np.where(safe, row_costs, 0.0)
        alive = rows >= 0
        states = np.flatnonzero(alive)
        for _ in range(MAX_ITERATIONS):
            chosen = rows[states]
            system = np.eye(len(states)) - self._moves[np.ix_(chosen, states)]
            value = np.zeros(self.num_states)
            value[states] = np.linalg.solve(system, costs[chosen])
            gain = np.where(safe, costs + self._moves @ value - value[self.row_state], np.inf)
            best = np.full(self.num_states, np.inf)
            np.minimum.at(best, self.row_state, gain)
            improving = np.flatnonzero(best < -1e-12 * (1.0 + np.abs(value)))
            if len(improving) == 0:
                self._last = rows
                return rows, float(value[self.start])
            rows = rows.copy()
            for state in improving:
                first, last = self.row_start[state], self.row_start[state + 1]
                rows[state] = first + int(np.argmin(gain[first:last]))
        raise RuntimeError(f"the procedure was not solved within {MAX_ITERATIONS} iterations")

    def visits(self, rows: IntArray) -> FloatArray:
        """Expected visits of every event state under the choices `rows`; the end counts as zero."""
        states = np.flatnonzero(rows >= 0)
        chosen = rows[states]
        system = np.eye(len(states)) - self._moves[np.ix_(chosen, states)]
        initial = (states == self.start).astype(np.float64)
        visits = np.zeros(self.num_states)
        visits[states] = np.linalg.solve(system.T, initial)
        return np.maximum(visits, 0.0)

    def executions(self, rows: IntArray) -> FloatArray:
        """Expected executions of every activity under the choices `rows`."""
        key = rows.tobytes()
        if key not in self._executions:
            if len(self._executions) > MAX_KEPT:
                self._executions.clear()
            states = np.flatnonzero(rows >= 0)
            self._executions[key] = self.visits(rows)[states] @ self.runs[rows[states]]
        return self._executions[key]

    def _start(self, usable: BoolArray) -> tuple[IntArray | None, BoolArray]:
        """A proper choice everywhere it is possible, and the rows that keep out of dead ends."""
        last = self._last
        if last is not None and usable[last[last >= 0]].all() and (last[self._live] >= 0).all():
            return last, usable
        safe = usable
        while True:
            rows = self._backwards(safe)
            lost = rows < 0
            lost[self.end] = False
            still = safe & ~(self._moves[:, lost] > 0.0).any(axis=1)
            if np.array_equal(still, safe):
                return (None if lost[self.start] else rows), safe
            safe = still

    def _backwards(self, usable: BoolArray) -> IntArray:
        """Rows that lead towards the end with positive probability, found from the end backwards."""
        rows = np.full(self.num_states, -1, dtype=np.int64)
        leaves = 1.0 - self._moves.sum(axis=1) > 1e-12
        done = np.zeros(self.num_states, dtype=np.bool_)
        done[self.end] = True
        while True:
            progress = usable & (leaves | (self._moves[:, done] > 0.0).any(axis=1)) & ~done[self.row_state]
            found = np.flatnonzero(progress)
            if len(found) == 0:
                return rows
            rows[self.row_state[found[::-1]]] = found[::-1]
            done[self.row_state[found]] = True
