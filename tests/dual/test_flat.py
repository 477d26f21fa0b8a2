from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, BoolArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.flat import FlatOracle, free_rows
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.ssp.scalar_problem import Region
from random_problems import random_cssp
from volume import some


def within(policies: np.ndarray, allowed: BoolArray) -> BoolArray:
    """Which policies use only allowed rows."""
    used = np.where(policies == NO_ROW, len(allowed), policies)
    return np.append(allowed, True)[used].all(axis=1)


def random_region(rng: np.random.Generator, num_rows: int) -> Region:
    return Region().forbid(np.flatnonzero(rng.random(num_rows) < rng.choice([0.0, 0.1, 0.3])))


@pytest.mark.parametrize("seed", some(range(60), 3))
def test_no_deviation_costs_less_than_its_surcharge(seed: int) -> None:
    problem = prepare(random_cssp(seed, zero_costs=0.5)).problem
    truth = brute_force(problem)
    oracle = FlatOracle(problem)
    rng = np.random.default_rng(seed)
    live = np.flatnonzero(~problem.goals)
    for _ in range(3):
        region = random_region(rng, problem.num_rows)
        weights = np.append(1.0, rng.choice([0.0, 0.5, 4.0], problem.num_constraints))
        minimum = oracle.minimise(weights, region)
        if minimum is None:
            continue
        point = minimum.point
        in_region = within(truth.policies, region.allowed(problem.num_rows))
        bound, states, surcharges = oracle.deviations(point, weights, region)
        weighted = truth.costs @ weights
        assert (surcharges >= 0.0).all()
        # Only where it goes, and there is something else to do.
        assert point.reached[states].all()
        assert np.isfinite(surcharges).all()
        same_so_far = in_region
        accounted = (truth.policies[:, live] == point.rows)[:, point.reached].all(axis=1) & in_region
        for state, surcharge in zip(states, surcharges, strict=True):
            rows = truth.policies[:, live[state]]
            deviates = same_so_far & (rows != point.rows[state]) & (rows != NO_ROW)
            least = float(np.min(weighted[deviates], initial=np.inf))
            assert bound + surcharge <= least * (1.0 + 1e-13)
            accounted |= deviates
            same_so_far = same_so_far & (rows == point.rows[state])
        # The point and its deviations are the whole region: an enumeration forgets nothing.
        assert accounted[in_region].all()


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_sweeps_give_the_same_bounds_as_factorisation(seed: int) -> None:
    problem = random_cssp(seed, zero_costs=0.0)
    factorised, swept = FlatOracle(problem, "factorise"), FlatOracle(problem, "sweep")
    for price in (0.0, 0.7, 9.0):
        weights = np.append(1.0, np.full(problem.num_constraints, price))
        first, second = factorised.minimise(weights, Region()), swept.minimise(weights, Region())
        assert first is not None
        assert second is not None
        assert second.bound == pytest.approx(first.bound, rel=1e-8, abs=1e-8)


def test_an_unknown_way_to_evaluate_is_refused() -> None:
    with pytest.raises(
        InvalidProblem, match="evaluation 'guess': choose one of 'auto', 'factorise', 'sweep'"
    ):
        FlatOracle(random_cssp(0), "guess")  # type: ignore[arg-type]


def trap() -> CSSP:
    return CSSP(
        transitions=np.eye(2)[[0]],
        row_start=np.array([0, 1, 1]),
        costs=np.ones((1, 1)),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
    )


def test_a_start_in_a_dead_end_is_an_error() -> None:
    with pytest.raises(DeadEnd, match="initial state 0: it is a dead end"):
        FlatOracle(trap())


def in_a_row(*ways: tuple[float, ...]) -> CSSP:
    """Rooms one after the other, nothing left to chance; in each a way for every cost given."""
    plan = CSSPBuilder(cost_names=("time",))
    rooms = [*(plan.add_state(index) for index in range(len(ways))), plan.add_goal("out")]
    for index, costs in enumerate(ways):
        for way, cost in enumerate(costs):
            plan.add_action(rooms[index], way, to=rooms[index + 1], costs=cost)
    plan.set_initial(rooms[0])
    return plan.build()


def test_a_bound_is_rounded_up_to_the_next_cost_that_a_policy_can_have() -> None:
    oracle = FlatOracle(in_a_row((2.0, 4.0), (6.0, 10.0)))
    assert oracle.strategies.round_up(8.5) == 10.0
    assert oracle.strategies.round_up(10.0) == 10.0


def test_costs_next_to_whole_numbers_are_not_whole() -> None:
    oracle = FlatOracle(in_a_row((1.0004,), (1.0004,), (1.0004, 2.0)))
    assert oracle.strategies.round_up(3.0001) <= 3.0012


@pytest.mark.parametrize("steps", [1, 3, 7, 30])
def test_the_rounding_of_a_sum_does_not_cost_a_whole_unit(steps: int) -> None:
    """Three times 0.1 is a hair above 0.3, and not therefore 0.4."""
    oracle = FlatOracle(in_a_row(*([(0.1,)] * steps)))
    minimum = oracle.minimise(np.ones(1), Region())
    assert minimum is not None
    for bound in (minimum.bound, sum([0.1] * steps), 0.1 * steps * (1.0 + 1e-12)):
        assert oracle.strategies.round_up(bound) == pytest.approx(0.1 * steps, rel=1e-11)


def test_rows_are_free_that_cost_nothing_of_what_is_asked_about() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage", "noise"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    for name, damage, noise in (("walk", 0.0, 0.0), ("run", 0.5, 0.0), ("ring", 0.0, 2.0)):
        plan.add_action(here, name, to=out, costs={"time": 1.0, "damage": damage, "noise": noise})
    problem = plan.build()
    assert free_rows(problem, ()) is None
    for constraints, free in {(0,): [1, 0, 1], (1,): [1, 1, 0], (0, 1): [1, 0, 0]}.items():
        found = free_rows(problem, constraints)
        assert found is not None
        assert found.tolist() == [bool(each) for each in free]


def test_a_cost_that_is_left_to_chance_is_no_multiple_of_anything() -> None:
    def roads(begins: dict[str, float], slip: float) -> CSSP:
        plan = CSSPBuilder(cost_names=("time",))
        near, far = plan.add_state("near"), plan.add_state("far")
        out = plan.add_goal("out")
        plan.add_action(near, "go", to={out: 1.0 - slip, near: slip} if slip else out, costs=2.0)
        plan.add_action(far, "go", to=out, costs=4.0)
        plan.set_initial({{"near": near, "far": far}[name]: share for name, share in begins.items()})
        return plan.build()

    assert FlatOracle(roads({"near": 1.0}, 0.0)).strategies.round_up(2.5) == 4.0
    # Where it begins by chance, or a row may fail, anything may come out.
    assert FlatOracle(roads({"near": 0.75, "far": 0.25}, 0.0)).strategies.round_up(2.4) == 2.4
    assert FlatOracle(roads({"near": 1.0}, 0.5)).strategies.round_up(3.9) == 3.9


def test_what_is_too_large_to_be_counted_in_units_is_not_rounded_up() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "go", to=out, costs=2.0**30)
    plan.set_initial(here)
    oracle = FlatOracle(plan.build())
    assert oracle.strategies.round_up(2.0**40 + 1.0) == 2.0**40 + 2.0**30
    # From 2^53 on, not all numbers are there.
    for bound in (2.0**52 + 1.0, 2.0**53 + 2.0, 2.0**60 + 2.0**10):
        assert oracle.strategies.round_up(bound) == (2.0**52 + 2.0**30 if bound < 2.0**53 else bound)
    # Beside a cost that no integer holds, there is no unit.
    plan.add_action(here, "crawl", to=out, costs=1e300)
    assert FlatOracle(plan.build()).strategies.round_up(2.0**40 + 1.0) == 2.0**40 + 1.0


@pytest.mark.parametrize("unit", [0.75, 1.0, 12.0, 2.0**-30])
def test_bounds_are_rounded_up_to_what_a_policy_can_cost(unit: float) -> None:
    way = CSSPBuilder(cost_names=("time",))
    states = [*(way.add_state(index) for index in range(3)), way.add_goal("out")]
    for here, there, times in zip(states, states[1:], (2.0, 3.0, 7.0), strict=False):
        way.add_action(here, "walk", to=there, costs=times * unit)
        way.add_action(here, "run", to=there, costs=(times - 1.0) * unit)
    oracle = FlatOracle(way.build())
    for bound, multiple in ((9.0, 9.0), (9.25, 10.0), (9.99, 10.0), (0.0, 0.0), (-2.5, -2.0)):
        assert oracle.strategies.round_up(bound * unit) == multiple * unit
    assert oracle.strategies.round_up(-np.inf) == -np.inf
