r"""The dual of a problem as a picture: the Lagrangian values of policies over the multiplier of one bound.

A policy with expected cost :math:`f` and use :math:`g` of a budget :math:`\Delta` is the line
:math:`L(\lambda) = f + \lambda (g - \Delta)`: it falls if the policy keeps the bound, and rises if it does
not. The least of all lines is concave, and its maximum, at :math:`\lambda^*`, is a lower bound on what a
feasible policy costs. Stage 1 of the anytime algorithm finds it; stage 2 goes up from there, through
:math:`\pi^1, \pi^2, \dots` in the order of their lines at :math:`\lambda^*`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Problem
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.deadline import OutOfTime, until
from hcssp.display import Picture
from hcssp.errors import InvalidOption, UnknownName
from hcssp.methods.anytime import Anytime
from hcssp.numerics import may_be_feasible
from hcssp.procedure.model import HCSSP, refuse_choices_per_event
from hcssp.threads import single_threaded_algebra


class PolicyLine(NamedTuple):
    """A policy over the multiplier of one bound.

    Attributes
    ----------
    cost
        Its cost, including the prices of other bounds.
    use
        Its use of the budget.
    feasible
        Whether it keeps all bounds.
    rank
        Which policy of stage 2 it is, 1 for the best at the multiplier of the dual; None for one that only
        stage 1 met on its way.
    """

    cost: float
    use: float
    feasible: bool
    rank: int | None

    def at(self, price: float, bound: float) -> float:
        """The value of the line at a multiplier."""
        return self.cost + price * (self.use - bound)


class LagrangianStep(NamedTuple):
    """A step of the anytime algorithm.

    Attributes
    ----------
    line
        The line of the policy that was met.
    rank
        Which policy of stage 2 it is; None in stage 1.
    price
        The multiplier of the best dual value so far.
    lower_bound, upper_bound
        The proven lower bound at this step.
    """

    line: int
    rank: int | None
    price: float
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class Lagrangian(Picture):
    """The policies that the anytime algorithm meets, as lines over the multiplier of one bound.

    Attributes
    ----------
    name
        Of the problem, or of the activity.
    cost_name, constraint
        The primary cost, and the constraint whose multiplier varies.
    bound
        Its bound.
    lines
        The policies, in the order in which they were met.
    steps
        How the algorithm went on: stage 1, then stage 2.
    dual
        The maximum of the dual.
    """

    name: str
    cost_name: str
    constraint: str
    bound: float
    lines: tuple[PolicyLine, ...]
    steps: tuple[LagrangianStep, ...]
    dual: float

    @property
    def price(self) -> float:
        """The multiplier that maximises the dual."""
        return self.steps[-1].price

    @property
    def lower_bound(self) -> float:
        """The lower bound after the last step."""
        return self.steps[-1].lower_bound

    @property
    def upper_bound(self) -> float:
        """The cost of the best feasible policy met."""
        return self.steps[-1].upper_bound

    def __repr__(self) -> str:
        return (
            f"<Lagrangian: {len(self.lines)} policies over the price of {self.constraint}, "
            f"dual {self.dual:.6g} at {self.price:.6g}>"
        )


def lagrangian(
    problem: Problem,
    constraint: str | None = None,
    iterations: int = 8,
    *,
    activity: str | None = None,
    budget: float | Plan | None = None,
    time_limit: float | None = None,
) -> Lagrangian:
    """The lines of the policies that the anytime algorithm meets.

    Parameters
    ----------
    problem
        A C-SSP or a procedure.
    constraint
        Whose multiplier varies; by default the one whose bound costs most at its price, and for an activity
        the first with a finite bound. The others keep their price.
    iterations
        Of stage 2.
    activity, budget
        One activity of a procedure, by name, and what an execution of it may use, or a plan in which it has a
        budget: what was allocated to it, or else what it uses. The other bounds are free.
    time_limit
        Seconds after which the algorithm is stopped.

    Raises
    ------
    InvalidOption
        If no bound is finite, or the bounds cannot be kept, or the activity has no budget of its own, or no
        policy was met in time.
    UnknownName
        If there is no such constraint or activity.
    UnsupportedProblem
        If the problem asks for one choice per event.
    """
    refuse_choices_per_event(problem, "a picture of the Lagrangian")
    bounded = [
        name for name, at_most in zip(problem.constraint_names, problem.bounds, strict=True) if at_most < inf
    ]
    if not bounded:
        raise InvalidOption("the picture needs a bound, and the problem has none; give one, such as damage=2")
    if constraint is not None and constraint not in bounded:
        raise UnknownName("constraint with a bound", constraint, bounded)
    name = constraint or bounded[0]
    index, shown = problem.constraint_names.index(name), problem
    if activity is not None:
        shown, index = _under_budget(problem, activity, name, budget)
    deadline = inf if time_limit is None else time.perf_counter() + time_limit
    trace = copy_context().run(_trace, shown, iterations, deadline)
    if trace and trace[-1].infeasible is not None:
        raise InvalidOption("nothing keeps the bounds, so that the dual has no maximum; raise a bound")
    prices = trace[-1].prices if trace else None
    if prices is None or all(step.met is None for step in trace):
        raise InvalidOption(f"time_limit={time_limit}: no policy was met in this time; give more")
    allowed = np.where(np.isfinite(shown.bounds), shown.bounds, 0.0)
    if constraint is None and activity is None and np.any(prices * allowed > 0.0):
        index = int(np.argmax(prices * allowed))
        name = problem.constraint_names[index]
    others = np.where(np.arange(len(prices)) == index, 0.0, prices)
    lines: dict[tuple[float, float], PolicyLine] = {}
    steps: list[LagrangianStep] = []
    for step, costs, rank in _met(trace):
        place = float(costs[0] + others @ (costs[1:] - allowed)), float(costs[1 + index])
        line = lines.setdefault(place, PolicyLine(*place, may_be_feasible(costs, shown.bounds), None))
        if line.rank is None:
            lines[place] = line._replace(rank=rank)
        price = 0.0 if step.prices is None else float(step.prices[index])
        where = list(lines).index(place)
        steps.append(LagrangianStep(where, rank, price, step.lower_bound, step.upper_bound))
    return Lagrangian(
        name=activity or (problem.name if isinstance(problem, HCSSP) else ""),
        cost_name=shown.cost_names[0],
        constraint=name,
        bound=float(shown.bounds[index]),
        lines=tuple(lines.values()),
        steps=tuple(steps),
        dual=max(step.lower_bound for step in trace if step.iterations == 0),
    )


def _trace(problem: Problem, iterations: int, deadline: float) -> list[Progress]:
    """The snapshots of the anytime algorithm until a deadline."""
    trace: list[Progress] = []
    try:
        with single_threaded_algebra(), until(deadline):
            # What was appended before time ran out stays.
            trace.extend(Anytime(iterations).iterate(problem))
    except OutOfTime:
        pass
    return trace


def _met(trace: list[Progress]) -> Iterator[tuple[Progress, FloatArray, int | None]]:
    """The snapshots in which a policy was met, with its costs and its rank."""
    for step in trace:
        if step.met is not None:
            yield step, *step.met


def _under_budget(
    problem: Problem, activity: str, constraint: str, budget: float | Plan | None
) -> tuple[CSSP, int]:
    """An activity under a limit on the cost that the constraint counts, and the position of that limit."""
    if not isinstance(problem, HCSSP) or not problem.flattening.separable:
        raise InvalidOption(f"activity={activity!r}: exits tie it to others; leave it out")
    number = problem.activity_index(activity)
    counts = problem.constraints[problem.constraint_names.index(constraint)].counts
    if number not in counts or budget is None:
        raise InvalidOption(f"activity={activity!r}: give a budget, and a constraint that counts it")
    cssp, cost = problem.activities[number].cssp, counts[number] - 1
    bounds = np.full(len(cssp.bounds), inf)
    bounds[cost] = _budget_of(budget, activity, constraint) if isinstance(budget, Plan) else budget
    return cssp.derive(bounds=bounds), cost


def _budget_of(plan: Plan, activity: str, constraint: str) -> float:
    """The budget of one execution of an activity, or else its use."""
    allocated = plan.budgets.get(activity, {}).get(constraint)
    if allocated is not None:
        return allocated
    shares = plan.as_procedure().costs.activities
    used = next(each for each in shares if each.name == activity).usage_per_execution
    return 0.0 if used is None else used[constraint]
