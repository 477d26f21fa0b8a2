from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.simulation import ProcedureSimulation, Simulation, narrate_procedure, simulate
from hcssp.procedure import ProcedurePolicy
from random_procedures import random_procedure
from small_procedures import dash_last, forking, passing_through, retrying
from volume import some


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("seed", some(range(10), 2))
def test_the_means_are_those_of_the_exact_evaluation(seed: int, several_exits: bool) -> None:
    problem = random_procedure(seed, cycles=True, several_exits=several_exits)
    policy = ProcedurePolicy(problem, brute_force(problem).rows[seed % 3 - 1])
    exact = evaluate(problem, policy)
    simulated = simulate(problem, policy, runs=2000, seed=seed)
    assert simulated.num_truncated == 0
    assert simulated.cost_names == exact.cost_names
    assert np.all(np.abs(simulated.means - exact.costs) <= 5 * simulated.standard_errors + 1e-9)
    executions = [activity.expected_executions for activity in exact.activities]
    allowed = 5 * simulated.executions_standard_errors + 1e-9
    assert np.all(np.abs(simulated.mean_executions - executions) <= allowed)


def test_every_run_is_a_run_of_the_procedure() -> None:
    simulated = simulate(retrying(), dash_last(), runs=200, seed=1)
    assert simulated.activity_names == ("cross", "leave")
    # Each crossing takes 3, each try of the dash 1 time and 4 damage; the last room is left once.
    crossings, leaving = simulated.executions.T
    assert (crossings >= 1).all()
    assert set(leaving.tolist()) == {1}
    time, damage, damage_at_last = simulated.totals
    assert np.array_equal(time, 3 * crossings + damage / 4)
    assert np.array_equal(damage, damage_at_last)
    # Both choices of every round, each crossing and each try are a step.
    assert np.array_equal(simulated.steps, 3 * crossings + damage / 4)


def test_the_same_seed_gives_the_same_runs() -> None:
    first, again, other = (simulate(retrying(), dash_last(), runs=50, seed=seed).totals for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_passing_straight_through_is_an_execution() -> None:
    policy = passing_through()
    problem = policy.problem
    assert simulate(problem, policy, runs=20).executions.tolist() == [[1, 1]] * 20
    assert evaluate(problem, policy).activity("walk").expected_executions == pytest.approx(1)


def test_runs_that_are_cut_off_are_counted_as_infinite() -> None:
    simulated = simulate(retrying(), dash_last(), runs=100, max_steps=4)
    assert 0 < simulated.num_truncated < 100
    assert (simulated.executions[~simulated.truncated] == 1).all()
    assert simulated.mean("time").value == np.inf


def test_the_runs_that_have_ended_are_counted() -> None:
    counts: list[int] = []
    simulated = simulate(retrying(), dash_last(), runs=50, on_progress=counts.append)
    assert counts == [int((simulated.steps < step).sum()) for step in range(1, simulated.steps.max() + 1)]


def test_what_cannot_be_simulated_is_refused() -> None:
    waiting = ProcedurePolicy.compose(
        forking(), {(0, None): 0, (1, "left"): 2}, (np.array([1, -1, -1]), np.array([0, 1, -1]))
    )
    with pytest.raises(ImproperPolicy, match=r"no action in state \('event', 'hall', 'right'\)"):
        simulate(forking(), waiting)
    with pytest.raises(InvalidProblem, match="runs is 0; it must be positive"):
        simulate(retrying(), dash_last(), runs=0)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_a_run_is_told_event_by_event(seed: int) -> None:
    legs = list(narrate_procedure(dash_last(), seed=seed))
    assert [(leg.event, leg.choice) for leg in legs] == [("start", "cross"), ("hall", "leave")] * (
        len(legs) // 2
    )
    # Each leg begins where the last one ended.
    assert [leg.reaches for leg in legs] == [*(leg.event for leg in legs[1:]), "out"]
    for leg in legs:
        if leg.activity == "cross":
            assert leg.actions == (("in", "round", {"time": 3.0, "damage": 0.0, "damage-at-last": 0.0}),)
    # Back to the start means that nothing was run on the way.
    assert all(leg.activity is None and not leg.actions for leg in legs if leg.reaches == "start")
    last = legs[-1]
    assert last.activity == "leave"
    assert {action.action for action in last.actions} == {"dash"}
    assert legs == list(narrate_procedure(dash_last(), seed=seed))


def test_the_state_that_an_event_is_entered_in_is_told() -> None:
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 1}
    policy = ProcedurePolicy.compose(forking(), choices, (np.array([1, -1, -1]), np.array([0, 1, -1])))
    told = [list(narrate_procedure(policy, seed=seed))[1] for seed in range(10)]
    assert {(leg.event, leg.entry, leg.activity) for leg in told} == {
        ("hall", "left", "walk"),
        ("hall", "right", "walk"),
    }


def test_a_told_run_that_is_cut_off_reaches_nothing() -> None:
    (leg,) = narrate_procedure(dash_last(), max_steps=1)
    assert (leg.activity, leg.actions, leg.reaches) == ("cross", (), None)


def test_each_kind_of_problem_has_its_kind_of_simulation() -> None:
    whole = simulate(retrying(), dash_last(), runs=4000, seed=2)
    assert type(whole) is ProcedureSimulation
    flat = retrying().flattening.cssp
    single = simulate(flat, DeterministicPolicy(flat, dash_last().rows), runs=4000, seed=2)
    assert type(single) is Simulation
    assert single.cost_names == whole.cost_names
    allowed = 5 * (single.standard_errors + whole.standard_errors)
    assert np.all(np.abs(single.means - whole.means) <= allowed)


def test_runs_are_compared_with_the_bounds_of_the_problem_that_is_given() -> None:
    looser = simulate(retrying().with_bounds(damage=100.0), dash_last(), runs=50)
    assert looser.bounds.tolist() == [100.0, np.inf]
    assert np.array_equal(looser.totals, simulate(retrying(), dash_last(), runs=50).totals)
