"""Stating a procedure piece by piece; ``build`` validates it once and freezes it.

>>> import numpy as np
>>> from scipy.sparse import csr_array
>>> from hcssp.cssp.model import CSSP
>>> room = CSSP(
...     transitions=csr_array(np.array([[0.0, 1.0], [0.5, 0.5]])),
...     row_start=np.array([0, 2, 2]),
...     costs=np.array([[3.0, 1.0], [0.0, 4.0]]),
...     initial=np.array([1.0, 0.0]),
...     goals=np.array([False, True]),
...     cost_names=("time", "damage"),
...     bounds=np.array([np.inf]),
... )
>>> plan = ProcedureBuilder()
>>> start, hall, out = plan.add_event("start"), plan.add_event("hall"), plan.add_event("out")
>>> cross = plan.add_activity("cross-room", room)
>>> leave = plan.add_activity("leave", room)
>>> plan.add_choice(start, "cross", to=[Outcome(1.0, hall, runs=cross)])
>>> plan.add_choice(hall, "leave", to=[Outcome(0.9, out, runs=leave), Outcome(0.1, start)])
>>> plan.add_constraint("damage", at_most=2.0, counts={cross: "damage", leave: "damage"})
>>> problem = plan.build(start=start, end=out)
>>> print(problem)
procedure: 3 events, 2 activities, 1 constraint; minimise time
start
  choose cross
    run cross-room (2 states), reach hall
      choose leave
        0.9: run leave (2 states), reach out, the end
        0.1: reach start (see above)
constraint damage <= 2: counts damage of cross-room, leave
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, NewType

from hcssp.cssp.grid import Cell
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.procedure.model import HCSSP, Activity, Choice, Constraint, Outcome
from hcssp.procedure.nesting import Nesting, expand, outlined, stand_in
from hcssp.procedure.validation import is_index

if TYPE_CHECKING:
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.procedure.implicit import ImplicitProcedure
    from hcssp.procedure.product import What

EventHandle = NewType("EventHandle", int)
"""An event of a builder; it is the event's index in the problem."""

ActivityHandle = NewType("ActivityHandle", int)
"""An activity of a builder; it is the activity's index in the problem, if none is a procedure."""


class ProcedureBuilder:
    """Builds a procedure. The ``add_*`` methods return handles.

    Parameters
    ----------
    name, description
        The name and the description of the problem.
    positions
        Where the top-left wall cell of each room lies on a map of them all, for pictures.
    """

    def __init__(
        self, name: str = "", description: str = "", positions: Mapping[str, Cell] | None = None
    ) -> None:
        self._name = name
        self._description = description
        self._positions = dict(positions or {})
        self._events: list[str] = []
        self._activities: list[tuple[str, CSSP | HCSSP | ImplicitCSSP, str]] = []
        self._labels: list[tuple[Mapping[Hashable, Hashable], Mapping[Hashable, Hashable]]] = []
        self._choices: list[Choice] = []
        self._constraints: list[tuple[str, float, dict[ActivityHandle, str], str]] = []
        self._probabilities: list[tuple[str, What, float]] = []

    def add_event(self, name: str) -> EventHandle:
        """Add an event: a moment at which something is chosen, or the end."""
        self._events.append(name)
        return EventHandle(len(self._events) - 1)

    def add_activity(
        self,
        name: str,
        problem: CSSP | HCSSP | ImplicitCSSP,
        room: str = "",
        entries: Mapping[Hashable, Hashable] | None = None,
        hands_over: Mapping[Hashable, Hashable] | None = None,
    ) -> ActivityHandle:
        """Add an activity, to be run by exactly one outcome.

        Parameters
        ----------
        name
            The name. Names inside a procedure begin with this name and a slash.
        problem
            A C-SSP, whose own bounds are ignored, or another procedure. The same may be added under several
            names: the activities share its arrays, and each has a separate policy. Or an implicit problem,
            which is never enumerated: then so is the whole procedure. What follows it starts in its own
            initial states, and its outcome's `exits` distinguish its goals by their labels.
        room
            Activities of the same room are drawn in one picture. The map of a procedure is laid down where
            the room lies.
        entries
            Where it starts when the activity before it hands over a label: from that label to the one of its
            own state. By default it starts in its state of the same label.
        hands_over
            What it hands over where several of its goals lead to one event: from the label of a goal to the
            label with which that event is entered. Goals that are not named hand over nothing. By default
            every goal hands over its own label.
        """
        self._activities.append((name, problem, room))
        self._labels.append((entries or {}, hands_over or {}))
        return ActivityHandle(len(self._activities) - 1)

    def add_choice(self, event: EventHandle, name: str, *, to: Iterable[Outcome]) -> None:
        """Add something that can be chosen at `event`, and where it leads.

        An outcome whose activity ends in several ways may lead to an event for each, by the labels of the
        activity's goals: ``Outcome(1.0, on_the_way, runs=leg, exits={"crashed": lost})``.
        """
        self._choices.append(Choice(event, name, tuple(to)))

    def add_constraint(
        self,
        name: str,
        *,
        at_most: float,
        counts: Mapping[ActivityHandle, str],
        probability_of: str = "",
    ) -> None:
        """Bound an expected sum over the whole procedure.

        Parameters
        ----------
        name
            What people call it.
        at_most
            The bound; ``inf`` for none yet.
        counts
            For each activity that counts, the name of its secondary cost that does; those of a procedure are
            its constraints.
        probability_of
            What the sum is the probability of, for words, if no run counts more than 1; to have that seen to,
            use :meth:`add_probability`.
        """
        self._constraints.append((name, at_most, dict(counts), probability_of))

    def add_probability(self, name: str, *, of: What, at_most: float) -> None:
        """Bound the probability that something happens.

        Parameters
        ----------
        name
            What to call the constraint.
        of
            The name of an event that is reached; or the label of a state, cell or exit that is entered; or
            from the names of activities to such labels.
        at_most
            The most that is allowed, from 0 to 1; ``inf`` for no bound yet.
        """
        self._probabilities.append((name, of, at_most))

    def build(self, *, start: EventHandle, end: EventHandle) -> HCSSP:
        """The frozen problem.

        Raises
        ------
        InvalidProblem
            If anything is wrong; the message lists everything that is.
        """
        implicit = [name for name, problem, _ in self._activities if not problem.lists_states]
        if implicit:
            raise InvalidProblem(
                f"activity {name!r} is an implicit problem; use build_implicit(start=..., end=...), or add "
                "its enumerated() instead"
                for name in implicit
            )
        problem = self._written_out(start, end)
        for name, of, at_most in self._probabilities:
            from hcssp.procedure.product import with_probability

            problem = with_probability(problem, name, of=of, at_most=at_most)
        return problem

    def build_implicit(self, *, start: EventHandle, end: EventHandle) -> ImplicitProcedure:
        """The problem as one that is never enumerated, for procedures with implicit activities.

        Raises
        ------
        InvalidProblem
            If anything is wrong; or if a probability or each execution of a procedure is bounded, or no
            activity is implicit.
        """
        from hcssp.procedure.implicit import ImplicitProcedure

        inner = {
            index: problem
            for index, (_, problem, _) in enumerate(self._activities)
            if not problem.lists_states
        }
        found = [
            f"constraint {name!r} bounds a probability, which is not possible beside implicit activities; "
            "let a secondary cost of the activities count it"
            for name, _, _ in self._probabilities
        ]
        found += [
            f"activity {self._activities[index][0]!r} is a procedure with implicit activities and has a "
            f"bound of its own, {name!r}, which would hold for each execution; bound the sum instead"
            for index, problem in inner.items()
            if isinstance(problem, ImplicitProcedure)
            for name, bound in zip(problem.constraint_names, problem.bounds.tolist(), strict=True)
            if bound < inf
        ]
        if not inner:
            found.append("no activity is an implicit problem; use build(start=..., end=...)")
        if found:
            raise InvalidProblem(found)
        outline = self._written_out(start, end)
        place = {activity.name: index for index, activity in enumerate(outline.activities)}
        number = {index: place[self._activities[index][0]] for index in inner}
        exits = {
            number[index]: {
                label: event
                for choice in self._choices
                for outcome in choice.outcomes
                if outcome.runs == index
                for label, event in outcome.exits.items()
            }
            for index in inner
        }
        return ImplicitProcedure(outline, {number[index]: each for index, each in inner.items()}, exits)

    def _written_out(self, start: EventHandle, end: EventHandle) -> HCSSP:
        """The procedure with all that is inside, and a stand-in for every implicit activity."""
        procedures = {
            index: problem
            for index, (_, problem, _) in enumerate(self._activities)
            if isinstance(problem, HCSSP)
        }
        running: defaultdict[int | None, list[Outcome]] = defaultdict(list)
        for choice in self._choices:
            for outcome in choice.outcomes:
                running[outcome.runs].append(outcome)
        outline = HCSSP(
            events=tuple(self._events),
            start=start,
            end=end,
            activities=tuple(
                Activity(name, self._standing(index, running[index]), room, "", *self._labels[index])
                for index, (name, _, room) in enumerate(self._activities)
            ),
            choices=self._outlined_choices(),
            constraints=tuple(
                Constraint(given, at_most, self._indices(counts), probability_of=of)
                for given, at_most, counts, of in self._constraints
            ),
            name=self._name,
            description=self._description,
            positions=self._positions,
        )
        return expand(Nesting(outline, procedures)) if procedures else outline

    def _standing(self, activity: int, outcomes: Sequence[Outcome]) -> CSSP:
        """What an activity is to the outline; a stand-in has the exits that the outcomes running it name."""
        problem = self._activities[activity][1]
        if isinstance(problem, CSSP):
            return problem
        ends = outcomes if problem.lists_states else map(outlined, outcomes)
        return stand_in(problem.cost_names, [label for each in ends for label in each.exits])

    def _outlined_choices(self) -> tuple[Choice, ...]:
        """The choices among stand-ins, where an implicit activity has one exit for each event."""
        implicit = {i for i, (_, problem, _) in enumerate(self._activities) if not problem.lists_states}
        if not implicit:
            return tuple(self._choices)
        return tuple(
            replace(
                choice,
                outcomes=tuple(outlined(each) if each.runs in implicit else each for each in choice.outcomes),
            )
            for choice in self._choices
        )

    def _indices(self, counts: Mapping[ActivityHandle, str]) -> dict[int, Any]:
        """The costs' indices; a cost that does not exist stays a name, for the validation to report."""
        indices: dict[int, Any] = {}
        for activity, cost in counts.items():
            known = is_index(activity, len(self._activities))
            problem = self._activities[activity][1] if known else None
            names = () if problem is None else problem.cost_names
            indices[activity] = names.index(cost) if cost in names else cost
        return indices
