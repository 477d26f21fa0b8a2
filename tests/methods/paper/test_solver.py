"""The solver: how it ends, what it refuses, what it tells, and on the scenario of the paper."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from brute_force_procedures import brute_force
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap
from hcssp.errors import UnsupportedProblem
from hcssp.methods.paper import MODES, BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios.evacuation import evacuation, small_building
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from small_procedures import retrying, risky_room
from volume import some


@pytest.mark.parametrize("bound", some([0.2, 2.5], 2))
def test_without_iterations_it_ends_and_reports_the_gap_that_remains(bound: float) -> None:
    problem = small_building(bound)
    result = solve(problem, BudgetAllocation(iterations=0))
    exact = solve(problem, PolicyBranching())
    assert exact.status is Status.OPTIMAL
    assert result.ending.reason in ("converged", "proved")
    assert result.lower_bound <= exact.upper_bound + 1e-9 <= result.upper_bound + 2e-9
    assert (result.ending.reason == "proved") == (result.gap <= 1e-8)


def test_epsilon_stops_early() -> None:
    # Two rooms within 7: the bounds of the first box are 4.25 and 11 in the mode sharp.
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    result = solve(problem, BudgetAllocation(iterations=0, epsilon=6.8))
    assert result.ending.reason == "gap"
    assert result.iterations == 1
    assert result.upper_bound - result.lower_bound == pytest.approx(6.75)
    assert solve(problem, BudgetAllocation(iterations=0, epsilon=6.7)).iterations > 1


@pytest.mark.parametrize("mode", MODES)
def test_an_infeasible_bound_is_proved(mode: Any) -> None:
    result = solve(small_building(-1.0), BudgetAllocation(mode=mode))
    assert result.status is Status.INFEASIBLE
    assert result.message


@pytest.mark.parametrize("mode", MODES)
def test_without_bounds_it_is_the_unconstrained_optimum(mode: Any) -> None:
    problem = small_building(inf)
    result = solve(problem, BudgetAllocation(mode=mode))
    assert result.status is Status.OPTIMAL
    assert result.iterations == 1


@pytest.mark.parametrize("mode", MODES)
def test_the_budgets_are_those_of_the_activities_that_run(mode: Any) -> None:
    problem = small_building(1.0)
    result = solve(problem, BudgetAllocation(mode=mode), [Gap(1.0)])
    running = [each for each in result.evaluation.activities if each.expected_executions > 0.0]
    assert set(result.budgets) == {each.name for each in running}
    for each in running:
        assert each.usage_per_execution["damage"] <= result.budgets[each.name]["damage"] + 1e-6


@pytest.mark.parametrize("mode", MODES)
def test_a_procedure_may_lead_back(mode: Any) -> None:
    # Both rooms are executed 1.25 and 1 times; within 8 damage only the last can be dashed through.
    result = solve(retrying().with_bounds({"damage": 8.0}), BudgetAllocation(iterations=inf, mode=mode))
    assert result.upper_bound == pytest.approx(5.75)
    assert result.lower_bound == pytest.approx(5.75, rel=1e-6)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_with_cycles_it_is_the_optimum_of_brute_force(seed: int) -> None:
    problem = random_procedure(seed, cycles=True)
    best = brute_force(problem).optimum(problem.bounds)
    result = solve(problem, BudgetAllocation(iterations=inf))
    if best is None:
        assert result.status is Status.INFEASIBLE
    else:
        assert result.upper_bound == pytest.approx(best[0], rel=1e-7)
        assert result.lower_bound == pytest.approx(best[0], rel=1e-6)


def test_a_flat_problem_is_referred_to_another_method() -> None:
    with pytest.raises(UnsupportedProblem, match="has none"):
        solve(risky_room(), BudgetAllocation())


@pytest.mark.parametrize(
    ("damage", "stochastic_optimum", "above"),
    some(
        [
            (2.0, 144.702, 0.0035),
            (10.0, 142.183, 0.0004),
            (0.01, 145.709, 0.00005),
            (0.1, 145.635, 0.0005),
            (1.0, 145.114, 0.0007),
            (5.0, 143.484, 0.005),
            (8.0, 142.683, 0.0045),
        ]
    ),
)
def test_the_first_plan_of_the_evacuation_is_as_good_as_the_papers(
    damage: float, stochastic_optimum: float, above: float
) -> None:
    result = solve(evacuation(damage), BudgetAllocation(iterations=0), [Gap(5e-3)])
    assert result.ending.reason == "gap"
    assert result.evaluation.costs[1] <= damage * (1.0 + 1e-9)
    assert result.stochastic is not None
    assert result.stochastic.value == pytest.approx(stochastic_optimum, abs=6e-4)
    assert result.lower_bound == pytest.approx(result.stochastic.value, abs=1e-5)
    assert result.upper_bound <= result.stochastic.value * (1.0 + above)
    assert np.isfinite(result.gap)
