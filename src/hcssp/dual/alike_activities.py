"""Which activities of a procedure are alike, and how a region's forbidden rows tell some of them apart.

Activities with equal arrays share one planner, and what it knows is known for all of them. Those that are
counted by the same constraints, too, have the same answer under any weights; a *slot* is a set of activities
that have also the same forbidden rows in a region. Everything is looked up once for each slot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from hcssp.cssp.identical_problems import are_alike, digest_of, sizes_of
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.ssp.region import Region

Counts = Sequence[tuple[int, int]]
"""Pairs of a constraint and the activity's own cost that it counts."""

MAX_SPLITS = 1_000
MAX_SPLIT_ENTRIES = 1_000_000
"""Of so many regions the slots are kept, or of fewer if the procedure is large; then they are found anew."""


MOST_COMPARED = 8
"""Of so many activities of the same sizes each is compared with those before it; of more, digests are."""


class Slots(NamedTuple):
    """The activities of a region, those with the same answers taken together.

    Attributes
    ----------
    choices
        The forbidden rows of the procedure itself.
    parts
        The forbidden rows of the activities that have some, in their own numbers.
    activities
        One activity of each slot.
    forbidden
        The rows that are forbidden to each slot.
    of
        The slot of each activity.
    """

    choices: frozenset[int]
    parts: dict[int, frozenset[int]]
    activities: tuple[int, ...]
    forbidden: tuple[frozenset[int], ...]
    of: IntArray

    def executions(self, executions: FloatArray) -> FloatArray:
        """How often the activities of each slot are executed, together."""
        together: FloatArray = np.bincount(self.of, executions, len(self.activities)).astype(np.float64)
        return together


class AlikeActivities:
    """Finds the slots of regions.

    Parameters
    ----------
    planners, counts
        Of each activity; shared by those with equal arrays.
    row_offset
        The first row of each activity, and the number of rows; those of the procedure come before.
    """

    def __init__(
        self, planners: Sequence[ActivityPlanner], counts: Sequence[Counts], row_offset: IntArray
    ) -> None:
        self._offsets: list[int] = row_offset.tolist()
        groups: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        self._group: IntArray = np.array(
            [
                groups.setdefault((id(planner), tuple(counted)), len(groups))
                for planner, counted in zip(planners, counts, strict=True)
            ],
            dtype=np.int64,
        )
        firsts = np.unique(self._group, return_index=True)[1]
        self._sizes: IntArray = np.bincount(self._group, minlength=len(firsts))
        self._everything = Slots(
            frozenset(), {}, tuple(firsts.tolist()), (frozenset(),) * len(firsts), self._group
        )
        self._known: dict[Region, Slots] = {}
        self._max_known = min(MAX_SPLITS, 1 + MAX_SPLIT_ENTRIES // (1 + len(planners)))

    @property
    def groups(self) -> IntArray:
        """For each activity the number of its group: those of a group are alike and count the same."""
        return self._group

    def slots(self, region: Region) -> Slots:
        """The slots of a region: those of the whole, and some for the activities with forbidden rows."""
        if not region.forbidden:
            return self._everything
        known = self._known.get(region)
        if known is None:
            if len(self._known) >= self._max_known:
                self._known.clear()
            known = self._known[region] = self._split(region)
        return known

    def _forbidden(self, region: Region) -> tuple[frozenset[int], dict[int, frozenset[int]]]:
        """The forbidden rows of the procedure itself, and of each activity that has some, in its numbers."""
        rows: dict[int, list[int]] = {}
        offsets = self._offsets
        for row in region.forbidden:
            # Rows of the procedure itself come before all others.
            block = bisect_right(offsets, row) - 1
            rows.setdefault(block, []).append(row if block < 0 else row - offsets[block])
        choices = frozenset(rows.pop(-1, ()))
        return choices, {activity: frozenset(own) for activity, own in rows.items()}

    def _split(self, region: Region) -> Slots:
        choices, parts = self._forbidden(region)
        whole = self._everything
        activities, forbidden, of = list(whole.activities), list(whole.forbidden), whole.of.copy()
        numbers: dict[tuple[int, frozenset[int]], int] = {}
        left = self._sizes - np.bincount(self._group[list(parts)], minlength=len(self._sizes))
        for activity, own in sorted(parts.items()):
            group = int(self._group[activity])
            key = group, own
            if key not in numbers and left[group] == 0:
                # Nobody else is in the slot of the group.
                left[group] = -1
                numbers[key], activities[group], forbidden[group] = group, activity, own
            elif key not in numbers:
                numbers[key] = len(activities)
                activities.append(activity)
                forbidden.append(own)
            of[activity] = numbers[key]
        return Slots(choices, parts, tuple(activities), tuple(forbidden), of)


def first_alike(problems: Sequence[CSSP], counted: Sequence[Hashable]) -> list[int]:
    """For each activity the first one that has equal arrays and counts the same.

    >>> from hcssp.scenarios.registry import find_scenario
    >>> rooms = [activity.cssp for activity in find_scenario("small-building").make().activities]
    >>> first_alike([rooms[0], rooms[1], rooms[0]], ["damage", "damage", "damage"])
    [0, 1, 0]
    """
    # Arrays are only looked at where their sizes agree, and where they begin and end.
    alike: dict[tuple[Hashable, ...], dict[int, CSSP]] = {}
    keys = []
    for cssp, what in zip(problems, counted, strict=True):
        key = (*sizes_of(cssp), what)
        alike.setdefault(key, {})[id(cssp)] = cssp
        keys.append(key)
    # A problem may be in several groups, and its kind is its place in one of them.
    kinds: dict[tuple[Hashable, ...], Hashable] = {}
    for key, group in alike.items():
        every = list(group.values())
        for same, cssp in group.items():
            if len(every) > MOST_COMPARED:
                kinds[key, same] = digest_of(cssp)
            else:
                kinds[key, same] = next(place for place, other in enumerate(every) if are_alike(cssp, other))
    first: dict[tuple[Hashable, ...], int] = {}
    return [
        first.setdefault((key, kinds[key, id(cssp)]), index)
        for index, (cssp, key) in enumerate(zip(problems, keys, strict=True))
    ]
