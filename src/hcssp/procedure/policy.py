r"""Policies of an HC-SSP: a choice for every event state, and a policy for every activity.

In the paper's terms, the choices are :math:`\rho` and the activities' policies :math:`\Gamma`. Both are held
as one row for each state of the flat problem (:class:`~hcssp.procedure.flattening.Flattening`); choices and
activities are views of that.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.labels import as_label
from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import (
    MOST_SHOWN,
    NO_ROW,
    DeterministicPolicy,
    Extra,
    RandomisedPolicy,
    RowPolicy,
    policy_array,
    read_only,
)
from hcssp.cssp.product import listed_by_level
from hcssp.display import frame
from hcssp.errors import InvalidProblem
from hcssp.procedure.model import HCSSP, EventState

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class ProcedurePolicy(RowPolicy[HCSSP]):
    """A policy of a procedure.

    Attributes
    ----------
    problem
        The problem of the policy.
    rows
        A flat row for each flat state of ``problem.flattening``; :data:`~hcssp.cssp.policy.NO_ROW` at the end
        and where the policy never goes.
    extra
        Flat rows that are taken besides, each with its probability, if the policy is randomised; the row of
        the state has the rest.

    Raises
    ------
    InvalidProblem
        If the policy does not fit the problem; all misfits are listed together.
    """

    problem: HCSSP = field(repr=False)
    rows: IntArray
    extra: Extra = ()

    def __post_init__(self) -> None:
        self._check(self.problem.flattening)
        self._check_extra(self.problem.flattening)

    @property
    def procedure(self) -> ProcedurePolicy:
        """The policy itself."""
        return self

    @classmethod
    def compose(
        cls, problem: HCSSP, choices: Mapping[EventState, int], activities: Sequence[IntArray]
    ) -> ProcedurePolicy:
        """The policy that makes these choices and follows these policies of the activities.

        Parameters
        ----------
        problem
            The problem of the policy.
        choices
            From event states to indices of the problem's choices; an event state that the policy never
            enters may be left out.
        activities
            For each activity a local row for each of its states, :data:`~hcssp.cssp.policy.NO_ROW` in goals
            and where the policy never goes.

        Raises
        ------
        InvalidProblem
            If they do not fit the problem.
        """
        flattening = problem.flattening
        shapes = [np.shape(rows) for rows in activities]
        wanted = [(activity.cssp.num_states,) for activity in problem.activities]
        if shapes != wanted:
            raise InvalidProblem(
                [
                    f"the policy has rows of shapes {shapes} for the activities, but their numbers of states "
                    f"need {wanted}; give one row a state"
                ]
            )
        found = []
        unknown = choices.keys() - set(flattening.event_states)
        if unknown:
            known = _listed(flattening.event_states)
            found = [
                f"the policy has a choice for {each!r}, but the event states are {known}" for each in unknown
            ]
        rows = np.full(flattening.num_states, NO_ROW, dtype=np.int64)
        for state, (event, entry) in enumerate(flattening.event_states):
            choice = choices.get((event, entry), NO_ROW)
            if choice != NO_ROW:
                rows[state] = flattening.event_row_start[state] + choice - problem.choice_start[event]
        for index, activity in enumerate(problem.activities):
            cssp = activity.cssp
            local = policy_array(f"rows for activity {activity.name!r}", activities[index], np.int64)
            found += [
                f"activity {activity.name!r}, state {cssp.state_labels[int(goal)]!r}: the policy takes row "
                f"{local[goal]}, but the state is a goal; give {NO_ROW}"
                for goal in np.flatnonzero(cssp.goals & (local != NO_ROW))
            ]
            inside = local[~cssp.goals]
            # Nothing is added to negative numbers: what is no row here must not become one there.
            flat = np.where(inside < 0, inside, inside + flattening.row_offset[index])
            rows[flattening.state_offset[index] : flattening.state_offset[index + 1]] = flat
        if found:
            raise InvalidProblem(found[:MOST_SHOWN])
        return cls(problem, rows)

    @cached_property
    def choices(self) -> Mapping[EventState, int]:
        """From the event states that the policy has a choice for to indices of the problem's choices."""
        flattening = self.problem.flattening
        return MappingProxyType(
            {
                flattening.event_states[state]: int(flattening.event_row_choice[self.rows[state]])
                for state in np.flatnonzero(self.rows[: flattening.num_event_states] != NO_ROW)
            }
        )

    @cached_property
    def activities(self) -> tuple[IntArray, ...]:
        """For each activity a local row for each of its states."""
        flattening = self.problem.flattening
        found = []
        for index, activity in enumerate(self.problem.activities):
            flat = self.rows[flattening.state_offset[index] : flattening.state_offset[index + 1]]
            local = np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64)
            local[~activity.cssp.goals] = np.where(
                flat == NO_ROW, NO_ROW, flat - flattening.row_offset[index]
            )
            found.append(read_only(local))
        return tuple(found)

    def activity(self, activity: str | int) -> DeterministicPolicy | RandomisedPolicy:
        """The policy of one activity, given by name or index, as that of its C-SSP."""
        index = self.problem.activity_index(activity) if isinstance(activity, str) else activity
        first, last = self.problem.flattening.row_offset[index : index + 2].tolist()
        extra = tuple((row - first, chance) for row, chance in self.extra if first <= row < last)
        return self.problem.activities[index].cssp.policy(self.activities[index], extra)

    def action(self, activity: str | int, state: Hashable) -> Hashable:
        """The label of the action taken in a state of an activity; None where there is none.

        Raises
        ------
        UnknownName
            If there is no such activity or state.
        """
        return self.activity(activity).action(state)

    def choice(self, event: str, entry: Hashable | None = None) -> str | None:
        """The name of the choice made at an event; None where the policy never goes.

        Parameters
        ----------
        event
            The event's name.
        entry
            The label of the state that the event is entered in, where that can differ.

        Raises
        ------
        UnknownName
            If there is no such event.
        InvalidProblem
            If the event is not entered in that state, or in several and none is named.
        """
        index = self.problem.event_index(event)
        label = as_label(entry)
        entries = [known for number, known in self.problem.flattening.event_states if number == index]
        if label not in entries:
            raise InvalidProblem([_wrong_entry(event, label, entries)])
        chosen = self.choices.get((index, label))
        return None if chosen is None else self.problem.choices[chosen].name

    def choice_names(self) -> dict[Hashable, str]:
        """The choices by name: from an event's name to the choice's.

        Where the choice depends on the state that the event is entered in, the key is the pair of the
        event's name and that state's label.
        """
        names: dict[Hashable, str] = {}
        for (event, entry), choice in self.choices.items():
            name = self.problem.events[event]
            names[name if entry is None else (name, entry)] = self.problem.choices[choice].name
        return names

    def to_frame(self) -> DataFrame:
        """A ``pandas.DataFrame`` with the columns activity, state and action, wherever the policy has a row.

        At an event the activity is ``""``, the state the event's name and the action the choice's; where the
        choice depends on the state that the event is entered in, the state is a pair of both. A randomised
        policy has a row for each action, with its probability.

        Raises
        ------
        MissingDependency
            If pandas is not installed.
        """
        rows, chances = self.taken
        done = [self.name_of(row) for row in rows.tolist()]
        names = ("activity", "state", "action")
        columns: dict[str, Any] = {name: [each[n] for each in done] for n, name in enumerate(names)}
        return frame(columns | ({"probability": chances} if self.is_randomised else {}))

    def name_of(self, row: int) -> tuple[str, Hashable, Hashable]:
        """The activity, state and action of a flat row; at an event the activity is ``""``."""
        problem, flattening = self.problem, self.problem.flattening
        state = int(np.searchsorted(flattening.row_start, row, side="right")) - 1
        if state < flattening.num_event_states:
            event, entry = flattening.event_states[state]
            name = problem.events[event]
            choice = problem.choices[int(flattening.event_row_choice[row])].name
            return "", name if entry is None else (name, entry), choice
        index = int(np.searchsorted(flattening.row_offset, row, side="right")) - 1
        cssp, local = problem.activities[index].cssp, row - int(flattening.row_offset[index])
        label = cssp.state_labels[int(cssp.row_state[local])]
        return problem.activities[index].name, label, cssp.action_labels[local]


Policy = DeterministicPolicy | RandomisedPolicy | ProcedurePolicy
"""A policy of a single problem, or of a procedure."""


def _listed(states: Sequence[EventState]) -> str:
    """Event states in a message, those that differ in the level of a capacity only together."""
    entries: dict[int, list[Hashable | None]] = {}
    for event, entry in states:
        entries.setdefault(event, []).append(entry)
    return ", ".join(
        f"({event}, {label})" for event, each in entries.items() for label in listed_by_level(each)
    )


def _wrong_entry(event: str, entry: Hashable | None, entries: Sequence[Hashable | None]) -> str:
    listed = ", ".join(map(repr, listed_by_level(each for each in entries if each is not None)))
    if not listed:
        return f"event {event!r}: it is always entered in the same way, not in {entry!r}; name no state"
    if entry is None:
        return f"event {event!r}: the choice may depend on the state it is entered in; name one of {listed}"
    return f"event {event!r}: it is not entered in {entry!r}; name one of {listed}"
