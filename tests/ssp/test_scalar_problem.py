from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.scalar_problem import FREE_COST, ROUNDING_SHARE, SWITCH_TOLERANCE, ScalarProblem
from random_problems import random_cssp


def two_ways(short: float = 2.0, long: float = 5.0, loop: float = 1.0) -> CSSP:
    """One state with a short and a long way out, and a loop."""
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "short", to=out, costs=short)
    plan.add_action(here, "long", to=out, costs=long)
    plan.add_action(here, "again", to=here, costs=loop)
    return plan.build()


def scalar(problem: CSSP, allowed: list[bool] | None = None) -> ScalarProblem:
    return ScalarProblem(Balance(problem), np.ones(1), None if allowed is None else np.array(allowed))


def test_reduced_costs_are_what_rows_cost_more_than_the_value_says() -> None:
    estimate = scalar(two_ways()).estimate(np.array([2.0]))
    assert estimate.reduced.tolist() == [0.0, 3.0, 1.0]
    assert estimate.least.tolist() == [0.0]
    estimate = scalar(two_ways(), [False, True, True]).estimate(np.array([6.0]))
    assert estimate.reduced.tolist() == [np.inf, -1.0, 1.0]
    assert estimate.least.tolist() == [-1.0]


def test_only_allowed_rows_decide_whether_every_step_costs() -> None:
    problem = two_ways(loop=0.0)
    assert not scalar(problem).every_step_costs
    assert scalar(problem, [True, True, False]).every_step_costs
    nearly = two_ways(short=0.5 * FREE_COST, long=1.0, loop=1.0)
    assert not scalar(nearly).every_step_costs
    assert scalar(two_ways(short=2.0 * FREE_COST, long=1.0, loop=1.0)).every_step_costs


def test_a_state_is_improvable_beyond_the_tolerance_only() -> None:
    problem = scalar(two_ways())
    tolerance = (SWITCH_TOLERANCE + ROUNDING_SHARE) * 2.0
    assert not problem.improvable(problem.estimate(np.array([2.0 + 0.9 * tolerance]))).any()
    assert problem.improvable(problem.estimate(np.array([2.0 + 1.1 * tolerance]))).all()
    # Of values that are not the policy's own, only differences between rows count.
    high = problem.estimate(np.array([100.0]))
    assert problem.improvable(high).all()
    assert not problem.improvable(high, rows=np.array([0])).any()
    low = problem.estimate(np.array([1.0]))
    assert not problem.improvable(low).any()
    assert problem.improvable(low, rows=np.array([1])).all()


def test_a_precision_says_what_may_be_left_alone() -> None:
    problem = scalar(two_ways())
    estimate = problem.estimate(np.array([2.1]))
    assert problem.is_within(estimate, 0.06)
    assert not problem.is_within(estimate, 0.04)
    assert not problem.is_within(problem.estimate(np.array([1.0])), 0.0)


@pytest.mark.parametrize("noise", [0.0, 1e-10, 1e-4, 0.3])
@pytest.mark.parametrize("zero_costs", [0.0, 0.5])
def test_the_lower_bound_is_below_every_policy_of_the_region(noise: float, zero_costs: float) -> None:
    tight = 0
    for seed in range(40):
        problem = prepare(random_cssp(seed, zero_costs=zero_costs)).problem
        truth = brute_force(problem)
        balance = Balance(problem)
        rng = np.random.default_rng(seed)
        weights = np.append(1.0, rng.choice([0.0, 0.5, 3.0], problem.num_constraints))
        allowed = rng.random(problem.num_rows) < 0.8
        used = np.where(truth.policies == NO_ROW, problem.num_rows, truth.policies)
        weighted = (truth.costs @ weights)[np.append(allowed, True)[used].all(axis=1)]
        optimum = PolicyIteration(balance).minimise(weights, allowed)
        if optimum is None or optimum.dead is not None:
            continue
        scalar = ScalarProblem(balance, weights, allowed)
        # Whatever the values are: too high, too low, and near the truth.
        value = optimum.values @ weights * (1.0 + noise * rng.normal(size=balance.num_live))
        bound = scalar.lower_bound(scalar.estimate(value))
        least = float(weighted.min())
        assert bound <= least * (1.0 + 1e-13)
        tight += bound >= least - 1e-8 * (1.0 + least)
    assert tight > (20 if noise <= 1e-10 else -1)


def test_a_gain_on_a_free_row_lowers_the_values_and_not_only_the_bound() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    plan.add_action(here, "cross", to=there, costs=0.0)
    plan.add_action(there, "leave", to=out, costs=3.0)
    plan.add_action(here, "leave", to=out, costs=9.0)
    plan.set_initial(here)
    problem = scalar(plan.build())
    assert problem.lower_bound(problem.estimate(np.array([3.0, 3.0]))) == pytest.approx(3.0, rel=1e-9)
    # Too high where the move is free: no division could mend that.
    assert problem.lower_bound(problem.estimate(np.array([7.0, 3.0]))) == pytest.approx(3.0, rel=1e-9)


def test_values_that_cannot_be_lowered_far_enough_give_the_trivial_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hcssp.ssp.potential.restored", lambda *_: iter(()))
    problem = scalar(two_ways(short=0.0, long=9.0, loop=9.0))
    assert problem.lower_bound(problem.estimate(np.array([5.0]))) == 0.0
