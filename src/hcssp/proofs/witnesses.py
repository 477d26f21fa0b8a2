"""An oracle's regions and answers in the terms of a proof: its rows as flat rows, its plans as potentials.

A region is kept block by block: the procedure and each activity, or the flat problem as one block. Of each
block the forbidden rows of ever smaller regions are known, from all policies down to the region itself. What
holds in a larger region holds in a smaller one, too; so a potential is taken from the largest region whose
best plan lies in this one, and is shared by all leaves there.

With one price, a potential of a piece of the budget curve is made of those at both ends of the piece: the
least cost is linear in between, and leaves with other prices have the same ends. Next to known pieces, a
potential is made of those at the nearest ends: the chord of the curve, which the search used as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from hcssp.checker.format import Part, Use
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.dual.activity_curve import ActivityPlan, Piece
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.doors_oracle import DoorsOracle
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.near_best import Class
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.settlement import OneBudget
from hcssp.proofs.builder import ProofBuilder
from hcssp.ssp.region import Region

Blocks = tuple[tuple[frozenset[int], ...], ...]
"""For each block, the forbidden rows, in its own numbers, of ever smaller regions."""

Testimony = tuple[list[Use], FloatArray | None]
"""What :meth:`ProofBuilder.prove` and :meth:`ProofBuilder.refute` want: uses, and event values if known."""

DEAR = 4.0
"""What cannot be ended is worth so many times all that a plan of interest may spend."""

End = tuple[float, ActivityPlan | None]
"""A price, and the plan of a budget curve that is certified there; None if nothing is."""


class Witness(Protocol):
    """What can be said about the regions of a search."""

    everything: Blocks
    """The region of all policies."""

    def flat_row(self, row: int) -> int:
        """The flat row that a row of the oracle is."""

    def part(self, region: Blocks, row: int, used: bool) -> Blocks:
        """The part of a region in which a row of the oracle is used in its state, or is not."""

    def testify(self, node: int, region: Blocks, weights: FloatArray, afresh: bool) -> Testimony | None:
        """Potentials for a region under weights; None if no policy of it ends with certainty.

        Parameters
        ----------
        node
            The region's number in the proof.
        region, weights
            What it is about.
        afresh
            Whether to plan for these very weights, rather than use what is known from others.
        """


def witness_of(proof: ProofBuilder, problem: Any, oracle: Oracle[Any] | None) -> Witness | None:
    """The witness of an oracle; None for an oracle that is not ours, or none."""
    if isinstance(oracle, ProcedureOracle):
        return ProcedureWitness(proof, oracle)
    if isinstance(oracle, FlatOracle | DoorsOracle):
        return FlatWitness(proof, oracle, problem)
    return None


def _narrowed(oracle: Oracle[Any], begins: Sequence[int], region: Blocks, row: int, used: bool) -> Blocks:
    """A region without a row of the oracle, or without the others of its state."""
    state = int(oracle.row_state[row])
    siblings = range(int(oracle.row_start[state]), int(oracle.row_start[state + 1]))
    block = int(np.searchsorted(begins, row, side="right")) - 1
    forbidden = {each - begins[block] for each in siblings if (each != row) == used}
    known = region[block]
    if forbidden <= known[-1]:
        return region
    return (*region[:block], (*known, known[-1] | forbidden), *region[block + 1 :])


class FlatWitness:
    """Of a problem whose potentials are told for all of its flat states together.

    That is a single problem, or a procedure where the exits of an activity decide what follows.
    """

    def __init__(self, proof: ProofBuilder, oracle: FlatOracle | DoorsOracle, problem: Any) -> None:
        self._proof = proof
        # An oracle takes its own vertices alone, and here it gets no others.
        self._oracle: Any = oracle
        self._single = problem if isinstance(problem, CSSP) else None
        self._near: Any = None
        self.everything: Blocks = ((frozenset(),),)

    def flat_row(self, row: int) -> int:
        original: int = self._oracle.original_row(row)
        return original if self._single is None else self._proof.flat_row(0, original)

    def part(self, region: Blocks, row: int, used: bool) -> Blocks:
        return _narrowed(self._oracle, [0], region, row, used)

    def testify(self, node: int, region: Blocks, weights: FloatArray, afresh: bool) -> Testimony | None:
        near = None if afresh else self._near
        found = self._oracle.minimise(weights, Region(region[0][-1]), near)
        if found is None:
            return None
        self._near = found.vertex
        return self._uses(node, weights, self._oracle.values_of(found.vertex, weights))

    def _uses(self, node: int, weights: FloatArray, values: FloatArray) -> Testimony:
        """The potentials that values of the oracle's problem are."""
        if self._single is not None:
            # As a procedure, it begins in an event and ends in one; its goals are that end.
            first = float(self._single.initial @ np.nan_to_num(values))
            values = np.concatenate([[first, 0.0], values[~self._single.goals]])
        return self._proof.flat_uses(node, weights.tolist(), values)


class ProcedureWitness:
    """Of a procedure whose activities are planned one by one."""

    def __init__(self, proof: ProofBuilder, oracle: ProcedureOracle) -> None:
        self._proof, self._oracle = proof, oracle
        self._begins: list[int] = [0, *oracle.row_offset[:-1].tolist()]
        self._numbers: dict[tuple[int, bytes, frozenset[int]], int] = {}
        self.everything: Blocks = ((frozenset(),),) * len(self._begins)

    def flat_row(self, row: int) -> int:
        block = int(np.searchsorted(self._begins, row, side="right")) - 1
        if block == 0:
            return row
        return self._own_flat_row(block - 1, row - self._begins[block])

    def _own_flat_row(self, activity: int, row: int) -> int:
        """The flat row that a row of an activity's planner is."""
        (own,) = self._oracle.planners[activity].original_rows([row])
        return self._proof.flat_row(activity, own)

    def part(self, region: Blocks, row: int, used: bool) -> Blocks:
        return _narrowed(self._oracle, self._begins, region, row, used)

    def testify(self, node: int, region: Blocks, weights: FloatArray, afresh: bool) -> Testimony | None:
        uses: list[Use] = []
        for activity in range(len(self._oracle.planners)):
            own = self._oracle.own_weights(activity, weights)
            uses += self._uses(activity, region[activity + 1], own, afresh)
        return uses, None

    def spread(self, region: Region, prices: FloatArray, bound: float) -> list[Part] | None:
        """The activities of a region, each with its classes of plans; None if there are too many.

        Parameters
        ----------
        region
            The region.
        prices, bound
            Of the constraints; and what no plan is to be below.
        """
        whole = OneBudget.of(self._oracle, region, prices)
        found = None if whole is None else whole.plans_below(bound)
        if whole is None or found is None:
            return None
        parts: list[Part] = []
        for uses, plans in zip(whole.uses, found, strict=True):
            dear = DEAR * (abs(bound) + whole.price * whole.budget) / uses.executions
            for activity in uses.activities:
                tree = tuple(row if row < 0 else self._own_flat_row(activity, row) for row in plans.tree)
                own = self._oracle.own_weights(activity, np.append(1.0, prices))
                classes = tuple(self._class(activity, each, own, dear) for each in plans.classes)
                parts.append((activity, tree, classes))
        return parts

    def _class(
        self, activity: int, plans: Class, weights: FloatArray, dear: float
    ) -> tuple[tuple[Use, ...], ...]:
        """What is used of a class of plans: for the primary cost, for what is priced, and for both."""
        primary, priced = weights.copy(), weights.copy()
        primary[1:], priced[0] = 0.0, 0.0
        told = ((plans.cheapest, primary), (plans.sparing, priced), (plans.best, weights))
        found = [
            ()
            if plan is None or not own.any()
            else ((activity, self._potential(activity, plan, own, plans.forbidden), 1.0),)
            for plan, own in told
        ]
        if plans.cheapest is None and plans.best is None:
            # Whoever has no plan to end the activity never does.
            rows = self._excepted(activity, plans.forbidden)
            number = self._proof.potentials.add_dead_end(activity, weights.tolist(), dear, rows)
            found[2] = ((activity, number, 1.0),)
        return tuple(found)

    def _uses(
        self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray, afresh: bool
    ) -> list[Use]:
        """The potentials of an activity; none if nothing is known, or it cannot be ended there."""
        if not weights.any():
            return []
        if not afresh:
            known = self._from_curve(activity, regions, weights)
            known = self._from_larger(activity, regions, weights) if known is None else known
            if known is not None:
                return known
        answer = self._oracle.planners[activity].plan(weights, regions[-1])
        if answer is None:
            return []
        if not afresh:
            # What the search knew has been forgotten; now the curve knows it again.
            known = self._from_curve(activity, regions, weights)
            if known is not None:
                return known
        return [(activity, self._potential(activity, answer[0], weights, regions[-1]), 1.0)]

    def _from_curve(
        self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray
    ) -> list[Use] | None:
        """What the budget curve knows at the weights' price, or next to it; None if that is nothing."""
        planner = self._oracle.planners[activity]
        priced = np.flatnonzero(weights[1:]) + 1
        if not planner.priced or weights[0] != 1.0 or len(priced) > 1:
            return None
        price = float(weights[priced].sum())
        index = int(priced[0]) if len(priced) else None
        for forbidden in regions:
            below, above = planner.known_around(price, forbidden)
            if below is None or below is not above:
                continue
            if planner.uses_any(below.plan, regions[-1] - forbidden):
                continue
            return self._between(activity, forbidden, index, price, _lower_end(below), _upper_end(below))
        below, above = planner.known_around(price, regions[-1])
        if below is None and above is None:
            return None
        low: End = (0.0, None) if below is None else _upper_end(below)
        high: End = (inf, None) if above is None else _lower_end(above)
        return self._between(activity, regions[-1], index, price, low, high)

    def _from_larger(
        self, activity: int, regions: Sequence[frozenset[int]], weights: FloatArray
    ) -> list[Use] | None:
        """The plan of the whole activity under these weights, if it lies in the region."""
        planner = self._oracle.planners[activity]
        if np.count_nonzero(weights) > 1 or len(regions) == 1:
            # Weights that come but once are not worth a plan of their own.
            return None
        answer = planner.plan(weights, regions[0])
        if answer is None or planner.uses_any(answer[0], regions[-1]):
            return None
        return [(activity, self._potential(activity, answer[0], weights, regions[0]), 1.0)]

    def _between(
        self,
        activity: int,
        forbidden: frozenset[int],
        index: int | None,
        price: float,
        low: End,
        high: End,
    ) -> list[Use]:
        """The potentials at two prices around `price`, in the shares that make it up.

        Nothing is known at a price without a plan; what costs nothing is known to cost that at least.
        """
        (begin, below), (end, above) = low, high
        if end == inf:
            shares = 1.0, price - begin
        else:
            share = 0.0 if end == begin else (price - begin) / (end - begin)
            shares = 1.0 - share, share
        planner = self._oracle.planners[activity]
        uses: list[Use] = []
        for at, plan, part in ((begin, below, shares[0]), (end, above, shares[1])):
            if plan is None or part <= 0.0:
                continue
            weights = np.zeros(planner.num_costs)
            weights[0] = 1.0 if isfinite(at) else 0.0
            if index is not None:
                # A plan that is best at every higher price is best where that cost alone counts.
                weights[index] = at if isfinite(at) else 1.0
            uses.append((activity, self._potential(activity, plan, weights, forbidden), part))
        return uses

    def _potential(
        self, activity: int, plan: ActivityPlan, weights: FloatArray, forbidden: frozenset[int]
    ) -> int:
        planner: ActivityPlanner = self._oracle.planners[activity]
        key = activity, weights.tobytes(), forbidden
        if key not in self._numbers:
            rows = self._excepted(activity, forbidden)
            values = planner.values_of(plan, weights)
            self._numbers[key] = self._proof.add_potential(activity, weights.tolist(), values, rows)
        return self._numbers[key]

    def _excepted(self, activity: int, forbidden: frozenset[int]) -> list[int]:
        """The activity's own rows that need not hold: what is forbidden, and what nobody can afford."""
        planner = self._oracle.planners[activity]
        return [*planner.original_rows(forbidden), *self._proof.unaffordable(activity)]


def _lower_end(piece: Piece) -> End:
    return piece.low, piece.low_plan or piece.plan


def _upper_end(piece: Piece) -> End:
    return piece.high, piece.high_plan or piece.plan
