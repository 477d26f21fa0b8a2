"""The first look of a step of an ascent: what is known of all activities of a region, from one table.

A table (:mod:`hcssp.dual.surface_table`) is kept from one look to the next, and of it what nothing was added
to. Where too little is known of an activity for a table, nothing is said, and one has to ask it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.activity_curve import Bracket
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.alike_activities import Slots
from hcssp.dual.surface_table import SurfaceTable
from hcssp.dual.value_surface import ValueSurface


class SurfaceLookup:
    """Looks up the surfaces of a procedure's activities.

    Parameters
    ----------
    planners, spreads
        Of each activity the planner, and the matrix that gives its own weights, given those of the problem.
    """

    def __init__(self, planners: Sequence[ActivityPlanner], spreads: Sequence[FloatArray]) -> None:
        self._planners = planners
        self._spreads = spreads
        self._shelves: dict[bytes, _Shelf] = {}

    def look_up(self, slots: Slots, weights: FloatArray, is_glance: bool) -> list[Bracket | None]:
        """What is known about the activity of each slot at first sight; None where it must be asked alone.

        Parameters
        ----------
        slots
            The activities of a region.
        weights
            Those of the problem.
        is_glance
            Whether bounds are not wanted.
        """
        known: list[Bracket | None] = [None] * len(slots.activities)
        paid = weights > 0.0
        key = paid.tobytes()
        if key not in self._shelves:
            self._shelves[key] = _Shelf([(spread @ paid) > 0.0 for spread in self._spreads])
        shelf = self._shelves[key]
        self._turn_to(slots, shelf)
        if not shelf.own:
            return known
        table = shelf.table
        if table is None or not table.is_of(shelf.surfaces):
            activities = [slots.activities[slot] for slot in shelf.own]
            table = shelf.table = SurfaceTable(
                shelf.surfaces,
                [self._spreads[activity] for activity in activities],
                [shelf.paid[activity] for activity in activities],
                table,
            )
        brackets = table.glances(weights) if is_glance else table.brackets(weights)
        for slot, bracket in zip(shelf.own, brackets, strict=True):
            # Where no combination amounts to the weights yet, one is to be looked for.
            if is_glance or bracket.bound > 0.0:
                known[slot] = bracket
        return known

    def _turn_to(self, slots: Slots, shelf: _Shelf) -> None:
        """Find the surfaces of a region that know enough to be in a table."""
        forgotten = sum(planner.forgotten for planner in self._planners)
        if shelf.slots is slots and shelf.forgotten == forgotten:
            return
        shelf.own, shelf.surfaces = [], []
        for slot, (activity, forbidden) in enumerate(zip(slots.activities, slots.forbidden, strict=True)):
            if not shelf.paid[activity].any():
                continue
            surface = self._planners[activity].surface(forbidden, shelf.paid[activity])
            if surface is not None:
                shelf.own.append(slot)
                shelf.surfaces.append(surface)
        # Asking may have made a planner forget. A surface that knows a plan keeps one: only what is missing
        # has to be asked for again.
        shelf.forgotten = sum(planner.forgotten for planner in self._planners)
        is_stale = shelf.forgotten != forgotten or len(shelf.own) < len(slots.activities)
        shelf.slots = None if is_stale else slots


@dataclass(eq=False)
class _Shelf:
    """What is kept for weights of the same costs of the problem.

    Attributes
    ----------
    paid
        Of each activity, which of its costs have weights then.
    slots, forgotten
        The region of the last look, and how often planners had forgotten something before it.
    own, surfaces, table
        The slots that are in the table, their surfaces, and it.
    """

    paid: list[BoolArray]
    slots: Slots | None = None
    forgotten: int = 0
    own: list[int] = field(default_factory=list)
    surfaces: list[ValueSurface] = field(default_factory=list)
    table: SurfaceTable | None = None
