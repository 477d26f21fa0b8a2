"""The solver: how it ends, what it refuses, what it tells, and on the scenario of the paper."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from brute_force_procedures import brute_force
from hcssp.contract.progress import Gap, MaxIterations
from hcssp.contract.proof import Status
from hcssp.errors import InvalidOption, UnknownName, UnsupportedProblem
from hcssp.methods.paper import MODES, BudgetAllocation, algorithms
from hcssp.methods.paper.solver import ModeName
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios.domains.evacuation import LIKELIHOODS, evacuation, small_building
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from small_procedures import retrying, risky_room
from volume import some


@pytest.mark.parametrize("bound", some([0.2, 2.5], 2))
def test_without_iterations_it_ends_by_itself_and_reports_the_gap_that_remains(bound: float) -> None:
    problem = small_building(bound)
    result = solve(problem, BudgetAllocation(iterations=0), stop=())
    exact = solve(problem, PolicyBranching())
    assert exact.status is Status.OPTIMAL
    assert result.ending.reason in ("converged", "proved")
    assert result.lower_bound <= exact.upper_bound + 1e-9 <= result.upper_bound + 2e-9
    assert (result.ending.reason == "proved") == (result.gap <= 1e-8)


@pytest.mark.parametrize("iterations", [1, inf])
def test_the_first_plan_does_not_wait_for_stage_two(
    iterations: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("stage 2 began before there was a plan")

    monkeypatch.setattr(algorithms, "_stage_two", refuse)
    steps = BudgetAllocation(iterations=iterations).iterate(evacuation(2.0))
    found = next(step for step in steps if step.upper_bound < inf)
    assert found.iterations == 1


def test_epsilon_stops_early() -> None:
    # Two rooms within 7: the bounds of the first box are 4.25 and 7 in the mode sharp.
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    result = solve(problem, BudgetAllocation(iterations=0, epsilon=2.8))
    assert result.ending.reason == "gap"
    assert result.iterations == 1
    assert result.upper_bound - result.lower_bound == pytest.approx(2.75, abs=1e-6)
    assert solve(problem, BudgetAllocation(iterations=0, epsilon=2.7)).iterations > 1


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


def test_the_likelihoods_are_an_input_and_the_lower_bound_covers_what_they_leave_out() -> None:
    problem = evacuation(2.0)
    given = BudgetAllocation(mode="published", likelihoods=LIKELIHOODS)
    result = solve(problem, given, stop=[MaxIterations(1)])
    # With the least likelihoods of the paper there is no plan in the first thousands of boxes.
    assert result.upper_bound == pytest.approx(145.2104, abs=1e-4)
    assert result.lower_bound < 144.9125


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("factor", [0.5, 3.0, 1e6])
def test_whatever_the_likelihoods_are_the_bounds_hold(mode: ModeName, factor: float) -> None:
    problem = small_building(2.0)
    names = [activity.name for activity in problem.activities]
    given = BudgetAllocation(mode=mode, likelihoods=dict.fromkeys(names, factor))
    result = solve(problem, given, stop=[MaxIterations(50)])
    assert result.lower_bound <= 27.719117
    assert result.upper_bound >= 27.719116
    assert result.status is not Status.INFEASIBLE


def test_likelihoods_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"'a' is 0\.0; give a positive number"):
        BudgetAllocation(likelihoods={"a": 0.0})
    with pytest.raises(InvalidOption, match="give a number for each activity's name"):
        BudgetAllocation(likelihoods="a=1")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no activity 'nowhere'"):
        solve(small_building(2.0), BudgetAllocation(likelihoods={"nowhere": 1.0}))
