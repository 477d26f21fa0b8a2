"""Procedures inside procedures, by every method, beside all their policies."""

from __future__ import annotations

from math import inf

import pytest

import hcssp
from brute_force_procedures import brute_force
from random_nestings import random_limits, random_nesting
from volume import some


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize(("depth", "num_constraints"), some([(2, 2), (3, 1), (2, 1), (3, 2)], 2))
def test_methods_agree_with_brute_force(
    depth: int, cycles: bool, several_exits: bool, num_constraints: int
) -> None:
    problem = random_nesting(
        depth, depth=depth, cycles=cycles, several_exits=several_exits, num_constraints=num_constraints
    )
    truth = brute_force(problem).optimum(problem.bounds)
    for method in (hcssp.PolicyBranching(), hcssp.MixedInteger()):
        plan = hcssp.solve(problem, method)
        proves = method.name == "exact"
        if truth is None:
            assert plan.status == "infeasible" or not (proves or plan.found)
        else:
            assert plan.upper_bound == pytest.approx(truth[0], rel=1e-7)
            assert plan.lower_bound <= truth[0] * (1.0 + 1e-9)
            assert plan.lower_bound >= truth[0] * (1.0 - 1e-6) or not proves
            assert plan.evaluate().costs[0] == pytest.approx(truth[0], rel=1e-9)


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("depth", [2, 3])
def test_limits_agree_with_brute_force(depth: int, cycles: bool, several_exits: bool) -> None:
    free, problem = random_limits(1, depth=depth, cycles=cycles, several_exits=several_exits)
    least = inf
    for rows in brute_force(free).rows:
        # The limits are looked at execution by execution, and not as the problem states them.
        found = hcssp.evaluate(problem, hcssp.extend.ProcedurePolicy(problem, rows))
        kept = [(each.usage, each.limit * each.expected_executions) for each in found.limits]
        kept.append((found.cost("damage"), free.constraints[0].at_most))
        if all(used <= allowed * (1 + 1e-9) + 1e-12 for used, allowed in kept):
            least = min(least, float(found.costs[0]))
    plan = hcssp.solve(problem)
    verdict = hcssp.check(problem, plan.certificate, exact=True)
    assert verdict.lower_bound <= least * (1 + 1e-9)
    assert verdict.lower_bound == pytest.approx(least, rel=3e-6)
    assert plan.upper_bound == pytest.approx(least, rel=1e-7)
