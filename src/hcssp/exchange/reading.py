"""Files of other tools, told apart by their names: PRISM, JANI, DRN, UMB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.exchange.explicit_model import ExplicitModel
from hcssp.exchange.posing import posed
from hcssp.exchange.prism_jani import LANGUAGES, Constants, read_symbolic

DRN, UMB = ".drn", ".umb"

SUFFIXES = (*LANGUAGES, DRN, UMB)
"""What the names of models of other tools end in."""


@dataclass(frozen=True)
class Question:
    """What is asked about a model; by default as :func:`load_model` does. `domain` is for PPDDL alone."""

    constants: Constants | None = None
    minimise: str | None = None
    goal: str | Sequence[str] | None = None
    costs: Sequence[str] | None = None
    give_up: float | Mapping[str, float] | None = None
    domain: str | Path | None = None


def is_model(name: str | Path) -> bool:
    """Whether a file is a model of another tool, by its name."""
    return Path(name).suffix.lower() in SUFFIXES


def load_model(
    path: str | Path,
    *,
    constants: Constants | None = None,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """The problem in a file of another tool: PRISM (.prism, .nm, .pm), JANI, DRN or UMB (.jani, .drn, .umb).

    Parameters
    ----------
    path
        The file.
    constants, minimise, goal, bounds, costs, give_up
        As in :func:`~hcssp.exchange.prism_jani.from_prism`; a goal in DRN and UMB files is a label, and they
        have no constants.

    Raises
    ------
    MissingDependency
        If a package is needed that is not installed.
    InvalidProblem
        If the file cannot be read, or is no C-SSP.
    UnknownName
        If there is no such label or reward model.
    """
    model = read_model(path, constants, goal)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_model(
    path: str | Path,
    constants: Constants | None = None,
    goal: str | Sequence[str] | None = None,
    *,
    whole: bool = False,
) -> ExplicitModel:
    """A model in a file of another tool as arrays; every text of `goal` is one of its labels, or unknown.

    It has all its states if it is wanted as a `whole`; otherwise those behind a goal may be missing.

    Raises
    ------
    MissingDependency, InvalidProblem, UnknownName
        As :func:`load_model` does.
    """
    suffix = Path(path).suffix.lower()
    if suffix in LANGUAGES:
        return read_symbolic(path, LANGUAGES[suffix], constants, goal, whole=whole)
    return _read_explicit(path, suffix, constants)


def _read_explicit(path: str | Path, suffix: str, constants: Constants | None) -> ExplicitModel:
    if suffix not in SUFFIXES:
        raise InvalidProblem([f"{path}: models end in {', '.join(SUFFIXES)}; rename it, or convert it"])
    if constants:
        raise InvalidProblem([f"{path}: the file has no constants; leave them out"])
    if suffix == DRN:
        from hcssp.exchange.drn import read_drn_file

        return read_drn_file(path)
    from hcssp.exchange.umb import read_umb

    return read_umb(path)
