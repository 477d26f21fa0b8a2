from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hcssp.cssp.preprocessing import prepare
from hcssp.dual.policy_part import Part
from hcssp.dual.switch_sets import MAX_PAIRED, Couplings, cheapest_sets, promising
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem, SweepSystem
from proper_problems import proper_problem, random_rows


def part_of(seed: int, system: type[PolicySystem] | type[SweepSystem] = PolicySystem) -> Part:
    problem = prepare(proper_problem(seed, num_states=40)).problem
    balance = Balance(problem)
    own = system(balance)
    rows = random_rows(problem, np.random.default_rng(seed))
    counts = [(index, 1 + index) for index in range(len(balance.costs) - 1)]
    return Part(balance, own, counts, 1.0, rows, own.values(rows, 0.0), own.visits(rows))


@pytest.mark.parametrize("seed", range(3))
def test_what_sets_of_switches_change_is_what_their_policies_cost(seed: int) -> None:
    part = part_of(seed)
    rng = np.random.default_rng(seed)
    taken = rng.choice(np.setdiff1d(np.arange(part.balance.num_rows), part.rows), 12, replace=False)
    every = np.arange(len(part.balance.costs))
    couplings = part.couplings(taken, every, len(every) - 1)
    assert couplings is not None
    states = part.balance.row_state[taken]
    compared = 0
    for count in (1, 2, 3, 4):
        for members in list(combinations(range(12), count))[:40]:
            if len(set(states[list(members)].tolist())) < count:
                continue
            switched = part.switched(taken[list(members)].tolist())
            if switched is None:
                continue
            expected = switched[2]
            np.testing.assert_allclose(
                couplings.changes(np.array([members]))[0], expected, rtol=1e-6, atol=1e-8 * part.values.max()
            )
            compared += 1
    assert compared > 60


def test_where_policies_are_swept_nothing_is_known_of_how_switches_act() -> None:
    part = part_of(1, SweepSystem)
    assert part.couplings(np.array([0, 1]), np.arange(2), 1) is None


def changed(couplings: Couplings, members: tuple[int, ...]) -> np.ndarray:
    own = list(members)
    steps = np.linalg.solve(couplings.answers[np.ix_(own, own)], couplings.reduced[own])
    return np.asarray(couplings.visits[own] @ steps)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("room", [0.3, -0.2])
def test_what_is_found_fits_and_no_pair_is_cheaper(seed: int, room: float) -> None:
    rng = np.random.default_rng(seed)
    count = 14
    couplings = Couplings(
        np.eye(count) + 0.2 * rng.normal(size=(count, count)) / count,
        rng.uniform(0.0, 1.0, count),
        rng.normal(size=(count, 2)),
    )
    places = np.arange(count) // 2
    found = cheapest_sets(couplings, places, np.array([room]), 0, 6)
    assert found
    for change, members in found:
        assert len(set(places[list(members)].tolist())) == len(members) <= 4
        exactly = changed(couplings, members)
        assert exactly[0] == pytest.approx(change)
        assert exactly[1] <= room + 1e-12
    assert [change for change, _ in found] == sorted(change for change, _ in found)
    cheapest = min(
        (
            float(changed(couplings, members)[0])
            for size in (1, 2)
            for members in combinations(range(count), size)
            if len(set(places[list(members)].tolist())) == size and changed(couplings, members)[1] <= room
        ),
        default=np.inf,
    )
    assert found[0][0] <= cheapest + 1e-12


def test_switches_that_never_end_together_are_not_combined() -> None:
    # Each leads to the other's state: together they go in circles.
    couplings = Couplings(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones(2), np.array([[-1.0, 0.0]] * 2))
    found = cheapest_sets(couplings, np.arange(2), np.ones(1), 0, 6)
    assert sorted(found) == [(-1.0, (0,)), (-1.0, (1,))]


def test_those_are_promising_that_save_at_the_price_and_then_those_that_move_much_for_little() -> None:
    cost, use = np.array([-9.0, -4.0, 4.2, 3e-9, 6.0]), np.array([4.0, 2.0, -2.0, -1e-9, -1.0])
    assert promising(cost, use).tolist() == [2, 0, 1, 4]
    many = np.linspace(1.0, 2.0, 5 * MAX_PAIRED)
    assert len(promising(many, -np.ones(5 * MAX_PAIRED))) == MAX_PAIRED
