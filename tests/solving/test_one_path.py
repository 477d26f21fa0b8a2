"""A problem is solved in the same way however it is stated: alone, or as the only activity of a procedure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.checker.checking import check
from hcssp.contract.plan import Plan
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure.model import HCSSP, Choice, Outcome, runs_one_activity
from hcssp.solving.solve import solve
from random_problems import random_cssp
from small_procedures import forking, retrying


def end_first(problem: CSSP) -> HCSSP:
    """The procedure that runs `problem` once, with its events in the other order."""
    whole = problem.procedure
    choice = Choice(1, "begin", (Outcome(1.0, 0, runs=0),))
    return replace(whole, events=("end", "start"), start=1, end=0, choices=(choice,))


def reordered(problem: CSSP) -> HCSSP:
    """The same with its constraints in the other order."""
    whole = problem.procedure
    return replace(whole, constraints=whole.constraints[::-1])


def several_goals(bound: float) -> CSSP:
    """Rows that lead to different goals, one of which is dominated only if the goals are one state."""
    plan = CSSPBuilder(cost_names=("time", "wear"), bounds={"wear": bound})
    first, second = plan.add_state("first"), plan.add_state("second")
    left, right = plan.add_goal("left"), plan.add_goal("right")
    for state, ahead in ((first, second), (second, left)):
        plan.add_action(state, "rush", to={ahead: 0.5, right: 0.5}, costs=(1.0, 2.0))
        plan.add_action(state, "rush back", to={ahead: 0.75, right: 0.25}, costs=(1.0, 2.5))
        plan.add_action(state, "stroll", to=left, costs=(4.0, 0.5))
        plan.add_action(state, "stroll right", to=right, costs=(4.0, 0.5))
        plan.add_action(state, "crawl", to=right, costs=(5.0, 0.5))
    plan.set_initial({first: 0.5, second: 0.5})
    return plan.build()


def proven(plan: Plan) -> tuple[float, float]:
    """What the plan's certificate proves, in exact arithmetic."""
    verdict = check(plan.problem, plan.certificate, exact=True)
    return verdict.lower_bound, verdict.upper_bound


PROBLEMS = [
    *(random_cssp(seed) for seed in range(12)),
    *(random_cssp(seed, min_constraints=3) for seed in range(20, 26)),
    *(several_goals(bound) for bound in (0.0, 0.5, 1.0, 2.0)),
]


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_both_statements_get_the_same_search_and_proofs_that_check(number: int) -> None:
    problem, truth = PROBLEMS[number], brute_force(PROBLEMS[number])
    alone = solve(problem)
    for stated in (problem.procedure, end_first(problem), reordered(problem)):
        assert runs_one_activity(stated)
        plan = solve(stated)
        assert plan.status == alone.status == truth.status
        if truth.status == "optimal":
            assert plan.upper_bound == pytest.approx(truth.value, rel=1e-9)
        if stated.constraints == problem.procedure.constraints:
            assert plan.iterations == alone.iterations
        for each in (plan, alone):
            lower, upper = proven(each)
            assert lower == pytest.approx(each.lower_bound, rel=1e-6)
            assert upper == pytest.approx(each.upper_bound, rel=1e-6)


def test_a_constraint_may_count_only_some_costs() -> None:
    problem = random_cssp(21, min_constraints=3)
    whole = problem.procedure
    kept = replace(whole, constraints=whole.constraints[1:])
    bounds = np.array([np.inf, *problem.bounds[1:]])
    plan, truth = solve(kept), brute_force(problem.derive(bounds=bounds))
    assert runs_one_activity(kept)
    assert plan.upper_bound == pytest.approx(truth.value, rel=1e-9)
    assert proven(plan)[0] == pytest.approx(plan.lower_bound, rel=1e-6)


def test_other_procedures_do_more_than_run_one_activity() -> None:
    assert not any(map(runs_one_activity, (retrying(), forking())))


def test_what_was_learnt_serves_under_other_bounds() -> None:
    plan = solve(several_goals(2.0).procedure)
    for bound in (1.0, 0.0, 0.5):
        again = plan.resolve(wear=bound)
        alone = solve(several_goals(bound))
        assert (again.status, again.upper_bound) == (alone.status, pytest.approx(alone.upper_bound))
