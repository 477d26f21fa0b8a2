r"""The events of a procedure as a Markov chain, and as a small SSP whose costs are the activities' values.

:class:`EventChain` evaluates given choices. Both kinds of procedures use it: where activities have one exit
its states are events that the choices alone lead to, where they have several the plans of activities decide,
too.

:class:`ProcedureSolver` finds the best choices of a procedure whose activities have one exit each. Most
procedures are small (events, not cells), so policy iteration works on dense arrays, warm-started from the
last answer; a node of a search then spends microseconds there. It stands beside
:class:`hcssp.ssp.policy_iteration.PolicyIteration` for speed alone: on the 14 events of the evacuation it
takes a third of the time (50 against 146 microseconds, warm), and a search calls it so often that the
difference would be a tenth of a whole run. It shares the tolerance of switches, the searches for a proper
start and the certificate: its bound holds whatever the rounding, see :mod:`hcssp.ssp.potential`.

As in :mod:`hcssp.ssp.balance`, an event that may repeat itself is counted from one departure to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf
from scipy.sparse import csc_array, csr_array, eye_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards
from hcssp.dual.oracle import own_bytes
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.evaluation.linear_systems import factorise
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.policy_evaluation import DenseFactors
from hcssp.ssp.potential import ROUNDINGS, Certifier, Steps, lowered, lowering
from hcssp.ssp.scalar_problem import tie


@dataclass(frozen=True)
class EventParameters:
    """How the events of a procedure are solved. No bound rests on it.

    Attributes
    ----------
    max_iterations
        The most policies that are evaluated, and the most rounds of other iterations.
    settled
        Expected visits have settled once none grows by more than this share in a round.
    max_chains, max_chain_states
        The maximum number of chains that are kept, and of their events together; then all are dropped.
    max_dense_entries
        A matrix with more entries is sparse: that is faster then and takes less memory.
    """

    max_iterations: int = 1_000
    settled: float = 1e-14
    max_chains: int = 1_000
    max_chain_states: int = 100_000
    max_dense_entries: int = 10_000


EVENTS = EventParameters()
"""The parameters of all procedures."""

NEVER = 1e300
"""In place of the gain of a row that cannot be taken: finite, so that no arithmetic with it is undefined, and
more than any row could cost."""

ENDLESS = "the choices do not reach the end almost surely"


def is_dense(num_rows: int, num_columns: int) -> bool:
    """Whether a matrix of the procedure is stored, and factorised, as a dense one."""
    return num_rows * num_columns <= EVENTS.max_dense_entries


class EventChain:
    """The Markov chain of some choices until the procedure ends, factorised.

    Parameters
    ----------
    states
        The states of the chain.
    shares
        For each state the probabilities of the next other state in the chain, given that it is left: a dense
        or a sparse matrix. They sum to less than one where the procedure may end next.
    leaving
        The probability to leave each state.
    initial
        The expected number of times that the procedure begins in each state.

    Attributes
    ----------
    visits
        Expected visits of each state.

    Raises
    ------
    ImproperPolicy
        If the choices do not end almost surely.
    """

    def __init__(
        self, states: IntArray, shares: FloatArray | SparseMatrix, leaving: FloatArray, initial: FloatArray
    ) -> None:
        self.states = states
        self._leaving = leaving
        self._factors: Any = None
        if not leaving.all():
            raise ImproperPolicy(ENDLESS)
        if isinstance(shares, np.ndarray) and len(states):
            lu, pivots, singular = dgetrf(np.eye(len(states)) - shares)
            self._factors = DenseFactors(lu, pivots)
            if singular:
                raise ImproperPolicy(ENDLESS)
        elif len(states):
            try:
                self._factors = factorise(csc_array(eye_array(len(states)) - shares))
            except RuntimeError as error:
                raise ImproperPolicy(ENDLESS) from error
        self.visits: FloatArray = np.maximum(self._solve(initial, transposed=True), 0.0) / leaving

    @property
    def nbytes(self) -> int:
        """The memory that the chain takes, about."""
        return own_bytes(self)

    @classmethod
    def of(cls, moves: dict[int, dict[int, float]], initial: dict[int, float]) -> EventChain:
        """The chain of some states, given the probabilities of the next states; other states are ends."""
        states = np.array(sorted(moves), dtype=np.int64)
        place = {state: index for index, state in enumerate(states.tolist())}
        tails: list[int] = []
        heads: list[int] = []
        chances: list[float] = []
        leaving = np.zeros(len(states))
        for state, index in place.items():
            for after, chance in moves[state].items():
                if after != state:
                    leaving[index] += chance
                    if after in place:
                        tails.append(index)
                        heads.append(place[after])
                        chances.append(chance)
        values = np.array(chances) / leaving[tails]
        shape = (len(states), len(states))
        shares: Any
        if is_dense(*shape):
            shares = np.zeros(shape)
            shares[tails, heads] = values
        else:
            shares = csr_array((values, (tails, heads)), shape=shape)
        begins = np.array([initial.get(state, 0.0) for state in place])
        return cls(states, shares, leaving, begins)

    def values(self, costs: FloatArray) -> FloatArray:
        """The expected cost-to-go of each state, given the cost of each visit: a number or a row each."""
        return self.values_of_departures((costs.T / self._leaving).T)

    def values_of_departures(self, costs: FloatArray) -> FloatArray:
        """As :meth:`values`, given the cost of each state until it is left."""
        return self._solve(costs)

    def _solve(self, right: FloatArray, transposed: bool = False) -> FloatArray:
        if self._factors is None:
            return right
        found: FloatArray = self._factors.solve(right, "T" if transposed else "N")
        return found


def events_as_cssp(
    flattening: Flattening, row_costs: FloatArray, bounds: FloatArray, usable: BoolArray
) -> tuple[CSSP, IntArray]:
    """The choices of a separable problem as a C-SSP over its events, and the event row of each of its rows.

    Parameters
    ----------
    flattening
        The layout of the problem.
    row_costs
        The costs of each event row: a line for each cost.
    bounds
        Of all costs but the first.
    usable
        The event rows that it has.
    """
    rows = np.flatnonzero(usable)
    states = np.arange(flattening.num_event_states)
    moves = np.zeros((len(rows), len(states)))
    for index, row in enumerate(rows):
        choice = flattening.problem.choices[int(flattening.event_row_choice[row])]
        for outcome in choice.outcomes:
            moves[index, flattening.event_state(outcome.event)] += outcome.probability
    problem = CSSP.unchecked(
        transitions=csr_array(moves),
        row_start=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(usable)])[
            flattening.event_row_start
        ],
        costs=row_costs[:, rows],
        initial=(states == flattening.start).astype(np.float64),
        goals=states == flattening.end,
        cost_names=flattening.cost_names[: len(row_costs)],
        bounds=bounds,
    )
    return problem, rows


class ProcedureSolver:
    """Chooses at every event, given the costs of the activities.

    Parameters
    ----------
    flattening
        The layout of a separable problem: one state for each event.

    Attributes
    ----------
    runs
        Shape ``(num_event_rows, num_activities)``: how often each event row runs each activity; sparse if the
        procedure is large.
    """

    def __init__(self, flattening: Flattening) -> None:
        self.num_states = flattening.num_event_states
        self.num_rows = flattening.num_event_rows
        self.start, self.end = flattening.start, flattening.end
        self.row_start = flattening.event_row_start
        self.row_state: IntArray = np.repeat(np.arange(self.num_states), np.diff(self.row_start))
        graph, runs, lost = _outcomes(flattening)
        terms = int(np.max(np.diff(runs.indptr), initial=0))
        dense = is_dense(self.num_rows, max(self.num_states, flattening.problem.num_activities))
        self.runs: Any = runs.toarray() if dense else runs
        goals = np.arange(self.num_states) == self.end
        self._search = Backwards(graph, self.row_state, goals)
        self._live: IntArray = np.flatnonzero(~goals)
        row = np.repeat(np.arange(self.num_rows), np.diff(graph.indptr))
        onwards = graph.indices != self.row_state[row]
        moves = csr_array(
            (graph.data[onwards], (row[onwards], graph.indices[onwards])),
            shape=(self.num_rows, self.num_states),
        )
        leaving = np.asarray(moves.sum(axis=1))
        # An activity that cannot be ended leads nowhere, and so does a choice that may run it.
        self._departs: BoolArray = (leaving > 0.0) & ~lost
        self._leaving: FloatArray = np.where(leaving > 0.0, leaving, 1.0)
        # What happens at the end is no concern of the values.
        inner = onwards & ~goals[graph.indices]
        shares = graph.data[inner] / self._leaving[row[inner]]
        steps = csr_array((shares, (row[inner], graph.indices[inner])), shape=moves.shape)
        self._moves: Any = steps.toarray() if dense else steps
        self._first_rows: IntArray = self.row_start[self._live]
        self._lengths = _lengths(self._moves, self._departs, self._first_rows, self._live)
        longest = self.num_states if dense else int(np.max(np.diff(steps.indptr), initial=0))
        self._rounding = (2 * longest + terms + 16) * ROUNDINGS
        self._certifier = Certifier(
            _steps(moves, self.row_state, goals), (self._live == self.start).astype(np.float64), terms
        )
        self._last: IntArray | None = None
        self._chains: dict[bytes, tuple[EventChain, FloatArray, FloatArray]] = {}
        self._starts: dict[bytes, tuple[IntArray | None, BoolArray]] = {}
        self._max_chains = min(EVENTS.max_chains, 1 + EVENTS.max_chain_states // self.num_states)

    def rows_that_run(self, activities: BoolArray) -> BoolArray:
        """The event rows that may run one of the given activities."""
        rows: BoolArray = self.runs @ activities.astype(np.float64) > 0.0
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
            A lower bound on the cost of each row, not negative; ``inf`` if it cannot be taken.
        allowed
            The rows of the region; None for all.
        """
        usable = self._departs & np.isfinite(row_costs)
        if allowed is not None:
            usable &= allowed
        rows, safe = self._start(usable)
        if rows is None:
            return None
        everywhere = bool(safe.all())
        step_costs = row_costs if everywhere else np.where(safe, row_costs, 0.0)
        costs = step_costs / self._leaving
        for _ in range(EVENTS.max_iterations):
            chain = self._chain(rows)[0]
            value = np.zeros(self.num_states)
            value[chain.states] = chain.values_of_departures(costs[rows[chain.states]])
            own = value[self.row_state]
            gain = costs + self._moves @ value - own
            if not everywhere:
                gain[~safe] = NEVER
            best = np.minimum.reduceat(gain, self._first_rows)
            switches = best < -tie(value[self._live])
            if not switches.any():
                break
            improving = self._live[switches]
            rows = rows.copy()
            for state in improving:
                first, last = self.row_start[state], self.row_start[state + 1]
                rows[state] = first + int(np.argmin(gain[first:last]))
        else:
            raise OutOfPrecision(f"the procedure was not solved within {EVENTS.max_iterations} iterations")
        self._last = rows
        if self._lengths is not None and value.min() >= 0.0:
            step = lowering(gain, own, self._rounding)
            return rows, lowered(float(value[self.start]), float(self._lengths[self.start]), step)
        return rows, self._certifier.certify(step_costs, value[self._live], ~safe).bound

    def ends(self, rows: IntArray) -> bool:
        """Whether the choices `rows` lead from the start to the end almost surely."""
        taken = np.zeros(self.num_rows, dtype=np.bool_)
        taken[rows[rows != NO_ROW]] = True
        return bool(self._search.almost_sure(rows=taken & self._departs).states[self.start])

    def visits(self, rows: IntArray) -> FloatArray:
        """Expected visits of every event state under the choices `rows`; the end counts as zero."""
        return self._chain(rows)[1]

    def executions(self, rows: IntArray) -> FloatArray:
        """Expected executions of every activity under the choices `rows`."""
        return self._chain(rows)[2]

    def only_choices(self, allowed: BoolArray | None = None) -> IntArray | None:
        """The only choices there are at the reached events; None if something is left to choose."""
        answer = self.minimise(np.zeros(self.num_rows), allowed)
        if answer is None:
            return None
        usable = self._departs if allowed is None else self._departs & allowed
        several = np.add.reduceat(usable.astype(np.int64), self.row_start[self._live]) > 1
        return None if several[self.visits(answer[0])[self._live] > 0.0].any() else answer[0]

    def executions_at_least(self, rows: IntArray) -> FloatArray:
        """Expected executions of every activity under the choices `rows`, rounded down.

        Those of ever longer beginnings of a run, which only grow; of a procedure that comes back again and
        again, not all are added up.
        """
        states = self._chain(rows)[0].states
        chosen = rows[states]
        moves = csr_array(self._moves)[chosen][:, states].T.tocsr()
        initial = (states == self.start).astype(np.float64)
        departures = initial
        rounds = 0
        while rounds < EVENTS.max_iterations + len(initial):
            rounds += 1
            more = initial + moves @ departures
            if np.all(more <= departures * (1.0 + EVENTS.settled)):
                break
            departures = more
        terms = int(np.max(np.diff(moves.indptr), initial=0))
        roundings = (rounds * (terms + 4) + 16) * ROUNDINGS
        visits = (1.0 - roundings) * departures / self._leaving[chosen]
        executions: FloatArray = visits @ self.runs[chosen]
        return executions

    def _chain(self, rows: IntArray) -> tuple[EventChain, FloatArray, FloatArray]:
        """The chain of the choices `rows`, the visits of all events and the executions of all activities.

        A search evaluates the same few choices again and again.
        """
        key = rows.tobytes()
        known = self._chains.get(key)
        if known is not None:
            return known
        states = np.flatnonzero(rows != NO_ROW)
        chosen = rows[states]
        dense = isinstance(self._moves, np.ndarray)
        shares = self._moves[np.ix_(chosen, states)] if dense else self._moves[chosen][:, states]
        leaving = np.where(self._departs[chosen], self._leaving[chosen], 0.0)
        chain = EventChain(states, shares, leaving, (states == self.start).astype(np.float64))
        visits = np.zeros(self.num_states)
        visits[states] = chain.visits
        if len(self._chains) >= self._max_chains:
            self._chains.clear()
        self._chains[key] = chain, visits, chain.visits @ self.runs[chosen]
        return self._chains[key]

    def _start(self, usable: BoolArray) -> tuple[IntArray | None, BoolArray]:
        """A proper choice everywhere it is possible, and the rows that keep out of dead ends."""
        last = self._last
        if last is not None:
            chosen = last[self._live]
            if chosen.min(initial=0) >= 0 and usable[chosen].all():
                return last, usable
        key = usable.tobytes()
        if key not in self._starts:
            if len(self._starts) >= self._max_chains:
                self._starts.clear()
            self._starts[key] = self._search_start(usable)
        return self._starts[key]

    def _search_start(self, usable: BoolArray) -> tuple[IntArray | None, BoolArray]:
        """As :meth:`_start`, by a search from the end."""
        sure = self._search.almost_sure(usable)
        if not sure.states[self.start]:
            return None, usable
        rows = np.full(self.num_states, NO_ROW, dtype=np.int64)
        # Assigned from the last to the first, so that the first of a state's rows stays.
        closer = np.flatnonzero(self._search.approaching(sure.rows))[::-1]
        rows[self.row_state[closer]] = closer
        return rows, sure.rows


def _outcomes(flattening: Flattening) -> tuple[SparseMatrix, SparseMatrix, BoolArray]:
    """Where the event rows lead, how often they run activities, and whether they may lead nowhere."""
    problem, num_rows = flattening.problem, flattening.num_event_rows
    moves: list[tuple[int, int, float]] = []
    runs: list[tuple[int, int, float]] = []
    lost = np.zeros(num_rows, dtype=np.bool_)
    for row, choice in enumerate(flattening.event_row_choice.tolist()):
        for outcome in problem.choices[choice].outcomes:
            if flattening.is_entered(outcome.event):
                moves.append((row, flattening.event_state(outcome.event), outcome.probability))
            else:
                lost[row] = True
            if outcome.runs is not None:
                runs.append((row, outcome.runs, outcome.probability))
    return (
        _matrix(moves, (num_rows, flattening.num_event_states)),
        _matrix(runs, (num_rows, problem.num_activities)),
        lost,
    )


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> SparseMatrix:
    """Entries of the same place are added up."""
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = csr_array((np.array(values, dtype=np.float64), (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def _steps(moves: SparseMatrix, row_state: IntArray, goals: BoolArray) -> Steps:
    """The steps of the event rows to other events; events are numbered without the end."""
    live = np.cumsum(~goals)
    number = np.where(goals, live[-1], live - 1)
    return Steps(number[row_state], moves.indptr.astype(np.int64), number[moves.indices], moves.data)


def _lengths(moves: Any, departs: BoolArray, first_rows: IntArray, live: IntArray) -> FloatArray | None:
    """For each event state the most choices until the end, in expectation; None if that is unbounded."""
    lengths = np.zeros(moves.shape[1])
    if len(lengths) > EVENTS.max_iterations and (depths := _depths(moves, first_rows, live)) is not None:
        return depths
    for _ in range(EVENTS.max_iterations):
        through = np.where(departs, 1.0 + moves @ lengths, 0.0)
        longer = lengths.copy()
        longer[live] = np.maximum.reduceat(through, first_rows)
        if np.all(longer <= lengths + 0.5):
            return longer
        lengths = longer
    return None


def _depths(moves: SparseMatrix, first_rows: IntArray, live: IntArray) -> FloatArray | None:
    """For each event state the most choices on the way to the end; None if an event may recur."""
    last_rows = np.append(first_rows[1:], moves.shape[0])
    after = {
        int(state): moves.indices[moves.indptr[first] : moves.indptr[last]].tolist()
        for state, first, last in zip(live, first_rows, last_rows, strict=True)
    }
    depths = np.zeros(moves.shape[1])
    try:
        for state in TopologicalSorter(after).static_order():
            if state in after:
                depths[state] = 1.0 + max((depths[each] for each in after[state]), default=0.0)
    except CycleError:
        return None
    return depths
