"""``solve``: run any solver until a stop criterion holds, and check what it claims.

The solver is a generator of progress. This function consumes it, keeps the trace, turns Ctrl-C into an
ordinary stop, evaluates the incumbent by code that shares nothing with the solver, and freezes the result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Protocol

import numpy as np

from hcssp.contract.progress import Progress
from hcssp.contract.result import Result, Status, TracePoint
from hcssp.contract.stop import StopCriterion, first_reason
from hcssp.cssp.model import CSSP, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import Infeasibility
from hcssp.errors import InvalidPlan
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.hierarchical import evaluate_hierarchical
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import HierarchicalPolicy

logger = logging.getLogger(__name__)

Problem = CSSP | HCSSP


class Solver(Protocol):
    """A solver is its parameters; it works by telling its progress."""

    @property
    def name(self) -> str:
        """What the command line calls it."""

    def iterate(self, problem: Any) -> Iterator[Progress]:
        """Work on `problem`, yielding progress whose bounds hold at every instant."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known before a solver begins, from an earlier run.

    Attributes
    ----------
    rows
        A policy that keeps the bounds, one row for each (flat) state.
    cost
        Its exact expected cost.
    lower_bound
        A lower bound on the optimum under the same bounds.
    details
        What the earlier method told besides.
    """

    rows: IntArray
    cost: float
    lower_bound: float = -inf
    details: Any = None


class UnsoundResult(RuntimeError):
    """A solver's claim does not survive the independent evaluation: a bug, never a user's mistake."""


@dataclass
class _Record:
    """What has been proven so far; it only tightens."""

    progress: Progress = field(default_factory=Progress)
    trace: list[TracePoint] = field(default_factory=list)
    known: Known | None = None

    def __post_init__(self) -> None:
        if self.known is not None:
            self.progress = Progress(
                lower_bound=min(self.known.lower_bound, self.known.cost),
                upper_bound=self.known.cost,
                incumbent=self.known.rows,
                details=self.known.details,
            )
            self.trace.append(TracePoint(0.0, self.progress.lower_bound, self.progress.upper_bound))

    def add(self, step: Progress) -> None:
        last = self.progress
        better = step.upper_bound < last.upper_bound
        # The details of a solver's own incumbent say nothing about a better one that it was given.
        kept = self.known is not None and last.incumbent is self.known.rows
        self.progress = replace(
            step,
            lower_bound=max(step.lower_bound, last.lower_bound),
            upper_bound=min(step.upper_bound, last.upper_bound),
            incumbent=step.incumbent if better else last.incumbent,
            details=step.details if better or (step.details is not None and not kept) else last.details,
            prices=step.prices if step.prices is not None else last.prices,
            stochastic=step.stochastic or last.stochastic,
            infeasibility=step.infeasibility or last.infeasibility,
        )
        point = TracePoint(step.seconds, self.progress.lower_bound, self.progress.upper_bound)
        if not self.trace or self.trace[-1][1:] != point[1:]:
            self.trace.append(point)


def solve(
    problem: Problem,
    solver: Solver,
    stop: Iterable[StopCriterion] = (),
    on_progress: Callable[[Progress], None] | None = None,
    known: Known | None = None,
) -> Result:
    """Solve `problem` until a criterion of `stop` holds or the solver has nothing left to do.

    Parameters
    ----------
    problem
        A C-SSP or an HC-SSP.
    solver
        Its parameters, such as ``PolicyBranching()``.
    stop
        Criteria; the first that holds gives the reason. None: run to the proof.
    on_progress
        Called with every snapshot.
    known
        The first incumbent, and perhaps a lower bound, from an earlier run.

    Returns
    -------
    Result
        What is proven, and the best policy with its independent evaluation. Ctrl-C returns the incumbent.
    """
    criteria = tuple(stop)
    record = _Record(known=known)
    reason = None if known is None else first_reason(criteria, record.progress)
    steps = solver.iterate(problem) if reason is None else iter(())
    try:
        for step in steps:
            record.add(step)
            if on_progress is not None:
                on_progress(record.progress)
            found = step.finished or first_reason(criteria, record.progress)
            if found is not None:
                reason = found
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()
    return _conclude(problem, record, reason or "exhausted")


def _conclude(problem: Problem, record: _Record, reason: str) -> Result:
    progress = record.progress
    names = constraint_names(problem)
    policy, evaluation, upper_bound = None, None, inf
    if progress.incumbent is not None:
        policy, evaluation = evaluate_rows(problem, progress.incumbent)
        upper_bound = float(evaluation.costs[0])
        _check(evaluation, upper_bound, progress, record.known)
    lower_bound = min(progress.lower_bound, upper_bound) if policy is not None else progress.lower_bound
    infeasible = reason == "infeasible"
    if policy is not None:
        gap = relative_gap(lower_bound, upper_bound)
        status = Status.OPTIMAL if gap <= OPTIMALITY_TOLERANCE else Status.FEASIBLE
    else:
        status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
    message = ""
    if infeasible:
        message = explain(names, progress.infeasibility)
    elif policy is None:
        message = f"no feasible policy was found before the stop ({reason}); one may still exist"
    prices = None
    if progress.prices is not None:
        prices = {name: float(price) for name, price in zip(names, progress.prices, strict=True)}
    return Result(
        status=status,
        stopped_by=reason,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        trace=tuple(record.trace),
        prices=prices,
        evaluation=evaluation,
        stochastic=progress.stochastic,
        infeasibility=progress.infeasibility,
        message=message,
        seconds=progress.seconds,
        iterations=progress.iterations,
        found_policy=policy,
        details=progress.details,
    )


def constraint_names(problem: Problem) -> tuple[str, ...]:
    """The names of the problem's constraints, in order."""
    if isinstance(problem, HCSSP):
        return tuple(constraint.name for constraint in problem.constraints)
    return problem.cost_names[1:]


def explain(names: tuple[str, ...], proof: Infeasibility | None) -> str:
    """Why nothing is feasible, for people, with the least achievable value of the offending cost."""
    if proof is None:
        return "no deterministic policy keeps the bounds (proved by search)"
    used = np.flatnonzero(proof.weights > 0.0)
    if len(used) == 1:
        name, weight = names[used[0]], proof.weights[used[0]]
        # The proof allows for rounding and may fall a hair below zero, which no expected cost can.
        least = max(0.0, proof.least / weight)
        return (
            f"no policy keeps the bound on {name!r}: the least achievable {name} is {least:.9g}, "
            f"above the bound {proof.allowed / weight:.9g}; raise the bound"
        )
    terms = " + ".join(f"{proof.weights[k]:.6g} * {names[k]}" for k in used)
    return (
        f"no policy keeps the bounds together: the least achievable {terms} is {proof.least:.9g}, "
        f"above what the bounds allow, {proof.allowed:.9g}; raise one of them"
    )


def evaluate_rows(problem: Problem, incumbent: IntArray) -> tuple[Any, Any]:
    """The policy that takes these rows, one for each (flat) state, and its independent evaluation."""
    if isinstance(problem, HCSSP):
        policy = HierarchicalPolicy.from_flat(Flattening(problem), incumbent)
        return policy, evaluate_hierarchical(problem, policy)
    flat = DeterministicPolicy(incumbent)
    return flat, evaluate(problem, flat)


def _check(evaluation: Any, cost: float, progress: Progress, known: Known | None) -> None:
    """A policy that breaks its budget, or a bound that is not one, is the worst bug we can have."""
    if not evaluation.keeps_bounds():
        raise UnsoundResult(f"the policy breaks its bounds: {evaluation.violations()}")
    scale = 1.0 + abs(cost)
    if abs(cost - progress.upper_bound) > 1e-7 * scale:
        raise UnsoundResult(f"the policy costs {cost}, not {progress.upper_bound} as the solver says")
    if progress.lower_bound > cost + 1e-7 * scale:
        if known is not None and known.lower_bound >= progress.lower_bound:
            raise InvalidPlan(
                [
                    f"the plan's lower bound {known.lower_bound} is not true: a plan of cost {cost} keeps "
                    "the same bounds; begin without it"
                ]
            )
        raise UnsoundResult(
            f"the lower bound {progress.lower_bound} is above a feasible policy's cost {cost}"
        )
