r"""Symmetry of a procedure: identical activities, and segments that can exchange their plans.

**Identical activities** have equal arrays and are counted by the same constraints. They have the same answer
under any weights, as long as the same rows are forbidden to them. So everything is looked up, and planned,
once for each *group* of them (:class:`IdenticalActivities`).

**Segments.** A segment is what lies between an event and the next one that every path from there leads
through (its immediate post-dominator), if nothing else enters it. Segments that follow one another form a
chain. Each is left as often as it is entered, so all segments of a chain are entered equally often, whatever
is chosen. Two of them with equal rows, probabilities and activities can exchange their plans: no cost
changes. So can segments of two chains that are entered equally often, since all choices that lead to them are
decided.

Within a region this holds for segments with the same forbidden rows. The rows that a row can be exchanged for
are its *orbit*. A search that splits a region there may require the row, or forbid the whole orbit. Segments
of one form can be permuted at will, so that a search may also require a row in some of them and forbid it in
the others: a policy that uses it a number of times might as well use it in the first ones.

References: Ostrowski, Linderoth, Rossi and Smriglio 2011 (orbital branching).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.preprocessing import digest_of, sizes_of
from hcssp.dual.value_cache import DEFAULT_PARAMETERS, PlannerParameters
from hcssp.numerics import EXCHANGE_ROUNDING, EXCHANGE_SUM_TOLERANCE, MAX_EXCHANGED_EVENTS
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.parts import Dominators
from hcssp.ssp.scalar_problem import Region

Counts = Sequence[tuple[int, int]]
"""Pairs of a constraint and the activity's own cost that it counts."""


def first_identical(problems: Sequence[CSSP], counted: Sequence[Hashable]) -> list[int]:
    """For each activity the first one that has equal arrays and counts the same.

    >>> from hcssp.scenarios.scenario import find_scenario
    >>> rooms = [activity.cssp for activity in find_scenario("small-building").make().activities]
    >>> first_identical([rooms[0], rooms[1], rooms[0]], ["damage", "damage", "damage"])
    [0, 1, 0]
    """
    keys = [(*sizes_of(cssp), what) for cssp, what in zip(problems, counted, strict=True)]
    # Arrays are compared, by digests, only where their sizes agree; many activities may share an object.
    objects: dict[Hashable, set[int]] = {}
    for key, cssp in zip(keys, problems, strict=True):
        objects.setdefault(key, set()).add(id(cssp))
    digests: dict[int, bytes] = {}
    first: dict[Hashable, int] = {}
    found = []
    for index, (key, cssp) in enumerate(zip(keys, problems, strict=True)):
        digest = b""
        if len(objects[key]) > 1:
            digest = digests[id(cssp)] if id(cssp) in digests else digest_of(cssp)
            digests[id(cssp)] = digest
        found.append(first.setdefault((key, digest), index))
    return found


class Groups(NamedTuple):
    """The activities of a region, those with the same answers taken together.

    Attributes
    ----------
    choices
        The forbidden rows of the procedure itself.
    parts
        The forbidden rows of the activities that have some, in their own numbers.
    activities
        One activity of each group.
    forbidden
        The rows that are forbidden to each group.
    of
        The group of each activity.
    """

    choices: frozenset[int]
    parts: dict[int, frozenset[int]]
    activities: tuple[int, ...]
    forbidden: tuple[frozenset[int], ...]
    of: IntArray

    def executions(self, executions: FloatArray) -> FloatArray:
        """How often the activities of each group are executed, together."""
        together: FloatArray = np.bincount(self.of, executions, len(self.activities)).astype(np.float64)
        return together


class IdenticalActivities:
    """Finds the groups of identical activities in regions.

    Parameters
    ----------
    planners, counts
        Of each activity; activities with equal arrays share their planner.
    row_offset
        The first row of each activity, and the number of rows; those of the procedure come before.
    parameters
        How much is remembered.

    Attributes
    ----------
    groups
        The group of each activity if nothing is forbidden.
    """

    def __init__(
        self,
        planners: Sequence[object],
        counts: Sequence[Counts],
        row_offset: IntArray,
        parameters: PlannerParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self._offsets: list[int] = row_offset.tolist()
        numbers: dict[Hashable, int] = {}
        self.groups: IntArray = np.array(
            [
                numbers.setdefault((id(planner), tuple(counted)), len(numbers))
                for planner, counted in zip(planners, counts, strict=True)
            ],
            dtype=np.int64,
        )
        firsts = np.unique(self.groups, return_index=True)[1].tolist()
        self._sizes: IntArray = np.bincount(self.groups, minlength=len(firsts))
        self._all = Groups(frozenset(), {}, tuple(firsts), (frozenset(),) * len(firsts), self.groups)
        self._known: dict[Region, Groups] = {}
        self._max_known = parameters.max_group_entries // max(parameters.least_group_entries, len(planners))

    def within(self, region: Region) -> Groups:
        """The groups of a region: activities with other forbidden rows are in groups of their own."""
        if not region.forbidden:
            return self._all
        known = self._known.get(region)
        if known is None:
            if len(self._known) >= self._max_known:
                self._known.clear()
            known = self._known[region] = self._split(region)
        return known

    def _split(self, region: Region) -> Groups:
        rows: dict[int, set[int]] = {}
        for row in region.forbidden:
            # Rows of the procedure itself come before all others.
            block = bisect_right(self._offsets, row) - 1
            rows.setdefault(block, set()).add(row if block < 0 else row - self._offsets[block])
        choices = frozenset(rows.pop(-1, ()))
        parts = {activity: frozenset(own) for activity, own in rows.items()}
        activities, forbidden = list(self._all.activities), list(self._all.forbidden)
        of = self.groups.copy()
        numbers: dict[tuple[int, frozenset[int]], int] = {}
        left = self._sizes - np.bincount(self.groups[list(parts)], minlength=len(self._sizes))
        for activity, own in sorted(parts.items()):
            group = int(self.groups[activity])
            key = group, own
            if key not in numbers and left[group] == 0:
                # All activities of the group have forbidden rows, so that its number is free.
                left[group] = -1
                numbers[key], activities[group], forbidden[group] = group, activity, own
            elif key not in numbers:
                numbers[key] = len(activities)
                activities.append(activity)
                forbidden.append(own)
            of[activity] = numbers[key]
        return Groups(choices, parts, tuple(activities), tuple(forbidden), of)


class Symmetry:
    """Finds orbits.

    Parameters
    ----------
    flattening
        The layout of a separable problem.
    groups
        For each activity the number of its group of identical activities.
    row_offset
        The first row of each activity, and the number of rows.

    Attributes
    ----------
    rounding
        By how much costs may differ after exchanges, relatively; 0 if nothing can be exchanged.
    choice_rows
        The rows at the events, if something can be exchanged: what is decided there lets more be exchanged.
    """

    def __init__(self, flattening: Flattening, groups: IntArray, row_offset: IntArray) -> None:
        events = _Events(flattening, groups)
        starts = flattening.event_row_start
        self._first_rows: IntArray = np.concatenate([starts[:-1], row_offset])
        # Segments of the same form: each by its chain and the first rows of its events and activities.
        self._families: list[list[tuple[int, list[int]]]] = []
        # For each event and activity, by its first row: the families and members that it is in, and where.
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        families, self._entrances = events.families()
        for number, family in enumerate(families):
            members = []
            for member, (chain, own, activities) in enumerate(family):
                firsts = [*starts[own].tolist(), *row_offset[activities].tolist()]
                members.append((chain, firsts))
                for place, first in enumerate(firsts):
                    self._places.setdefault(first, []).append((number, member, place))
            self._families.append(members)
        self.rounding = EXCHANGE_ROUNDING if families else 0.0
        self.choice_rows = range(int(starts[-1]) if families else 0)

    def orbit(self, region: Region, row: int) -> list[int]:
        """The rows that a row can be exchanged for within a region: itself, then the others in order.

        Any of them can be exchanged for any others at once.
        """
        enclosing = self._places.get(self._block(row), [])
        wanted = {family for family, _, _ in enclosing}
        forbidden: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for closed in region.forbidden if enclosing else ():
            first = self._block(closed)
            for family, member, place in self._places.get(first, ()):
                if family in wanted:
                    forbidden.setdefault((family, member), set()).add((place, closed - first))
        most: list[int] = []
        for family, member, place in enclosing:
            chain, firsts = self._families[family][member]
            own, entered = forbidden.get((family, member)), self._entered(chain, region)
            images = [
                there[place] + row - firsts[place]
                for other, (its_chain, there) in enumerate(self._families[family])
                if other != member
                and forbidden.get((family, other)) == own
                and (its_chain == chain or self._entered(its_chain, region) == entered)
            ]
            most = max(most, images, key=len)
        return [row, *sorted(most)]

    def _entered(self, chain: int, region: Region) -> tuple[int, tuple[float, ...]]:
        """How often a chain is entered: as often as another one, times some probabilities."""
        factors: list[float] = []
        while (entrance := self._entrances.get(chain)) is not None:
            if not region.forbidden.issuperset(entrance.others):
                break
            factors.append(entrance.probability)
            chain = entrance.chain
        return chain, tuple(factors)

    def _block(self, row: int) -> int:
        """The first row of the event or activity that a row belongs to."""
        return int(self._first_rows[np.searchsorted(self._first_rows, row, side="right") - 1])


class _Entrance(NamedTuple):
    """The only entrance of a chain.

    Attributes
    ----------
    others
        The other rows of the event from which it is entered.
    probability
        That of entering it from there.
    chain
        The chain that has a segment which begins with that event.
    """

    others: tuple[int, ...]
    probability: float
    chain: int


_Segment = tuple[int, list[int], list[int]]
"""A segment: its chain, its events and its activities in their order."""


class _Events:
    """The graph of events, and its segments."""

    def __init__(self, flattening: Flattening, groups: IntArray) -> None:
        self._start, self._end = flattening.start, flattening.end
        self._groups: list[int] = groups.tolist()
        self._starts: list[int] = flattening.event_row_start.tolist()
        self._count = flattening.num_event_states
        choices = flattening.problem.choices
        # Of each row the probabilities, targets and activities of its outcomes.
        self._rows: list[list[list[tuple[float, int, int | None]]]] = [[] for _ in range(self._count)]
        self._costs: list[bytes] = []
        # Events that segments may not hold: something leads nowhere there, or is lost by rounding.
        self._odd: set[int] = set()
        uses = Counter(outcome.runs for choice in choices for outcome in choice.outcomes)
        for event in range(self._count):
            first, last = self._starts[event : event + 2]
            self._costs.append(flattening.event_costs[:, first:last].tobytes())
            is_odd = first == last
            for row in range(first, last):
                outcomes = choices[int(flattening.event_row_choice[row])].outcomes
                leading = [each for each in outcomes if not each.exits and flattening.is_entered(each.event)]
                is_odd |= len(leading) < len(outcomes)
                is_odd |= abs(sum(each.probability for each in leading) - 1.0) > EXCHANGE_SUM_TOLERANCE
                is_odd |= any(each.runs is not None and uses[each.runs] > 1 for each in leading)
                self._rows[event].append(
                    [(each.probability, flattening.event_state(each.event), each.runs) for each in leading]
                )
            if is_odd:
                self._odd.add(event)
        self._after = [
            list(dict.fromkeys(target for row in rows for _, target, _ in row)) for rows in self._rows
        ]
        self._before: list[list[int]] = [[] for _ in range(self._count)]
        for event, after in enumerate(self._after):
            for target in after:
                self._before[target].append(event)

    def families(self) -> tuple[list[list[_Segment]], dict[int, _Entrance]]:
        """Segments of the same form, and the entrances of chains that have only one."""
        if self._count > MAX_EXCHANGED_EVENTS:
            return [], {}
        passed = self._post_dominators()
        segments = {
            event: found
            for event in range(self._count)
            if (found := self._segment(event, passed[event])) is not None
        }
        follows = {
            event: after
            for event, own in segments.items()
            if (after := passed[event]) in segments
            and after is not None
            and after != self._start
            and {*own, *segments[after]}.issuperset(self._before[after])
        }
        firsts = segments.keys() - set(follows.values())
        chains: dict[int, int] = {}
        forms: dict[Hashable, list[_Segment]] = {}
        for chain, first in enumerate(firsts):
            here: int | None = first
            while here is not None:
                chains[here] = chain
                form, activities = self._form(segments[here], passed[here])
                forms.setdefault(form, []).append((chain, segments[here], activities))
                here = follows.get(here)
        entrances = {
            chains[first]: entrance
            for first in firsts
            if (entrance := self._entrance(first, segments[first], chains)) is not None
        }
        return [family for family in forms.values() if len(family) > 1], entrances

    def _entrance(self, first: int, segment: list[int], chains: dict[int, int]) -> _Entrance | None:
        """The only entrance of a chain, at an event where a segment begins; None if there are others."""
        before = [event for event in self._before[first] if event not in segment]
        if first == self._start or len(before) != 1 or before[0] not in chains:
            return None
        entering = [
            (row, probability)
            for row, outcomes in enumerate(self._rows[before[0]], start=self._starts[before[0]])
            for probability, target, _ in outcomes
            if target == first
        ]
        if len(entering) != 1:
            return None
        taken, probability = entering[0]
        rows = range(self._starts[before[0]], self._starts[before[0] + 1])
        return _Entrance(tuple(row for row in rows if row != taken), probability, chains[before[0]])

    def _segment(self, event: int, passed: int | None) -> list[int] | None:
        """The events from one up to its post-dominator; None if they are entered elsewhere, or in a cycle."""
        if passed is None:
            return None
        found, own = [event], {event}
        for each in found:
            if each in self._odd:
                return None
            new = [target for target in self._after[each] if target != passed and target not in own]
            own.update(new)
            found += new
        if any(not own.issuperset(self._before[each]) for each in found[1:]) or self._start in found[1:]:
            return None
        try:
            TopologicalSorter({each: own.intersection(self._after[each]) for each in found}).prepare()
        except CycleError:
            return None
        return found

    def _form(self, segment: list[int], passed: int | None) -> tuple[Hashable, list[int]]:
        """What segments that can be exchanged have in common, and the activities in their order."""
        number: dict[int | None, int] = {event: place for place, event in enumerate(segment)}
        number[passed] = -1
        rows = [row for event in segment for row in self._rows[event]]
        activities = [runs for row in rows for _, _, runs in row if runs is not None]
        form = tuple(
            (
                self._costs[event],
                tuple(
                    tuple(
                        (probability, number[target], None if runs is None else self._groups[runs])
                        for probability, target, runs in row
                    )
                    for row in self._rows[event]
                ),
            )
            for event in segment
        )
        return form, activities

    def _post_dominators(self) -> list[int | None]:
        """For each event the next one that every path to the end leads through; None where there is none."""
        passed = Dominators(self._before, self._end)
        return [
            passed.before(event) if event in passed and event != self._end else None
            for event in range(self._count)
        ]
