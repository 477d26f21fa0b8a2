"""The smallest oracle: a table of policies, one of which is taken. Everything about its dual is plain."""

from __future__ import annotations

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import Minimum, Oracle, PolicyPoint
from hcssp.ssp.scalar_problem import Region


class Dish(PolicyPoint):
    """One line of the table."""

    def __init__(self, costs: FloatArray, row: int) -> None:
        self.costs = costs
        self.row = row

    @property
    def rows(self) -> IntArray:
        return np.array([self.row])

    @property
    def visits(self) -> FloatArray:
        return np.ones(1)


class Menu(Oracle[Dish]):
    """Takes the line with the least weighted cost.

    Parameters
    ----------
    table
        Costs, the primary first, one line for each policy.
    bounds
        One for each secondary cost.
    blur
        As long as an answer need not be precise, its bound is too low by this share.

    Attributes
    ----------
    asked
        The weights and the precision of every question.
    """

    def __init__(self, table: object, bounds: object, blur: float = 0.0) -> None:
        self.table: FloatArray = np.asarray(table, dtype=np.float64)
        super().__init__(np.asarray(bounds, dtype=np.float64), np.array([0, len(self.table)]))
        self.blur = blur
        self.asked: list[tuple[list[float], float]] = []

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: Dish | None = None
    ) -> Minimum[Dish] | None:
        self.asked.append((weights.tolist(), precision))
        values = np.where(region.allowed(len(self.table)), self.table @ weights, np.inf)
        row = int(np.argmin(values))
        value = float(values[row])
        if value == np.inf:
            return None
        lost = min(self.blur, precision) * (1.0 + abs(value))
        return Minimum(Dish(self.table[row], row), value - lost)
