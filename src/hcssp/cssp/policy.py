"""Policies of a C-SSP: which row to take in each state, or with which probabilities.

A randomised policy has a row for each state, as a deterministic one has, and besides a few extra rows, each
with a probability; the state's own row has the rest. A deterministic policy is the case without extra rows.

A policy refers to its problem and names states and actions by label: :meth:`DeterministicPolicy.action`. It
may leave a state that it never enters without a row (-1): policies that differ only there are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import numpy as np

from hcssp.cssp.arrays import as_array
from hcssp.cssp.labels import as_label
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.display import frame
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.numerics import PROBABILITY_TOLERANCE

if TYPE_CHECKING:
    from pandas import DataFrame

    from hcssp.procedure.model import HCSSP
    from hcssp.procedure.policy import ProcedurePolicy

NO_ROW = -1

MOST_SHOWN = 10
"""Misfits beyond this many are not listed."""


P = TypeVar("P", bound="CSSP | HCSSP")


Extra = tuple[tuple[int, float], ...]
"""Extra rows of a randomised policy, ascending, each with its probability."""


class RowPolicy(Generic[P]):
    """The common part of all policies: a row for each state, and the extra rows of a randomised one."""

    problem: P
    rows: IntArray
    extra: Extra = ()

    @property
    def is_randomised(self) -> bool:
        """Whether the policy chooses at random in some state."""
        return bool(self.extra)

    @cached_property
    def taken(self) -> tuple[IntArray, FloatArray]:
        """All rows that the policy takes, ascending, and the probability of each in its state."""
        own = np.flatnonzero(self.rows != NO_ROW)
        extra = np.array([row for row, _ in self.extra], dtype=np.int64)
        chances = np.array([chance for _, chance in self.extra])
        states = np.searchsorted(self.problem.row_start, extra, side="right") - 1
        rest = 1.0 - np.bincount(states, chances, len(self.rows))
        rows = np.concatenate([self.rows[own], extra])
        order = np.argsort(rows, kind="stable")
        return rows[order], np.concatenate([rest[own], chances])[order]

    def mixed(self) -> dict[int, tuple[tuple[int, float], ...]]:
        """For each state with several rows: the rows and their probabilities, the most probable first."""
        start, (rows, chances) = self.problem.row_start, self.taken
        states = np.searchsorted(start, rows, side="right") - 1
        found: dict[int, tuple[tuple[int, float], ...]] = {}
        for row, _ in self.extra:
            state = int(np.searchsorted(start, row, side="right")) - 1
            own = np.flatnonzero(states == state)
            found[state] = tuple(
                sorted(zip(rows[own].tolist(), chances[own].tolist(), strict=True), key=lambda each: -each[1])
            )
        return found

    def _check_extra(self, layout: Any) -> None:
        """Refuse extra rows whose state has no row of its own, or that leave nothing for it."""
        extra = tuple(sorted((int(row), float(chance)) for row, chance in self.extra))
        object.__setattr__(self, "extra", extra)
        start, left = layout.row_start, dict[int, float]()
        found, known = list[str](), set(self.rows.tolist()) if extra else set[int]()
        for row, chance in extra:
            inside = 0 <= row < int(start[-1])
            state = int(np.searchsorted(start, row, side="right")) - 1 if inside else NO_ROW
            left[state] = left.get(state, 1.0) - chance
            if not inside or row in known or self.rows[state] == NO_ROW:
                found.append(f"extra row {row}: give a row of a state that has another row, and only once")
            elif not chance > 0.0 or not left[state] > 0.0:
                found.append(
                    f"extra row {row}: its probability is {chance}, which leaves {left[state]} for the row "
                    f"of state {layout.state_labels[state]!r}; both must be positive"
                )
            known.add(row)
        if found:
            raise InvalidProblem(found[:MOST_SHOWN])

    def _check(self, layout: Any) -> None:
        """Refuse rows that `layout`, which has `row_start` and `state_labels`, does not have."""
        rows = policy_array("rows", self.rows, np.int64)
        object.__setattr__(self, "rows", rows)
        if rows.shape != (layout.num_states,):
            raise InvalidProblem(
                [
                    f"the policy has rows of shape {rows.shape}, but the problem has "
                    f"{layout.num_states} states; give one a state"
                ]
            )
        first, end = layout.row_start[:-1], layout.row_start[1:]
        wrong = np.flatnonzero(~((rows >= first) & (rows < end)) & (rows != NO_ROW)).tolist()
        if wrong:
            raise InvalidProblem(
                f"state {layout.state_labels[state]!r}: the policy takes row {rows[state]}, but "
                f"{_rows_text(int(first[state]), int(end[state]))} ({NO_ROW} for none)"
                for state in wrong[:MOST_SHOWN]
            )

    def under(self, problem: CSSP | HCSSP) -> Self:
        """The same policy of the same problem under other bounds."""
        return cast("Self", problem.policy(self.rows, self.extra))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        same = self.extra == other.extra and np.array_equal(self.rows, other.rows)
        return same and bool(self.problem == other.problem)

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "rows": self.rows, "extra": self.extra}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        read_only(self.rows)


class _FlatPolicy(RowPolicy[CSSP]):
    """A policy of a single problem, whose states and actions have labels."""

    @property
    def procedure(self) -> ProcedurePolicy:
        """The policy of the problem's procedure that follows this one in the only activity."""
        whole = self.problem.procedure
        states, first = whole.flattening.state_offset, int(whole.flattening.row_offset[0])
        own = self.rows[~self.problem.goals]
        rows = np.full(int(states[-1]), NO_ROW, dtype=np.int64)
        # Its only choice is the first row.
        rows[whole.flattening.start] = 0
        rows[int(states[0]) :] = np.where(own == NO_ROW, NO_ROW, own + first)
        return whole.policy(rows, tuple((first + row, chance) for row, chance in self.extra))

    def action(self, state: Hashable) -> Hashable:
        """The label of the action taken in the state labelled `state`; None where there is none.

        Of several actions the one of the policy's row: the most probable.

        Raises
        ------
        UnknownName
            If there is no such state.
        """
        row = int(self.rows[state_of(self.problem, state)])
        return None if row == NO_ROW else self.problem.action_labels[row]

    def actions(self) -> dict[Hashable, Hashable]:
        """From state labels to action labels, wherever the policy has a row; of several the most probable."""
        return {
            self.problem.state_labels[state]: self.problem.action_labels[int(self.rows[state])]
            for state in np.flatnonzero(self.rows != NO_ROW).tolist()
        }


@dataclass(frozen=True, eq=False)
class DeterministicPolicy(_FlatPolicy):
    """One row for each state; :data:`NO_ROW` in goals and where the policy never goes.

    Attributes
    ----------
    problem
        The problem of the policy.
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
        self._check(self.problem)

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns state and action, wherever the policy has a row.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        actions = self.actions()
        return frame({"state": list(actions), "action": list(actions.values())})


@dataclass(frozen=True, eq=False)
class RandomisedPolicy(_FlatPolicy):
    """A probability for each row; those of a state sum to one, or to zero where it never goes.

    The row of a state is the most probable one, the others are extra rows.

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

    @cached_property
    def rows(self) -> IntArray:  # type: ignore[override]
        """The most probable row of each state; :data:`NO_ROW` where the policy never goes."""
        problem, probabilities = self.problem, self.probabilities
        used = np.flatnonzero(probabilities > 0.0)
        # The last of a state overwrites the others; of equally probable ones that is the first row.
        order = used[np.lexsort((-used, probabilities[used]))]
        rows = np.full(problem.num_states, NO_ROW, dtype=np.int64)
        rows[problem.row_state[order]] = order
        return cast("IntArray", read_only(rows))

    @cached_property
    def extra(self) -> Extra:  # type: ignore[override]
        """The other rows that are taken, each with its probability."""
        used = np.flatnonzero(self.probabilities > 0.0)
        others = used[self.rows[self.problem.row_state[used]] != used]
        return tuple(zip(others.tolist(), self.probabilities[others].tolist(), strict=True))

    def under(self, problem: CSSP | HCSSP) -> Self:
        return type(self)(cast("CSSP", problem), self.probabilities)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RandomisedPolicy):
            return NotImplemented
        return np.array_equal(self.probabilities, other.probabilities) and self.problem == other.problem

    def __hash__(self) -> int:
        # Adding zero makes -0.0, which is equal to 0.0, the same number.
        return hash((self.probabilities + 0.0).tobytes())

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "probabilities": self.probabilities}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        read_only(self.probabilities)


def policy_of_rows(
    problem: CSSP, rows: IntArray, extra: Extra = ()
) -> DeterministicPolicy | RandomisedPolicy:
    """The policy that takes `rows`, and besides `extra` rows with their probabilities."""
    policy = DeterministicPolicy(problem, rows)
    if not extra:
        return policy
    object.__setattr__(policy, "extra", extra)
    policy._check_extra(problem)
    taken, chances = policy.taken
    probabilities = np.zeros(problem.num_rows)
    probabilities[taken] = chances
    return RandomisedPolicy(problem, probabilities)


def state_of(problem: CSSP, label: Hashable) -> int:
    """The state labelled `label`.

    Raises
    ------
    UnknownName
        If there is none.
    """
    known = as_label(label)
    if known not in problem.state_index:
        raise UnknownName("state", str(label), (str(each) for each in problem.state_labels))
    return problem.state_index[known]


def policy_array(name: str, given: Any, kind: type[np.generic]) -> Any:
    """What was given for a policy's rows or probabilities, as a read-only array of its own.

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


def _rows_text(first: int, end: int) -> str:
    return f"its rows are {first} to {end - 1}" if first < end else "it has none"


def read_only(array: Any) -> Any:
    """The same array, which cannot be changed any more."""
    array.flags.writeable = False
    return array
