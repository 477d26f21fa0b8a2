from __future__ import annotations

import numpy as np
import pytest

from hcssp.contract.proof import Status
from hcssp.contract.solver import Memory, Problem, same_but_for_bounds
from hcssp.dual.flat import Evaluation, FlatOracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import find_scenario
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from known_optima import knapsack, roads
from small_procedures import forking, retrying

PROBLEMS = pytest.mark.parametrize(
    "problem", [roads(damage=4.0), retrying(), forking()], ids=["flat", "separable", "entangled"]
)


@PROBLEMS
def test_an_oracle_is_handed_out_under_any_bounds(problem: Problem) -> None:
    memory = Memory()
    first = memory.oracle(problem)
    stricter = problem.with_bounds({"damage": 1.0})
    second = memory.oracle(stricter)
    assert first.bounds.tolist() == problem.bounds.tolist()
    assert second.bounds.tolist() == stricter.bounds.tolist()
    assert second.bounds[0] == 1.0
    # What the first one learns, the second one knows.
    assert type(first) is type(second)
    if isinstance(first, ProcedureOracle) and isinstance(second, ProcedureOracle):
        assert second.planners == first.planners
    if isinstance(first, FlatOracle) and isinstance(second, FlatOracle):
        assert second._solver is first._solver


@PROBLEMS
def test_an_oracle_that_was_used_under_other_bounds_answers_as_a_new_one(problem: Problem) -> None:
    memory = Memory()
    used = memory.oracle(problem)
    rng = np.random.default_rng(0)
    for bound in (0.5, 3.0):
        under = memory.oracle(problem.with_bounds({"damage": bound}))
        new = Memory().oracle(problem.with_bounds({"damage": bound}))
        for _ in range(5):
            weights = np.append(1.0, rng.random(len(problem.bounds)) * 5.0)
            answers = [oracle.minimise(weights, Region()) for oracle in (under, new)]
            assert None not in answers
            first, second = (answer for answer in answers if answer is not None)
            assert weights @ first.point.costs == pytest.approx(float(weights @ second.point.costs))
            assert first.bound == pytest.approx(second.bound)
    assert used.bounds.tolist() == problem.bounds.tolist()


@PROBLEMS
@pytest.mark.parametrize("evaluation", ["factorise", "sweep"])
def test_what_was_given_back_is_made_again(problem: Problem, evaluation: Evaluation) -> None:
    memory = Memory()
    oracle = memory.oracle(problem, evaluation)
    weights = np.append(1.0, np.full(len(problem.bounds), 0.7))
    before = oracle.minimise(weights, Region())
    memory.release()
    after = oracle.minimise(weights, Region(), near=None if before is None else before.point)
    other = oracle.minimise(2.0 * weights, Region())
    assert before is not None
    assert after is not None
    assert other is not None
    assert after.point.costs.tolist() == pytest.approx(before.point.costs.tolist(), rel=1e-12)
    assert after.point.visits.tolist() == pytest.approx(before.point.visits.tolist(), rel=1e-12)
    assert other.bound == pytest.approx(2.0 * before.bound, rel=1e-9)


def test_every_way_to_evaluate_has_an_oracle_of_its_own() -> None:
    memory, problem = Memory(), roads(damage=4.0)
    swept, factorised = memory.oracle(problem, "sweep"), memory.oracle(problem, "factorise")
    assert isinstance(swept, FlatOracle)
    assert isinstance(factorised, FlatOracle)
    assert type(swept._solver.system) is not type(factorised._solver.system)
    again = memory.oracle(problem, "sweep")
    assert isinstance(again, FlatOracle)
    assert again._solver is swept._solver


def test_another_problem_makes_a_memory_begin_anew() -> None:
    memory = Memory()
    first = memory.oracle(roads(damage=4.0))
    other = memory.oracle(knapsack(6.0))
    assert len(other.row_start) != len(first.row_start)
    assert isinstance(memory.oracle(retrying()), ProcedureOracle)


def test_what_differs_in_its_bounds_at_most_is_the_same_problem() -> None:
    assert same_but_for_bounds(roads(damage=4.0), roads(damage=1.0, fuel=3.0))
    assert same_but_for_bounds(retrying(), retrying().with_bounds({"damage": 7.0}))
    assert not same_but_for_bounds(roads(damage=4.0), knapsack(4.0))
    assert not same_but_for_bounds(retrying(), forking())
    assert not same_but_for_bounds(roads(damage=4.0), retrying())
    dearer = roads(damage=4.0).derive(costs=roads().costs * 2.0)
    assert not same_but_for_bounds(roads(damage=4.0), dearer)


def building(**parameters: float) -> HCSSP:
    return find_scenario("small-building").make(**parameters)


def test_activities_that_two_problems_have_are_learnt_once() -> None:
    memory = Memory()
    first = memory.oracle(building(locked=0.2))
    second = memory.oracle(building(locked=0.5))
    assert [id(planner) for planner in second.planners] == [id(planner) for planner in first.planners]
    assert second.flattening.problem.choices != first.flattening.problem.choices


def test_activities_with_other_numbers_are_learnt_anew() -> None:
    memory = Memory()
    first = memory.oracle(building(intended=0.8))
    second = memory.oracle(building(intended=0.9))
    assert not {id(planner) for planner in first.planners} & {id(planner) for planner in second.planners}


def test_a_bound_of_nought_has_planners_of_its_own() -> None:
    memory = Memory()
    first = memory.oracle(building(locked=0.2))
    second = memory.oracle(building(locked=0.5).with_bounds(damage=0.0))
    assert not {id(planner) for planner in first.planners} & {id(planner) for planner in second.planners}


def test_a_memory_of_other_doors_changes_no_answer() -> None:
    memory = Memory()
    solve(building(locked=0.2), memory=memory)
    for locked in (0.05, 1.0):
        problem = building(locked=locked)
        again, fresh = solve(problem, memory=memory), solve(problem)
        assert again.status is fresh.status is Status.OPTIMAL
        assert again.upper_bound == pytest.approx(fresh.upper_bound, rel=1e-6)
