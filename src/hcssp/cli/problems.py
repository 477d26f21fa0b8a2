"""``hcssp problems`` lists the built-in problems; :func:`load_problem` finds the one that a command names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError
from hcssp.cli.exit_codes import SOLVED
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.cssp.grid import GridWorld
    from hcssp.procedure import HCSSP
    from hcssp.reports.scene import Scene
    from hcssp.scenarios.building import Building

_SUFFIXES = (".yaml", ".yml", ".json")

HELP = "list the built-in problems"
DESCRIPTION = (
    "List the built-in problems, which can be solved by their names and written as files (hcssp new)."
)


@dataclass(frozen=True, eq=False)
class LoadedProblem:
    """A problem and what else is known of it.

    Attributes
    ----------
    name
        What the user called it.
    problem
        The problem.
    building
        The building that it takes place in, for pictures; None for a file.
    title, description
        What its file calls it, if it is a file, and what it is.
    worlds, rooms, positions
        The grid of each activity (None for a table), the room of each activity, and where rooms lie on a
        map of them all.
    """

    name: str
    problem: HCSSP
    building: Building | None = None
    title: str = ""
    description: str = ""
    worlds: Mapping[str, GridWorld | None] = field(default_factory=dict)
    rooms: Mapping[str, str] = field(default_factory=dict)
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def scene(self) -> Scene:
        """The problem with its rooms, for pictures and pages."""
        from hcssp.reports.scene import Scene

        title = self.title or self.name
        return Scene(title, self.problem, self.worlds, self.rooms, self.positions, self.description)


def load_problem(name: str, scale: int = 1) -> LoadedProblem:
    """The problem that the user calls `name`.

    Parameters
    ----------
    name
        A built-in problem's name, or a problem file: its name ends in .yaml, .yml or .json, or it is in
        another folder.
    scale
        Multiplies every length of a built-in problem.

    Raises
    ------
    UnknownName
        If there is no such problem.
    InvalidProblem
        If the file is not in order.
    UsageError
        If a file is to be scaled.
    """
    if is_file(name):
        return _from_file(name, scale)
    from hcssp.scenarios.registry import find_scenario

    scenario = find_scenario(name)
    building = scenario.building.scaled(scale)
    return LoadedProblem(
        name=name,
        problem=building.procedure(scenario.bound),
        building=building,
        description=scenario.description,
        worlds=building.grids(),
        rooms={crossing.name: crossing.room for crossing in building.crossings},
        positions=building.corners(),
    )


def is_file(name: str) -> bool:
    """Whether the user means a file and not a built-in problem."""
    path = Path(name)
    return path.suffix.lower() in _SUFFIXES or path.name != name


def _from_file(name: str, scale: int) -> LoadedProblem:
    from hcssp import files

    if scale != 1:
        raise UsageError(f"--scale {scale}: only built-in problems can be scaled, not the file {name}")
    loaded = files.load_problem(name)
    return LoadedProblem(
        name=name,
        problem=loaded.problem,
        title=loaded.name,
        description=loaded.description,
        worlds=loaded.worlds,
        rooms=loaded.rooms,
        positions=loaded.positions,
    )


def with_bounds(problem: HCSSP, bounds: list[tuple[str, float]]) -> HCSSP:
    """The problem under the bounds of the command line.

    Raises
    ------
    UnknownName
        If a constraint's name is not one of the problem's.
    UsageError
        If a constraint is bounded twice.
    """
    known = [constraint.name for constraint in problem.constraints]
    wanted: dict[str, float] = {}
    for name, at_most in bounds:
        if name not in known:
            raise UnknownName("constraint", name, known)
        if name in wanted:
            raise UsageError(f"--bound {name}: given twice ({wanted[name]:g} and {at_most:g}); give one")
        wanted[name] = at_most
    return problem.with_bounds(wanted)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there is nothing to say about a list."""


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the built-in problems."""
    from hcssp.scenarios.registry import SCENARIOS

    for scenario in SCENARIOS.values():
        print(f"{scenario.name:<18} {scenario.description}")
    return SOLVED
