"""Chains against exact arithmetic: what is told of the error must be true, however long a chain takes."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

from hcssp.cssp.reachability import closure
from hcssp.evaluation import absorption
from hcssp.evaluation.absorption import (
    absorb,
    chain_system,
    eliminated,
    hubs_of,
    pivots,
    relative,
)
from hcssp.evaluation.linear_systems import Algebra, Products, by_distance
from hcssp.numerics import LEAST_PIVOT, ROUNDING

Matrix = list[list[Fraction]]


def exact_values(chances: Matrix, costs: Matrix) -> Matrix:
    """What is still to come from each inner state, the first ones; rows of `chances` are proportions."""
    size = len(costs[0])
    system = [
        [Fraction(int(row == column)) - chances[row][column] / sum(chances[row]) for column in range(size)]
        + [cost[row] for cost in costs]
        for row in range(size)
    ]
    for pivot in range(size):
        # The matrix is one of a chain that ends: every pivot is positive.
        system[pivot] = [entry / system[pivot][pivot] for entry in system[pivot]]
        for row in range(size):
            factor = system[row][pivot]
            if row != pivot and factor:
                system[row] = [a - factor * b for a, b in zip(system[row], system[pivot], strict=True)]
    return [line[size:] for line in system]


def random_chain(random: Random) -> tuple[np.ndarray, int]:
    """Few states, some of which are left once in 1e18 steps; absorbing ones come last."""
    while True:
        inner = random.randint(1, 7)
        size = inner + random.randint(1, 2)
        chances = np.zeros((size, size))
        for state in range(inner):
            targets = random.sample(range(size), random.randint(1, min(3, size)))
            weights = [random.random() * 10.0 ** -random.choice([0, 0, 3, 9, 15]) for _ in targets]
            chances[state, targets] = np.array(weights) / sum(weights)
        ends = np.arange(size) >= inner
        for _ in range(size):
            ends = ends | (chances[:, ends] > 0.0).any(axis=1)
        if ends.all():
            return chances, inner


@pytest.mark.parametrize("seed", range(4))
def test_the_error_is_what_is_told_or_less(seed: int) -> None:
    random = Random(seed)
    hard = 0.0
    for _ in range(25):
        chances, inner = random_chain(random)
        size = len(chances)
        costs = np.array([[random.choice([0.0, 1.0, 10.0 ** random.uniform(-9, 9)]) for _ in range(inner)]])
        # Wherever a cost is, the chain may begin there.
        initial = np.where(np.arange(size) < inner, 1.0 / inner, 0.0)
        found = absorb(csr_array(chances), np.arange(inner), initial, costs)
        exact = exact_values(
            [[Fraction(float(each)) for each in row] for row in chances[:inner]],
            [[Fraction(float(each)) for each in row] for row in costs],
        )
        total = sum(Fraction(float(share)) * line[0] for share, line in zip(initial, exact, strict=False))
        # Besides, the total is rounded to a double.
        allowed = found.error + ROUNDING
        assert found.error < 1e-11
        assert abs(Fraction(float(found.totals[0])) - total) <= Fraction(allowed) * total
        for state, line in enumerate(exact):
            assert found.values[state, 0] == pytest.approx(float(line[0]), rel=1e-11, abs=0.0)
        assert found.ends.sum() == pytest.approx(1.0, abs=1e-11)
        hard = max(hard, float(max(line[0] for line in exact)) / max(1e-9, costs.max()))
    assert hard > 1e9


def ring(size: int, escape: float) -> csr_array:
    """Round and round; only the last state has a small chance of leaving for the end."""
    rows = np.zeros((size + 1, size + 1))
    rows[np.arange(size), (np.arange(size) + 1) % size] = 1.0
    rows[size - 1, size] = escape
    return csr_array(rows)


@pytest.mark.parametrize("escape", [1e-5, 1e-14, 1e-17, 1e-100])
def test_a_ring_is_left_in_the_end(escape: float) -> None:
    size = 12
    found = absorb(ring(size, escape), np.arange(size), np.eye(size + 1)[0], np.ones((1, size)))
    rounds = (1.0 + escape) / escape
    assert found.totals[0] == pytest.approx(size * rounds, rel=1e-12)
    assert found.visits == pytest.approx(rounds, rel=1e-12)
    assert found.values[:, 0] == pytest.approx(size * rounds - np.arange(size), rel=1e-12)


def test_many_hubs_are_linked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Pairs that go back and forth a million times, one after the other.
    pairs, escape = 6, 1e-6
    rows = np.zeros((2 * pairs + 1, 2 * pairs + 1))
    for pair in range(pairs):
        rows[2 * pair, 2 * pair + 1] = 1.0
        rows[2 * pair + 1, 2 * pair] = 1.0 - escape
        rows[2 * pair + 1, 2 * pair + 2] = escape
    monkeypatch.setattr(absorption, "_COLUMNS_AT_ONCE", 2)
    monkeypatch.setattr(absorption, "WANTED_ERROR", 0.0)
    inner = np.arange(2 * pairs)
    found = absorb(csr_array(rows), inner, np.eye(2 * pairs + 1)[0], np.ones((1, 2 * pairs)))
    total = (1.0 - escape) + escape
    assert found.visits == pytest.approx(total / escape, rel=1e-12)
    assert found.totals[0] == pytest.approx(2 * pairs * total / escape, rel=1e-12)


def test_one_cost_that_is_too_large_is_told_among_others() -> None:
    chain = csr_array(np.array([[1.0 - 2.0**-20, 2.0**-20], [0.0, 1.0]]))
    costs = np.array([[1.0], [1e308]])
    with pytest.raises(OverflowError, match="too large for double precision"):
        absorb(chain, np.array([0]), np.array([1.0, 0.0]), costs)
    found = absorb(chain, np.array([0]), np.array([1.0, 0.0]), costs / 1e8)
    np.testing.assert_allclose(found.totals, [2.0**20 / 1e8, 2.0**20 * 1e300])


def test_what_is_too_large_for_a_number_is_told() -> None:
    with pytest.raises(OverflowError, match="too large for double precision"):
        absorb(ring(3, 1e-310), np.arange(3), np.eye(4)[0], np.ones((1, 3)))


def test_a_chain_of_hubs_alone() -> None:
    visits, values = eliminated(
        np.array([[0.5, 0.5], [0.25, 0.0]]), np.array([0.0, 0.75]), np.array([1.0, 0.0]), np.ones((2, 1))
    )
    # Twice in the first state for each time, a quarter of the times back again.
    assert visits == pytest.approx([8.0 / 3.0, 4.0 / 3.0])
    assert values[:, 0] == pytest.approx([4.0, 2.0])


def test_errors_are_relative_and_nothing_of_nothing_is_none() -> None:
    assert relative(np.array([0.0, 1.0]), np.array([0.0, 4.0])) == 0.25
    assert relative(np.array([1.0]), np.array([0.0])) == np.inf
    assert relative(np.array([np.nan]), np.array([1.0])) == np.inf
    assert relative(np.zeros(0), np.zeros(0)) == 0.0


def test_where_visits_and_values_agree_by_chance_rounding_is_still_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(absorption, "WANTED_ERROR", -1.0)  # so that no factors are good enough
    chain = csr_array([[0.0, 1.0], [0.0, 0.0]])
    found = absorb(chain, np.arange(1), np.array([1.0, 0.0]), np.ones((1, 1)))
    assert found.totals[0] == 1.0
    assert found.error >= ROUNDING


def test_products_give_what_factors_give() -> None:
    jumps = np.array([[0.0, 0.5, 0.2], [0.3, 0.0, 0.3], [0.0, 0.25, 0.0]])
    order = by_distance(csr_array(jumps), jumps.sum(axis=1) < 1.0)
    products = Products(chain_system(csr_array(jumps)), order)
    for right in (np.array([1.0, -2.0, 0.5]), np.array([[1.0, 0.0], [-2.0, 1.0], [0.5, 3.0]])):
        before = right.copy()
        forward, backward = products.solve(right), products.solve(right, trans="T")
        assert forward == pytest.approx(np.linalg.solve((np.eye(3) - jumps).T, right), rel=1e-12)
        assert backward == pytest.approx(np.linalg.solve(np.eye(3) - jumps, right), rel=1e-12)
        assert right.tolist() == before.tolist()


def test_where_a_cost_is_never_met_it_is_exactly_zero() -> None:
    # The first two states cost something, the last three never lead back to them.
    jumps = np.array(
        [[0, 0.5, 0.3, 0, 0], [0.4, 0, 0, 0.3, 0.2], [0, 0, 0, 0.9, 0], [0, 0, 0, 0, 0.9], [0] * 5]
    )
    order = by_distance(csr_array(jumps), jumps.sum(axis=1) < 1.0)
    products = Products(chain_system(csr_array(jumps)), order)
    assert products.solve(np.array([1.0, 2.0, 0.0, 0.0, 0.0]), trans="T")[2:].tolist() == [0.0] * 3


def test_every_rounding_of_a_sum_counts_twice_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absorption, "_LONG_ROUNDING", 1e-6)
    # One state after the other, then the end: nothing enters the first, one term each of the others.
    told = []
    for wanted in (1.0, 1.95e-5, 1.9e-5, 1.75e-5):
        monkeypatch.setattr(absorption, "WANTED_ERROR", wanted)
        found = absorb(csr_array(np.eye(4, k=1)), np.arange(3), np.eye(4)[0], np.ones((1, 3)))
        told.append(found.error)
    values, missing = np.array([3.0, 2.0, 1.0]), np.array([4.0, 5.0, 5.0]) * 2e-6
    assert told[:2] == pytest.approx([float(values @ missing) / 3.0] * 2, rel=1e-6)
    # What is to come may be off by 58 / 3 millionths at the first state: if that is too much, or what is off
    # at the start, it is computed in another way.
    assert max(told[2:]) < 1e-9


def anywhere(count: int, seed: int) -> csr_array:
    """A chain with four random successors of each state, absorbed in one: it takes thousands of jumps."""
    rng = np.random.default_rng(seed)
    heads = rng.integers(0, count + 1, 4 * count)
    chances = rng.dirichlet(np.ones(4), count).ravel()
    pointers = np.append(np.arange(0, 4 * count + 1, 4), 4 * count)
    chain = csr_array((chances, heads, pointers), shape=(count + 1, count + 1))
    chain.sum_duplicates()
    return chain


def counted_factors(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the systems that are factorised whole; samples of them are not counted."""
    sizes: list[int] = []
    original = absorption.eliminate
    monkeypatch.setattr(
        absorption, "eliminate", lambda system: sizes.append(system.shape[0]) or original(system)
    )
    return sizes


def test_a_chain_that_leads_anywhere_for_long_needs_no_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors of it are dense, and take time with the cube of the states."""
    sizes, count = counted_factors(monkeypatch), 2_500
    chain = anywhere(count, seed=3)
    reached = closure(chain, np.arange(count + 1) == 0)
    inner = np.flatnonzero(reached[:count])
    costs = np.vstack([np.ones(len(inner)), np.random.default_rng(0).uniform(0.0, 1.0, len(inner))])
    found = absorb(chain, inner, np.eye(1, count + 1)[0], costs)
    assert sizes == []
    system = np.eye(len(inner)) - chain[inner][:, inner].toarray()
    dense = np.linalg.solve(system, costs.T)
    assert dense[0, 0] > 2_000.0
    assert found.error <= 1e-12
    assert found.values == pytest.approx(dense, rel=1e-10)
    assert found.totals == pytest.approx(dense[0], rel=1e-10)
    assert found.visits == pytest.approx(np.linalg.solve(system.T, np.eye(1, len(inner))[0]), rel=1e-9)


def test_what_products_do_not_solve_is_factorised(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted_factors(monkeypatch)
    monkeypatch.setattr("hcssp.evaluation.linear_systems.solve_by_products", lambda *_: None)
    monkeypatch.setattr(absorption, "algebra_for", lambda *_: Algebra(by_products=True))
    found = absorb(csr_array(np.eye(4, k=1)), np.arange(3), np.eye(4)[0], np.ones((1, 3)))
    assert (found.totals.tolist(), sizes) == ([3.0], [3])


@pytest.mark.parametrize("factor", [0.3, 0.9, 3.0])
def test_an_error_bound_does_not_rest_on_the_solver_that_computed_it(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that is wrong by a factor is refused, and another one answers."""
    chances = np.array([[0.0, 0.5, 0.5], [0.25, 0.0, 0.75], [0.0, 0.0, 0.0]])

    class Wrong:
        def solve(self, right: np.ndarray, trans: str = "N") -> np.ndarray:
            system = np.eye(2) - chances[:2, :2]
            solution: np.ndarray = np.linalg.solve(system if trans == "T" else system.T, right)
            return factor * solution

    monkeypatch.setattr(absorption, "_ROUNDS", 1)
    original = absorption._factors_of
    monkeypatch.setattr(absorption, "_factors_of", lambda system, order=None: Wrong())
    monkeypatch.setattr(
        absorption, "factorised", lambda jumps, nudge=0.0: original(csr_array(np.eye(2) - jumps.toarray()))
    )
    found = absorb(csr_array(chances), np.arange(2), np.array([1.0, 0.0, 0.0]), np.eye(2))
    true = np.linalg.solve(np.eye(2) - chances[:2, :2].T, np.array([1.0, 0.0]))
    assert np.all(np.abs(found.totals - true) <= found.error * true + 1e-15)


def test_what_is_still_to_come_may_be_less_than_one() -> None:
    chances = np.array([[0.0, 0.5, 0.5], [0.25, 0.0, 0.75], [0.0, 0.0, 0.0]])
    costs = np.array([[1e-3, 2e-3], [0.0, 1e-9]])
    found = absorb(csr_array(chances), np.arange(2), np.array([0.1, 0.9, 0.0]), costs)
    expected = np.linalg.solve(np.eye(2) - chances[:2, :2], costs.T)
    assert found.values == pytest.approx(expected, rel=1e-12)
    assert found.totals == pytest.approx(np.array([0.1, 0.9]) @ expected, rel=1e-12)
    assert found.visits == pytest.approx(np.linalg.solve((np.eye(2) - chances[:2, :2]).T, [0.1, 0.9]))


def test_a_pivot_that_is_none_or_is_elsewhere_counts_as_nought() -> None:
    # States 0 and 1 are eliminated in the other order, 2 and 3 by each other's rows.
    factors = SimpleNamespace(
        U=diags_array([0.5, 0.25, 0.125, 2.0, np.inf]),
        perm_r=np.array([1, 0, 2, 3, 4]),
        perm_c=np.array([1, 0, 3, 2, 4]),
    )
    assert pivots(factors).tolist() == [0.25, 0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("escape", [0.5, 1e-6, 1e-20])
def test_only_states_to_which_it_keeps_coming_back_are_hubs(escape: float) -> None:
    # Two rings of two states each, and a state between them that is soon left.
    jumps = np.zeros((5, 5))
    jumps[[0, 1, 3, 4], [1, 0, 4, 3]] = 1.0 - escape
    jumps[[1, 2], [2, 3]] = escape, 0.5
    hubs, factors = hubs_of(csr_array(jumps))
    assert not hubs[2]
    assert pivots(factors).min() >= LEAST_PIVOT
    for ring in ([0, 1], [3, 4]):
        assert np.count_nonzero(hubs[ring]) == (escape < LEAST_PIVOT)


@pytest.mark.parametrize("seed", range(4))
def test_each_visit_is_as_precise_as_the_error_says(seed: int) -> None:
    """A visit to a state is what is to come of a cost that it alone has, in exact arithmetic."""
    random, told = Random(100 + seed), 0
    for _ in range(25):
        chances, inner = random_chain(random)
        start = np.zeros(len(chances))
        start[random.randrange(inner)] = 1.0
        reached = start > 0.0
        for _ in range(len(chances)):
            reached |= (chances[reached] > 0.0).any(axis=0)
        states = np.flatnonzero(reached[:inner])
        found = absorb(csr_array(chances), states, start, np.eye(len(states)))
        if found.error > 1e-11:
            continue
        told += 1
        kept = [*states.tolist(), *range(inner, len(chances))]
        proportions = [[Fraction(chances[row, column]) for column in kept] for row in kept]
        units = [[Fraction(int(one == other)) for other in range(len(states))] for one in range(len(states))]
        exact = exact_values(proportions, units)[states.tolist().index(int(np.argmax(start)))]
        for visits, true in zip(found.totals.tolist(), exact, strict=True):
            # The costs of a visit and the answer are rounded to doubles.
            assert abs(Fraction(visits) - true) <= Fraction(found.error + 4.0 * ROUNDING) * true
    assert told >= 8
