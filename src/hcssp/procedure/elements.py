"""What a procedure is made of: activities, choices and their outcomes, and constraints on all of it.

Events, activities and choices are numbers here; :class:`~hcssp.procedure.model.HCSSP` has their names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hcssp.cssp.model import CSSP
from hcssp.numerics import LOST_EXECUTION


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

    See :mod:`hcssp.procedure.limits` for why the numbers here say that.

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
        What it bounds the probability of, for words; empty if it bounds an expected cost. See
        :mod:`hcssp.procedure.probabilities`.
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
        """What an execution of the use may cost, or the whole procedure if it belongs to none."""
        if self.per is None:
            return self.at_most
        nearest = (self.at_most - self.per.carried) / self.per.most_executions
        # The bound was computed from the limit: what was stated is a shorter decimal, if it gives the same.
        stated = float(f"{nearest:.15g}")
        same = stated * self.per.most_executions + self.per.carried == self.at_most
        return stated if same else nearest

    @property
    def lost_execution(self) -> float:
        """What an execution that is forgone counts as, see :mod:`hcssp.procedure.limits`."""
        return self.limit * LOST_EXECUTION
