r"""The dual of a problem as a picture: what every policy costs over the multiplier of one bound.

A policy with expected cost :math:`f` and use :math:`g` of a budget :math:`\Delta` is the line
:math:`L(\lambda) = f + \lambda (g - \Delta)`: it falls if the policy keeps the bound, and rises if it does
not. The least of all lines is concave, and its maximum, at :math:`\lambda^*`, is a lower bound on what a
feasible policy costs. Stage 1 of the anytime algorithm finds it; stage 2 goes up from there, through
:math:`\pi^1, \pi^2, \dots` in the order of their lines at :math:`\lambda^*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcssp.contract.solver import Problem
from hcssp.display import Picture
from hcssp.dual.ascent import maximise
from hcssp.dual.flat import FlatOracle
from hcssp.errors import InvalidOption, UnknownName
from hcssp.methods.anytime import next_best, stage_two
from hcssp.numerics import may_be_feasible
from hcssp.ssp.scalar_problem import Region
from hcssp.threads import single_threaded_algebra


class PolicyLine(NamedTuple):
    """A policy over the multiplier of one bound.

    Attributes
    ----------
    cost
        What it costs, where other bounds have a price what it costs with that.
    use
        Its use of the budget.
    feasible
        Whether it keeps all bounds.
    rank
        Which policy of stage 2 it is, 1 for the best at the multiplier of the dual; None for one that stage 1
        met on its way.
    """

    cost: float
    use: float
    feasible: bool
    rank: int | None

    def at(self, price: float, bound: float) -> float:
        """The value of the line at a multiplier."""
        return self.cost + price * (self.use - bound)


@dataclass(frozen=True)
class Lagrangian(Picture):
    """The policies that the anytime algorithm meets, as lines over the multiplier of one bound.

    Attributes
    ----------
    cost_name, constraint
        The primary cost, and the constraint whose multiplier varies.
    bound
        Its bound.
    price
        The multiplier that maximises the dual.
    lines
        The policies, those of stage 2 first.
    dual, lower_bound, upper_bound
        The maximum of the dual, the lower bound after stage 2, and the cost of the best feasible policy met.
    """

    cost_name: str
    constraint: str
    bound: float
    price: float
    lines: tuple[PolicyLine, ...]
    dual: float
    lower_bound: float
    upper_bound: float

    def __repr__(self) -> str:
        return (
            f"<Lagrangian: {len(self.lines)} policies over the price of {self.constraint}, "
            f"dual {self.dual:.6g} at {self.price:.6g}>"
        )


def lagrangian(problem: Problem, constraint: str | None = None, iterations: int = 3) -> Lagrangian:
    """The lines of the policies that the anytime algorithm meets.

    Parameters
    ----------
    problem
        A C-SSP, such as that of one activity with bounds of its own, or a procedure.
    constraint
        Whose multiplier varies; by default the first with a finite bound. The others keep their price.
    iterations
        Of stage 2.

    Raises
    ------
    InvalidOption
        If no bound is finite, or the bounds cannot be kept.
    UnknownName
        If there is no such constraint.
    """
    flat = problem.flat
    names = [
        name for name, at_most in zip(flat.constraint_names, flat.bounds, strict=True) if at_most < np.inf
    ]
    if not names:
        raise InvalidOption("the picture needs a bound, and the problem has none; give one, such as damage=2")
    if constraint is not None and constraint not in names:
        raise UnknownName("constraint with a bound", constraint, names)
    name = constraint or names[0]
    index = list(flat.constraint_names).index(name)
    with single_threaded_algebra():
        oracle = FlatOracle(flat)
        dual = maximise(oracle, Region())
        if dual.infeasible:
            raise InvalidOption("nothing keeps the bounds, so that the dual has no maximum; raise a bound")
        steps = list(
            stage_two(next_best(oracle, np.append(1.0, dual.prices)), dual.prices, oracle.bounds, iterations)
        )
    ranked = [step.policy for step in steps if step.policy is not None]
    others = np.where(np.arange(len(dual.prices)) == index, 0.0, dual.prices)
    bounded = np.where(np.isfinite(flat.bounds), flat.bounds, 0.0)
    lines: list[PolicyLine] = []
    for rank, point in [*enumerate(ranked, 1), *((None, point) for point in dual.points)]:
        cost = float(point.costs[0] + others @ (point.costs[1:] - bounded))
        line = PolicyLine(
            cost, float(point.costs[1 + index]), may_be_feasible(point.costs, flat.bounds), rank
        )
        if all((line.cost, line.use) != (known.cost, known.use) for known in lines):
            lines.append(line)
    met = [point.costs[0] for point in (*ranked, *dual.points) if may_be_feasible(point.costs, flat.bounds)]
    upper_bound = float(min(met, default=np.inf))
    return Lagrangian(
        cost_name=flat.cost_names[0],
        constraint=name,
        bound=float(flat.bounds[index]),
        price=float(dual.prices[index]),
        lines=tuple(lines),
        dual=dual.bound,
        lower_bound=min(max(dual.bound, *(step.bound for step in steps)), upper_bound),
        upper_bound=upper_bound,
    )
