"""``hcssp problems`` lists the built-in problems; :func:`load_problem` finds the one that a command names."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError
from hcssp.cli.exit_codes import SOLVED
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption
    from hcssp.procedure import HCSSP

_SUFFIXES = (".yaml", ".yml", ".json")

HELP = "list the built-in problems"
DESCRIPTION = (
    "List the built-in problems, which can be solved by their names and written as files (hcssp new)."
)


def load_problem(name: str, scale: int = 1) -> HCSSP:
    """The problem that the user calls `name`.

    Parameters
    ----------
    name
        A built-in problem's name, or a problem file: its name ends in .yaml, .yml or .json, or it is in
        another folder; or ``-``, for one that comes by standard input.
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

    return find_scenario(name).make(scale)


def is_file(name: str) -> bool:
    """Whether the user means a file and not a built-in problem."""
    path = Path(name)
    return name == "-" or path.suffix.lower() in _SUFFIXES or path.name != name


def _from_file(name: str, scale: int) -> HCSSP:
    from hcssp.files.problem_file.loading import load, load_stream

    if scale != 1:
        raise UsageError(f"--scale {scale}: only built-in problems can be scaled, not the file {name}")
    if name != "-":
        return load(name)
    if sys.stdin is None:
        raise UsageError("-: there is no standard input to read a problem from")
    return load_stream(sys.stdin.buffer)


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
