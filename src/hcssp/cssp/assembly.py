"""From rows told one by one, in any order, to the arrays of a validated C-SSP.

Both makers that listen to people, the builder and the exploration of Python functions, end here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.validation import bound_array, capped, violations
from hcssp.errors import InvalidProblem

Costs = float | Mapping[str, float] | Sequence[float]
"""The primary cost alone; costs by name, 0 where not named; or all of them in their order."""


class Assembly:
    """States and rows as they come, and what is wrong with them so far."""

    def __init__(self, cost_names: Sequence[str]) -> None:
        self.cost_names = tuple(cost_names)
        self.found: list[str] = []
        self.state_labels: list[Hashable] = []
        self.state_index: dict[Hashable, int] = {}
        self._row_states: list[int] = []
        self._action_labels: list[Hashable] = []
        self._successors: list[Sequence[int]] = []
        self._probabilities: list[Sequence[float]] = []
        self._costs: list[list[float]] = []

    def add_state(self, label: Hashable) -> int:
        """Append a state and give its index; the label must be new."""
        index = len(self.state_labels)
        self.state_labels.append(label)
        self.state_index[label] = index
        return index

    def add_row(
        self,
        state: int,
        label: Hashable,
        successors: Sequence[int],
        probabilities: Sequence[float],
        costs: list[float],
    ) -> None:
        """Append an action of `state`; rows may come in any order of states."""
        self._row_states.append(state)
        self._action_labels.append(label)
        self._successors.append(successors)
        self._probabilities.append(probabilities)
        self._costs.append(costs)

    def number(self, place: str, value: object) -> float:
        """`value` as a float; if it is none, a violation is noted and 0 goes on in its place."""
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            self.found.append(f"{place} is {value!r}, which is not a number")
            return 0.0

    def cost_vector(self, place: str, costs: Costs) -> list[float]:
        """One number for each cost, in order."""
        names = self.cost_names
        vector = [0.0] * len(names)
        if isinstance(costs, Mapping):
            for name, value in costs.items():
                if name in names:
                    vector[names.index(name)] = self.number(f"{place}: the cost {name!r}", value)
                else:
                    known = ", ".join(repr(known) for known in names)
                    self.found.append(f"{place}: there is no cost {name!r}; the costs are {known}")
        elif isinstance(costs, Sequence | np.ndarray) and not isinstance(costs, str):
            if len(costs) != len(names):
                known = ", ".join(repr(known) for known in names)
                self.found.append(
                    f"{place}: {len(costs)} costs are given, but there are {len(names)}: {known}"
                )
            for position, (name, value) in enumerate(zip(names, costs, strict=False)):
                vector[position] = self.number(f"{place}: the cost {name!r}", value)
        elif names:
            vector[0] = self.number(f"{place}: the cost {names[0]!r}", costs)
        return vector

    def fold(self, costs: list[float], probability: float, arrival: list[float]) -> None:
        """Add to the expected `costs` of a row what is paid with `probability` on arrival."""
        for position, value in enumerate(arrival):
            # An impossible successor costs nothing, not even if its cost is infinite.
            if value != 0.0 and probability != 0.0:
                costs[position] += probability * value

    def build(
        self,
        initial: Mapping[int, float],
        goals: Iterable[int],
        bounds: Mapping[str, float] | None,
    ) -> CSSP:
        """The arrays, validated.

        Raises
        ------
        InvalidProblem
            With everything found while the rows came in and everything the rules find now.
        """
        found = list(capped(iter(self.found)))
        num_states, num_rows = len(self.state_labels), len(self._row_states)
        # Stable, so that the actions of a state keep the order in which they were added.
        row_states = np.array(self._row_states, dtype=np.int64)
        order = np.argsort(row_states, kind="stable")
        row_start = np.zeros(num_states + 1, dtype=np.int64)
        np.cumsum(np.bincount(row_states, minlength=num_states), out=row_start[1:])

        ordered = order.tolist()
        counts = np.fromiter((len(self._successors[row]) for row in ordered), np.int64, num_rows)
        total = int(counts.sum())
        successors = chain.from_iterable(self._successors[row] for row in ordered)
        probabilities = chain.from_iterable(self._probabilities[row] for row in ordered)
        indices = np.fromiter(successors, np.int64, total)
        data = np.fromiter(probabilities, np.float64, total)
        transitions = csr_array(
            (data, indices, np.concatenate(([0], np.cumsum(counts)))), shape=(num_rows, num_states)
        )
        tidy(transitions)
        costs = np.array(self._costs, dtype=np.float64).reshape(num_rows, len(self.cost_names))[order].T

        distribution = np.zeros(num_states)
        for state, probability in initial.items():
            distribution[state] += probability
        mask = np.zeros(num_states, dtype=np.bool_)
        mask[list(goals)] = True
        limits: FloatArray = bound_array(bounds, self.cost_names, found)
        problem = CSSP.unchecked(
            transitions=transitions,
            row_start=row_start,
            costs=costs,
            initial=distribution,
            goals=mask,
            cost_names=self.cost_names,
            bounds=limits,
            state_labels=tuple(self.state_labels),
            action_labels=tuple(self._action_labels[row] for row in ordered),
        )
        found += violations(problem)
        if found:
            raise InvalidProblem(found)
        return problem


def tidy(transitions: csr_array) -> None:
    """Add up repeated successors and forget impossible ones, so that the pattern means reachability."""
    transitions.sum_duplicates()
    transitions.eliminate_zeros()
