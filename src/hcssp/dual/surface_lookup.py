"""The first look of a step of an ascent: what is known of all activities of a region, from one table.

A table (:mod:`hcssp.dual.surface_table`) is kept from one look to the next, and of it what nothing was added
to. Where too little is known of an activity for a table, nothing is said, and one has to ask it alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from hcssp.cssp.model import FloatArray
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
        self._slots: Slots | None = None
        self._forgotten = 0
        self._own: list[int] = []
        self._surfaces: list[ValueSurface] = []
        self._table: SurfaceTable | None = None

    def look_up(self, slots: Slots, weights: FloatArray, is_glance: bool) -> list[Bracket | None]:
        """What is known about the activity of each slot at first sight; None where it must be asked alone.

        Parameters
        ----------
        slots
            The activities of a region.
        weights
            Those of the problem. Where one is nought, nothing is said.
        is_glance
            Whether bounds are not wanted.
        """
        known: list[Bracket | None] = [None] * len(slots.activities)
        if weights.min() <= 0.0:
            return known
        self._turn_to(slots)
        if not self._own:
            return known
        table = self._table
        if table is None or not table.is_of(self._surfaces):
            spreads = [self._spreads[slots.activities[slot]] for slot in self._own]
            table = self._table = SurfaceTable(self._surfaces, spreads, table)
        brackets = table.glances(weights) if is_glance else table.brackets(weights)
        for slot, bracket in zip(self._own, brackets, strict=True):
            # Where no combination amounts to the weights yet, one is to be looked for.
            if is_glance or bracket.bound > 0.0:
                known[slot] = bracket
        return known

    def _turn_to(self, slots: Slots) -> None:
        """Find the surfaces of a region that know enough to be in a table."""
        forgotten = sum(planner.forgotten for planner in self._planners)
        if self._slots is slots and self._forgotten == forgotten:
            return
        self._own, self._surfaces = [], []
        for slot, (activity, forbidden) in enumerate(zip(slots.activities, slots.forbidden, strict=True)):
            surface = self._planners[activity].surface(forbidden)
            if surface is not None:
                self._own.append(slot)
                self._surfaces.append(surface)
        # Asking may have made a planner forget. A surface that knows a plan keeps one: only what is missing
        # has to be asked for again.
        self._forgotten = sum(planner.forgotten for planner in self._planners)
        is_stale = self._forgotten != forgotten or len(self._own) < len(slots.activities)
        self._slots = None if is_stale else slots
