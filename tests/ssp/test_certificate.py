from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.preprocessing import prepare
from hcssp.evaluation import evaluate
from hcssp.ssp.certificate import certify
from random_problems import random_cssp


def best_values(problem: CSSP, weights: np.ndarray) -> np.ndarray:
    """The least weighted costs of all states, by value iteration from zero: exact if every step costs."""
    row_costs = weights @ problem.costs
    values = np.zeros(problem.num_states)
    acting = ~problem.goals
    for _ in range(20_000):
        after = row_costs + problem.transitions @ values
        updated = values.copy()
        updated[acting] = np.minimum.reduceat(after, problem.row_start[:-1][acting])
        if np.array_equal(updated, values):
            break
        values = updated
    return values


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1e-9, 1e-3, 1.0]))
@settings(max_examples=80, deadline=None)
def test_the_bound_is_below_every_policy_whatever_the_values(seed: int, noise: float) -> None:
    problem = prepare(random_cssp(seed, zero_costs=0.6)).problem
    rng = np.random.default_rng(seed)
    weights = np.concatenate([[1.0], rng.choice([0.0, 0.5, 3.0], problem.num_constraints)])
    values = best_values(problem, weights) + noise * rng.normal(size=problem.num_states)
    truth = brute_force(problem)
    certificate = certify(problem, weights @ problem.costs, values)
    weighted = truth.costs @ weights
    assert certificate.bound <= weighted.min() * (1.0 + 1e-12)
    if noise <= 1e-9 and np.all(weights @ problem.costs > 0.0):
        assert certificate.bound == pytest.approx(weighted.min(), rel=1e-6, abs=1e-6)
    assert np.all(certificate.reduced_costs >= 0.0)
    for rows, cost in zip(truth.policies[:30], weighted, strict=False):
        visits = evaluate(problem, DeterministicPolicy(problem, rows)).visits
        used = rows >= 0
        added = visits[used] @ certificate.reduced_costs[rows[used]]
        assert certificate.bound + added <= cost * (1.0 + 1e-9) + 1e-9


def free_circle() -> CSSP:
    """Two states with free moves between them; only one has a way out, and it costs."""
    plan = CSSPBuilder(cost_names=("time",))
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "cross", to=right, costs=0.0)
    plan.add_action(right, "back", to={left: 0.9, right: 0.1}, costs=0.0)
    plan.add_action(right, "leave", to=out, costs=3.0)
    return plan.build()


def test_values_too_high_on_a_free_circle_are_lowered() -> None:
    problem = free_circle()
    assert certify(problem, problem.costs[0], np.array([7.0, 3.0, 0.0])).bound == pytest.approx(
        3.0, abs=1e-12
    )
    # Too high everywhere: nothing but the way out says so.
    assert certify(problem, problem.costs[0], np.array([7.0, 7.0, 0.0])).bound == pytest.approx(
        3.0, abs=1e-12
    )


def test_values_that_are_no_numbers_prove_nothing() -> None:
    problem = free_circle()
    assert certify(problem, problem.costs[0], np.array([np.nan, 3.0, 0.0])).bound == 0.0
    assert certify(problem, -problem.costs[0], np.array([np.nan, 3.0, 0.0])).bound == -np.inf


def test_the_values_of_goals_are_not_trusted() -> None:
    problem = free_circle()
    assert certify(problem, problem.costs[0], np.array([103.0, 103.0, 100.0])).bound <= 3.0
