"""Plans of the command line: saving them while a solver works, reading them, beginning with one."""

from __future__ import annotations

import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.problems import with_bounds

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress
    from hcssp.errors import CannotWrite
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord

_SAVE_BOUNDS_EVERY = 5.0
"""Seconds after which a better lower bound alone is worth a file."""

_SAVE_SEARCH_EVERY, _SAVING_SHARE = 5.0, 20.0
"""The regions of a search are saved after so many seconds, and so many times as many as that takes."""


class PlanSaver:
    """Saves the plan whenever there is a better one, so that a killed run loses nothing.

    Parameters
    ----------
    path
        Where to.
    problem, method
        What is solved, and how.
    start
        The plan that the solver begins with, if any.
    record
        Where the search writes down its regions, which are saved beside the plan, now and then; None if
        nobody is to go on with them.

    Raises
    ------
    CannotWrite
        If no file can be written there.
    """

    def __init__(
        self,
        path: Path,
        problem: HCSSP,
        method: str,
        start: Plan | None,
        record: SearchRecord | None = None,
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
        from hcssp.contract.ending import Reason

        unsaved = self._save_plan(plan)
        if plan.ending.reason in (Reason.TIME_LIMIT, Reason.INTERRUPTED, Reason.MEMORY):
            return unsaved or self._save_search()
        if self._record is not None:
            self._search_path.unlink(missing_ok=True)
        return unsaved

    def _save_search(self) -> CannotWrite | None:
        from hcssp.errors import CannotWrite
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
        from hcssp.errors import CannotWrite
        from hcssp.files.plan_file import save_plan

        if not plan.found:
            return None
        try:
            save_plan(self._path, plan, fingerprint=self._fingerprint)
        except CannotWrite as error:
            return error
        return None

    def _save(self, progress: Progress) -> None:
        from hcssp.contract.plan import Plan
        from hcssp.contract.proof import Interval
        from hcssp.contract.trace import Trace

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
        """Tell an error once; whether there is one. The search goes on."""
        if error is not None and str(error) != self._warned:
            # A disk that is full now may not be so when the next plan comes.
            print(f"hcssp: warning: {error}; trying again at the next plan", file=sys.stderr)
            self._warned = str(error)
        return error is not None


def read_plan(
    path: Path, problem: HCSSP, bounds: list[tuple[str, float]], tolerances: Tolerances | None = None
) -> tuple[Plan, Plan]:
    """A saved plan as its file tells it, and evaluated under its own bounds, or those given instead.

    Raises
    ------
    InvalidPlan
        If it is no plan for `problem`, or does not reach the end.
    """
    from dataclasses import replace

    from hcssp.errors import ImproperPolicy, InvalidPlan
    from hcssp.files.plan_file import load_plan

    told = load_plan(path, problem)
    plan = told.under(with_bounds(problem.with_bounds(told.bounds), bounds))
    plan = plan if tolerances is None else replace(plan, tolerances=tolerances)
    try:
        return told, plan.evaluated()
    except ImproperPolicy as error:
        raise InvalidPlan([f"{path}: {error}"]) from error


def verified(plan: Plan, certificate: Path | None, exact: bool) -> Plan | None:
    """The plan with what a certificate proves of it, if one is given; None, with a message, if it does not.

    Raises
    ------
    InvalidCertificate
        If it is no certificate for this plan.
    """
    from hcssp.errors import NotProven

    if certificate is None:
        return plan
    try:
        return plan.verified(certificate, exact=exact)
    except NotProven as error:
        print(f"hcssp: not verified: {error}", file=sys.stderr)
        return None


def where_it_was(
    path: Path, problem: HCSSP, bounds: list[tuple[str, float]], tolerances: Tolerances
) -> tuple[HCSSP, Plan | None, SearchRecord]:
    """What a run that has ended, or was killed, has left: its bounds, its plan and its open regions.

    There may be no plan yet; and the regions are of use under the same bounds only. If they cannot be read,
    the plan is gone on with alone.
    """
    from hcssp.errors import InvalidPlan
    from hcssp.files.search_file import load_search, search_path
    from hcssp.proofs.search_record import SearchRecord

    beside = search_path(path)
    if not beside.exists():
        return *first_incumbent(path, problem, bounds, tolerances), SearchRecord()
    try:
        searched, record = load_search(beside, problem)
    except InvalidPlan as error:
        if not path.exists():
            raise
        print(f"hcssp: the search beside {path} is left out: {error}", file=sys.stderr)
        return *first_incumbent(path, problem, bounds, tolerances), SearchRecord()
    if path.exists():
        solved, start = first_incumbent(path, problem, bounds, tolerances)
    else:
        solved, start = with_bounds(searched, bounds), None
    if solved.bounds.tolist() != searched.bounds.tolist():
        return solved, start, SearchRecord()
    return solved, start, record


def first_incumbent(
    path: Path, problem: HCSSP, bounds: list[tuple[str, float]], tolerances: Tolerances
) -> tuple[HCSSP, Plan | None]:
    """The problem under the bounds of a saved plan, or those given instead, and the plan if it keeps them.

    Only its policy counts; what its file says was proven is proven again. A plan that breaks the bounds is
    worth nothing; the user is told.
    """
    _, plan = read_plan(path, problem, bounds, tolerances)
    solved = plan.as_procedure()
    broken = solved.costs.violations(tolerances.feasibility)
    if broken:
        told = ", ".join(
            f"{each} {solved.cost(each):.6g} of at most {plan.bounds[each]:g}" for each in broken
        )
        print(f"hcssp: the plan {path} breaks the bounds ({told}); beginning without it", file=sys.stderr)
        return solved.problem, None
    return solved.problem, plan
