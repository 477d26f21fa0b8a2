from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.dual.ascent import stationary
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.solving.solve import solve
from known_optima import roads
from mixtures import best_mixture
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some


@pytest.mark.parametrize("seed", some(range(40), 3))
def test_the_mixture_and_the_stationary_policy_cost_the_same_and_keep_the_bounds(seed: int) -> None:
    problem = random_cssp(seed, infeasible=0.0)
    optimum = solve(problem, Anytime(iterations=0), stop=()).stochastic
    if optimum is None:
        assert best_mixture(brute_force(problem).costs, problem.bounds) == np.inf
        return
    assert optimum.value == pytest.approx(
        best_mixture(brute_force(problem).costs, problem.bounds), rel=1e-7, abs=1e-7
    )
    policy = stationary(problem, optimum)
    through = np.bincount(problem.row_state, weights=policy.probabilities, minlength=problem.num_states)
    assert np.all((np.abs(through - 1.0) < 1e-9) | (through == 0.0))
    evaluation = evaluate(problem, policy)
    np.testing.assert_allclose(evaluation.costs, optimum.weights @ optimum.costs, rtol=1e-8, atol=1e-8)
    assert evaluation.costs[0] == pytest.approx(optimum.value, rel=1e-7, abs=1e-7)
    assert evaluation.keeps_bounds(1e-7)


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_it_is_so_for_procedures_on_the_flat_problem(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0, several_exits=seed % 3 == 0)
    optimum = solve(problem, PolicyBranching(), stop=()).stochastic
    if optimum is None:
        return
    evaluation = evaluate(problem.flattening.cssp, stationary(problem.flattening.cssp, optimum))
    np.testing.assert_allclose(evaluation.costs, optimum.weights @ optimum.costs, rtol=1e-8, atol=1e-8)
    assert evaluation.keeps_bounds(1e-7)


def test_half_of_the_time_through_half_of_the_time_dashing() -> None:
    problem = roads(damage=4.0)
    optimum = solve(problem, PolicyBranching(), stop=()).stochastic
    assert optimum is not None
    assert optimum.value == pytest.approx(5.0)
    assert sorted(optimum.weights) == pytest.approx([0.5, 0.5])
    assert stationary(problem, optimum).probabilities == pytest.approx([0.0, 0.5, 0.5])


def test_a_single_policy_is_a_mixture_of_one() -> None:
    problem = roads(damage=100.0)
    optimum = solve(problem, PolicyBranching(), stop=()).stochastic
    assert optimum is not None
    assert optimum.weights.tolist() == [1.0]
    assert stationary(problem, optimum).probabilities.tolist() == [0.0, 0.0, 1.0]
