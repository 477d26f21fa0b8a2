r"""The hierarchical constrained stochastic shortest path problem (HC-SSP).

A *procedure* has events, one of them its start and one its end. At every other event one of the choices
there is made; a choice leads, with given probabilities, along its outcomes, and an outcome may run an
*activity* before it reaches its event. An activity is a C-SSP of its own. Wanted are a choice for every
event, :math:`\rho`, and a policy for every activity that can then run, :math:`\Gamma_E`, which minimise

.. math:: \sum_E L(E \mid \rho) \, f^E(\Gamma_E)
   \quad\text{subject to}\quad
   \sum_{E \in \Psi_j} L(E \mid \rho) \, g^E_{I_j(E)}(\Gamma_E) \le \Delta_j \quad\text{for every } j,

where :math:`L(E \mid \rho)` is the expected number of executions of activity :math:`E`, :math:`f^E` its
expected primary cost and :math:`g^E_i` its expected secondary costs, for each execution. Constraint
:math:`j` names the activities :math:`\Psi_j` it counts and which secondary cost of each, :math:`I_j`.

Events, activities and choices are numbers here and names beside them, for people. Build a problem with
:class:`~hcssp.procedure.builder.ProcedureBuilder`, which validates.

References
----------
Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path Planning via Cost Budget
Allocation*. A procedure here may also contain cycles, and a secondary cost may count in several
constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.errors import InvalidProblem


@dataclass(frozen=True, eq=False)
class Activity:
    """A C-SSP with a name. Its own bounds are ignored: the procedure's constraints take their place."""

    name: str
    cssp: CSSP


@dataclass(frozen=True)
class Outcome:
    """One way a choice can turn out: with `probability`, after running `runs`, `event` is reached.

    Attributes
    ----------
    probability
        Those of a choice sum to one.
    event
        The event that is reached.
    runs
        The activity that is run on the way, or None if the event is reached at once and for free.
    """

    probability: float
    event: int
    runs: int | None = None

    @property
    def activity(self) -> int | None:
        """The activity that is run on the way, or None: `runs`, as a noun."""
        return self.runs


@dataclass(frozen=True)
class Choice:
    """What can be chosen at an event, and how it can turn out."""

    event: int
    name: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Constraint:
    """An upper bound on an expected sum over the whole procedure.

    Attributes
    ----------
    name
        What people call it.
    at_most
        The bound; ``inf`` where none is set.
    counts
        From an activity to the index of the secondary cost of it (1 or more) that is counted.
    """

    name: str
    at_most: float
    counts: Mapping[int, int]


@dataclass(frozen=True, eq=False)
class HCSSP:
    """A frozen HC-SSP; see the module's text for the mathematics.

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
    """

    events: tuple[str, ...]
    start: int
    end: int
    activities: tuple[Activity, ...]
    choices: tuple[Choice, ...]
    constraints: tuple[Constraint, ...]

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
        return np.searchsorted(events, np.arange(self.num_events + 1)).astype(np.int64)

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
        return found

    @cached_property
    def activity_outcome(self) -> tuple[Outcome, ...]:
        """The outcome that runs each activity."""
        found = {o.runs: o for choice in self.choices for o in choice.outcomes if o.runs is not None}
        return tuple(found[activity] for activity in range(self.num_activities))

    @property
    def bounds(self) -> FloatArray:
        """The bound of each constraint."""
        return np.array([constraint.at_most for constraint in self.constraints], dtype=np.float64)

    @property
    def primary_name(self) -> str:
        """What the activities call their primary cost if they agree, else ``"cost"``."""
        names = {activity.cssp.cost_names[0] for activity in self.activities}
        return names.pop() if len(names) == 1 else "cost"

    def event_index(self, name: str) -> int:
        """The event called `name`; an error that lists the events if there is none."""
        return _position("event", name, self.events)

    def activity_index(self, name: str) -> int:
        """The activity called `name`; an error that lists the activities if there is none."""
        return _position("activity", name, [activity.name for activity in self.activities])

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> HCSSP:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a constraint, or a bound is not a number.
        """
        wanted = {**(bounds or {}), **named}
        known = [constraint.name for constraint in self.constraints]
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
        return replace(self, constraints=constraints)

    def __str__(self) -> str:
        from hcssp.procedure.description import describe

        return describe(self)


def bound_violations(where: str, bound: float) -> list[str]:
    """What is wrong with a bound: a finite one below zero is legal, and merely infeasible."""
    if np.isnan(bound) or bound == -np.inf:
        return [f"{where}: {bound} is no upper bound; give a finite number, or inf for none"]
    return []


def _position(kind: str, name: str, names: Sequence[str]) -> int:
    try:
        return names.index(name)
    except ValueError:
        listed = ", ".join(repr(each) for each in names) or "none"
        raise InvalidProblem([f"{kind} {name!r}: there is none of that name; there are {listed}"]) from None
