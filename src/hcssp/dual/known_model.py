r"""Where the dual is highest as far as known policies can tell: a first look at the multipliers.

A master that knows whole policies learns about one of their combinations at a time. Activities are planned
one by one, and every combination of their known plans is a policy, too. The best one at given multipliers is
a matter of microseconds, so that the policies are found that carry the model of *all of them*, before
anything is planned. That is a first look: nothing is claimed on its account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hcssp.cssp.model import FloatArray

KnownCosts = Callable[[FloatArray], FloatArray | None]
"""The expected costs of the best known policy, given weights or multipliers; None if there is none."""

MAX_LOOKS = 60
MAX_PIVOTS = 30

LOOK_TOLERANCE = 1e-10
"""A policy is below the model only if it is so by more than this share of the level."""

PIVOT_TOLERANCE = 1e-11

SUPPORT_TOLERANCE = 1e-12
"""A policy with a smaller weight does not belong to the mixture: it is the rounding of the simplex method."""


def carriers(
    known: KnownCosts, first: Sequence[FloatArray], bounds: FloatArray, limits: FloatArray
) -> list[FloatArray]:
    """Multipliers at which the policies are met that carry the highest point of the model of all known ones.

    Those among the `first` are left out.

    >>> lines = np.array([[10.0, 0.0], [6.0, 2.0], [4.0, 6.0]])
    >>> best = lambda prices: lines[np.argmin(lines @ np.append(1.0, prices))]
    >>> [price.round(6).tolist() for price in carriers(best, lines[:1], np.array([4.0]), np.array([100.0]))]
    [[0.0], [1.0]]

    Parameters
    ----------
    known
        Finds the best known policy at given multipliers.
    first
        The costs of at least one policy, the primary first, then one for each bound.
    bounds, limits
        Of each constraint the bound, and the largest multiplier.
    """
    model = Model(bounds, limits, np.array(first))
    met: list[FloatArray] = []
    for _ in range(MAX_LOOKS):
        level, prices = model.highest()
        found = known(prices)
        if found is None or model.value(found, prices) >= level - LOOK_TOLERANCE * abs(level):
            break
        model.add(found)
        met.append(prices)
    return [met[index - len(first)] for index in model.mixture()[0] if index >= len(first)]


class Model:
    """The least of some planes over the multipliers, and where it is highest: the simplex method by columns.

    A column more leaves the last basis feasible, so that a few pivots follow each.

    Parameters
    ----------
    bounds, limits
        As for :func:`carriers`.
    first
        The costs of at least one policy, a row each.
    """

    def __init__(self, bounds: FloatArray, limits: FloatArray, first: FloatArray) -> None:
        self._bounds = bounds
        size = len(bounds)
        # For each bound what breaks it, at the price of its limit, and what is left of it, for nothing.
        broken = np.hstack([-np.eye(size), np.zeros((size, 1))])
        excess = first[:, 1:] - bounds
        self._columns = np.vstack([broken, -broken, np.hstack([excess, np.ones((len(first), 1))])])
        self._worth = np.concatenate([limits, np.zeros(size), first[:, 0]])
        own = np.arange(size)
        self._basis = np.append(np.where(excess[0] > 0.0, own, size + own), 2 * size)
        self._inverse: FloatArray = np.linalg.inv(self._columns[self._basis].T).astype(np.float64)
        self._shares: FloatArray = self._inverse[:, -1].copy()

    def value(self, costs: FloatArray, prices: FloatArray) -> float:
        """The plane of a policy."""
        return float(costs[0] + prices @ (costs[1:] - self._bounds))

    def add(self, costs: FloatArray) -> None:
        """Add a policy's plane."""
        self._columns = np.vstack([self._columns, np.append(costs[1:] - self._bounds, 1.0)])
        self._worth = np.append(self._worth, costs[0])

    def confine(self, lowest: FloatArray, highest: FloatArray) -> None:
        """Let the multipliers be between these, instead of between nought and their limits."""
        size = len(self._bounds)
        self._worth[:size] = highest
        self._worth[size : 2 * size] = -lowest

    def mixture(self) -> tuple[list[int], FloatArray]:
        """The planes that meet at the highest point, by the order in which they were added; their shares."""
        size = 2 * len(self._bounds)
        places = [place for place in np.argsort(self._basis).tolist() if self._basis[place] >= size]
        return [int(self._basis[place]) - size for place in places], self._shares[places]

    @property
    def is_confined(self) -> bool:
        """Whether a multiplier would be beyond those allowed: no mixture of the policies is as good there."""
        size = len(self._bounds)
        confines = (self._basis < size) | ((self._basis < 2 * size) & (self._worth[self._basis] < 0.0))
        return bool((self._shares[confines] > PIVOT_TOLERANCE).any())

    def highest(self) -> tuple[float, FloatArray]:
        """The level of the highest point, and its multipliers."""
        for _ in range(MAX_PIVOTS):
            duals = self._worth[self._basis] @ self._inverse
            reduced = self._worth - self._columns @ duals
            enters = int(reduced.argmin())
            if reduced[enters] >= -PIVOT_TOLERANCE * (1.0 + abs(float(duals[-1]))):
                break
            direction = self._inverse @ self._columns[enters]
            largest = float(np.abs(direction).max())
            rising = direction > PIVOT_TOLERANCE * largest
            if not rising.any():
                break
            steps = np.where(rising, self._shares / np.where(rising, direction, 1.0), np.inf)
            leaves = int(steps.argmin())
            self._basis[leaves] = enters
            row = self._inverse[leaves] / direction[leaves]
            self._inverse = self._inverse - direction[:, np.newaxis] * row
            self._inverse[leaves] = row
            self._shares = np.maximum(self._inverse[:, -1], 0.0)
        duals = self._worth[self._basis] @ self._inverse
        return float(duals[-1]), np.maximum(-duals[:-1], 0.0)
