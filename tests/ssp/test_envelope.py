from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.preprocessing import prepare
from hcssp.scenarios.racetrack import racetrack
from hcssp.ssp.balance import Balance
from hcssp.ssp.envelope import envelope_values, envelope_visits, minimise_above
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.scalar_problem import ScalarProblem
from random_problems import random_cssp
from volume import some

TRACK = Balance(prepare(racetrack(scale=1, max_speed=1)).problem)


@pytest.mark.parametrize("price", [0.0, 0.4, 3.0])
def test_it_finds_what_policy_iteration_finds_from_another_policy(
    price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.ssp.envelope.MAX_ENVELOPE_SHARE", 1.0)
    solver = PolicyIteration(TRACK)
    floor_weights, weights = np.array([1.0, 0.3 * price]), np.array([1.0, price])
    below = solver.minimise(floor_weights)
    assert below is not None
    rng = np.random.default_rng(7)
    for _ in range(5):
        used = np.flatnonzero(TRACK.reached(below.rows))
        allowed = np.ones(TRACK.num_rows, dtype=np.bool_)
        allowed[below.rows[rng.choice(used, 3, replace=False)]] = False
        best = solver.minimise(weights, allowed)
        assert best is not None
        problem = ScalarProblem(TRACK, weights, allowed)
        found = minimise_above(
            problem, below.values @ floor_weights, below.rows, TRACK.reached(below.rows), precision=0.0
        )
        assert found is not None
        assert found.bound == pytest.approx(best.bound, rel=1e-9)
        assert allowed[found.rows[found.states]].all()
        # The bound is proven by the potential on every row that is allowed.
        slack = TRACK.reduced_costs(problem.row_costs, found.potential)
        assert np.all(slack[allowed] >= -1e-9)
        costs = TRACK.initial[found.states] @ found.values
        assert costs @ weights == pytest.approx(best.costs @ weights, rel=1e-9)


def test_values_and_visits_of_a_part_are_those_of_the_whole() -> None:
    solver = PolicyIteration(TRACK)
    best = solver.minimise(np.array([1.0, 0.5]))
    assert best is not None
    states = np.flatnonzero(TRACK.reached(best.rows))
    found = envelope_values(TRACK, states, best.rows)
    assert found is not None
    values, visits = found
    assert values == pytest.approx(best.values[states], rel=1e-9)
    assert visits == pytest.approx(solver.system.visits(best.rows)[states])
    assert envelope_visits(TRACK, states, best.rows) == pytest.approx(visits)


def test_a_policy_that_goes_in_circles_has_no_values() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "go", to=right, costs=1.0)
    plan.add_action(right, "back", to=left, costs=1.0)
    plan.add_action(right, "leave", to=out, costs=1.0)
    balance = Balance(plan.build())
    assert envelope_values(balance, np.arange(2), np.array([0, 1])) is None
    found = envelope_values(balance, np.arange(2), np.array([0, 2]))
    assert found is not None
    assert found[0] == pytest.approx(np.array([[2.0], [1.0]]))
    assert found[1] == pytest.approx(np.ones(2))


def test_a_region_without_a_row_where_it_must_go_is_left_to_others() -> None:
    solver = PolicyIteration(TRACK)
    weights = np.array([1.0, 0.5])
    best = solver.minimise(weights)
    assert best is not None
    start = int(np.flatnonzero(TRACK.initial > 0.0)[0])
    allowed = np.ones(TRACK.num_rows, dtype=np.bool_)
    allowed[TRACK.row_start[start] : TRACK.row_start[start + 1]] = False
    problem = ScalarProblem(TRACK, weights, allowed)
    assert minimise_above(problem, best.values @ weights, best.rows, TRACK.reached(best.rows)) is None


def test_an_envelope_of_most_states_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.ssp.envelope.MAX_ENVELOPE_SHARE", 0.01)
    best = PolicyIteration(TRACK).minimise(np.array([1.0, 0.5]))
    assert best is not None
    problem = ScalarProblem(TRACK, np.array([1.0, 0.5]))
    reached = TRACK.reached(best.rows)
    assert minimise_above(problem, best.values @ problem.weights, best.rows, reached) is None
    monkeypatch.setattr("hcssp.ssp.envelope.MAX_ENVELOPE_SHARE", 1.0)
    assert minimise_above(problem, best.values @ problem.weights, best.rows, reached) is not None


@pytest.mark.parametrize("seed", some(range(30), 3))
def test_bounds_hold_on_nasty_problems(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.ssp.envelope.MAX_ENVELOPE_SHARE", 1.0)
    problem = random_cssp(seed)
    balance = Balance(prepare(problem).problem)
    if balance.num_live == 0:
        pytest.skip("it begins in a goal")
    solver = PolicyIteration(balance)
    rng = np.random.default_rng(seed)
    low = np.append(1.0, rng.random(len(problem.bounds)))
    below = solver.minimise(low)
    assert below is not None
    for _ in range(8):
        weights = low + np.append(0.0, rng.random(len(problem.bounds)))
        allowed = rng.random(balance.num_rows) < 0.8
        best = solver.minimise(weights, allowed)
        scalar = ScalarProblem(balance, weights, allowed)
        found = minimise_above(scalar, below.values @ low, below.rows, balance.reached(below.rows))
        if found is None:
            continue
        assert best is not None
        least = float(best.costs @ weights)
        assert found.bound <= least + 1e-9 * (1.0 + least)
        assert balance.initial[found.states] @ found.values @ weights == pytest.approx(least, rel=1e-9)
