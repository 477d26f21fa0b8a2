"""Zero-cost loops under weights, with costs in large units: rounding must not look like an improvement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.preprocessing import prepare
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration
from random_problems import random_cssp


@pytest.mark.parametrize("scale", [1e5, 1e8])
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_the_unit_of_a_cost_does_not_matter_where_loops_are_free(first: int, scale: float) -> None:
    failures = []
    for seed in range(first, first + 50):
        problem = prepare(random_cssp(seed, zero_costs=0.5)).problem
        problem = replace(problem, costs=problem.costs * scale)
        costs = brute_force(problem).costs
        solver = PolicyIteration(Balance(problem))
        for index in range(len(problem.cost_names)):
            weights = np.eye(len(problem.cost_names))[index]
            optimum = solver.minimise(weights)
            assert optimum is not None
            least = costs[:, index].min()
            near = np.abs(costs - optimum.costs).max(axis=1).min()
            if near > 1e-8 * scale or optimum.bound > least + 1e-11 * scale:
                failures.append(
                    f"seed {seed}, weights {weights}: {optimum.costs}, {optimum.bound} > {least}?"
                )
    assert failures == []
