"""A procedure some of whose activities are never enumerated.

`ProcedureBuilder.build_implicit` makes one where activities are :class:`~hcssp.cssp.implicit.ImplicitCSSP`.
It is itself an implicit problem, flat, and all that takes those takes it. Its states are called as those of a
flattened procedure: an event by its name, and a state of an activity by the pair of the activity's name and
its own label.

>>> from hcssp.procedure.builder import ProcedureBuilder
>>> from hcssp.procedure.elements import Outcome
>>> def walk(length):
...     return ImplicitCSSP(0, lambda place: ("step",), lambda place, action: {place + 1: 0.5, place: 0.5},
...                         lambda place, action: 1.0, lambda place: place >= length,
...                         lambda place: 2.0 * max(length - place, 0), cost_names=("minutes",))
>>> trip = ProcedureBuilder("trip")
>>> home, inn, there = (trip.add_event(name) for name in ("home", "inn", "there"))
>>> first, second = trip.add_activity("uphill", walk(3)), trip.add_activity("downhill", walk(2))
>>> trip.add_choice(home, "go", to=[Outcome(1.0, inn, runs=first)])
>>> trip.add_choice(inn, "go on", to=[Outcome(1.0, there, runs=second)])
>>> problem = trip.build_implicit(start=home, end=there)
>>> problem
<ImplicitProcedure trip: 3 events, 2 activities; minutes>
>>> sorted(map(str, problem.enumerated().state_labels))[:3]
["('downhill', 0)", "('downhill', 1)", "('uphill', 0)"]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.procedure.elements import Outcome
from hcssp.procedure.implicit_space import Inner, ProcedureSpace
from hcssp.procedure.model import HCSSP

OTHERWISE = "any other goal"
"""The exit of a stand-in for all the goals for which no outcome names an event."""


class ImplicitProcedure(ImplicitCSSP):
    """A procedure with implicit activities, as the implicit problem that says the same.

    Parameters
    ----------
    outline
        The procedure, with a stand-in (:func:`implicit_stand_in`) for every implicit activity.
    inner
        The implicit activities, by their index in the outline.
    exits
        For each of them, the events that single goals lead to, by the goals' labels.

    Attributes
    ----------
    outline
        The events, choices, activities and constraints, for those who draw or describe them.

    Raises
    ------
    InvalidProblem
        If it bounds each execution of a procedure, which nobody can see to without enumerating it.
    """

    def __init__(
        self,
        outline: HCSSP,
        inner: Mapping[int, ImplicitCSSP],
        exits: Mapping[int, Mapping[Hashable, int]],
    ) -> None:
        limited = [
            f"constraint {each.name!r} holds for each execution of a procedure, which is not possible beside "
            "activities that are never enumerated; bound the sum over the whole procedure instead"
            for each in outline.constraints
            if each.per is not None
        ]
        if limited:
            raise InvalidProblem(limited)
        flattening = outline.flattening
        parts = {}
        for index, problem in inner.items():
            counted = [0, *(each.counts.get(index, -1) for each in outline.constraints)]
            reached = {label: flattening.event_state(event) for label, event in exits[index].items()}
            otherwise = flattening.event_state(outline.activity_outcome[index].event_after(OTHERWISE))
            parts[index] = Inner(problem, counted, reached, otherwise)
        self.outline = outline
        self._state(
            ProcedureSpace(outline, parts),
            flattening.cost_names,
            dict(zip(outline.constraint_names, outline.bounds.tolist(), strict=True)),
            all(problem.consistent for problem in inner.values()),
            max(problem.max_states for problem in inner.values()),
            outline.name,
            outline.description,
        )

    def __repr__(self) -> str:
        sizes = f"{self.outline.num_events} events, {self.outline.num_activities} activities"
        start = f"<ImplicitProcedure {self.name}:" if self.name else "<ImplicitProcedure:"
        return f"{start} {sizes}; {' and '.join(self.cost_names)}>"


def outlined(outcome: Outcome) -> Outcome:
    """An outcome that runs an implicit activity, with one exit for each event: it hands nothing else over."""
    first: dict[int, Hashable] = {}
    for label, event in outcome.exits.items():
        if event != outcome.event:
            first.setdefault(event, label)
    return replace(outcome, exits={label: event for event, label in first.items()})


def implicit_stand_in(cost_names: Sequence[str], outcomes: Iterable[Outcome]) -> CSSP:
    """What an implicit activity is to the outline: it begins, and ends in an exit of its choice."""
    goals = [OTHERWISE, *dict.fromkeys(label for each in outcomes for label in outlined(each).exits)]
    count = len(goals)
    return CSSP.unchecked(
        transitions=csr_array(np.hstack((np.zeros((count, 1)), np.eye(count)))),
        row_start=np.array([0, *(count for _ in range(count + 1))]),
        costs=np.zeros((len(cost_names), count)),
        initial=np.array([1.0, *(0.0 for _ in goals)]),
        goals=np.array([False, *(True for _ in goals)]),
        cost_names=tuple(cost_names),
        bounds=np.full(len(cost_names) - 1, np.inf),
        state_labels=("begun", *goals),
        action_labels=tuple(f"end in {goal}" for goal in goals),
    )
