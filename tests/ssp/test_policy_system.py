from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import IntArray
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.linear_systems import EVALUATION
from hcssp.numerics import EXACT
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem
from policy_systems import altered, circle, dense_values, dense_visits
from proper_problems import proper_problem, random_rows


@pytest.fixture
def factorised(monkeypatch: pytest.MonkeyPatch) -> list[IntArray]:
    """The policies that are factorised from now on."""
    policies: list[IntArray] = []
    factorise = PolicySystem._factorise

    def counting(self: PolicySystem, rows: IntArray) -> Any:
        policies.append(rows)
        return factorise(self, rows)

    monkeypatch.setattr(PolicySystem, "_factorise", counting)
    return policies


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("successors", [3, EVALUATION.max_padded_width + 4])
def test_updates_agree_with_dense_solves_however_many_states_change(seed: int, successors: int) -> None:
    problem = proper_problem(seed, num_states=260, num_successors=successors, same=seed % 2 == 0)
    balance = Balance(problem)
    system = PolicySystem(balance)
    rng = np.random.default_rng(seed)
    rows = random_rows(problem, rng)
    for count in (0, 1, 1, 2, 5, 20, 60, EVALUATION.max_changed, 3, 3, 250, 1, 1):
        rows = altered(problem, rows, count, rng)
        expected = dense_values(balance, rows)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(system.values(rows), expected, rtol=1e-10, atol=1e-11 * scale)
        np.testing.assert_allclose(system.visits(rows), dense_visits(balance, rows), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(system.values(rows, 0.0), expected, rtol=1e-12, atol=1e-12 * scale)


def test_neighbours_of_one_policy_share_its_factorisation(factorised: list[IntArray]) -> None:
    problem = proper_problem(7, num_states=120)
    system = PolicySystem(Balance(problem))
    rng = np.random.default_rng(7)
    rows = random_rows(problem, rng)
    system.values(rows)
    for _ in range(300):
        # Three states at a time, all of them sooner or later: columns are forgotten and made again.
        near = altered(problem, rows, 3, rng)
        np.testing.assert_allclose(system.values(near), dense_values(system.balance, near), rtol=1e-10)
    assert len(factorised) == 1


def test_only_a_smaller_tolerance_than_rounding_is_worth_a_factorisation(factorised: list[IntArray]) -> None:
    problem = proper_problem(9, num_states=60)
    system = PolicySystem(Balance(problem))
    rng = np.random.default_rng(9)
    rows = random_rows(problem, rng)
    system.values(rows)
    near = altered(problem, rows, 2, rng)
    for tolerance in (1e-3, EXACT):
        system.values(near, tolerance)
    assert len(factorised) == 1
    system.values(near, 0.0)
    assert len(factorised) == 2
    # It is the reference now; the best there is has been found already.
    system.values(near, 0.0)
    assert len(factorised) == 2


def test_columns_are_not_kept_beyond_their_reference() -> None:
    problem = proper_problem(10, num_states=60)
    balance = Balance(problem)
    system = PolicySystem(balance)
    rng = np.random.default_rng(10)
    first, second = random_rows(problem, rng), random_rows(problem, rng)
    # Both differ from their references in the same row, and in nothing else.
    near_first, near_second = first.copy(), second.copy()
    state = int(np.flatnonzero(first != second)[0])
    other = next(
        r for r in range(*balance.row_start[state : state + 2]) if r not in (first[state], second[state])
    )
    near_first[state] = near_second[state] = other
    system.values(first, 0.0)
    np.testing.assert_allclose(system.values(near_first), dense_values(balance, near_first), rtol=1e-10)
    np.testing.assert_allclose(system.visits(near_first), dense_visits(balance, near_first), rtol=1e-10)
    system.values(second, 0.0)
    np.testing.assert_allclose(system.values(near_second), dense_values(balance, near_second), rtol=1e-10)
    np.testing.assert_allclose(system.visits(near_second), dense_visits(balance, near_second), rtol=1e-10)


def test_the_visits_may_be_asked_for_first() -> None:
    problem = proper_problem(8)
    rows = random_rows(problem, np.random.default_rng(8))
    balance = Balance(problem)
    np.testing.assert_allclose(PolicySystem(balance).visits(rows), dense_visits(balance, rows), rtol=1e-11)


def test_a_policy_that_never_ends_is_an_error_also_as_a_neighbour_of_a_known_one() -> None:
    system = PolicySystem(Balance(circle()))
    endless = np.array([0, 2])
    with pytest.raises(ImproperPolicy, match="does not reach a goal almost surely"):
        system.values(endless)
    assert system.values(np.array([1, 3])).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ImproperPolicy, match="does not reach a goal almost surely"):
        system.values(endless)
    assert system.values(np.array([0, 3])) == pytest.approx(np.array([[2.0, 2.0], [1.0, 1.0]]))


def test_a_policy_that_ends_late_ends() -> None:
    system = PolicySystem(Balance(circle()))
    late = np.array([0, 4])
    assert system.values(late)[:, 0] == pytest.approx([10_001.0, 10_000.0], rel=1e-8)
    # Counted are departures, not the steps in between.
    assert system.visits(late) == pytest.approx([0.25, 1.0], rel=1e-8)


def test_what_large_numbers_leave_of_one_another_is_not_believed() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    plan.add_action(here, "go", to=there, costs={"time": 1.0, "damage": 1e-9})
    plan.add_action(there, "jump", to=out, costs={"time": 1.0, "damage": 1e9})
    plan.add_action(there, "climb", to=out, costs={"time": 2.0, "damage": 1e-9})
    system = PolicySystem(Balance(plan.build()))
    assert system.values(np.array([0, 1]))[0, 1] == pytest.approx(1e9)
    # The difference of both is exact to 1e-7 only.
    assert system.values(np.array([0, 2]))[0, 1] == pytest.approx(2e-9, rel=1e-12)


@pytest.mark.parametrize("share", [1e-2, 1e-5, 1e-10, 1e-18, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_cost_that_all_but_vanishes_is_as_exact_as_if_it_was_factorised(
    seed: int, share: float, factorised: list[IntArray]
) -> None:
    # Two policies, of which one has that share of the other's damage in each state, and goes elsewhere, too.
    problem = proper_problem(seed, num_states=40)
    first, second = problem.row_start[:-1][~problem.goals], problem.row_start[1:][~problem.goals] - 1
    differ = np.flatnonzero(first != second)
    costs = problem.costs.copy()
    costs[1] = share
    costs[1, first[differ]] = 1.0
    system = PolicySystem(Balance(replace(problem, costs=costs)))
    system.values(first)
    expected = PolicySystem(system.balance).values(second)
    factorised.clear()
    found = system.values(second)
    initial = system.balance.initial
    np.testing.assert_allclose(initial @ found, initial @ expected, rtol=1e-11, atol=1e-29)
