"""Algorithms 1 and 2: an activity under limits, and the procedure given what activities cost."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from brute_force_procedures import brute_force_flat
from enumerated_solutions import procedures
from hcssp.dual.activity_budget import within
from hcssp.methods.paper import Planning, activity_planning, procedural_planning
from random_procedures import random_procedure

ITERATIONS = (0, 1, 3, inf)


@pytest.mark.parametrize("seed", range(12))
def test_activity_planning_bounds_the_best_plan_within_the_limits(seed: int) -> None:
    problem = random_procedure(seed)
    planning = Planning(problem)
    rng = np.random.default_rng(seed)
    for activity, budget in enumerate(planning.activities):
        costs = brute_force_flat(problem.activities[activity].cssp).costs
        use = costs[:, list(budget.counted)]
        for _ in range(3):
            limits = rng.uniform(0.9 * use.min(axis=0, initial=0.0), 1.1 * use.max(axis=0, initial=1.0))
            best = costs[np.all(use <= limits, axis=1), 0].min(initial=inf)
            last = -inf
            for iterations in ITERATIONS:
                answer = activity_planning(planning, activity, limits, iterations)
                assert last - 1e-9 <= answer.lower_bound <= best + 1e-9
                assert answer.upper_bound >= best - 1e-9
                last = answer.lower_bound
                if answer.plan is not None:
                    assert within(budget.usage(answer.plan), limits)
                    assert answer.plan.costs[0] == answer.upper_bound
            assert answer.lower_bound == pytest.approx(best)
            assert answer.upper_bound == pytest.approx(best)


def test_what_is_the_best_within_larger_limits_is_not_planned_again() -> None:
    planning = Planning(random_procedure(4, num_constraints=1))
    budget = planning.activities[0]
    large = budget.usage(budget.unconstrained) + 5.0
    first = activity_planning(planning, 0, large, inf)
    assert activity_planning(planning, 0, large - 1.0, inf) is first


@pytest.mark.parametrize("seed", range(30))
def test_procedural_planning_bounds_the_best_procedure(seed: int) -> None:
    problem = random_procedure(seed)
    planning = Planning(problem)
    rng = np.random.default_rng(seed)
    primary = rng.uniform(1.0, 9.0, problem.num_activities)
    if seed % 3 == 0:
        primary[rng.integers(len(primary))] = inf
    secondary = rng.uniform(0.0, 3.0, (problem.num_activities, problem.num_constraints))
    ways = procedures(problem)
    possible = ~np.any((ways > 0.0) & np.isinf(primary), axis=1)
    use = ways @ secondary
    costs = np.where(possible, ways @ np.where(np.isinf(primary), 0.0, primary), inf)
    best = costs[np.all(use <= problem.bounds, axis=1)].min(initial=inf)
    last = -inf
    for iterations in ITERATIONS:
        answer = procedural_planning(planning, primary, secondary, iterations)
        assert last - 1e-9 <= answer.lower_bound <= best + 1e-9
        assert answer.upper_bound >= best - 1e-9
        last = answer.lower_bound
        if answer.choices is not None:
            executions = planning.procedure.executions(answer.choices)
            assert np.all(executions @ secondary <= problem.bounds + 1e-9)
            running = executions > 0.0
            assert executions[running] @ primary[running] == pytest.approx(answer.upper_bound)
    assert answer.lower_bound == pytest.approx(best)
    assert answer.upper_bound == pytest.approx(best)
