"""The points of a sweep, and the order in which each has a close neighbour among those before it.

>>> grid = Grid.of({"locked": [0.2, 0.1]}, {"damage": [1.0, 2.0]})
>>> len(grid), grid.at(2)
(4, ({'locked': 0.2}, {'damage': 1.0}))
>>> [axis.name for axis in grid.axes]
['locked', 'damage']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite, isnan, prod

from hcssp.errors import InvalidProblem

Number = int | float | Fraction

MOST_POINTS = 1_000_000
"""A grid with more is a mistake, and would fill the memory before its first point."""


@dataclass(frozen=True)
class SweepAxis:
    """What is varied.

    Attributes
    ----------
    name
        A parameter of the problem, or a constraint.
    is_bound
        Whether it is the bound of that constraint.
    values
        Ascending, each once.
    """

    name: str
    is_bound: bool
    values: tuple[Number, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values, for people and pictures."""
        return tuple(float(value) for value in self.values)


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes; bounds come last and vary fastest.

    Attributes
    ----------
    settings, bounds
        The axes of parameters, and those of bounds.
    """

    settings: tuple[SweepAxis, ...]
    bounds: tuple[SweepAxis, ...]

    @classmethod
    def of(cls, settings: Mapping[str, Sequence[Number]], bounds: Mapping[str, Sequence[Number]]) -> Grid:
        """The grid of these values.

        Raises
        ------
        InvalidProblem
            If an axis has no values, or some that are no numbers, or there are too many points.
        """
        found: list[str] = []
        axes = [_axis(name, False, values, found) for name, values in settings.items()]
        axes += [_axis(name, True, values, found) for name, values in bounds.items()]
        count = prod(len(axis.values) for axis in axes)
        if count > MOST_POINTS:
            found.append(f"the sweep would have {count:,} points; give at most {MOST_POINTS:,}")
        if found:
            raise InvalidProblem(found)
        first = len(settings)
        return cls(tuple(axes[:first]), tuple(axes[first:]))

    @property
    def axes(self) -> tuple[SweepAxis, ...]:
        """All of them, in the order of the points."""
        return (*self.settings, *self.bounds)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return prod(self.shape)

    def at(self, index: int) -> tuple[dict[str, Number], dict[str, Number]]:
        """The parameters and the bounds of a point."""
        found: list[Number] = []
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            found.append(axis.values[place])
        found.reverse()
        named = list(zip(self.axes, found, strict=True))
        return (
            {axis.name: value for axis, value in named if not axis.is_bound},
            {axis.name: value for axis, value in named if axis.is_bound},
        )

    def place(self, settings: Mapping[str, float], bounds: Mapping[str, float]) -> int:
        """The point with these parameters and bounds; the reverse of :meth:`at`."""
        index = 0
        for axis in self.axes:
            value = (bounds if axis.is_bound else settings)[axis.name]
            index = index * len(axis.values) + axis.numbers.index(value)
        return index

    def blocks(self, inner: Sequence[str]) -> Iterator[list[list[int]]]:
        """The points in an order in which neighbours follow one another.

        Parameters
        ----------
        inner
            The parameters that leave the activities as they are: they vary faster than the others.

        Yields
        ------
        list
            A block of points with the same activities: lists of points that differ in their bounds only,
            which ascend.
        """
        slow = [place for place, axis in enumerate(self.settings) if axis.name not in inner]
        fast = [place for place, axis in enumerate(self.settings) if axis.name in inner]
        per_setting = prod(len(axis.values) for axis in self.bounds)
        forwards = True
        for outer in _snake([len(self.settings[place].values) for place in slow]):
            block = []
            walk = list(_snake([len(self.settings[place].values) for place in fast]))
            for within in walk if forwards else reversed(walk):
                places = dict(zip([*slow, *fast], [*outer, *within], strict=True))
                index = 0
                for place, axis in enumerate(self.settings):
                    index = index * len(axis.values) + places[place]
                block.append(list(range(index * per_setting, (index + 1) * per_setting)))
            forwards = not forwards
            yield block


def _axis(name: str, is_bound: bool, values: Sequence[Number], found: list[str]) -> SweepAxis:
    """The axis; what is wrong with it is added to `found`."""
    what = f"the bound on {name!r}" if is_bound else f"{name!r}"
    if not values:
        found.append(f"{what} has no values; give at least one")
    for value in values:
        number = float(value)
        if isnan(number) or (not isfinite(number) and not (is_bound and number > 0.0)):
            found.append(f"{what} is {number}; give finite numbers{', or inf' if is_bound else ''}")
            return SweepAxis(name, is_bound, ())
    return SweepAxis(name, is_bound, tuple(sorted(set(values), key=float)))


def _snake(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All places of a grid, each a step away from the one before.

    >>> list(_snake([2, 2]))
    [(0, 0), (0, 1), (1, 1), (1, 0)]
    """
    if not shape:
        yield ()
        return
    rest = list(_snake(shape[1:]))
    for place in range(shape[0]):
        for within in rest if place % 2 == 0 else reversed(rest):
            yield (place, *within)
