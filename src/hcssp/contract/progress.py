"""What an anytime solver tells while it works: a sequence of frozen snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from hcssp.contract.ending import Ending
from hcssp.contract.proof import Infeasible
from hcssp.cssp.model import FloatArray
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.reward import Reward, RewardInterval
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.numerics import relative_gap
from hcssp.procedure.policy import ProcedurePolicy

Policy = DeterministicPolicy | ProcedurePolicy
"""A deterministic policy: that of a single problem, or that of a procedure."""

Budgets = Mapping[str, Mapping[str, float]]
"""What an execution of each activity is allotted of each constraint, by name."""


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
        The best feasible policy so far, or None.
    prices
        The multiplier of each constraint that gave the lower bound: what a unit of its budget is
        worth. None while unknown.
    stochastic
        The optimum over randomised policies, where the solver has found it.
    randomised
        A stationary policy that reaches it, where the solver has one.
    budgets
        What the incumbent's activities are allotted, by methods that do; None if nothing is.
    infeasible
        A proof that nothing is feasible, where the solver has found one.
    ending
        Why the solver has nothing left to do, or None while it has.
    workers, open_nodes
        How many work side by side, None where one does all, and how many nodes of a search wait; None where
        there are no nodes.
    improved
        When the incumbent was found, in seconds; ``inf`` while there is none.
    reward
        What is proven about the reward, where one is maximised; the gap is that of the reward then.
    """

    seconds: float = 0.0
    iterations: int = 0
    lower_bound: float = -inf
    upper_bound: float = inf
    incumbent: Policy | None = field(default=None, repr=False)
    prices: FloatArray | None = field(default=None, repr=False)
    stochastic: StochasticOptimum | None = field(default=None, repr=False)
    randomised: RandomisedPolicy | None = field(default=None, repr=False)
    budgets: Budgets | None = field(default=None, repr=False)
    infeasible: Infeasible | None = None
    ending: Ending | None = None
    workers: int | None = None
    open_nodes: int | None = None
    improved: float = inf
    reward: RewardInterval | None = None

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound) if self.reward is None else self.reward.gap

    def in_words(self, counts: str = "iterations", reward: Reward | None = None) -> str:
        """One line, for people; `counts` says what the iterations are, `reward` what is maximised.

        >>> Progress(1.52, 12, lower_bound=144.8, upper_bound=145.2).in_words("nodes")
        '   1.5 s      12 nodes   lower bound 144.8000   incumbent 145.2000   gap 0.275%'
        >>> Progress(0.1, lower_bound=144.8).in_words("nodes")
        '   0.1 s       0 nodes   lower bound 144.8000   no plan yet'
        >>> Progress(2.5, 90, workers=2, open_nodes=17).in_words("nodes")
        '   2.5 s      90 nodes   17 open, 2 workers   no plan yet'
        >>> Progress(0.1, 7, lower_bound=1.0, upper_bound=1.5).in_words("nodes", Reward("gold", 6.0, {}))
        '   0.1 s       7 nodes   at most 5.0000   incumbent 4.5000'
        """
        parts = [f"{self.seconds:6.1f} s", f"{self.iterations:5d} {counts}"]
        if self.workers is not None:
            parts.append(f"{self.open_nodes or 0} open, {self.workers} workers")
        if isfinite(self.lower_bound):
            most = None if reward is None else reward.at_most(self.lower_bound)
            parts.append(f"lower bound {self.lower_bound:.4f}" if most is None else f"at most {most:.4f}")
        if isfinite(self.upper_bound):
            own = self.upper_bound if reward is None else reward.most - self.upper_bound
            parts.append(f"incumbent {own:.4f}")
        else:
            parts.append("no plan yet")
        if isfinite(self.gap) and reward is None:
            parts.append(f"gap {100 * self.gap:.3g}%")
        return "   ".join(parts)

    def __str__(self) -> str:
        return self.in_words()
