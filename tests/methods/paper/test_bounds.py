"""Algorithms 3 and 4: both bounds of a box, against all solutions that lie in it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from enumerated_solutions import Solutions, enumerate_solutions
from hcssp.cssp.model import BoolArray
from hcssp.dual.ascent import maximise
from hcssp.methods.paper import Box, Planning, compute_lb, compute_ub, initial_box
from hcssp.scenarios.evacuation import small_building
from hcssp.ssp.region import Region
from random_procedures import random_procedure

ITERATIONS = (0, 1, 3, inf)


def lying_in(box: Box, planning: Planning, solutions: Solutions) -> BoolArray:
    inside = solutions.feasible(planning.bounds)
    for edge, (activity, index) in enumerate(planning.edges):
        use = solutions.usage[:, activity, index]
        inside &= np.isnan(use) | ((use >= box.lower[edge]) & (use <= box.upper[edge]))
    return inside


def efficient(planning: Planning, solutions: Solutions) -> BoolArray:
    """Which solutions run only plans that no other plan of the same activity betters."""
    needed = np.ones(len(solutions.costs), dtype=np.bool_)
    for activity, budget in enumerate(planning.activities):
        own = solutions.usage[:, activity, [0, *budget.counted]]
        plans = np.unique(own[~np.isnan(own[:, 0])], axis=0)
        for plan in plans:
            if np.any(np.all(plans <= plan + 1e-9, axis=1) & np.any(plans < plan - 1e-8, axis=1)):
                needed &= ~np.all(own == plan, axis=1)
    return needed


def random_boxes(planning: Planning, rng: np.random.Generator) -> list[Box]:
    root = initial_box(planning, "sharp")
    boxes = [root]
    for _ in range(3):
        ends = np.sort(
            rng.uniform(root.lower, np.maximum(root.lower, root.upper), (2, len(root.lower))), axis=0
        )
        narrow = rng.random(len(root.lower)) < 0.6
        boxes.append(Box(np.where(narrow, ends[0], root.lower), np.where(narrow, ends[1], root.upper)))
    return boxes


@pytest.mark.parametrize("seed", range(24))
def test_no_solution_of_a_box_is_cheaper_than_its_lower_bound(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    planning = Planning(problem)
    # A solution with a plan that another one betters in every respect is not needed: the other is as good.
    needed = efficient(planning, solutions)
    for box in random_boxes(planning, np.random.default_rng(seed)):
        best = solutions.costs[needed & lying_in(box, planning, solutions), 0].min(initial=inf)
        for iterations in ITERATIONS:
            paper = compute_lb(planning, box, iterations, "paper").value
            sharp = compute_lb(planning, box, iterations, "sharp").value
            assert max(paper, sharp) <= best + 1e-7
            if len(planning.constraints) <= 1 or iterations == inf:
                assert sharp >= paper - 1e-7


@pytest.mark.parametrize("seed", range(24))
def test_an_upper_bound_is_the_cost_of_a_feasible_solution(seed: int) -> None:
    problem = random_procedure(seed)
    planning = Planning(problem)
    for box in random_boxes(planning, np.random.default_rng(seed)):
        for iterations in ITERATIONS:
            cost, solution = compute_ub(planning, box, iterations)
            if solution is None:
                assert cost == inf
                continue
            assert cost == solution.costs[0]
            assert np.all(solution.costs[1:] <= problem.bounds + 1e-9 * np.maximum(1.0, problem.bounds))
            for activity in np.flatnonzero(solution.executions > 0.0):
                use = planning.activities[activity].usage(solution.plans[activity])
                assert np.all(use <= box.upper[planning.edges_of(activity)] + 1e-8)


@pytest.mark.parametrize("bound", [0.3, 1.0, 3.0])
def test_without_limits_the_sharp_bound_is_the_optimum_over_randomised_policies(bound: float) -> None:
    planning = Planning(small_building(bound))
    everything = Box(np.zeros(len(planning.edges)), np.full(len(planning.edges), 1e6))
    dual = maximise(planning.oracle, Region())
    assert compute_lb(planning, everything, 0).value == pytest.approx(dual.bound, abs=1e-7)
    root = compute_lb(planning, initial_box(planning, "sharp"), 0).value
    assert root >= dual.bound - 1e-7


def test_an_activity_that_cannot_meet_its_limit_is_forbidden_and_the_rest_goes_on() -> None:
    planning = Planning(small_building(3.0))
    box = initial_box(planning, "sharp")
    free = compute_lb(planning, box, 0)
    used = int(np.flatnonzero(free.executions > 0.0)[0])
    upper = box.upper.copy()
    upper[planning.edges_of(used)] = -1.0
    bound = compute_lb(planning, Box(box.lower, upper), 0)
    assert free.value < bound.value < inf
    assert bound.executions[used] == 0.0
