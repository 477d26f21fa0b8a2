"""A search at work for a command: its progress is printed, and its plans are saved and read again.

Signals, the time limit, a lack of memory and even a fault of the solver end it with the best plan so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.running import Faulty, Interruption
from hcssp.cli.session import read_plan, with_bounds
from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxRuntime, Progress, StopCriterion, first_ending, time_limit_of
from hcssp.contract.proof import Ending, Interval, Reason, Trace
from hcssp.errors import CannotWrite, DeadEnd, HcsspError, InvalidPlan
from hcssp.numerics import DEFAULT_TOLERANCES, Tolerances
from hcssp.proofs.search_record import SearchRecord
from hcssp.solving import solve as solving

if TYPE_CHECKING:
    import argparse

    from hcssp.cli.session import Session
    from hcssp.contract.solver import Solver
    from hcssp.procedure import HCSSP
    from hcssp.workers import Workers


class Watching:
    """The stop criterion of a command: its own criteria, and the signals."""

    def __init__(self, interruption: Interruption, criteria: Sequence[StopCriterion]) -> None:
        self._interruption = interruption
        self._criteria = tuple(criteria)
        self.time_limit = time_limit_of(self._criteria)

    def __call__(self, progress: Progress) -> Ending | None:
        # A signal may come where Python swallows exceptions (a finaliser), so the flag is asked too.
        if self._interruption.requested:
            ending: Ending | None = Ending(Reason.INTERRUPTED)
        else:
            ending = first_ending(self._criteria, progress)
        if ending is not None:
            self._interruption.end()
        return ending


def work(
    session: Session,
    problem: HCSSP,
    solver: Solver,
    criteria: list[StopCriterion],
    time_limit: float | None = None,
    saver: PlanSaver | None = None,
    start: Plan | None = None,
    tolerances: Tolerances | None = None,
    workers: Workers | None = None,
    record: SearchRecord | None = None,
) -> Plan:
    """Solve, printing the progress and saving plans; a signal or the time limit ends it with the best plan.

    At any instant, that is; before the first step the plan to start with is the best one. The time limit, in
    seconds, counts from here on.

    Raises
    ------
    Faulty
        If the search fails; with the best plan so far.
    """
    interruption, latest = session.interruption, first_progress(start)

    def on_progress(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        interruption.look(progress)
        if saver is not None:
            saver(progress)
        session.printer(progress)

    limit = inf if time_limit is None else time_limit
    try:
        interruption.begin()
        interruption.allow(limit)
        plan = solving.solve(
            problem,
            solver,
            Watching(interruption, [*criteria, MaxRuntime(limit)]),
            on_progress,
            start=start,
            tolerances=tolerances or DEFAULT_TOLERANCES,
            executor=workers,
            record=record,
        )
        interruption.end()
    except DeadEnd as error:
        interruption.end()
        return Plan.of_dead_end(problem, error, solver.name)
    except HcsspError:
        raise
    except KeyboardInterrupt:
        # So early, or so late, that the search did not see it.
        return stopped(problem, solver.name, latest, interruption)
    except MemoryError as error:
        interruption.end()
        ending = Ending(Reason.MEMORY, str(error))
        return _kept(problem, solver.name, latest, ending, lower_bound=latest.lower_bound)
    except Exception as error:
        interruption.end()
        raise Faulty(_kept(problem, solver.name, latest, Ending(Reason.FAILED))) from error
    return replace(plan, ending=interruption.ending) if plan.ending.reason is Reason.INTERRUPTED else plan


def first_progress(start: Plan | None) -> Progress:
    """The start of a search: the plan to start with, if there is one."""
    if start is None or not start.found:
        return Progress()
    return Progress(incumbent=start.found_policy, upper_bound=start.upper_bound)


def stopped(problem: HCSSP, method: str, progress: Progress, interruption: Interruption) -> Plan:
    """The best plan so far, of a search that a signal or the time limit has ended.

    Raises
    ------
    KeyboardInterrupt
        If enough signals have come for the command to end at once.
    """
    if interruption.insisted:
        raise KeyboardInterrupt
    interruption.end()
    ending = interruption.ending
    if progress.iterations == 0:
        ending = replace(ending, detail="before the first step")
    return _kept(problem, method, progress, ending, lower_bound=progress.lower_bound)


def _kept(
    problem: HCSSP, method: str, progress: Progress, ending: Ending, lower_bound: float | None = None
) -> Plan:
    """The best plan so far; after a bug the bounds of the search are not trusted."""
    plan = Plan(
        problem=problem,
        found_policy=progress.incumbent,
        proof=Interval(-inf if lower_bound is None else lower_bound),
        ending=ending,
        method=method,
        seconds=progress.seconds,
        iterations=progress.iterations,
        budgets=progress.budgets or {},
    )
    if not plan.found:
        return plan
    evaluated = plan.evaluated()
    # A fault may be that the search took what breaks its bounds for a plan.
    return evaluated if evaluated.keeps_bounds() else Plan(problem, ending=ending, method=method)


_SAVE_BOUNDS_EVERY = 5.0
"""Seconds after which a better lower bound alone is worth a file."""


_SAVE_SEARCH_EVERY, _SAVING_SHARE = 5.0, 20.0
"""The seconds after which the regions of a search are saved, and the least ratio of the time between two
savings to the time that one takes."""


class PlanSaver:
    """Saves the plan whenever there is a better one, so that a killed run loses nothing.

    Parameters
    ----------
    path
        Where to.
    problem, method
        The problem and the method.
    start
        The plan that the solver begins with, if any.
    record
        Where the search writes down its regions, which are saved beside the plan now and then; None if
        the search will not be resumed.

    Raises
    ------
    CannotWrite
        If no file can be written there.
    """

    def __init__(
        self, path: Path, problem: HCSSP, method: str, start: Plan | None, record: SearchRecord | None = None
    ) -> None:
        from hcssp.files.atomic import check_writable
        from hcssp.files.fingerprint import fingerprint
        from hcssp.files.search_file import search_path

        check_writable(path)
        self._path = path
        self._record, self._search_path = record, search_path(path)
        self._next_search = _SAVE_SEARCH_EVERY
        self._problem = problem
        self._method = method
        self._fingerprint = fingerprint(problem)
        self._saved: tuple[float, float, float] = (-inf, -inf, inf)  # seconds, lower and upper bound
        self._warned = ""
        self._trace: list[tuple[float, float, float]] = []
        if start is not None:
            self._trace.append((0.0, start.lower_bound, start.upper_bound))

    def __call__(self, progress: Progress) -> None:
        """Take note of `progress`, and save its plan if it is a better one."""
        began = time.perf_counter()
        point = (progress.seconds, progress.lower_bound, progress.upper_bound)
        if not self._trace or self._trace[-1][1:] != point[1:]:
            self._trace.append(point)
        seconds, lower_bound, upper_bound = self._saved
        better = progress.upper_bound < upper_bound
        proven = progress.lower_bound > lower_bound and progress.seconds >= seconds + _SAVE_BOUNDS_EVERY
        if progress.incumbent is not None and (better or proven):
            self._save(progress)
        if progress.seconds >= self._next_search:
            self._warn(self._save_search())
            spent = time.perf_counter() - began
            self._next_search = progress.seconds + max(_SAVE_SEARCH_EVERY, _SAVING_SHARE * spent)

    def finish(self, plan: Plan) -> CannotWrite | None:
        """Save the plan, if it has a policy, and the search, if it has not ended.

        If that is impossible, say why instead of raising it.
        """
        unsaved = self._save_plan(plan)
        if plan.ending.reason in (Reason.TIME_LIMIT, Reason.INTERRUPTED, Reason.MEMORY):
            return unsaved or self._save_search()
        if self._record is not None:
            self._search_path.unlink(missing_ok=True)
        return unsaved

    def _save_search(self) -> CannotWrite | None:
        from hcssp.files.search_file import save_search

        if self._record is None or len(self._record) == 1:
            # Nothing was split: there is nothing that another run would not find as quickly.
            return None
        try:
            save_search(self._search_path, self._problem, self._record, fingerprint=self._fingerprint)
        except CannotWrite as error:
            return error
        return None

    def _save_plan(self, plan: Plan) -> CannotWrite | None:
        from hcssp.files.plan_file import save_plan

        if not plan.found:
            return None
        try:
            save_plan(self._path, plan, fingerprint=self._fingerprint)
        except CannotWrite as error:
            return error
        return None

    def _save(self, progress: Progress) -> None:
        interval = Interval(min(progress.lower_bound, progress.upper_bound), progress.upper_bound)
        plan = Plan(
            problem=self._problem,
            found_policy=progress.incumbent,
            proof=interval,
            method=self._method,
            trace=Trace(self._trace),
            seconds=progress.seconds,
            iterations=progress.iterations,
            budgets=progress.budgets or {},
        )
        if not self._warn(self._save_plan(plan)):
            self._saved = (progress.seconds, progress.lower_bound, progress.upper_bound)

    def _warn(self, error: CannotWrite | None) -> bool:
        """Print an error once; return whether there is one. The search continues."""
        if error is not None and str(error) != self._warned:
            # A disk that is full now may not be so when the next plan comes.
            print(f"hcssp: warning: {error}; trying again at the next plan", file=sys.stderr)
            self._warned = str(error)
        return error is not None


def where_it_was(
    arguments: argparse.Namespace, problem: HCSSP, tolerances: Tolerances
) -> tuple[HCSSP, Plan | None, SearchRecord]:
    """The problem under the bounds that count, and what an earlier run has left: its plan, its open regions.

    There may be no plan yet. If the regions cannot be read, or are those of a search under other bounds, the
    search starts from the plan alone.
    """
    from hcssp.files.search_file import load_search, search_path

    path, beside = arguments.resume, search_path(arguments.resume)
    # Path.exists raises where a name is too long.
    has_plan, has_search = (exists(each) for each in (path, beside))  # noqa: PTH110
    solved, start = with_bounds(problem, arguments.bound), None
    if has_plan or not has_search:
        solved, start = first_incumbent(arguments, problem, tolerances)
    if not has_search:
        return solved, start, SearchRecord()
    try:
        return solved, start, load_search(beside, solved)
    except InvalidPlan as error:
        if not has_plan:
            raise
        print(f"hcssp: the search beside {path} is left out: {error}", file=sys.stderr)
        return solved, start, SearchRecord()


def first_incumbent(
    arguments: argparse.Namespace, problem: HCSSP, tolerances: Tolerances
) -> tuple[HCSSP, Plan | None]:
    """The problem under the bounds that count, and the plan to resume from if it keeps them.

    Only its policy counts; what its file says was proven is proven again. A plan that breaks the bounds is
    left out, with a message.
    """
    path = arguments.resume
    plan = read_plan(arguments, path, problem, tolerances)
    solved = plan.as_procedure()
    broken = solved.costs.violations(tolerances.feasibility)
    if broken:
        detail = ", ".join(
            f"{each} {solved.cost(each):.6g} of at most {plan.bounds[each]:g}" for each in broken
        )
        print(f"hcssp: the plan {path} breaks the bounds ({detail}); starting without it", file=sys.stderr)
        return solved.problem, None
    return solved.problem, plan


def save_proof(plan: Plan, path: Path) -> tuple[float, float] | None:
    """Write the certificate of a search, for any ending, and return its claim; None if it proves nothing.

    Raises
    ------
    CannotWrite
        If it cannot be written.
    """
    from hcssp.proofs.assembly import claimed_interval

    if plan.ending.reason is Reason.INTERRUPTED and plan.lower_bound == -inf:
        # Nothing was proven, and an interrupted command should not begin to prove it now.
        return None
    plan.save_certificate(path)
    return claimed_interval(plan.certificate)
