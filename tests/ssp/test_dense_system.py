"""Small problems: dense factorisations, against numpy's own solves."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.errors import ImproperPolicy
from hcssp.evaluation.linear_systems import EVALUATION
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import DenseSystem
from hcssp.ssp.policy_iteration import PolicyIteration
from policy_systems import altered, circle, dense_values, dense_visits
from proper_problems import proper_problem, random_rows


@pytest.mark.parametrize("seed", range(4))
def test_values_and_visits_agree_with_dense_solves(seed: int) -> None:
    problem = proper_problem(seed, num_states=60, num_successors=4, same=seed % 2 == 0)
    balance = Balance(problem)
    system = DenseSystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 0, 20, 50):
        rows = altered(problem, rows, count, rng)
        np.testing.assert_allclose(system.values(rows), dense_values(balance, rows), rtol=1e-11)
        np.testing.assert_allclose(system.values(rows, 0.0), dense_values(balance, rows), rtol=1e-11)
        np.testing.assert_allclose(system.visits(rows), dense_visits(balance, rows), rtol=1e-10)
    begins = rng.random(balance.num_live)
    expected = np.linalg.solve(balance.matrix.toarray()[rows].T, begins)
    np.testing.assert_allclose(system.visits(rows, begins), expected, rtol=1e-10)


def test_a_policy_that_never_ends_is_refused_and_the_next_one_is_not() -> None:
    balance = Balance(circle())
    system = DenseSystem(balance)
    with pytest.raises(ImproperPolicy):
        system.values(np.array([0, 2]))
    np.testing.assert_allclose(system.values(np.array([0, 3]))[:, 0], [2.0, 1.0])


def test_what_is_released_is_made_again() -> None:
    balance = Balance(circle())
    system = DenseSystem(balance)
    rows = np.array([0, 4])
    before = system.values(rows)
    system.release()
    assert system.values(rows).tolist() == before.tolist()


def test_only_small_problems_are_dense() -> None:
    small = Balance(proper_problem(1, num_states=EVALUATION.max_dense_states))
    large = Balance(proper_problem(1, num_states=2 * EVALUATION.max_dense_states))
    assert isinstance(PolicyIteration(small).system, DenseSystem)
    assert not isinstance(PolicyIteration(large).system, DenseSystem)
