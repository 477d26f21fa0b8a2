"""A C-SSP from arrays, dense or sparse, in either of the two usual layouts.

*By state and action*: ``transitions[s, a, t]`` is the probability of reaching ``t``; an action whose
probabilities are all zero is not available there. *By rows*: ``transitions[r, t]``, dense or sparse,
with the state of each row in `row_states`.

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

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from hcssp.cssp.conversion import as_array, as_sequence, tidy
from hcssp.cssp.labels import RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.transition_costs import TransitionCosts
from hcssp.cssp.validation import bound_array, violations
from hcssp.errors import InvalidProblem


def from_arrays(
    transitions: Any,
    costs: Mapping[str, Any],
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
    matrix, states_of_rows, leading = _rows(transitions, row_states)
    state_labels = as_sequence("state_labels", state_labels, found)
    action_labels = as_sequence("action_labels", action_labels, found)
    num_rows, num_states = matrix.shape
    entry_row = np.repeat(np.arange(num_rows), np.diff(matrix.indptr))
    paid = {name: _cost_entries(given, matrix, leading) for name, given in costs.items()}
    vectors = [
        _cost_rows(name, given, matrix, leading, found) if entries is None else _expected(matrix, entries)
        for (name, given), entries in zip(costs.items(), paid.values(), strict=True)
    ]
    mask = _goal_mask(goals, num_states, found)
    distribution = _distribution(initial, num_states, found)
    names: Sequence[Hashable] = action_labels
    if len(leading) == 2:
        names = _names_by_action(action_labels, leading, found)
    elif len(action_labels) not in (0, num_rows):
        found.append(f"action_labels has {len(action_labels)} labels, but there are {num_rows} rows")
        names = ()
    if len(state_labels) not in (0, num_states):
        found.append(f"state_labels has {len(state_labels)} labels, but there are {num_states} states")
        state_labels = ()
    outside = np.flatnonzero((states_of_rows < 0) | (states_of_rows >= num_states))
    known = f"the states are 0 to {num_states - 1}"
    found += [f"row {row}: its state is {states_of_rows[row]}, which is unknown; {known}" for row in outside]
    limits = bound_array(bounds, tuple(costs), found)
    if len(outside):
        raise InvalidProblem(found)

    kept = np.arange(num_rows)
    if len(leading) == 2:
        kept = np.flatnonzero(np.diff(matrix.indptr) > 0)
    kept = kept[np.argsort(states_of_rows[kept], kind="stable")]
    row_start = np.zeros(num_states + 1, dtype=np.int64)
    np.cumsum(np.bincount(states_of_rows[kept], minlength=num_states), out=row_start[1:])
    each = [
        vector[entry_row] if own is None else own for vector, own in zip(vectors, paid.values(), strict=True)
    ]
    listed = None
    if any(own is not None for own in paid.values()):
        listed = TransitionCosts.of(entry_row, matrix.indices, matrix.data, np.array(each))
    expected = np.array(vectors, dtype=np.float64).reshape(len(vectors), num_rows)
    if listed is not None:
        differing, means = listed.expected()
        expected[:, differing] = means
    problem = CSSP.unchecked(
        transitions=matrix[kept],
        row_start=row_start,
        costs=expected[:, kept],
        initial=distribution,
        goals=mask,
        cost_names=tuple(costs),
        bounds=limits,
        state_labels=state_labels,
        action_labels=SelectedLabels(names, kept) if len(names) else (),
        transition_costs=None if listed is None else listed.take(kept),
    )
    found += violations(problem)
    if found:
        raise InvalidProblem(found)
    return problem


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


def _cost_entries(costs: Any, matrix: SparseMatrix, leading: tuple[int, ...]) -> FloatArray | None:
    """One cost for each transition, if they are given so; where nothing leads nothing is paid."""
    num_rows, num_states = matrix.shape
    rows = np.repeat(np.arange(num_rows), np.diff(matrix.indptr))
    given: Any = costs
    if issparse(costs):
        if given.shape != matrix.shape:
            return None
        return np.asarray(csr_array(given, dtype=np.float64)[rows, matrix.indices]).ravel()
    array = as_array("", given, np.float64, False, [])
    if array.shape != (*leading, num_states):
        return None
    entries: FloatArray = array.reshape(num_rows, num_states)[rows, matrix.indices]
    return entries


def _expected(matrix: SparseMatrix, entries: FloatArray) -> FloatArray:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.bincount(rows, weights=matrix.data * entries, minlength=matrix.shape[0]).astype(np.float64)


def _cost_rows(
    name: str, costs: Any, matrix: SparseMatrix, leading: tuple[int, ...], found: list[str]
) -> FloatArray:
    """One cost for each row."""
    num_rows, num_states = matrix.shape
    given: Any = costs
    if issparse(costs):
        shape = given.shape
    else:
        unfit: list[str] = []
        array = as_array(f"the cost {name!r}", given, np.float64, False, unfit)
        if unfit:
            found += unfit
            return np.zeros(num_rows)
        shape = array.shape
        if shape == ():
            return np.full(num_rows, float(array))
        if shape == leading:
            return array.reshape(num_rows)
    found.append(f"the cost {name!r} has shape {shape}; give a number, {leading} or {(*leading, num_states)}")
    return np.zeros(num_rows)


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
    # The mistake has been noted; any distribution keeps the rules from noting it twice.
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
