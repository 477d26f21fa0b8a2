"""Procedures inside procedures, by every method, beside all their policies."""

from __future__ import annotations

import pytest

import hcssp
from brute_force_procedures import brute_force
from random_nestings import random_nesting


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("num_constraints", [1, 2])
def test_methods_agree_with_brute_force(
    depth: int, cycles: bool, several_exits: bool, num_constraints: int
) -> None:
    problem = random_nesting(
        depth, depth=depth, cycles=cycles, several_exits=several_exits, num_constraints=num_constraints
    )
    truth = brute_force(problem).optimum(problem.bounds)
    for method in (hcssp.PolicyBranching(), hcssp.MixedInteger()):
        plan = hcssp.solve(problem, method)
        if truth is None:
            assert plan.status == "infeasible"
        else:
            assert plan.upper_bound == pytest.approx(truth[0], rel=1e-7)
            assert plan.lower_bound == pytest.approx(truth[0], rel=1e-6)
            assert plan.evaluate().costs[0] == pytest.approx(truth[0], rel=1e-9)
