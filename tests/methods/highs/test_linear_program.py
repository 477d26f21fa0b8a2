from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from brute_force import TOLERANCE, BruteForce, brute_force
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.evaluation import evaluate
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.solving.solve import solve
from known_optima import start_in_goal
from random_problems import random_cssp
from volume import some


def last(problem: CSSP, method: str = "choose") -> Progress:
    *_, progress = LinearProgram(method).iterate(problem)
    return progress


def best_mixture(problem: CSSP, truth: BruteForce) -> float:
    """The optimum over mixtures of all deterministic policies; ``inf`` if none keeps the bounds."""
    answer = linprog(
        truth.costs[:, 0],
        A_ub=truth.costs[:, 1:].T,
        b_ub=problem.bounds + TOLERANCE * np.abs(problem.bounds),
        A_eq=np.ones((1, len(truth.costs))),
        b_eq=[1.0],
    )
    return float(answer.fun) if answer.status == 0 else np.inf


@pytest.mark.parametrize("seed", some(range(60)))
def test_it_agrees_with_the_best_mixture_of_all_policies(seed: int) -> None:
    problem = random_cssp(seed)
    truth = brute_force(problem)
    optimum = best_mixture(problem, truth)
    progress = last(problem)
    if optimum == np.inf:
        assert progress.ending == Ending(Reason.INFEASIBLE)
        assert progress.infeasible is not None
        proof = progress.infeasible.weights
        assert proof is not None
        assert proof.weights.sum() == pytest.approx(1.0)
        assert proof.allowed < proof.least <= (truth.costs[:, 1:] @ proof.weights).min() * (1.0 + 1e-12)
        return
    assert progress.ending == Ending(Reason.RELAXATION)
    assert progress.lower_bound == pytest.approx(optimum, rel=2e-7, abs=2e-7)
    assert progress.lower_bound <= truth.value
    assert progress.prices is not None
    assert np.all(progress.prices >= 0.0)
    assert progress.incumbent is not None
    randomised = evaluate(problem, progress.incumbent)
    assert randomised.costs[0] == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert randomised.keeps_bounds()
    mixture = progress.stochastic
    assert mixture is not None
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert mixture.weights @ mixture.costs == pytest.approx(randomised.costs, rel=1e-5, abs=1e-5)
    if progress.incumbent is not None:
        evaluation = evaluate(problem, progress.incumbent)
        assert evaluation.keeps_bounds()
        assert evaluation.costs[0] == pytest.approx(progress.upper_bound, rel=1e-12)


@pytest.mark.parametrize("method", ["simplex", "ipm", "pdlp"])
@pytest.mark.parametrize("seed", some(range(100, 110), 2))
def test_every_method_gives_a_sound_bound(method: str, seed: int) -> None:
    problem = random_cssp(seed, infeasible=0.0)
    truth = brute_force(problem)
    optimum = best_mixture(problem, truth)
    progress = last(problem, method)
    if optimum < np.inf:
        assert progress.lower_bound <= optimum + 1e-7
        assert progress.lower_bound == pytest.approx(optimum, rel=1e-4, abs=1e-4)


def walk_or_jump(bound: float) -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=(3.0, 0.5))
    plan.add_action(here, "jump", to=out, costs=(1.0, 4.5))
    return plan.build()


def test_a_slack_bound_has_price_zero_and_the_policy_is_deterministic() -> None:
    progress = last(walk_or_jump(5.0))
    assert progress.lower_bound == pytest.approx(1.0, abs=1e-9)
    assert progress.upper_bound == 1.0
    assert progress.prices is not None
    assert progress.prices.tolist() == [0.0]


def test_no_bound_at_all_is_an_unconstrained_problem() -> None:
    progress = last(walk_or_jump(np.inf))
    assert progress.upper_bound == 1.0
    assert progress.prices is not None
    assert progress.prices.tolist() == [0.0]


def test_an_impossible_bound_is_proved_so_with_the_least_value() -> None:
    progress = last(walk_or_jump(0.4))
    assert progress.ending == Ending(Reason.INFEASIBLE)
    assert progress.infeasible is not None
    proof = progress.infeasible.weights
    assert proof is not None
    assert proof.least == pytest.approx(0.5)
    assert proof.allowed == pytest.approx(0.4)


def test_a_bound_met_only_thanks_to_the_tolerance_is_met() -> None:
    progress = last(walk_or_jump(0.5 - 4.9e-10))
    assert progress.ending == Ending(Reason.RELAXATION)
    assert progress.upper_bound == 3.0


def test_a_start_in_a_goal_costs_nothing() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 0.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=(3.0, 0.5))
    plan.set_initial(out)
    progress = last(plan.build())
    assert (progress.lower_bound, progress.upper_bound) == (0.0, 0.0)


def test_a_dead_end_is_an_error_not_an_answer() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, pit = plan.add_state("here"), plan.add_state("pit")
    plan.add_goal("out")
    plan.add_action(here, "fall", to=pit, costs=1.0)
    with pytest.raises(DeadEnd):
        last(plan.build())


def test_an_unknown_method_is_refused_at_once() -> None:
    with pytest.raises(InvalidProblem, match="method 'magic' is unknown; HiGHS has choose"):
        LinearProgram("magic")


@pytest.mark.parametrize("solver", [LinearProgram(), MixedInteger()])
def test_a_negative_bound_is_unbearable_even_where_nothing_is_left_to_do(
    solver: LinearProgram | MixedInteger,
) -> None:
    assert solve(start_in_goal(-1.0), solver).status is Status.INFEASIBLE
