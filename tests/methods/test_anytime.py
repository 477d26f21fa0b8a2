from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import IntArray
from hcssp.dual.flat import FlatOracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.errors import DeadEnd
from hcssp.methods.anytime import Anytime, next_best, next_best_of_procedure, stage_two
from hcssp.numerics import tolerated
from hcssp.procedure import HCSSP
from hcssp.scenarios import evacuation
from hcssp.solving.solve import solve
from known_optima import attempts, knapsack, roads, start_in_goal
from random_problems import random_cssp
from random_procedures import random_procedure
from referee.judgement import judge
from referee.wild_problems import make_case
from small_procedures import forking
from volume import some


@pytest.mark.parametrize("seed", some(range(60)))
def test_policies_come_in_the_order_of_their_cost_each_exactly_once(seed: int) -> None:
    problem = random_cssp(seed, max_states=5, max_actions=3, zero_costs=0.5)
    truth = brute_force(problem)
    weights = np.append(1.0, np.random.default_rng(seed).choice([0.0, 0.5, 3.0], problem.num_constraints))
    oracle = FlatOracle(problem)
    found = list(next_best(oracle, weights))
    values = [value for value, _ in found]
    assert len(found) == len(truth.policies)
    assert values == sorted(values)
    np.testing.assert_allclose(values, np.sort(truth.costs @ weights), rtol=1e-8, atol=1e-8)
    behaviours = set()
    for value, point in found:
        assert value <= float(point.costs @ weights) + 1e-9 * (1.0 + abs(value))
        behaviours.add(tuple(np.where(point.reached, point.rows, -1)))
    assert len(behaviours) == len(found)


@pytest.mark.parametrize("seed", some(range(200), one_in=10))
def test_policies_of_a_procedure_come_in_the_order_of_their_cost_each_exactly_once(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    truth = brute_force_procedure(problem)
    weights = np.append(1.0, np.random.default_rng(seed).choice([0.0, 0.5, 3.0], problem.num_constraints))
    oracle = ProcedureOracle(problem.flattening)
    behaviours, values = set(), []
    for value, point in next_best_of_procedure(oracle, weights):
        assert value <= float(point.costs @ weights) * (1.0 + 1e-12)
        values.append(value)
        behaviours.add(tuple(reached_rows(problem, oracle.lift(point))))
    assert values == sorted(values)
    assert behaviours == {tuple(rows) for rows in truth.rows.tolist()}
    assert len(behaviours) == len(values)
    np.testing.assert_allclose(values, np.sort(truth.costs @ weights), rtol=1e-8, atol=1e-8)


def reached_rows(problem: HCSSP, rows: IntArray) -> list[int]:
    """The rows of the flat states that a policy reaches, -1 elsewhere."""
    flat, found = problem.flat, [-1] * problem.flat.num_states
    waiting = np.flatnonzero(flat.initial > 0.0).tolist()
    while waiting:
        state = waiting.pop()
        if found[state] < 0 and not flat.goals[state]:
            found[state] = int(rows[state])
            successors = flat.transitions[[found[state]]].tocsr()
            waiting += successors.indices[successors.data > 0.0].tolist()
    return found


@pytest.mark.parametrize("seed", some(range(200), one_in=10))
def test_a_procedure_is_solved_activity_by_activity(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0)
    optimum = brute_force_procedure(problem).optimum(problem.bounds)
    steps: list[Progress] = []
    result = solve(problem, Anytime(), stop=(), on_progress=steps.append)
    if optimum is None:
        assert result.status is Status.INFEASIBLE
        return
    assert result.upper_bound == pytest.approx(optimum[0])
    assert result.status is Status.OPTIMAL
    assert all(step.lower_bound <= optimum[0] * (1.0 + 1e-9) for step in steps)
    # What it meets is there for pictures.
    met = [step.met for step in steps if step.met is not None]
    ranks = [each.rank for each in met if each.rank is not None]
    assert ranks == list(range(1, len(ranks) + 1))
    assert len(met) > len(ranks)


def test_iterations_limit_the_second_stage() -> None:
    whole = solve(knapsack(6.0), Anytime(), stop=())
    assert whole.status is Status.OPTIMAL
    assert whole.iterations > 3
    previous = None
    for count in (0, 1, 2, 3):
        result = solve(knapsack(6.0), Anytime(iterations=count), stop=())
        assert result.ending.reason == "iterations"
        assert result.iterations == count
        assert result.lower_bound <= 31.0 <= result.upper_bound
        if previous is not None:
            assert result.lower_bound >= previous.lower_bound
            assert result.upper_bound <= previous.upper_bound
        previous = result
    assert solve(knapsack(6.0), Anytime(iterations=whole.iterations), stop=()).status is Status.OPTIMAL


def test_the_dual_alone_leaves_the_gap_of_the_relaxation() -> None:
    result = solve(roads(damage=4.0), Anytime(iterations=0), stop=())
    assert result.lower_bound == pytest.approx(5.0)
    assert result.upper_bound == 6.0
    assert result.status is Status.FEASIBLE
    assert result.ending.reason == "iterations"
    assert result.prices == pytest.approx({"damage": 0.5, "fuel": 0.0})


def test_a_single_policy_is_enumerated_and_that_is_all() -> None:
    result = solve(attempts(0.5), Anytime(), stop=())
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == 2.0


def test_a_procedure_is_flattened() -> None:
    result = solve(forking(), Anytime(), stop=())
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(5.0)
    assert result.choice("start") == "choose"


def test_a_bound_that_nothing_can_keep_is_proved_even_where_nothing_is_left_to_do() -> None:
    result = solve(start_in_goal(-1.0), Anytime(), stop=())
    assert result.status is Status.INFEASIBLE
    assert "the least achievable damage is 0, above the bound -1" in result.message


def test_a_dead_end_is_an_error_not_an_answer() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, pit = plan.add_state("here"), plan.add_state("pit")
    plan.add_goal("out")
    plan.add_action(here, "fall", to=pit, costs=1.0)
    with pytest.raises(DeadEnd, match="initial state 'here'"):
        solve(plan.build(), Anytime())


def test_l_counts_the_policies_after_the_first() -> None:
    ranked = [(4.0, "first"), (5.0, "second"), (7.0, "third")]

    def seen(iterations: float) -> list[tuple[int, float, str | None]]:
        steps = stage_two(ranked, np.zeros(0), np.zeros(0), iterations)
        return [(step.iterations, step.bound, step.policy) for step in steps]

    assert seen(0) == [(0, 4.0, "first")]
    assert seen(1) == [(0, 4.0, "first"), (1, 5.0, "second")]
    # A third iteration finds that there is no fourth policy.
    assert seen(3) == seen(np.inf) == [*seen(2), (2, np.inf, None)]


def test_without_a_policy_there_is_nothing_to_look_at() -> None:
    (step,) = stage_two([], np.zeros(0), np.zeros(0), 5)
    assert (step.bound, step.policy) == (np.inf, None)


@pytest.mark.parametrize("bound", [0.0, 0.3, 2.0, 700.0, 1e6])
def test_the_bounds_of_the_second_stage_hold_for_whatever_counts_as_feasible(bound: float) -> None:
    bounds, prices = np.array([bound, np.inf]), np.array([25.0, 0.0])
    costs = np.array([3.0, float(tolerated(bounds)[0]), 8.0])
    value = float(np.append(1.0, prices) @ costs)
    (step,) = stage_two([(value, "on the edge")], prices, bounds, 0)
    assert step.bound <= 3.0
    assert step.bound == pytest.approx(3.0, abs=1e-7 * (1.0 + bound))


def test_policies_that_tie_are_not_sorted_before_the_next_one_is_yielded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A room where many states are hardly ever visited: what is done there makes no difference.
    room = evacuation().activities[0].cssp
    oracle = FlatOracle(room)
    planned = []
    minimise = FlatOracle.minimise
    monkeypatch.setattr(
        FlatOracle, "minimise", lambda *given, **by: planned.append(1) or minimise(*given, **by)
    )
    ranked = list(islice(next_best(oracle, np.array([1.0, 0.1])), 3))
    bounds = [bound for bound, _ in ranked]
    values = [float(point.costs @ [1.0, 0.1]) for _, point in ranked]
    assert bounds == sorted(bounds)
    assert bounds == pytest.approx(values, rel=1e-8)
    assert len(planned) <= 10


def test_what_is_lost_in_double_precision_ends_the_second_stage() -> None:
    """Activities that end with probability 1e-9 in loops: as one flat problem their values are lost."""
    case = make_case("retries: loops", 300070)
    plan = solve(case.problem, "anytime")
    assert plan.status is Status.OPTIMAL
    assert judge(case, "anytime") == []
