"""Plans of the command line: saving them while a solver works, reading them, beginning with one."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.problems import with_bounds

if TYPE_CHECKING:
    from hcssp.contract.progress import Progress
    from hcssp.contract.result import Result, TracePoint
    from hcssp.errors import CannotWrite
    from hcssp.evaluation.hierarchical import HierarchicalEvaluation
    from hcssp.execution import Plan
    from hcssp.procedure import HCSSP
    from hcssp.solving.solve import Known

_SAVE_BOUNDS_EVERY = 5.0
"""Seconds after which a better lower bound alone is worth a file."""


class PlanSaver:
    """Saves the plan whenever there is a better one, so that a killed run loses nothing.

    Parameters
    ----------
    path
        Where to.
    problem, name, method
        What is solved, what the user calls it, and how.
    known
        What is known before the solver begins.

    Raises
    ------
    CannotWrite
        If no file can be written there.
    """

    def __init__(self, path: Path, problem: HCSSP, name: str, method: str, known: Known | None) -> None:
        from hcssp.contract.result import TracePoint
        from hcssp.files.atomic import check_writable
        from hcssp.files.fingerprint import fingerprint
        from hcssp.procedure import Flattening

        check_writable(path)
        self._path = path
        self._problem = problem
        self._name = name
        self._method = method
        self._flattening = Flattening(problem)
        self._fingerprint = fingerprint(problem)
        self._saved: tuple[float, float, float] = (-inf, -inf, inf)  # seconds, lower and upper bound
        self._trace: list[TracePoint] = []
        if known is not None:
            self._trace.append(TracePoint(0.0, min(known.lower_bound, known.cost), known.cost))

    def __call__(self, progress: Progress) -> None:
        """Take note of `progress`, and save its plan if it is a better one."""
        from hcssp.contract.result import TracePoint

        point = TracePoint(progress.seconds, progress.lower_bound, progress.upper_bound)
        if not self._trace or self._trace[-1][1:] != point[1:]:
            self._trace.append(point)
        seconds, lower_bound, upper_bound = self._saved
        better = progress.upper_bound < upper_bound
        proven = progress.lower_bound > lower_bound and progress.seconds >= seconds + _SAVE_BOUNDS_EVERY
        if progress.incumbent is not None and (better or proven):
            self._save(progress)

    def finish(self, result: Result) -> CannotWrite | None:
        """Save the plan of `result`, if it has one; if that is impossible, say why instead of raising it."""
        from hcssp.errors import CannotWrite
        from hcssp.execution import Plan
        from hcssp.files.plan_file import save_plan

        if result.found_policy is None:
            return None
        plan = Plan.from_result(self._problem, result, self._name, self._method)
        try:
            save_plan(self._path, plan, fingerprint=self._fingerprint)
        except CannotWrite as error:
            return error
        return None

    def _save(self, progress: Progress) -> None:
        from hcssp.errors import CannotWrite
        from hcssp.execution import Plan
        from hcssp.files.plan_file import save_plan
        from hcssp.procedure import HierarchicalPolicy

        if progress.incumbent is None:
            return
        plan = Plan(
            problem=self._problem,
            policy=HierarchicalPolicy.from_flat(self._flattening, progress.incumbent),
            name=self._name,
            method=self._method,
            lower_bound=min(progress.lower_bound, progress.upper_bound),
            upper_bound=progress.upper_bound,
            trace=tuple(self._trace),
            seconds=progress.seconds,
            budgets=progress.details if isinstance(progress.details, dict) else {},
        )
        try:
            save_plan(self._path, plan, fingerprint=self._fingerprint)
        except CannotWrite as error:
            # A disk that is full now may not be so when the next plan comes; the search goes on.
            print(f"hcssp: warning: {error}", file=sys.stderr)
            return
        self._saved = (progress.seconds, progress.lower_bound, progress.upper_bound)


def read_plan(
    path: Path, problem: HCSSP, bounds: list[tuple[str, float]]
) -> tuple[Plan, HierarchicalEvaluation]:
    """A saved plan under its own bounds, or those given instead, and its exact evaluation.

    Raises
    ------
    InvalidPlan
        If it is no plan for `problem`, or does not reach the end.
    """
    from hcssp.errors import ImproperPolicy, InvalidPlan
    from hcssp.files.plan_file import load_plan

    plan = load_plan(path, problem)
    plan = plan.under(with_bounds(plan.problem, bounds))
    try:
        return plan, plan.evaluate()
    except ImproperPolicy as error:
        raise InvalidPlan([f"{path}: {error}"]) from error


def first_incumbent(
    path: Path, problem: HCSSP, bounds: list[tuple[str, float]]
) -> tuple[HCSSP, Known | None]:
    """The problem under the bounds of a saved plan, or those given instead, and what the plan is worth there.

    A plan that breaks the bounds is worth nothing; the user is told.
    """
    from hcssp.solving.solve import Known

    plan, evaluation = read_plan(path, problem, bounds)
    broken = evaluation.violations()
    if broken:
        told = ", ".join(
            f"{name} {evaluation.cost(name):.6g} of at most {plan.bounds[name]:g}" for name in broken
        )
        print(f"hcssp: the plan {path} breaks the bounds ({told}); beginning without it", file=sys.stderr)
        return plan.problem, None
    known = Known(
        rows=plan.flat_rows,
        cost=float(evaluation.costs[0]),
        # Put under other bounds, a plan has forgotten its lower bound.
        lower_bound=plan.lower_bound,
        details=dict(plan.budgets) or None,
    )
    return plan.problem, known
