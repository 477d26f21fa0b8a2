r"""LAO\*: expand an implicit problem where its best policy under given weights goes.

**Problem.** Weights :math:`w \ge 0` of the costs, and a problem of which a part is known
(:mod:`hcssp.cssp.expansion`). Wanted are potentials of the part (:mod:`hcssp.ssp.potential`) that are high at
the start, with few states expanded.

**Method.** The values begin at the heuristic, or at potentials known from other weights, and are raised by
Bellman backups. A *trial* follows the greedy policy from the start, all its outcomes together, and expands
the states of the frontier that it enters. States that it reaches with too small a probability are left out.
The states of the trial are then backed up in reverse order. A *completion* expands what is missing for some
policy near the greedy one to stay among the expanded states.

**Guarantee.** From potentials, backups in any order make potentials. No bound rests on this module: bounds
are certified afterwards.

**Reference.** Hansen and Zilberstein, *LAO\*: a heuristic search algorithm that finds solutions with loops*,
2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.arrays import first_in_each, joined_spans
from hcssp.cssp.expansion import Expansion, GatheredRows
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import closure
from hcssp.cssp.state_space import GrowingArray
from hcssp.ssp.scalar_problem import FREE_COST

DEAD = 1e200
"""The value of a state from which no goal can be reached: larger than any other, and finite."""


@dataclass(frozen=True)
class ExpansionParameters:
    """What steers the expansion of an implicit problem.

    Attributes
    ----------
    first_probability, least_probability
        A trial leaves out states that it reaches with less probability: the limit of the first trials, and
        that of the last ones.
    reduction
        The factor by which the limit shrinks once trials raise the value of the start no more.
    settled
        Trials under one limit end once they raise the value of the start by less than this share of the
        precision.
    sweeps
        The number of Bellman sweeps of all expanded states after each trial.
    max_trials
        The largest number of trials at one vector of weights.
    max_steps
        The largest number of steps of a trial: a greedy policy may cycle.
    precision_share, finest, coarsest
        The precision of an answer is this share of the wanted gap, or what the ascent wants if that is
        coarser, within these limits.
    stalled_rounds
        The ascent ends after this number of rounds that moved neither end of the interval.
    growth
        A completion may expand this number of times the states that were known before it.
    return_steps
        A completion assumes this number of steps to return from a state that is not expanded. It is a penalty
        of the frontier: if it is above the number of steps that a return takes, the completion prefers rows
        that stay among the expanded states; if it is below, it expands more and more. It decides what is
        expanded, and no bound rests on it.
    return_sweeps
        A completion makes this number of sweeps before it expands more.
    rings
        If no policy stays among the expanded states after a completion, the frontier is expanded this number
        of times.
    potentials
        The number of potentials that are kept, the latest: a search continues near its last multipliers.
    """

    first_probability: float = 1e-4
    least_probability: float = 1e-9
    reduction: float = 0.1
    settled: float = 0.1
    sweeps: int = 30
    max_trials: int = 400
    max_steps: int = 2_000
    precision_share: float = 0.2
    finest: float = 1e-6
    coarsest: float = 1e-2
    stalled_rounds: int = 2
    growth: float = 3.0
    return_steps: float = 100.0
    return_sweeps: int = 10
    rings: int = 6
    potentials: int = 12


class GuidedExpansion:
    """Values of the known states under one vector of weights, while they are raised.

    Parameters
    ----------
    expansion
        The known part of the problem; it grows.
    weights
        One non-negative weight for each cost.
    parameters
        What steers the trials.
    values
        Potentials of the known states; 0 where none is known.
    is_over
        Whether time or memory is used up; then trials end early.
    """

    def __init__(
        self,
        expansion: Expansion,
        weights: FloatArray,
        parameters: ExpansionParameters,
        values: FloatArray,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.expansion = expansion
        self.weights = weights
        self._parameters = parameters
        self._is_over = is_over
        self._values = GrowingArray(np.float64)
        self._row_cost = GrowingArray(np.float64)
        self._row_owner: IntArray = np.zeros(0, dtype=np.int64)
        self._on_trial: BoolArray = np.zeros(0, dtype=np.bool_)
        heuristic = expansion.weighted_heuristic.under(weights)
        # A proof has only the heuristic under these weights at the frontier.
        self._values.append(np.where(expansion.frontier, heuristic, np.maximum(values, heuristic)))

    @property
    def values(self) -> FloatArray:
        """A lower bound on the cost-to-go of each known state, if the heuristics are admissible."""
        return self._values.view

    @property
    def start_value(self) -> float:
        """The value of the initial states."""
        states, probabilities = self.expansion.initial
        return float(probabilities @ self.values[states])

    @property
    def row_costs(self) -> FloatArray:
        """The weighted cost of each row until it leaves its state."""
        done = len(self._row_cost)
        if done < self.expansion.num_rows:
            leaving = self.expansion.leaving[done:]
            costs = self.weights @ self.expansion.costs[:, done:]
            with np.errstate(divide="ignore", invalid="ignore"):
                self._row_cost.append(np.where(leaving > 0.0, costs / leaving, DEAD))
        return self._row_cost.view

    def trial(self, least_probability: float) -> int:
        """Follow the greedy policy from the start, expand the entered states, and back up in reverse order.

        Parameters
        ----------
        least_probability
            States that are reached with less probability are left out.

        Returns
        -------
        expanded
            The number of states that were expanded.
        """
        before = self.expansion.num_expanded
        states, mass = self.expansion.initial
        layers: list[_Layer] = []
        for _ in range(self._parameters.max_steps):
            likely = mass >= least_probability
            states, mass = self._entered(states[likely], mass[likely])
            if self._is_over() or not len(states):
                break
            layer = _Layer(self, states)
            self._values.view[states], chosen = layer.backed_up(self.values)
            layers.append(layer)
            states, mass = layer.moved(chosen, mass)
        for layer in reversed(layers):
            self._values.view[layer.states], _ = layer.backed_up(self.values)
        self._on_trial = np.zeros(self.expansion.num_states, dtype=np.bool_)
        for layer in layers:
            self._on_trial[layer.states] = True
        return self.expansion.num_expanded - before

    def complete(self) -> bool:
        """Expand every state that a policy reaches that is greedy in the states of the last trial.

        In all other states, which are rarely visited, it returns there in as few steps as possible: it then
        needs fewer states than the greedy policy. False if it still needs too many.
        """
        expansion, parameters = self.expansion, self._parameters
        on_trial = np.flatnonzero(self._on_trial)
        greedy = self._best_rows(self.row_costs + expansion.departures() @ self.values)[on_trial]
        most = parameters.growth * expansion.num_states
        steps = np.zeros(0)
        while expansion.num_expanded <= most and not self._is_over():
            steps = np.append(steps, np.zeros(expansion.num_states - len(steps)))
            steps[expansion.frontier] = parameters.return_steps
            dead = (self.values >= DEAD) & ~expansion.frontier
            with np.errstate(divide="ignore"):
                costs = np.minimum(1.0 / expansion.leaving, DEAD)
            for _ in range(parameters.return_sweeps):
                states, least = self._least(costs + expansion.departures() @ steps)
                steps[states] = np.minimum(least, DEAD)
                steps[on_trial], steps[dead] = 0.0, DEAD
            rows = self._best_rows(costs + expansion.departures() @ steps)
            rows[on_trial] = greedy
            tips = self._tips(rows)
            if not len(tips):
                return True
            self._expand(tips)
        return False

    def _best_rows(self, options: FloatArray) -> IntArray:
        """For each known state the first of its rows with the least option; NO_ROW where it has none."""
        states, least = self._least(options)
        counts = np.diff(self._begins, append=len(options))
        rows = np.full(self.expansion.num_states, NO_ROW, dtype=np.int64)
        rows[states] = first_in_each(options == np.repeat(least, counts), self._begins)
        return rows

    def _tips(self, rows: IntArray) -> IntArray:
        """The states of the frontier that the policy `rows` reaches."""
        expansion, count = self.expansion, self.expansion.num_states
        acting = np.flatnonzero(rows != NO_ROW)
        lengths = np.zeros(count, dtype=np.int64)
        lengths[acting] = expansion.entries_of_row[rows[acting]]
        entries, _ = joined_spans(expansion.first_entry[rows[acting]], lengths[acting])
        parts = np.ones(len(entries)), expansion.successor[entries], np.append(0, np.cumsum(lengths))
        starts = np.zeros(count, dtype=np.bool_)
        starts[expansion.initial[0]] = True
        return np.flatnonzero(closure(csr_array(parts, shape=(count, count)), starts) & expansion.frontier)

    def widen(self) -> None:
        """Expand the whole frontier a few times, so that more policies stay among the expanded states."""
        most = self._parameters.growth * self.expansion.num_states
        for _ in range(self._parameters.rings):
            if self.expansion.num_expanded <= most and not self._is_over():
                self._expand(np.flatnonzero(self.expansion.frontier))

    def _entered(self, states: IntArray, mass: FloatArray) -> tuple[IntArray, FloatArray]:
        """Those of `states` that are neither goals nor dead, once they are expanded, and their mass."""
        kept = ~self.expansion.goal[states] & (self.values[states] < DEAD)
        states, mass = states[kept], mass[kept]
        self._expand(states)
        alive = self.values[states] < DEAD
        return states[alive], mass[alive]

    def _expand(self, states: IntArray) -> None:
        new = self.expansion.expand(states)
        known = len(self._values)
        if known < self.expansion.num_states:
            self._values.append(self.expansion.weighted_heuristic.under(self.weights, known))
        self._values.view[new[self.expansion.rows_of_state[new] == 0]] = DEAD

    def sweep(self, times: int) -> None:
        """Back up all expanded states."""
        costs, values = self.row_costs, self._values.view
        for _ in range(times):
            states, least = self._least(costs + self.expansion.departures() @ values)
            values[states] = np.minimum(least, DEAD)

    def _least(self, options: FloatArray) -> tuple[IntArray, FloatArray]:
        """The expanded states that have rows, and the least option of each."""
        owner = self.expansion.row_state
        if len(self._row_owner) != len(owner):
            self._row_owner = owner
            self._begins = np.flatnonzero(np.diff(owner, prepend=-1))
            counts = np.diff(self._begins, append=len(owner))
            self._width = int(counts[0]) if len(counts) and np.all(counts == counts[0]) else 0
        if not self._width:
            return owner[self._begins], np.minimum.reduceat(options, self._begins)
        # Column by column is more than ten times as fast as state by state.
        return owner[self._begins], reduce(np.minimum, options.reshape(-1, self._width).T)

    def has_free_cycle(self) -> bool:
        """Whether a policy can cycle among the expanded states by rows that cost nothing."""
        expansion, costs = self.expansion, self.row_costs
        free = costs <= FREE_COST * float(costs[costs < DEAD].max(initial=0.0))
        if not free.any():
            return False
        entries = np.repeat(free, expansion.entries_of_row) & (expansion.departure > 0.0)
        tails = np.repeat(expansion.row_state, expansion.entries_of_row)[entries]
        heads, size = expansion.successor[entries], expansion.num_states
        graph = csr_array((np.ones(len(tails)), (tails, heads)), shape=(size, size))
        return bool(connected_components(graph, connection="strong")[0] < size)


class _Layer:
    """States that are backed up together: their rows and transitions, gathered once."""

    def __init__(self, search: GuidedExpansion, states: IntArray) -> None:
        self.states = states
        self._gathered = GatheredRows(search.expansion, states, search.expansion.departure)
        self._row_costs = search.row_costs[self._gathered.rows]

    def backed_up(self, values: FloatArray) -> tuple[FloatArray, IntArray]:
        """The least cost-to-go from each state by one step and `values` after it, and the row it takes."""
        gathered = self._gathered
        least, chosen = gathered.least(self._row_costs + gathered.expected(values))
        return np.minimum(least, DEAD), chosen

    def moved(self, chosen: IntArray, mass: FloatArray) -> tuple[IntArray, FloatArray]:
        """The states that the chosen rows lead to, and the probability `mass` that reaches each."""
        gathered = self._gathered
        lengths = gathered.lengths[chosen]
        entries, _ = joined_spans(gathered.starts[chosen], lengths)
        share = gathered.probabilities[entries] * np.repeat(mass, lengths)
        heads, which = np.unique(gathered.successors[entries], return_inverse=True)
        moved: FloatArray = np.bincount(which.reshape(-1), weights=share).astype(np.float64)
        return heads, moved
