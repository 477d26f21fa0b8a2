"""The points of a sweep, divided among those who solve them so that neighbours stay with one of them.

Each works along a list of its own, in which what is learnt at one point helps at the next. Whoever has come
to its end takes over the later half of the longest list that is left. Nobody knows beforehand how long points
take, but at the end much is known of their neighbours: of the last few, whoever is free takes the one that is
expected to take longest, and in this way all are done at nearly the same time.

>>> division = Division([[0, 1, 2], [3, 4, 5]], at_once=1)
>>> one, other = division.following(None), division.following(None)
>>> one.places, other.places
((0,), (3,))
>>> for _ in range(2):
...     one = division.following(one)
>>> one.places, division.following(one).places
((2,), (5,))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hcssp.solving.expected_times import ExpectedTimes

ELSEWHERE = 0.5
"""A point of another block than the one before counts for so much: something is to be learnt anew there."""


@dataclass(frozen=True, eq=False)
class Share:
    """Points for one worker to solve, one after the other.

    Attributes
    ----------
    places
        Where they are in the grid; all of one block.
    rest
        What it would be given then, unless others take it over.
    """

    places: tuple[int, ...]
    rest: list[int]


class Division:
    """What is left to be solved, and who is to solve it.

    Parameters
    ----------
    blocks
        Places of points that have much in common; neighbours follow one another, also from block to block.
    at_once
        How many points, at most, are given to a worker at a time.
    times, last
        What is known of the times that points take, and when that decides: where they are given out one at a
        time, and no more than so many are left.
    """

    def __init__(
        self,
        blocks: Sequence[Sequence[int]],
        at_once: int,
        times: ExpectedTimes | None = None,
        last: int = 0,
    ) -> None:
        self._begins = {block[0] for block in blocks if block}
        self._block = {place: number for number, block in enumerate(blocks) for place in block}
        self._at_once = at_once
        self._times = times
        self._last = last
        self._lists: list[list[int]] = []
        self._untouched = [place for block in blocks for place in block]

    def following(self, done: Share | None) -> Share | None:
        """What is next for one who has solved a share, or none yet; None if nothing is left."""
        if done is not None and self._times is not None and self._at_once == 1:
            left = sum(len(each) for each in self._lists)
            if 0 < left <= self._last:
                return self._longest(done, self._times)
        rest = done.rest if done is not None and done.rest else self._taken_over()
        if not rest:
            return None
        count = next(
            (count for count in range(1, min(self._at_once, len(rest))) if rest[count] in self._begins),
            min(self._at_once, len(rest)),
        )
        places = tuple(rest[:count])
        del rest[:count]
        return Share(places, rest)

    def _longest(self, done: Share, times: ExpectedTimes) -> Share:
        """The point that is expected to take longest, rather one of the block that was worked on."""
        block = self._block[done.places[-1]]

        def counts(place: int) -> float:
            return times.of(place) * (1.0 if self._block[place] == block else ELSEWHERE)

        # Of equal ones, that which would have come next.
        lists = sorted(self._lists, key=lambda each: each is not done.rest)
        place = max((place for each in lists for place in each), key=counts)
        rest = next(each for each in lists if place in each)
        rest.remove(place)
        return Share((place,), rest)

    def _taken_over(self) -> list[int]:
        """A list for one who has none: all of it for the first, then the later half of another's."""
        self._lists = [each for each in self._lists if each]
        if self._untouched:
            taken, self._untouched = self._untouched, []
        else:
            longest: list[int] = max(self._lists, key=len, default=[])
            cut = self._cut(longest)
            taken = longest[cut:]
            del longest[cut:]
        self._lists.append(taken)
        return taken

    def _cut(self, places: Sequence[int]) -> int:
        """Where to divide a list: near its middle between two blocks if it can be, else in the middle."""
        middle = len(places) // 2
        near = range(middle - len(places) // 4, middle + len(places) // 4 + 1)
        between = [cut for cut in near if 0 < cut < len(places) and places[cut] in self._begins]
        return min(between, key=lambda cut: abs(cut - middle), default=middle)
