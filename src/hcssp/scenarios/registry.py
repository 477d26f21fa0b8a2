"""The ready-made problems by name.

>>> find_scenario("small-building").make().num_activities
5
>>> print(find_scenario("small-building").make(locked=0.3).choices[2].outcomes[1].probability)
0.3
>>> find_scenario("evacuation-txt")  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no problem 'evacuation-txt'; did you mean 'evacuation-text'? there are: ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hcssp.errors import looked_up
from hcssp.procedure import HCSSP
from hcssp.procedure.single import as_procedure
from hcssp.scenarios.aircraft import SCENARIO as AIRCRAFT
from hcssp.scenarios.building import Building
from hcssp.scenarios.campus import Campus, campus
from hcssp.scenarios.delivery import SCENARIO as DELIVERY
from hcssp.scenarios.dials import Dial
from hcssp.scenarios.elevators import SCENARIO as ELEVATORS
from hcssp.scenarios.evacuation import DEFAULT_BOUND, SMALL, TABLE, TEXT
from hcssp.scenarios.patient import SCENARIO as PATIENT
from hcssp.scenarios.racetrack import racetrack
from hcssp.scenarios.random_problems import SCENARIO as RANDOM
from hcssp.scenarios.routing import SCENARIO as ROUTING
from hcssp.scenarios.rover import SCENARIO as ROVER
from hcssp.scenarios.scenario import Scenario, Size
from hcssp.scenarios.search_and_rescue import SCENARIO as SEARCH_AND_RESCUE


def _in(building: Building, size: Size, large: Mapping[str, int]) -> Scenario:
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
    return Scenario(building.name, building.description, build, dials, size, {}, large, building)


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


def _racetrack(scale: int, **settings: int | float) -> HCSSP:
    track = racetrack(scale=scale, **{"max_speed": 2, **settings})  # type: ignore[arg-type]
    return as_procedure(track.derive(name="racetrack", description=_RACETRACK))


_RACETRACK = "a car with a speed, rough ground and walls to crash into"
_RACETRACK_DIALS = (
    Dial("max_speed", 2, "the limit of either speed", 1, 9),
    Dial("slip", 0.1, "the probability that an acceleration has no effect", 0, 0.9),
    Dial("bound", 1.0, "the wear allowed", 0),
)

_LISTED = (
    _in(TABLE, Size(18_644, 14, 1), {"scale": 4}),
    _in(TEXT, Size(18_644, 14, 1), {"scale": 4}),
    _in(SMALL, Size(64, 5, 1), {"scale": 8}),
    Scenario(
        "campus",
        "buildings of floors of rooms: procedures inside procedures",
        _campus,
        _CAMPUS_DIALS,
        Size(1_599, 32, 3),
        {"buildings": 1},
        {"buildings": 10, "floors": 5, "size": 12},
    ),
    AIRCRAFT,
    DELIVERY,
    ELEVATORS,
    PATIENT,
    Scenario(
        "racetrack",
        _RACETRACK,
        _racetrack,
        _RACETRACK_DIALS,
        Size(1_219, 1, 1),
        {"max_speed": 1},
        {"scale": 2, "max_speed": 3, "bound": 0.5},
    ),
    RANDOM,
    ROVER,
    ROUTING,
    SEARCH_AND_RESCUE,
)

SCENARIOS = {scenario.name: scenario for scenario in _LISTED}
"""By name."""


def find_scenario(name: str) -> Scenario:
    """The scenario called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    return looked_up("problem", name, SCENARIOS)
