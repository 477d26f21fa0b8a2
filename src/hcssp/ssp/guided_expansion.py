r"""Expanding an implicit problem where the best policy under given weights goes.

**Problem.** Weights :math:`w \ge 0` of the costs, and a problem of which a part is known
(:mod:`hcssp.cssp.expansion`). Wanted are values of the known states that are potentials of the part
(:mod:`hcssp.ssp.potential`), as high as can be at the start, with few states expanded.

**Method.** The values begin at what the heuristics say under :math:`w`, or at what other weights have taught,
and are raised by Bellman backups. A *trial* follows the greedy policy from the start, all its outcomes
together: a share of probability is moved step by step, and what holds too little of it is left behind. A
state of the frontier that is entered is expanded. Then the steps are gone back, and every state on the way is
backed up once more, so that what was found at the end is known at the start after one trial.

**Guarantee.** From potentials, backups in any order make potentials. What was left behind was not lost: those
states keep their values. No bound rests on any of this: it is certified afterwards.

**Reference.** Hansen and Zilberstein, *LAO\**, 2001; Bonet and Geffner, *Labeled RTDP*, 2003; Schmalz and
Trevizan, *CG-iLAO\**, 2024.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.conversion import index_type
from hcssp.cssp.expansion import Expansion, GatheredRows
from hcssp.cssp.model import BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.spans import joined_spans
from hcssp.cssp.state_space import GrowingArray

DEAD = 1e200
"""The value of a state from which no goal can be reached: larger than any other, and a number still."""

EVERYWHERE = 30
"""So many sweeps of all expanded states follow each trial."""

MOST_COLUMNS = 16
"""Where all states have equally many rows, and no more than this, their least is found column by column."""


class Departures:
    """The transitions of an expansion, from one departure to the next.

    How long a row stays in its state only makes it dearer: with :math:`p` its probability to leave, it costs
    :math:`c / p` and leads to :math:`s'` with :math:`T(s, a, s') / p`.
    """

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._probability = GrowingArray(np.float64)
        self._leaving = GrowingArray(np.float64)
        self._matrix: SparseMatrix = None
        self._begins: IntArray | None = None
        self._states: IntArray = np.zeros(0, dtype=np.int64)
        self._columns = 0

    @property
    def probability(self) -> FloatArray:
        """Of each transition of the expansion; 0 where it stays."""
        self._follow()
        return self._probability.view

    @property
    def leaving(self) -> FloatArray:
        """Of each row, the probability to leave; 0 where it never does."""
        self._follow()
        return self._leaving.view

    def after(self, values: FloatArray) -> FloatArray:
        """For each row, the expected value where it leads when it leaves its state."""
        expansion = self._expansion
        if self._matrix is None or self._matrix.shape != (expansion.num_rows, expansion.num_states):
            kind = index_type(len(expansion.successor))
            starts = np.append(expansion.first_entry, len(expansion.successor)).astype(kind)
            parts = self.probability.copy(), expansion.successor.astype(kind), starts
            self._matrix = csr_array(parts, shape=(expansion.num_rows, expansion.num_states))
        expected: FloatArray = self._matrix @ values
        return expected

    def least_of_state(self, options: FloatArray) -> tuple[IntArray, FloatArray]:
        """The expanded states that have rows, and the least option of each."""
        if self._begins is None or len(self._states) < self._expansion.num_expanded:
            owner = self._expansion.row_state
            self._begins = np.flatnonzero(np.diff(owner, prepend=-1))
            self._states = owner[self._begins]
            counts = np.diff(self._begins, append=len(owner))
            equal = len(counts) > 0 and counts[0] <= MOST_COLUMNS and bool(np.all(counts == counts[0]))
            self._columns = int(counts[0]) if equal else 0
        if not self._columns:
            return self._states, np.minimum.reduceat(options, self._begins)
        # Eight times as fast as state by state, which is what most sweeps would take their time for.
        table = options.reshape(-1, self._columns)
        least: FloatArray = table[:, 0].copy()
        for column in range(1, self._columns):
            np.minimum(least, table[:, column], out=least)
        return self._states, least

    def _follow(self) -> None:
        expansion = self._expansion
        first_row, first = len(self._leaving), len(self._probability)
        if first_row == expansion.num_rows:
            return
        lengths = expansion.entries_of_row[first_row:]
        row = np.repeat(np.arange(len(lengths)), lengths)
        stays = expansion.successor[first:] == np.repeat(expansion.row_state[first_row:], lengths)
        moves = np.where(stays, 0.0, expansion.probability[first:])
        leaving = np.bincount(row, weights=moves, minlength=len(lengths))
        self._probability.append(moves / np.where(leaving > 0.0, leaving, 1.0)[row])
        self._leaving.append(leaving)


class Layer:
    """States that are backed up together: their rows and transitions, gathered once."""

    def __init__(self, search: GuidedExpansion, states: IntArray) -> None:
        self.states = states
        self._gathered = GatheredRows(search.expansion, states, search.departures.probability)
        self._row_costs = search.row_costs(self._gathered.rows)

    def backed_up(self, values: FloatArray) -> tuple[FloatArray, IntArray]:
        """The least cost to go from each state by one step and `values` after it, and the row it takes."""
        gathered = self._gathered
        least, chosen = gathered.least(self._row_costs + gathered.expected(values))
        return np.minimum(least, DEAD), chosen

    def moved(self, chosen: IntArray, mass: FloatArray) -> tuple[IntArray, FloatArray]:
        """Where the `mass` of each state goes by its chosen row, and how much of it goes there."""
        gathered = self._gathered
        lengths = gathered.lengths[chosen]
        entries, _ = joined_spans(gathered.starts[chosen], lengths)
        share = gathered.probabilities[entries] * np.repeat(mass, lengths)
        heads, which = np.unique(gathered.successors[entries], return_inverse=True)
        moved: FloatArray = np.bincount(which.reshape(-1), weights=share).astype(np.float64)
        return heads, moved


class GuidedExpansion:
    """Values of the known states under one vector of weights, while they are raised.

    Parameters
    ----------
    expansion, departures
        What is known of the problem; it grows.
    weights
        One non-negative weight for each cost.
    values
        Potentials of the states that were known some time ago, to begin with; None for the heuristic's.
    dead
        States that are known to be dead ends.

    Attributes
    ----------
    on_the_way
        The states that the last trial went through.
    """

    def __init__(
        self,
        expansion: Expansion,
        departures: Departures,
        weights: FloatArray,
        values: FloatArray | None = None,
        dead: BoolArray | None = None,
    ) -> None:
        self.expansion = expansion
        self.departures = departures
        self.weights = weights
        self._values = GrowingArray(np.float64)
        if values is not None:
            told = expansion.weighted_heuristic.under(weights)[: len(values)]
            # At the frontier a proof has what the heuristics say under these weights, and no more.
            expanded = expansion.first_row[: len(values)] >= 0
            self._values.append(np.where(expanded, np.maximum(values, told), told))
        self.follow()
        if dead is not None:
            self.bury(dead)
        self._row_cost = GrowingArray(np.float64)
        self.on_the_way: IntArray = np.zeros(0, dtype=np.int64)

    @property
    def values(self) -> FloatArray:
        """For each known state, what is to come at least, if the heuristics are right."""
        return self._values.view

    @property
    def start_value(self) -> float:
        """The value of the initial states."""
        states, probabilities = self.expansion.initial
        return float(probabilities @ self.values[states])

    def row_costs(self, rows: IntArray | slice) -> FloatArray:
        """The weighted cost of each row until it leaves its state."""
        done = len(self._row_cost)
        if done < self.expansion.num_rows:
            leaving = self.departures.leaving[done:]
            costs = self.weights @ self.expansion.costs[:, done:]
            with np.errstate(divide="ignore", invalid="ignore"):
                self._row_cost.append(np.where(leaving > 0.0, costs / leaving, DEAD))
        chosen: FloatArray = self._row_cost.view[rows]
        return chosen

    def follow(self) -> None:
        """Give the states that were met since the last time the value of their heuristic."""
        known = len(self._values)
        if known < self.expansion.num_states:
            self._values.append(self.expansion.weighted_heuristic.under(self.weights, known))

    def expand(self, states: IntArray) -> int:
        """Expand those of `states` that are on the frontier; how many they were."""
        new = self.expansion.expand(states)
        self.follow()
        stuck = new[self.expansion.rows_of_state[new] == 0]
        self._values.view[stuck] = DEAD
        return len(new)

    def bury(self, dead: BoolArray) -> None:
        """States from which no goal is reached with certainty are never entered."""
        self._values.view[np.flatnonzero(dead)] = DEAD

    def trial(
        self, least_mass: float, max_steps: int, is_over: Callable[[], bool] = lambda: False
    ) -> tuple[int, bool]:
        """Follow the greedy policy from the start and come back.

        Parameters
        ----------
        least_mass
            What holds less of the probability is left behind.
        max_steps
            After so many steps it ends in any case: it may go in circles.
        is_over
            Whether nobody listens any more; then it ends, too.

        Returns
        -------
        expanded
            How many states were expanded.
        ended
            Whether it ended by itself.
        """
        expansion = self.expansion
        states, mass = expansion.initial
        layers: list[Layer] = []
        expanded, ended = 0, False
        for _ in range(max_steps):
            if is_over():
                break
            kept = (mass >= least_mass) & ~expansion.goal[states] & (self.values[states] < DEAD)
            states, mass = states[kept], mass[kept]
            if not len(states):
                ended = True
                break
            expanded += self.expand(states)
            alive = self.values[states] < DEAD
            states, mass = states[alive], mass[alive]
            if not len(states):
                ended = True
                break
            layer = Layer(self, states)
            least, chosen = layer.backed_up(self.values)
            self._values.view[states] = least
            layers.append(layer)
            states, mass = layer.moved(chosen, mass)
        self.on_the_way = np.unique(
            np.concatenate([np.zeros(0, np.int64), *(each.states for each in layers)])
        )
        for layer in reversed(layers):
            self._values.view[layer.states], _ = layer.backed_up(self.values)
        return expanded, ended

    def sweep(self, times: int) -> None:
        """Back up all expanded states."""
        if not self.expansion.num_rows:
            return
        costs, values = self.row_costs(slice(None)), self._values.view
        for _ in range(times):
            states, least = self.departures.least_of_state(costs + self.departures.after(values))
            values[states] = np.minimum(least, DEAD)
