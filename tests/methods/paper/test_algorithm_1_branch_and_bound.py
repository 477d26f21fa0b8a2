"""Algorithm 1 on its own: with boxes whose bounds are made up, so that its every move is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from hcssp.dual.procedure import ProcedurePoint
from hcssp.methods.paper import Box, Instance, branch_and_bound, compute_ub
from hcssp.methods.paper.algorithms import LowerBound, Mode

ROOT = Box(np.zeros(1), np.ones(1))


class Scripted(Mode):
    """Bounds are functions of a box's ends, and boxes are halved until they are an eighth."""

    branches = False

    def __init__(
        self,
        lower: Callable[[float, float], float],
        upper: Callable[[float, float], float] = lambda low, high: inf,
    ) -> None:
        self.instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=4.0))
        self._solution = compute_ub(self.instance, Box(np.zeros(1), np.full(1, 4.0)), 0)[1]
        self._lower, self._upper = lower, upper
        self.examined: list[tuple[float, float]] = []
        self.halved: list[tuple[float, float]] = []
        self.asked_for_suggestions = 0

    def initial_box(self, instance: Instance) -> Box:
        return ROOT

    def compute_ub(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound
    ) -> tuple[float, ProcedurePoint | None]:
        cost = self._upper(float(box.lower[0]), float(box.upper[0]))
        return cost, self._solution if cost < inf else None

    def compute_lb(
        self, instance: Instance, box: Box, iterations: float, parent: LowerBound, cutoff: float
    ) -> LowerBound:
        ends = float(box.lower[0]), float(box.upper[0])
        self.examined.append(ends)
        return LowerBound(self._lower(*ends), np.zeros(1), np.zeros(1))

    def suggestions(
        self, instance: Instance, bound: LowerBound, iterations: float
    ) -> Iterable[ProcedurePoint]:
        self.asked_for_suggestions += 1
        return ()

    def split(
        self, instance: Instance, box: Box, root: Box, bound: LowerBound, iterations: float
    ) -> tuple[Box, ...]:
        low, high = float(box.lower[0]), float(box.upper[0])
        if high - low <= 0.125:
            return ()
        self.halved.append((low, high))
        return box.split(0, 0.5 * (low + high))


def bounds(mode: Scripted, epsilon: float = 0.0, known: float = -inf) -> list[tuple[float, float]]:
    steps = branch_and_bound(mode.instance, ROOT, 0, epsilon, mode, known)
    return [(step.lower_bound, step.upper_bound) for step in steps]


def test_the_box_with_the_least_lower_bound_is_split() -> None:
    # The bound of a box is 1 plus how far it lies from 0.3.
    mode = Scripted(lambda low, high: 1.0 + max(0.0, low - 0.3, 0.3 - high))
    bounds(mode)
    assert mode.halved[:3] == [(0.0, 1.0), (0.0, 0.5), (0.25, 0.5)]
    # Then nothing at 0.3 can be split any more, and the next best comes: 0.05 away.
    assert mode.halved[3:5] == [(0.0, 0.25), (0.5, 1.0)]
    assert mode.examined[:3] == [(0.0, 1.0), (0.0, 0.5), (0.5, 1.0)]


def test_the_global_bounds_are_those_of_the_open_boxes_and_of_the_incumbent() -> None:
    mode = Scripted(lambda low, high: 4.0 + low, lambda low, high: 6.0 - low)
    found = bounds(mode, epsilon=0.9)
    assert found[0] == (4.0, 6.0)
    assert found[1] == (4.0, 5.5)
    # The box from 0 to 1/8 holds the bound back for ever; it is given up, and so is the proof.
    assert found[-1] == (4.0, 5.125)


def test_it_ends_when_the_bounds_are_close_enough() -> None:
    mode = Scripted(lambda low, high: 5.0 - (high - low), lambda low, high: 5.0)
    assert bounds(mode, epsilon=0.3)[-1] == (4.75, 5.0)
    assert mode.halved == [(0.0, 1.0), (0.0, 0.5), (0.5, 1.0)]


def test_no_bound_loosens_whatever_the_parts_say() -> None:
    # Halving lowers this bound and raises the cost, which the paper's formulas would take over.
    mode = Scripted(lambda low, high: 4.0 + (high - low), lambda low, high: 9.0 - (high - low))
    assert set(bounds(mode)) == {(5.0, 8.0)}


def test_what_is_known_before_is_kept() -> None:
    mode = Scripted(lambda low, high: 4.0)
    assert set(bounds(mode, known=4.5)) == {(4.5, inf)}


def test_boxes_that_hold_nothing_are_dropped_and_if_none_is_left_nothing_is_feasible() -> None:
    mode = Scripted(lambda low, high: 3.0 if high - low > 0.5 else inf)
    assert bounds(mode) == [(3.0, inf), (inf, inf)]


def test_boxes_that_cannot_be_better_than_the_incumbent_are_left_alone() -> None:
    mode = Scripted(lambda low, high: 4.0 if low == 0.0 else 7.0, lambda low, high: 6.0 if low else inf)
    bounds(mode)
    assert all(low == 0.0 for low, _ in mode.halved)
    # Only boxes that are worth it are looked at once more for incumbents.
    assert mode.asked_for_suggestions == sum(low == 0.0 for low, _ in mode.examined)


def test_the_incumbent_knows_the_limits_it_was_planned_under() -> None:
    mode = Scripted(lambda low, high: 1.0, lambda low, high: 6.0 if high == 0.5 else inf)
    *_, last = branch_and_bound(mode.instance, ROOT, 0, 0.0, mode)
    assert last.incumbent is not None
    assert last.incumbent.limits == pytest.approx([0.5])
    assert last.examined == len(mode.examined)
