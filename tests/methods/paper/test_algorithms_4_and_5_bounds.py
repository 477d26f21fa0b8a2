"""Algorithms 4 and 5: both bounds of a box, against all solutions that lie in it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, lying_in, random_boxes, ways
from brute_force_procedures import brute_force_flat
from enumerated_solutions import enumerate_solutions, procedures
from hcssp.methods.paper import Box, Instance, compute_lb, compute_ub
from hcssp.scenarios.domains.evacuation import small_building
from random_procedures import random_procedure
from volume import some

ITERATIONS = (0, 1, 3, inf)


@pytest.mark.parametrize("seed", some(range(16)))
def test_no_solution_of_a_box_is_cheaper_than_its_lower_bound(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    instance = Instance(problem)
    for box in random_boxes(instance, seed):
        best = solutions.costs[lying_in(box, instance, solutions), 0].min(initial=inf)
        for iterations in ITERATIONS:
            assert compute_lb(instance, box, iterations).value <= best + 1e-7


@pytest.mark.parametrize("seed", some(range(16)))
def test_with_infinite_l_the_lower_bound_is_what_the_paper_says(seed: int) -> None:
    problem = random_procedure(seed)
    instance = Instance(problem)
    likelihoods = procedures(problem)
    for box in random_boxes(instance, seed, count=2):
        primary, secondary = [], []
        for activity, budget in enumerate(instance.activities):
            edges = instance.edges_of(activity)
            costs = brute_force_flat(problem.activities[activity].cssp).costs
            kept = np.all(costs[:, list(budget.counted)] <= box.upper[edges] + 1e-9, axis=1)
            primary.append(costs[kept, 0].min(initial=1e9))
            secondary.append(instance.by_constraint(activity, box.lower[edges]))
        costs = likelihoods @ np.array(primary)
        allowed = np.all(likelihoods @ np.array(secondary) <= problem.bounds + 1e-9, axis=1) & (costs < 1e7)
        expected = costs[allowed].min(initial=inf)
        assert compute_lb(instance, box, inf).value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", some(range(16)))
def test_an_upper_bound_is_the_cost_of_a_feasible_solution(seed: int) -> None:
    problem = random_procedure(seed)
    instance = Instance(problem)
    for box in random_boxes(instance, seed):
        for iterations in ITERATIONS:
            cost, solution = compute_ub(instance, box, iterations)
            if solution is None:
                assert cost == inf
                continue
            assert cost == solution.costs[0]
            assert np.all(solution.costs[1:] <= problem.bounds + 1e-9 * problem.bounds)
            for activity in np.flatnonzero(solution.executions > 0.0):
                use = instance.activities[activity].usage(solution.plans[activity])
                assert np.all(use <= box.upper[instance.edges_of(activity)] + 1e-8)


def test_the_cost_of_one_limit_and_the_use_of_the_other() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0))
    # Both may use 4 and are reckoned to use nothing: twice the fastest way.
    assert compute_lb(instance, Box(np.zeros(2), np.full(2, 4.0)), 0).value == pytest.approx(2.0)
    # With 3.75 each as the least they break the bound of 7.
    assert compute_lb(instance, Box(np.full(2, 3.75), np.full(2, 4.0)), 0).value == inf
    # The incumbents under 4 and 4 use 8, and there is nothing else to choose.
    assert compute_ub(instance, Box(np.zeros(2), np.full(2, 4.0)), 0) == (inf, None)
    cost, solution = compute_ub(instance, Box(np.zeros(2), np.array([4.0, 3.0])), inf)
    assert cost == pytest.approx(7.0)
    assert solution is not None
    assert solution.costs[1] == pytest.approx(7.0)


def test_an_activity_that_cannot_meet_its_limit_is_forbidden_and_the_rest_goes_on() -> None:
    instance = Instance(small_building(3.0))
    box = Box(np.zeros(len(instance.edges)), np.full(len(instance.edges), 3.0))
    free = compute_lb(instance, box, 0)
    used = int(np.flatnonzero(free.executions > 0.0)[0])
    upper = box.upper.copy()
    upper[instance.edges_of(used)] = -1.0
    bound = compute_lb(instance, Box(box.lower, upper), 0)
    assert free.value < bound.value < inf
    assert bound.executions[used] == 0.0
    cost, solution = compute_ub(instance, Box(box.lower, upper), 0)
    assert bound.value <= cost
    assert solution is None or solution.executions[used] == 0.0
