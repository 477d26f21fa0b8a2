from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from math import inf

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.ascent import (
    DEFAULT_PARAMETERS,
    Ascent,
    AscentParameters,
    Dual,
    ascend,
    is_above,
    lagrangian_bound,
    maximise,
)
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.errors import OutOfPrecision
from hcssp.numerics import FEASIBILITY_TOLERANCE, tolerated
from hcssp.ssp.scalar_problem import Region
from known_optima import roads
from menus import Dish, Menu
from mixtures import best_mixture
from random_problems import random_cssp
from volume import some

CHUNK = 20


def check_against_the_best_mixture(problem: CSSP, dual: Dual[FlatPoint], costs: np.ndarray) -> None:
    """`costs`: those of all policies of the region."""
    # Lower bounds hold for all that counts as feasible, so the bounds are those that are tolerated.
    optimum = best_mixture(costs, tolerated(problem.bounds))
    if dual.infeasible:
        assert optimum == np.inf
        assert dual.bound == np.inf
        if dual.empty:
            assert len(costs) == 0
        else:
            proof = dual.infeasibility
            assert proof is not None
            assert (proof.weights >= 0.0).all()
            assert proof.weights.sum() == pytest.approx(1.0)
            used = proof.weights > 0.0
            assert proof.allowed == pytest.approx(float(proof.weights[used] @ problem.bounds[used]))
            assert proof.least > proof.allowed
            assert proof.least <= (costs[:, 1:] @ proof.weights).min() * (1.0 + 1e-12)
        return
    assert dual.converged
    assert dual.bound == pytest.approx(optimum, rel=1e-8, abs=1e-8)
    deterministic = (costs[:, 1:] <= problem.bounds + 1e-9 * np.abs(problem.bounds) + 1e-14).all(axis=1)
    least = float(np.min(costs[deterministic, 0], initial=np.inf))
    assert dual.bound <= least + 1e-9 * (1.0 + least)
    # The bound is the Lagrangian's value at the prices.
    assert (dual.prices >= 0.0).all()
    assert (dual.prices[np.isinf(problem.bounds)] == 0.0).all()
    paid = dual.prices > 0.0
    lagrangian = costs[:, 0] + (costs[:, 1:][:, paid] - tolerated(problem.bounds)[paid]) @ dual.prices[paid]
    assert dual.bound == pytest.approx(lagrangian.min(), rel=1e-8, abs=1e-8)
    # The mixture is the same optimum from the other side.
    assert dual.mixture.sum() == pytest.approx(1.0)
    assert (dual.mixture >= 0.0).all()
    assert len(dual.support) <= 1 + np.count_nonzero(np.isfinite(problem.bounds))
    mixed = dual.mixture @ np.array([point.costs for point in dual.support])
    assert mixed[0] == pytest.approx(optimum, rel=1e-7, abs=1e-7)
    room = 10.0 * FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(problem.bounds))
    assert (mixed[1:] <= problem.bounds + room).all()
    # Complementary slackness: only what is used up has a price.
    for price, use, bound in zip(dual.prices, mixed[1:], problem.bounds, strict=True):
        assert price == pytest.approx(0.0, abs=1e-7) or use == pytest.approx(bound, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("constraints", [1, 2, 3])
@pytest.mark.parametrize("first", some(range(0, 3 * CHUNK, CHUNK), 3))
def test_the_dual_is_the_optimum_over_mixtures(constraints: int, first: int) -> None:
    for seed in range(first, first + CHUNK):
        problem = random_cssp(seed, min_constraints=constraints, max_constraints=constraints)
        dual = maximise(FlatOracle(problem), Region())
        check_against_the_best_mixture(problem, dual, brute_force(problem).costs)


@pytest.mark.parametrize("first", some(range(0, 3 * CHUNK, CHUNK), 3))
def test_it_is_so_in_every_region_wherever_it_begins(first: int) -> None:
    empty = 0
    for seed in range(first, first + CHUNK):
        problem = prepare(random_cssp(seed, infeasible=0.05)).problem
        truth = brute_force(problem)
        oracle = FlatOracle(problem)
        rng = np.random.default_rng(seed)
        known = maximise(oracle, Region()).points
        for _ in range(4):
            region = Region().forbid(np.flatnonzero(rng.random(problem.num_rows) < 0.2))
            allowed = np.append(region.allowed(problem.num_rows), True)
            used = np.where(truth.policies == NO_ROW, problem.num_rows, truth.policies)
            inside = [point for point in known if point.lies_in(region, oracle.row_state)]
            start = rng.choice([0.0, 0.3, 5.0], problem.num_constraints)
            dual = maximise(oracle, region, inside if rng.random() < 0.5 else (), start=start)
            check_against_the_best_mixture(problem, dual, truth.costs[allowed[used].all(axis=1)])
            empty += dual.empty
    assert empty > 0


@pytest.mark.parametrize("constraints", [1, 2])
def test_everything_it_says_on_the_way_is_true(constraints: int) -> None:
    for seed in some(range(25), 3):
        problem = random_cssp(seed, min_constraints=constraints, max_constraints=constraints, infeasible=0.0)
        optimum = best_mixture(brute_force(problem).costs, problem.bounds)
        bounds = [dual.bound for dual in ascend(FlatOracle(problem), Region())]
        assert bounds == sorted(bounds)
        assert bounds[-1] <= optimum + 1e-8 * (1.0 + abs(optimum))


def test_it_stops_once_the_bound_reaches_what_is_asked() -> None:
    stopped = 0
    for seed in some(range(40)):
        problem = random_cssp(seed, infeasible=0.0)
        whole = maximise(FlatOracle(problem), Region())
        if whole.infeasible or len(whole.points) < 3:
            continue
        cutoff = 0.9 * whole.bound
        dual = maximise(FlatOracle(problem), Region(), cutoff=cutoff)
        assert dual.bound >= cutoff
        assert dual.bound <= whole.bound + 1e-9 * (1.0 + whole.bound)
        stopped += len(dual.points) < len(whole.points)
    assert stopped > 0


@pytest.mark.parametrize(
    ("bounds", "value", "prices"),
    [
        ({}, 4.0, (0.0, 0.0)),
        ({"damage": 6.0}, 4.0, (0.0, 0.0)),
        ({"damage": 100.0, "fuel": 100.0}, 4.0, (0.0, 0.0)),
        ({"damage": 4.0}, 5.0, (0.5, 0.0)),
        ({"damage": 1.0}, 8.0, (2.0, 0.0)),
        ({"damage": 4.0, "fuel": 100.0}, 5.0, (0.5, 0.0)),
        ({"damage": 100.0, "fuel": 5.5}, 5.0, (0.0, 0.4)),
        ({"damage": 1.0, "fuel": 3.5}, 8.0, None),
        ({"damage": np.inf, "fuel": 5.5}, 5.0, (0.0, 0.4)),
    ],
)
def test_prices_are_what_a_unit_of_budget_is_worth(
    bounds: dict[str, float], value: float, prices: tuple[float, float] | None
) -> None:
    dual = maximise(FlatOracle(roads(**bounds)), Region())
    assert dual.bound == pytest.approx(value, abs=1e-7)
    if prices is not None:
        assert dual.prices == pytest.approx(prices, abs=1e-7)
    if prices == (0.0, 0.0):
        assert dual.prices.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("bounds", "weights", "least", "allowed"),
    [
        ({"damage": -1.0}, (1.0, 0.0), 0.0, -1.0),
        ({"fuel": 2.5}, (0.0, 1.0), 3.0, 2.5),
        ({"damage": 100.0, "fuel": 2.5}, (0.0, 1.0), 3.0, 2.5),
        # Each alone is possible: damage + 2 fuel is 8 at least.
        ({"damage": 0.5, "fuel": 3.5}, (1 / 3, 2 / 3), 8 / 3, 2.5),
    ],
)
def test_what_cannot_be_is_proved(
    bounds: dict[str, float], weights: tuple[float, float], least: float, allowed: float
) -> None:
    dual = maximise(FlatOracle(roads(**bounds)), Region())
    proof = dual.infeasibility
    assert proof is not None
    assert dual.infeasible
    assert not dual.empty
    assert dual.bound == np.inf
    assert proof.weights == pytest.approx(weights, abs=1e-6)
    assert proof.least == pytest.approx(least, abs=1e-6)
    assert proof.allowed == pytest.approx(allowed, abs=1e-6)


def test_a_region_without_a_policy_is_empty() -> None:
    dual = maximise(FlatOracle(roads(damage=1.0)), Region().forbid([0, 1, 2]))
    assert dual.empty
    assert dual.infeasible
    assert dual.bound == np.inf
    assert dual.infeasibility is None


def test_a_region_may_be_infeasible_where_the_whole_is_not() -> None:
    dual = maximise(FlatOracle(roads(damage=1.0)), Region().forbid([0]))
    assert dual.infeasibility is not None
    assert dual.infeasibility.least == pytest.approx(2.0)


@pytest.mark.parametrize("cost", [0.0, 1e-6, 1.0])
def test_a_policy_that_uses_less_for_the_same_money_is_the_answer(cost: float) -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "recklessly", to=out, costs=(cost, 2.0))
    plan.add_action(here, "carefully", to=out, costs=(cost, 0.0))
    dual = maximise(FlatOracle(plan.build()), Region())
    assert dual.converged
    assert [point.costs.tolist() for point in dual.support] == [[cost, 0.0]]
    assert dual.bound == pytest.approx(cost, abs=1e-9)


@pytest.mark.parametrize("least", [1.0, 1e-3])
def test_a_bound_that_rounding_hides_from_the_least_use_is_no_error(least: float) -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 3.0 * least / 7.0 * (1.0 - 1e-9)})
    here, out = plan.add_state("here"), plan.add_goal("out")
    # Three in seven, summed up in a loop: no bound at the very edge is exact.
    plan.add_action(here, "try", to={here: 2.0 / 3.0, out: 1.0 / 3.0}, costs=(1.0, least / 7.0))
    dual = maximise(FlatOracle(plan.build()), Region())
    assert dual.converged or dual.infeasible
    assert dual.bound <= 3.0 + 1e-9 or dual.infeasible


@pytest.mark.parametrize("bounds", [[np.inf, np.inf], [1.0, np.inf], [1.0, 3.5], [0.5, 3.5]])
def test_what_was_said_on_the_way_stays_as_it_was(bounds: list[float]) -> None:
    menu = Menu([(10.0, 0.0, 4.0), (6.0, 2.0, 3.0), (4.0, 6.0, 8.0)], bounds)

    def values(dual: Dual[object]) -> list[object]:
        return [getattr(dual, each.name) for each in fields(dual)]

    kept, copies = [], []
    for dual in ascend(menu, Region()):
        kept.append(dual)
        copies.append([np.array(value) for value in values(dual)])
    for dual, copy in zip(kept, copies, strict=True):
        for value, before in zip(values(dual), copy, strict=True):
            assert np.array_equal(np.array(value), before)
    assert len({id(dual) for dual in kept}) == len(kept)
    with pytest.raises(FrozenInstanceError):
        kept[-1].bound = 0.0  # type: ignore[misc]


def test_without_bounds_the_answer_is_precise_at_once() -> None:
    dual = maximise(Menu([[7.0, 5.0], [6.0, 9.0]], [inf], blur=0.5), Region())
    assert dual.converged
    assert dual.bound == 6.0


def test_what_has_no_bound_has_no_part_in_what_a_policy_costs_at_prices() -> None:
    menu = Menu([[7.0, 5.0, 3.0]], [inf, 1.0])
    ascent = Ascent(menu, Region())
    (dish,) = maximise(menu.under(np.full(2, inf)), Region()).points
    assert ascent.lagrangian(dish.costs, np.array([0.0, 2.0])) == pytest.approx(
        7.0 + 2.0 * (3.0 - 1.0), rel=1e-8
    )
    assert ascent.lagrangian(dish.costs, np.zeros(2)) == 7.0


def test_a_lagrangian_bound_holds_for_whatever_counts_as_feasible() -> None:
    bounds, prices = np.array([4.0, np.inf, 1e6]), np.array([0.5, 0.0, 3.0])
    edge = np.append(7.0, np.where(np.isfinite(bounds), tolerated(bounds), 0.0))
    value = float(edge @ np.append(1.0, prices))
    assert lagrangian_bound(value, prices, bounds) <= 7.0
    assert lagrangian_bound(value, prices, bounds) == pytest.approx(7.0, abs=1e-8)


def test_the_rounding_of_an_enormous_offset_is_taken_off() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        cost, bound, price = rng.uniform(0.0, 1.0), rng.uniform(1.0, 1e3), rng.uniform(1e6, 1e9)
        # What a policy at the very edge of the bound costs: the sum has lost most digits of its cost.
        edge = float(tolerated(np.array([bound]))[0])
        value = cost + price * edge
        assert lagrangian_bound(value, np.array([price]), np.array([bound])) <= cost


def test_a_bound_is_never_lowered_by_what_is_explored_later() -> None:
    ascent = Ascent(Menu([(10.0, 0.0), (6.0, 2.0), (4.0, 6.0)], [4.0]), Region())
    ascent.explore(np.array([0.5]))
    best = ascent.bound
    for price in (0.0, 0.1, 2.0, 50.0):
        ascent.explore(np.array([price]))
    assert ascent.bound == best == pytest.approx(5.0)
    assert ascent.prices.tolist() == [0.5]
    assert len(ascent.points) == 5
    assert ascent.drop_repeated()
    assert len(ascent.points) == 4
    del ascent.points[1:]
    assert not ascent.drop_repeated(), "there is nothing that it could be like"


def test_the_least_use_refutes_a_region_or_adds_its_policy() -> None:
    table = [(10.0, 1.0), (6.0, 2.0)]
    ascent = Ascent(Menu(table, [1.0]), Region())
    ascent.explore(np.zeros(1))
    assert ascent.can_keep(np.ones(1))
    assert ascent.points[-1].row == 0
    assert not ascent.decided
    # What is exceeded by less than the tolerance is kept.
    edge = Ascent(Menu(table, [1.0 - 0.5e-9]), Region())
    edge.explore(np.zeros(1))
    assert edge.can_keep(np.ones(1))
    tight = Ascent(Menu(table, [0.5]), Region())
    tight.explore(np.zeros(1))
    assert not tight.can_keep(np.ones(1))
    assert tight.infeasible
    assert tight.bound == np.inf
    assert len(tight.points) == 1


def test_an_ascent_that_does_not_end_is_an_error() -> None:
    ascent = Ascent(Menu([(10.0, 0.0)], [4.0]), Region(), parameters=AscentParameters(max_rounds=7))
    with pytest.raises(OutOfPrecision, match="not decided within 7 rounds"):
        list(ascent.rounds())


def test_an_ascent_that_takes_too_many_rounds_leaves_what_is_proven() -> None:
    few = AscentParameters(max_rounds=1)
    dual = maximise(Menu([(10.0, 0.0), (6.0, 2.0), (4.0, 6.0)], [4.0]), Region(), parameters=few)
    assert not dual.converged
    assert dual.bound == 4.0


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_policy_repeats_another_if_every_cost_is_the_same_relatively(size: float) -> None:
    costs = np.array([2.0, 3.0]) * size
    for share, repeats in ((0.1, True), (10.0, False)):
        ascent = Ascent(Menu([(1.0, 1.0)], [1.0]), Region())
        other = costs * [1.0, 1.0 + share * DEFAULT_PARAMETERS.same_policy]
        ascent.points = [Dish(costs, 0), Dish(2.0 * costs, 1), Dish(other, 2)]
        assert ascent.drop_repeated() == repeats


def test_near_a_cutoff_an_ascent_may_end_sooner() -> None:
    menu = Menu([(1.0, 1.0)], [1.0])
    ascent = Ascent(menu, Region(), cutoff=30.0)
    ascent.bound = 10.0
    assert ascent.tolerance() == DEFAULT_PARAMETERS.tolerance * 10.0
    assert ascent.tolerance(0.5) == 10.0
    ascent.cutoff = 10.0
    assert ascent.tolerance(0.5) == ascent.tolerance()
    ascent.cutoff = inf
    assert ascent.tolerance(0.5) == ascent.tolerance()


def test_what_is_missing_decides_how_precisely_to_solve() -> None:
    share, coarse = DEFAULT_PARAMETERS.precision_share, DEFAULT_PARAMETERS.coarse_precision
    ascent = Ascent(Menu([(1.0, 1.0)], [1.0]), Region(), cutoff=-100.0 * (1.0 - 1e-4))
    assert ascent.precision(-100.0) == pytest.approx(share * 1e-4)
    assert ascent.precision(-100.0, finer_than=1e-5) == pytest.approx(share * 1e-5)
    assert ascent.precision(-100.0, finer_than=1e-9) == 0.0
    # Far from the cutoff, or without a measure, it is the coarsest.
    assert ascent.precision(-200.0) == ascent.precision(-inf) == ascent.precision(0.0) == coarse
    # Without a cutoff the distance to the bound counts.
    ascent.cutoff, ascent.bound = inf, 99.9
    assert ascent.precision(100.0) == pytest.approx(share * 1e-3)
    assert ascent.precision(99.9) == coarse


def test_a_region_that_turns_out_to_be_empty_is_refuted_whatever_is_asked() -> None:
    menu = Menu([(10.0, 0.0), (6.0, 2.0)], [1.0])
    ascent = Ascent(menu, Region(), [Dish(menu.table[0], 0)])
    menu.minimise = lambda *_, **__: None  # type: ignore[method-assign]
    assert not ascent.can_keep(np.ones(1))
    assert ascent.empty
    assert ascent.infeasible
    assert ascent.bound == inf
    assert len(ascent.points) == 1


def test_nothing_is_not_above_nothing() -> None:
    assert not is_above(0.0, np.zeros(2), np.ones(2))
    assert is_above(1e-300, np.zeros(2), np.ones(2))
    # Nor is what is above by no more than rounding.
    assert not is_above(float(np.nextafter(0.3, 1.0)), np.array([0.1]), np.array([3.0]))


def test_nothing_is_proven_of_prices_to_begin_with_unless_it_is_said() -> None:
    begun = 0
    for seed in range(12):
        problem = random_cssp(seed, max_constraints=1)
        oracle = FlatOracle(problem)
        dual = maximise(oracle, Region())
        if dual.infeasible or not dual.prices.any():
            continue
        begun += 1
        for again in (
            *ascend(oracle, Region(), dual.points, dual.prices),
            maximise(oracle, Region(), dual.points, dual.prices),
        ):
            assert again.bound <= dual.bound + 1e-8 * abs(dual.bound)
    assert begun > 2
