from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.evaluation.linear_systems import EVALUATION, solve_by_products


def random_system(seed: int, count: int = 200) -> csr_array:
    """A chain that goes anywhere, and ends with a chance of a fifth."""
    rng = np.random.default_rng(seed)
    heads = rng.integers(0, count, (count, 3))
    steps = csr_array(
        (0.8 * rng.dirichlet(np.ones(3), count).ravel(), heads.ravel(), np.arange(0, 3 * count + 1, 3)),
        shape=(count, count),
    )
    return csr_array(csr_array(np.eye(count)) - steps)


@pytest.mark.parametrize("seed", range(3))
def test_the_residual_is_as_small_as_asked(seed: int) -> None:
    system, rng = random_system(seed), np.random.default_rng(seed)
    right, start = rng.uniform(0.0, 10.0, 200), rng.uniform(0.0, 50.0, 200)
    for tolerance in (1e-4, 1e-9, 1e-13):
        found = solve_by_products(system, right, start, tolerance)
        assert found is not None
        assert np.abs(right - system @ found).max() <= tolerance * max(10.0, found.max())
    np.testing.assert_allclose(found, np.linalg.solve(system.toarray(), right), rtol=1e-11)


def test_a_solution_is_left_as_it_is() -> None:
    system = random_system(1)
    solution = np.arange(200.0)
    found = solve_by_products(system, system @ solution, solution, 1e-12)
    assert found is not None
    np.testing.assert_array_equal(found, solution)


def test_nothing_solves_what_has_no_solution() -> None:
    # Two states that lead to each other for ever, at a cost.
    system = csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert solve_by_products(system, np.ones(2), np.zeros(2), 1e-9) is None


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(EVALUATION), "max_products", 5)
    monkeypatch.setitem(vars(EVALUATION), "max_steps", 2)
    # Along a line a product carries news one step.
    line = csr_array(np.eye(300) - np.eye(300, k=-1))
    assert solve_by_products(line, np.ones(300), np.zeros(300), 1e-9) is None
