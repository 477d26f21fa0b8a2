from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from brute_force import brute_force
from brute_force_procedures import brute_force_flat
from hcssp.contract.proof import Ending, Reason
from hcssp.contract.solver import Context, Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.cssp.model import CSSP
from hcssp.evaluation import evaluate
from hcssp.methods.highs import mixed_integer
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.highs.running import HighsParameters
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

# Problems on which HiGHS's presolve loses the optimum if it is asked for more than it can do.
DELICATE = (658, 872, 986)

DONE = (Ending(Reason.PROVED), Ending(Reason.CONVERGED, mixed_integer.OPTIMAL))
REFUTED = (Ending(Reason.INFEASIBLE), Ending(Reason.CONVERGED, mixed_integer.NO_POLICY))


def check(problem: CSSP) -> None:
    truth = brute_force(problem)
    upper = np.inf
    for progress in MixedInteger().iterate(problem):
        assert progress.lower_bound <= truth.value + 1e-9 * max(1.0, truth.value)
        assert progress.upper_bound >= truth.value * (1.0 - 1e-12)
        upper = min(upper, progress.upper_bound)
    if truth.status == "infeasible":
        assert progress.ending in REFUTED
        assert progress.incumbent is None
        return
    assert progress.ending in DONE
    assert upper == pytest.approx(truth.value, rel=1e-7, abs=1e-9)
    assert progress.incumbent is not None
    evaluation = evaluate(problem, progress.incumbent)
    assert evaluation.keeps_bounds()
    assert evaluation.costs[0] == pytest.approx(progress.upper_bound, rel=1e-12)


# Others than those on which all methods are compared in tests/solving/test_random_problems.py.
@pytest.mark.parametrize("seed", [*some(range(150, 180)), *DELICATE])
def test_it_agrees_with_brute_force(seed: int) -> None:
    check(random_cssp(seed))


@pytest.mark.parametrize("seed", some(range(200, 230)))
def test_free_moves_do_not_deceive_it(seed: int) -> None:
    check(random_cssp(seed, zero_costs=1.0))


@pytest.mark.parametrize("seed", [*some(range(20)), *DELICATE])
@pytest.mark.parametrize("scale", [1e-3, 1e2])
def test_the_unit_of_a_cost_does_not_matter(seed: int, scale: float) -> None:
    problem = random_cssp(seed)
    units = np.concatenate([[1.0], np.full(problem.num_constraints, scale)])
    check(replace(problem, costs=problem.costs * units[:, np.newaxis], bounds=problem.bounds * scale))


def test_flow_that_leaks_through_a_loose_limit_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # With M = 1e7 and a tolerance of 1e-2 every binary may be "zero" and let any flow pass.
    solver = MixedInteger(HighsParameters(integer_tolerance=1e-2))
    monkeypatch.setattr(mixed_integer, "flow_bounds", lambda problem, *_: np.full(problem.num_rows, 1e7))
    leaks = 0
    for seed in range(20):
        problem = random_cssp(seed, infeasible=0.0)
        truth = brute_force(problem)
        for progress in solver.iterate(problem):
            assert progress.upper_bound >= truth.value * (1.0 - 1e-12)
            if progress.lower_bound > truth.value * (1.0 + 1e-9):
                pytest.fail(f"seed {seed}: lower bound {progress.lower_bound} above {truth.value}")
        leaks += progress.iterations > 1
        if progress.ending in DONE:
            assert progress.upper_bound == pytest.approx(truth.value, rel=1e-6)
    assert leaks > 0


def test_unlimited_flows_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_integer, "flow_bounds", lambda problem, *_: np.full(problem.num_rows, inf))
    seen = set()
    for seed in range(20):
        *_, progress = MixedInteger().iterate(random_cssp(seed))
        assert progress.ending is not None
        seen.add(progress.ending)
    assert Ending(Reason.CONVERGED, mixed_integer.LOOSE) in seen


def test_that_no_deterministic_policy_is_feasible_is_a_claim_of_highs() -> None:
    plan = CSSPBuilder(cost_names=("time", "noise", "risk"), bounds={"noise": 1.0, "risk": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "loud", to={out: 0.5, here: 0.5}, costs=(1.0, 1.0, 0.0))
    plan.add_action(here, "bold", to={out: 0.5, here: 0.5}, costs=(1.0, 0.0, 1.0))
    *_, progress = MixedInteger().iterate(plan.build())
    assert progress.ending == Ending(Reason.CONVERGED, mixed_integer.NO_POLICY)
    assert progress.infeasible is None
    assert progress.lower_bound == pytest.approx(2.0)


def test_a_time_limit_leaves_a_true_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock jumps beyond the limit after the relaxation.
    clock = SimpleNamespace(perf_counter=count(0.0, 7200.0).__next__)
    monkeypatch.setattr("hcssp.methods.highs.mixed_integer.time", clock)
    hazard = Hazard(3, 2, 6, 6, {"damage": 10.0})
    room = GridWorld(width=10, height=10, start=(0, 3), goal=(11, 6), slip=0.1, hazards=[hazard])
    problem = room.to_cssp().with_bounds(damage=9.0)
    steps = list(MixedInteger().iterate(problem, Context(time_limit=3600.0)))
    assert steps[-1].ending in (Ending(Reason.TIME_LIMIT), *DONE)
    assert all(step.lower_bound <= steps[-1].upper_bound for step in steps)
    assert steps[-1].lower_bound > 0.0


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_a_procedure_is_solved_flat(seed: int) -> None:
    problem = random_procedure(seed)
    flat = problem.flattening.cssp
    optimum = brute_force_flat(flat).optimum(flat.bounds)
    *_, progress = MixedInteger().iterate(problem)
    if optimum is None:
        assert progress.ending in REFUTED
        return
    assert progress.ending in DONE
    assert progress.upper_bound == pytest.approx(optimum[0], rel=1e-7, abs=1e-9)
    assert progress.incumbent is not None
    assert evaluate(problem, progress.incumbent).keeps_bounds()


@pytest.mark.parametrize("seed", range(24))
def test_no_bound_is_false_where_costs_are_of_several_sizes(seed: int) -> None:
    # HiGHS has absolute tolerances, so that its own bound may be thousands of times too high here.
    generator = np.random.default_rng(seed)
    problem = random_cssp(seed, infeasible=0.0)
    costs = problem.costs.copy()
    costs[0] *= 10.0 ** generator.integers(-8, 9, problem.num_rows)
    problem = replace(problem, costs=costs)
    truth = brute_force(problem)
    for progress in MixedInteger().iterate(problem):
        assert progress.lower_bound <= truth.value * (1.0 + 1e-9)
        assert progress.upper_bound >= truth.value * (1.0 - 1e-9)


@pytest.mark.parametrize("bound", [1.0, 1e19, 1e22, 1e28])
@pytest.mark.parametrize("solver", [LinearProgram(), MixedInteger()], ids=["lp", "milp"])
def test_a_model_that_highs_refuses_is_a_failure_and_no_exception(solver: Solver, bound: float) -> None:
    rare = 2.0**-40
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    plan.add_action(here, "run", to={there: rare, here: 1.0 - rare}, costs=(1.0, 1.0))
    plan.add_action(there, "walk", to={here: 1.0 - rare, out: rare}, costs=(0.0, 0.0))
    steps = list(solver.iterate(plan.build()))
    assert steps[-1].ending is not None
    if bound < 1.0 / rare**2:
        # No policy keeps the bound, which takes no HiGHS to prove.
        assert steps[-1].ending.reason in (Reason.FAILED, Reason.INFEASIBLE)
    else:
        assert steps[-1].ending.reason is Reason.FAILED
        assert steps[-1].lower_bound <= 1.0 / rare**2
