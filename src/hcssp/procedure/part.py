"""A part of a procedure: some of its events, choices and activities, and how policies go over.

A part keeps the order of the whole, and a policy of either says what to do in the other, wherever both go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcssp.cssp.model import BoolArray
from hcssp.cssp.policy import NO_ROW
from hcssp.procedure.elements import Choice, Constraint, Outcome, PerExecution
from hcssp.procedure.entries import reached_events
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy


@dataclass(frozen=True, eq=False)
class Part:
    """A procedure that is a part of another.

    Attributes
    ----------
    problem, original
        The part, and the whole.
    events, choices, activities
        Which of the whole's there are, in its order.
    """

    problem: HCSSP
    original: HCSSP
    events: tuple[int, ...]
    choices: tuple[int, ...]
    activities: tuple[int, ...]

    def lift(self, policy: ProcedurePolicy) -> ProcedurePolicy:
        """A policy of the part as one of the whole; elsewhere it has nothing to do."""
        choices = {
            (self.events[event], entry): self.choices[choice]
            for (event, entry), choice in policy.choices.items()
        }
        rows = [
            np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64) for activity in self.original.activities
        ]
        for index, local in zip(self.activities, policy.activities, strict=True):
            rows[index] = local
        return ProcedurePolicy.compose(self.original, choices, rows)


def part_of(problem: HCSSP, choices: BoolArray, *, only_likely: bool = False) -> Part:
    """What of a procedure can be reached from its start by some of its choices.

    Parameters
    ----------
    problem
        The whole.
    choices
        Which of its choices the part has, where they can be reached.
    only_likely
        Whether to leave out outcomes of probability zero, and what only they lead to.
    """
    outcomes = [
        [each for each in choice.outcomes if not only_likely or each.probability > 0.0]
        for choice in problem.choices
    ]
    chosen = np.flatnonzero(choices).tolist()
    reached = reached_events(
        problem, ((problem.choices[c].event, each) for c in chosen for each in outcomes[c])
    )
    reached[problem.end] = True
    kept = [c for c in chosen if reached[problem.choices[c].event]]
    activities = sorted({each.runs for c in kept for each in outcomes[c] if each.runs is not None})
    place = _Places(
        events={event: new for new, event in enumerate(np.flatnonzero(reached).tolist())},
        choices={choice: new for new, choice in enumerate(kept)},
        activities={activity: new for new, activity in enumerate(activities)},
    )
    part = problem.restricted(
        events=tuple(problem.events[event] for event in place.events),
        start=place.events[problem.start],
        end=place.events[problem.end],
        activities=tuple(problem.activities[activity] for activity in activities),
        choices=tuple(place.choice(problem.choices[c], outcomes[c]) for c in kept),
        constraints=tuple(place.constraint(each) for each in problem.constraints),
    )
    return Part(part, problem, tuple(place.events), tuple(kept), tuple(activities))


@dataclass(frozen=True)
class _Places:
    """Where in the part things of the whole are."""

    events: Mapping[int, int]
    choices: Mapping[int, int]
    activities: Mapping[int, int]

    def choice(self, choice: Choice, outcomes: Sequence[Outcome]) -> Choice:
        return replace(
            choice, event=self.events[choice.event], outcomes=tuple(self._outcome(o) for o in outcomes)
        )

    def _outcome(self, outcome: Outcome) -> Outcome:
        return replace(
            outcome,
            event=self.events[outcome.event],
            runs=None if outcome.runs is None else self.activities[outcome.runs],
            exits={label: self.events[event] for label, event in outcome.exits.items()},
        )

    def constraint(self, constraint: Constraint) -> Constraint:
        counts = {
            self.activities[activity]: cost
            for activity, cost in constraint.counts.items()
            if activity in self.activities
        }
        return replace(constraint, counts=counts, per=self._per(constraint.per))

    def _per(self, per: PerExecution | None) -> PerExecution | None:
        """What makes a limit of a use, in the choices that are left."""
        if per is None:
            return None
        return replace(
            per, losses={self.choices[c]: loss for c, loss in per.losses.items() if c in self.choices}
        )
