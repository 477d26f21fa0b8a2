"""The ready-made problems by name.

>>> find_scenario("small-building").make(1).num_activities
5
>>> find_scenario("evacuation-txt")
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no problem 'evacuation-txt'; did you mean 'evacuation-text'? there are:
campus, evacuation, evacuation-text, small-building
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hcssp.errors import UnknownName
from hcssp.procedure import HCSSP
from hcssp.scenarios.building import Building
from hcssp.scenarios.campus import Campus, campus
from hcssp.scenarios.evacuation import DEFAULT_BOUND, SMALL, TABLE, TEXT


@dataclass(frozen=True, eq=False)
class Scenario:
    """A ready-made problem.

    Attributes
    ----------
    name, description
        What people call it, and what it is, in a line.
    make
        The problem, with every length multiplied by a whole number, 1 if none is given.
    building
        The building that it takes place in, if it is a single one.
    """

    name: str
    description: str
    make: Callable[..., HCSSP]
    building: Building | None = None


def _in(building: Building) -> Scenario:
    def make(scale: int = 1) -> HCSSP:
        return building.scaled(scale).procedure(DEFAULT_BOUND)

    return Scenario(building.name, building.description, make, building)


def _campus(scale: int = 1) -> HCSSP:
    return campus(size=Campus.size * scale)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        *(_in(building) for building in (TABLE, TEXT, SMALL)),
        Scenario("campus", "buildings of floors of rooms: procedures inside procedures", _campus),
    )
}
"""By name."""


def find_scenario(name: str) -> Scenario:
    """The scenario called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    if name not in SCENARIOS:
        raise UnknownName("problem", name, SCENARIOS)
    return SCENARIOS[name]
