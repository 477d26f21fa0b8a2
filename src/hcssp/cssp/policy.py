"""Policies of a C-SSP: which row to take in each state.

A policy knows its problem, so it speaks in the problem's words: :meth:`DeterministicPolicy.action`. A state
that it never enters may be left without a row (-1): policies that differ only where they never go are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.conversion import as_array
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.frames import frame
from hcssp.numerics import PROBABILITY_TOLERANCE

if TYPE_CHECKING:
    from pandas import DataFrame

NO_ROW = -1

MOST_SHOWN = 10
"""Misfits beyond this many are not listed."""


@dataclass(frozen=True, eq=False)
class DeterministicPolicy:
    """One row for each state; :data:`NO_ROW` in goals and where the policy never goes.

    Attributes
    ----------
    problem
        What it is a policy of.
    rows
        The row taken in each state.

    Raises
    ------
    InvalidProblem
        If a row is not one of its state's; all misfits are listed together.
    """

    problem: CSSP = field(repr=False)
    rows: IntArray

    def __post_init__(self) -> None:
        rows = policy_array("rows", self.rows, np.int64)
        object.__setattr__(self, "rows", rows)
        problem = self.problem
        if rows.shape != (problem.num_states,):
            raise InvalidProblem(
                [
                    f"the policy has rows of shape {rows.shape}, but the problem has "
                    f"{problem.num_states} states; give one a state"
                ]
            )
        wrong = misplaced(rows, problem.row_start)
        if len(wrong):
            raise InvalidProblem(
                f"state {problem.state_labels[int(state)]!r}: the policy takes row {rows[state]}, but "
                f"{rows_in_words(problem.row_start, int(state))} ({NO_ROW} for none)"
                for state in wrong[:MOST_SHOWN]
            )

    def action(self, state: Hashable) -> Hashable:
        """The label of the action taken in the state labelled `state`; None where there is none.

        Raises
        ------
        UnknownName
            If there is no such state.
        """
        row = int(self.rows[state_of(self.problem, state)])
        return None if row == NO_ROW else self.problem.action_labels[row]

    def actions(self) -> dict[Hashable, Hashable]:
        """From state labels to action labels, wherever the policy has a row."""
        return {
            self.problem.state_labels[state]: self.problem.action_labels[int(self.rows[state])]
            for state in np.flatnonzero(self.rows != NO_ROW).tolist()
        }

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns state and action, wherever the policy has a row.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        actions = self.actions()
        return frame({"state": list(actions), "action": list(actions.values())})

    def under(self, problem: CSSP) -> DeterministicPolicy:
        """The same policy of the same problem under other bounds."""
        return DeterministicPolicy(problem, self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeterministicPolicy):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and self.problem == other.problem

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        read_only(self.rows)


@dataclass(frozen=True, eq=False)
class RandomisedPolicy:
    """A probability for each row; those of a state sum to one, or to zero where it never goes.

    Raises
    ------
    InvalidProblem
        If probabilities are negative, not numbers, or sum to neither one nor zero; all misfits are listed
        together.
    """

    problem: CSSP = field(repr=False)
    probabilities: FloatArray

    def __post_init__(self) -> None:
        probabilities = policy_array("probabilities", self.probabilities, np.float64)
        object.__setattr__(self, "probabilities", probabilities)
        if probabilities.shape != (self.problem.num_rows,):
            raise InvalidProblem(
                [
                    f"the policy has probabilities of shape {probabilities.shape}, but the problem has "
                    f"{self.problem.num_rows} rows; give one a row"
                ]
            )
        misfits = list(self._misfits())
        if misfits:
            raise InvalidProblem(misfits)

    def _misfits(self) -> Iterator[str]:
        problem, probabilities = self.problem, self.probabilities
        for row in np.flatnonzero(~(probabilities >= 0.0))[:MOST_SHOWN]:
            yield (
                f"state {problem.state_labels[int(problem.row_state[row])]!r}, "
                f"action {problem.action_labels[int(row)]!r}: probability {probabilities[row]} "
                "is not a non-negative number"
            )
        sums = np.bincount(problem.row_state, weights=probabilities, minlength=problem.num_states)
        fits = (np.abs(sums - 1.0) <= PROBABILITY_TOLERANCE) | (sums == 0.0)
        for state in np.flatnonzero(~fits)[:MOST_SHOWN]:
            yield (
                f"state {problem.state_labels[int(state)]!r}: the policy's probabilities sum to "
                f"{sums[state]}, not 1 (or 0 where it never goes)"
            )

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns state, action and probability, wherever that is positive.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        problem = self.problem
        rows = np.flatnonzero(self.probabilities > 0.0)
        return frame(
            {
                "state": [problem.state_labels[state] for state in problem.row_state[rows].tolist()],
                "action": [problem.action_labels[row] for row in rows.tolist()],
                "probability": self.probabilities[rows],
            }
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RandomisedPolicy):
            return NotImplemented
        return np.array_equal(self.probabilities, other.probabilities) and self.problem == other.problem

    def __hash__(self) -> int:
        # Adding nought makes -0.0, which is equal to 0.0, the same number.
        return hash((self.probabilities + 0.0).tobytes())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        read_only(self.probabilities)


def state_of(problem: CSSP, label: Hashable) -> int:
    """The state labelled `label`.

    Raises
    ------
    UnknownName
        If there is none.
    """
    # What was read from JSON or computed with arrays is meant as a tuple.
    known = tuple(np.asarray(label).tolist()) if isinstance(label, list | np.ndarray) else label
    if known not in problem.state_index:
        raise UnknownName("state", str(label), (str(each) for each in problem.state_labels))
    return problem.state_index[known]


def policy_array(name: str, given: Any, kind: type[np.generic]) -> Any:
    """What was given for a policy's rows or probabilities, as an array of its own that nobody changes.

    Raises
    ------
    InvalidProblem
        If it cannot be one.
    """
    found: list[str] = []
    array = as_array(f"the policy's {name}", given, kind, True, found)
    if found:
        raise InvalidProblem(found)
    return array


def misplaced(rows: IntArray, row_start: IntArray) -> IntArray:
    """The states whose row is neither one of their own nor none."""
    own = (rows >= row_start[:-1]) & (rows < row_start[1:])
    return np.flatnonzero(~own & (rows != NO_ROW))


def rows_in_words(row_start: IntArray, state: int) -> str:
    """Which rows a state has, for an error message."""
    first, last = int(row_start[state]), int(row_start[state + 1]) - 1
    return f"its rows are {first} to {last}" if first <= last else "it has none"


def read_only(array: Any) -> Any:
    """The same array, which cannot be changed any more."""
    array.flags.writeable = False
    return array
