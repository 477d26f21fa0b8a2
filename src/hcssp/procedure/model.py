r"""The hierarchical constrained stochastic shortest path problem (HC-SSP).

A *procedure* has events, one of them its start and one its end. At every other event one of the choices
there is made; a choice leads, with given probabilities, along its outcomes, and an outcome may run an
*activity* before it reaches its event, or one of several, by the exit in which the activity ends. An activity
is a C-SSP of its own, its exits are its goals. Wanted are a choice for every
event, :math:`\rho`, and a policy for every activity that can then run, :math:`\Gamma_E`, which minimise

.. math:: \sum_E L(E \mid \rho) \, f^E(\Gamma_E)
   \quad\text{subject to}\quad
   \sum_{E \in \Psi_j} L(E \mid \rho) \, g^E_{I_j(E)}(\Gamma_E) \le \Delta_j \quad\text{for every } j,

where :math:`L(E \mid \rho)` is the expected number of executions of activity :math:`E`, :math:`f^E` its
expected primary cost and :math:`g^E_i` its expected secondary costs, for each execution. Constraint
:math:`j` names the activities :math:`\Psi_j` it counts and which secondary cost of each, :math:`I_j`.

Events, activities and choices are numbers here and names beside them, for people; of what they are made,
:mod:`hcssp.procedure.elements` tells. Build a problem with
:class:`~hcssp.procedure.builder.ProcedureBuilder`, which validates.

References
----------
Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path Planning via Cost Budget
Allocation*. A procedure here may also contain cycles, and a secondary cost may count in several
constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from hcssp.cssp.conversion import frozen
from hcssp.cssp.grid import Cell, GridWorld
from hcssp.cssp.model import CSSP, FloatArray, IntArray, bound_violations
from hcssp.cssp.reward import Reward
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.procedure.elements import Activity, Choice, Constraint, Frozen, Outcome

if TYPE_CHECKING:
    from networkx import MultiDiGraph

    from hcssp.procedure.entries import EventState
    from hcssp.procedure.flattening import Flattening
    from hcssp.procedure.nesting import Nesting, Use

_STRUCTURE = ("events", "start", "end", "activities", "choices")
CAPACITY_MODEL = "capacity_model"
_KNOWN = ("entered_states", CAPACITY_MODEL)
"""What is known of a problem as long as its structure stays the same: in which states events can be entered,
and what it was made from if its states carry capacities (:mod:`hcssp.procedure.capacities`)."""


class HCSSPParts(TypedDict, total=False):
    """Attributes of an :class:`HCSSP`, as keywords; see there."""

    events: tuple[str, ...]
    start: int
    end: int
    activities: tuple[Activity, ...]
    choices: tuple[Choice, ...]
    constraints: tuple[Constraint, ...]
    name: str
    description: str
    nesting: Nesting | None
    reward: Reward | None


@dataclass(frozen=True)
class HCSSP:
    """A valid, frozen HC-SSP: making one checks every rule. The module's text has the mathematics.

    Two problems are equal if they say the same, whatever they are called and wherever they are drawn.

    Attributes
    ----------
    events
        The events' names; everything else refers to events by their position here.
    start, end
        The event where the procedure begins and the one where it is over.
    activities
        Each hangs on exactly one outcome.
    choices
        Sorted by event; the end has none, every other event at least one.
    constraints
        What the expected sums of secondary costs must keep to.
    name, description
        What people call the problem, and what it is.
    positions
        Where the top-left wall cell of a room lies on a map of them all, for the rooms of which that is
        known.
    nesting
        What was stated, if some activities are procedures; see :mod:`hcssp.procedure.nesting`.
    units
        What costs are measured in, by their names; see :mod:`hcssp.procedure.units`.
    reward
        What is maximised, if the primary cost is what is missed of it; see :func:`hcssp.maximise`.

    Raises
    ------
    InvalidProblem
        If any rule is broken; the message lists everything that is.
    """

    events: tuple[str, ...]
    start: int
    end: int
    activities: tuple[Activity, ...]
    choices: tuple[Choice, ...]
    constraints: tuple[Constraint, ...]
    name: str = field(default="", compare=False)
    description: str = field(default="", compare=False)
    positions: Mapping[str, Cell] = field(default_factory=dict, compare=False, repr=False)
    nesting: Nesting | None = field(default=None, compare=False, repr=False)
    units: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    reward: Reward | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        from hcssp.procedure.validation import violations

        for part in ("events", "activities", "constraints"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        # What is not an event cannot be sorted among them; it comes last, and the rules name it.
        known = range(len(self.events))
        in_order = sorted(self.choices, key=lambda each: each.event if each.event in known else len(known))
        object.__setattr__(self, "choices", tuple(self._in_full(choice) for choice in in_order))
        object.__setattr__(self, "positions", Frozen(self.positions))
        found = violations(self)
        if found:
            raise InvalidProblem(found)

    def _in_full(self, choice: Choice) -> Choice:
        """The choice with all exits named where some are; what is wrong stays as it is, to be reported."""
        if not any(outcome.exits for outcome in choice.outcomes):
            return choice
        outcomes = []
        for outcome in choice.outcomes:
            if outcome.exits and outcome.runs is not None and outcome.runs in range(len(self.activities)):
                labels = self.activities[outcome.runs].exit_labels
                if outcome.exits.keys() <= set(labels):
                    outcome = outcome.in_full(labels)
            outcomes.append(outcome)
        return replace(choice, outcomes=tuple(outcomes))

    def _derive(self, **changes: Any) -> HCSSP:
        """The same problem with some attributes changed, which need no check."""
        problem = object.__new__(HCSSP)
        problem.__dict__.update(self.__getstate__() | changes)
        if all(problem.__dict__[name] is self.__dict__[name] for name in _STRUCTURE):
            kept = (name for name in _KNOWN if name in self.__dict__)
            problem.__dict__.update((name, self.__dict__[name]) for name in kept)
        return problem

    def restricted(self, **parts: Unpack[HCSSPParts]) -> HCSSP:
        """A part of the problem, which needs no check; see :mod:`hcssp.procedure.part`."""
        return self._derive(**({"nesting": None, "reward": None} | dict(parts)))

    def with_limits(self, constraints: Iterable[Constraint]) -> HCSSP:
        """The same problem with constraints on its uses besides its own."""
        return self._derive(constraints=(*self.constraints, *constraints))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    @property
    def num_events(self) -> int:
        return len(self.events)

    @property
    def num_activities(self) -> int:
        return len(self.activities)

    @property
    def num_constraints(self) -> int:
        return len(self.constraints)

    @cached_property
    def choice_start(self) -> IntArray:
        """Choices ``choice_start[e]:choice_start[e + 1]`` are those at event ``e``."""
        events = [choice.event for choice in self.choices]
        return frozen(np.searchsorted(events, np.arange(self.num_events + 1)).astype(np.int64))

    def choices_at(self, event: int) -> range:
        """The indices of the choices at `event`."""
        return range(int(self.choice_start[event]), int(self.choice_start[event + 1]))

    @cached_property
    def activity_choice(self) -> IntArray:
        """The choice whose outcome runs each activity."""
        found = np.zeros(self.num_activities, dtype=np.int64)
        for index, choice in enumerate(self.choices):
            for outcome in choice.outcomes:
                if outcome.runs is not None:
                    found[outcome.runs] = index
        return frozen(found)

    @cached_property
    def activity_outcome(self) -> tuple[Outcome, ...]:
        """The outcome that runs each activity."""
        found = {o.runs: o for choice in self.choices for o in choice.outcomes if o.runs is not None}
        return tuple(found[activity] for activity in range(self.num_activities))

    @property
    def outline(self) -> HCSSP:
        """The problem as it was stated, with a stand-in for every activity that is a procedure."""
        return self if self.nesting is None else self.nesting.outline

    @property
    def uses(self) -> tuple[Use, ...]:
        """The procedures that run as activities, those inside others after them; empty if there are none."""
        return () if self.nesting is None else self.nesting.uses

    @property
    def bounds(self) -> FloatArray:
        """The bound of each constraint."""
        return frozen(np.array([constraint.at_most for constraint in self.constraints], dtype=np.float64))

    @cached_property
    def choice_costs(self) -> FloatArray:
        """What making a choice counts as: a row for the primary cost, then one for each constraint.

        Nothing but for constraints that hold for every execution of a use; ``(1 + constraints, choices)``.
        """
        costs = np.zeros((1 + self.num_constraints, len(self.choices)))
        for row, constraint in enumerate(self.constraints, 1):
            if constraint.per is not None and constraint.at_most < np.inf:
                for choice, loss in constraint.per.losses.items():
                    costs[row, choice] = constraint.lost_execution * loss
        return frozen(costs)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The constraints' names, in order."""
        return tuple(constraint.name for constraint in self.constraints)

    @cached_property
    def flattening(self) -> Flattening:
        """The layout of the one C-SSP that says the same."""
        from hcssp.procedure.flattening import Flattening

        return Flattening(self)

    @cached_property
    def entered_states(self) -> tuple[tuple[EventState, ...], list[str]]:
        """The event states that can be reached, and what is wrong with how they are entered."""
        from hcssp.procedure.entries import reachable_event_states

        return reachable_event_states(self)

    @property
    def primary_name(self) -> str:
        """What the activities call their primary cost if they agree, else ``"cost"``."""
        names = {activity.cssp.cost_names[0] for activity in self.activities}
        return names.pop() if len(names) == 1 else "cost"

    def event_index(self, name: str) -> int:
        """The event called `name`.

        Raises
        ------
        UnknownName
            If there is none; the message suggests the nearest.
        """
        return _position("event", name, self.events)

    def activity_index(self, name: str) -> int:
        """The activity called `name`.

        Raises
        ------
        UnknownName
            If there is none; the message suggests the nearest.
        """
        return _position("activity", name, [activity.name for activity in self.activities])

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> HCSSP:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a constraint, or a bound is not a number.
        """
        wanted = {**(bounds or {}), **named}
        known = self.constraint_names
        violations = []
        for name, bound in wanted.items():
            if name not in known:
                listed = ", ".join(repr(each) for each in known) or "none"
                violations.append(f"bound on {name!r}: no such constraint; the constraints are {listed}")
            else:
                violations += bound_violations(f"bound on {name!r}", bound)
        if violations:
            raise InvalidProblem(violations)
        constraints = tuple(
            replace(constraint, at_most=float(wanted.get(constraint.name, constraint.at_most)))
            for constraint in self.constraints
        )
        if self.nesting is None:
            return self._derive(constraints=constraints)
        stated = self.nesting.outline.constraint_names
        outline = self.nesting.outline.with_bounds({name: wanted[name] for name in stated if name in wanted})
        return self._derive(constraints=constraints, nesting=replace(self.nesting, outline=outline))

    def with_activities(self, changed: Mapping[str, CSSP]) -> HCSSP:
        """The same procedure in a changed world: other problems for some activities, given by name.

        Raises
        ------
        UnknownName
            If there is no activity of that name.
        InvalidProblem
            If a new problem does not fit the procedure, such as one without the exits that it needs.
        """
        for name in changed:
            self.activity_index(name)
        activities = tuple(
            replace(each, cssp=changed[each.name]) if each.name in changed else each
            for each in self.activities
        )
        nesting = None if self.nesting is None else replace(self.nesting, placed=self.nesting.uses)
        problem = self._derive(activities=activities, nesting=nesting, reward=None)
        problem.__post_init__()
        return problem

    def world(self, activity: int) -> GridWorld | None:
        """The grid of an activity, given by its index; None if its states are no cells."""
        return self.activities[activity].cssp.world

    @property
    def has_rooms(self) -> bool:
        """Whether any activity takes place on a grid, so that there are rooms to draw."""
        return any(activity.cssp.world is not None for activity in self.activities)

    def named(
        self,
        name: str,
        description: str = "",
        positions: Mapping[str, Cell] | None = None,
        rooms: Mapping[str, str] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> HCSSP:
        """The same problem under a name, and perhaps with a map of its rooms.

        Parameters
        ----------
        name, description
            What people call it, and what it is.
        positions
            Where rooms lie on a map of them all; None leaves that as it is.
        rooms
            From an activity's name to its room; None leaves that as it is.
        sources
            From an activity's name to where a file says it; what is not named stays as it is.
        """
        activities = self.activities
        if rooms is not None:
            activities = tuple(replace(each, room=rooms.get(each.name, "")) for each in activities)
        if sources is not None:
            activities = tuple(
                replace(each, source=sources.get(each.name, each.source)) for each in activities
            )
        places = self.positions if positions is None else Frozen(positions)
        return self._derive(name=name, description=description, positions=places, activities=activities)

    def measured_in(self, units: Mapping[str, str]) -> HCSSP:
        """The same problem; words and pictures tell the units of its costs, given by name."""
        return self._derive(units=Frozen(units))

    def to_networkx(self) -> MultiDiGraph:
        """The procedure as a ``networkx.MultiDiGraph``; see :mod:`hcssp.procedure.event_graph`."""
        from hcssp.procedure.event_graph import event_graph

        return event_graph(self)

    def __repr__(self) -> str:
        sizes = f"{self.num_events} events, {self.num_activities} activities"
        return f"<HCSSP {self.name}: {sizes}>" if self.name else f"<HCSSP: {sizes}>"

    def __str__(self) -> str:
        from hcssp.procedure.description import describe

        return describe(self)

    def _repr_html_(self) -> str:
        from hcssp.reports.notebook import problem_html

        return problem_html(self)


def _position(kind: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise UnknownName(kind, str(name), names)
    return names.index(name)
