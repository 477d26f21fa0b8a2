"""What a solver is: its parameters, and a generator of progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Protocol, TypedDict

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.progress import Progress
from hcssp.contract.stop import Stop
from hcssp.cssp.model import FloatArray
from hcssp.numerics import OPTIMALITY_TOLERANCE
from hcssp.proofs.search_record import SearchRecord

if TYPE_CHECKING:
    from hcssp.workers import Workers


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
    node_memory
        Bytes that open nodes of a search may take for what only saves work; None for the method's default.
    memory_limit
        Bytes that the process may occupy altogether; a search that takes much between two snapshots asks.
    prices
        One for each constraint, near the answer, such as those of a problem with slightly other numbers.
    wanted_gap
        The relative gap at which nobody wants to know more; a search need not be more precise by far.
    guide
        What a search over a problem with slightly other numbers wrote down: its regions may be good ones.
    record
        Where a search writes down its regions and what it learns about them, for a certificate.
    workers
        Who else can work; None if there is nobody.
    """

    known_cost: float = inf
    time_limit: float = inf
    memory: Memory = field(default_factory=Memory, repr=False)
    node_memory: float | None = None
    memory_limit: float = inf
    prices: FloatArray | None = field(default=None, repr=False)
    wanted_gap: float = OPTIMALITY_TOLERANCE
    guide: SearchRecord | None = field(default=None, repr=False)
    record: SearchRecord = field(default_factory=SearchRecord, repr=False)
    workers: Workers | None = field(default=None, repr=False)


class Solver(Protocol):
    """A solver is its parameters; it works by telling its progress."""

    @property
    def name(self) -> str:
        """What people call it."""

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        """Work on `problem`, yielding progress whose bounds hold at every instant."""


class SearchOptions(TypedDict, total=False):
    """How a search is done, as keywords of :func:`hcssp.solve` and of all that searches on its behalf."""

    method: Solver | str | None
    stop: Stop | None
    time_limit: float | None
    gap: float | None
    on_progress: Callable[[Progress], object] | None
