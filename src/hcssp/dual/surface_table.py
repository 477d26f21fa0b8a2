"""The surfaces of many activities looked up at once, under the weights of the whole problem.

A step of an ascent asks every activity what is known about it (:mod:`hcssp.dual.value_surface`). Each answer
is a product of a few numbers, so that nearly all of the time would go into asking. Here the known plans and
combinations of all activities stand one after the other in the same arrays, and are asked together.

A combination's shares are linear in the weights of the problem. However they were rounded, only as much of
them is counted as certainly fits into an activity's own weights, as for a single surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.spans import first_in_each
from hcssp.dual.activity_curve import ROUNDED_DOWN, ActivityPlan, Bracket
from hcssp.dual.value_surface import ValueSurface


class Block(NamedTuple):
    """What one surface knows, in terms of the whole problem.

    Attributes
    ----------
    surface, spread, version
        Whose knowledge it is, the matrix that gives the own weights, and of which moment it is.
    plans, costs
        The known plans, and what each costs, a row each.
    shares
        Of each combination the matrix that gives its shares, given the weights.
    bounds, points
        Of each combination the bounds at its weights, and these.
    own_weights
        The matrix that gives the own weights, filled up.
    """

    surface: ValueSurface
    spread: FloatArray
    version: int
    plans: list[ActivityPlan]
    costs: FloatArray
    shares: FloatArray
    bounds: FloatArray
    points: FloatArray
    own_weights: FloatArray

    @property
    def key(self) -> tuple[int, int]:
        """What tells the block from others."""
        return id(self.surface), id(self.spread)

    @classmethod
    def of(cls, surface: ValueSurface, spread: FloatArray, paid: BoolArray, size: int) -> Block:
        """The block of a surface for weights of its `paid` costs, filled up to `size` costs."""
        known, own = surface.combinations(paid), int(np.count_nonzero(paid))
        shares = np.zeros((len(known.bounds), size, spread.shape[1]))
        shares[:, :own] = np.einsum("mik,id->mkd", known.inverses, spread[paid])
        bounds, points = np.zeros(shares.shape[:2]), np.zeros((len(shares), size, size))
        bounds[:, :own], points[:, :own, :own] = known.bounds, known.points
        weights = np.ones((1, size, spread.shape[1]))
        weights[0, :own] = spread[paid]
        costs = surface.points @ spread
        return cls(surface, spread, surface.version, surface.plans, costs, shares, bounds, points, weights)


class SurfaceTable:
    """What some surfaces know at one moment.

    Parameters
    ----------
    surfaces
        Each knows a plan and a combination.
    spreads
        Of each, what its costs are to the whole problem: its own weights are this matrix times those of the
        problem.
    paid
        Of each, which of its costs have weights.
    before
        A table for weights of the same costs of which some surfaces are the same.
    """

    def __init__(
        self,
        surfaces: Sequence[ValueSurface],
        spreads: Sequence[FloatArray],
        paid: Sequence[BoolArray],
        before: SurfaceTable | None = None,
    ) -> None:
        self._size = max(len(spread) for spread in spreads)
        known: dict[tuple[int, int], Block] = {}
        if before is not None and before._size == self._size:
            # Each block keeps its surface and its spread, so that no others can have their numbers.
            known = {block.key: block for block in before._blocks}
        self._blocks: list[Block] = []
        for surface, spread, own in zip(surfaces, spreads, paid, strict=True):
            block = known.get((id(surface), id(spread)))
            if block is None or block.version != surface.version:
                block = Block.of(surface, spread, own, self._size)
            self._blocks.append(block)
        blocks = self._blocks
        self._plans = [block.plans for block in blocks]
        self._costs = np.concatenate([block.costs for block in blocks])
        self._shares = np.concatenate([block.shares for block in blocks])
        self._bounds = np.concatenate([block.bounds for block in blocks])
        self._points = np.concatenate([block.points for block in blocks])
        self._spreads = np.concatenate([block.own_weights for block in blocks])
        self._first_plans, self._owner = _places([len(block.costs) for block in blocks])
        self._first_bounds, self._of = _places([len(block.bounds) for block in blocks])

    def is_of(self, surfaces: Sequence[ValueSurface]) -> bool:
        """Whether the table still tells all that these very surfaces know."""
        return len(surfaces) == len(self._blocks) and all(
            block.surface is surface and block.version == surface.version
            for block, surface in zip(self._blocks, surfaces, strict=True)
        )

    def glances(self, weights: FloatArray) -> list[Bracket]:
        """The best plan that each surface knows, without a bound."""
        values, chosen = self._best_plans(weights)
        return [
            Bracket(plans[index], value, 0.0, False)
            for plans, index, value in zip(self._plans, chosen.tolist(), values.tolist(), strict=True)
        ]

    def brackets(self, weights: FloatArray) -> list[Bracket]:
        """What each surface knows at first sight; `weights` are positive where costs are paid, or nought."""
        values, chosen = self._best_plans(weights)
        bounds = np.minimum(self._lower_bounds(weights), values)
        return [
            Bracket(plans[index], value, bound, False)
            for plans, index, value, bound in zip(
                self._plans, chosen.tolist(), values.tolist(), bounds.tolist(), strict=True
            )
        ]

    def _best_plans(self, weights: FloatArray) -> tuple[FloatArray, IntArray]:
        """What the best plan of each surface costs, and which of its plans it is."""
        values = self._costs @ weights
        least = np.minimum.reduceat(values, self._first_plans)
        return least, first_in_each(values == least[self._owner], self._first_plans) - self._first_plans

    def _lower_bounds(self, weights: FloatArray) -> FloatArray:
        """The best known combination of each surface, rounded down; 0 where none amounts to `weights`."""
        shares = self._shares @ weights
        worth = np.where(shares.min(axis=1) >= 0.0, (shares * self._bounds).sum(axis=1), 0.0)
        most = np.maximum.reduceat(worth, self._first_bounds)
        best = first_in_each(worth == most[self._of], self._first_bounds)
        taken = np.maximum(shares[best], 0.0)
        loads = (taken[:, np.newaxis, :] @ self._points[best])[:, 0, :] / (self._spreads @ weights)
        sums = (taken * self._bounds[best]).sum(axis=1)
        bounds: FloatArray = ROUNDED_DOWN * ROUNDED_DOWN * sums / np.maximum(1.0, loads.max(axis=1))
        return np.where(most > 0.0, bounds, 0.0)


def _places(counts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Where each of some blocks of so many rows begins, and the block of each row."""
    sizes = np.array(counts, dtype=np.int64)
    return np.cumsum(sizes) - sizes, np.repeat(np.arange(len(counts)), counts)
