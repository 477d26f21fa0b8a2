"""The ready-made problems by name.

>>> find_scenario("small-building").make(1).num_activities
5
>>> find_scenario("evacuation-txt")
Traceback (most recent call last):
    ...
hcssp.errors.UnknownName: there is no problem 'evacuation-txt'; did you mean 'evacuation-text'? there are:
evacuation, evacuation-text, small-building
"""

from __future__ import annotations

from dataclasses import dataclass

from hcssp.errors import UnknownName
from hcssp.procedure import HCSSP
from hcssp.scenarios.building import Building
from hcssp.scenarios.evacuation import DEFAULT_BOUND, SMALL, TABLE, TEXT


@dataclass(frozen=True, eq=False)
class Scenario:
    """A ready-made problem.

    Attributes
    ----------
    building
        The building that it takes place in, kept for pictures.
    bound
        The damage allowed if nothing is said.
    """

    building: Building
    bound: float = DEFAULT_BOUND

    @property
    def name(self) -> str:
        """What people call it."""
        return self.building.name

    @property
    def description(self) -> str:
        """What it is, in a line."""
        return self.building.description

    def make(self, scale: int = 1) -> HCSSP:
        """The problem, with every length multiplied by `scale`."""
        return self.building.scaled(scale).procedure(self.bound)


SCENARIOS = {scenario.name: scenario for scenario in (Scenario(TABLE), Scenario(TEXT), Scenario(SMALL))}
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
