from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from brute_force import BruteForce, brute_force
from hazard_grid import hazard_grid, symmetric_grid
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.errors import OutOfPrecision
from hcssp.evaluation.linear_systems import EVALUATION, Layers
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import DenseSystem, PolicySystem, SweepSystem
from hcssp.ssp.policy_iteration import PolicyIteration, PolicyIterationParameters, ScalarOptimum, safe_rows
from hcssp.ssp.scalar_problem import Estimate, ScalarProblem
from proper_problems import proper_problem, random_rows
from random_problems import random_cssp
from volume import some

SYSTEMS = pytest.mark.parametrize("system", [PolicySystem, SweepSystem])
CHUNK = 25


def least_weighted(truth: BruteForce, weights: FloatArray, allowed: BoolArray | None = None) -> float:
    """The least weighted cost of the policies within `allowed`, by enumeration; ``inf`` if there is none."""
    weighted = truth.costs @ weights
    if allowed is not None:
        used = np.where(truth.policies == NO_ROW, len(allowed), truth.policies)
        weighted = weighted[np.append(allowed, True)[used].all(axis=1)]
    return float(np.min(weighted, initial=np.inf))


def some_weights(rng: np.random.Generator, count: int) -> FloatArray:
    """Random weights; often some are zero, so that circles may cost nothing."""
    return rng.choice([0.0, 0.0, 0.3, 1.0, 20.0], count) * rng.choice([1.0, rng.random()], count)


def check(optimum: ScalarOptimum | None, expected: float, weights: FloatArray, balance: Balance) -> None:
    if optimum is None:
        assert expected == np.inf
        return
    scale = 1.0 + expected
    assert optimum.bound <= expected + 1e-12 * scale
    assert optimum.bound >= expected - 1e-8 * scale
    assert float(weights @ optimum.costs) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    system = balance.matrix.toarray()[optimum.rows]
    values = np.linalg.solve(system, balance.costs[:, optimum.rows].T)
    np.testing.assert_allclose(optimum.values, values, rtol=1e-9, atol=1e-9 * (1.0 + values.max(initial=0.0)))
    np.testing.assert_allclose(optimum.costs, balance.initial @ values, rtol=1e-9, atol=1e-9)


@SYSTEMS
@pytest.mark.parametrize("first", some(range(0, 3 * CHUNK, CHUNK), 3))
def test_it_agrees_with_brute_force_under_all_weights_and_regions(
    system: type[PolicySystem] | type[SweepSystem], first: int
) -> None:
    empty = dead = 0
    for seed in range(first, first + CHUNK):
        problem = prepare(random_cssp(seed, zero_costs=0.6)).problem
        balance = Balance(problem)
        truth = brute_force(problem)
        solver = PolicyIteration(balance, system(balance))
        rng = np.random.default_rng(seed)
        warm = None
        for share in (1.0, 1.0, 0.9, 0.9, 0.7, 0.7, 0.5, 1.0):
            weights = some_weights(rng, problem.num_constraints + 1)
            allowed = None if share == 1.0 else rng.random(problem.num_rows) < share
            optimum = solver.minimise(weights, allowed, warm)
            check(optimum, least_weighted(truth, weights, allowed), weights, balance)
            if optimum is None:
                empty += 1
                continue
            warm = optimum.rows if rng.random() < 0.7 else None
            visits = solver.system.visits(optimum.rows)
            assert allowed is None or allowed[optimum.rows[visits > 1e-9]].all()
            if optimum.dead is not None:
                dead += 1
                assert visits[optimum.dead] == pytest.approx(0.0, abs=1e-12)
    assert empty > 0
    assert dead > 0


@SYSTEMS
def test_a_circle_without_cost_is_no_solution(system: type[PolicySystem] | type[SweepSystem]) -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "cross", to=right, costs=(0.0, 1.0))
    plan.add_action(right, "back", to=left, costs=(0.0, 0.0))
    plan.add_action(left, "wait", to=left, costs=(0.0, 0.0))
    plan.add_action(left, "leave", to=out, costs=(5.0, 0.0))
    plan.add_action(right, "leave", to=out, costs=(3.0, 9.0))
    balance = Balance(plan.build())
    for weights, least in (((1.0, 0.0), 3.0), ((0.0, 1.0), 0.0), ((1.0, 1.0), 5.0), ((0.0, 0.0), 0.0)):
        optimum = PolicyIteration(balance, system(balance)).minimise(np.array(weights))
        assert optimum is not None
        assert optimum.costs @ np.array(weights) == pytest.approx(least)
        assert least - 1e-9 <= optimum.bound <= least


@SYSTEMS
def test_ties_do_not_make_it_go_round_in_circles(
    system: type[PolicySystem] | type[SweepSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    balance = Balance(prepare(symmetric_grid(8)).problem)
    solver = PolicyIteration(balance, system(balance))
    evaluated: list[IntArray] = []
    evaluate = solver._evaluate

    def counting(problem: ScalarProblem, rows: IntArray, values: FloatArray) -> tuple[Estimate, bool]:
        evaluated.append(rows)
        return evaluate(problem, rows, values)

    monkeypatch.setattr(solver, "_evaluate", counting)
    rng = np.random.default_rng(0)
    for price, least in ((0.0, 14.0), (1 / 3, 16.0), (0.5, 16.5), (10.0, 20.0)):
        for _ in range(5):
            allowed = np.ones(balance.num_rows, dtype=np.bool_)
            optimum = solver.minimise(np.array([1.0, price]), allowed, None)
            assert optimum is not None
            assert optimum.bound == pytest.approx(least, rel=1e-9)
            solver.minimise(rng.random(2))
    # Beyond this number of evaluations it would go round: the grid is 14 steps across.
    assert 0 < len(evaluated) < 4 * 5 * 2 * 40


@pytest.mark.parametrize("seed", range(5))
def test_any_proper_policy_may_be_its_start(seed: int) -> None:
    problem = proper_problem(seed, num_states=80)
    balance = Balance(problem)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        weights = some_weights(rng, 3)
        cold = PolicyIteration(balance).minimise(weights)
        assert cold is not None
        for share in (1.0, 0.95, 0.6):
            allowed = rng.random(balance.num_rows) < share
            allowed[balance.row_start[:-1]] = True
            free = PolicyIteration(balance).minimise(weights, allowed)
            warm = PolicyIteration(balance).minimise(weights, allowed, random_rows(problem, rng))
            assert free is not None
            assert warm is not None
            assert warm.bound == pytest.approx(free.bound, rel=1e-9, abs=1e-9)
            assert warm.bound >= cold.bound - 1e-9 * (1.0 + abs(cold.bound))
            assert allowed[warm.rows].all()


def test_sweeps_and_factorisation_find_the_same_optimum_on_a_grid() -> None:
    balance = Balance(prepare(hazard_grid(20, 20, seed=1)).problem)
    factorised = PolicyIteration(balance, PolicySystem(balance))
    swept = PolicyIteration(balance, SweepSystem(balance))
    for price in (0.0, 0.4, 3.0, 50.0):
        first = factorised.minimise(np.array([1.0, price]))
        second = swept.minimise(np.array([1.0, price]))
        assert first is not None
        assert second is not None
        assert second.bound == pytest.approx(first.bound, rel=1e-8)
        assert second.bound <= float(first.costs @ [1.0, price]) * (1.0 + 1e-12)
        assert float(second.costs @ [1.0, price]) == pytest.approx(
            float(first.costs @ [1.0, price]), rel=1e-9
        )


def test_the_size_of_the_problem_chooses_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    balance = Balance(proper_problem(0))
    assert isinstance(PolicyIteration(balance).system, DenseSystem)
    monkeypatch.setitem(vars(EVALUATION), "max_dense_states", 2)
    assert type(PolicyIteration(balance).system) is PolicySystem
    monkeypatch.setitem(vars(EVALUATION), "max_factorised", 10)
    assert isinstance(PolicyIteration(balance).system, SweepSystem)


def cube(side: int) -> CSSP:
    """Three positions on lines, one of which goes on with each step, or sometimes back; all to the end."""
    size = (side,) * 3
    states = np.indices(size).reshape(3, -1)
    heads, tails = [], []
    for axis in range(3):
        for step in (1, -1):
            there = states.copy()
            there[axis] = np.clip(there[axis] + step, 0, side - 1)
            heads.append(np.ravel_multi_index(there, size))
            tails.append(3 * np.arange(side**3) + axis)
    last = side**3 - 1
    chances = np.repeat(np.tile([0.8, 0.2], 3), side**3)
    moves = csr_array((chances, (np.concatenate(tails), np.concatenate(heads))), shape=(3 * side**3, side**3))
    return CSSP(
        transitions=csr_array(moves[: 3 * last]),
        row_start=np.append(np.arange(0, 3 * last + 1, 3), 3 * last),
        costs=np.ones((1, 3 * last)),
        initial=np.eye(1, side**3)[0],
        goals=np.arange(side**3) == last,
        cost_names=("time",),
        bounds=np.zeros(0),
    )


def test_the_width_of_a_large_problem_chooses_not_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PolicyIterationParameters(large=100)
    monkeypatch.setitem(vars(EVALUATION), "max_factorised", 300)
    corridor = PolicyIteration(Balance(prepare(hazard_grid(300, 3)).problem), parameters=large)
    square = PolicyIteration(Balance(prepare(hazard_grid(30, 30)).problem), parameters=large)
    block = PolicyIteration(Balance(cube(10)), parameters=large)
    assert min(each.balance.num_live for each in (corridor, square, block)) > 700
    assert isinstance(corridor.system, PolicySystem)
    # Also from the middle, where layers are widest.
    middle = square.balance.graph.shape[0] // 2
    assert isinstance(square.system, PolicySystem)
    assert not Layers(square.balance.graph, middle).wider_than_grid
    assert isinstance(block.system, SweepSystem)
    weights = np.array([1.0, 0.3])
    narrow = corridor.minimise(weights)
    usual = PolicyIteration(corridor.balance, PolicySystem(corridor.balance)).minimise(weights)
    assert narrow is not None
    assert usual is not None
    assert narrow.bound <= usual.costs @ weights
    assert narrow.bound == pytest.approx(usual.bound, rel=1e-8)


def test_improvements_that_are_left_alone_are_paid_for_by_the_bound() -> None:
    # From afar and without sweeps: otherwise the first policy is as good as exact.
    parameters = PolicyIterationParameters(large=10, large_precision=0.05, bellman_sweeps=(0, 0))
    balance = Balance(prepare(hazard_grid(20, 20, seed=1)).problem)
    rough = PolicyIteration(balance, parameters=parameters)
    exact = PolicyIteration(balance, parameters=parameters)
    exact.precision = 0.0
    stopped_early = 0
    afar, _, _ = safe_rows(balance, balance.costs[0], np.ones(balance.num_rows, dtype=np.bool_))
    for price in (0.0, 0.4, 3.0, 50.0):
        coarse = rough.minimise(np.array([1.0, price]), warm=afar)
        best = exact.minimise(np.array([1.0, price]), warm=afar)
        assert coarse is not None
        assert best is not None
        least = float(best.costs @ [1.0, price])
        assert coarse.bound <= least * (1.0 + 1e-12)
        assert coarse.bound >= 0.95 * least
        assert least * (1.0 - 1e-12) <= float(coarse.costs @ [1.0, price]) <= 1.06 * least
        stopped_early += coarse.bound < best.bound * (1.0 - 1e-9)
    assert stopped_early > 0


def test_a_region_without_a_way_out_is_empty() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "wait", to=here, costs=1.0)
    plan.add_action(here, "leave", to=out, costs=1.0)
    solver = PolicyIteration(Balance(plan.build()))
    weights = np.ones(1)
    assert solver.minimise(weights, np.array([True, False])) is None
    assert solver.minimise(weights, np.array([False, False])) is None
    optimum = solver.minimise(weights, np.array([True, True]))
    assert optimum is not None
    assert solver.minimise(weights, np.array([True, False]), warm=optimum.rows) is None


def start_in_goal() -> CSSP:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "leave", to=out, costs=1.0)
    plan.set_initial(out)
    return plan.build()


def test_where_nothing_is_left_to_do_everything_costs_nothing() -> None:
    optimum = PolicyIteration(Balance(prepare(start_in_goal()).problem)).minimise(np.ones(1))
    assert optimum is not None
    assert (optimum.bound, optimum.costs.tolist()) == (0.0, [0.0])


@pytest.mark.parametrize("penalty", [1e6, 1e9, 1e12])
def test_an_enormous_cost_hides_no_gain_from_the_bound(penalty: float) -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "pay a little", to=out, costs=5e-13 * penalty)
    plan.add_action(here, "pay nothing", to=out, costs=0.0)
    plan.add_action(here, "pay the penalty", to=out, costs=penalty)
    optimum = PolicyIteration(Balance(prepare(plan.build()).problem)).minimise(np.ones(1))
    assert optimum is not None
    assert optimum.bound <= 0.0


@pytest.mark.parametrize("first", some(range(0, 300, 50), 6))
def test_the_unit_of_a_cost_does_not_matter_where_loops_are_free(first: int) -> None:
    failures = []
    for seed in range(first, first + 50):
        scale = (1e5, 1e8)[seed % 2]
        problem = prepare(random_cssp(seed, zero_costs=0.5)).problem
        problem = replace(problem, costs=problem.costs * scale)
        costs = brute_force(problem).costs
        solver = PolicyIteration(Balance(problem))
        for index in range(len(problem.cost_names)):
            weights = np.eye(len(problem.cost_names))[index]
            optimum = solver.minimise(weights)
            assert optimum is not None
            least = costs[:, index].min()
            near = np.abs(costs - optimum.costs).max(axis=1).min()
            if near > 1e-8 * scale or optimum.bound > least + 1e-11 * scale:
                failures.append(
                    f"seed {seed}, weights {weights}: {optimum.costs}, {optimum.bound} > {least}?"
                )
    assert failures == []


def grid_problem(price: float = 0.4) -> tuple[PolicyIteration, ScalarProblem]:
    """A grid on which improvements have a long way to go."""
    balance = Balance(prepare(hazard_grid(15, 15, seed=2)).problem)
    return PolicyIteration(balance), ScalarProblem(balance, np.array([1.0, price]))


def far_policy(problem: ScalarProblem) -> IntArray:
    """A proper policy that minds its steps and nothing else."""
    return safe_rows(
        problem.balance,
        np.ones(problem.balance.num_rows),
        np.ones(problem.balance.num_rows, dtype=np.bool_),
    )[0]


def test_evaluating_tells_exact_values_from_rough_ones_and_refuses_absurd_ones() -> None:
    solver, problem = grid_problem()
    rows = far_policy(problem)
    values = solver.system.values(rows)
    estimate, is_exact = solver._evaluate(problem, rows, values)
    assert is_exact
    assert estimate.value == pytest.approx(values @ problem.weights)
    assert np.abs(estimate.reduced[rows]).max() < 1e-10
    assert not solver._evaluate(problem, rows, values * (1.0 + 1e-7))[1]
    for absurd in (np.full_like(values, np.inf), np.full_like(values, np.nan)):
        with pytest.raises(OutOfPrecision, match="overflow"):
            solver._evaluate(problem, rows, absurd)


def test_forbidden_rows_of_dead_states_are_no_residual() -> None:
    solver, problem = grid_problem()
    rows = far_policy(problem)
    allowed = np.ones(problem.balance.num_rows, dtype=np.bool_)
    allowed[rows[3]] = False
    within = ScalarProblem(problem.balance, problem.weights, allowed)
    estimate, is_exact = solver._evaluate(within, rows, solver.system.values(rows))
    assert is_exact
    assert estimate.reduced[rows[3]] == np.inf


def test_a_switch_takes_the_best_row_where_it_is_better_and_lowers_every_value() -> None:
    solver, problem = grid_problem()
    rows = far_policy(problem)
    estimate, _ = solver._evaluate(problem, rows, solver.system.values(rows))
    improvable = problem.improvable(estimate)
    assert 0 < np.count_nonzero(improvable) < len(rows)
    switched = solver._switch(rows, estimate, improvable)
    assert np.array_equal(switched[~improvable], rows[~improvable])
    assert estimate.reduced[switched[improvable]].tolist() == estimate.least[improvable].tolist()
    after = solver.system.values(switched) @ problem.weights
    assert np.all(after <= estimate.value + 1e-9)
    assert np.any(after < estimate.value - 1e-3)


def test_sweeps_lower_the_values_towards_the_best_and_never_below() -> None:
    solver, problem = grid_problem()
    best = solver.minimise(problem.weights)
    assert best is not None
    rows = far_policy(problem)
    estimate, _ = solver._evaluate(problem, rows, solver.system.values(rows))
    improvable = problem.improvable(estimate)
    swept = solver._sweep(problem, estimate, improvable)
    least = best.values @ problem.weights
    assert np.all(swept.value <= estimate.value + 1e-9)
    assert np.all(swept.value >= least - 1e-9 * (1.0 + least))
    assert np.abs(swept.value - least).max() < 0.1 * np.abs(estimate.value - least).max()
    # The policy that is best for the swept values is better than what they say.
    switched = solver._switch(rows, swept, problem.improvable(swept, rows))
    assert np.all(solver.system.values(switched) @ problem.weights <= swept.value + 1e-9)


def test_where_few_states_improve_nothing_is_swept() -> None:
    solver, problem = grid_problem()
    best = solver.minimise(problem.weights)
    assert best is not None
    estimate, _ = solver._evaluate(problem, best.rows, best.values)
    assert solver._sweep(problem, estimate, problem.improvable(estimate)) is estimate


def test_a_warm_start_replaces_few_forbidden_rows_and_gives_up_on_many() -> None:
    solver, problem = grid_problem()
    balance = problem.balance
    warm = far_policy(problem)
    values = solver.system.values(warm)
    assert solver._warm_start(problem, warm, values) == (warm, values)
    for count, fits in ((3, True), (40, False)):
        allowed = np.ones(balance.num_rows, dtype=np.bool_)
        allowed[warm[:count]] = False
        within = ScalarProblem(balance, problem.weights, allowed)
        rows, known = solver._warm_start(within, warm, values)
        assert known is None
        assert (rows is not None) == fits
        if rows is not None:
            assert allowed[rows].all()
            assert np.array_equal(rows[count:], warm[count:])
