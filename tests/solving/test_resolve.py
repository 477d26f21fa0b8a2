"""Solving the same problem again, under other bounds, with all that was learnt."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.progress import FirstPlan, Progress, Target
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.contract.solver import Memory
from hcssp.errors import InvalidProblem
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.ssp.policy_iteration import PolicyIteration
from known_optima import roads
from random_procedures import random_procedure
from small_procedures import retrying
from volume import some


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The best plan under a bound of 2."""
    return solve(small_building(bound=2.0))


@pytest.mark.parametrize("damage", [1.0, 4.0, inf])
def test_it_is_what_a_fresh_search_finds(plan: Plan, damage: float) -> None:
    again = plan.resolve(damage=damage)
    fresh = solve(small_building(bound=damage))
    assert again.problem == fresh.problem
    assert again.status is fresh.status is Status.OPTIMAL
    assert again.upper_bound == pytest.approx(fresh.upper_bound, rel=1e-6)
    assert again.lower_bound <= fresh.upper_bound
    assert again.evaluate().keeps_bounds()


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_and_what_brute_force_finds(seed: int) -> None:
    problem = random_procedure(
        seed, cycles=seed % 2 == 1, several_exits=seed % 3 == 0, num_constraints=1 + seed % 2
    )
    name = problem.constraint_names[0]
    everything = brute_force(problem)
    uses = np.unique(everything.costs[:, 1])
    plan = solve(problem)
    for bound in (float(uses[len(uses) // 2]) + 1e-3, float(uses[0]) + 1e-3, float(uses[-1]) + 1.0, -1.0):
        plan = plan.resolve({name: bound})
        truth = everything.optimum(plan.problem.bounds)
        assert plan.bounds[name] == bound
        if truth is None:
            assert plan.status is Status.INFEASIBLE
            assert not plan.found
        else:
            assert plan.upper_bound == pytest.approx(truth[0], rel=1e-6, abs=1e-9)
            assert plan.lower_bound <= truth[0] + 1e-9 * (1.0 + truth[0])


def test_what_was_learnt_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = 0
    plan_anew = PolicyIteration.minimise

    def counted(*arguments: object, **options: object) -> object:
        nonlocal planned
        planned += 1
        return plan_anew(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PolicyIteration, "minimise", counted)
    plan = solve(small_building(bound=2.0))
    planned = 0
    again = plan.resolve(damage=2.5)
    with_memory, planned = planned, 0
    fresh = solve(small_building(bound=2.5))
    assert 0 < with_memory < planned
    assert again.memory is plan.memory
    assert again.upper_bound == pytest.approx(fresh.upper_bound)


def test_bounds_of_any_name_and_the_options_of_solve() -> None:
    plan = solve(retrying())
    again = plan.resolve({"damage-at-last": 0.0}, damage=17.0, stop=FirstPlan())
    assert again.bounds == {"damage": 17.0, "damage-at-last": 0.0}
    assert again.ending == Ending(Reason.FIRST_PLAN)
    seen: list[Progress] = []
    other = plan.resolve(damage=8.0, method=MixedInteger(), stop=Target(5.75), on_progress=seen.append)
    assert other.method == "milp"
    assert other.ending == Ending(Reason.TARGET)
    assert seen
    with pytest.raises(InvalidProblem, match="bound on 'smoke': no such constraint"):
        plan.resolve(smoke=1.0)


def test_from_a_bound_that_nothing_keeps() -> None:
    nothing = solve(roads(damage=-1.0))
    assert nothing.status is Status.INFEASIBLE
    assert nothing.resolve(damage=4.0).upper_bound == 6.0


def test_under_the_same_bounds_the_proof_is_taken_over() -> None:
    plan = solve(roads(damage=4.0))
    again = plan.resolve()
    assert again == plan
    assert again.iterations == 0


@pytest.mark.parametrize("price", [0.0, 1e-6, 16.0, 1e6])
def test_whatever_prices_it_begins_with_it_ends_alike(plan: Plan, price: float) -> None:
    start = Plan(plan.problem, plan.policy, prices={"damage": price})
    again = solve(plan.problem, start=start, memory=Memory())
    assert again.status is Status.OPTIMAL
    assert again.upper_bound == pytest.approx(plan.upper_bound, rel=1e-6)
    assert again.lower_bound <= plan.upper_bound


def test_prices_of_what_has_no_bound_now_are_forgotten(plan: Plan) -> None:
    free = plan.resolve(damage=inf)
    assert plan.prices is not None
    assert plan.prices["damage"] > 0.0
    assert free.status is Status.OPTIMAL
    assert free.upper_bound == pytest.approx(solve(small_building(bound=inf)).upper_bound, rel=1e-9)
