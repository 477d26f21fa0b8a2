"""The problem that a user names: a built-in one or a file, perhaps with other numbers.

>>> print(find_problem("small-building", {"locked": 0.3}).choices[2].outcomes[1].probability)
0.3
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load
from hcssp.procedure import HCSSP
from hcssp.scenarios.dials import Number
from hcssp.scenarios.registry import find_scenario

SUFFIXES = (".yaml", ".yml", ".json")
"""What the names of problem files end in."""


def is_file(name: str) -> bool:
    """Whether a file is meant and not a built-in problem: it has a suffix, or is in another folder."""
    path = Path(name)
    return path.suffix.lower() in SUFFIXES or path.name != name


def find_problem(name: str | Path, parameters: Mapping[str, Number] | None = None, scale: int = 1) -> HCSSP:
    """The problem of that name, or in that file.

    Parameters
    ----------
    name
        A built-in problem's name, or a problem file: its name ends in .yaml, .yml or .json, or it is in
        another folder.
    parameters
        What the parameters of the file, or the dials of the built-in problem, are instead.
    scale
        Multiplies every length of a built-in problem.

    Raises
    ------
    UnknownName
        If there is no such problem, or no such parameter.
    InvalidProblem
        If the file is not in order, a parameter cannot be so, or a file is to be scaled.
    """
    if not is_file(str(name)):
        return find_scenario(str(name)).make(scale, **(parameters or {}))
    if scale != 1:
        told = f"only built-in problems can be scaled, not the file {name}"
        raise InvalidProblem([f"scale {scale}: {told}"])
    return load(name, parameters=parameters)
