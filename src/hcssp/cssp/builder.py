"""Ways to make a C-SSP: piece by piece with :class:`CSSPBuilder`, or from arrays with :func:`from_arrays`.

All end in an :class:`Assembly`, which collects states and rows in any order, and what is wrong with them; so
do the exploration of Python functions and the tables of problem files. A :class:`Table` is an assembly in
order, without a start and a goal, which several activities of a file share.

>>> plan = CSSPBuilder(cost_names=("time", "damage"))
>>> home, out = plan.add_state("home"), plan.add_goal("out")
>>> walk = plan.add_action(home, "walk", to=out, costs={"time": 10.0})
>>> run = plan.add_action(home, "run", to={out: 0.5, home: 0.5}, costs={"time": 1.0, "damage": 2.0})
>>> plan.set_initial(home)
>>> plan.set_bound("damage", at_most=1.0)
>>> problem = plan.build()
>>> problem.num_states, problem.num_rows, problem.costs.tolist()
(2, 2, [[10.0, 1.0], [0.0, 2.0]])

Violations are collected and raised together by :meth:`CSSPBuilder.build`:

>>> plan.set_bound("wear", at_most=1.0)
>>> leave = plan.add_action(home, "leave", to="garden")
>>> plan.build()
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: 2 violations:
  - state 'home', action 'leave': it leads to state 'garden', which is unknown; add it with add_state
  - bound on 'wear': no such secondary cost; the secondary costs are 'damage'

Arrays come in one of two layouts. *By state and action*: ``transitions[s, a, t]`` is the probability of
reaching ``t``; an action whose probabilities are all zero is not available there. *By rows*: ``transitions[r,
t]``, dense or sparse, with the state of each row in `row_states`.

>>> by_action = np.zeros((2, 2, 2))
>>> by_action[0, 0] = [0.0, 1.0]
>>> by_action[0, 1] = [0.5, 0.5]
>>> problem = from_arrays(by_action, {"time": [[3, 1], [0, 0]], "damage": [[0, 4], [0, 0]]},
...                       initial=0, goals=[1], bounds={"damage": 1.0})
>>> problem.costs.tolist(), problem.row_start.tolist()
([[3.0, 1.0], [0.0, 4.0]], [0, 2, 2])

>>> rows = from_arrays(by_action[0], {"time": [3, 1], "damage": [0, 4]}, row_states=[0, 0],
...                    initial=0, goals=[1])
>>> (rows.transitions != problem.transitions).nnz
0
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hcssp.cssp.arrays import as_array, as_sequence, sum_of_decimals, tidy
from hcssp.cssp.labels import RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import bound_array, capped, unknown_cost, violations
from hcssp.errors import InvalidProblem

Costs = float | Mapping[str, float] | Sequence[float]
"""The primary cost alone; costs by name, 0 where not named; or all of them in their order."""


@dataclass(frozen=True, eq=False)
class Table:
    """States, and rows sorted by them: a C-SSP without initial states and goals.

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

    @classmethod
    def sorted(
        cls,
        transitions: SparseMatrix,
        row_states: IntArray,
        costs: FloatArray,
        cost_names: tuple[str, ...],
        state_labels: Sequence[Hashable],
        action_labels: Sequence[Hashable],
        paid: TransitionCosts | None,
        kept: IntArray,
    ) -> Table:
        """Those of the rows that are `kept`, sorted by their states."""
        # Stable, so that the actions of a state keep the order in which they were added.
        order = kept[np.argsort(row_states[kept], kind="stable")]
        labels: Sequence[Hashable] = SelectedLabels(action_labels, order) if len(action_labels) else ()
        return cls(
            transitions=transitions[order],
            row_states=row_states[order],
            costs=costs[:, order],
            cost_names=cost_names,
            state_labels=state_labels,
            action_labels=tuple(labels) if isinstance(action_labels, tuple) else labels,
            origin=order,
            transition_costs=None if paid is None else paid.take(order),
        )

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
    """States, rows and transitions as they are added, in flat lists, with their errors so far."""

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
            Additional costs if the successor is reached, the costs of one transition after those of
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
        """`value` as a float; if it is not a number, a violation is noted and 0 is used instead."""
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
        num_rows, names = len(self._row_states), self.cost_names
        rows, successors = (np.array(each, dtype=np.int64) for each in (self._rows, self._successors))
        probabilities = np.array(self._probabilities, dtype=np.float64)
        costs = np.array(self._costs, dtype=np.float64).reshape(num_rows, len(names)).T
        paid: TransitionCosts | None = None
        if self._paid_on_arrival:
            chosen = np.array(self._paid_on_arrival, dtype=np.int64)
            extra = np.array(self._arrival_costs, dtype=np.float64).reshape(len(chosen), len(names)).T
            # An impossible successor costs nothing, not even if its cost is infinite.
            possible = probabilities[chosen] != 0.0
            chosen, extra = chosen[possible], extra[:, possible]
            total = sum_of_decimals(costs[:, rows[chosen]], extra)
            costs, paid = _by_outcome(costs, rows[chosen], successors[chosen], probabilities[chosen], total)
        transitions = csr_array((probabilities, (rows, successors)), shape=(num_rows, len(self.state_labels)))
        tidy(transitions)
        return Table.sorted(
            transitions,
            np.array(self._row_states, dtype=np.int64),
            costs,
            names,
            tuple(self.state_labels),
            tuple(self._action_labels),
            paid,
            np.arange(num_rows),
        )

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
        limits = bound_array(bounds, self.cost_names, found)
        return _validated(self.table().cssp(initial, goals, limits), found)


def _by_outcome(
    costs: FloatArray, rows: IntArray, states: IntArray, probabilities: FloatArray, total: FloatArray
) -> tuple[FloatArray, TransitionCosts | None]:
    """The expected costs of all rows, and the costs of single transitions where they differ.

    Parameters
    ----------
    costs
        The costs of the rows that are not listed.
    rows, states, probabilities, total
        The transitions of the others: the row, the state that is reached, the probability and all costs.
    """
    paid = TransitionCosts.of(rows, states, probabilities, total)
    costs = costs.copy()
    costs[:, rows] = total
    if paid is not None:
        differing, means = paid.expected()
        costs[:, differing] = means
    return costs, paid


def _validated(problem: CSSP, found: Sequence[str]) -> CSSP:
    """The problem if nothing was `found` while it was made, and no rule is broken."""
    every = [*found, *violations(problem)]
    if every:
        raise InvalidProblem(every)
    return problem


@dataclass(frozen=True)
class StateHandle:
    """A state of a builder, as :meth:`CSSPBuilder.add_state` returns it."""

    index: int
    label: Hashable


@dataclass(frozen=True)
class ActionHandle:
    """An action of a builder, as :meth:`CSSPBuilder.add_action` returns it."""

    state: StateHandle
    label: Hashable


StateLike = StateHandle | Hashable
"""A handle, or the label of a state that has been added before."""


class CSSPBuilder:
    """Collects states, actions, goals and bounds, and builds a :class:`~hcssp.cssp.model.CSSP`.

    Parameters
    ----------
    cost_names
        The primary cost, which is minimised, then the secondary ones.
    bounds
        Upper bounds on secondary costs, by name; more with :meth:`set_bound`.
    """

    def __init__(
        self, cost_names: Sequence[str] = ("cost",), bounds: Mapping[str, float] | None = None
    ) -> None:
        names = (cost_names,) if isinstance(cost_names, str) else tuple(cost_names)
        self._assembly = Assembly(names)
        self._states: list[StateHandle] = []
        self._goals: dict[int, None] = {}
        self._initial: dict[int, float] | None = None
        self._bounds = dict(bounds or {})

    def add_state(self, label: Hashable | None = None) -> StateHandle:
        """A new state; without a label it is called by its number."""
        index = self._assembly.state_index
        if label is None:
            label = len(index)
            while label in index:
                label += 1
        elif label in index:
            self._assembly.found.append(f"state {label!r}: two states have this label; give each its own")
            return self._states[index[label]]
        state = StateHandle(self._assembly.add_state(label), label)
        self._states.append(state)
        return state

    def add_goal(self, state: StateLike | None = None) -> StateHandle:
        """Make a state a goal; a label that is new adds the state as well."""
        if isinstance(state, StateHandle):
            if self._index("add_goal names", state) is None:
                return state
            goal = state
        elif state is not None and state in self._assembly.state_index:
            goal = self._states[self._assembly.state_index[state]]
        else:
            goal = self.add_state(state)
        self._goals[goal.index] = None
        return goal

    def add_action(
        self,
        state: StateLike,
        label: Hashable,
        to: Mapping[Any, float] | StateLike,
        costs: Costs = 0.0,
        arrival_costs: Mapping[Any, Costs] | None = None,
    ) -> ActionHandle:
        """An action of `state`.

        Parameters
        ----------
        state
            Where the action is available.
        label
            Its name, unique in the state.
        to
            From next states to their probabilities; a single state is reached with certainty.
        costs
            Paid whenever the action is taken: by name (0 where not named), in the order of the
            costs, or a number for the primary cost alone.
        arrival_costs
            Paid in addition if that next state is reached: costs that depend on the outcome.
        """
        assembly = self._assembly
        name = _label(state)
        place = f"state {name!r}, action {label!r}"
        index = self._index(f"{place}: it belongs to", state)
        outcomes: Mapping[Any, float] = to if isinstance(to, Mapping) else {to: 1.0}
        successors: list[int] = []
        probabilities: list[float] = []
        vector = assembly.cost_vector(place, costs)
        arrivals = dict(arrival_costs or {})
        paid: list[float] = []
        for reached, given in outcomes.items():
            successor = self._index(f"{place}: it leads to", reached)
            shown = _label(reached)
            probability = assembly.number(f"{place}: the probability of reaching state {shown!r}", given)
            # An unknown state has been reported; a self-loop in its place avoids a second message about sums.
            successors.append(successor if successor is not None else index or 0)
            probabilities.append(probability)
            if arrival_costs:
                paid += assembly.cost_vector(f"{place}, next state {shown!r}", arrivals.pop(reached, 0.0))
        assembly.found += [
            f"{place}: arrival_costs names state {_label(reached)!r}, which `to` does not; "
            "name it the same way"
            for reached in arrivals
        ]
        if index is not None:
            row = assembly.add_row(index, label, vector)
            rows = [row] * len(successors)
            assembly.add_transitions(rows, successors, probabilities, paid if arrival_costs else None)
            return ActionHandle(self._states[index], label)
        return ActionHandle(StateHandle(-1, name), label)

    def set_initial(self, initial: StateLike | Mapping[Any, float]) -> None:
        """Set the initial state, or a distribution over initial states; replaces an earlier setting."""
        distribution: Mapping[Any, float] = initial if isinstance(initial, Mapping) else {initial: 1.0}
        indices: dict[int, float] = {}
        for state, given in distribution.items():
            shown = _label(state)
            probability = self._assembly.number(f"state {shown!r}: its initial probability", given)
            index = self._index("the initial distribution names", state)
            # An unknown state has been reported; its probability goes to the first, so that the sum is one.
            indices[index or 0] = indices.get(index or 0, 0.0) + probability
        self._initial = indices

    def set_bound(self, name: str, at_most: float) -> None:
        """Bound the expected sum of the secondary cost `name`."""
        self._bounds[name] = at_most

    def build(self) -> CSSP:
        """The frozen problem. The first state added is the initial one unless another was set.

        Raises
        ------
        InvalidProblem
            With all violations, if there are any.
        """
        initial = {0: 1.0} if self._initial is None else self._initial
        if not self._states:
            initial = {}
        return self._assembly.build(initial, self._goals, self._bounds)

    def _index(self, role: str, state: StateLike) -> int | None:
        """The index of a handle or label, or None with a violation noted."""
        if isinstance(state, StateHandle):
            if state.index < len(self._states) and self._states[state.index] is state:
                return state.index
            problem, shown = "was made by another builder; add it to this one", state.label
        else:
            known = self._assembly.state_index.get(state)
            if known is not None:
                return known
            problem, shown = "is unknown; add it with add_state", state
        self._assembly.found.append(f"{role} state {shown!r}, which {problem}")
        return None


def _label(state: StateLike) -> Hashable:
    return state.label if isinstance(state, StateHandle) else state


def from_arrays(
    transitions: npt.ArrayLike | SparseMatrix,
    costs: Mapping[str, npt.ArrayLike | SparseMatrix],
    *,
    initial: int | npt.ArrayLike,
    goals: npt.ArrayLike,
    row_states: npt.ArrayLike | None = None,
    bounds: Mapping[str, float] | None = None,
    state_labels: Sequence[Hashable] = (),
    action_labels: Sequence[Hashable] = (),
) -> CSSP:
    """Build a C-SSP from arrays.

    Parameters
    ----------
    transitions
        Shape ``(states, actions, states)``, or ``(rows, states)`` together with `row_states`.
    costs
        From names to arrays, the primary cost first. Each is a number, or has the shape of
        `transitions`, which means costs on ``(s, a, s')``, or that shape without its last axis.
    initial
        The index of the initial state, or a probability for each state.
    goals
        The indices of the goals, or a truth value for each state.
    row_states
        The state of each row; any order.
    bounds
        Upper bounds on secondary costs, by name.
    state_labels
        What people call the states.
    action_labels
        What people call the actions: one label for each action, or for each row.

    Raises
    ------
    InvalidProblem
        With all violations, if there are any.
    """
    found: list[str] = []
    matrix, row_states, leading = _rows(transitions, row_states)
    labels = as_sequence("state_labels", state_labels, found)
    actions = as_sequence("action_labels", action_labels, found)
    num_rows, num_states = matrix.shape
    given = [_cost(name, each, matrix, leading, found) for name, each in costs.items()]
    mask = _goal_mask(goals, num_states, found)
    distribution = _distribution(initial, num_states, found)
    kept = np.arange(num_rows)
    if len(leading) == 2:
        # An action without successors is not available.
        kept = np.flatnonzero(np.diff(matrix.indptr) > 0)
        actions = _names_by_action(actions, leading, found)
    elif len(actions) not in (0, num_rows):
        found.append(f"action_labels has {len(actions)} labels, but there are {num_rows} rows")
        actions = ()
    if len(labels) not in (0, num_states):
        found.append(f"state_labels has {len(labels)} labels, but there are {num_states} states")
        labels = ()
    outside = np.flatnonzero((row_states < 0) | (row_states >= num_states))
    known = f"the states are 0 to {num_states - 1}"
    found += [f"row {row}: its state is {row_states[row]}, which is unknown; {known}" for row in outside]
    limits = bound_array(bounds, tuple(costs), found)
    if len(outside):
        raise InvalidProblem(found)
    entry_row = np.repeat(np.arange(num_rows), np.diff(matrix.indptr))
    vectors = np.zeros((len(given), num_rows))
    for vector, (numbers, on_transitions) in zip(vectors, given, strict=True):
        if not on_transitions:
            vector[:] = numbers
    paid: TransitionCosts | None = None
    if any(on_transitions for _, on_transitions in given):
        each = [numbers if on_transitions else numbers[entry_row] for numbers, on_transitions in given]
        vectors, paid = _by_outcome(vectors, entry_row, matrix.indices, matrix.data, np.array(each))
    table = Table.sorted(
        matrix, row_states, vectors, tuple(costs), labels or range(num_states), actions, paid, kept
    )
    begin = {state: float(distribution[state]) for state in np.flatnonzero(distribution).tolist()}
    return _validated(table.cssp(begin, np.flatnonzero(mask).tolist(), limits), found)


def _rows(
    transitions: Any, row_states: npt.ArrayLike | None
) -> tuple[SparseMatrix, IntArray, tuple[int, ...]]:
    """Transitions by row, the state of each row, and the shape of one cost."""
    given: Any = transitions
    found: list[str] = []
    if not issparse(given):
        given = as_array("transitions", given, np.float64, False, found)
    if row_states is not None:
        row_states = as_array("row_states", row_states, np.int64, False, found)
    if found:
        raise InvalidProblem(found)
    if given.ndim == 3 and row_states is None:
        num_states, num_actions = given.shape[:2]
        if given.shape[2] != num_states:
            raise InvalidProblem(
                [f"transitions has shape {given.shape}; the first and last axis must be equal"]
            )
        leading: tuple[int, ...] = (num_states, num_actions)
        given = given.reshape(num_states * num_actions, num_states)
        states = np.repeat(np.arange(num_states), num_actions)
    elif given.ndim == 2 and row_states is not None:
        states = np.asarray(row_states)
        leading = (given.shape[0],)
        if states.shape != leading:
            raise InvalidProblem(
                [f"row_states has shape {states.shape}, but transitions has {given.shape[0]} rows"]
            )
    else:
        without = "without" if row_states is None else "with"
        raise InvalidProblem(
            [
                f"transitions has shape {given.shape} {without} row_states; "
                "give (states, actions, states) without, or (rows, states) with row_states"
            ]
        )
    # A copy, because it is put in order and the user's own matrix must stay as it is.
    matrix: SparseMatrix = csr_array(given, dtype=np.float64, copy=True)
    tidy(matrix)
    return matrix, states, leading


def _cost(
    name: str, costs: Any, matrix: SparseMatrix, leading: tuple[int, ...], found: list[str]
) -> tuple[FloatArray, bool]:
    """A cost of each row, or of each stored transition and True."""
    num_rows, num_states = matrix.shape
    rows = np.repeat(np.arange(num_rows), np.diff(matrix.indptr))
    given: Any = costs
    if issparse(costs):
        if given.shape == matrix.shape:
            return np.asarray(csr_array(given, dtype=np.float64)[rows, matrix.indices]).ravel(), True
    else:
        unfit: list[str] = []
        given = as_array(f"the cost {name!r}", given, np.float64, False, unfit)
        if unfit:
            found += unfit
            return np.zeros(num_rows), False
        if given.shape == ():
            return np.full(num_rows, float(given)), False
        if given.shape == leading:
            return given.reshape(num_rows), False
        if given.shape == (*leading, num_states):
            return given.reshape(num_rows, num_states)[rows, matrix.indices], True
    shapes = f"a number, {leading} or {(*leading, num_states)}"
    found.append(f"the cost {name!r} has shape {given.shape}; give {shapes}")
    return np.zeros(num_rows), False


def _goal_mask(goals: npt.ArrayLike, num_states: int, found: list[str]) -> BoolArray:
    mask = np.zeros(num_states, dtype=np.bool_)
    numbers = as_array("goals", goals, np.float64, False, found)
    if numbers.size and np.asarray(goals).dtype == np.bool_:
        if numbers.shape != (num_states,):
            found.append(f"goals has shape {numbers.shape}, but there are {num_states} states")
            return mask
        return numbers.astype(np.bool_)
    for state in numbers.ravel().tolist():
        if state in range(num_states):
            mask[int(state)] = True
        else:
            known = f"the states are 0 to {num_states - 1}"
            found.append(f"the goal is state {state:.10g}, which is unknown; {known}")
    return mask


def _distribution(initial: int | npt.ArrayLike, num_states: int, found: list[str]) -> FloatArray:
    unfit: list[str] = []
    numbers = as_array("initial", initial, np.float64, True, unfit)
    if not unfit and numbers.shape == (num_states,):
        return numbers
    distribution = np.zeros(num_states)
    if unfit:
        found += unfit
    elif numbers.ndim == 0 and np.issubdtype(np.asarray(initial).dtype, np.integer):
        if 0 <= numbers < num_states:
            distribution[int(numbers)] = 1.0
            return distribution
        known = f"the states are 0 to {num_states - 1}"
        found.append(f"the initial state is {int(numbers)}, which is unknown; {known}")
    else:
        found.append(f"initial has shape {numbers.shape}; give a state's index or {num_states} probabilities")
    # The error has been reported; any distribution avoids a second message.
    distribution[:1] = 1.0
    return distribution


def _names_by_action(
    action_labels: Sequence[Hashable], leading: tuple[int, ...], found: list[str]
) -> Sequence[Hashable]:
    num_states, num_actions = leading
    names = tuple(action_labels) or tuple(range(num_actions))
    if len(names) != num_actions:
        found.append(f"action_labels has {len(names)} labels, but there are {num_actions} actions")
        names = tuple(range(num_actions))
    return RepeatedNames(names, np.tile(np.arange(num_actions), num_states))
