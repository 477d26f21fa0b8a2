from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.dual.envelope_oracle import EnvelopeOracle, EnvelopeVertex
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.floors import MAX_PARTS, Floors
from hcssp.errors import DeadEnd
from hcssp.methods.policy_branching import prove
from hcssp.scenarios.racetrack import racetrack
from hcssp.ssp.region import Region
from known_optima import roads
from random_problems import random_cssp
from volume import some

TRACK = racetrack(scale=1, max_speed=1, bound=0.3)


@pytest.mark.parametrize("small", [0, 400])
def test_regions_are_solved_in_part_and_say_the_same_as_the_whole(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.dual.envelope_oracle.MAX_REACHED_SHARE", 0.5)
    monkeypatch.setattr("hcssp.ssp.envelope.SMALL_ENVELOPE", small)
    oracle = EnvelopeOracle(TRACK)
    whole = FlatOracle(TRACK, thin=True)
    vertices = []
    for price in (0.0, 1.0, 4.0):
        found = oracle.minimise(np.array([1.0, price]), Region())
        assert found is not None
        vertices.append(found.vertex)
        to_go = oracle.values_of(found.vertex, np.array([1.0, price]))
        assert TRACK.initial @ np.nan_to_num(to_go) == pytest.approx(found.bound)
    rng = np.random.default_rng(3)
    region, near, in_part = Region(), vertices[1], 0
    for price in (0.5, 1.0, 2.0, 3.0, 6.0, 1.5):
        state = rng.choice(np.flatnonzero(near.reached))
        region = region.forbid([int(near.rows[state])])
        weights = np.array([1.0, price])
        found, expected = oracle.minimise(weights, region, near), whole.minimise(weights, region)
        assert found is not None
        assert expected is not None
        assert found.bound == pytest.approx(expected.bound, rel=1e-9)
        assert found.vertex.costs @ weights == pytest.approx(expected.vertex.costs @ weights, rel=1e-9)
        assert found.vertex.lies_in(region, oracle.row_state)
        # Asked for later, the rest is that of the same policy.
        assert oracle._balance.initial @ found.vertex.values == pytest.approx(found.vertex.costs)
        np.testing.assert_array_equal(found.vertex.reached, oracle._balance.reached(found.vertex.rows))
        visits = oracle._solver.system.visits(found.vertex.rows)
        assert found.vertex.visits == pytest.approx(visits, rel=1e-9, abs=1e-15)
        assert TRACK.initial @ np.nan_to_num(oracle.values_of(found.vertex, weights)) >= found.bound
        in_part += isinstance(found.vertex, EnvelopeVertex)
        near = found.vertex
    assert in_part >= 4


@pytest.mark.parametrize("first", some(range(0, 40, 20), 3))
def test_small_problems_are_solved_as_by_brute_force(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.dual.envelope_oracle.MIN_STATES", 0)
    monkeypatch.setattr("hcssp.dual.envelope_oracle.MAX_REACHED_SHARE", 1.0)
    monkeypatch.setattr("hcssp.ssp.envelope.MAX_ENVELOPE_SHARE", 1.0)
    for seed in range(first, first + 20):
        problem = random_cssp(seed)
        known = brute_force(problem)
        try:
            lower, upper, _ = prove(EnvelopeOracle(problem, affordable=True))
        except DeadEnd:
            assert known.status != "optimal"
            continue
        assert lower <= known.value * (1.0 + 1e-9) + 1e-12
        assert upper == pytest.approx(known.value, rel=1e-6, abs=1e-12)


def test_floors_are_never_above_the_least_costs() -> None:
    oracle = FlatOracle(TRACK, thin=True)
    floors = Floors()
    rng = np.random.default_rng(1)
    rows = rng.choice(len(oracle.row_state), 30, replace=False).tolist()
    for price in (0.2, 5.0, 1.0):
        for count in (0, 5, 10):
            weights, region = np.array([1.0, price]), Region().forbid(rows[:count])
            minimum = oracle.minimise(weights, region)
            assert minimum is not None
            floors.add(weights, minimum.vertex.values @ weights, region.forbidden)
    for price in (0.1, 0.2, 0.7, 2.5, 5.0, 9.0):
        for count in (0, 7, 30):
            weights, region = np.array([1.0, price]), Region().forbid(rows[:count])
            minimum = oracle.minimise(weights, region)
            assert minimum is not None
            least = minimum.vertex.values @ weights
            assert np.all(floors.at(weights, region.forbidden) <= least * (1.0 + 1e-9))


def test_floors_of_several_prices_hold_too_and_only_the_latest_are_kept() -> None:
    floors = Floors()
    floors.add(np.array([1.0, 2.0, 1.0]), np.array([4.0, 8.0]))
    floors.add(np.array([1.0, 0.0, 3.0]), np.array([6.0, 2.0]))
    assert floors.at(np.array([1.0, 1.0, 3.0])).tolist() == [6.0, 4.0]
    assert floors.at(np.array([1.0, 2.0, 1.0])).tolist() == [4.0, 8.0]
    for number in range(MAX_PARTS + 1):
        floors.add(np.array([1.0, 2.0, 1.0]), np.array([9.0 - number / 100, 8.0]), frozenset({number}))
    assert floors.at(np.array([1.0, 2.0, 1.0]), frozenset({0})).tolist() == [4.0, 8.0]
    assert floors.at(np.array([1.0, 2.0, 1.0]), frozenset({1, 2})).tolist() == [8.99, 8.0]


def test_what_a_bound_of_nothing_forbids_is_left_out_if_that_is_asked_for() -> None:
    problem = roads(damage=0.0)
    for oracle, cost in ((EnvelopeOracle(problem), 4.0), (EnvelopeOracle(problem, affordable=True), 10.0)):
        cheapest = oracle.minimise(np.array([1.0, 0.0, 0.0]), Region())
        assert cheapest is not None
        assert cheapest.vertex.costs[0] == cost
