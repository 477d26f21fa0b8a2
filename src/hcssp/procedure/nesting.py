"""Procedures inside procedures: what was stated, and which part of the problem belongs to which use.

A procedure that runs others as its activities is kept with all of them written out
(:mod:`hcssp.procedure.expansion`), so that whoever plans, evaluates or draws it sees one level of events and
activities. What is inside a use carries the use's name before its own: the event ``lobby`` of the procedure
that runs as ``floor-1`` is ``floor-1/lobby``. :class:`Nesting` keeps what was stated, :class:`Use` says who
belongs where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hcssp.procedure.elements import Frozen

if TYPE_CHECKING:
    from hcssp.procedure.model import HCSSP

SEPARATOR = "/"
"""Between the name of a use and a name inside it."""


@dataclass(frozen=True)
class Nesting:
    """A procedure as it was stated, with other procedures for activities.

    Attributes
    ----------
    outline
        The procedure with a stand-in of two states for every activity that is a procedure.
    procedures
        From activities of the outline to the procedures that they are.
    placed
        Where the uses are, if the problem is but the rest of what was stated and so written out already.
    """

    outline: HCSSP
    procedures: Mapping[int, HCSSP]
    placed: tuple[Use, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "procedures", Frozen(self.procedures))

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """All uses, those inside others after them, in the order of events and activities."""
        return tuple(_uses(self)) if self.placed is None else self.placed


@dataclass(frozen=True)
class Use:
    """A procedure that runs as an activity of another.

    Attributes
    ----------
    name
        Its path: the names of the uses around it and its own, as in ``building-2/floor-1``.
    procedure
        What it is a use of.
    parent
        The use that it is inside of, as an index; None for none.
    start, end
        The event that it begins with and the one that it leads to; the same where it has none of its own.
    events, activities
        What is inside it, inner uses included.
    begun
        In the rest of a procedure, the activity of it that is under way, if one is.
    """

    name: str
    procedure: HCSSP
    parent: int | None
    start: int
    end: int
    events: range
    activities: range
    begun: int | None = None

    @property
    def own_name(self) -> str:
        """Its name within the procedure that runs it."""
        return self.name.rpartition(SEPARATOR)[2] if self.parent is not None else self.name


def _uses(nesting: Nesting) -> Iterator[Use]:
    outline = nesting.outline
    event, activity, number = outline.num_events, 0, 0
    for index, stand_in in enumerate(outline.activities):
        procedure = nesting.procedures.get(index)
        if procedure is None:
            activity += 1
            continue
        events = range(event, event + procedure.num_events - 1)
        activities = range(activity, activity + procedure.num_activities)
        place = event_places(procedure, event, outline.activity_outcome[index].event)
        yield Use(
            stand_in.name,
            procedure,
            None,
            place[procedure.start],
            place[procedure.end],
            events,
            activities,
        )
        for inner in procedure.uses:
            yield Use(
                stand_in.name + SEPARATOR + inner.name,
                inner.procedure,
                number if inner.parent is None else number + 1 + inner.parent,
                place[inner.start],
                place[inner.end],
                # The end is nobody's inside, so that events of a use stay neighbours.
                range(place[inner.events.start], place[inner.events.start] + len(inner.events))
                if inner.events
                else range(event, event),
                range(activity + inner.activities.start, activity + inner.activities.stop),
            )
        number += 1 + len(procedure.uses)
        event, activity = events.stop, activities.stop


def event_places(procedure: HCSSP, first: int, end: int) -> list[int]:
    """Where the events of a procedure lie in one that uses it: side by side, but for its end."""
    return [
        end if event == procedure.end else first + event - (event > procedure.end)
        for event in range(procedure.num_events)
    ]
