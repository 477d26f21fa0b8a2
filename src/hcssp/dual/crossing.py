"""Policies between two that carry the dual: some decisions of the one, the rest of the other.

Where a procedure has many uses of few definitions, all of them change their minds at the same price: one
policy of the support spares too much and the other spends too much, each in every use. What is wanted lies
between. The decisions in which the two differ are taken over one after the other, as many as the bounds bear;
how many is found by bisection, and what is left of the bounds is spent on single decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.numerics import tolerated

if TYPE_CHECKING:
    from hcssp.dual.procedure_oracle import ProcedureOracle

SINGLE_TRIES = 24
"""So many single decisions are tried on top of what bisection found."""


class Crossing:
    """From a policy that keeps the bounds towards one that does not.

    Parameters
    ----------
    oracle
        Whose policies they are.
    kept, broken
        The policies.
    """

    def __init__(self, oracle: ProcedureOracle, kept: ProcedureVertex, broken: ProcedureVertex) -> None:
        self._oracle = oracle
        self._kept, self._broken = kept, broken
        self._bounds = tolerated(oracle.bounds)
        events = np.flatnonzero(kept.choices != broken.choices).tolist()
        plans = [
            index
            for index, (own, other) in enumerate(zip(kept.plans, broken.plans, strict=True))
            if other is not None and own is not other
        ]
        self._items = [(True, event) for event in events] + [(False, index) for index in plans]

    def best(self) -> ProcedureVertex | None:
        """A policy that keeps the bounds and costs less than the one given; None if none was found."""
        low, high, best = 0, len(self._items), None
        while high - low > 1:
            middle = (low + high) // 2
            vertex = self._mixed(self._items[:middle])
            if vertex is not None and self._keeps(vertex.costs):
                low, best = middle, vertex
            else:
                high = middle
        taken = self._items[:low]
        cost = float((best or self._kept).costs[0])
        for item in self._items[high : high + SINGLE_TRIES]:
            vertex = self._mixed([*taken, item])
            if vertex is not None and self._keeps(vertex.costs) and float(vertex.costs[0]) < cost:
                taken, best, cost = [*taken, item], vertex, float(vertex.costs[0])
        return best

    def _keeps(self, costs: FloatArray) -> bool:
        return bool(np.all(costs[1:] <= self._bounds))

    def _mixed(self, items: list[tuple[bool, int]]) -> ProcedureVertex | None:
        """The policy with these decisions of the one that breaks the bounds; None if it never ends."""
        choices, plans = self._kept.choices.copy(), list(self._kept.plans)
        for is_event, index in items:
            if is_event:
                choices[index] = self._broken.choices[index]
            else:
                plans[index] = self._broken.plans[index]
        return self._oracle.vertex_of(choices, tuple(plans))


def between(oracle: ProcedureOracle, support: tuple[ProcedureVertex, ...]) -> ProcedureVertex | None:
    """The best policy found between two of the support, one of which keeps the bounds; None if none was."""
    bounds = tolerated(oracle.bounds)
    keeping = [bool(np.all(vertex.costs[1:] <= bounds)) for vertex in support]
    found = [
        Crossing(oracle, kept, broken).best()
        for kept, is_kept in zip(support, keeping, strict=True)
        if is_kept
        for broken, is_broken in zip(support, keeping, strict=True)
        if not is_broken
    ]
    cheaper = [each for each in found if each is not None]
    return min(cheaper, key=lambda each: float(each.costs[0]), default=None)
