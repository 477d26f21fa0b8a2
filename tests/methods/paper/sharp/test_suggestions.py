"""More incumbents: feasible solutions that exist, and better than those of the whole budget."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from enumerated_solutions import enumerate_solutions
from hcssp.methods.paper import Instance, compute_ub
from hcssp.methods.paper.algorithms import LowerBound
from hcssp.methods.paper.sharp import sharp_limits, sharp_lower_bound, suggested_solutions
from random_procedures import random_procedure
from volume import some


def rooms(damage: float, count: int = 2) -> Instance:
    return Instance(in_a_row([ways(*THREE_WAYS)] * count, damage), branches=True)


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_every_suggestion_is_feasible(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    optimum = solutions.costs[solutions.feasible(problem.bounds), 0].min(initial=inf)
    instance = Instance(problem, branches=True)
    for iterations in (0, 3):
        bound = sharp_lower_bound(instance, sharp_limits(instance), iterations)
        for solution in suggested_solutions(instance, bound, iterations):
            assert np.all(solution.costs[1:] <= problem.bounds + 1e-9 * problem.bounds)
            assert solution.costs[0] >= optimum - 1e-9
            # It is one of all the solutions there are, not an average of some.
            assert np.isclose(solutions.costs, solution.costs, atol=1e-8).all(axis=1).any()


def test_the_shares_of_the_dual_find_what_the_whole_budget_does_not() -> None:
    instance = rooms(damage=7.0)
    box = sharp_limits(instance)
    assert compute_ub(instance, box, 0) == (inf, None)
    for iterations in (0, inf):
        bound = sharp_lower_bound(instance, box, iterations)
        costs = [solution.costs.tolist() for solution in suggested_solutions(instance, bound, iterations)]
        # One room takes the way that no dual finds.
        assert min(costs) == pytest.approx([7.0, 7.0])


def test_the_rest_of_the_budget_is_spent_room_by_room() -> None:
    instance = rooms(damage=8.0)
    bound = sharp_lower_bound(instance, sharp_limits(instance), 0)
    costs = [solution.costs.tolist() for solution in suggested_solutions(instance, bound, 0)]
    assert min(costs) == pytest.approx([2.0, 8.0])


def test_a_bound_without_a_dual_suggests_nothing() -> None:
    bound = LowerBound(2.0, np.zeros(1), np.ones(2))
    assert list(suggested_solutions(rooms(damage=7.0), bound, 0)) == []
