from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import Flattening, ProcedurePolicy, expected_executions
from random_procedures import random_procedure
from small_procedures import forking, retrying


def test_retries_are_executions() -> None:
    # The room is crossed once and again with probability 0.2 each time: 1 / 0.8 times in all.
    policy = ProcedurePolicy({(0, None): 0, (1, None): 1}, (np.array([0, -1]), np.array([1, -1])))
    assert expected_executions(Flattening(retrying()), policy) == pytest.approx([1.25, 1.0])


def test_where_the_exit_decides_the_policy_decides_the_executions() -> None:
    problem = forking()
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    walk = np.array([0, 1, -1])
    surely = ProcedurePolicy(choices, (np.array([0, -1, -1]), walk))
    fast = ProcedurePolicy(choices, (np.array([1, -1, -1]), walk))
    assert expected_executions(problem.flattening, surely) == pytest.approx([1.0, 1.0])
    assert expected_executions(problem.flattening, fast) == pytest.approx([1.0, 0.25])


def test_a_policy_that_never_ends_has_no_expected_executions() -> None:
    policy = ProcedurePolicy({}, (np.array([0, -1]), np.array([1, -1])))
    with pytest.raises(ImproperPolicy, match=r"never gets from 'start' to the end 'out'"):
        expected_executions(Flattening(retrying()), policy)


def test_a_policy_must_have_rows_for_all_activities() -> None:
    policy = ProcedurePolicy({}, (np.array([0, -1]), np.array([1])))
    with pytest.raises(InvalidProblem, match=r"shapes \[\(2,\), \(1,\)\] .* need \[\(2,\), \(2,\)\]"):
        policy.to_flat(Flattening(retrying()))


def test_a_policy_may_only_take_what_is_there() -> None:
    policy = ProcedurePolicy({(0, None): 1}, (np.array([2, -1]), np.array([1, -1])))
    with pytest.raises(InvalidProblem) as caught:
        policy.to_flat(Flattening(retrying()))
    assert caught.value.violations == (
        "'start': the policy takes what is not there (flat row 1, but its rows are 0 to 0)",
        "('cross', 'in'): the policy takes what is not there (flat row 4, but its rows are 2 to 3)",
    )


@pytest.mark.parametrize("seed", range(30))
def test_activities_times_executions_are_the_flat_costs(seed: int) -> None:
    """The paper's objective and constraints, term by term, against the flat problem."""
    problem = random_procedure(seed, cycles=True)
    flattening = problem.flattening
    policies = brute_force(problem)
    for rows, costs in zip(policies.rows[:10], policies.costs, strict=False):
        policy = ProcedurePolicy(flattening.problem, rows)
        executions = expected_executions(flattening, policy)
        totals = np.zeros(1 + problem.num_constraints)
        for index in np.flatnonzero(executions):
            once = evaluate(problem.activities[index].cssp, policy.activity(int(index))).costs
            totals[0] += executions[index] * once[0]
            for position, constraint in enumerate(problem.constraints, start=1):
                if index in constraint.counts:
                    totals[position] += executions[index] * once[constraint.counts[int(index)]]
        assert totals == pytest.approx(costs, rel=1e-9, abs=1e-12)


def test_choices_can_be_read() -> None:
    problem = forking()
    policy = ProcedurePolicy({(0, None): 0, (1, "left"): 1, (1, "right"): 2}, ())
    assert policy.choice_names() == {
        "start": "choose",
        ("hall", "left"): "walk",
        ("hall", "right"): "wait",
    }


def test_an_activity_has_a_policy_of_its_own() -> None:
    problem = retrying()
    policy = ProcedurePolicy({(0, None): 0, (1, None): 1}, (np.array([0, -1]), np.array([1, -1])))
    assert isinstance(policy.activity(1), DeterministicPolicy)
    assert policy.activity(1).actions(problem.activities[1].cssp) == {"in": "dash"}
