"""Budget allocation where exits tie activities together, and where uses have limits, against brute force."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from brute_force_procedures import brute_force
from hcssp.contract.progress import MaxIterations
from hcssp.contract.proof import Status
from hcssp.methods.paper import MODES, BudgetAllocation, BudgetParameters
from hcssp.procedure.model import HCSSP
from hcssp.solving.solve import solve
from random_nestings import random_tied
from small_procedures import drone, fork_in_the_middle, forking


@pytest.mark.parametrize(
    ("seed", "mode"), [*((seed, "sharp") for seed in range(16)), *((seed, "published") for seed in range(8))]
)
def test_it_is_the_optimum_of_brute_force(seed: int, mode: Any) -> None:
    problem = random_tied(seed)
    best = brute_force(problem).optimum(problem.bounds)
    told = []
    solver = BudgetAllocation(iterations=inf, mode=mode)
    result = solve(problem, solver, MaxIterations(300 if mode == "sharp" else 20), on_progress=told.append)
    if best is None:
        assert result.status is Status.INFEASIBLE
        return
    assert all(step.lower_bound <= best[0] * (1.0 + 1e-8) for step in told)
    assert result.upper_bound >= best[0] * (1.0 - 1e-9)
    # The paper's halvings take longer than a test may.
    if mode == "sharp":
        assert result.upper_bound == pytest.approx(best[0], rel=1e-7)
        assert result.lower_bound == pytest.approx(best[0], rel=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("problem", [forking(), drone()], ids=["forking", "drone"])
def test_without_iterations_the_interval_holds(problem: HCSSP, mode: Any) -> None:
    best = brute_force(problem).optimum(problem.bounds)
    result = solve(problem, BudgetAllocation(mode=mode), MaxIterations(9))
    assert best is not None
    assert result.lower_bound <= best[0] <= result.upper_bound + 1e-9
    assert result.evaluation.costs[1] <= problem.bounds[0] * (1.0 + 1e-9)


def test_a_group_has_one_budget_and_the_others_their_own() -> None:
    # Dashing in the first and the last room takes 2 and 8 damage each; nothing is left for the fork.
    result = solve(fork_in_the_middle(17.0), BudgetAllocation(iterations=inf))
    assert result.status is Status.OPTIMAL
    assert set(result.budgets) <= {"first", "last", "choose + walk", "detour"}
    assert {"first", "last"} < set(result.budgets)


def test_a_proof_that_takes_long_is_brought_on_box_by_box() -> None:
    told = []
    solver = BudgetAllocation(iterations=inf, parameters=BudgetParameters(proof_steps=1))
    result = solve(drone(), solver, on_progress=told.append)
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(25.4)
    # The same box again and again; with larger portions one look is enough.
    assert result.iterations > 1
    assert solve(drone(), BudgetAllocation(iterations=inf)).iterations == 1
