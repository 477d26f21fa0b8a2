"""The exact solvers, brute force and the relaxations on hundreds of random problems."""

from __future__ import annotations

from math import inf

import pytest

from brute_force import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Status
from hcssp.contract.solver import Solver
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.solving.solve import solve
from random_problems import random_cssp
from volume import some

CHUNK = 15
SOLVERS: dict[str, Solver] = {
    "policy branching": PolicyBranching(),
    "anytime": Anytime(),
    "mixed-integer program": MixedInteger(),
    "linear program": LinearProgram(),
}


def complaints(problem: CSSP, result: Plan, optimum: float, exact: bool) -> list[str]:
    """Everything that is wrong with a result, in words, so that a failure names all of it."""
    found = []
    slack = 1e-9 * (1.0 + optimum) if optimum < inf else 0.0
    found += [
        f"lower bound {point.lower_bound} > {optimum}" for point in result.trace if point[1] > optimum + slack
    ]
    found += [
        f"upper bound {point.upper_bound} < {optimum}" for point in result.trace if point[2] < optimum - slack
    ]
    for before, after in zip(result.trace, result.trace[1:], strict=False):
        if after.lower_bound < before.lower_bound or after.upper_bound > before.upper_bound:
            found.append(f"the interval widens from {before} to {after}")
    if result.policies == "randomised":
        # Its policy may be better than any deterministic one, see tests/methods/test_randomised.py.
        return [each for each in found if not each.startswith("upper bound")]
    if result.evaluation is not None:
        evaluation = evaluate(problem, DeterministicPolicy(problem, result.policy.rows))
        if not evaluation.keeps_bounds() or evaluation.costs[0] != result.upper_bound:
            found.append(f"the policy costs {evaluation.costs} under {problem.bounds}")
    status = Status.OPTIMAL if optimum < inf else Status.INFEASIBLE
    if exact and result.status is not status:
        found.append(f"status {result.status}, not {status} ({result.ending.reason})")
    # HiGHS finds the optimum, though its proof is not certified.
    finds = exact or result.method == "milp"
    if finds and optimum < inf and abs(result.upper_bound - optimum) > 1e-7 * max(1.0, optimum):
        found.append(f"upper bound {result.upper_bound}, not {optimum}")
    return found


def same(first: float, second: float) -> bool:
    return first == second or abs(first - second) <= 1e-7 * max(1.0, abs(first))


FIRST = some(range(0, 150, CHUNK), 5)


@pytest.mark.parametrize("first", FIRST)
def test_all_agree_on_value_and_infeasibility_and_every_bound_holds(first: int) -> None:
    failures = []
    for seed in range(first, first + CHUNK):
        problem = random_cssp(seed)
        optimum = brute_force(problem).value
        results = {name: solve(problem, solver, stop=()) for name, solver in SOLVERS.items()}
        for name, result in results.items():
            wrong = complaints(problem, result, optimum, exact="program" not in name)
            failures += [f"seed {seed}, {name}: {complaint}" for complaint in wrong]
        relaxed = {name: inf if r.stochastic is None else r.stochastic.value for name, r in results.items()}
        failures += [
            f"seed {seed}, {name}: relaxation {value}, not {relaxed['linear program']}"
            for name, value in relaxed.items()
            if not same(value, relaxed["linear program"])
        ]
    assert failures == []


@pytest.mark.parametrize("first", some(range(1000, 1060, CHUNK)))
def test_free_moves_deceive_none_of_them(first: int) -> None:
    failures = []
    for seed in range(first, first + CHUNK):
        problem = random_cssp(seed, zero_costs=1.0)
        optimum = brute_force(problem).value
        for name in ("policy branching", "anytime"):
            wrong = complaints(problem, solve(problem, SOLVERS[name], stop=()), optimum, exact=True)
            failures += [f"seed {seed}, {name}: {complaint}" for complaint in wrong]
    assert failures == []


def test_the_problems_are_of_all_kinds() -> None:
    """Were all of them feasible or unconstrained, the tests above would say little."""
    problems = [random_cssp(seed) for first in FIRST for seed in range(first, first + CHUNK)]
    truths = [brute_force(problem) for problem in problems]
    count = len(problems)
    assert {problem.num_constraints for problem in problems} == {1, 2, 3}
    assert sum(truth.status == "infeasible" for truth in truths) > 0.08 * count
    binding = [t for t in truths if t.status == "optimal" and t.value > t.costs[:, 0].min() + 1e-9]
    assert len(binding) > 0.3 * count
    assert sum(bool((problem.goals.sum()) > 1) for problem in problems) > 0.2 * count
    assert sum(bool((problem.initial > 0.0).sum() > 1) for problem in problems) > 0.08 * count
