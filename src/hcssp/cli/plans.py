"""Plans and certificates of the command line: saved while a solver works, read, and resumed from."""

from __future__ import annotations

import sys
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.session import read_plan, with_bounds

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress
    from hcssp.errors import CannotWrite
    from hcssp.numerics import Tolerances
    from hcssp.procedure import HCSSP
    from hcssp.proofs.search_record import SearchRecord


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
        What is solved, and how.
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
        from hcssp.contract.proof import Reason

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
        from hcssp.contract.proof import Interval, Trace

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
    from os.path import exists

    from hcssp.errors import InvalidPlan
    from hcssp.files.search_file import load_search, search_path
    from hcssp.proofs.search_record import SearchRecord

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
        print(f"hcssp: the plan {path} breaks the bounds ({detail}); beginning without it", file=sys.stderr)
        return solved.problem, None
    return solved.problem, plan


class ProofSaver:
    """Writes the certificate of a search, however it ended.

    Parameters
    ----------
    path
        Where to.

    Attributes
    ----------
    interval
        What the certificate proves; None while there is none.

    Raises
    ------
    CannotWrite
        If no file can be written there.
    """

    def __init__(self, path: Path) -> None:
        from hcssp.files.atomic import check_writable

        check_writable(path)
        self._path = path
        self.interval: tuple[float, float] | None = None
        self._searched, self._policies = -inf, "deterministic"

    def finish(self, plan: Plan) -> None:
        """Make the certificate and write it.

        Raises
        ------
        CannotWrite
            If it cannot be written.
        """
        from hcssp.contract.proof import Reason
        from hcssp.proofs.assembly import claimed_interval

        if plan.ending.reason is Reason.INTERRUPTED and plan.lower_bound == -inf:
            # Nothing was proven, and an interrupted command should not begin to prove it now.
            return
        plan.save_certificate(self._path)
        self.interval = claimed_interval(plan.certificate)
        self._searched, self._policies = plan.lower_bound, plan.policies

    def document(self) -> dict[str, Any] | None:
        """What is written where, for a program; None if nothing is."""
        from hcssp.reports.verdict_text import certificate_document

        return certificate_document(self._path, self.interval)

    def in_words(self, asked: str, problem: HCSSP) -> str:
        """What is written where, and how to check it: `asked` states the problem on a command line."""
        from hcssp.reports.verdict_text import certificate_in_words

        return certificate_in_words(self._path, self.interval, self._searched, asked, problem, self._policies)
