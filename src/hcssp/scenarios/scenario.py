"""What a ready-made problem is: a function with dials, and what is known about it without calling it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hcssp.errors import InvalidProblem
from hcssp.procedure import HCSSP
from hcssp.scenarios.building import Building
from hcssp.scenarios.dials import Dial, Number, turned


class Size(NamedTuple):
    """How large a problem is: states of the flat problem, activities, and bounds."""

    states: int
    activities: int
    bounds: int

    @classmethod
    def of(cls, problem: HCSSP) -> Size:
        """The size of a problem that is there."""
        return cls(problem.flattening.num_states, problem.num_activities, problem.num_constraints)

    def __str__(self) -> str:
        parts = (
            (self.states, "state", "states"),
            (self.activities, "activity", "activities"),
            (self.bounds, "bound", "bounds"),
        )
        return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts)


@dataclass(frozen=True, eq=False)
class Scenario:
    """A ready-made problem.

    Attributes
    ----------
    name, description
        What people call it, and what it is, in a line.
    build
        The problem, with every length multiplied by a whole number, its first argument; the dials that are
        set come as keywords.
    dials
        The numbers that can be set, each with its default.
    size
        How large it is if no dial is set; written down, so that a list of all problems makes none of them.
    small, large
        Settings, those of `make`, for a quick comparison of methods and for a thorough one.
    building
        The building that it takes place in, if it is a single one.
    starter
        Settings of a file to begin with, where the whole would be a table of many megabytes.
    """

    name: str
    description: str
    build: Callable[..., HCSSP]
    dials: tuple[Dial, ...]
    size: Size
    small: Mapping[str, int | float] = field(default_factory=dict)
    large: Mapping[str, int | float] = field(default_factory=dict)
    building: Building | None = None
    starter: Mapping[str, int | float] = field(default_factory=dict)

    def make(self, scale: int = 1, **settings: Number) -> HCSSP:
        """The problem, with every length multiplied by `scale` and dials set.

        Raises
        ------
        UnknownName
            If there is no such dial.
        InvalidProblem
            If a dial cannot be set so, or nothing can be made of it.
        """
        return self.build(scale, **turned(self.dials, settings))


def with_lengths(make: Callable[..., HCSSP], dials: tuple[Dial, ...], *lengths: str) -> Callable[..., HCSSP]:
    """A function for :class:`Scenario`, of one that has only dials: the dials `lengths` are multiplied.

    >>> from hcssp.scenarios.patient import DIALS, patient
    >>> with_lengths(patient, DIALS)(2)
    Traceback (most recent call last):
        ...
    hcssp.errors.InvalidProblem: scale 2: this problem has no lengths; set its dials: grades, burdens,
    resistance, growth, toxicity, hospital, failure
    """
    defaults = {dial.name: dial.default for dial in dials}

    def build(scale: int, **settings: int | float) -> HCSSP:
        if scale != 1 and not lengths:
            told = f"scale {scale}: this problem has no lengths; set its dials: {', '.join(defaults)}"
            raise InvalidProblem([told])
        scaled = {name: scale * settings.get(name, defaults[name]) for name in lengths}
        return make(**{**settings, **scaled})

    return build
