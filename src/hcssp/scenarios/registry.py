"""The ready-made problems by name.

>>> find_scenario("small-building").make().num_activities
5
>>> print(find_scenario("small-building").make(locked=0.3).choices[2].outcomes[1].probability)
0.3
>>> find_scenario("evacuation-txt")
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no problem 'evacuation-txt'; did you mean 'evacuation-text'? there are:
campus, evacuation, evacuation-text, small-building
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hcssp.errors import UnknownName
from hcssp.procedure import HCSSP
from hcssp.scenarios.building import Building
from hcssp.scenarios.campus import Campus, campus
from hcssp.scenarios.dials import Dial, Number, turned
from hcssp.scenarios.evacuation import DEFAULT_BOUND, SMALL, TABLE, TEXT


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
    building
        The building that it takes place in, if it is a single one.
    """

    name: str
    description: str
    build: Callable[..., HCSSP]
    dials: tuple[Dial, ...] = ()
    building: Building | None = None

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


def _in(building: Building) -> Scenario:
    def build(
        scale: int,
        intended: float = building.intended,
        locked: float = building.locked,
        damage: float = building.damage,
    ) -> HCSSP:
        changed = replace(building, intended=intended, locked=locked, damage=damage)
        return changed.scaled(scale).procedure(DEFAULT_BOUND)

    dials = (
        Dial("intended", building.intended, "the probability that a step goes where intended", 0, 1),
        Dial("locked", building.locked, "the probability that a door is locked", 0, 1),
        Dial("damage", building.damage, "the damage of every step from a burning cell", 0),
    )
    return Scenario(building.name, building.description, build, dials, building)


def _campus(scale: int, *, size: int = Campus.size, **settings: int | float) -> HCSSP:
    return campus(size=size * scale, **settings)


_CAMPUS_DIALS = (
    Dial("buildings", Campus.buildings, "how many buildings are crossed", 1),
    Dial("floors", Campus.floors, "the floors of each", 1),
    Dial("rooms", Campus.rooms, "the rooms on either side of a floor", 1),
    Dial("size", Campus.size, "the cells along a side of a room", 4),
    Dial("floor_plans", Campus.floor_plans, "how many different floors there are", 1),
    Dial("seed", Campus.seed, "where fires and smoke are", 0),
    Dial("slip", Campus.slip, "the probability that a step slips to a side", 0, 1),
    Dial("locked", Campus.locked, "the probability that a door is locked", 0, 1),
    Dial("gate_locked", Campus.gate_locked, "the probability that a gate is locked", 0, 1),
    Dial("slow", Campus.slow, "the probability that the lift is slow", 0, 1),
)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        *(_in(building) for building in (TABLE, TEXT, SMALL)),
        Scenario(
            "campus", "buildings of floors of rooms: procedures inside procedures", _campus, _CAMPUS_DIALS
        ),
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
