"""The random suites once more, with caches that hold two things: the same answers, by more work."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

import hcssp
from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.contract.solver import Solver
from hcssp.cssp.model import CSSP
from hcssp.methods.anytime import Anytime
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure.model import HCSSP
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

PACKAGE = Path(hcssp.__file__).parent

pytestmark = pytest.mark.usefixtures("tiny_caches")


def complaints(result: Plan, optimum: float) -> list[str]:
    """What is wrong with a result of a method that proves the optimum."""
    status = Status.OPTIMAL if optimum < inf else Status.INFEASIBLE
    if result.status is not status:
        return [f"{result.status} ({result.ending}), not {status}"]
    slack = 1e-9 * (1.0 + optimum) if optimum < inf else 0.0
    outside = [point for point in result.trace if not point[1] - slack <= optimum <= point[2] + slack]
    found = [f"{optimum} is not in {outside}"] if outside else []
    if optimum < inf and abs(result.upper_bound - optimum) > 1e-7 * max(1.0, optimum):
        found.append(f"{result.upper_bound}, not {optimum}")
    return found


@pytest.mark.parametrize("solver", [PolicyBranching(), Anytime()], ids=lambda solver: solver.name)
def test_single_problems(solver: Solver) -> None:
    failures = []
    for seed in some(range(20), 2):
        problem = random_cssp(seed)
        wrong = complaints(solve(problem, solver, stop=()), brute_force(problem).value)
        failures += [f"seed {seed}: {each}" for each in wrong]
    assert failures == []


def optimum_of(problem: HCSSP) -> float:
    best = brute_force_procedure(problem).optimum(problem.bounds)
    return inf if best is None else best[0]


@pytest.mark.parametrize("num_constraints", [1, 2])
def test_procedures(num_constraints: int) -> None:
    failures = []
    for seed in some(range(20), 2):
        problem = random_procedure(
            seed, cycles=seed % 2 == 0, several_exits=seed % 5 == 0, num_constraints=num_constraints
        )
        wrong = complaints(solve(problem, PolicyBranching(), stop=()), optimum_of(problem))
        failures += [f"seed {seed}: {each}" for each in wrong]
    assert failures == []


def test_budget_allocation() -> None:
    failures = []
    for seed in some(range(8), 2):
        problem = random_procedure(seed, num_constraints=1 + seed % 2)
        wrong = complaints(solve(problem, BudgetAllocation(iterations=inf), stop=()), optimum_of(problem))
        failures += [f"seed {seed}: {each}" for each in wrong]
    assert failures == []


def test_a_curve_whose_points_share_what_is_kept() -> None:
    failures = []
    for seed in some(range(6), 2):
        problem: CSSP | HCSSP = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=1)
        name = problem.constraint_names[0]
        every = brute_force_procedure(problem)
        low, high = float(every.costs[:, 1].min()), float(every.costs[:, 1].max())
        curve = trade_off(problem, name, [low + share * (high - low) for share in (0.1, 0.3, 0.7)], gap=1e-7)
        for point in curve.points:
            best = every.optimum(problem.with_bounds({name: point.bound}).bounds)
            optimum = inf if best is None else best[0]
            slack = 1e-9 * (1.0 + optimum)
            if not point.lower_bound - slack <= optimum <= point.upper_bound + slack:
                failures.append(f"seed {seed}: {optimum} is not in {point}")
    assert failures == []
