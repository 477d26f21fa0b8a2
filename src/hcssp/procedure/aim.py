"""What a problem is judged by, for people: the cost that is minimised, or the reward that is maximised.

A problem that maximises a reward minimises what is missed of it (:func:`hcssp.maximise`), which is nobody's
concern: people are told the reward itself. What only counts the reward is then told no second time.

>>> from hcssp.scenarios import small_building
>>> Aim.of(small_building())
Aim(name='time', greatest=False, others=('damage',))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.reward import Reward
from hcssp.procedure.model import HCSSP


@dataclass(frozen=True)
class Aim:
    """What people are told of the costs of a problem.

    Attributes
    ----------
    name
        The primary cost, or the reward.
    greatest
        Whether it is to be as great as possible, and not as small.
    others
        The secondary costs that are told besides.
    weights
        What the aim is made of: factors of the problem's costs, by name.
    matrix
        From the costs of the problem, in their order, to what is told: the aim, then the others.
    kept
        The positions of the others among the secondary costs.
    """

    name: str
    greatest: bool
    others: tuple[str, ...]
    weights: Mapping[str, float] = field(repr=False, hash=False, compare=False)
    matrix: FloatArray = field(repr=False, hash=False, compare=False)
    kept: IntArray = field(repr=False, hash=False, compare=False)
    _reward: Reward | None = field(default=None, repr=False)

    @classmethod
    def of(cls, problem: CSSP | HCSSP) -> Aim:
        """That of a problem."""
        names = (problem.primary_name, *problem.constraint_names)
        reward = problem.reward
        weights = {names[0]: 1.0} if reward is None else reward.weights
        own = None if reward is None or dict(weights) != {reward.name: 1.0} else reward.name
        kept = [
            index
            for index, (name, bound) in enumerate(zip(names[1:], problem.bounds, strict=True))
            if name != own or bound < inf
        ]
        others = tuple(names[1 + index] for index in kept)
        matrix = np.zeros((1 + len(kept), len(names)))
        for name, weight in weights.items():
            matrix[0, names.index(name)] = weight
        matrix[np.arange(1, 1 + len(kept)), 1 + np.array(kept, dtype=np.int64)] = 1.0
        name = names[0] if reward is None else reward.name
        places = np.array(kept, dtype=np.int64)
        return cls(name, reward is not None, others, weights, matrix, places, reward)

    @property
    def names(self) -> tuple[str, ...]:
        """The aim, then the others."""
        return (self.name, *self.others)

    def value(self, costs: Mapping[str, float]) -> float:
        """The aim of a plan that has these costs, by name."""
        return sum(weight * costs[name] for name, weight in self.weights.items())

    def total(self, costs: FloatArray) -> float:
        """The aim of a plan that has these costs, in the problem's order."""
        used = np.flatnonzero(self.matrix[0])
        # What is unknown of other costs must not touch it.
        return float(self.matrix[0, used] @ np.asarray(costs)[used])

    def told(self, costs: FloatArray) -> list[float]:
        """The aim, then the others, of a plan that has these costs, in the problem's order."""
        return [self.total(costs), *np.asarray(costs)[1 + self.kept].tolist()]

    def share(self, cost: float | None, usage: Mapping[str, float | None]) -> float | None:
        """What an activity contributes: its primary cost, or what it uses of the costs in the reward."""
        if self._reward is None or cost is None:
            return cost
        return sum(weight * (usage.get(name) or 0.0) for name, weight in self.weights.items())

    def limit(self, lower_bound: float) -> float:
        """What no plan is better than, by a lower bound on the primary cost."""
        return lower_bound if self._reward is None else self._reward.at_most(lower_bound)

    def judged(self, cost: float) -> float:
        """A primary cost in terms of the aim; of a reward, to the precision of what is stored as missed."""
        return cost if self._reward is None else self._reward.most - cost
