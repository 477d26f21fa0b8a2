"""From rows told one by one, in any order, to the arrays of a validated C-SSP.

All makers that listen to people end here: the builder, the exploration of Python functions, and the tables of
problem files, which several activities share and which know no start and no goal (:class:`Table`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.conversion import tidy
from hcssp.cssp.decimals import sum_of_decimals
from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import bound_array, capped, unknown_cost, violations
from hcssp.errors import InvalidProblem

Costs = float | Mapping[str, float] | Sequence[float]
"""The primary cost alone; costs by name, 0 where not named; or all of them in their order."""


@dataclass(frozen=True, eq=False)
class Table:
    """States, and rows sorted by them: a C-SSP before anybody has said where it begins and ends.

    Attributes
    ----------
    row_states
        The state of each row.
    origin
        The number that each row was given when it was added.
    transitions, costs, cost_names, state_labels, action_labels, transition_costs
        As in :class:`~hcssp.cssp.model.CSSP`.
    """

    transitions: SparseMatrix
    row_states: IntArray
    costs: FloatArray
    cost_names: tuple[str, ...]
    state_labels: Sequence[Hashable]
    action_labels: Sequence[Hashable]
    origin: IntArray
    transition_costs: TransitionCosts | None = None

    @property
    def num_states(self) -> int:
        return len(self.state_labels)

    def without_actions_of(self, states: Collection[int]) -> Table:
        """The same without the rows of some states."""
        gone = np.zeros(self.num_states, dtype=np.bool_)
        gone[list(states)] = True
        left_out = gone[self.row_states]
        if not left_out.any():
            return self
        kept = np.flatnonzero(~left_out)
        return replace(
            self,
            transitions=self.transitions[kept],
            row_states=self.row_states[kept],
            costs=self.costs[:, kept],
            action_labels=SelectedLabels(self.action_labels, kept),
            origin=self.origin[kept],
            transition_costs=None if self.transition_costs is None else self.transition_costs.take(kept),
        )

    @property
    def gives_back(self) -> bool:
        """Whether a row or one of its outcomes has a negative cost."""
        paid = self.transition_costs
        return self.costs.min(initial=0.0) < 0.0 or (paid is not None and paid.costs.min() < 0.0)

    def with_costs(self, names: tuple[str, ...]) -> Table:
        """The same with some of the costs only, and 0 for what is given back: a cost is never negative."""
        places = [self.cost_names.index(name) for name in names]
        costs, paid = np.maximum(self.costs[places], 0.0), self.transition_costs
        if paid is not None:
            paid = replace(paid, costs=np.maximum(paid.costs[places], 0.0))
            rows, expected = paid.expected()
            costs[:, rows] = expected
            paid = paid.paying(paid.costs)
        return replace(self, costs=costs, cost_names=names, transition_costs=paid)

    def cssp(
        self, initial: Mapping[int, float], goals: Collection[int], bounds: FloatArray | None = None
    ) -> CSSP:
        """The arrays with a beginning, an end and bounds, not validated."""
        row_start = np.zeros(self.num_states + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.row_states, minlength=self.num_states), out=row_start[1:])
        distribution = np.zeros(self.num_states)
        for state, probability in initial.items():
            distribution[state] += probability
        mask = np.zeros(self.num_states, dtype=np.bool_)
        mask[list(goals)] = True
        return CSSP.unchecked(
            transitions=self.transitions,
            row_start=row_start,
            costs=self.costs,
            initial=distribution,
            goals=mask,
            cost_names=self.cost_names,
            bounds=np.full(max(len(self.cost_names) - 1, 0), np.inf) if bounds is None else bounds,
            state_labels=self.state_labels,
            action_labels=self.action_labels,
            transition_costs=self.transition_costs,
        )


class Assembly:
    """States, rows and transitions as they come, in flat lists, and what is wrong with them so far."""

    def __init__(self, cost_names: Sequence[str]) -> None:
        self.cost_names = tuple(cost_names)
        self.found: list[str] = []
        self.state_labels: list[Hashable] = []
        self.state_index: dict[Hashable, int] = {}
        self._row_states: list[int] = []
        self._action_labels: list[Hashable] = []
        self._costs: list[float] = []
        self._rows: list[int] = []
        self._successors: list[int] = []
        self._probabilities: list[float] = []
        self._paid_on_arrival: list[int] = []
        self._arrival_costs: list[float] = []

    def add_state(self, label: Hashable) -> int:
        """Append a state and give its index; the label must be new."""
        index = len(self.state_labels)
        self.state_labels.append(label)
        self.state_index[label] = index
        return index

    def add_row(self, state: int, label: Hashable, costs: Sequence[float]) -> int:
        """Append an action of `state` and give its number; rows may come in any order of states."""
        self._row_states.append(state)
        self._action_labels.append(label)
        self._costs.extend(costs)
        return len(self._row_states) - 1

    def add_transitions(
        self,
        rows: Sequence[int],
        successors: Sequence[int],
        probabilities: Sequence[float],
        arrival_costs: Sequence[float] | None = None,
    ) -> None:
        """Let rows lead to states, in any order of rows.

        Parameters
        ----------
        rows, successors, probabilities
            One of each for every transition.
        arrival_costs
            What is paid in addition if the successor is reached, the costs of one transition after those of
            another; for all transitions of a row or for none.
        """
        if arrival_costs is not None:
            begin = len(self._rows)
            self._paid_on_arrival.extend(range(begin, begin + len(rows)))
            self._arrival_costs.extend(arrival_costs)
        self._rows.extend(rows)
        self._successors.extend(successors)
        self._probabilities.extend(probabilities)

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
                    self.found.append(f"{place}: {unknown_cost(name, names)}")
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

    def table(self) -> Table:
        """Everything so far, sorted by states."""
        num_rows, states = len(self._row_states), np.array(self._row_states, dtype=np.int64)
        # Stable, so that the actions of a state keep the order in which they were added.
        order = np.argsort(states, kind="stable")
        position = np.argsort(order)
        probabilities = np.array(self._probabilities, dtype=np.float64)
        costs = np.array(self._costs, dtype=np.float64).reshape(num_rows, len(self.cost_names)).T
        paid: TransitionCosts | None = None
        if self._paid_on_arrival:
            costs, paid = self._with_arrivals(costs, probabilities, position)
        rows, successors = (np.array(each, dtype=np.int64) for each in (self._rows, self._successors))
        transitions = csr_array(
            (probabilities, (position[rows], successors)), shape=(num_rows, len(self.state_labels))
        )
        tidy(transitions)
        return Table(
            transitions=transitions,
            row_states=states[order],
            costs=costs[:, order],
            cost_names=self.cost_names,
            state_labels=tuple(self.state_labels),
            action_labels=tuple([self._action_labels[row] for row in order.tolist()]),
            origin=order,
            transition_costs=paid,
        )

    def _with_arrivals(
        self, costs: FloatArray, probabilities: FloatArray, position: IntArray
    ) -> tuple[FloatArray, TransitionCosts | None]:
        """The expected costs of all rows, and those of single transitions.

        Parameters
        ----------
        costs
            What each row costs whatever state is reached.
        probabilities
            Of all transitions.
        position
            The place of each row among those that are sorted by states.
        """
        chosen = np.array(self._paid_on_arrival, dtype=np.int64)
        extra = np.array(self._arrival_costs, dtype=np.float64).reshape(len(chosen), len(self.cost_names)).T
        # An impossible successor costs nothing, not even if its cost is infinite.
        possible = probabilities[chosen] != 0.0
        chosen, extra = chosen[possible], extra[:, possible]
        rows, states = (np.array(each, dtype=np.int64)[chosen] for each in (self._rows, self._successors))
        total = sum_of_decimals(costs[:, rows], extra)
        paid = TransitionCosts.of(rows, states, probabilities[chosen], total)
        costs = costs.copy()
        costs[:, rows] = total
        if paid is None:
            return costs, None
        differing, means = paid.expected()
        costs[:, differing] = means
        return costs, TransitionCosts.of(position[paid.rows], paid.states, paid.probabilities, paid.costs)

    def build(
        self,
        initial: Mapping[int, float],
        goals: Collection[int],
        bounds: Mapping[str, float] | None,
    ) -> CSSP:
        """The arrays, validated.

        Raises
        ------
        InvalidProblem
            With everything found while the rows came in and everything the rules find now.
        """
        found = list(capped(iter(self.found)))
        problem = self.table().cssp(initial, goals, bound_array(bounds, self.cost_names, found))
        found += violations(problem)
        if found:
            raise InvalidProblem(found)
        return problem
