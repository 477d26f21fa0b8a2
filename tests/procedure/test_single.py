from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from brute_force import brute_force
from hcssp.cssp import CSSP, DeterministicPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import ProcedurePolicy, as_procedure, as_procedure_policy, as_single_policy
from known_optima import start_in_goal, trap, two_starts
from random_problems import cssps
from small_procedures import retrying, risky_room
from volume import examples


def test_a_procedure_is_one_already() -> None:
    problem = retrying()
    assert as_procedure(problem) is problem


def test_the_procedure_runs_the_problem_once_under_its_own_bounds() -> None:
    problem = risky_room().with_bounds(damage=2.0)
    procedure = as_procedure(problem)
    assert str(procedure) == (
        "procedure: 2 events, 1 activity, 1 constraint; minimise time\n"
        "start\n"
        "  choose begin\n"
        "    run problem (2 states), reach end, the end\n"
        "constraint damage <= 2: counts damage of problem"
    )
    assert procedure.activities[0].cssp is problem
    assert (procedure.primary_name, procedure.constraint_names) == ("time", ("damage",))
    assert procedure.bounds.tolist() == [2.0]
    assert procedure == as_procedure(risky_room().with_bounds(damage=2.0))
    assert procedure != as_procedure(risky_room())


def test_it_is_called_as_the_problem_is() -> None:
    named = as_procedure(risky_room().derive(name="a room", description="with a fire"))
    assert (named.name, named.description) == ("a room", "with a fire")
    assert named.activities[0].name == "a room"
    assert as_procedure(risky_room()).name == "problem"


def test_costs_without_a_bound_are_constraints_without_one() -> None:
    procedure = as_procedure(risky_room())
    assert procedure.bounds.tolist() == [inf]
    assert (
        as_procedure(
            CSSP([[0.0, 1.0]], [0, 1, 1], [[1.0]], [1.0, 0.0], [False, True], "time", ())
        ).bounds.size
        == 0
    )


@settings(max_examples=examples(40))
@given(cssps())
def test_every_policy_costs_the_same_in_either_form(problem: CSSP) -> None:
    truth = brute_force(problem)
    procedure = as_procedure(problem)
    for rows, costs in list(zip(truth.policies, truth.costs, strict=True))[:10]:
        single = DeterministicPolicy(problem, rows)
        whole = as_procedure_policy(procedure, single)
        assert isinstance(whole, ProcedurePolicy)
        assert as_single_policy(problem, whole) == single
        answer = evaluate(procedure, whole)
        np.testing.assert_allclose(answer.costs, costs, rtol=1e-9, atol=1e-12)
        assert answer.cost_names == problem.cost_names
        assert answer.activities[0].expected_executions == 1.0
        assert answer.violations().keys() == evaluate(problem, single).violations().keys()


def test_a_procedures_policy_is_one_already() -> None:
    policy = as_procedure_policy(as_procedure(risky_room()), DeterministicPolicy(risky_room(), [0, -1]))
    assert as_procedure_policy(policy.problem, policy) is policy


@pytest.mark.parametrize(
    ("problem", "rows", "expected"),
    [
        # A quarter of the time it begins outside, where all is over.
        (two_starts(2.5), [1, 2, -1], [0.25 * 2.0 + 0.5 * 6.0, 0.25 * 4.0]),
        (start_in_goal(0.0), [-1, -1], [0.0, 0.0]),
        # Two goals, and a state that is never entered.
        (trap(1.0), [2, -1, -1, -1], [7.0, 0.0]),
    ],
)
def test_starts_and_goals_may_be_several(problem: CSSP, rows: list[int], expected: list[float]) -> None:
    procedure = as_procedure(problem)
    assert procedure.flattening.separable
    policy = as_procedure_policy(procedure, DeterministicPolicy(problem, rows))
    assert evaluate(procedure, policy).costs == pytest.approx(expected)
