"""Algorithm 5 and the solver: against brute force, for every l, and on the scenario of the paper."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap, MaxIterations
from hcssp.errors import UnknownName, UnsupportedProblem
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP
from hcssp.scenarios.evacuation import evacuation, small_building
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from small_procedures import forking, retrying, risky_room

SEEDS = range(160)


@cache
def instance(seed: int) -> tuple[HCSSP, float]:
    problem = random_procedure(seed)
    best = brute_force(problem).optimum(problem.bounds)
    return problem, inf if best is None else best[0]


def run(problem: HCSSP, solver: BudgetAllocation, most: int, optimum: float) -> Plan:
    """Solve, checking that every interval is sound and none is wider than the one before."""
    steps: list[Progress] = []
    result = solve(problem, solver, [MaxIterations(most)], steps.append)
    tolerance = 1e-7 * (1.0 + (abs(optimum) if optimum < inf else 0.0))
    for step in steps:
        assert step.lower_bound <= optimum + tolerance
        assert step.upper_bound >= optimum - tolerance
    for before, after in pairwise(steps):
        assert after.lower_bound >= before.lower_bound
        assert after.upper_bound <= before.upper_bound
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_with_infinite_iterations_it_is_the_optimum(seed: int) -> None:
    problem, optimum = instance(seed)
    result = run(problem, BudgetAllocation(iterations=inf), 10_000, optimum)
    if optimum == inf:
        assert result.status is Status.INFEASIBLE
    else:
        assert result.status is Status.OPTIMAL
        assert result.upper_bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)
        assert result.lower_bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_interval_is_sound_whatever_the_iterations(seed: int) -> None:
    problem, optimum = instance(seed)
    # Each number of iterations on a third of the procedures keeps traces long and the tests short.
    run(problem, BudgetAllocation(iterations=(0, 1, 3)[seed % 3]), 9, optimum)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_interval_of_the_papers_own_bounds_is_sound(seed: int) -> None:
    problem, optimum = instance(seed)
    iterations = (0, 1, 3, inf)[seed % 4]
    run(problem, BudgetAllocation(iterations, lower_bound="paper", limits="paper"), 9, optimum)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("lower_bound", "limits"), [("paper", "sharp"), ("sharp", "paper")])
def test_bounds_and_limits_can_be_chosen_apart(seed: int, lower_bound: str, limits: str) -> None:
    problem, optimum = instance(seed)
    result = run(problem, BudgetAllocation(inf, lower_bound, limits), 40, optimum)
    if result.ending.reason == "proved":
        assert result.upper_bound == pytest.approx(optimum)


@pytest.mark.parametrize("bound", [0.2, 1.0, 2.5])
def test_without_iterations_it_ends_and_reports_the_gap_that_remains(bound: float) -> None:
    problem = small_building(bound)
    result = solve(problem, BudgetAllocation(iterations=0), stop=())
    exact = solve(problem, PolicyBranching(), stop=())
    assert exact.status is Status.OPTIMAL
    assert result.ending.reason in ("converged", "proved")
    assert result.lower_bound <= exact.upper_bound + 1e-9 <= result.upper_bound + 2e-9
    assert (result.ending.reason == "proved") == (result.gap <= 1e-8)


def test_epsilon_stops_early() -> None:
    problem = small_building(1.0)
    result = solve(problem, BudgetAllocation(iterations=inf, epsilon=5.0), stop=())
    assert result.ending.reason in ("gap", "proved")
    assert result.upper_bound - result.lower_bound <= 5.0


@pytest.mark.parametrize("lower_bound", ["sharp", "paper"])
def test_an_infeasible_bound_is_proved(lower_bound: str) -> None:
    result = solve(small_building(-1.0), BudgetAllocation(lower_bound=lower_bound), stop=())
    assert result.status is Status.INFEASIBLE


@pytest.mark.parametrize("lower_bound", ["sharp", "paper"])
def test_without_bounds_it_is_the_unconstrained_optimum(lower_bound: str) -> None:
    problem = small_building(inf)
    result = solve(problem, BudgetAllocation(lower_bound=lower_bound), stop=())
    assert result.status is Status.OPTIMAL
    assert result.iterations == 1


def test_the_budgets_are_those_of_the_activities_that_run() -> None:
    problem = small_building(1.0)
    result = solve(problem, BudgetAllocation(), [MaxIterations(3)])
    running = [each for each in result.as_procedure().costs.activities if each.expected_executions > 0.0]
    assert set(result.budgets) == {each.name for each in running}
    for each in running:
        assert each.usage_per_execution["damage"] <= result.budgets[each.name]["damage"] + 1e-6


def test_a_procedure_with_a_cycle_is_referred_to_another_method() -> None:
    with pytest.raises(UnsupportedProblem, match=r"cycle.*'start'.*'exact'"):
        solve(retrying(), BudgetAllocation())


def test_exits_that_decide_what_follows_are_referred_to_another_method() -> None:
    with pytest.raises(UnsupportedProblem, match=r"entered in one state.*'exact'"):
        solve(forking(), BudgetAllocation())


def test_a_flat_problem_is_referred_to_another_method() -> None:
    with pytest.raises(UnsupportedProblem, match="has none"):
        solve(risky_room(), BudgetAllocation())


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(UnknownName, match="lower bound 'shrap'; did you mean 'sharp'"):
        BudgetAllocation(lower_bound="shrap")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="kind of limits 'none'"):
        BudgetAllocation(limits="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("damage", "stochastic_optimum", "above"),
    [
        (0.01, 145.709, 0.00005),
        (0.1, 145.635, 0.0005),
        (1.0, 145.114, 0.0007),
        (2.0, 144.702, 0.0035),
        (5.0, 143.484, 0.005),
        (8.0, 142.683, 0.0045),
        (10.0, 142.183, 0.0004),
    ],
)
def test_the_first_plan_of_the_evacuation_is_as_good_as_the_papers(
    damage: float, stochastic_optimum: float, above: float
) -> None:
    result = solve(evacuation(damage), BudgetAllocation(iterations=0), [Gap(5e-3)])
    assert result.ending.reason == "gap"
    assert result.evaluate().costs[1] <= damage * (1.0 + 1e-9)
    assert result.stochastic is not None
    assert result.stochastic.value == pytest.approx(stochastic_optimum, abs=6e-4)
    assert result.lower_bound == pytest.approx(result.stochastic.value, abs=1e-5)
    assert result.upper_bound <= result.stochastic.value * (1.0 + above)
    assert np.isfinite(result.gap)
