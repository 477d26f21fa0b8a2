"""Exact solvers and brute force on hundreds of random procedures: cycles, several exits, 1-3 constraints."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.evaluation.exact import evaluate
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from volume import some

CHUNK = 15


def procedure(seed: int) -> HCSSP:
    """One in four is plain; the others have cycles, several exits, or both."""
    return random_procedure(
        seed, cycles=seed % 2 == 1, several_exits=seed % 4 >= 2, num_constraints=1 + seed % 3
    )


def complaints(result: Plan, optimum: float) -> list[str]:
    """Everything that is wrong with a result, in words, so that a failure names all of it."""
    status = Status.OPTIMAL if optimum < inf else Status.INFEASIBLE
    # HiGHS finds the optimum, though its proof is not certified.
    if result.status is not status and result.method != "milp":
        return [f"status {result.status}, not {status} ({result.ending.reason})"]
    found = []
    slack = 1e-9 * (1.0 + optimum) if optimum < inf else 0.0
    if any(
        point.lower_bound > optimum + slack or point.upper_bound < optimum - slack for point in result.trace
    ):
        found.append(f"the interval leaves out {optimum}: {result.trace}")
    if optimum < inf:
        if abs(result.upper_bound - optimum) > 1e-7 * max(1.0, optimum):
            found.append(f"upper bound {result.upper_bound}, not {optimum}")
        evaluation = evaluate(result.problem, result.policy)
        if not evaluation.keeps_bounds():
            found.append(f"the policy breaks its bounds: {evaluation.violations()}")
    return found


FIRST = some((0, 15, 30, 45, 60, 75, 300, 315))


@pytest.mark.parametrize("first", FIRST)
def test_branching_on_the_hierarchy_and_flat_the_integer_program_and_brute_force_agree(first: int) -> None:
    failures = []
    for seed in range(first, first + CHUNK):
        problem = procedure(seed)
        best = brute_force(problem).optimum(problem.bounds)
        optimum = inf if best is None else best[0]
        whole = solve(problem, PolicyBranching(), stop=())
        flat = solve(problem.flattening.cssp, PolicyBranching(), stop=())
        integer = solve(problem, MixedInteger(), stop=())
        results = {"policy branching": whole, "flat": flat, "mixed-integer program": integer}
        for name, result in results.items():
            failures += [f"seed {seed}, {name}: {wrong}" for wrong in complaints(result, optimum)]
        relaxed = [inf if r.stochastic is None else r.stochastic.value for r in (whole, flat)]
        if relaxed[0] != pytest.approx(relaxed[1], rel=1e-7, abs=1e-7):
            failures.append(f"seed {seed}: relaxation {relaxed[0]}, flat {relaxed[1]}")
    assert failures == []


def with_free_steps(problem: HCSSP, rng: np.random.Generator) -> HCSSP:
    """The same procedure with small whole costs, many of them zero: ties and loops without cost."""
    activities = []
    for activity in problem.activities:
        rows = activity.cssp.num_rows
        costs = [rng.choice([0.0, 0.0, 1.0, 2.0, 5.0], size=rows) for _ in activity.cssp.cost_names]
        activities.append(replace(activity, cssp=replace(activity.cssp, costs=np.array(costs))))
    return replace(problem, activities=tuple(activities))


@pytest.mark.parametrize("first", some(range(0, 90, CHUNK), 6))
def test_free_steps_and_bounds_on_the_very_edge_are_no_obstacle(first: int) -> None:
    failures, edges = [], 0
    for seed in range(first, first + CHUNK):
        rng = np.random.default_rng(seed)
        problem = with_free_steps(random_procedure(seed, cycles=seed % 2 == 1, num_constraints=1), rng)
        every = brute_force(problem)
        uses = every.costs[:, 1]
        for bound in (0.0, float(uses.min()), float(rng.choice(uses))):
            bounded = problem.with_bounds({problem.constraints[0].name: bound})
            best = every.optimum(bounded.bounds)
            optimum = inf if best is None else best[0]
            result = solve(bounded, PolicyBranching(), stop=())
            slack = 1e-9 * (1.0 + optimum) if optimum < inf else 0.0
            # At the edge the bound pays for the tolerance, by its price: the gap may stay open a little.
            if optimum == inf:
                wrong = result.status is not Status.INFEASIBLE
            else:
                wrong = abs(result.upper_bound - optimum) > slack or result.lower_bound > optimum + slack
                wrong |= result.lower_bound < optimum - 1e-4 * (1.0 + optimum)
            edges += optimum < inf
            if wrong:
                failures.append(f"seed {seed}, bound {bound}: {result}, not {optimum}")
    assert failures == []
    assert edges > CHUNK


def test_the_procedures_are_of_all_kinds() -> None:
    """Were none infeasible, bound or entangled, the tests above would say little."""
    problems = [procedure(seed) for first in FIRST for seed in range(first, first + CHUNK)]
    assert {problem.num_constraints for problem in problems} == {1, 2, 3}
    count = len(problems)
    entangled = sum(not problem.flattening.separable for problem in problems)
    assert 0.25 * count < entangled < 0.85 * count
    every = [brute_force(problem) for problem in problems]
    optima = [each.optimum(problem.bounds) for each, problem in zip(every, problems, strict=True)]
    assert sum(optimum is None for optimum in optima) > 0.05 * count
    binding = [o for o, each in zip(optima, every, strict=True) if o and o[0] > each.costs[:, 0].min() + 1e-9]
    assert len(binding) > 0.5 * count
