"""State spaces that are functions: asked state by state, or for many states at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from hcssp.cssp.assembly import Assembly, Costs
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.cssp.state_numbers import HashableNumbers, RowNumbers, StateNumbers
from hcssp.cssp.transition_batch import TransitionBatch
from hcssp.errors import InvalidProblem

Successors = Mapping[Any, float] | Iterable[tuple[Any, float] | tuple[Any, float, Costs]]
"""From next states to their probabilities: a mapping, or pairs; or triples, with what is paid in addition."""


def outcomes_of(successors: Successors) -> Iterator[tuple[Any, float, Costs | None]]:
    """The next states, their probabilities, and what is paid in addition if that is said with them."""
    if isinstance(successors, Mapping):
        for state, probability in successors.items():
            yield state, probability, None
    else:
        for each in successors:
            state, probability, *costs = each
            yield state, probability, costs[0] if costs else None


class StateSpace(Protocol):
    """What is asked of a state space; several states are a list or an array, as its functions take them.

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
        """For each cost and state, what is to come at least; None if nothing is known."""

    def together(self, weights: FloatArray, states: Any) -> FloatArray | None:
        """For each state, what is to come at least of all costs together under `weights`.

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
    """A space whose functions are asked state by state; states and actions are any hashable values.

    Parameters
    ----------
    initial
        The initial state, or a mapping from states to probabilities.
    actions, transitions, costs, is_goal, arrival_costs
        As for :func:`~hcssp.cssp.exploration.explore`.
    heuristics
        What is to come at least from a state: costs by name, in their order, or of the primary cost alone;
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
        told = self._heuristics
        if told is None:
            return None
        reader = Assembly(self._cost_names)
        values = [reader.cost_vector(f"state {state!r}, its heuristic", told(state)) for state in states]
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
    """A space whose functions are asked for many states at once; states are rows of whole numbers.

    Parameters
    ----------
    initial
        The initial state, a sequence of whole numbers; or a mapping from such tuples to probabilities.
    transitions
        From an array of states, one a row, to a :class:`~hcssp.cssp.transition_batch.TransitionBatch`.
    is_goal
        From an array of states to one truth value for each.
    heuristics
        From an array of states to what is to come at least: an array of shape ``(num_costs, num_states)``,
        or with one axis for the primary cost alone; with a method ``together``, also of all costs under
        weights.
    action_names
        What the codes of the actions mean.
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
            raise InvalidProblem([f"{label!r} is no state; give a tuple of {width} whole numbers"])
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
    """What heuristics that know prices say about some states; None if they know none."""
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
