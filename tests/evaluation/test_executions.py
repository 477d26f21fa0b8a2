from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.errors import ImproperPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import ProcedurePolicy
from random_procedures import random_procedure
from small_procedures import dash_last, forking, retrying
from volume import some


def test_retries_are_executions() -> None:
    # The room is crossed once and again with probability 0.2 each time: 1 / 0.8 times in all.
    assert expected_executions(dash_last()) == pytest.approx([1.25, 1.0])


def expected_executions(policy: ProcedurePolicy) -> list[float]:
    """The executions of each activity, as an evaluation reports them."""
    return [each.expected_executions for each in evaluate(policy.problem, policy).activities]


def test_where_the_exit_decides_the_policy_decides_the_executions() -> None:
    problem = forking()
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    walk = np.array([0, 1, -1])
    surely = ProcedurePolicy.compose(problem, choices, (np.array([0, -1, -1]), walk))
    fast = ProcedurePolicy.compose(problem, choices, (np.array([1, -1, -1]), walk))
    assert expected_executions(surely) == pytest.approx([1.0, 1.0])
    assert expected_executions(fast) == pytest.approx([1.0, 0.25])


def test_a_policy_that_never_ends_has_no_expected_executions() -> None:
    policy = ProcedurePolicy.compose(retrying(), {}, (np.array([0, -1]), np.array([1, -1])))
    with pytest.raises(ImproperPolicy, match=r"start"):
        expected_executions(policy)


@pytest.mark.parametrize("seed", some(range(30)))
def test_activities_times_executions_are_the_flat_costs(seed: int) -> None:
    """The paper's objective and constraints, term by term, against the flat problem."""
    problem = random_procedure(seed, cycles=True)
    policies = brute_force(problem)
    for rows, costs in zip(policies.rows[:10], policies.costs, strict=False):
        policy = ProcedurePolicy(problem, rows)
        executions = expected_executions(policy)
        totals = np.zeros(1 + problem.num_constraints)
        for index in np.flatnonzero(executions).tolist():
            once = evaluate(problem.activities[index].cssp, policy.activity(int(index))).costs
            totals[0] += executions[index] * once[0]
            for position, constraint in enumerate(problem.constraints, start=1):
                if index in constraint.counts:
                    totals[position] += executions[index] * once[constraint.counts[int(index)]]
        assert totals == pytest.approx(costs, rel=1e-9, abs=1e-12)
