"""Both ways to evaluate policies, by factorisation and by sweeps, against dense solves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.preprocessing import prepare
from hcssp.errors import ImproperPolicy
from hcssp.scenarios.hazard_grid import hazard_grid
from hcssp.ssp.balance import MAX_WIDTH, Balance
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.policy_system import MAX_CHANGED_STATES, PolicySystem
from hcssp.ssp.start import starting_policy
from hcssp.ssp.sweep_system import SweepSystem
from proper_problems import proper_problem, random_rows


def dense_values(balance: Balance, rows: IntArray) -> FloatArray:
    return np.linalg.solve(balance.matrix.toarray()[rows], balance.costs[:, rows].T)


def dense_visits(balance: Balance, rows: IntArray) -> FloatArray:
    return np.linalg.solve(balance.matrix.toarray()[rows].T, balance.initial)


def altered(problem: CSSP, rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """`rows` drawn anew in `count` states."""
    states = rng.choice(len(rows), count, replace=False)
    changed = rows.copy()
    changed[states] = random_rows(problem, rng)[states]
    return changed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("successors", [3, MAX_WIDTH + 4])
def test_updates_agree_with_dense_solves_however_many_states_change(seed: int, successors: int) -> None:
    problem = proper_problem(seed, num_states=260, num_successors=successors, same=seed % 2 == 0)
    balance = Balance(problem)
    system = PolicySystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 1, 2, 5, 20, 60, MAX_CHANGED_STATES, 3, 3, 250, 1, 1):
        rows = altered(problem, rows, count, rng)
        expected = dense_values(balance, rows)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(system.values(rows), expected, rtol=1e-10, atol=1e-11 * scale)
        np.testing.assert_allclose(system.visits(rows), dense_visits(balance, rows), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(system.values(rows, fresh=True), expected, rtol=1e-12, atol=1e-12 * scale)


def test_neighbours_of_one_policy_share_its_factorisation() -> None:
    problem = proper_problem(7, num_states=120)
    system = PolicySystem(Balance(problem))
    rng = np.random.default_rng(7)
    rows = random_rows(problem, rng)
    system.values(rows)
    for _ in range(300):
        # Three states at a time, all of them sooner or later: columns are forgotten and made again.
        near = altered(problem, rows, 3, rng)
        np.testing.assert_allclose(system.values(near), dense_values(system.balance, near), rtol=1e-10)
    assert system.num_factorisations == 1


def test_the_visits_may_be_asked_for_first() -> None:
    problem = proper_problem(8)
    rows = random_rows(problem, np.random.default_rng(8))
    balance = Balance(problem)
    np.testing.assert_allclose(PolicySystem(balance).visits(rows), dense_visits(balance, rows), rtol=1e-11)


def circle() -> CSSP:
    """Two states, each with an action to the other and one out; the second may also leave very seldom."""
    return CSSP(
        transitions=csr_array(
            np.array(
                [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.9999, 1e-4]]
            )
        ),
        row_start=np.array([0, 2, 5, 5]),
        costs=np.ones((2, 5)),
        initial=np.array([0.25, 0.75, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage"),
        bounds=np.array([np.inf]),
    )


def test_a_policy_that_never_ends_is_an_error_also_as_a_neighbour_of_a_known_one() -> None:
    system = PolicySystem(Balance(circle()))
    endless = np.array([0, 2])
    with pytest.raises(ImproperPolicy, match="does not reach a goal almost surely"):
        system.values(endless)
    assert system.values(np.array([1, 3])).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ImproperPolicy, match="does not reach a goal almost surely"):
        system.values(endless)
    assert system.values(np.array([0, 3])) == pytest.approx(np.array([[2.0, 2.0], [1.0, 1.0]]))


@pytest.mark.parametrize("kind", [PolicySystem, SweepSystem])
def test_a_policy_that_ends_late_ends(kind: type[PolicySystem] | type[SweepSystem]) -> None:
    system = kind(Balance(circle()))
    late = np.array([0, 4])
    assert system.values(late, fresh=True)[:, 0] == pytest.approx([10_001.0, 10_000.0], rel=1e-8)
    assert system.visits(late) == pytest.approx([0.25, 10_000.0], rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_sweeps_agree_with_the_factorisation(seed: int) -> None:
    problem = proper_problem(seed, num_states=150)
    balance = Balance(problem)
    sweeps = SweepSystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 10, 140, 2):
        rows = altered(problem, rows, count, rng)
        expected = dense_values(balance, rows)
        np.testing.assert_allclose(sweeps.values(rows), expected, rtol=1e-3, atol=1e-3 * expected.max())
        np.testing.assert_allclose(sweeps.values(rows, fresh=True), expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(sweeps.visits(rows), dense_visits(balance, rows), rtol=1e-10, atol=1e-12)


def test_sweeps_agree_with_the_factorisation_on_a_grid() -> None:
    problem = hazard_grid(20, 20, seed=3)
    balance = Balance(problem)
    rows, _ = starting_policy(balance, balance.costs[0], np.ones(balance.num_rows, dtype=np.bool_))
    exact, sweeps = PolicySystem(balance), SweepSystem(balance)
    np.testing.assert_allclose(sweeps.values(rows, fresh=True), exact.values(rows), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sweeps.visits(rows), exact.visits(rows), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("max_fill", [0.0, 2.0])
def test_an_ordering_that_is_used_again_changes_no_answer(
    max_fill: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    balance = Balance(prepare(hazard_grid(15, 15, seed=4)).problem)
    plain = PolicySystem(balance)
    monkeypatch.setattr("hcssp.ssp.factorisation.WORTH_KEEPING", 10)
    monkeypatch.setattr("hcssp.ssp.factorisation.MAX_FILL", max_fill)
    kept = PolicySystem(balance)
    for price in (0.0, 0.3, 2.0, 50.0):
        optimum = PolicyIteration(balance).minimise(np.array([1.0, price]))
        assert optimum is not None
        rows = optimum.rows
        np.testing.assert_allclose(kept.values(rows, fresh=True), plain.values(rows, fresh=True), rtol=1e-9)
        np.testing.assert_allclose(kept.visits(rows), plain.visits(rows), rtol=1e-9, atol=1e-12)
        neighbour = rows.copy()
        neighbour[0] = balance.row_start[0]
        np.testing.assert_allclose(kept.values(neighbour), plain.values(neighbour), rtol=1e-9)
        np.testing.assert_allclose(kept.visits(neighbour), plain.visits(neighbour), rtol=1e-9, atol=1e-12)
    assert kept.num_factorisations > 2
