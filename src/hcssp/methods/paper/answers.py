"""What Activity-Planning answers, and what was answered before.

An activity is planned under the same limits in many boxes, so answers are kept by the question. With
`extended`, an answer that is proven to be the best also serves smaller limits that it keeps.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_budget import BudgetPlanner, within
from hcssp.dual.activity_curve import ActivityPlan

EXACT = 1e-9
"""A plan is the best within its limits if both bounds differ by no more than this, relative to 1 + cost."""


@dataclass(frozen=True)
class ActivityAnswer:
    """What Activity-Planning returns: the incumbent, and both bounds under the limits.

    Attributes
    ----------
    plan
        The cheapest plan found that keeps the limits, or None.
    lower_bound, upper_bound
        Around the least cost within the limits; both ``inf`` if nothing keeps them.
    """

    plan: ActivityPlan | None
    lower_bound: float
    upper_bound: float

    @property
    def exact(self) -> bool:
        """Whether the plan is proven to be the best within the limits."""
        if self.plan is None:
            return False
        return self.upper_bound - self.lower_bound <= EXACT * (1.0 + abs(self.upper_bound))


class Answers:
    """The answers so far of one activity.

    Parameters
    ----------
    budget
        The activity.
    extended
        Whether a proven answer also serves smaller limits.
    """

    def __init__(self, budget: BudgetPlanner, extended: bool) -> None:
        self._budget = budget
        self._extended = extended
        self._answers: dict[tuple[float, bytes], ActivityAnswer] = {}
        self._proven: defaultdict[float, list[tuple[FloatArray, ActivityAnswer]]] = defaultdict(list)

    def find(self, limits: FloatArray, iterations: float) -> ActivityAnswer | None:
        """An answer that holds for `limits`, or None."""
        key = (iterations, limits.tobytes())
        if key in self._answers:
            return self._answers[key]
        for asked, answer in self._proven[iterations]:
            # The best within larger limits is the best within these if it keeps them; if nothing keeps the
            # larger ones, nothing keeps these.
            if np.all(limits <= asked) and (
                answer.plan is None or within(self._budget.usage(answer.plan), limits)
            ):
                self._answers[key] = answer
                return answer
        return None

    def keep(self, limits: FloatArray, iterations: float, answer: ActivityAnswer) -> None:
        """Remember the answer to a question."""
        self._answers[iterations, limits.tobytes()] = answer
        if self._extended and (answer.exact or answer.lower_bound == inf):
            self._proven[iterations].append((limits, answer))
