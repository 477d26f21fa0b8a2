"""An explicit table of transitions, wherever it came from: inline, CSV or DRN.

A table has no start and no goal of its own: activities share it and say where they begin and end. The
actions of a goal are left out, since a goal ends the activity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import fsum

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.assembly import tidy
from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.files.problems.targets import PROBABILITY_TOLERANCE, Aim, state_label
from hcssp.files.reading.findings import did_you_mean

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
    """A table in the making: states and rows as they come.

    Parameters
    ----------
    cost_names
        The primary cost, then the others.
    wrong
        Notes a mistake.
    """

    def __init__(self, cost_names: tuple[str, ...], wrong: Wrong) -> None:
        self.cost_names = cost_names
        self.wrong = wrong
        self.labels: list[Hashable] = []
        self.index: dict[Hashable, int] = {}
        self.places: dict[str, list[int]] = {}
        self._listed: set[int] = set()
        self._mentioned: dict[int, tuple[int, str]] = {}
        self._row_state: list[int] = []
        self._actions: list[str] = []
        self._seen: dict[tuple[int, str], int] = {}
        self._successors: list[list[int]] = []
        self._probabilities: list[list[float]] = []
        self._costs: list[list[float]] = []

    def state(self, label: Hashable) -> int:
        """The number of a state, which is new if it has not been met yet."""
        number = self.index.setdefault(label, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def list_state(self, label: Hashable) -> int:
        """The number of a state that stands in the table for itself."""
        number = self.state(label)
        self._listed.add(number)
        return number

    def add_row(
        self,
        state: int,
        action: str,
        to: Sequence[tuple[Hashable, float]],
        costs: list[float],
        line: int,
        path: str,
        tolerance: float = PROBABILITY_TOLERANCE,
    ) -> None:
        """Add an action; its probabilities must sum to one up to `tolerance`, and then do exactly."""
        if (state, action) in self._seen:
            first = self._seen[state, action]
            self.wrong(
                line, path, f"state {self.labels[state]!r} has two actions {action!r}; see line {first}"
            )
        self._seen[state, action] = line
        probabilities = [probability for _, probability in to]
        total = fsum(probabilities)
        if not to:
            self.wrong(line, path, "it leads nowhere; give it at least one next state")
        elif abs(total - 1.0) > tolerance:
            self.wrong(line, path, f"the probabilities sum to {total:.10g}, not 1")
        elif abs(total - 1.0) > PROBABILITY_TOLERANCE:
            probabilities = [probability / total for probability in probabilities]
        successors = [self.state(label) for label, _ in to]
        for successor in successors:
            self._mentioned.setdefault(successor, (line, path))
        self._row_state.append(state)
        self._actions.append(action)
        self._successors.append(successors)
        self._probabilities.append(probabilities)
        self._costs.append(costs)

    def build(self, starts: Sequence[int] = (), goals: Sequence[int] = ()) -> TableModel:
        """The table."""
        num_rows, num_states = len(self._row_state), len(self.labels)
        row_state = np.array(self._row_state, dtype=np.int64)
        # Stable, so that the actions of a state keep their order.
        order = np.argsort(row_state, kind="stable")
        ordered = order.tolist()
        counts = np.fromiter((len(self._successors[row]) for row in ordered), np.int64, num_rows)
        total = int(counts.sum())
        successors = chain.from_iterable(self._successors[row] for row in ordered)
        probabilities = chain.from_iterable(self._probabilities[row] for row in ordered)
        transitions = csr_array(
            (
                np.fromiter(probabilities, np.float64, total),
                np.fromiter(successors, np.int64, total),
                np.concatenate(([0], np.cumsum(counts))),
            ),
            shape=(num_rows, num_states),
        )
        tidy(transitions)
        costs = np.array(self._costs, dtype=np.float64).reshape(num_rows, len(self.cost_names))
        unlisted = {state: self._mistake(state) for state in self._mentioned if state not in self._listed}
        return TableModel(
            labels=tuple(self.labels),
            index=self.index,
            row_state=row_state[order],
            actions=tuple(self._actions[row] for row in ordered),
            transitions=transitions,
            costs=np.ascontiguousarray(costs[order].T),
            cost_names=self.cost_names,
            places={name: tuple(states) for name, states in self.places.items()},
            starts=tuple(starts),
            goals=tuple(goals),
            unlisted=unlisted,
        )

    def _mistake(self, state: int) -> Callable[[], None]:
        line, path = self._mentioned[state]
        label = self.labels[state]

        def note() -> None:
            guess = did_you_mean(str(label), [str(self.labels[other]) for other in self._listed])
            remedy = guess if guess.startswith("did") else "give it actions, or let an activity end there"
            self.wrong(line, path, f"it leads to {label!r}, which has no actions and is no goal; {remedy}")

        return note
