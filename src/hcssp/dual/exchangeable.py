r"""Parts of a procedure that can be exchanged: the same choices and activities again, equally often.

Floors of a building that are alike, one after the other: what is planned for one might as well be planned for
another, and a search would try all permutations. A *segment* is what lies between an event and the next one
that every way from there leads through, if nothing else enters it. Segments that follow one another are
entered equally often whatever is chosen, since each is left as often as it is entered. So two of them with
equal rows, probabilities and activities can exchange their plans: no cost changes. So can segments of two
*chains* that are entered equally often, since all that leads to them is decided.

Within a region this holds for segments with the same forbidden rows. The rows that a row can be exchanged for
are its *orbit*. A search that splits a region there may require the row, or forbid the whole orbit: a policy
that takes any of its rows is worth as much as one that takes this one.

Segments lie inside one another or apart. Those of one form can be permuted at will, so that a search may
also require a row in some of them and forbid it in the others: what a policy uses so many times or more, it
might as well use in the first ones.

References: Ostrowski, Linderoth, Rossi and Smriglio 2011 (orbital branching); Cooper, Harvey and Kennedy 2001
for the events that every way leads through.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import IntArray
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.region import Region

MAX_EVENTS = 2_000
MAX_SIZE = 100_000
"""In procedures with more events nothing is exchanged, nor where segments, which may lie in one another, have
more of them together."""

SUM_TOLERANCE = 1e-15
"""Where the probabilities of a choice miss a sum of one by more than this, nothing is exchanged: what enters
might not leave."""

EXCHANGE_ROUNDING = 1e-11
"""Costs differ by no more than this share after any exchanges. With each choice that is made as much is lost
as its probabilities miss a sum of one, and none is made twice before a segment is left. So executions are off
by twice MAX_EVENTS times SUM_TOLERANCE at most. What a policy uses changes as little, which is far within the
tolerance of bounds."""


class _Segment(NamedTuple):
    """A segment that others resemble.

    Attributes
    ----------
    chain
        The segments that it follows, or that follow it, have the same number.
    firsts
        The first rows of its events, then of its activities, in their order.
    """

    chain: int
    firsts: tuple[int, ...]


class _Way(NamedTuple):
    """The only way into a chain.

    Attributes
    ----------
    others
        What else might be chosen where the way begins.
    chance
        That of the way.
    chain
        Where it begins: at the first event of one of its segments.
    """

    others: tuple[int, ...]
    chance: float
    chain: int


class Exchangeable:
    """Finds orbits.

    Parameters
    ----------
    flattening
        The layout of a separable problem.
    groups
        For each activity a number; those with equal numbers are alike and count the same.
    row_offset
        The first row of each activity, and the number of rows.
    """

    def __init__(self, flattening: Flattening, groups: IntArray, row_offset: IntArray) -> None:
        events = _Events(flattening, groups)
        starts = flattening.event_row_start
        self._first_rows: IntArray = np.concatenate([starts[:-1], row_offset])
        self._families: list[list[_Segment]] = []
        # For each event and activity, by its first row: the families and members that it is in, and where.
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        families, self._ways = events.families()
        for family in families:
            members = []
            for member, (chain, own, activities) in enumerate(family):
                firsts = [int(starts[event]) for event in own]
                firsts += [int(row_offset[each]) for each in activities]
                members.append(_Segment(chain, tuple(firsts)))
                for place, first in enumerate(firsts):
                    self._places.setdefault(first, []).append((len(self._families), member, place))
            self._families.append(members)

    @property
    def rounding(self) -> float:
        """By how much costs may differ after exchanges, relatively."""
        return EXCHANGE_ROUNDING if self._families else 0.0

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
            here, own = self._families[family][member], forbidden.get((family, member))
            entered = self._entered(here.chain, region)
            offset = row - here.firsts[place]
            images = [
                there.firsts[place] + offset
                for other, there in enumerate(self._families[family])
                if other != member
                and forbidden.get((family, other)) == own
                and (there.chain == here.chain or self._entered(there.chain, region) == entered)
            ]
            most = max(most, images, key=len)
        return [row, *sorted(most)]

    def _entered(self, chain: int, region: Region) -> tuple[int, tuple[float, ...]]:
        """How often a chain is entered: as often as another one, times some chances."""
        chances: list[float] = []
        while (way := self._ways.get(chain)) is not None and region.forbidden.issuperset(way.others):
            chances.append(way.chance)
            chain = way.chain
        return chain, tuple(chances)

    def _block(self, row: int) -> int:
        """The first row of the event or activity that a row belongs to."""
        return int(self._first_rows[np.searchsorted(self._first_rows, row, side="right") - 1])


_Alike = tuple[int, list[int], list[int]]
"""A segment by its chain, its events and its activities in their order."""


class _Events:
    """The graph of events, and its segments."""

    def __init__(self, flattening: Flattening, groups: IntArray) -> None:
        self._start, self._end = flattening.start, flattening.end
        self._groups = groups.tolist()
        problem, starts = flattening.problem, flattening.event_row_start.tolist()
        self._starts = starts
        self._count = flattening.num_event_states
        # For each row what tells it from others but for where it leads: and where that is.
        self._rows: list[list[list[tuple[float, int, int | None]]]] = [[] for _ in range(self._count)]
        self._costs: list[Hashable] = [None] * self._count
        # Events that segments may not hold: something leads nowhere there, or is lost by rounding.
        self._odd: set[int] = set()
        uses: dict[int, int] = {}
        for event in range(self._count):
            span = range(starts[event], starts[event + 1])
            if not span:
                self._odd.add(event)
            self._costs[event] = flattening.event_costs[:, starts[event] : starts[event + 1]].tobytes()
            for row in span:
                outcomes = []
                for outcome in problem.choices[int(flattening.event_row_choice[row])].outcomes:
                    if outcome.runs is not None:
                        uses[outcome.runs] = uses.get(outcome.runs, 0) + 1
                    if outcome.exits or not flattening.is_entered(outcome.event):
                        self._odd.add(event)
                    else:
                        target = flattening.event_state(outcome.event)
                        outcomes.append((outcome.probability, target, outcome.runs))
                if abs(sum(chance for chance, _, _ in outcomes) - 1.0) > SUM_TOLERANCE:
                    self._odd.add(event)
                self._rows[event].append(outcomes)
        for event, rows in enumerate(self._rows):
            if any(runs is not None and uses[runs] > 1 for row in rows for _, _, runs in row):
                self._odd.add(event)
        self._after = [
            list(dict.fromkeys(target for row in rows for _, target, _ in row)) for rows in self._rows
        ]
        self._before: list[list[int]] = [[] for _ in range(self._count)]
        for event, after in enumerate(self._after):
            for target in after:
                self._before[target].append(event)

    def families(self) -> tuple[list[list[_Alike]], dict[int, _Way]]:
        """Segments of the same form, and the only ways into their chains where there is but one."""
        if self._count > MAX_EVENTS:
            return [], {}
        passed = self._next_passed()
        segments: dict[int, list[int]] = {}
        size = 0
        for event in range(self._count):
            found = self._segment(event, passed[event])
            if found is not None:
                segments[event] = found
                size += len(found)
                if size > MAX_SIZE:
                    return [], {}
        follows: dict[int, int] = {}
        for event, own in segments.items():
            after = passed[event]
            if after in segments and after != self._start:
                inside = {*own, *segments[after]}
                if inside.issuperset(self._before[after]):
                    follows[event] = after
        chains: dict[int, int] = {}
        alike: dict[Hashable, list[_Alike]] = {}
        for chain, first in enumerate(segments.keys() - set(follows.values())):
            here: int | None = first
            while here is not None:
                chains[here] = chain
                form, activities = self._form(segments[here], passed[here])
                alike.setdefault(form, []).append((chain, segments[here], activities))
                here = follows.get(here)
        ways = {}
        for first in segments.keys() - set(follows.values()):
            way = self._way_into(first, segments[first], chains)
            if way is not None:
                ways[chains[first]] = way
        return [family for family in alike.values() if len(family) > 1], ways

    def _way_into(self, first: int, segment: list[int], chains: dict[int, int]) -> _Way | None:
        """The only way into a chain, from an event at which a segment begins; None if there are others."""
        before = [event for event in self._before[first] if event not in segment]
        if first == self._start or len(before) != 1 or before[0] not in chains:
            return None
        chances = [
            (row, chance)
            for row, outcomes in enumerate(self._rows[before[0]])
            for chance, target, _ in outcomes
            if target == first
        ]
        if len(chances) != 1:
            return None
        (taken, chance), start = chances[0], self._starts[before[0]]
        others = (start + row for row in range(len(self._rows[before[0]])) if row != taken)
        return _Way(tuple(others), chance, chains[before[0]])

    def _segment(self, event: int, passed: int | None) -> list[int] | None:
        """The events from one up to the next that every way leads through; None if others enter them."""
        if passed is None:
            return None
        found, seen = [event], {event}
        for each in found:
            if each in self._odd:
                return None
            for target in self._after[each]:
                if target != passed and target not in seen:
                    seen.add(target)
                    found.append(target)
        if any(not seen.issuperset(self._before[each]) for each in found[1:]):
            return None
        if self._start in seen and self._start != event:
            return None
        return found if self._is_passed_once(found) else None

    def _is_passed_once(self, segment: list[int]) -> bool:
        """Whether no event of a segment can be come back to without leaving it."""
        own = set(segment)
        inner = {event: own.intersection(self._after[event]) for event in segment}
        try:
            TopologicalSorter(inner).prepare()
        except CycleError:
            return False
        return True

    def _form(self, segment: list[int], passed: int | None) -> tuple[Hashable, list[int]]:
        """What segments that can be exchanged have in common, and the activities in their order."""
        number: dict[int | None, int] = {event: place for place, event in enumerate(segment)}
        number[passed] = -1
        activities: list[int] = []
        form = []
        for event in segment:
            rows = []
            for row in self._rows[event]:
                outcomes = []
                for chance, target, runs in row:
                    if runs is not None:
                        activities.append(runs)
                    group = None if runs is None else self._groups[runs]
                    outcomes.append((chance, number[target], group))
                rows.append(tuple(outcomes))
            form.append((self._costs[event], tuple(rows)))
        return tuple(form), activities

    def _next_passed(self) -> list[int | None]:
        """For each event the next one that every way to the end leads through; None where there is no way."""
        # Depth first from the end against all moves; those that are finished last come first.
        order, seen = [], {self._end}
        stack = [(self._end, iter(self._before[self._end]))]
        while stack:
            event, before = stack[-1]
            for each in before:
                if each not in seen:
                    seen.add(each)
                    stack.append((each, iter(self._before[each])))
                    break
            else:
                order.append(event)
                stack.pop()
        place = {event: index for index, event in enumerate(order)}
        passed: list[int | None] = [None] * self._count
        passed[self._end] = self._end
        changed = True
        while changed:
            changed = False
            for event in reversed(order[:-1]):
                found: int | None = None
                for after in self._after[event]:
                    if passed[after] is None:
                        continue
                    found = after if found is None else _common(after, found, passed, place)
                if found != passed[event]:
                    passed[event], changed = found, True
        passed[self._end] = None
        return passed


def _common(one: int, other: int, passed: Sequence[int | None], place: dict[int, int]) -> int:
    """The first event that both lead through."""
    while one != other:
        while place[one] < place[other]:
            one = _known(passed[one])
        while place[other] < place[one]:
            other = _known(passed[other])
    return one


def _known(event: int | None) -> int:
    if event is None:
        raise RuntimeError("an event that leads to the end has one that is passed next")
    return event
