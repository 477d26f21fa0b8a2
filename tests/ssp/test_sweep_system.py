from __future__ import annotations

import numpy as np
import pytest

from hazard_grid import hazard_grid
from hcssp.cssp.builder import CSSPBuilder
from hcssp.errors import ImproperPolicy
from hcssp.numerics import EXACT
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem, SweepSystem
from hcssp.ssp.policy_iteration import starting_policy
from policy_systems import altered, circle, dense_values, dense_visits
from proper_problems import proper_problem, random_rows


@pytest.mark.parametrize("seed", range(6))
def test_sweeps_agree_with_dense_solves_as_precisely_as_asked(seed: int) -> None:
    problem = proper_problem(seed, num_states=150)
    balance = Balance(problem)
    sweeps = SweepSystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 10, 140, 2):
        rows = altered(problem, rows, count, rng)
        expected = dense_values(balance, rows)
        for tolerance, error in ((1e-8, 1e-6), (EXACT, 1e-10), (0.0, 1e-10)):
            found = sweeps.values(rows, tolerance)
            np.testing.assert_allclose(found, expected, rtol=error, atol=error * expected.max())
        np.testing.assert_allclose(sweeps.visits(rows), dense_visits(balance, rows), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_products_agree_with_dense_solves_where_steps_lead_anywhere(seed: int) -> None:
    problem = proper_problem(seed, num_states=150)
    balance = Balance(problem)
    system = SweepSystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 10, 140):
        rows = altered(problem, rows, count, rng)
        expected = dense_values(balance, rows)
        for tolerance, error in ((1e-6, 1e-4), (EXACT, 1e-10)):
            found = system.values(rows, tolerance)
            np.testing.assert_allclose(found, expected, rtol=error, atol=error * expected.max())
        np.testing.assert_allclose(system.visits(rows), dense_visits(balance, rows), rtol=1e-10, atol=1e-12)


def test_sweeps_agree_with_the_factorisation_on_a_grid() -> None:
    problem = hazard_grid(20, 20, seed=3)
    balance = Balance(problem)
    rows, _ = starting_policy(balance, balance.costs[0], np.ones(balance.num_rows, dtype=np.bool_))
    exact, sweeps = PolicySystem(balance), SweepSystem(balance)
    np.testing.assert_allclose(sweeps.values(rows, EXACT), exact.values(rows), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sweeps.visits(rows), exact.visits(rows), rtol=1e-9, atol=1e-11)


def test_a_policy_that_ends_late_ends() -> None:
    system = SweepSystem(Balance(circle()))
    late = np.array([0, 4])
    assert system.values(late, EXACT)[:, 0] == pytest.approx([10_001.0, 10_000.0], rel=1e-8)
    # Counted are departures, not the steps in between.
    assert system.visits(late) == pytest.approx([0.25, 1.0], rel=1e-8)


def test_a_policy_that_never_ends_is_an_error() -> None:
    endless = np.array([0, 2])
    with pytest.raises(ImproperPolicy, match="does not reach a goal"):
        SweepSystem(Balance(circle())).values(endless, EXACT)
    with pytest.raises(ImproperPolicy, match="does not reach a goal"):
        SweepSystem(Balance(circle())).visits(endless)


def test_after_a_policy_that_stays_for_ever_the_others_are_evaluated_as_before() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    for here, there, cost in ((first, second, 5.0), (second, first, 1.0)):
        plan.add_action(here, "out", to={out: 0.5, there: 0.5}, costs=cost)
        plan.add_action(here, "stay", to=here, costs=1.0)
    plan.set_initial(first)
    balance = Balance(plan.build())
    system, rows = SweepSystem(balance), np.array([0, 2])
    before = system.values(rows, EXACT).copy()
    with pytest.raises(ImproperPolicy):
        system.values(np.array([0, 3]), EXACT)
    np.testing.assert_allclose(system.values(rows, EXACT), before, rtol=1e-12)
