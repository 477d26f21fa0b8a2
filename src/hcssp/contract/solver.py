"""The interface of solvers: parameters, and a generator of progress.

What has been learnt about a problem, kept so that the same problem under other bounds begins with it.

The bounds of the constraints enter a search last: what an oracle knows (budget curves, factorisations, plans)
holds under all of them. A :class:`Memory` keeps one oracle for a problem and hands it out under any bounds.

One search at a time may use a memory: its oracles share caches without locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import numpy as np

from hcssp.contract.progress import Policies, Progress, Stop
from hcssp.cssp.model import FloatArray
from hcssp.dual.flat import Evaluation
from hcssp.dual.oracle import Oracle
from hcssp.dual.oracles import oracle_of
from hcssp.numerics import OPTIMALITY_TOLERANCE, Tolerances
from hcssp.procedure.model import HCSSP, refuse_choices_per_event, refuse_parts
from hcssp.procedure.model import Problem as Problem
from hcssp.proofs.search_record import SearchRecord

if TYPE_CHECKING:
    from hcssp.cssp.expansion import Expansion
    from hcssp.cssp.implicit import ImplicitCSSP
    from hcssp.workers import Workers


class Memory:
    """The oracles of one problem, whatever its bounds.

    Parameters
    ----------
    before
        What was learnt about a problem that has much in common with this one, such as the same procedure
        before the world changed: activities that are the same are not planned again.
    """

    def __init__(self, before: Memory | None = None) -> None:
        self._problem: Problem | None = None
        self._oracles: dict[Evaluation, Oracle[Any]] = {}
        self._before: dict[Evaluation, Oracle[Any]] = {} if before is None else dict(before._oracles)
        self._expansion: Expansion | None = None

    def oracle(self, problem: Problem, evaluation: Evaluation = "auto") -> Oracle[Any]:
        """The oracle of `problem`, with all that was learnt under other bounds.

        Parameters
        ----------
        problem
            The problem of this memory, under whatever bounds. Another one makes it begin again, with what is
            known about activities that both have.
        evaluation
            How policies of a flat problem are evaluated.

        Raises
        ------
        UnsupportedProblem
            If it is a procedure around a part of an implicit problem, or asks for one choice per event.
        """
        if problem.implicit is None:
            refuse_parts(problem)
            refuse_choices_per_event(problem, "this search")
        if self._problem is None:
            self._problem = problem
        elif not _share_oracles(self._problem, problem):
            self._problem, self._oracles, self._before = problem, {}, self._oracles
        if evaluation not in self._oracles:
            self._oracles[evaluation] = oracle_of(problem, evaluation, self._before.pop(evaluation, None))
        return self._oracles[evaluation].under(problem.bounds)

    def expansion(self, problem: ImplicitCSSP) -> Expansion:
        """The expanded part of an implicit problem, under any bounds; another problem begins again."""
        from hcssp.cssp.expansion import Expansion

        if self._expansion is None or self._expansion.problem.space is not problem.space:
            self._expansion = Expansion(problem)
        return self._expansion

    def knows(self, expansion: Expansion) -> bool:
        """Whether it is the expansion of this memory."""
        return self._expansion is expansion

    def release(self) -> None:
        """Free memory for results that are quickly computed again; keep the others."""
        for oracle in self._oracles.values():
            oracle.release()


def _share_oracles(first: Problem, second: Problem) -> bool:
    """Whether results about one problem are valid for the other, too.

    A limit of a use is more than a bound: what choices cost depends on it.
    """
    costs = [each.choice_costs for each in (first, second) if isinstance(each, HCSSP)]
    return same_but_for_bounds(first, second) and (not costs or np.array_equal(costs[0], costs[1]))


def same_but_for_bounds(first: Problem, second: Problem) -> bool:
    """Whether two problems differ in their bounds at most."""
    if first is second:
        return True
    if type(first) is not type(second) or first.constraint_names != second.constraint_names:
        return False
    bounds = dict(zip(first.constraint_names, first.bounds.tolist(), strict=True))
    return second.with_bounds(bounds) == first


@dataclass(frozen=True)
class Context:
    """Information for a solver at its start; a solver may ignore it.

    Attributes
    ----------
    known_cost
        The cost of a feasible policy that is known already: only better ones are wanted.
    time_limit
        The time limit in seconds.
    memory
        What earlier searches have learnt about the problem.
    memory_limit
        Bytes that the process may occupy altogether; a search that takes much between two snapshots asks.
    prices
        One for each constraint, near the answer, such as those of a problem with slightly other numbers.
    wanted_gap
        The relative gap at which the search stops; it need not be much more precise.
    guide
        What a search over a problem with slightly other numbers wrote down: its regions may be good ones.
    record
        The record of a search: its regions and their bounds, for a certificate.
    workers
        The workers of a parallel search; None for one process.
    """

    known_cost: float = inf
    time_limit: float = inf
    memory: Memory = field(default_factory=Memory, repr=False)
    memory_limit: float = inf
    prices: FloatArray | None = field(default=None, repr=False)
    wanted_gap: float = OPTIMALITY_TOLERANCE
    guide: SearchRecord | None = field(default=None, repr=False)
    record: SearchRecord = field(default_factory=SearchRecord, repr=False)
    workers: Workers | None = field(default=None, repr=False)


class Solver(Protocol):
    """A solver is its parameters; it works by yielding its progress.

    One that takes implicit problems, which do not list their states, has a class attribute
    ``needs_all_states = False``; :func:`hcssp.solve` refuses them for all others.
    """

    @property
    def name(self) -> str:
        """Its name."""

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        """Work on `problem`, yielding progress whose bounds hold at every instant."""


def as_chosen_by(solver: Solver, problem: HCSSP) -> HCSSP:
    """The problem for the plans that `solver` looks for, from its method ``choosing`` if it has one.

    Raises
    ------
    UnsupportedProblem
        If the problem asks for one choice per event, and the solver chooses per state.
    """
    choosing: Callable[[HCSSP], HCSSP] | None = getattr(solver, "choosing", None)
    if choosing is None:
        refuse_choices_per_event(problem, f"the method {solver.name!r}")
        return problem
    return choosing(problem)


class SearchOptions(TypedDict, total=False):
    """How a search is done: keywords of :func:`hcssp.solve` and of methods that search."""

    method: Solver | str | None
    stop: Stop | None
    time_limit: float | None
    gap: float | None
    on_progress: Callable[[Progress], object] | None
    tolerances: Tolerances | None
    policies: Policies | None
