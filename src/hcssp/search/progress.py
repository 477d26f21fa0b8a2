"""What an anytime solver tells while it works: a sequence of frozen snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from hcssp.cssp.model import FloatArray, IntArray


def relative_gap(lower_bound: float, upper_bound: float) -> float:
    """``(upper - lower) / upper``, the relative gap; ``inf`` while either bound is unknown.

    >>> relative_gap(99.0, 100.0)
    0.01

    No cost is negative, so an upper bound of zero leaves nothing open.

    >>> relative_gap(-1e-13, 0.0)
    0.0
    """
    if not (isfinite(lower_bound) and isfinite(upper_bound)):
        return inf
    if upper_bound <= max(lower_bound, 0.0):
        return 0.0
    return (upper_bound - lower_bound) / upper_bound


@dataclass(frozen=True)
class StochasticOptimum:
    """The optimum over randomised policies, which no deterministic policy can beat.

    Attributes
    ----------
    value
        Its expected primary cost: the dual's maximum and the LP's optimum.
    weights, policies, costs
        A mixture: before the start, draw a policy (one row index for each state) with these weights;
        `costs` holds each policy's expected costs, one row a policy, the primary first.
        :func:`hcssp.solvers.stochastic.stationary` turns it into one stationary randomised policy.
    """

    value: float
    weights: FloatArray
    policies: tuple[IntArray, ...]
    costs: FloatArray


@dataclass(frozen=True)
class Infeasibility:
    """A proof that no policy, not even a randomised one, keeps the bounds.

    Attributes
    ----------
    weights
        Non-negative weights of the constraints, summing to one.
    least
        The least achievable weighted sum of the expected secondary costs, which exceeds `allowed`.
    allowed
        The same weighted sum of the bounds.
    """

    weights: FloatArray
    least: float
    allowed: float


@dataclass(frozen=True)
class Progress:
    """One snapshot. Both bounds hold at this instant, so a run stopped here reports a true interval.

    Attributes
    ----------
    seconds
        Since the solver began.
    iterations
        Nodes, policies or master problems so far: whatever the solver counts.
    lower_bound, upper_bound
        The proven interval around the optimum; the upper bound is the incumbent's cost.
    incumbent
        The best feasible policy so far, one row for each state of the (flat) problem, or None.
    prices
        The multiplier of each constraint that gave the lower bound: what a unit of its budget is
        worth. None while unknown.
    stochastic
        The optimum over randomised policies, where the solver has found it.
    infeasibility
        A proof that nothing is feasible, where the solver has found one.
    finished
        Why the solver has nothing left to do, or None while it has.
    """

    seconds: float = 0.0
    iterations: int = 0
    lower_bound: float = -inf
    upper_bound: float = inf
    incumbent: IntArray | None = field(default=None, repr=False)
    prices: FloatArray | None = None
    stochastic: StochasticOptimum | None = field(default=None, repr=False)
    infeasibility: Infeasibility | None = None
    finished: str | None = None
    details: Any = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)
