"""What an anytime solver tells while it works: a sequence of frozen snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.ascent import Infeasibility
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.numerics import relative_gap


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
