"""Who is compared: our methods, and other tools where they are installed.

A contestant is given a problem and a time limit, and answers with a :class:`Claim`. What it claims is
judged afterwards; the plans of our own methods have been evaluated by code that no solver uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

from hcssp.comparison.measurement import TracePoint
from hcssp.comparison.scikit_decide import run_scikit_decide
from hcssp.comparison.storm import CLOSE, run_storm, run_storm_deterministic
from hcssp.contract.ending import Reason
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap, MaxRuntime
from hcssp.errors import looked_up
from hcssp.numerics import relative_gap
from hcssp.procedure import HCSSP
from hcssp.solving.registry import METHODS, find_method
from hcssp.solving.solve import solve


@dataclass(frozen=True)
class Claim:
    """What a contestant says about a problem; see :class:`~hcssp.comparison.measurement.Measurement`."""

    status: str
    lower_bound: float = -inf
    upper_bound: float = inf
    randomised: float | None = None
    randomised_seconds: float | None = None
    trace: tuple[TracePoint, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Contestant:
    """Somebody who solves problems.

    Attributes
    ----------
    name, description
        What people call it, and what it does in a line.
    prepare
        Given the problem, makes ready whatever is not measured, and answers with the work that is: a function
        of the time limit.
    deterministic
        Whether it looks for the best deterministic plan; else for one that may draw lots.
    tolerance
        The relative error that its values are asked to have.
    """

    name: str
    description: str
    prepare: Callable[[HCSSP], Callable[[float], Claim]]
    deterministic: bool = True
    tolerance: float = 1e-6


def _ours(method: str, problem: HCSSP) -> Callable[[float], Claim]:
    solver = find_method(method).make()

    def work(time_limit: float) -> Claim:
        known: list[float] = []

        def look(progress: Progress) -> None:
            if progress.stochastic is not None and not known:
                known.append(progress.seconds)

        plan = solve(problem, solver, [Gap(find_method(method).gap), MaxRuntime(time_limit)], look)
        status = str(plan.status)
        if method == "lp" and plan.stochastic is not None and plan.status is not Status.INFEASIBLE:
            # Its question is another one: the best plan that may draw lots.
            status = "optimal"
        if method == "milp" and plan.found and plan.ending.reason is Reason.CONVERGED:
            # HiGHS claims so. Its bound is not certified, but its answer is complete.
            status = "optimal"
        found = None if plan.stochastic is None else plan.stochastic.value
        trace = tuple((point.seconds, point.lower_bound, point.upper_bound) for point in plan.trace)
        at = known[0] if known else None
        return Claim(status, plan.lower_bound, plan.upper_bound, found, at, trace, str(plan.ending))

    return work


def _storm(problem: HCSSP) -> Callable[[float], Claim]:
    ask = run_storm(problem)

    def work(time_limit: float) -> Claim:
        value = ask()
        return Claim("infeasible") if value is None else Claim("optimal", randomised=value)

    return work


def _storm_deterministic(problem: HCSSP) -> Callable[[float], Claim]:
    ask = run_storm_deterministic(problem)

    def work(time_limit: float) -> Claim:
        low, high = ask(time_limit)
        if low == inf:
            return Claim("infeasible", inf)
        done = relative_gap(low, high) <= CLOSE
        return Claim("optimal" if done else "feasible" if high < inf else "unknown", low, high)

    return work


def _scikit_decide(problem: HCSSP) -> Callable[[float], Claim]:
    ask = run_scikit_decide(problem)

    def work(time_limit: float) -> Claim:
        value, note = ask()
        return Claim("unknown" if value is None else "optimal", randomised=value, note=note)

    return work


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        *(
            Contestant(method.name, method.description, partial(_ours, method.name), method.name != "lp")
            for method in METHODS.values()
        ),
        Contestant(
            "storm",
            "Storm's multi(...) over plans that may draw lots, to 1e-4",
            _storm,
            deterministic=False,
            tolerance=1e-3,
        ),
        Contestant(
            "storm-deterministic",
            "Storm's multi(...) over deterministic plans, yes or no, with bisection to 1e-3",
            _storm_deterministic,
            tolerance=1e-4,
        ),
        Contestant(
            "scikit-decide",
            "scikit-decide's CIDual over plans that may draw lots; its plan is evaluated here",
            _scikit_decide,
            deterministic=False,
        ),
    )
}
"""By name; our methods first, the default before all."""

PEERS = {"storm": ("storm", "storm-deterministic"), "scikit-decide": ("scikit-decide",)}
"""The other tools, each with the contestants that it sends."""

MODULES = {"storm": "stormpy", "scikit-decide": "skdecide"}
"""What must be installed for each of the other tools."""


def find_contestant(name: str) -> Contestant:
    """The contestant called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    return looked_up("contestant", name, CONTESTANTS)
