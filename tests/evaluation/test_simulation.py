from __future__ import annotations

import logging

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation import evaluate
from hcssp.evaluation.simulation import narrate, simulate
from random_problems import random_cssp
from volume import some


def attempts(success: float = 0.5, bound: float = 3.0) -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={here: 1.0 - success, out: success}, costs=(1.0, 2.0))
    plan.add_action(here, "wait", to=here, costs=(1.0, 0.0))
    return plan.build()


TRY = DeterministicPolicy(attempts(), np.array([0, -1]))
WAIT = DeterministicPolicy(attempts(), np.array([1, -1]))


@pytest.mark.parametrize("seed", some(range(15)))
def test_means_agree_with_the_exact_evaluation(seed: int) -> None:
    problem = random_cssp(seed)
    rows = brute_force(problem).policies[-1]
    exact = evaluate(problem, DeterministicPolicy(problem, rows))
    runs = simulate(problem, DeterministicPolicy(problem, rows), runs=20_000, seed=seed)
    assert runs.num_truncated == 0
    for name, cost in zip(problem.cost_names, exact.costs, strict=True):
        # Six standard deviations: wrong once in 10^8.
        mean = runs.mean(name, level=1.0 - 1e-8)
        assert mean.low - 1e-9 <= cost <= mean.high + 1e-9


def test_a_randomised_policy_draws_its_rows() -> None:
    problem = attempts()
    policy = RandomisedPolicy(problem, np.array([0.4, 0.6]))
    exact = evaluate(problem, policy)
    runs = simulate(problem, policy, runs=40_000, seed=5)
    assert runs.mean("time", 1.0 - 1e-8).low <= exact.cost("time") <= runs.mean("time", 1.0 - 1e-8).high
    assert runs.mean("damage", 1.0 - 1e-8).low <= exact.cost("damage") <= runs.mean("damage", 1.0 - 1e-8).high


def test_the_distribution_is_the_geometric_one() -> None:
    runs = simulate(attempts(0.5), TRY, runs=200_000, seed=2)
    assert [runs.percentile("time", percent) for percent in (49.0, 74.0, 95.0)] == [1.0, 2.0, 5.0]
    assert runs.steps.tolist() == runs.totals[0].tolist()
    # More than 3 units of damage: at least two attempts.
    low, high = runs.probability_of_exceeding("damage", level=1.0 - 1e-8)[1:]
    assert low < 0.5 < high
    # Exactly 4 units is not more than 4.
    low, high = runs.probability_of_exceeding("damage", 4.0, level=1.0 - 1e-8)[1:]
    assert low < 0.25 < high
    assert runs.probability_of_exceeding("time", np.inf).value == 0.0


def test_a_seed_names_the_runs() -> None:
    first, again = (simulate(attempts(), TRY, runs=100, seed=7) for _ in range(2))
    other = simulate(attempts(), TRY, runs=100, seed=8)
    assert np.array_equal(first.totals, again.totals)
    assert not np.array_equal(first.totals, other.totals)


def test_an_initial_distribution_is_drawn_from() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    near, far, out = plan.add_state("near"), plan.add_state("far"), plan.add_goal("out")
    plan.add_action(near, "go", to=out, costs=1.0)
    plan.add_action(far, "go", to=out, costs=5.0)
    plan.set_initial({near: 0.5, far: 0.25, out: 0.25})
    problem = plan.build()
    runs = simulate(problem, DeterministicPolicy(problem, np.array([0, 1, -1])), runs=40_000, seed=0)
    values, counts = np.unique(runs.totals[0], return_counts=True)
    assert values.tolist() == [0.0, 1.0, 5.0]
    assert counts / runs.num_runs == pytest.approx([0.25, 0.5, 0.25], abs=0.02)


def test_truncated_runs_are_counted_told_and_never_taken_for_cheap(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        runs = simulate(attempts(0.5), TRY, runs=1000, seed=0, max_steps=2)
    assert 200 < runs.num_truncated < 300
    assert f"{runs.num_truncated} of 1000 runs had not reached a goal after 2 steps" in caplog.text
    assert runs.mean("time").value == np.inf
    assert 1.0 < runs.mean("time").low < 2.0
    assert runs.percentile("time", 50.0) <= 2.0
    assert runs.percentile("time", 95.0) == np.inf
    assert runs.probability_of_exceeding("damage", 100.0).value == runs.num_truncated / 1000


def test_a_policy_that_never_ends_is_truncated() -> None:
    runs = simulate(attempts(), WAIT, runs=10, max_steps=50)
    assert runs.num_truncated == 10
    assert runs.totals[0].tolist() == [50.0] * 10


def test_a_missing_action_is_named() -> None:
    problem = attempts()
    for policy in (DeterministicPolicy(problem, np.array([-1, -1])), RandomisedPolicy(problem, np.zeros(2))):
        with pytest.raises(ImproperPolicy, match="no action in state 'here'"):
            simulate(problem, policy)


def test_a_run_is_told_step_by_step() -> None:
    steps = list(narrate(attempts(), TRY, seed=3))
    assert all(step.state == "here" and step.action == "try" for step in steps)
    assert [step.successor for step in steps] == ["here"] * (len(steps) - 1) + ["out"]
    assert steps[0].costs == {"time": 1.0, "damage": 2.0}
    assert steps == list(narrate(attempts(), TRY, seed=3))


def test_a_run_without_end_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(list(narrate(attempts(), WAIT, max_steps=5))) == 5
    assert "had not reached a goal after 5 steps" in caplog.text


def test_every_mistake_has_its_message() -> None:
    with pytest.raises(InvalidProblem, match="runs is 0; it must be positive"):
        simulate(attempts(), TRY, runs=0)
    runs = simulate(attempts(), TRY, runs=10)
    with pytest.raises(InvalidProblem, match="no cost 'money'; the costs are 'time', 'damage'"):
        runs.mean("money")
    with pytest.raises(InvalidProblem, match=r"confidence level 95 is not between 0 and 1"):
        runs.mean("time", level=95)
    with pytest.raises(InvalidProblem, match="'time' is the primary cost and has no bound"):
        runs.probability_of_exceeding("time")


def test_one_run_alone_tells_nothing_about_the_spread() -> None:
    mean = simulate(attempts(), TRY, runs=1).mean("time")
    assert (mean.low, mean.high) == (-np.inf, np.inf)


def test_all_runs_together_make_a_limited_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "wait", to={here: 1.0 - 1e-9, out: 1e-9}, costs=1.0)
    plan.set_initial(here)
    problem = plan.build()
    policy = DeterministicPolicy(problem, np.array([0, -1]))
    monkeypatch.setattr("hcssp.evaluation.simulation.MAX_MOVES", 5_000)
    for runs, steps in ((100, 50), (1_000, 5)):
        found = simulate(problem, policy, runs=runs)
        assert (found.num_truncated, found.steps.tolist()) == (runs, [steps] * runs)
        assert found.mean("time") == (np.inf, steps, np.inf)
