r"""Policies of an HC-SSP: a choice for every event state, and a policy for every activity.

In the paper's terms, the choices are :math:`\rho` and the activities' policies :math:`\Gamma`. The same
policy can be said as one row for each state of the flat problem, and read back from it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.model import IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.errors import InvalidProblem
from hcssp.procedure.entries import EventState
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.model import HCSSP

_VIOLATIONS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class HierarchicalPolicy:
    """A deterministic policy of a procedure.

    Attributes
    ----------
    choices
        From event states to indices of the problem's choices; an event state that the policy never
        enters may be left out.
    activities
        For each activity a local row for each of its states, :data:`~hcssp.cssp.policy.NO_ROW` in goals
        and where the policy never goes.
    """

    choices: Mapping[EventState, int]
    activities: tuple[IntArray, ...]

    @classmethod
    def from_flat(cls, flattening: Flattening, rows: IntArray) -> HierarchicalPolicy:
        """The hierarchical policy that takes the flat `rows`, one for each flat state."""
        rows = np.asarray(rows, dtype=np.int64)
        choices = {
            flattening.event_states[state]: int(flattening.event_row_choice[rows[state]])
            for state in np.flatnonzero(rows[: flattening.num_event_states] != NO_ROW)
        }
        activities = []
        for index, activity in enumerate(flattening.problem.activities):
            flat = rows[flattening.state_offset[index] : flattening.state_offset[index + 1]]
            local = np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64)
            local[~activity.cssp.goals] = np.where(
                flat == NO_ROW, NO_ROW, flat - flattening.row_offset[index]
            )
            activities.append(local)
        return cls(choices, tuple(activities))

    def to_flat(self, flattening: Flattening) -> IntArray:
        """One flat row for each flat state.

        Raises
        ------
        InvalidProblem
            If the policy does not fit the problem; all misfits are listed together.
        """
        problem = flattening.problem
        shapes = [rows.shape for rows in self.activities]
        wanted = [(activity.cssp.num_states,) for activity in problem.activities]
        if shapes != wanted:
            raise InvalidProblem(
                [
                    f"the policy has rows of shapes {shapes} for the activities, but their numbers of states "
                    f"need {wanted}; give one row a state"
                ]
            )
        rows = np.full(flattening.num_states, NO_ROW, dtype=np.int64)
        for state, (event, entry) in enumerate(flattening.event_states):
            choice = self.choices.get((event, entry), NO_ROW)
            if choice != NO_ROW:
                rows[state] = flattening.event_row_start[state] + choice - problem.choice_start[event]
        for index, activity in enumerate(problem.activities):
            local = self.activities[index][~activity.cssp.goals]
            flat = np.where(local == NO_ROW, NO_ROW, local + flattening.row_offset[index])
            rows[flattening.state_offset[index] : flattening.state_offset[index + 1]] = flat
        own = (rows >= flattening.row_start[:-1]) & (rows < flattening.row_start[1:])
        wrong = np.flatnonzero(~own & (rows != NO_ROW))
        if len(wrong):
            labels = flattening.state_labels
            raise InvalidProblem(
                f"{labels[int(state)]!r}: the policy takes what is not there (flat row {rows[state]}, "
                f"but its rows are {flattening.row_start[state]} to {flattening.row_start[state + 1] - 1})"
                for state in wrong[:_VIOLATIONS_SHOWN]
            )
        return rows

    def activity(self, index: int) -> DeterministicPolicy:
        """The policy of one activity, as that of its C-SSP."""
        return DeterministicPolicy(self.activities[index])

    def choice_names(self, problem: HCSSP) -> dict[Hashable, str]:
        """The choices in words: from an event's name to the choice's.

        Where the choice depends on the state that the event is entered in, the key is the pair of the
        event's name and that state's label.
        """
        names: dict[Hashable, str] = {}
        for (event, entry), choice in self.choices.items():
            name = problem.events[event]
            names[name if entry is None else (name, entry)] = problem.choices[choice].name
        return names
