"""Potentials of the built-in oracles, from which :mod:`hcssp.proofs.assembly` makes certificates.

A potential that holds in a region holds in every part of it. So an activity's potential is taken from the
largest region whose best plan lies in the one in question, and the leaves of a search share it.

Under one price, a potential is combined from those at the two solved prices around it: the chord of the least
cost, which the search used as well. Leaves with other prices share these potentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Generic, Protocol

import numpy as np

from hcssp.cssp.arrays import distinct
from hcssp.cssp.model import FloatArray
from hcssp.dual.oracle import KnownPotential, Minimum, V
from hcssp.dual.value_cache import SolvedPrice
from hcssp.ssp.scalar_problem import Region

if TYPE_CHECKING:
    from hcssp.dual.procedure import ProcedureOracle

Shares = list[tuple[KnownPotential, float]]
"""Potentials, and the share of each."""


class _WholeOracle(Protocol[V]):
    """An oracle that provides the cost-to-go of all states of the problem."""

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: V | None = None
    ) -> Minimum[V] | None: ...

    def values_of(self, point: V, weights: FloatArray) -> FloatArray: ...

    def original_row(self, row: int) -> int: ...


class WholePotentials(Generic[V]):
    """One potential for all states of the problem, from the best policy of the region.

    Parameters
    ----------
    oracle
        The oracle of a flat problem, or of a procedure whose activities have several exits.
    """

    def __init__(self, oracle: _WholeOracle[V]) -> None:
        self._oracle = oracle
        self._near: V | None = None

    def problem_row(self, row: int) -> int:
        """As :meth:`hcssp.dual.oracle.Potentials.problem_row`."""
        return self._oracle.original_row(row)

    def within(self, path: Sequence[frozenset[int]], weights: FloatArray, fresh: bool) -> Shares | None:
        """As :meth:`hcssp.dual.oracle.Potentials.within`."""
        oracle, forbidden = self._oracle, frozenset[int]().union(*path)
        found = oracle.minimise(weights, Region(forbidden), near=None if fresh else self._near)
        if found is None:
            return None
        point = self._near = found.point
        return [(KnownPotential(None, weights, forbidden, lambda: oracle.values_of(point, weights)), 1.0)]


class ProcedurePotentials:
    """Potentials of the activities of a procedure, each from its own planner.

    Parameters
    ----------
    oracle
        The oracle of the procedure.
    """

    def __init__(self, oracle: ProcedureOracle) -> None:
        self._oracle = oracle

    def problem_row(self, row: int) -> int:
        """As :meth:`hcssp.dual.oracle.Potentials.problem_row`."""
        oracle = self._oracle
        activity = int(np.searchsorted(oracle.row_offset, row, side="right")) - 1
        if activity < 0:
            return row
        (own,) = oracle.planners[activity].original_rows([row - int(oracle.row_offset[activity])])
        return int(oracle.flattening.row_offset[activity]) + own

    def within(self, path: Sequence[frozenset[int]], weights: FloatArray, fresh: bool) -> Shares:
        """As :meth:`hcssp.dual.oracle.Potentials.within`."""
        oracle, found = self._oracle, []
        # For each activity the forbidden rows of ever smaller regions.
        regions = [[frozenset[int]()] for _ in oracle.planners]
        for forbidden in path:
            rows = np.array(sorted(forbidden), dtype=np.int64)
            owners = np.searchsorted(oracle.row_offset, rows, side="right") - 1
            for activity in distinct(owners[owners >= 0]).tolist():
                own = (rows[owners == activity] - oracle.row_offset[activity]).tolist()
                smaller = regions[activity][-1].union(own)
                if smaller != regions[activity][-1]:
                    regions[activity].append(smaller)
        for activity, known in enumerate(regions):
            own_weights = oracle.own_weights(activity, weights)
            if own_weights.any():
                found += self._of_activity(activity, known, own_weights, fresh)
        return found

    def _of_activity(
        self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray, fresh: bool
    ) -> Shares:
        """The potentials of an activity; none if it cannot be ended in the region."""
        known = None if fresh else self._known(activity, regions, weights)
        if known is not None:
            return known
        answer = self._oracle.planners[activity].plan(weights, regions[-1])
        if answer is None:
            return []
        # The plan is in the cache now, perhaps with a neighbour.
        known = None if fresh else self._around(activity, regions, weights)
        if known is not None:
            return known
        return [(self._oracle.potential_of(activity, answer.plan, weights, regions[-1]), 1.0)]

    def _known(self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray) -> Shares | None:
        """Potentials from the cache, or of the best plan of the whole activity if that lies in the region."""
        known = self._around(activity, regions, weights)
        # Weights of several costs seldom recur, so a plan for them would serve one leaf.
        if known is not None or np.count_nonzero(weights) > 1 or len(regions) == 1:
            return known
        answer = self._oracle.planners[activity].plan(weights, regions[0])
        if answer is None or answer.plan.uses_any(regions[-1]):
            return None
        return [(self._oracle.potential_of(activity, answer.plan, weights, regions[0]), 1.0)]

    def _around(self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray) -> Shares | None:
        """The potentials at the solved prices around that of the weights; None if nothing is known there."""
        planner = self._oracle.planners[activity]
        priced = np.flatnonzero(weights[1:]) + 1
        if not planner.priced or weights[0] != 1.0 or len(priced) > 1:
            return None
        price = float(weights[priced].sum())
        index = int(priced[0]) if len(priced) else None
        for forbidden in regions:
            below, above = planner.known_around(price, forbidden)
            # Between prices with the same point, the chord is exact.
            if below is None or above is None or below.point is not above.point:
                continue
            if not below.point.uses_any(regions[-1] - forbidden):
                return self._between(activity, forbidden, index, price, below, above)
        below, above = planner.known_around(price, regions[-1])
        if below is None and above is None:
            return None
        return self._between(activity, regions[-1], index, price, below, above)

    def _between(
        self,
        activity: int,
        forbidden: frozenset[int],
        index: int | None,
        price: float,
        below: SolvedPrice | None,
        above: SolvedPrice | None,
    ) -> Shares:
        """The potentials at two prices around `price`, in the shares that make it up.

        Where nothing is known, zero is a bound.
        """
        begin = 0.0 if below is None else below.price
        end = inf if above is None else above.price
        if end == inf:
            shares = 1.0, price - begin
        else:
            share = 0.0 if end == begin else (price - begin) / (end - begin)
            shares = 1.0 - share, share
        found: Shares = []
        for solved, part in ((below, shares[0]), (above, shares[1])):
            if solved is None or part <= 0.0:
                continue
            weights = np.zeros(self._oracle.planners[activity].num_costs)
            weights[0] = 1.0 if isfinite(solved.price) else 0.0
            if index is not None:
                # At an infinite price that cost alone counts.
                weights[index] = solved.price if isfinite(solved.price) else 1.0
            found.append((self._oracle.potential_of(activity, solved.plan, weights, forbidden), part))
        return found
