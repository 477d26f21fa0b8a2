"""The planners of a procedure's activities: one for all that are alike, also of another problem.

A planner is asked with weights of those costs only that a finite bound counts. So under other bounds there
are other planners (:meth:`ActivityPlanner.counting`), which share what they need.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hcssp.cssp.likeness import are_alike, is_dearer, sizes_of
from hcssp.cssp.model import BoolArray, FloatArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.alike_activities import Counts, first_alike
from hcssp.dual.flat_oracle import free_rows
from hcssp.dual.surface_lookup import SurfaceLookup
from hcssp.dual.twins import pair_up
from hcssp.parallel import MIN_STATES_FOR_THREADS, parallel_map
from hcssp.procedure.elements import Activity


class View(NamedTuple):
    """What is asked under some bounds.

    Attributes
    ----------
    planners
        One for each activity.
    spreads
        What the costs of each activity that may have weights are to the whole problem.
    surfaces
        What looks up several costs at once; None if no activity counts several.
    """

    planners: list[ActivityPlanner]
    spreads: list[FloatArray]
    surfaces: SurfaceLookup | None


class ActivityPlanners:
    """A planner for each activity; those with equal arrays that count the same have one together.

    Parameters
    ----------
    activities, counts
        Of the problem; and of each activity the constraints and costs that they count.
    zeros
        The constraints whose costs are taken out.
    like
        Those of a problem with some of the same activities, whose planners are shared.

    Attributes
    ----------
    every
        The planners, for any weights.
    num_states
        How many states the activities have that have a planner of their own.
    """

    def __init__(
        self,
        activities: Sequence[Activity],
        counts: Sequence[Counts],
        zeros: Collection[int],
        like: ActivityPlanners | None = None,
    ) -> None:
        self._activities, self._counts = activities, counts
        # Which of its costs each activity counts, and whether that is taken out.
        self._counted = [
            frozenset((index, constraint in zeros) for constraint, index in each) for each in counts
        ]
        first = first_alike([activity.cssp for activity in activities], self._counted)
        distinct = sorted(set(first))
        self.num_states = sum(activities[index].cssp.num_states for index in distinct)
        planners = {} if like is None else self._shared(like, distinct)
        missing = [index for index in distinct if index not in planners]
        before: dict[str, ActivityPlanner] = {}
        if like is not None:
            before = {each.name: planner for each, planner in zip(like._activities, like.every, strict=True)}

        def made(activity: int) -> ActivityPlanner:
            return self._planner(activity, before.get(activities[activity].name))

        planners |= zip(missing, parallel_map(made, missing, self.num_states), strict=True)
        for planner in before.values():
            planner.forget_near()
        if self.num_states <= MIN_STATES_FOR_THREADS:
            # Otherwise each of them is asked by a thread of its own.
            pair_up(planner for _, planner in sorted(planners.items()))
        self.every: list[ActivityPlanner] = [planners[index] for index in first]
        self._views: dict[bytes, View] = {}

    def _shared(self, like: ActivityPlanners, wanted: Sequence[int]) -> dict[int, ActivityPlanner]:
        """The planners of another problem for the `wanted` activities that are alike in both."""
        known: dict[tuple[Hashable, ...], list[int]] = {}
        for index, (activity, what) in enumerate(zip(like._activities, like._counted, strict=True)):
            known.setdefault((*sizes_of(activity.cssp), what), []).append(index)
        found: dict[int, ActivityPlanner] = {}
        for index in wanted:
            cssp = self._activities[index].cssp
            for other in known.get((*sizes_of(cssp), self._counted[index]), ()):
                if are_alike(cssp, like._activities[other].cssp):
                    found[index] = like.every[other]
                    break
        return found

    def _planner(self, activity: int, before: ActivityPlanner | None) -> ActivityPlanner:
        """A planner for an activity, which begins with what is known of it `before` the world has changed."""
        cssp = self._activities[activity].cssp
        # What a bound of nought counts is taken out, so no price is ever put on it.
        none = frozenset(index for index, taken_out in self._counted[activity] if taken_out)
        counted = frozenset(index for index, _ in self._counted[activity]) - none
        usable = free_rows(cssp, tuple(index - 1 for index in none))
        if before is not None and before.counted == counted and usable is None:
            found = before.with_costs(cssp)
            if found is not None:
                return found
        found = ActivityPlanner(cssp, counted, usable)
        if before is not None:
            found.begin_near(before)
        return found

    def are_dearer(self, than: ActivityPlanners) -> bool:
        """Whether they are those of activities of the same names and rows, in which no step costs less."""
        mine, theirs = self._activities, than._activities
        labels = [[(each.name, each.entries, each.hands_over) for each in every] for every in (mine, theirs)]
        if labels[0] != labels[1]:
            return False
        return all(
            planner is other
            # A row that is not among those of the other would be in none of its regions.
            or (
                is_dearer(one.cssp, before.cssp)
                and np.array_equal(planner.prepared.rows, other.prepared.rows)
            )
            for planner, other, one, before in zip(self.every, than.every, mine, theirs, strict=True)
        )

    def counting(self, is_bounded: BoolArray) -> View:
        """The planners that expect weights of those costs only that a constraint with a bound counts."""
        key = is_bounded.tobytes()
        if key not in self._views:
            planners = []
            for planner, counts in zip(self.every, self._counts, strict=True):
                counted = {index for constraint, index in counts if is_bounded[constraint]}
                planners.append(planner.counting(planner.counted & counted))
            spreads = self._spreads(planners, len(is_bounded))
            is_surface = not all(planner.priced for planner in planners)
            self._views[key] = View(
                planners, spreads, SurfaceLookup(planners, spreads) if is_surface else None
            )
        return self._views[key]

    def _spreads(self, planners: Sequence[ActivityPlanner], num_constraints: int) -> list[FloatArray]:
        made: dict[tuple[Any, ...], FloatArray] = {}
        spreads = []
        for planner, counts in zip(planners, self._counts, strict=True):
            key = (*planner.weighted.tolist(), *counts)
            if key not in made:
                made[key] = np.zeros((len(planner.weighted), 1 + num_constraints))
                made[key][0, 0] = 1.0
                for constraint, own in counts:
                    made[key][planner.weighted == own, 1 + constraint] = 1.0
            spreads.append(made[key])
        return spreads
