"""The procedure as a small SSP over event states whose costs are the activities' values.

Procedures are small (events, not cells), so policy iteration works on dense arrays, warm-started from the
last answer; a node of a search then spends microseconds here.

It stands beside :class:`hcssp.ssp.policy_iteration.PolicyIteration` for speed alone: on the 14 events of the
evacuation it takes a third of the time (50 against 146 microseconds, warm), and it is asked so often that
the difference would be a tenth of a whole run. It shares the tolerance of switches and the searches for a
proper start, and has no certificate of its own: whoever takes a bound from its value allows for rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards
from hcssp.errors import ImproperPolicy
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.scalar_problem import SWITCH_TOLERANCE

MAX_ITERATIONS = 1_000

MAX_CHAINS = 1_000
"""So many choices are kept with their factorised chains; then all are dropped."""


class _Chain(NamedTuple):
    """The Markov chain of some choices: where they lead, factorised, and how often."""

    states: IntArray
    chosen: IntArray
    factors: FloatArray
    pivots: IntArray
    visits: FloatArray
    executions: FloatArray


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
        moves = np.zeros((self.num_rows, self.num_states))
        for row, choice in enumerate(flattening.event_row_choice):
            for outcome in problem.choices[int(choice)].outcomes:
                moves[row, flattening.event_state(outcome.event)] += outcome.probability
                if outcome.runs is not None:
                    self.runs[row, outcome.runs] += outcome.probability
        goals = np.arange(self.num_states) == self.end
        self._search = Backwards(csr_array(moves), self.row_state, goals)
        # What happens at the end is no concern of the values.
        self._moves: FloatArray = np.where(goals, 0.0, moves)
        self._live: IntArray = np.flatnonzero(~goals)
        self._last: IntArray | None = None
        self._chains: dict[bytes, _Chain] = {}

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
        for _ in range(MAX_ITERATIONS):
            chain = self._chain(rows)
            value = np.zeros(self.num_states)
            value[chain.states], _ = dgetrs(chain.factors, chain.pivots, costs[chain.chosen])
            gain = np.where(safe, costs + self._moves @ value - value[self.row_state], np.inf)
            best = np.minimum.reduceat(gain, self.row_start[self._live])
            improving = self._live[best < -SWITCH_TOLERANCE * (1.0 + np.abs(value[self._live]))]
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
        return self._chain(rows).visits

    def executions(self, rows: IntArray) -> FloatArray:
        """Expected executions of every activity under the choices `rows`."""
        return self._chain(rows).executions

    def _chain(self, rows: IntArray) -> _Chain:
        """The Markov chain of the choices `rows`; a search keeps coming back to the same few."""
        key = rows.tobytes()
        known = self._chains.get(key)
        if known is not None:
            return known
        states = np.flatnonzero(rows != NO_ROW)
        chosen = rows[states]
        system = np.eye(len(states)) - self._moves[np.ix_(chosen, states)]
        factors, pivots, singular = dgetrf(system)
        if singular:
            raise ImproperPolicy("the choices do not reach the end almost surely")
        initial = (states == self.start).astype(np.float64)
        visits = np.zeros(self.num_states)
        visits[states], _ = dgetrs(factors, pivots, initial, trans=1)
        visits = np.maximum(visits, 0.0)
        if len(self._chains) > MAX_CHAINS:
            self._chains.clear()
        executions = visits[states] @ self.runs[chosen]
        self._chains[key] = _Chain(states, chosen, factors, pivots, visits, executions)
        return self._chains[key]

    def _start(self, usable: BoolArray) -> tuple[IntArray | None, BoolArray]:
        """A proper choice everywhere it is possible, and the rows that keep out of dead ends."""
        last = self._last
        if last is not None and usable[last[last >= 0]].all() and (last[self._live] >= 0).all():
            return last, usable
        sure = self._search.almost_sure(usable)
        if not sure.states[self.start]:
            return None, usable
        rows = np.full(self.num_states, NO_ROW, dtype=np.int64)
        # Assigned from the last to the first, so that the first of a state's rows stays.
        closer = np.flatnonzero(self._search.approaching(sure.rows))[::-1]
        rows[self.row_state[closer]] = closer
        return rows, sure.rows
