"""A point of the trade-off curve: what is proven under one bound, when that is enough, and how it is told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import inf, isfinite

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible, Interval
from hcssp.dual.ascent import Infeasibility
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import relative_gap


@dataclass(frozen=True)
class CurvePoint:
    """The optimum at one bound.

    Attributes
    ----------
    bound
        The bound on the constraint.
    plan
        What is proven under that bound, and the best deterministic policy found, if any.
    stochastic
        The optimum over randomised policies, or a bound below which none is where :attr:`TradeOff.exact` is
        False; ``inf`` if no randomised policy keeps the bounds. It may be finite where no deterministic one
        does.
    price
        What one more unit of the bound saves there; None if no randomised policy keeps the bounds.
    """

    bound: float
    plan: Plan = field(repr=False)
    stochastic: float
    price: float | None

    @property
    def lower_bound(self) -> float:
        return self.plan.lower_bound

    @property
    def upper_bound(self) -> float:
        return self.plan.upper_bound

    @property
    def gap(self) -> float:
        """The relative gap of the interval, ``inf`` while there is no policy."""
        return self.plan.gap


def finished_point(
    constraint: str, bound: float, plan: Plan, value: float, price: float | None
) -> CurvePoint:
    """The point that a search has found, with what the stochastic curve proves there."""
    plan = at_least(plan, value)
    if isinstance(plan.proof, Infeasible):
        # Only weights prove that randomised policies fail, too; a search says so of deterministic ones alone.
        is_known = plan.proof.weights is None and plan.proof.ends and value > -inf
        return CurvePoint(bound, plan, value, price) if is_known else CurvePoint(bound, plan, inf, None)
    if price is not None:
        plan = replace(plan, prices={**(plan.prices or {}), constraint: price})
    return CurvePoint(bound, plan, value, price)


def raised(point: CurvePoint, lower_bound: float) -> CurvePoint:
    """A point whose lower bound is at least that of a larger bound."""
    if point.lower_bound >= lower_bound or isinstance(point.plan.proof, Infeasible):
        return point
    return replace(point, plan=at_least(point.plan, lower_bound))


def unkept(problem: Problem, constraint: str, bound: float, least: float, memory: Memory) -> Plan:
    """The answer where the bound is below what any policy can keep to."""
    weights = np.array([float(name == constraint) for name in problem.constraint_names])
    # Without a policy that ends there is nothing to be the least.
    proof = Infeasible(Infeasibility(weights, least, bound)) if isfinite(least) else Infeasible(ends=False)
    return Plan(
        problem, proof=proof, ending=Ending(Reason.INFEASIBLE), method=PolicyBranching.name, memory=memory
    )


@dataclass(frozen=True)
class Enough:
    """Stop a point once its interval, with what the curve proves, is narrow enough, or time is up."""

    value: float
    gap: float
    deadline: float

    def __call__(self, progress: Progress) -> Reason | None:
        gap = progress.gap
        if progress.reward is None:
            gap = relative_gap(max(progress.lower_bound, self.value), progress.upper_bound)
        if gap <= self.gap:
            return Reason.GAP
        return Reason.TIME_LIMIT if time.perf_counter() >= self.deadline else None


def at_least(plan: Plan, value: float) -> Plan:
    """A plan whose lower bound is at least the stochastic optimum."""
    if isinstance(plan.proof, Infeasible) or plan.lower_bound >= value or value == inf:
        return plan
    return replace(plan, proof=Interval(min(value, plan.upper_bound), plan.upper_bound))
