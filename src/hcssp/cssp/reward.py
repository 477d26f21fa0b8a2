"""What a problem maximises, when its primary cost is what a policy misses of a reward.

:func:`hcssp.maximise` makes such problems and says why. For every policy that ends, the reward is what could
be had at most less the primary cost, so that a lower bound on the cost is an upper bound on the reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, nextafter

from hcssp.numerics import COST_ROUNDING


@dataclass(frozen=True)
class Reward:
    """A reward that is to be as great as possible.

    Attributes
    ----------
    name
        What people call it.
    most
        No policy that ends has a greater expected reward, whatever the bounds.
    weights
        What it is made of: factors of other costs of the problem, by name.
    """

    name: str
    most: float
    weights: Mapping[str, float] = field(hash=False)

    def value(self, costs: Mapping[str, float]) -> float:
        """The reward of a policy that has these expected costs, by name.

        >>> profit = Reward("profit", 10.0, {"sales": 1.0, "fuel": -0.5})
        >>> profit.value({"profit missed": 3.0, "sales": 8.0, "fuel": 2.0})
        7.0
        """
        return sum(weight * costs[name] for name, weight in self.weights.items())

    def at_most(self, missed: float) -> float:
        """What no policy exceeds that is known to miss at least so much, rounded upwards.

        >>> Reward("profit", 10.0, {"sales": 1.0}).at_most(3.0) >= 7.0
        True
        """
        if not isfinite(missed):
            return -inf if missed > 0.0 else self.most
        return nextafter(self.most - max(0.0, missed), inf)

    def proven(self, value: float, missed: float) -> RewardInterval:
        """What is proven if a plan has the reward `value`, and every plan misses at least `missed`.

        >>> Reward("profit", 1000.0, {"sales": 1.0}).proven(4.0, 995.0).gap
        0.25
        """
        # A plan is a proof that there are such plans, whatever rounding does to the other one.
        most = max(value, self.at_most(missed))
        return RewardInterval(self.name, value, most, reward_gap(value, most, self.most))


def reward_gap(value: float, at_most: float, most: float) -> float:
    """How much greater a reward could be, as a share of itself; ``inf`` if that is unknown.

    Rewards are known up to the rounding of what is missed of the greatest one, `most`: within it there is no
    gap.
    """
    if not (isfinite(value) and isfinite(at_most)):
        return inf
    missing = at_most - value
    if missing <= 4.0 * COST_ROUNDING * abs(most):
        return 0.0
    return missing / abs(value) if value else inf


@dataclass(frozen=True)
class RewardInterval:
    """What is proven about a reward: a plan's own, and what no plan exceeds.

    Attributes
    ----------
    name
        What people call it.
    value
        The expected reward of the plan; ``-inf`` without one.
    at_most
        No deterministic policy that keeps the bounds has a greater expected reward.
    gap
        How much greater the reward could be, as a share of the plan's own; ``inf`` if that is unknown.
    """

    name: str
    value: float
    at_most: float
    gap: float = inf
