"""Splits of the mode sharp: which edge, where, and that they separate what Activity-Planning finds."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, lying_in, ways
from enumerated_solutions import enumerate_solutions
from hcssp import MaxIterations, Status, solve
from hcssp.methods.paper import Box, BudgetAllocation, Instance, activity_planning
from hcssp.methods.paper.algorithms import LowerBound
from hcssp.methods.paper.sharp import (
    sharp_limits,
    sharp_lower_bound,
    split_at_incumbent,
)
from hcssp.scenarios import small_building
from random_procedures import random_procedure
from volume import some

ROOT = Box(np.zeros(2), np.full(2, 4.0))


def two_rooms(*executions: float) -> tuple[Instance, LowerBound]:
    """Two rooms with three ways each, and a bound that is carried by so many executions of each."""
    instance = Instance(in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0), branches=True)
    return instance, LowerBound(0.0, np.zeros(1), np.array(executions))


def test_the_edge_is_the_longest_in_what_counts() -> None:
    instance, bound = two_rooms(0.4, 0.6)
    left, _ = split_at_incumbent(instance, ROOT, ROOT, bound, inf)
    assert left.upper[0] == 4.0
    assert left.upper[1] < 4.0
    # Nothing is gained on the edge of an activity that the bound does not rest on.
    instance, bound = two_rooms(0.4, 0.0)
    left, _ = split_at_incumbent(instance, ROOT, ROOT, bound, inf)
    assert left.upper[0] < 4.0
    assert left.upper[1] == 4.0


def test_the_face_lies_where_an_incumbent_does() -> None:
    instance, bound = two_rooms(1.0, 0.0)
    # Under the midpoint of 1 and 4 nothing uses more than 1, so the incumbent under 4 is not found there.
    box = Box(np.array([1.0, 0.0]), ROOT.upper)
    left, right = split_at_incumbent(instance, box, ROOT, bound, 0)
    assert left.upper[0] == right.lower[0] == 2.5
    assert activity_planning(instance, 0, left.upper[:1], 0).upper_bound == 10.0
    # Between 2.5 and 4 the way that uses 3 is the best under the midpoint, if it is found at all.
    box = Box(np.array([2.5, 0.0]), ROOT.upper)
    left, right = split_at_incumbent(instance, box, ROOT, bound, inf)
    assert left.upper[0] == right.lower[0] == 3.0


def test_where_incumbents_cannot_be_told_apart_nothing_is_split() -> None:
    instance, bound = two_rooms(1.0, 1.0)
    box = Box(np.full(2, 1.0), np.full(2, 3.5))
    # With l = 0 the incumbent under 3.5 uses nothing, which is below both lower limits.
    assert split_at_incumbent(instance, box, ROOT, bound, 0) == ()


def test_an_edge_without_an_incumbent_is_halved_until_it_is_short() -> None:
    room = ways((10.0, 2.0), (1.0, 4.0))
    instance = Instance(in_a_row([room], damage=4.0), branches=True)
    bound = LowerBound(0.0, np.zeros(1), np.ones(1))
    root = Box(np.zeros(1), np.ones(1))
    left, right = split_at_incumbent(instance, root, root, bound, 0)
    assert left.upper[0] == right.lower[0] == 0.5
    short = Box(np.zeros(1), np.full(1, instance.parameters.shortest_halved_edge))
    assert split_at_incumbent(instance, short, root, bound, 0) == ()


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_no_solution_is_lost_between_the_parts(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    instance = Instance(problem, branches=True)
    box = root = sharp_limits(instance)
    for _ in range(4):
        bound = sharp_lower_bound(instance, box, 0)
        parts = split_at_incumbent(instance, box, root, bound, 0)
        if not parts:
            break
        left, right = (lying_in(part, instance, solutions) for part in parts)
        assert np.array_equal(left | right, lying_in(box, instance, solutions))
        box = parts[seed % 2]


def test_l_is_raised_where_a_gap_remains() -> None:
    # With l = 0 alone, most of the interval would stay open.
    result = solve(small_building(2.0), BudgetAllocation(), stop=[MaxIterations(400)])
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(27.719117, abs=1e-6)
