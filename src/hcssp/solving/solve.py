"""``solve``: run any solver until a stop criterion holds, and check what it claims.

The solver is a generator of progress. This function consumes it, keeps the trace, turns Ctrl-C at any instant
into an ordinary stop, evaluates the incumbent by code that no solver uses, and freezes the plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Context, Solver
from hcssp.contract.stop import (
    Gap,
    Stop,
    StopCriterion,
    criteria_of,
    first_ending,
    memory_limit_of,
    time_limit_of,
)
from hcssp.cssp.expansion import ExpandedCSSP, settled_part
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import FloatArray
from hcssp.deadline import OutOfTime, until
from hcssp.errors import InvalidOption, UnsupportedProblem
from hcssp.methods.open_duals import SHARE_OF_LIMIT
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import DEFAULT_TOLERANCES, PRUNE_TOLERANCE, Tolerances
from hcssp.procedure.dead_ends import explaining_dead_ends
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import refuse_parts
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving.findings import Findings
from hcssp.solving.in_integers import decided
from hcssp.threads import single_threaded_algebra

if TYPE_CHECKING:
    from hcssp.workers import Workers

LATER, LONGER = 0.5, 1.03
"""Work inside a step is given up so many seconds, and so many times, later than the time limit: a solver that
ends by itself between two steps knows more."""


def solve(
    problem: Problem | ImplicitCSSP,
    method: Solver | str | None = None,
    stop: Stop | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    *,
    time_limit: float | None = None,
    gap: float | None = None,
    start: Plan | None = None,
    memory: Memory | None = None,
    like: Plan | None = None,
    tolerances: Tolerances = DEFAULT_TOLERANCES,
    executor: object | None = None,
    record: SearchRecord | None = None,
) -> Plan:
    """Solve `problem` until a criterion of `stop` holds or the solver has nothing left to do.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP; or an implicit C-SSP, of which the plan's problem is the part that was expanded.
    method
        A method with its parameters, such as ``BudgetAllocation(iterations=10)``, or its name: ``"exact"``,
        ``"budget-allocation"``, ``"milp"`` or ``"lp"``. By default the exact method, for an implicit problem
        heuristic search.
    stop
        A criterion or several; the first that holds gives the reason. If neither `stop` nor `gap` is given,
        the search stops at the relative gap at which a plan is called optimal; an empty list goes on to the
        method's own end.
    on_progress
        Called with every snapshot.
    time_limit, gap
        Stop after this many seconds, or at this relative gap: short for ``MaxRuntime(time_limit)`` and
        ``Gap(gap)``, besides `stop`.
    start
        A plan to begin with: its policy is the first incumbent if it keeps the bounds, what was proven or
        verified under the same bounds is taken over, its prices are the first to be tried, and what was
        learnt is kept. What a file merely claims
        (:attr:`Plan.claim`) is not.
    memory
        What was learnt about the same problem before.
    like
        A plan for a similar problem, such as the same before the world changed: its prices, and the regions
        that its search has split, are the first to be tried.
    tolerances
        What counts as keeping a bound, and what as optimal.
    executor
        Who does the work side by side: :func:`hcssp.open_workers`, a Dask client, or any executor of
        :mod:`concurrent.futures`. It stays open. By default this process does it alone.
    record
        Where the search writes down its regions, for who looks at them while it goes on. One with regions,
        such as :func:`hcssp.extend.load_search` reads from a file, is continued; what is known of them is
        proven again.

    Raises
    ------
    InvalidOption
        If `method`, `stop`, `time_limit` or `gap` cannot be used; the message says what to write.
    UnknownName
        If there is no method of that name.

    Returns
    -------
    Plan
        What is proven, and the best policy with its independent evaluation. Ctrl-C returns the incumbent, and
        so does a search that runs out of memory.
    """
    began = time.perf_counter()
    if isinstance(problem, ExpandedCSSP):
        problem = problem.unexpanded()
    if isinstance(problem, HCSSP):
        refuse_parts(problem)
    solver = _solver(method, problem)
    if stop is None and gap is None:
        gap = tolerances.optimality
    criteria = criteria_of(stop, time_limit, gap)
    if memory is None:
        memory = Memory() if start is None else start.memory
    workers = None if executor is None else _workers_for(solver, executor)
    known = Findings.begun(problem, start, tolerances, memory)
    limit = memory_limit_of(criteria)
    context = Context(
        known.progress.upper_bound,
        time_limit_of(criteria),
        memory,
        node_memory=SHARE_OF_LIMIT * limit if limit < inf else None,
        memory_limit=limit,
        workers=workers,
        wanted_gap=_wanted_gap(criteria, tolerances),
        prices=_prices_of(problem, start, like),
        guide=None if like is None else like.record,
        record=SearchRecord() if record is None else record,
    )
    known.search = context.record
    search = _Search(problem, solver, context, known, criteria, on_progress, began)
    try:
        return search.plan()
    except KeyboardInterrupt:
        # It may come at any instant, also while the plan is evaluated. A second one gets through.
        search.interrupt()
        return search.plan()


class _Search:
    """A search and the plan that is made of it; wherever that is interrupted, :meth:`plan` can go on.

    Parameters
    ----------
    problem, method, context
        What is solved, how, and what the method is told.
    known
        What is known before, to which all findings are added.
    criteria, on_progress
        As for :func:`solve`.
    began
        When the time began, by ``time.perf_counter()``.
    """

    def __init__(
        self,
        problem: Problem | ImplicitCSSP,
        method: Solver,
        context: Context,
        known: Findings,
        criteria: Sequence[StopCriterion],
        on_progress: Callable[[Progress], object] | None,
        began: float,
    ) -> None:
        self._problem = problem
        self._method = method
        self._context = context
        self._known = known
        self._criteria = criteria
        self._on_progress = on_progress
        self._deadline = began + LONGER * context.time_limit + LATER
        self._ending: Ending | None = None
        self._steps: Iterator[Progress] = iter(())
        self._plan: Plan | None = None

    @single_threaded_algebra()
    def plan(self) -> Plan:
        """Search, unless that is over, and conclude."""
        if self._ending is None:
            # In a context of its own, so that no deadline of it is left behind.
            self._ending = copy_context().run(self._run)
        if self._plan is None:
            self._plan = self._concluded(self._ending)
        return self._plan

    def interrupt(self) -> None:
        """The search is over, and nothing more is to be proven."""
        self._ending = Ending(Reason.INTERRUPTED)
        if self._plan is not None:
            self._plan = replace(self._plan, ending=self._ending)
        self._close()

    def _run(self) -> Ending:
        known, ending = self._known, None
        if known.progress.incumbent is not None:
            ending = first_ending(self._criteria, known.progress)
        try:
            if ending is None:
                self._steps = self._method.iterate(known.searched, self._context)
            with explaining_dead_ends(self._problem), until(self._deadline):
                for step in self._steps:
                    known.add(step)
                    if self._on_progress is not None:
                        self._on_progress(known.progress)
                    ending = step.ending or first_ending(self._criteria, known.progress)
                    if ending is not None:
                        break
        except OutOfTime:
            ending = Ending(Reason.TIME_LIMIT)
        except MemoryError as error:
            ending = Ending(Reason.MEMORY, str(error))
        finally:
            self._close()
        return ending or Ending(Reason.EXHAUSTED)

    def _close(self) -> None:
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()
        if self._context.workers is not None:
            self._context.workers.close()

    def _concluded(self, ending: Ending) -> Plan:
        """The plan of what was found, evaluated."""
        known, memory, tolerances = self._known, self._context.memory, self._known.tolerances
        ending = _honest(ending, known.progress.gap, self._criteria, tolerances)
        if isinstance(self._problem, ImplicitCSSP):
            known.settle(settled_part(memory.expansion(self._problem), self._problem))
        plan = known.conclude(self._method.name, ending, memory)
        if ending.reason not in (Reason.ROUNDING, Reason.FAILED):
            return plan
        with until(self._deadline):
            return decided(plan, _wanted_gap(self._criteria, tolerances))


def _solver(method: Solver | str | None, problem: Problem | ImplicitCSSP) -> Solver:
    """The solver that a caller means: one, a name, or None for the default of the problem."""
    if method is None:
        if not isinstance(problem, ImplicitCSSP):
            return PolicyBranching()
        from hcssp.methods.heuristic_search import HeuristicSearch

        return HeuristicSearch()
    if isinstance(method, str):
        from hcssp.solving.registry import find_method

        return find_method(method).make()
    if isinstance(method, type):
        raise InvalidOption(f"method={method.__name__}: give an instance, such as {method.__name__}()")
    if not callable(getattr(method, "iterate", None)):
        raise InvalidOption(
            f"method={method!r}: give the name of a method, such as 'exact', or a solver, such as "
            "PolicyBranching()"
        )
    return method


def _workers_for(method: Solver, executor: object) -> Workers:
    """The workers that an executor stands for, for a method that has something to do for them."""
    if not getattr(method, "uses_workers", False):
        raise UnsupportedProblem(
            f"the method {method.name!r} does its work in one process; leave the executor out, or use 'exact'"
        )
    from hcssp.workers import open_workers

    return open_workers(executor=executor)


def _prices_of(problem: Problem | ImplicitCSSP, *plans: Plan | None) -> FloatArray | None:
    """The prices that a plan came with, to begin with; None unless all of them are known."""
    for plan in plans:
        if plan is not None and plan.prices is not None:
            known = zip(problem.constraint_names, problem.bounds, strict=True)
            prices = np.array([plan.prices.get(name, 0.0 if bound == 0.0 else inf) for name, bound in known])
            if np.isfinite(prices).all():
                return prices
    return None


def _honest(ending: Ending, gap: float, criteria: Iterable[StopCriterion], tolerances: Tolerances) -> Ending:
    """No search ends with a complete proof while its gap is above what was asked for.

    A method that has looked at everything may still be left with what rounding hides from it.
    """
    if ending.reason is not Reason.PROVED:
        return ending
    asked = _wanted_gap(criteria, tolerances)
    if gap <= max(asked, 2.0 * PRUNE_TOLERANCE):
        return ending
    return Ending(Reason.ROUNDING, ending.detail)


def _wanted_gap(criteria: Iterable[StopCriterion], tolerances: Tolerances) -> float:
    return min((each.relative for each in criteria if isinstance(each, Gap)), default=tolerances.optimality)


def resolve(
    plan: Plan,
    bounds: Mapping[str, float] | None = None,
    *,
    method: Solver | str | None = None,
    stop: Stop | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    tolerances: Tolerances | None = None,
    **named: float,
) -> Plan:
    """Solve the problem of `plan` under other bounds, with all that was learnt; see :func:`solve`.

    >>> from hcssp.scenarios import small_building
    >>> plan = solve(small_building(bound=2.0))
    >>> stricter = resolve(plan, damage=1.0)
    >>> round(plan.upper_bound, 4), round(stricter.upper_bound, 4)
    (27.7191, 46.6619)
    """
    return solve(
        plan.problem.with_bounds(bounds, **named),
        method,
        stop,
        on_progress,
        time_limit=time_limit,
        gap=gap,
        start=plan if plan.found else None,
        memory=plan.memory,
        tolerances=tolerances or plan.tolerances,
    )
