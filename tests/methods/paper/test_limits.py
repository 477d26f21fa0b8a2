from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import ways
from brute_force_procedures import brute_force
from enumerated_solutions import enumerate_solutions, procedures
from hcssp.contract.proof import Status
from hcssp.evaluation import evaluate
from hcssp.methods.paper import MODES, BudgetAllocation, Instance, find_mode
from hcssp.methods.paper.algorithms import least_likelihoods, published_limits
from hcssp.methods.paper.sharp import sharp_limits
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from small_procedures import retrying, risky_room
from volume import some

SEEDS = some(range(24), 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_procedure_runs_an_activity_less_often(seed: int) -> None:
    problem = random_procedure(seed)
    found = procedures(problem)
    least = np.where(found > 1e-12, found, np.inf).min(axis=0)
    assert np.all(least_likelihoods(Instance(problem)) <= least + 1e-12)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_where_it_leads_back_no_procedure_runs_an_activity_less_often_either(seed: int) -> None:
    problem = random_procedure(seed, cycles=True)
    instance = Instance(problem)
    least, seen = least_likelihoods(instance), set()
    for rows in brute_force(problem).rows:
        choices = tuple(rows[: problem.flattening.num_event_states])
        if choices not in seen:
            seen.add(choices)
            policy = ProcedurePolicy(problem, rows)
            found = evaluate(problem, policy).activities
            executions = np.array([each.expected_executions for each in found])
            assert np.all((executions < 1e-12) | (least <= executions + 1e-12))


def test_likelihoods_multiply_along_a_way_that_leads_back() -> None:
    problem = retrying()
    assert Instance(problem).has_cycles
    # The first room is always come to, and the choice that runs the second one eight times in ten, too.
    assert least_likelihoods(Instance(problem)) == pytest.approx([1.0, 0.8])


def doors() -> HCSSP:
    """Two doors in a row, each locked now and then; behind the second only if the first was open."""
    plan = ProcedureBuilder()
    start, first, second, out = (plan.add_event(name) for name in ("start", "first", "second", "out"))
    rooms = [plan.add_activity(f"room-{index}", risky_room()) for index in range(4)]
    plan.add_choice(start, "doors", to=[Outcome(1.0, first, runs=rooms[0])])
    plan.add_choice(start, "way-round", to=[Outcome(1.0, out, runs=rooms[1])])
    plan.add_choice(first, "open", to=[Outcome(0.9, second), Outcome(0.1, out, runs=rooms[2])])
    plan.add_choice(second, "open", to=[Outcome(0.8, out), Outcome(0.2, out, runs=rooms[3])])
    plan.add_constraint("damage", at_most=2.0, counts=dict.fromkeys(rooms, "damage"))
    return plan.build(start=start, end=out)


def test_likelihoods_multiply_along_the_way() -> None:
    assert least_likelihoods(Instance(doors())) == pytest.approx([1.0, 1.0, 0.1, 0.18])


def test_where_a_choice_may_avoid_an_activity_it_is_not_the_least_of_zero() -> None:
    plan = ProcedureBuilder()
    start, fork, out = plan.add_event("start"), plan.add_event("fork"), plan.add_event("out")
    late, early = plan.add_activity("late", risky_room()), plan.add_activity("early", risky_room())
    plan.add_choice(start, "on", to=[Outcome(0.3, fork), Outcome(0.7, out, runs=early)])
    plan.add_choice(fork, "run", to=[Outcome(1.0, out, runs=late)])
    plan.add_choice(fork, "leave", to=[Outcome(1.0, out)])
    problem = plan.build(start=start, end=out)
    assert least_likelihoods(Instance(problem)) == pytest.approx([0.3, 0.7])


def test_the_papers_limits() -> None:
    box = published_limits(Instance(doors()))
    assert box.lower.tolist() == [0.0] * 4
    assert box.upper == pytest.approx([2.0, 2.0, 20.0, 2.0 / 0.18])


def test_the_sharp_limits_stop_at_the_unconstrained_optimum() -> None:
    # Dashing takes 2 tries of 4 damage each and is the fastest; nobody needs more than 8.
    box = sharp_limits(Instance(doors()))
    assert box.lower == pytest.approx([0.0] * 4)
    assert box.upper == pytest.approx([2.0, 2.0, 8.0, 8.0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_optimal_solution_lies_in_the_box(seed: int, mode: str) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None or not solutions.feasible(problem.bounds).any():
        return
    instance = Instance(problem)
    box = find_mode(mode).initial_box(instance)
    inside = solutions.feasible(problem.bounds)
    every, optimum = inside.copy(), solutions.costs[inside, 0].min()
    for edge, (activity, index) in enumerate(instance.edges):
        use = solutions.usage[:, activity, index]
        inside &= np.isnan(use) | ((use >= box.lower[edge] - 1e-8) & (use <= box.upper[edge] + 1e-8))
    assert solutions.costs[inside, 0].min(initial=np.inf) == pytest.approx(optimum)
    if mode == "published":
        # The paper's limits cut off nothing that is feasible.
        assert np.array_equal(inside, every)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bound", [1e-10, 1.0, 1e6])
def test_what_exceeds_a_bound_by_no_more_than_the_tolerance_lies_in_the_box(mode: str, bound: float) -> None:
    # The fast way is taken one time in sixteen, and uses a hair more than sixteen times the bound: it counts
    # as kept, however often it is taken and whatever the unit.
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    rare = plan.add_activity("rare", ways((9.0, 0.0), (1.0, 16.0 * bound * (1.0 + 6e-10))))
    plan.add_choice(start, "go", to=[Outcome(1 / 16, out, runs=rare), Outcome(15 / 16, out)])
    plan.add_constraint("damage", at_most=bound, counts={rare: "damage"})
    problem = plan.build(start=start, end=out)
    assert find_mode(mode).initial_box(Instance(problem)).upper[0] >= 16.0 * bound * (1.0 + 6e-10)
    result = solve(problem, BudgetAllocation(mode=mode))
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(1 / 16)
    if mode == "sharp":
        strict = solve(problem.with_bounds(damage=bound * (1.0 - 1e-9)), BudgetAllocation(iterations=inf))
        assert strict.upper_bound == pytest.approx(9 / 16)
