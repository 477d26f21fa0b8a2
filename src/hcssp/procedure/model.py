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

Events, activities and choices are numbers, with names beside them for people. Build a problem with
:class:`~hcssp.procedure.builder.ProcedureBuilder`, which validates.

An *event state* is an event and the label with which it was entered. An activity with one goal always hands
over in the same way, and what follows starts in its own initial distribution. An activity with several goals
that lead to one event hands over the goal it ended in: the exit state is the entry state of what follows,
identified by its label. So the procedure's own states are pairs of an event and an entry label (None where
there is nothing to hand over), and the choice at an event may depend on the state it was entered in.

- The start is entered with None; all entries to the end are one and the same.
- A goal that is the only one of its activity to lead to its event enters it with None; where several do,
  each enters it with its label, or with what the activity's `hands_over` names instead.
- An activity run from an event entered with None starts in its own initial distribution; entered with a
  label, it starts in its state of that label, unless its `entries` name another.
- An outcome without an activity passes the label on.

References
----------
Hong and Williams, *Hierarchical Constrained Stochastic Shortest Path Planning via Cost Budget
Allocation*. A procedure here may also contain cycles, and a secondary cost may count in several
constraints.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack, get_args

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import frozen
from hcssp.cssp.grid import Cell, GridWorld
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, Reward, changed_bounds
from hcssp.cssp.reachability import closure, state_graph
from hcssp.display import ProblemPicture
from hcssp.errors import InvalidProblem, MissingDependency, UnknownName, UnsupportedProblem
from hcssp.numerics import LOST_EXECUTION

if TYPE_CHECKING:
    from networkx import MultiDiGraph

    from hcssp.cssp.policy import Extra
    from hcssp.procedure.flattening import Flattening
    from hcssp.procedure.nesting import Nesting, Use
    from hcssp.procedure.policy import ProcedurePolicy


class Frozen(Mapping[Any, Any]):
    """A mapping that stays as it was made, compares by content, and survives pickling.

    >>> Frozen({1: 2}) == {1: 2}, hash(Frozen({1: 2})) == hash(Frozen({1: 2}))
    (True, True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[Any, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True)
class Activity:
    """A C-SSP with a name. Its own bounds are ignored: the procedure's constraints take their place.

    Attributes
    ----------
    name
        What people call it.
    cssp
        The problem of one execution.
    room
        Where it takes place, for pictures: activities of the same room are drawn in one. By default a
        room of its own.
    source
        Where a file says it, for messages; empty if none does.
    entries
        Where it starts when its event was entered with a label: from that label to the one of its own state.
        By default it starts in its state of the same label.
    hands_over
        What it hands over where several goals lead to one event: from the label of a goal to the label with
        which that event is entered. Goals that are not named hand over nothing. By default, if empty, every
        goal hands over its own label.
    """

    name: str
    cssp: CSSP
    room: str = field(default="", compare=False)
    source: str = field(default="", compare=False, repr=False)
    entries: Mapping[Hashable, Hashable] = field(default_factory=dict, repr=False)
    hands_over: Mapping[Hashable, Hashable] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.room:
            object.__setattr__(self, "room", self.name)
        object.__setattr__(self, "entries", Frozen(self.entries))
        object.__setattr__(self, "hands_over", Frozen(self.hands_over))

    def entry_state(self, label: Hashable) -> int | None:
        """The state in which it starts when its event was entered with `label`; None if there is none."""
        return self.cssp.state_index.get(self.entries.get(label, label))

    def handed_over(self, label: Hashable) -> Hashable | None:
        """The label with which an event is entered from the goal `label`, if several goals lead to it."""
        return self.hands_over.get(label) if self.hands_over else label

    @property
    def exit_labels(self) -> list[Hashable]:
        """The labels of its goals, in which it can end."""
        return [self.cssp.state_labels[goal] for goal in np.flatnonzero(self.cssp.goals).tolist()]


@dataclass(frozen=True)
class Outcome:
    """One way a choice can turn out: with `probability`, after running `runs`, `event` is reached.

    Which event is reached may depend on where the activity ends:

    >>> home, lost = 1, 2
    >>> flight = Outcome(1.0, home, runs=0, exits={"crashed": lost})
    >>> flight.event_after("landed"), flight.event_after("crashed")
    (1, 2)

    Attributes
    ----------
    probability
        Those of a choice sum to one.
    event
        The event that is reached.
    runs
        The activity that is run on the way, or None if the event is reached at once and for free.
    exits
        From the label of a goal of the activity to the event that is reached from there; from the goals that
        are not named, `event` is. In a problem it names all of them, unless they all lead to one event.
    """

    probability: float
    event: int
    runs: int | None = None
    exits: Mapping[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "exits", Frozen(self.exits))

    def event_after(self, label: Hashable) -> int:
        """The event that is reached if the activity ends in its goal of this label."""
        return self.exits.get(label, self.event)

    @property
    def events(self) -> tuple[int, ...]:
        """All events that may be reached, each once."""
        return tuple(dict.fromkeys((self.event, *self.exits.values())))

    def exits_to(self, event: int) -> tuple[Hashable, ...] | None:
        """The labels of the goals from which `event` is reached; None if nothing depends on the goal."""
        if not self.exits:
            return None
        return tuple(label for label, reached in self.exits.items() if reached == event)

    def renumbered(self, events: Mapping[int, int], activities: Mapping[int, int]) -> Outcome:
        """The same outcome where events and activities have other numbers."""
        return replace(
            self,
            event=events[self.event],
            runs=None if self.runs is None else activities[self.runs],
            exits={label: events[event] for label, event in self.exits.items()},
        )

    def in_full(self, labels: Sequence[Hashable]) -> Outcome:
        """The same with an event for each of the goals' `labels`, or with none if all lead to one."""
        reached = {label: self.event_after(label) for label in labels}
        first, *others = dict.fromkeys(reached.values())
        return replace(self, event=first, exits=reached if others else {})


@dataclass(frozen=True)
class Choice:
    """What can be chosen at an event, and how it can turn out."""

    event: int
    name: str
    outcomes: tuple[Outcome, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", tuple(self.outcomes))


@dataclass(frozen=True)
class PerExecution:
    """What makes a constraint bound every execution of a use, and not the sum of all of them.

    See :mod:`hcssp.procedure.nesting` for why the numbers here say that.

    Attributes
    ----------
    use
        Which of the problem's uses it belongs to.
    most_executions
        A number that the expected executions of the use never exceed.
    losses
        From choices to how many executions fewer can still be expected at most once they are made.
    carried
        What an execution that is under way at the start may still cost, in the rest of a procedure.
    """

    use: int
    most_executions: float
    losses: Mapping[int, float]
    carried: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", Frozen(self.losses))


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
    per
        What makes it hold for every execution of a use; None if it is about the whole procedure.
    probability_of
        The event or state whose probability it bounds, for texts; empty if it bounds an expected cost. See
        :mod:`hcssp.procedure.product`.
    """

    name: str
    at_most: float
    counts: Mapping[int, int]
    per: PerExecution | None = None
    probability_of: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", Frozen(self.counts))

    @property
    def limit(self) -> float:
        """The limit for an execution of the use, or for the whole procedure if it belongs to none."""
        if self.per is None:
            return self.at_most
        nearest = (self.at_most - self.per.carried) / self.per.most_executions
        # The bound was computed from the limit: what was stated is a shorter decimal, if it gives the same.
        stated = float(f"{nearest:.15g}")
        same = stated * self.per.most_executions + self.per.carried == self.at_most
        return stated if same else nearest

    @property
    def lost_execution(self) -> float:
        """What an execution that is forgone counts as, see :mod:`hcssp.procedure.nesting`."""
        return self.limit * LOST_EXECUTION


Choices = Literal["per state", "per event"]
"""Whether the choice at an event may depend on the state in which it is entered."""

_STRUCTURE = ("events", "start", "end", "activities", "choices")
CAPACITY_MODEL = "capacity_model"
_KNOWN = ("entered_states", CAPACITY_MODEL)
"""What is known of a problem as long as its structure stays the same: in which states events can be entered,
and what it was made from if its states carry capacities (:mod:`hcssp.procedure.product`)."""


Line = tuple[float, ...]
"""A point x, y or a line x, y, x, y, ..."""


@dataclass(frozen=True)
class Floor:
    """One level of a drawing of a site, with y upwards.

    Attributes
    ----------
    walls
        Lines.
    doors, lifts, places
        Lines and points by name.
    paths
        The lines that activities follow, by their rooms.
    """

    walls: tuple[Line, ...] = ()
    doors: Mapping[str, Line] = field(default_factory=dict)
    lifts: Mapping[str, Line] = field(default_factory=dict)
    places: Mapping[str, Line] = field(default_factory=dict)
    paths: Mapping[str, Line] = field(default_factory=dict)


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
    positions: Mapping[str, Cell]
    nesting: Nesting | None
    units: Mapping[str, str]
    reward: Reward | None
    drawing: Mapping[str, Floor]
    choices_per_event: bool


@dataclass(frozen=True)
class HCSSP(ProblemPicture):
    """A valid, frozen HC-SSP: making one checks every rule. The module's text has the mathematics.

    Two problems are equal if their structure and numbers are equal; names and drawings do not count.

    Attributes
    ----------
    events
        The events' names; everything else refers to events by their position here.
    start, end
        The event where the procedure begins and the one where it is over.
    activities
        Each belongs to exactly one outcome.
    choices
        Sorted by event; the end has none, every other event at least one.
    constraints
        The bounds on expected sums of secondary costs.
    name, description
        The name and the description of the problem.
    positions
        Where the top-left wall cell of a room lies on a map of them all, for the rooms of which that is
        known.
    nesting
        What was stated, if some activities are procedures; see :mod:`hcssp.procedure.nesting`.
    units
        What costs are measured in, by their names; see :mod:`hcssp.procedure.description`.
    reward
        The reward, if the primary cost is the missed reward; see :func:`hcssp.maximise`.
    drawing
        A drawing of a site whose activities are not grids, by level, for reports.
    choices_per_event
        Whether a plan makes one choice at each event, whatever state it is entered in; see :meth:`choosing`.

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
    drawing: Mapping[str, Floor] = field(default_factory=dict, compare=False, repr=False)
    choices_per_event: bool = field(default=False, repr=False)

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

    def derive(self, **changes: Unpack[HCSSPParts]) -> HCSSP:
        """The same problem with some attributes changed, unchecked.

        What was stated and what is maximised are dropped where the structure changes, unless they are given.
        """
        if changes.keys() & set(_STRUCTURE):
            changes = {"nesting": None, "reward": None, **changes}
        problem = object.__new__(HCSSP)
        problem.__dict__.update(self.__getstate__() | dict(changes))
        if all(problem.__dict__[name] is self.__dict__[name] for name in _STRUCTURE):
            kept = (name for name in _KNOWN if name in self.__dict__)
            problem.__dict__.update((name, self.__dict__[name]) for name in kept)
        return problem

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
        """The layout of the equivalent C-SSP."""
        from hcssp.procedure.flattening import Flattening

        return Flattening(self)

    @cached_property
    def entered_states(self) -> tuple[tuple[EventState, ...], list[str]]:
        """The event states that can be reached, and errors in how they are entered."""
        return reachable_event_states(self)

    @property
    def flat(self) -> CSSP:
        """The equivalent C-SSP."""
        return self.flattening.cssp

    @property
    def row_start(self) -> IntArray:
        """Rows ``row_start[s]:row_start[s + 1]`` of the flat problem belong to its state ``s``."""
        return self.flattening.row_start

    @property
    def cssps(self) -> tuple[CSSP, ...]:
        """The C-SSPs of the activities."""
        return tuple(activity.cssp for activity in self.activities)

    @property
    def procedure(self) -> HCSSP:
        """The problem itself."""
        return self

    lists_states: ClassVar[Literal[True]] = True
    """Whether all states are enumerated."""

    @property
    def implicit(self) -> None:
        """None: a procedure is not a part of an implicit problem."""

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The primary cost and the constraints, without the limits of nested procedures."""
        return (self.primary_name, *self.outline.constraint_names)

    @property
    def is_part(self) -> bool:
        """Whether an activity has states of an implicit problem that were not expanded."""
        return any(each.is_part for each in self.cssps)

    def policy(self, rows: IntArray, extra: Extra = ()) -> ProcedurePolicy:
        """The policy that takes these rows, one for each flat state, and `extra` ones with probabilities."""
        from hcssp.procedure.policy import ProcedurePolicy

        return ProcedurePolicy(self, rows, extra)

    def is_limit(self, constraint: int) -> bool:
        """Whether a constraint bounds every execution of a use instead of the whole procedure."""
        return self.constraints[constraint].per is not None

    def called(self, name: str) -> str:
        """The name of a cost or a constraint in reports, with the unit of its cost.

        A bound on a probability is called ``probability of crashed``.

        >>> from hcssp.scenarios import small_building
        >>> building = small_building().measured_in({"time": "s"})
        >>> building.called("time"), building.called("damage")
        ('time (s)', 'damage')
        """
        if what := self.probability_of(name):
            return f"probability of {what}"
        unit = self.unit_of(name)
        return f"{name} ({unit})" if unit else name

    def unit_of(self, name: str) -> str:
        """The unit of a cost or of what a constraint counts; empty if it has none."""
        counted = {
            self.activities[activity].cssp.cost_names[cost]
            for constraint in self.constraints
            if self.units and constraint.name == name
            for activity, cost in constraint.counts.items()
        }
        units = {self.units.get(each) for each in counted or {name}}
        return (units.pop() if len(units) == 1 else None) or ""

    def probability_of(self, name: str) -> str:
        """The event or state whose probability a constraint bounds; empty if it bounds an expected cost."""
        return next((each.probability_of for each in self.constraints if each.name == name), "")

    @property
    def primary_name(self) -> str:
        """The name of the primary cost in the activities if they agree, else ``"cost"``."""
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

    def with_rows(self, rows: IntArray) -> CSSP:
        """The flat problem with these rows alone, ascending; the others are never made."""
        return self.flattening.assembled(rows)

    def with_bounds(self, bounds: Mapping[str, float] | None = None, **named: float) -> HCSSP:
        """The same problem under other bounds; those not named stay as they are.

        Raises
        ------
        InvalidProblem
            If a name is not that of a constraint, or a bound is not a number.
        """
        found: list[str] = []
        wanted = {**(bounds or {}), **named}
        changed = changed_bounds(self.bounds, self.constraint_names, wanted, "constraint", found)
        if found:
            raise InvalidProblem(found)
        constraints = tuple(
            replace(constraint, at_most=float(bound))
            for constraint, bound in zip(self.constraints, changed, strict=True)
        )
        if self.nesting is None:
            return self.derive(constraints=constraints)
        stated = self.nesting.outline.constraint_names
        outline = self.nesting.outline.with_bounds({name: wanted[name] for name in stated if name in wanted})
        return self.derive(constraints=constraints, nesting=replace(self.nesting, outline=outline))

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
        problem = self.derive(activities=activities, nesting=self.nesting)
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
            The name and the description.
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
        return self.derive(
            name=name,
            description=description,
            positions=self.positions if positions is None else Frozen(positions),
            activities=activities,
            nesting=self.nesting,
            reward=self.reward,
        )

    def choosing(self, choices: Choices) -> HCSSP:
        """The same problem for plans that choose ``"per state"`` or ``"per event"``.

        Per state, the choice at an event may depend on the state in which the event is entered. Per event, a
        plan makes one choice, as in the paper; the exact method and budget allocation find the best one.

        Raises
        ------
        UnknownName
            If `choices` is neither.
        """
        if choices not in get_args(Choices):
            raise UnknownName("way to choose", choices, get_args(Choices))
        return self.derive(choices_per_event=choices == "per event")

    @cached_property
    def limits_choices(self) -> bool:
        """Whether one choice per event makes a difference: some event is entered in several states."""
        entered = Counter(event for event, _ in self.flattening.event_states)
        several = (event for event, states in entered.items() if states > 1)
        return self.choices_per_event and any(len(self.choices_at(event)) > 1 for event in several)

    def measured_in(self, units: Mapping[str, str]) -> HCSSP:
        """The same problem; texts and pictures show the units of its costs, given by name."""
        return self.derive(units=Frozen(units))

    def to_networkx(self) -> MultiDiGraph:
        """The procedure as a ``networkx.MultiDiGraph``; see :mod:`hcssp.procedure.model`."""
        return event_graph(self)

    def __repr__(self) -> str:
        sizes = f"{self.num_events} events, {self.num_activities} activities"
        return f"<HCSSP {self.name}: {sizes}>" if self.name else f"<HCSSP: {sizes}>"

    def __str__(self) -> str:
        from hcssp.procedure.description import describe

        return describe(self)


def _position(kind: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise UnknownName(kind, str(name), names)
    return names.index(name)


EventState = tuple[int, Hashable | None]
"""An event, and the label of the state it was entered in (None where there is none)."""


def reached_events(problem: HCSSP, ways: Iterable[tuple[int, Outcome]]) -> BoolArray:
    """The events that some outcomes, each of a choice at an event, lead to from the start."""
    edges = [(event, reached) for event, outcome in ways for reached in outcome.events]
    tails, heads = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array((np.ones(len(edges)), (tails, heads)), shape=(problem.num_events,) * 2)
    return closure(graph, np.arange(problem.num_events) == problem.start)


def reachable_event_states(problem: HCSSP) -> tuple[tuple[EventState, ...], list[str]]:
    """The event states that some choices and policies can reach, sorted by event, and what is wrong.

    The end is always among them. A violation is an entry label that the next activity does not have, or
    an exit that is labelled None. ``problem.entered_states`` keeps the answer.
    """
    end: EventState = (problem.end, None)
    found: dict[EventState, None] = {(problem.start, None): None, end: None}
    violations: dict[str, None] = {}
    known: dict[int, _Exits] = {}
    waiting: deque[EventState] = deque([(problem.start, None)] if problem.start != problem.end else [])
    while waiting:
        event, entry = waiting.popleft()
        for index in problem.choices_at(event):
            for outcome in problem.choices[index].outcomes:
                if outcome.runs is None:
                    reached = [end if outcome.event == problem.end else (outcome.event, entry)]
                else:
                    activity = problem.activities[outcome.runs]
                    if entry is not None and activity.entry_state(entry) is None:
                        violations[_missing_entry(problem, event, index, outcome.runs, entry)] = None
                        continue
                    if outcome.runs not in known:
                        known[outcome.runs] = _Exits(problem, outcome.runs)
                    reached, named = known[outcome.runs].after(entry)
                    if not named:
                        violations[_unnamed_exit(problem, outcome.runs)] = None
                for entered in reached:
                    if entered not in found:
                        found[entered] = None
                        waiting.append(entered)
    return tuple(sorted(found, key=lambda state: state[0])), list(violations)


class _Exits:
    """Where an activity can end, by how its event was entered."""

    def __init__(self, problem: HCSSP, activity: int) -> None:
        self._activity = problem.activities[activity]
        cssp = self._activity.cssp
        self._leads_to = goal_event_states(problem, activity)
        self._unnamed = [goal for goal in self._leads_to if cssp.state_labels[goal] is None]
        self._graph = None if len(self._leads_to) == 1 else state_graph(cssp)

    def after(self, entry: Hashable | None) -> tuple[list[EventState], bool]:
        """The event states that are reached, and whether each of several exits has a label."""
        if self._graph is None:
            return list(self._leads_to.values()), True
        sources = np.zeros(self._activity.cssp.num_states, dtype=np.bool_)
        sources[entry_distribution(self._activity, entry)[0]] = True
        reached = closure(self._graph, sources)
        goals = [goal for goal in self._leads_to if reached[goal]]
        named = len(goals) <= 1 or not any(reached[goal] for goal in self._unnamed)
        return [self._leads_to[goal] for goal in goals], named


def entry_distribution(activity: Activity, entry: Hashable | None) -> tuple[IntArray, FloatArray]:
    """Where an activity starts when its event was entered with the label `entry`: states, probabilities."""
    if entry is None:
        states = np.flatnonzero(activity.cssp.initial)
        return states, activity.cssp.initial[states]
    return np.array([activity.entry_state(entry)], dtype=np.int64), np.ones(1)


def goal_event_states(problem: HCSSP, activity: int) -> dict[int, EventState]:
    """For each goal of an activity the event state that is entered from it."""
    part, outcome = problem.activities[activity], problem.activity_outcome[activity]
    labels = {goal: part.cssp.state_labels[goal] for goal in np.flatnonzero(part.cssp.goals).tolist()}
    events = {goal: outcome.event_after(label) for goal, label in labels.items()}
    handed = {goal: part.handed_over(label) for goal, label in labels.items()}
    goals_before = Counter(events.values())
    return {
        goal: (event, None if event == problem.end or goals_before[event] == 1 else handed[goal])
        for goal, event in events.items()
    }


def _missing_entry(problem: HCSSP, event: int, choice: int, activity: int, entry: Hashable) -> str:
    name = problem.activities[activity].name
    return (
        f"activity {name!r}, run by choice {problem.choices[choice].name!r} at event "
        f"{problem.events[event]!r}: the event can be entered in state {entry!r}, which the activity does "
        "not have; exits and entries are matched by label, so give it a state of that label, or let each "
        "exit of the activity before it lead to an event of its own (in a file, 'to: {exit: event}')"
    )


def _unnamed_exit(problem: HCSSP, activity: int) -> str:
    name = problem.activities[activity].name
    return f"activity {name!r}: it has several goals and one is labelled None; label it otherwise"


def event_graph(problem: HCSSP) -> Any:
    """The events of a procedure and the ways between them, as a ``networkx.MultiDiGraph``.

    Events are nodes, by name. Every outcome of every choice is an edge to its event, or one to each if the
    exits of its activity lead to several. Its key is the pair of the choice's name and the outcome's number;
    its data are ``choice`` (its name), ``outcome`` (its number), ``probability`` (of the outcome),
    ``activity`` (the name of what is run on the way, or None) and ``exits`` (the labels of the exits that
    lead here, or None if all do). The graph has the attributes ``start`` and ``end``.

    >>> from hcssp.scenarios import small_building
    >>> graph = event_graph(small_building())
    >>> graph.graph["start"], graph.graph["end"], graph.number_of_edges()
    ('start', 'exit', 7)
    >>> graph.edges["at-door", "door-open", ("open-door", 0)]["probability"]
    0.8

    Raises
    ------
    MissingDependency
        If networkx is not installed.
    """
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "graphs need networkx, which is not installed; pip install 'hcssp[notebook]'"
        ) from error
    start, end = problem.events[problem.start], problem.events[problem.end]
    graph = nx.MultiDiGraph(name=problem.name, start=start, end=end)
    graph.add_nodes_from(problem.events)
    for choice in problem.choices:
        for number, outcome in enumerate(choice.outcomes):
            for event in outcome.events:
                graph.add_edge(
                    problem.events[choice.event],
                    problem.events[event],
                    key=(choice.name, number),
                    choice=choice.name,
                    outcome=number,
                    probability=float(outcome.probability),
                    activity=None if outcome.runs is None else problem.activities[outcome.runs].name,
                    exits=outcome.exits_to(event),
                )
    return graph


Problem = CSSP | HCSSP
"""A flat or a hierarchical problem. Code that takes one need not ask which kind it is. Both have

- ``name``, ``description``, ``bounds``, ``reward``, ``primary_name``, ``constraint_names``,
  ``cost_names``, ``num_constraints``;
- ``flat``, the equivalent C-SSP, ``row_start``, which of its rows belong to which state,
  ``procedure``, the equivalent procedure, and ``cssps``, the C-SSPs of the activities: a flat problem
  is its own flat form and the one activity of a procedure;
- ``with_bounds``, ``with_rows``, the flat problem with some of its rows, and ``policy``, the policy that
  takes given rows of it;
- ``is_limit``, ``probability_of`` and ``called``: what a constraint bounds, and what reports call it;
- ``limits_choices``, whether one choice per event is asked for and makes a difference;
- ``is_part``, whether it has states of an implicit problem that were not expanded, and ``implicit``, that
  problem if it is known.

An :class:`~hcssp.ImplicitCSSP` has the names, bounds and ``with_bounds``; ``lists_states`` is False of it.
"""

START, END, CHOICE = "start", "end", "begin"
UNNAMED = "problem"


def around(cssp: CSSP) -> HCSSP:
    """The procedure that runs a C-SSP once.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    >>> _ = plan.add_action(plan.add_state("here"), "go", to=plan.add_goal("there"), costs={"time": 2.0})
    >>> print(around(plan.build()))
    procedure: 2 events, 1 activity, 1 constraint; minimise time
    start
      choose begin
        run problem (2 states), reach end, the end
    constraint damage <= 1: counts damage of problem
    """
    name = cssp.name or UNNAMED
    return HCSSP(
        events=(START, END),
        start=0,
        end=1,
        activities=(Activity(name, cssp),),
        choices=(Choice(0, CHOICE, (Outcome(1.0, 1, runs=0),)),),
        constraints=tuple(
            Constraint(cost, float(bound), {0: 1 + index})
            for index, (cost, bound) in enumerate(zip(cssp.constraint_names, cssp.bounds, strict=True))
        ),
        name=name,
        description=cssp.description,
        reward=cssp.reward,
    )


def free_step(name: str, primary: str, labels: Sequence[Hashable]) -> Activity:
    """An activity of one free step, which hands over one of `labels`, or nothing, as it is entered."""
    unlabelled = "there"
    while unlabelled in labels:
        unlabelled += "'"
    goals: list[Hashable] = [*labels, unlabelled]
    count = len(goals)
    states = np.arange(2 * count + 1)
    steps = csr_array((np.ones(count), states[count:-1], np.arange(count + 1)), shape=(count, 2 * count))
    cssp = CSSP(
        transitions=steps,
        row_start=np.minimum(states, count),
        costs=np.zeros((1, count)),
        initial=states[:-1] == count - 1,
        goals=states[:-1] >= count,
        cost_names=(primary,),
        bounds=np.zeros(0),
        state_labels=[*(f"at {goal}" for goal in goals), *goals],
        action_labels=["step"] * count,
    )
    entries = {label: f"at {label}" for label in labels}
    return Activity(name, cssp, entries=entries, hands_over={label: label for label in labels})


def runs_one_activity(problem: HCSSP) -> bool:
    """Whether all it does is to run its only activity once, as :func:`around` makes one."""
    if len(problem.activities) != 1 or len(problem.choices) != 1 or problem.activities[0].entries:
        return False
    outcomes = problem.choices[0].outcomes
    return (
        len(outcomes) == 1
        and outcomes[0].runs == 0
        and set(outcomes[0].events) == {problem.end}
        and all(each.per is None for each in problem.constraints)
    )


def refuse_choices_per_event(problem: Problem, what: str) -> None:
    """Refuse a problem that asks for one choice per event, for `what` would choose per state.

    Raises
    ------
    UnsupportedProblem
        If it asks for that, and it makes a difference.
    """
    if problem.limits_choices:
        raise UnsupportedProblem(
            f"{what} chooses per state, and this problem asks for one choice per event; use the exact "
            "method or budget allocation, or write 'choices: per state' (in Python "
            "problem.choosing('per state'))"
        )


def refuse_parts(problem: Problem) -> None:
    """Refuse to look for plans in a part of an implicit problem, by itself or in a procedure.

    A state that was not expanded ends everything at once there, at the cost that the heuristic names. That is
    a lower bound; as an action it would make plans that cannot be followed.

    Raises
    ------
    UnsupportedProblem
        If it is one.
    """
    if problem.is_part:
        raise UnsupportedProblem(
            "this is only the part of an implicit problem that was expanded: plans in it could end where "
            "nothing is known; go on with the implicit problem, by solve, plan.resolve or plan.replan, or "
            "give problem.enumerated()"
        )
