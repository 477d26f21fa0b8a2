"""The sharper Compute-LB: below every needed solution, above the paper's, and what it may leave out."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, efficient, in_a_row, lying_in, random_boxes, ways
from enumerated_solutions import enumerate_solutions
from hcssp.methods.paper import Box, Instance, activity_planning, compute_lb
from hcssp.methods.paper.algorithms import LowerBound
from hcssp.methods.paper.sharp import is_dominated, sharp_lower_bound
from random_procedures import random_procedure
from volume import some


@pytest.mark.parametrize("seed", some(range(16)))
def test_no_needed_solution_of_a_box_is_cheaper_than_its_lower_bound(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    instance = Instance(problem, branches=True)
    # A solution with a plan that another one betters in every respect is not needed: the other is as good.
    needed = efficient(instance, solutions)
    for box in random_boxes(instance, seed):
        best = solutions.costs[needed & lying_in(box, instance, solutions), 0].min(initial=inf)
        for iterations in (0, 1, 3, inf):
            sharp = sharp_lower_bound(instance, box, iterations).value
            assert sharp <= best + 1e-7
            if np.isfinite(instance.bounds).sum() <= 1 or iterations == inf:
                assert sharp >= compute_lb(instance, box, iterations).value - 1e-7


def test_no_activity_has_the_cost_of_one_limit_and_the_use_of_the_other() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)] * 2, damage=6.0), branches=True)
    box = Box(np.zeros(2), np.full(2, 4.0))
    assert compute_lb(instance, box, 0).value == pytest.approx(2.0)
    # Three units each on the line from (10, 0) to (1, 4).
    assert sharp_lower_bound(instance, box, 0).value == pytest.approx(2 * 3.25)


def test_only_a_proven_plan_makes_what_costs_more_and_uses_more_superfluous() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=4.0), branches=True)
    # The way that takes 6 and uses 3 lies in this box. The dual does not know it: its incumbent uses nothing.
    box = Box(np.array([1.0]), np.array([3.5]))
    by_dual = activity_planning(instance, 0, box.upper, 0)
    assert instance.activities[0].usage(by_dual.plan) < box.lower
    assert not is_dominated(instance, 0, box, by_dual)
    assert sharp_lower_bound(instance, box, 0).value <= 6.0
    assert sharp_lower_bound(instance, box, inf).value == pytest.approx(6.0)
    # Between 3.2 and 3.5 nothing is needed: that way is proven to be the best there, and lies below.
    empty = Box(np.array([3.2]), np.array([3.5]))
    assert is_dominated(instance, 0, empty, activity_planning(instance, 0, empty.upper, inf))
    assert sharp_lower_bound(instance, empty, inf).value == inf
    # On the face itself it is not below, so the box that has it as its lower end keeps it.
    face = Box(np.array([3.0]), np.array([3.5]))
    assert sharp_lower_bound(instance, face, inf).value == pytest.approx(6.0)


def test_what_holds_for_a_larger_box_holds_for_this_one() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=4.0), branches=True)
    box = Box(np.zeros(1), np.full(1, 4.0))
    parent = LowerBound(1.0 - 1e-3, np.zeros(1), np.zeros(1))
    assert sharp_lower_bound(instance, box, 0, parent).value == pytest.approx(1.0)
    parent = LowerBound(1.5, np.zeros(1), np.zeros(1))
    assert sharp_lower_bound(instance, box, 0, parent).value == 1.5
