"""More incumbents: feasible, never in the way of a bound, and with nothing left that would buy more."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from enumerated_solutions import enumerate_solutions
from hcssp.methods.paper import Box, Instance, activity_planning, compute_ub
from hcssp.methods.paper.algorithm_4_compute_lb import LowerBound
from hcssp.methods.paper.sharp.limits import sharp_limits
from hcssp.methods.paper.sharp.lower_bound import sharp_lower_bound
from hcssp.methods.paper.sharp.suggestions import spend_the_rest, suggested_solutions
from random_procedures import random_procedure
from volume import some


def rooms(damage: float, count: int = 2) -> Instance:
    return Instance(in_a_row([ways(*THREE_WAYS)] * count, damage), shortcuts=True)


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_every_suggestion_is_feasible(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    optimum = solutions.costs[solutions.feasible(problem.bounds), 0].min(initial=inf)
    instance = Instance(problem, shortcuts=True)
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
    bound = sharp_lower_bound(instance, box, 0)
    costs = [solution.costs.tolist() for solution in suggested_solutions(instance, bound, 0)]
    # One room pays for both: 1 and 4 here, 10 and 0 there.
    assert min(costs) == pytest.approx([11.0, 4.0])
    # With l = inf the way that no dual finds is found with what is left.
    bound = sharp_lower_bound(instance, box, inf)
    costs = [solution.costs.tolist() for solution in suggested_solutions(instance, bound, inf)]
    assert min(costs) == pytest.approx([7.0, 7.0])


def test_the_rest_goes_where_it_saves_most() -> None:
    cheap, dear = ways((5.0, 0.0), (4.0, 2.0)), ways((9.0, 0.0), (2.0, 2.0))
    instance = Instance(in_a_row([cheap, dear], damage=3.0), shortcuts=True)
    plans = [activity_planning(instance, activity, np.zeros(1), inf).plan for activity in range(2)]
    cost, frugal = compute_ub(instance, Box(np.zeros(2), np.zeros(2)), inf)
    assert cost == 14.0
    assert frugal is not None
    spent = spend_the_rest(instance, frugal.choices, plans, inf)
    assert spent.costs.tolist() == [7.0, 2.0]


def test_the_rest_is_spent_room_by_room() -> None:
    instance = rooms(damage=8.0)
    _, frugal = compute_ub(instance, Box(np.zeros(2), np.zeros(2)), 0)
    assert frugal is not None
    assert frugal.costs.tolist() == [20.0, 0.0]
    spent = spend_the_rest(instance, frugal.choices, list(frugal.plans), 0)
    assert spent.costs.tolist() == [2.0, 8.0]


def test_what_breaks_a_bound_has_no_rest() -> None:
    instance = rooms(damage=7.0)
    plans = [activity_planning(instance, activity, np.full(1, 4.0), 0).plan for activity in range(2)]
    _, frugal = compute_ub(instance, Box(np.zeros(2), np.zeros(2)), 0)
    assert frugal is not None
    with pytest.raises(ValueError, match="keeps the bounds"):
        spend_the_rest(instance, frugal.choices, plans, 0)


def test_a_bound_without_a_dual_suggests_nothing() -> None:
    bound = LowerBound(2.0, np.zeros(1), np.ones(2))
    assert list(suggested_solutions(rooms(damage=7.0), bound, 0)) == []
