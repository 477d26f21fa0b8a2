"""What the model checker Storm has built, as arrays.

Markov chains and Markov decision processes in discrete time are read, with the rewards of states, choices
and branches. A state in which nothing can be done stays as it is for ever, as in Storm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, SparseMatrix
from hcssp.errors import InvalidProblem
from hcssp.exchange.explicit_model import ExplicitModel, added_up, unique_names
from hcssp.exchange.valuations import ValuationLabels

UNNAMED = "reward"
"""What the reward model is called that has no name in PRISM."""

LOCATION = "_loc_"
"""How Storm's name of the variable begins that says where an automaton is."""

INTERNAL = {"_OutOfBoundsBit"}
"""Variables of Storm's own."""

KINDS = ("DTMC", "MDP")
"""The kinds of models that can be read."""


@contextmanager
def storm_at_work(stormpy: Any, place: str, path: Path | None = None) -> Iterator[None]:
    """While Storm works: it keeps its log to itself, and what it raises is told as a mistake of the model.

    Parameters
    ----------
    stormpy
        The module.
    place
        What the user calls the model.
    path
        The file that Storm was given for it.

    Raises
    ------
    InvalidProblem
        With Storm's message.
    """
    developer = stormpy.developer
    level = developer.get_log_level()
    # Its log goes to standard output, among the results.
    developer.set_log_level(developer.LogLevel.OFF)
    try:
        yield
    except (RuntimeError, stormpy.exceptions.StormError) as error:
        told = " ".join(str(error).split())
        if path is not None:
            told = told.replace(str(path), place)
        kind, colon, rest = told.partition("Exception: ")
        raise InvalidProblem([f"{place}: {rest if colon and kind.isalpha() else told}"]) from error
    finally:
        developer.set_log_level(level)


def explicit(model: Any, place: str = "the model", variables: Sequence[str] | None = None) -> ExplicitModel:
    """A sparse model of Storm as arrays.

    Parameters
    ----------
    model
        What Storm has built.
    place
        What the user calls it.
    variables
        Those by whose values states are called; by default all.

    Raises
    ------
    InvalidProblem
        If it is neither a Markov chain nor a Markov decision process, or has parameters or intervals.
    """
    kind = model.model_type.name
    refuse_other_kinds(kind, place)
    if model.supports_parameters or model.supports_uncertainty:
        raise InvalidProblem([f"{place}: it has parameters or intervals; give every probability a number"])
    matrix = _matrix(model.transition_matrix, model.nr_states)
    starts = [model.transition_matrix.get_row_group_start(state) for state in range(model.nr_states)]
    row_start = np.array([*starts, matrix.shape[0]], dtype=np.int64)
    names = unique_names(_choice_names(model, kind, matrix.shape[0]), row_start)
    parts = {name or UNNAMED: _rewards(each, matrix, row_start) for name, each in model.reward_models.items()}
    rewards, paid = added_up(matrix, parts)
    return ExplicitModel(
        transitions=matrix,
        row_start=row_start,
        rewards=rewards,
        labels={
            label: _mask(model.labeling.get_states(label), model.nr_states)
            for label in sorted(model.labeling.get_labels())
        },
        initial=_mask(model.initial_states, model.nr_states),
        state_names=_state_names(model, variables),
        action_names=names,
        transition_rewards=paid,
    )


def refuse_other_kinds(kind: str, place: str) -> None:
    """Raise an error if a model is of a kind that cannot be planned with."""
    if kind not in KINDS:
        told = "only discrete time, full knowledge and one who decides can be planned with"
        raise InvalidProblem([f"{place}: it is of the type {kind}; {told} ({' or '.join(KINDS)})"])


def truth_values(stormpy: Any, model: Any, formula: Any) -> BoolArray:
    """The states of a model of Storm where a formula about states is true."""
    return _mask(stormpy.model_checking(model, formula).get_truth_values_vector(), model.nr_states)


def _mask(states: Any, num_states: int) -> BoolArray:
    mask = np.zeros(num_states, dtype=np.bool_)
    mask[list(states)] = True
    return mask


def _matrix(matrix: Any, num_states: int) -> SparseMatrix:
    num_rows = matrix.nr_rows
    lengths = [len(matrix.get_row(row)) for row in range(num_rows)]
    entries = map(attrgetter("column", "value"), matrix.row_iter(0, num_rows - 1))
    columns, values = zip(*entries, strict=True)
    transitions = csr_array(
        (_floats(values), np.array(columns), np.concatenate(([0], np.cumsum(lengths)))),
        shape=(num_rows, num_states),
    )
    transitions.sum_duplicates()
    return transitions


def _floats(values: Sequence[Any]) -> FloatArray:
    """Storm's numbers, which may be exact."""
    return np.array([float(value) for value in values], dtype=np.float64)


def _rewards(reward: Any, matrix: SparseMatrix, row_start: Any) -> tuple[FloatArray, FloatArray | None]:
    """The reward of each row, of its state and its choice, and that of each transition besides."""
    total = np.zeros(matrix.shape[0])
    if reward.has_state_rewards:
        total += np.repeat(_floats(reward.state_rewards), np.diff(row_start))
    if reward.has_state_action_rewards:
        total += _floats(reward.state_action_rewards)
    if reward.has_transition_rewards:
        branches = _matrix(reward.transition_rewards, matrix.shape[1])
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return total, np.asarray(branches[rows, matrix.indices]).ravel()
    return total, None


def _choice_names(model: Any, kind: str, num_rows: int) -> Sequence[str]:
    if kind == "DTMC":
        return ["go"] * num_rows
    if not model.has_choice_labeling():
        return [""] * num_rows
    named = map(model.choice_labeling.get_labels_of_choice, range(num_rows))
    return [" and ".join(sorted(labels)) for labels in named]


def _state_names(model: Any, variables: Sequence[str] | None) -> Sequence[str]:
    """The values of the variables, where they tell states apart; numbers otherwise."""
    if model.has_state_valuations():
        valuations = model.state_valuations
        there = {variable.name: variable for variable in valuations.get_all_variables()}
        columns: dict[str, Sequence[Any]] = {}
        for name in there if variables is None else filter(there.__contains__, variables):
            if there[name].has_boolean_type():
                columns[name] = _mask(valuations.get_boolean_values(there[name]), model.nr_states).tolist()
            elif there[name].has_integer_type():
                columns[name] = valuations.get_int64_values(there[name])
        for name in INTERNAL & columns.keys() | {name for name in columns if name.startswith(LOCATION)}:
            if len(set(columns[name])) == 1:
                del columns[name]
        if columns and len(set(zip(*columns.values(), strict=True))) == model.nr_states:
            return ValuationLabels(tuple(columns), tuple(columns.values()))
    return [str(state) for state in range(model.nr_states)]
