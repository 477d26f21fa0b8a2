"""The procedure as a small SSP over event states whose costs are the activities' values.

Procedures are small (events, not cells), so policy iteration works on dense arrays, warm-started from the
last answer; a node of a search then spends microseconds here.

It stands beside :class:`hcssp.ssp.policy_iteration.PolicyIteration` for speed alone: on the 14 events of the
evacuation it takes a third of the time (50 against 146 microseconds, warm), and it is asked so often that
the difference would be a tenth of a whole run. It shares the tolerance of switches, the searches for a proper
start and the certificate: its bound holds whatever the rounding, see :mod:`hcssp.ssp.potential`.

As in :mod:`hcssp.ssp.balance`, an event that may repeat itself is counted from one departure to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.potential import ROUNDINGS, Certifier, Steps, divided, lowered
from hcssp.ssp.scalar_problem import tie

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
        lost = np.zeros(self.num_rows, dtype=np.bool_)
        for row, choice in enumerate(flattening.event_row_choice):
            for outcome in problem.choices[int(choice)].outcomes:
                if flattening.is_entered(outcome.event):
                    moves[row, flattening.event_state(outcome.event)] += outcome.probability
                else:
                    lost[row] = True
                if outcome.runs is not None:
                    self.runs[row, outcome.runs] += outcome.probability
        goals = np.arange(self.num_states) == self.end
        self._search = Backwards(csr_array(moves), self.row_state, goals)
        self._live: IntArray = np.flatnonzero(~goals)
        moves[np.arange(self.num_rows), self.row_state] = 0.0
        leaving = moves.sum(axis=1)
        # An activity that cannot be ended leads nowhere, and so does a choice that may run it.
        self._departs: BoolArray = (leaving > 0.0) & ~lost
        self._leaving: FloatArray = np.where(leaving > 0.0, leaving, 1.0)
        # What happens at the end is no concern of the values.
        self._moves: FloatArray = np.where(goals, 0.0, moves) / self._leaving[:, np.newaxis]
        self._lengths = _lengths(self._moves, self._departs, self.row_start[self._live], self._live)
        terms = int(np.max(np.count_nonzero(self.runs, axis=1), initial=0))
        self._rounding = (2 * self.num_states + terms + 16) * ROUNDINGS
        self._certifier = Certifier(
            _steps(moves, self.row_state, goals), (self._live == self.start).astype(np.float64), terms
        )
        self._last: IntArray | None = None
        self._chains: dict[bytes, _Chain] = {}

    def rows_that_run(self, activities: BoolArray) -> BoolArray:
        """The event rows that may run one of the given activities."""
        rows: BoolArray = np.any(self.runs[:, activities] > 0.0, axis=1)
        return rows

    def can_do_without(self, activities: BoolArray) -> bool:
        """Whether the end can be reached almost surely although the given activities are never run."""
        rows = self._departs & ~self.rows_that_run(activities)
        return bool(self._search.almost_sure(rows).states[self.start])

    def minimise(
        self, row_costs: FloatArray, allowed: BoolArray | None = None
    ) -> tuple[IntArray, float] | None:
        """The best choice at every event state (-1 at the end), and a lower bound on the value of the start.

        None if the allowed rows cannot reach the end almost surely from the start.

        Parameters
        ----------
        row_costs
            A lower bound on what each row costs, not negative; ``inf`` where it cannot be taken.
        allowed
            The rows of the region; None for all.
        """
        usable = self._departs & np.isfinite(row_costs)
        if allowed is not None:
            usable &= allowed
        rows, safe = self._start(usable)
        if rows is None:
            return None
        step_costs = np.where(safe, row_costs, 0.0)
        costs = step_costs / self._leaving
        for _ in range(MAX_ITERATIONS):
            chain = self._chain(rows)
            value = np.zeros(self.num_states)
            value[chain.states], _ = dgetrs(chain.factors, chain.pivots, costs[chain.chosen])
            own = value[self.row_state]
            gain = np.where(safe, costs + self._moves @ value - own, np.inf)
            best = np.minimum.reduceat(gain, self.row_start[self._live])
            improving = self._live[best < -tie(value[self._live])]
            if len(improving) == 0:
                break
            rows = rows.copy()
            for state in improving:
                first, last = self.row_start[state], self.row_start[state + 1]
                rows[state] = first + int(np.argmin(gain[first:last]))
        else:
            raise OutOfPrecision(f"the procedure was not solved within {MAX_ITERATIONS} iterations")
        self._last = rows
        if self._lengths is not None and value.min() >= 0.0:
            proven = lowered(value, self._lengths, gain, own, self._rounding)
            return rows, divided(proven[[self.start]], 0.0, np.ones(1)).bound
        return rows, self._certifier.certify(step_costs, value[self._live], ~safe).bound

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
        if singular or not self._departs[chosen].all():
            raise ImproperPolicy("the choices do not reach the end almost surely")
        initial = (states == self.start).astype(np.float64)
        visits = np.zeros(self.num_states)
        departures, _ = dgetrs(factors, pivots, initial, trans=1)
        visits[states] = np.maximum(departures, 0.0) / self._leaving[chosen]
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


def _steps(moves: FloatArray, row_state: IntArray, goals: BoolArray) -> Steps:
    """The steps of the event rows to other events; events are numbered without the end."""
    rows, heads = np.nonzero(moves)
    live = np.cumsum(~goals)
    number = np.where(goals, live[-1], live - 1)
    counts = np.bincount(rows, minlength=len(moves))
    row_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return Steps(number[row_state], row_start, number[heads], moves[rows, heads])


def _lengths(
    moves: FloatArray, departs: BoolArray, first_rows: IntArray, live: IntArray
) -> FloatArray | None:
    """For each event state the most choices to come, in expectation; None if they may go on for ever."""
    lengths = np.zeros(moves.shape[1])
    for _ in range(MAX_ITERATIONS):
        through = np.where(departs, 1.0 + moves @ lengths, 0.0)
        longer = lengths.copy()
        longer[live] = np.maximum.reduceat(through, first_rows)
        if np.all(longer <= lengths + 0.5):
            return longer
        lengths = longer
    return None
