"""An explicit table of transitions, wherever it came from: inline, CSV or DRN.

A table has no start and no goal of its own: activities share it and say where they begin and end. The
actions of a goal are left out, since a goal ends the activity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.assembly import tidy
from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.errors import did_you_mean
from hcssp.files.problems.targets import Aim, state_label
from hcssp.numerics import PROBABILITY_TOLERANCE

Wrong = Callable[[int, str, str], None]
"""Notes a mistake: its line, its field and what it is."""


@dataclass(frozen=True, eq=False)
class TableModel:
    """A table without a start and a goal.

    Attributes
    ----------
    labels, index
        What the states are called, in their order, and their numbers.
    row_state, actions, transitions, costs
        As in :class:`~hcssp.cssp.model.CSSP`: one row for every action of every state, sorted by state.
    cost_names
        The primary cost, then the others.
    places
        States by the labels of a DRN file.
    starts, goals
        The states that a DRN file labels ``init`` and ``goal``; empty if there are none.
    unlisted
        The states that are only led to, each with what to call if that turns out to be a mistake.
    """

    labels: tuple[Hashable, ...]
    index: Mapping[Hashable, int]
    row_state: IntArray
    actions: tuple[str, ...]
    transitions: SparseMatrix
    costs: FloatArray
    cost_names: tuple[str, ...]
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    starts: tuple[int, ...] = ()
    goals: tuple[int, ...] = ()
    unlisted: Mapping[int, Callable[[], None]] = field(default_factory=dict)

    @property
    def num_states(self) -> int:
        return len(self.labels)

    @property
    def num_transitions(self) -> int:
        return int(self.transitions.nnz)

    def states(self, aim: Aim) -> tuple[int, ...]:
        """The states of a target; none, and a mistake noted, if there are none."""
        label = state_label(aim.target) if isinstance(aim.target, str) else aim.target
        if label in self.index:
            return (self.index[label],)
        if isinstance(label, str) and label in self.places:
            return self.places[label]
        known = [*self.places, *(label for label in self.labels if isinstance(label, str))]
        aim.field.wrong(f"there is no state {label!r} in the table; {did_you_mean(str(label), known)}")
        return ()

    def cssp(self, start: Mapping[int, float], goal: Sequence[int]) -> CSSP:
        """The table with a start and a goal."""
        initial = np.zeros(self.num_states)
        for state, probability in start.items():
            initial[state] += probability
        goals = np.zeros(self.num_states, dtype=np.bool_)
        goals[list(goal)] = True
        kept = np.flatnonzero(~goals[self.row_state])
        row_start = np.zeros(self.num_states + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.row_state[kept], minlength=self.num_states), out=row_start[1:])
        return CSSP(
            transitions=self.transitions[kept],
            row_start=row_start,
            costs=self.costs[:, kept],
            initial=initial,
            goals=goals,
            cost_names=self.cost_names,
            bounds=np.full(len(self.cost_names) - 1, np.inf),
            state_labels=self.labels,
            action_labels=SelectedLabels(self.actions, kept),
        )


class TableBuilder:
    """A table in the making: states, rows and transitions as they come, in flat lists.

    Parameters
    ----------
    cost_names
        The primary cost, then the others.
    wrong
        Notes a mistake.
    tolerance
        How far the probabilities of a row may sum from one; beyond rounding they are scaled.
    """

    def __init__(
        self, cost_names: tuple[str, ...], wrong: Wrong, tolerance: float = PROBABILITY_TOLERANCE
    ) -> None:
        self.cost_names = cost_names
        self.wrong = wrong
        self.labels: list[Hashable] = []
        self.places: dict[str, list[int]] = {}
        self._tolerance = tolerance
        self._index: dict[Hashable, int] = {}
        # Most texts come many times, and turning them into labels takes a while.
        self._by_text: dict[str, int] = {}
        self._listed: set[int] = set()
        self._rows: dict[tuple[int, str], int] = {}
        self._row_state: list[int] = []
        self._actions: list[str] = []
        self._where: list[tuple[int, str]] = []
        self._entry_row: list[int] = []
        self._successors: list[int] = []
        self._probabilities: list[float] = []
        self._costs: list[Sequence[float]] = []

    def state(self, text: str, *, listed: bool = False) -> int:
        """The number of a state, which is new if it has not been met yet.

        Parameters
        ----------
        text
            What the table calls it.
        listed
            Whether it stands in the table for itself, or something leads to it.
        """
        number = self._by_text.get(text)
        if number is None:
            label = state_label(text)
            number = self._by_text[text] = self._index.setdefault(label, len(self.labels))
            if number == len(self.labels):
                self.labels.append(label)
        if listed:
            self._listed.add(number)
        return number

    def row(self, state: int, action: str, line: int, path: str) -> int:
        """The number of the row of an action, which is new if it has not been met yet."""
        number = self._rows.setdefault((state, action), len(self._row_state))
        if number == len(self._row_state):
            self._row_state.append(state)
            self._actions.append(action)
            self._where.append((line, path))
        return number

    def lead(self, row: int, to: str, probability: float, costs: Sequence[float]) -> None:
        """Let a row lead to a state, at these costs if it does so."""
        self._entry_row.append(row)
        self._successors.append(self.state(to))
        self._probabilities.append(probability)
        self._costs.append(costs)

    def build(self, starts: Sequence[int] = (), goals: Sequence[int] = ()) -> TableModel:
        """The table; rows that lead nowhere or whose probabilities do not sum to one are noted."""
        num_rows, num_states = len(self._row_state), len(self.labels)
        entry_row = np.array(self._entry_row, dtype=np.int64)
        probabilities = np.array(self._probabilities, dtype=np.float64)
        sums = np.bincount(entry_row, weights=probabilities, minlength=num_rows)
        off = np.abs(sums - 1.0)
        lengths = np.bincount(entry_row, minlength=num_rows)
        for row in np.flatnonzero(off > self._tolerance).tolist():
            told = f"the probabilities sum to {sums[row]:.10g}, not 1"
            if lengths[row] == 0:
                told = "it leads nowhere; give it at least one next state"
            self.wrong(*self._where[row], told)
        scales = np.where((off > PROBABILITY_TOLERANCE) & (off <= self._tolerance), sums, 1.0)
        costs = self._expected_costs(entry_row, probabilities, num_rows)
        # Stable, so that the actions of a state keep their order.
        row_state = np.array(self._row_state, dtype=np.int64)
        order = np.argsort(row_state, kind="stable")
        position = np.empty(num_rows, dtype=np.int64)
        position[order] = np.arange(num_rows)
        where = (position[entry_row], np.array(self._successors, dtype=np.int64))
        data = probabilities / scales[entry_row]
        transitions = csr_array((data, where), shape=(num_rows, num_states))
        tidy(transitions)
        return TableModel(
            labels=tuple(self.labels),
            index=self._index,
            row_state=row_state[order],
            actions=tuple(self._actions[row] for row in order.tolist()),
            transitions=transitions,
            costs=np.ascontiguousarray(costs[:, order]),
            cost_names=self.cost_names,
            places={name: tuple(states) for name, states in self.places.items()},
            starts=tuple(starts),
            goals=tuple(goals),
            unlisted=self._unlisted(),
        )

    def _expected_costs(self, entry_row: IntArray, probabilities: FloatArray, num_rows: int) -> FloatArray:
        """The costs of the rows: where all its entries agree exactly these, without rounding."""
        paid = np.array(self._costs, dtype=np.float64).reshape(len(entry_row), len(self.cost_names)).T
        costs = np.zeros((len(self.cost_names), num_rows))
        for cost, each in zip(costs, paid, strict=True):
            least, most = np.full(num_rows, np.inf), np.full(num_rows, -np.inf)
            np.minimum.at(least, entry_row, each)
            np.maximum.at(most, entry_row, each)
            expected = np.bincount(entry_row, weights=probabilities * each, minlength=num_rows)
            cost[:] = np.where(least == most, least, expected)
        return costs

    def _unlisted(self) -> dict[int, Callable[[], None]]:
        """The states that are only led to, and how to note that this was a mistake."""
        found: dict[int, Callable[[], None]] = {}
        if len(self._listed) == len(self.labels):
            return found
        for row, state in zip(self._entry_row, self._successors, strict=True):
            if state not in self._listed and state not in found:
                found[state] = partial(self._note_unlisted, state, row)
        return found

    def _note_unlisted(self, state: int, row: int) -> None:
        label = self.labels[state]
        guess = did_you_mean(str(label), [str(self.labels[other]) for other in self._listed])
        remedy = guess if guess.startswith("did") else "give it actions, or let an activity end there"
        told = f"it leads to {label!r}, which has no actions and is no goal; {remedy}"
        self.wrong(*self._where[row], told)
