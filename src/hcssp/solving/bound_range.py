"""The bounds that are worth asking about: from the least that can be kept to the most that is ever of use."""

from __future__ import annotations

from math import ceil, floor, inf, log10

import numpy as np

from hcssp.contract.memory import Memory, Problem
from hcssp.contract.stop import Gap, MaxRuntime
from hcssp.cssp.implicit import refuse_implicit
from hcssp.deadline import seconds_left
from hcssp.dual.ascent import maximise
from hcssp.errors import InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.procedure.dead_ends import explaining_dead_ends
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.single import refuse_parts
from hcssp.solving.solve import solve
from hcssp.ssp.region import Region

CLOSE_ENOUGH = 1e-3
"""The relative gap of the plan whose use ends the range."""

MOST_SECONDS, SHARE_OF_TIME = 10.0, 0.25
"""That plan is looked for no longer than so many seconds, and this share of the time that there is."""


def bound_range(problem: Problem, constraint: str) -> tuple[float, float]:
    """The least that some plan can keep to, and what the best plan uses if it need not keep to anything.

    Below the first there is no plan, above the second nothing changes, to a thousandth. The other bounds are
    kept in the second. Where they bind, the best plan may use more than those that draw lots would; it is
    searched for, as long as that takes no more than a share of the time that there is.

    >>> from hcssp.scenarios import small_building
    >>> [round(bound, 4) for bound in bound_range(small_building(), "damage")]
    [0.0, 13.5259]

    Parameters
    ----------
    problem
        A problem with constraints.
    constraint
        The name of the one whose bound is to vary.

    Raises
    ------
    InvalidProblem
        If there is no such constraint, or no plan keeps the other bounds.
    """
    index = constraint_index(problem, constraint)
    if isinstance(problem, HCSSP) and problem.constraints[index].per is not None:
        return _limit_range(problem, constraint)
    memory = Memory()
    with explaining_dead_ends(problem):
        oracle = memory.oracle(problem)
    bounds = oracle.asked_bounds.copy()
    bounds[index] = inf
    free = oracle.under(bounds)
    weights = np.zeros(1 + len(bounds))
    weights[1 + index] = 1.0
    least = free.minimise(weights, Region())
    dual = maximise(free, Region())
    if least is None or dual.infeasible or not dual.support:
        raise InvalidProblem([f"no plan keeps the other bounds, whatever {constraint!r} may be; relax them"])
    used = float(dual.mixture @ np.array([vertex.costs[1 + index] for vertex in dual.support]))
    low = float(least.vertex.costs[1 + index])
    if len(dual.support) > 1:
        seconds = min(MOST_SECONDS, SHARE_OF_TIME * seconds_left())
        stop = (Gap(CLOSE_ENOUGH), MaxRuntime(max(seconds, 0.0)))
        best = solve(problem.with_bounds({constraint: inf}), stop=stop, memory=memory)
        used = max(used, best.cost(constraint)) if best.found else used
    return low, max(low, used)


def constraint_index(problem: Problem, constraint: str) -> int:
    """Which of the problem's constraints has that name.

    Raises
    ------
    InvalidProblem
        If none has; the message lists them.
    UnsupportedProblem
        If not all states of the problem are known, and so no curve is.
    """
    refuse_implicit(problem, "a curve")
    refuse_parts(problem)
    names = problem.constraint_names
    if constraint not in names:
        known = ", ".join(repr(name) for name in names) or "none"
        raise InvalidProblem([f"there is no constraint {constraint!r}; the constraints are {known}"])
    return names.index(constraint)


def _limit_range(problem: HCSSP, constraint: str) -> tuple[float, float]:
    """Of a limit for each execution: from nothing to what the best plans without it cost each time."""
    free = problem.with_bounds({constraint: inf})
    with explaining_dead_ends(free):
        oracle = Memory().oracle(free)
    dual = maximise(oracle, Region())
    if dual.infeasible or not dual.support:
        raise InvalidProblem([f"no plan keeps the other bounds, whatever {constraint!r} may be; relax them"])
    most = 0.0
    for vertex in dual.support:
        found = evaluate(free, ProcedurePolicy(free, oracle.lift(vertex)))
        each = next((own.usage_per_execution for own in found.limits if own.name == constraint), None)
        most = max(most, 0.0 if each is None else each)
    per = free.constraints[free.constraint_names.index(constraint)].per
    return 0.0, most * (1.0 if per is None else per.most_executions)


def rounded_range(low: float, high: float) -> tuple[float, float]:
    """The same in figures that people like, at most a hundredth of the range away at each end.

    >>> rounded_range(0.00572700587, 0.0590479484), rounded_range(2.2e-16, 13.52594), rounded_range(2.5, 2.5)
    ((0.0058, 0.0591), (0.0, 13.6), (2.5, 2.5))
    """
    if not high > low:
        return low, high
    digits = 2 - floor(log10(high - low))
    unit = 10.0**-digits
    # What is above a round figure by rounding alone is meant to be it.
    return round(ceil(low / unit - 1e-6) * unit, digits), round(ceil(high / unit - 1e-6) * unit, digits)
