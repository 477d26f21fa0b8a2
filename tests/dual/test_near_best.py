from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.near_best import near_best_plans
from hcssp.scenarios.hazard_grid import hazard_grid
from random_problems import random_cssp
from volume import some


@pytest.mark.parametrize("first", some(range(0, 20, 5)))
def test_they_are_all_there(first: int) -> None:
    found = 0
    for seed in range(first, first + 5):
        problem = random_cssp(seed, max_constraints=1, zero_costs=float(seed % 2))
        planner = ActivityPlanner(
            replace(problem, bounds=np.full_like(problem.bounds, np.inf)), frozenset({1})
        )
        truth = brute_force(planner.prepared.problem)
        rng = np.random.default_rng(seed)
        forbidden = frozenset(rng.integers(0, planner.balance.num_rows, int(rng.integers(0, 2))).tolist())
        avoids = ~(np.isin(truth.policies, list(forbidden)) & (truth.policies != NO_ROW)).any(axis=1)
        price = float(rng.exponential())
        values = (truth.costs @ [1.0, price])[avoids]
        if len(values) == 0:
            assert near_best_plans(planner, forbidden, 1, price, 1e9) == ([], np.inf)
            continue
        limit = float(np.quantile(values, 0.7)) * (1.0 + 1e-9)
        answer = near_best_plans(planner, forbidden, 1, price, limit)
        if answer is None:
            continue
        plans = answer.plans
        # Up to the next one nothing is added.
        assert answer.complete_to >= limit
        if answer.complete_to < np.inf:
            again = near_best_plans(planner, forbidden, 1, price, answer.complete_to)
            assert again is not None
            assert len(again.plans) == len(plans)
        for plan in plans:
            assert plan.cost <= plan.plan.costs[0] * (1.0 + 1e-12)
            assert plan.use <= plan.plan.costs[1] * (1.0 + 1e-12)
            assert plan.cost == pytest.approx(plan.plan.costs[0], rel=1e-7, abs=1e-9)
            assert plan.use == pytest.approx(plan.plan.costs[1], rel=1e-7, abs=1e-9)
        # What is below the limit is among them, or no better than one of them.
        known = np.array([plan.plan.costs for plan in plans])
        for costs in truth.costs[avoids][values < limit * (1.0 - 1e-8)]:
            assert np.any(np.all(np.abs(known - costs) <= 1e-9 * (1.0 + costs), axis=1))
            found += 1
    assert found > 15


def test_too_many_and_too_large_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = ActivityPlanner(hazard_grid(5, 5, seed=1), frozenset({1}))
    assert near_best_plans(grid, frozenset(), 1, 1.0, 1e6) is None
    monkeypatch.setattr("hcssp.dual.near_best.MAX_STATES", 10)
    assert near_best_plans(grid, frozenset(), 1, 1.0, 1e-6) is None
