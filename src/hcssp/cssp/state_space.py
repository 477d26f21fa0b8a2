"""State spaces that are functions: queried state by state, or for many states at once.

The states are numbered in the order in which they are met (:class:`StateNumbers`): hashable states, or rows
of whole numbers. A function that knows the transitions of many states returns a :class:`TransitionBatch`. On
a line of integers, where a step to the right succeeds three times in four:

>>> def steps(states):
...     count = len(states)
...     return TransitionBatch(
...         states=np.arange(count),
...         actions=np.zeros(count, dtype=int),
...         costs=np.ones((1, count)),
...         rows=np.repeat(np.arange(count), 2),
...         successors=np.repeat(states, 2, axis=0) + np.tile([[1], [0]], (count, 1)),
...         probabilities=np.tile([0.75, 0.25], count),
...     )
>>> steps(np.array([[4], [7]])).successors.ravel().tolist()
[5, 4, 8, 7]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from hcssp.cssp.arrays import sum_of_decimals
from hcssp.cssp.builder import Assembly, Costs
from hcssp.cssp.labels import TupleLabels
from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import capped
from hcssp.errors import InvalidProblem
from hcssp.numerics import PROBABILITY_TOLERANCE

LEAST_ROOM = 64


class GrowingArray:
    """An array whose last axis grows; :attr:`view` is what is there.

    >>> numbers = GrowingArray(np.int64)
    >>> numbers.append(np.arange(3)), numbers.append(np.array([9]))
    (None, None)
    >>> numbers.view.tolist(), len(numbers)
    ([0, 1, 2, 9], 4)

    Parameters
    ----------
    kind
        The kind of its numbers.
    rows
        The length of a first axis that does not grow; None if there is but one axis.
    """

    def __init__(self, kind: type[np.generic], rows: int | None = None) -> None:
        self._rows = rows
        self._length = 0
        self._room: npt.NDArray[Any] = np.zeros(self._shape(LEAST_ROOM), dtype=kind)

    def _shape(self, length: int) -> tuple[int, ...]:
        return (length,) if self._rows is None else (self._rows, length)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> npt.NDArray[Any]:
        """The present content; a view does not change when more is appended."""
        return self._room[..., : self._length]

    @property
    def nbytes(self) -> int:
        """The memory that is taken."""
        return int(self._room.nbytes)

    def append(self, values: npt.ArrayLike) -> None:
        """Add `values` at the end."""
        added = np.asarray(values)
        length = self._length + added.shape[-1]
        if length > self._room.shape[-1]:
            room = np.zeros(self._shape(max(length, 2 * self._room.shape[-1])), dtype=self._room.dtype)
            room[..., : self._length] = self.view
            self._room = room
        self._room[..., self._length : length] = added
        self._length = length


class StateNumbers(Protocol):
    """Numbers for the states of an implicit problem, in the order in which they are met."""

    def __len__(self) -> int: ...

    def of(self, states: Any) -> IntArray:
        """The number of each state; one that was never met gets the next."""

    def find(self, state: Any) -> int | None:
        """The number of a state; None if it was never met."""

    def states(self, numbers: IntArray) -> Any:
        """The states of these numbers, as the problem's functions take them."""

    def label(self, number: int) -> Hashable:
        """The label of the state of a number."""

    def labels(self) -> Sequence[Hashable]:
        """A label for every state met so far."""


class HashableNumbers:
    """Of any hashable states, one by one; several states are a list."""

    def __init__(self) -> None:
        self._states: list[Hashable] = []
        self._number: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._states)

    def of(self, states: Sequence[Hashable]) -> IntArray:
        number, met = self._number, self._states
        found = [number.setdefault(state, len(number)) for state in states]
        # New keys are the last ones, in the order in which they were met.
        met += list(islice(reversed(number), len(number) - len(met)))[::-1]
        return np.array(found, dtype=np.int64)

    def find(self, state: Hashable) -> int | None:
        return self._number.get(state)

    def states(self, numbers: IntArray) -> list[Any]:
        return [self._states[number] for number in numbers.tolist()]

    def label(self, number: int) -> Hashable:
        return self._states[number]

    def labels(self) -> Sequence[Hashable]:
        return tuple(self._states)


class RowNumbers:
    """Of states that are rows of `width` whole numbers; several states are an array of shape (n, width).

    >>> numbers = RowNumbers(width=2)
    >>> numbers.of(np.array([[3, 4], [5, 6], [3, 4]])).tolist()
    [0, 1, 0]
    >>> numbers.of(np.array([[7, 7], [5, 6]])).tolist(), len(numbers)
    ([2, 1], 3)
    >>> numbers.find((5, 6)), numbers.find((9, 9))
    (1, None)
    """

    def __init__(self, width: int) -> None:
        self._width = width
        # By the bytes of a row, which are found as quickly as any hash of many rows at once.
        self._rows = HashableNumbers()

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, states: npt.ArrayLike) -> IntArray:
        rows = np.ascontiguousarray(states, dtype=np.int64).reshape(-1, self._width)
        return self._rows.of(rows.view(f"V{rows.itemsize * self._width}").ravel().tolist())

    def find(self, state: Any) -> int | None:
        try:
            row = np.asarray(state, dtype=np.int64).reshape(self._width)
        except (TypeError, ValueError):
            return None
        return self._rows.find(row.tobytes())

    def states(self, numbers: IntArray) -> IntArray:
        rows = bytearray(b"".join(self._rows.states(numbers)))
        return np.frombuffer(rows, dtype=np.int64).reshape(-1, self._width)

    def label(self, number: int) -> Hashable:
        return tuple(self.states(np.array([number]))[0].tolist())

    def labels(self) -> Sequence[Hashable]:
        return TupleLabels(self.states(np.arange(len(self))))


@dataclass(frozen=True, eq=False)
class TransitionBatch:
    """The rows of some states, and their transitions.

    Attributes
    ----------
    states
        For each row, the position of its state among those that were queried; in any order.
    actions
        For each row its action: the position of its name among the problem's action names.
    costs
        Expected costs of each row, shape ``(num_costs, num_rows)``, the primary first; or one axis, for the
        primary alone.
    rows
        For each transition, the position of its row in this batch; in any order.
    successors
        For each transition, the state that it leads to: an array with a row for each.
    probabilities
        Of each transition. An impossible one may be there, and is left out.
    arrival_costs
        Paid in addition if the transition is taken, shape ``(num_costs, num_transitions)``; None for nothing.
    """

    states: npt.ArrayLike
    actions: npt.ArrayLike
    costs: npt.ArrayLike
    rows: npt.ArrayLike
    successors: Any
    probabilities: npt.ArrayLike
    arrival_costs: npt.ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class SortedBatch:
    """A batch that was checked: rows sorted by states, transitions by rows, none of them impossible.

    Attributes
    ----------
    counts
        How many rows each state has.
    actions
        Of each row.
    costs
        The expected costs of each row.
    lengths
        How many transitions each row has.
    successors, probabilities
        Of each transition.
    transition_costs
        The costs of each transition, in full; None if they are those of its row.
    """

    counts: IntArray
    actions: IntArray
    costs: FloatArray
    lengths: IntArray
    successors: Any
    probabilities: FloatArray
    transition_costs: FloatArray | None = None


def sorted_batch(
    batch: TransitionBatch, labels: Sequence[Hashable], cost_names: Sequence[str], names: Sequence[Hashable]
) -> SortedBatch:
    """Check a batch and bring it into order.

    Parameters
    ----------
    batch
        The answer of the function.
    labels
        The labels of the states that were queried.
    cost_names
        The names of the costs.
    names
        The names of the actions.

    Raises
    ------
    InvalidProblem
        With everything that is wrong.
    """
    states, actions, costs, rows, probabilities = _arrays(batch, len(cost_names))
    unfit = list(_misfits(batch, states, actions, costs, rows, probabilities, len(labels), len(names)))
    if unfit:
        raise InvalidProblem(f"a batch of transitions: {each}" for each in unfit)
    paid = _transition_costs(batch, costs, rows)
    if paid is not None:
        paid = np.where(probabilities > 0.0, paid, 0.0)
        costs = costs.copy()
        costs[:, rows[probabilities > 0.0]] = paid[:, probabilities > 0.0]
        differing = TransitionCosts.of(rows, np.arange(len(rows)), probabilities, paid)
        if differing is not None:
            places, means = differing.expected()
            costs[:, places] = means
        # A wrong cost of a transition is reported as one of its row; a mean could hide it.
        for cost, entry in np.argwhere(~((paid >= 0.0) & (paid < np.inf))).tolist():
            costs[cost, rows[entry]] = paid[cost, entry]
    found = list(capped(_violations(states, actions, costs, rows, probabilities, labels, cost_names, names)))
    if found:
        raise InvalidProblem(found)
    if np.any(np.diff(states) < 0):
        order = np.argsort(states, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        states, actions, costs, rows = states[order], actions[order], costs[:, order], place[rows]
    possible = np.flatnonzero(probabilities > 0.0)
    if len(possible) < len(probabilities) or np.any(np.diff(rows) < 0):
        chosen = possible[np.argsort(rows[possible], kind="stable")]
        rows, probabilities = rows[chosen], probabilities[chosen]
        paid = None if paid is None else paid[:, chosen]
        successors = (
            batch.successors[chosen]
            if isinstance(batch.successors, np.ndarray)
            else [batch.successors[position] for position in chosen.tolist()]
        )
    else:
        successors = batch.successors
    return SortedBatch(
        counts=np.bincount(states, minlength=len(labels)),
        actions=actions,
        costs=costs,
        lengths=np.bincount(rows, minlength=len(states)),
        successors=successors,
        probabilities=probabilities,
        transition_costs=paid,
    )


def _transition_costs(batch: TransitionBatch, costs: FloatArray, rows: IntArray) -> FloatArray | None:
    """What each transition costs in all; None if none is paid for by itself."""
    if batch.arrival_costs is None:
        return None
    try:
        extra = np.asarray(batch.arrival_costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidProblem(
            [f"a batch of transitions: arrival_costs is not an array of numbers: {error}"]
        ) from error
    shape = (len(costs), len(rows))
    if extra.shape != shape:
        raise InvalidProblem([f"a batch of transitions: arrival_costs has shape {extra.shape}; give {shape}"])
    return sum_of_decimals(costs[:, rows], extra)


def _arrays(
    batch: TransitionBatch, num_costs: int
) -> tuple[IntArray, IntArray, FloatArray, IntArray, FloatArray]:
    try:
        costs = np.asarray(batch.costs, dtype=np.float64)
        if costs.ndim == 1:
            costs = np.concatenate((costs[np.newaxis], np.zeros((num_costs - 1, len(costs)))))
        return (
            np.asarray(batch.states, dtype=np.int64),
            np.asarray(batch.actions, dtype=np.int64),
            costs,
            np.asarray(batch.rows, dtype=np.int64),
            np.asarray(batch.probabilities, dtype=np.float64),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidProblem([f"a batch of transitions is not made of arrays of numbers: {error}"]) from error


def _misfits(
    batch: TransitionBatch,
    states: IntArray,
    actions: IntArray,
    costs: FloatArray,
    rows: IntArray,
    probabilities: FloatArray,
    num_states: int,
    num_actions: int,
) -> Iterator[str]:
    """What does not fit together, so that nothing else can be looked at."""
    if not (states.ndim == 1 and states.shape == actions.shape == costs.shape[1:]):
        yield (
            f"it has {states.shape} states, {actions.shape} actions and costs of shape {costs.shape}; "
            "give one of each for every row"
        )
        return
    if not (rows.ndim == 1 and rows.shape == probabilities.shape and len(batch.successors) == len(rows)):
        yield (
            f"it has {rows.shape} rows, {len(batch.successors)} successors and {probabilities.shape} "
            "probabilities; give one of each for every transition"
        )
        return
    for what, values, below in (
        ("states", states, num_states),
        ("actions", actions, num_actions),
        ("rows", rows, len(states)),
    ):
        if len(values) and not (values.min() >= 0 and values.max() < below):
            wrong = values[(values < 0) | (values >= below)][0]
            yield f"{what} contains {wrong}; it must be at least 0 and below {below}"


def _violations(
    states: IntArray,
    actions: IntArray,
    costs: FloatArray,
    rows: IntArray,
    probabilities: FloatArray,
    labels: Sequence[Hashable],
    cost_names: Sequence[str],
    names: Sequence[Hashable],
) -> Iterator[str]:
    def place(row: int) -> str:
        return f"state {labels[int(states[row])]!r}, action {names[int(actions[row])]!r}"

    if len(costs) != len(cost_names):
        yield f"a batch of transitions has {len(costs)} costs, but the problem has {len(cost_names)}"
        return
    if not (len(costs.ravel()) == 0 or (costs.min() >= 0.0 and costs.max() < np.inf)):
        for cost, row in np.argwhere(~((costs >= 0.0) & (costs < np.inf))).tolist():
            value, name = float(costs[cost, row]), cost_names[cost]
            yield f"{place(row)}: the cost {name!r} is {value}; costs must be finite and not negative"
    negative = np.flatnonzero(~(probabilities >= 0.0))
    for entry in negative.tolist():
        yield f"{place(int(rows[entry]))}: probability {probabilities[entry]} is not a non-negative number"
    if len(negative):
        return
    sums = np.bincount(rows, weights=probabilities, minlength=len(states))
    for row in np.flatnonzero(~(np.abs(sums - 1.0) <= PROBABILITY_TOLERANCE)).tolist():
        yield f"{place(row)}: probabilities sum to {float(sums[row]):.10g}, not 1"


Successors = Mapping[Any, float] | Iterable[tuple[Any, float] | tuple[Any, float, Costs]]
"""From next states to their probabilities: a mapping, or pairs; or triples, with additional costs."""


def outcomes_of(successors: Successors) -> Iterator[tuple[Any, float, Costs | None]]:
    """The next states, their probabilities, and the additional costs if they are given with them."""
    if isinstance(successors, Mapping):
        for state, probability in successors.items():
            yield state, probability, None
    else:
        for each in successors:
            state, probability, *costs = each
            yield state, probability, costs[0] if costs else None


class StateSpace(Protocol):
    """The interface of a state space; several states are a list or an array, as its functions take them.

    Attributes
    ----------
    initial
        The first states, and how probable each is.
    action_names
        The names of the actions met so far; the list may grow.
    """

    initial: tuple[Any, list[float]]
    action_names: list[Hashable]

    def numbers(self) -> StateNumbers:
        """An empty table of states."""

    def beginning_in(self, label: Hashable) -> Self:
        """The same space that begins in the state of a label.

        Raises
        ------
        InvalidProblem
            If that cannot be a state.
        """

    def goals(self, states: Any) -> BoolArray:
        """Which of `states` end everything."""

    def transitions(self, states: Any) -> TransitionBatch:
        """What can be done in `states`, none of which is a goal."""

    def heuristics(self, states: Any) -> FloatArray | None:
        """For each cost and state, a lower bound on the cost-to-go; None if there are none."""

    def together(self, weights: FloatArray, states: Any) -> FloatArray | None:
        """For each state, a lower bound on the cost-to-go of all costs together under `weights`.

        None if no more is known than of each cost by itself.
        """


class ActionCodes:
    """Numbers for actions, in the order in which they are met.

    >>> codes = ActionCodes()
    >>> codes.of("walk"), codes.of("wait"), codes.of("walk"), codes.names
    (0, 1, 0, ['walk', 'wait'])
    """

    def __init__(self) -> None:
        self.names: list[Hashable] = []
        self._number: dict[Hashable, int] = {}

    def of(self, action: Hashable) -> int:
        """The number of an action, met before or not."""
        number = self._number.get(action)
        if number is None:
            number = self._number[action] = len(self.names)
            self.names.append(action)
        return number


class FunctionSpace:
    """A space whose functions take one state at a time; states and actions are any hashable values.

    Parameters
    ----------
    initial
        The initial state, or a mapping from states to probabilities.
    actions, transitions, costs, is_goal, arrival_costs
        As for :func:`~hcssp.cssp.implicit.explore`.
    heuristics
        Lower bounds on the costs-to-go of a state: by name, in their order, or of the primary cost alone;
        with a method ``together``, also of all costs under weights.
    cost_names
        The primary cost, then the secondary ones.
    """

    def __init__(
        self,
        initial: Hashable | Mapping[Any, float],
        actions: Callable[[Any], Iterable[Hashable]],
        transitions: Callable[[Any, Any], Successors],
        costs: Callable[[Any, Any], Costs],
        is_goal: Callable[[Any], bool],
        heuristics: Callable[[Any], Costs] | None,
        cost_names: Sequence[str],
        arrival_costs: Callable[[Any, Any, Any], Costs] | None = None,
    ) -> None:
        first: Mapping[Any, float] = initial if isinstance(initial, Mapping) else {initial: 1.0}
        self.initial = list(first), [float(each) for each in first.values()]
        self._codes = ActionCodes()
        self.action_names = self._codes.names
        self._actions, self._transitions, self._costs = actions, transitions, costs
        self._is_goal, self._heuristics, self._arrival_costs = is_goal, heuristics, arrival_costs
        self._cost_names = tuple(cost_names)

    def numbers(self) -> HashableNumbers:
        return HashableNumbers()

    def beginning_in(self, label: Hashable) -> Self:
        other = copy(self)
        other.initial = [label], [1.0]
        return other

    def goals(self, states: Sequence[Any]) -> BoolArray:
        return np.array([bool(self._is_goal(state)) for state in states], dtype=np.bool_)

    def heuristics(self, states: Sequence[Any]) -> FloatArray | None:
        heuristic = self._heuristics
        if heuristic is None:
            return None
        reader = Assembly(self._cost_names)
        values = [reader.cost_vector(f"state {state!r}, its heuristic", heuristic(state)) for state in states]
        if reader.found:
            raise InvalidProblem(reader.found)
        return np.array(values, dtype=np.float64).reshape(-1, len(self._cost_names)).T

    def together(self, weights: FloatArray, states: Sequence[Any]) -> FloatArray | None:
        return _together(self._heuristics, weights, states)

    def transitions(self, states: Sequence[Any]) -> TransitionBatch:
        reader = Assembly(self._cost_names)
        owners: list[int] = []
        codes: list[int] = []
        costs: list[list[float]] = []
        extra: list[list[float]] = []
        free = [0.0] * len(self._cost_names)
        paid_by_outcome = self._arrival_costs is not None
        rows: list[int] = []
        successors: list[Any] = []
        probabilities: list[float] = []
        for position, state in enumerate(states):
            for action in self._actions(state):
                place = f"state {state!r}, action {action!r}"
                row = len(owners)
                owners.append(position)
                codes.append(self._codes.of(action))
                costs.append(reader.cost_vector(place, self._costs(state, action)))
                for reached, given, own in outcomes_of(self._transitions(state, action)):
                    what = f"{place}: the probability of reaching state {reached!r}"
                    probability = given if type(given) is float else reader.number(what, given)
                    if probability == 0.0:
                        continue
                    rows.append(row)
                    successors.append(reached)
                    probabilities.append(probability)
                    arrival = own
                    if self._arrival_costs is not None:
                        arrival = self._arrival_costs(state, action, reached)
                    paid_by_outcome = paid_by_outcome or own is not None
                    there = f"{place}, next state {reached!r}"
                    extra.append(free if arrival is None else reader.cost_vector(there, arrival))
        if reader.found:
            raise InvalidProblem(reader.found)
        shape = (-1, len(self._cost_names))
        vectors = np.array(costs, dtype=np.float64).reshape(shape).T
        arrivals = np.array(extra, dtype=np.float64).reshape(shape).T if paid_by_outcome else None
        return TransitionBatch(owners, codes, vectors, rows, successors, probabilities, arrivals)


class BatchSpace:
    """A space whose functions take many states at once; states are rows of whole numbers.

    Parameters
    ----------
    initial
        The initial state, a sequence of whole numbers; or a mapping from such tuples to probabilities.
    transitions
        From an array of states, one a row, to a :class:`~hcssp.cssp.state_space.TransitionBatch`.
    is_goal
        From an array of states to one truth value for each.
    heuristics
        From an array of states to lower bounds on costs-to-go: an array of shape ``(num_costs, num_states)``,
        or with one axis for the primary cost alone; with a method ``together``, also of all costs under
        weights.
    action_names
        The names of the actions, by their codes.
    num_costs
        How many costs there are.
    """

    def __init__(
        self,
        initial: Sequence[int] | Mapping[Any, float],
        transitions: Callable[[Any], TransitionBatch],
        is_goal: Callable[[Any], Any],
        heuristics: Callable[[Any], Any] | None,
        action_names: Sequence[Hashable],
        num_costs: int,
    ) -> None:
        first = initial if isinstance(initial, Mapping) else {tuple(np.ravel(initial).tolist()): 1.0}
        try:
            states = np.array(list(first), dtype=np.int64).reshape(len(first), -1)
        except (TypeError, ValueError) as error:
            raise InvalidProblem(
                [f"the initial state {initial!r} is not a sequence of whole numbers; give one"]
            ) from error
        self.initial = states, [float(each) for each in first.values()]
        self.action_names: list[Hashable] = list(action_names)
        self._transitions, self._is_goal, self._heuristics = transitions, is_goal, heuristics
        self._num_costs = num_costs

    def numbers(self) -> RowNumbers:
        return RowNumbers(self.initial[0].shape[1])

    def beginning_in(self, label: Hashable) -> Self:
        width = self.initial[0].shape[1]
        row = np.atleast_2d(np.asarray(label))
        if row.shape != (1, width) or row.dtype.kind not in "iu":
            raise InvalidProblem([f"{label!r} is not a state; give a tuple of {width} whole numbers"])
        other = copy(self)
        other.initial = row.astype(np.int64), [1.0]
        return other

    def goals(self, states: Any) -> BoolArray:
        answer = np.asarray(self._is_goal(states))
        if answer.shape != (len(states),):
            raise InvalidProblem(
                [f"is_goal answers with shape {answer.shape} for {len(states)} states; give one each"]
            )
        return answer.astype(np.bool_)

    def heuristics(self, states: Any) -> FloatArray | None:
        if self._heuristics is None:
            return None
        answer = np.asarray(self._heuristics(states), dtype=np.float64)
        if answer.shape == (len(states),):
            answer = np.concatenate((answer[np.newaxis], np.zeros((self._num_costs - 1, len(states)))))
        if answer.shape != (self._num_costs, len(states)):
            raise InvalidProblem(
                [
                    f"the heuristics answer with shape {answer.shape} for {len(states)} states; give "
                    f"{(self._num_costs, len(states))}, or one value a state for the primary cost alone"
                ]
            )
        return answer

    def together(self, weights: FloatArray, states: Any) -> FloatArray | None:
        return _together(self._heuristics, weights, states)

    def transitions(self, states: Any) -> TransitionBatch:
        batch = self._transitions(states)
        if not isinstance(batch, TransitionBatch):
            raise InvalidProblem(
                [f"the transitions answer with a {type(batch).__name__}; give a TransitionBatch"]
            )
        successors = np.asarray(batch.successors)
        width = self.initial[0].shape[1]
        if successors.ndim == 1:
            successors = successors.reshape(-1, 1) if width == 1 else successors.reshape(-1, width)
        if successors.shape[1] != width or successors.dtype.kind not in "iu":
            raise InvalidProblem(
                [
                    f"a batch of transitions has successors of shape {successors.shape} and kind "
                    f"{successors.dtype}; give whole numbers, {width} for each transition"
                ]
            )
        return replace(batch, successors=successors)


def _together(heuristics: Any, weights: FloatArray, states: Any) -> FloatArray | None:
    """The values of heuristics for weighted costs for some states; None for other heuristics."""
    asked = getattr(heuristics, "together", None)
    if asked is None:
        return None
    answer = np.asarray(asked(weights, states), dtype=np.float64)
    if answer.shape != (len(states),):
        raise InvalidProblem(
            [
                f"the heuristics answer with shape {answer.shape} for {len(states)} states together under "
                "weights; give one value a state"
            ]
        )
    return answer
