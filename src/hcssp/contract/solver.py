"""What a solver is: its parameters, and a generator of progress."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.progress import Progress


@dataclass(frozen=True)
class Context:
    """What is known when a solver begins; a solver may use any of it, or nothing.

    Attributes
    ----------
    known_cost
        The cost of a feasible policy that is known already: only better ones are wanted.
    time_limit
        Seconds after which nobody listens any more.
    memory
        What earlier searches have learnt about the problem.
    """

    known_cost: float = inf
    time_limit: float = inf
    memory: Memory = field(default_factory=Memory, repr=False)


class Solver(Protocol):
    """A solver is its parameters; it works by telling its progress."""

    @property
    def name(self) -> str:
        """What people call it."""

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        """Work on `problem`, yielding progress whose bounds hold at every instant."""
