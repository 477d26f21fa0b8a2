"""What can be done in many states at once, and where it leads: arrays in, arrays out.

A function that knows the transitions of many states answers with a :class:`TransitionBatch`. On a line of
integers, where a step to the right succeeds three times in four:

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

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hcssp.cssp.decimals import sum_of_decimals
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import capped
from hcssp.errors import InvalidProblem
from hcssp.numerics import PROBABILITY_TOLERANCE


@dataclass(frozen=True, eq=False)
class TransitionBatch:
    """The rows of some states, and their transitions.

    Attributes
    ----------
    states
        For each row, the position of its state among those that were asked for; in any order.
    actions
        For each row, what is done: the position of its name among the problem's action names.
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
        What was answered.
    labels
        The states that were asked for, as people call them.
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
            [f"a batch of transitions: arrival_costs is no array of numbers: {error}"]
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
