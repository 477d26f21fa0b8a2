"""Who makes the problems of a sweep from their parameters, here or at a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hcssp.contract.memory import Problem
from hcssp.errors import HcsspError, InvalidProblem, UnknownName
from hcssp.solving.sweep_grid import Number

Make = Callable[..., Problem]
"""Makes the problem from parameters, which are keywords."""


@dataclass(frozen=True)
class _Named:
    """Makes the problem of a name or a file; it can be sent to a worker."""

    name: str

    def __call__(self, **settings: Number) -> Problem:
        from hcssp.files.named_problem import find_problem

        return find_problem(self.name, settings)


@dataclass(frozen=True)
class _Fixed:
    """A problem without parameters."""

    problem: Problem

    def __call__(self, **settings: Number) -> Problem:
        if settings:
            raise InvalidProblem(
                [
                    f"a problem has no parameter {next(iter(settings))!r} any more; give its name, its file "
                    "or a function that makes it"
                ]
            )
        return self.problem


def maker_of(problem: Problem | str | Path | Make) -> Make:
    """What makes the problem that a name, a file, a function or a problem stands for."""
    if isinstance(problem, str | Path):
        return _Named(str(problem))
    return problem if callable(problem) else _Fixed(problem)


@dataclass(frozen=True)
class Maker:
    """Makes problems, and says at which point it fails.

    The last one is kept, as a large file takes seconds to read; whoever it is sent to reads it anew.
    """

    make: Make
    varied: tuple[str, ...]
    last: list[tuple[Mapping[str, Number], Problem]] = field(default_factory=list, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"make": self.make, "varied": self.varied, "last": []}

    def __call__(self, settings: Mapping[str, Number]) -> Problem:
        if not self.last or self.last[0][0] != settings:
            self.last[:] = [(dict(settings), self._made(settings))]
        return self.last[0][1]

    def _made(self, settings: Mapping[str, Number]) -> Problem:
        try:
            return self.make(**settings)
        except UnknownName:
            raise
        except HcsspError as error:
            raise InvalidProblem([f"{in_words(settings)}{error}"]) from error


def floats(numbers: Mapping[str, Number]) -> dict[str, float]:
    """Numbers for people and arrays, which exact ones are not."""
    return {name: float(number) for name, number in numbers.items()}


def in_words(settings: Mapping[str, Number]) -> str:
    """Where something is wrong, to be said first; nothing if nothing varies."""
    told = ", ".join(f"{name} = {float(value):.9g}" for name, value in settings.items())
    return f"at {told}: " if told else ""
