"""Every solver on every small problem whose optimum is known."""

from __future__ import annotations

from functools import cache
from math import inf

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, MaxIterations
from hcssp.contract.proof import Infeasible, Status
from hcssp.contract.solver import Solver
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import NoSolution
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import ProcedurePolicy
from hcssp.solving.solve import solve
from known_optima import KNOWN, Known
from volume import FULL

EXACT: dict[str, Solver] = {
    "policy branching": PolicyBranching(),
    "policy branching by sweeps": PolicyBranching(evaluation="sweep"),
    "anytime": Anytime(),
}
INEXACT: dict[str, Solver] = {"the dual alone": Anytime(iterations=0)}
SOLVERS = EXACT | INEXACT | {"mixed-integer program": MixedInteger()}


@cache
def answer(problem: str, solver: str) -> Plan:
    """The answer of a solver that runs to its end; asked for by several tests, computed once."""
    return solve(KNOWN[problem].problem, SOLVERS[solver], stop=())


ON_ALL = pytest.mark.parametrize("name", KNOWN)
BY_ALL = pytest.mark.parametrize("solver", SOLVERS)
BY_EXACT = pytest.mark.parametrize("solver", EXACT)


def close_to(value: float, tolerance: float = 1e-7) -> object:
    return pytest.approx(value, rel=tolerance, abs=tolerance)


def check_interval(result: Plan, optimum: float) -> None:
    """What every answer must keep, however early the solver was stopped."""
    slack = 1e-9 * (1.0 + abs(optimum)) if optimum < inf else 0.0
    lower, upper = -inf, inf
    seconds = 0.0
    for point in result.trace:
        assert point.lower_bound <= optimum + slack
        assert point.upper_bound >= optimum - slack
        assert point.lower_bound >= lower
        assert point.upper_bound <= upper
        assert point.seconds >= seconds
        seconds, lower, upper = point
    assert result.lower_bound <= optimum + slack
    assert result.upper_bound >= optimum - slack
    assert result.gap == relative_gap(result.lower_bound, result.upper_bound)


def check_policy(known: Known, result: Plan) -> None:
    """The policy costs what is said and keeps the bounds, by code that no solver uses."""
    problem = known.problem
    kind = DeterministicPolicy if isinstance(problem, CSSP) else ProcedurePolicy
    assert isinstance(result.policy, kind)
    evaluation = evaluate(problem, result.policy)
    assert evaluation.keeps_bounds()
    assert result.evaluation is not None
    np.testing.assert_allclose(evaluation.costs, result.evaluation.costs, rtol=1e-12, atol=1e-12)
    assert result.upper_bound == float(result.evaluation.costs[0])


def check_status(result: Plan) -> None:
    if result.evaluation is not None:
        proved = result.gap <= OPTIMALITY_TOLERANCE
        assert result.status is (Status.OPTIMAL if proved else Status.FEASIBLE)
    else:
        assert result.upper_bound == inf
        assert result.status in (Status.INFEASIBLE, Status.UNKNOWN)
        with pytest.raises(NoSolution):
            _ = result.policy


@ON_ALL
@BY_ALL
def test_whatever_is_claimed_is_true(name: str, solver: str) -> None:
    known = KNOWN[name]
    result = answer(name, solver)
    check_interval(result, known.optimum)
    check_status(result)
    if result.evaluation is not None:
        check_policy(known, result)
    if known.stochastic < inf:
        assert result.stochastic is not None
        assert result.stochastic.value == close_to(known.stochastic)
        assert result.lower_bound >= known.stochastic - 1e-7 * (1.0 + known.stochastic)
        mixed = result.stochastic.weights @ result.stochastic.costs
        assert mixed[0] == close_to(known.stochastic)
    else:
        assert result.status is Status.INFEASIBLE
        assert isinstance(result.proof, Infeasible)
        assert result.proof.weights is not None


@ON_ALL
@BY_EXACT
def test_exact_solvers_prove_the_optimum_or_that_there_is_none(name: str, solver: str) -> None:
    known = KNOWN[name]
    result = answer(name, solver)
    if known.optimum == inf:
        assert result.status is Status.INFEASIBLE
        assert result.ending.reason == "infeasible"
        assert result.lower_bound == result.upper_bound == inf
        assert result.message
    else:
        assert result.status is Status.OPTIMAL
        assert result.ending.reason == "proved"
        assert result.upper_bound == close_to(known.optimum)
        assert result.lower_bound == close_to(known.optimum, 5e-7)
        assert result.message == ""


@ON_ALL
@pytest.mark.parametrize("solver", INEXACT)
def test_the_others_say_why_they_stopped_and_prove_the_relaxation(name: str, solver: str) -> None:
    known = KNOWN[name]
    result = answer(name, solver)
    if known.stochastic == inf:
        assert result.ending.reason == "infeasible"
        return
    assert result.ending.reason in ("iterations", "relaxation solved")
    assert result.lower_bound == close_to(known.stochastic)
    if known.stochastic == known.optimum and result.evaluation is not None:
        # A feasible policy that meets the relaxation is optimal, whoever finds it.
        assert result.status is (Status.OPTIMAL if result.gap <= 1e-6 else Status.FEASIBLE)


@ON_ALL
@BY_ALL
def test_prices_are_named_and_those_of_unbounded_costs_are_zero(name: str, solver: str) -> None:
    problem = KNOWN[name].problem
    result = answer(name, solver)
    if result.status is Status.INFEASIBLE:
        return
    assert result.prices is not None
    named = zip(problem.constraint_names, problem.bounds, strict=True)
    assert tuple(result.prices) == tuple(name for name, bound in named if bound != 0.0)
    assert all(price >= 0.0 for price in result.prices.values())
    for constraint, bound in zip(problem.constraint_names, problem.bounds, strict=True):
        if bound >= 100.0:
            assert result.prices[constraint] == 0.0


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.least is not None])
@BY_ALL
def test_an_unbearable_bound_is_named_with_the_least_achievable_value(name: str, solver: str) -> None:
    known = KNOWN[name]
    result = answer(name, solver)
    assert isinstance(result.proof, Infeasible)
    proof = result.proof.weights
    assert proof is not None
    offending = int(np.argmax(proof.weights))
    assert proof.weights[offending] == pytest.approx(1.0, abs=1e-6)
    cost = known.problem.constraint_names[offending]
    bound = known.problem.bounds[offending]
    assert proof.least == close_to(known.least or 0.0, 1e-6)
    assert result.message == (
        f"no policy keeps the bound on {cost!r}: the least achievable {cost} is {known.least:g}, "
        f"above the bound {bound:g}; raise the bound"
    )
    with pytest.raises(NoSolution, match="the least achievable"):
        _ = result.policy


STOPPED = [
    (name, solver)
    for index, (name, known) in enumerate(KNOWN.items())
    for solver in ([*SOLVERS] if FULL else [*SOLVERS][index % 2 :: 2])
    if known.optimum < inf
]
"""Half of the methods on every other problem, the other half on the rest."""


@pytest.mark.parametrize(("name", "solver"), STOPPED)
def test_a_run_stopped_at_once_leaves_a_true_interval(name: str, solver: str) -> None:
    known = KNOWN[name]
    for stop, reason in ((MaxIterations(1), "iterations"), (Gap(0.5), "gap")):
        result = solve(known.problem, SOLVERS[solver], stop=[stop])
        check_interval(result, known.optimum)
        check_status(result)
        assert result.ending.reason in (reason, "proved", "relaxation solved", "iterations", "converged")


@ON_ALL
def test_all_exact_solvers_agree(name: str) -> None:
    results = [answer(name, solver) for solver in EXACT]
    assert len({result.status for result in results}) == 1
    # HiGHS proves nothing that we certify, but it finds the same plan.
    for result in (*results[1:], answer(name, "mixed-integer program")):
        assert result.upper_bound == close_to(results[0].upper_bound)
