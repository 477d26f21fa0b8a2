"""The ready-made problems as problem files: their rooms once, their crossings as references."""

from __future__ import annotations

from typing import Literal

from hcssp.files.problems.dumping import dump_problem
from hcssp.scenarios.registry import Scenario


def dump_scenario(scenario: Scenario, *, scale: int = 1, style: Literal["yaml", "json"] = "yaml") -> str:
    """The text of a problem file that says the same as a ready-made problem.

    Parameters
    ----------
    scenario
        What to write.
    scale
        Multiplies every length.
    style
        YAML or JSON.
    """
    building = scenario.building.scaled(scale)
    return dump_problem(
        building.procedure(scenario.bound),
        name=scenario.name,
        description=scenario.description,
        worlds=building.grids(),
        rooms={crossing.name: crossing.room for crossing in building.crossings},
        positions=building.corners(),
        style=style,
    )
