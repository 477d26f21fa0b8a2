"""``hcssp problems`` lists the built-in problems; :func:`load_problem` finds the one that a command names."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError
from hcssp.cli.exit_codes import SOLVED
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.hierarchy import HCSSP
    from hcssp.scenarios.building import Building

HELP = "list the built-in problems"
DESCRIPTION = "List the built-in problems, which can be solved by their names."


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
        The building that it takes place in, for pictures; None if there is none.
    """

    name: str
    problem: HCSSP
    building: Building | None = None


def load_problem(name: str, scale: int = 1) -> LoadedProblem:
    """The problem that the user calls `name`.

    Parameters
    ----------
    name
        A built-in problem's name.
    scale
        Multiplies every length of a built-in problem.

    Raises
    ------
    UnknownName
        If there is no such problem.
    """
    from hcssp.scenarios.registry import find_scenario

    scenario = find_scenario(name)
    return LoadedProblem(name, scenario.make(scale), scenario.building.scaled(scale))


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
