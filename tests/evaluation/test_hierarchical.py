from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.errors import ImproperPolicy, InvalidProblem
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import Flattening, ProcedurePolicy
from random_procedures import random_procedure
from small_procedures import forking, retrying

DASH_LAST = ProcedurePolicy({(0, None): 0, (1, None): 1}, (np.array([0, -1]), np.array([1, -1])))


def test_every_activity_has_its_share() -> None:
    answer = evaluate(retrying(), DASH_LAST)
    # 1.25 times round (3 time), then once a dash of 2 tries (1 time and 4 damage each).
    assert answer.costs == pytest.approx([1.25 * 3 + 2, 8, 8])
    assert answer.cost("damage") == pytest.approx(8)
    assert answer.violations() == {"damage": pytest.approx(6)}
    cross, leave = answer.activities
    assert (cross.name, cross.expected_executions, cross.cost) == ("cross", 1.25, pytest.approx(3.75))
    assert cross.cost_per_execution == pytest.approx(3)
    assert cross.usage == {"damage": 0.0}
    assert leave.usage == {"damage": pytest.approx(8), "damage-at-last": pytest.approx(8)}
    assert leave.usage_per_execution == {"damage": pytest.approx(8), "damage-at-last": pytest.approx(8)}
    assert answer.activity("leave") is leave


def test_an_unknown_activity_is_named() -> None:
    with pytest.raises(InvalidProblem, match="no activity 'crss'; the activities are 'cross', 'leave'"):
        evaluate(retrying(), DASH_LAST).activity("crss")


def test_what_is_never_executed_costs_nothing() -> None:
    choices = {(0, None): 0, (1, "left"): 2, (1, "right"): 2}
    policy = ProcedurePolicy(choices, (np.array([1, -1, -1]), np.full(3, -1)))
    walk = evaluate(forking(), policy).activity("walk")
    assert (walk.expected_executions, walk.cost, walk.usage) == (0.0, 0.0, {"damage": 0.0})
    assert walk.cost_per_execution is None
    assert walk.usage_per_execution is None


def test_choices_may_depend_on_the_exit() -> None:
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    policy = ProcedurePolicy(choices, (np.array([1, -1, -1]), np.array([0, -1, -1])))
    answer = evaluate(Flattening(forking()), policy)
    assert answer.costs == pytest.approx([1 + 0.25 * 10, 2])
    assert answer.activity("walk").expected_executions == pytest.approx(0.25)
    assert answer.activity("walk").cost_per_execution == pytest.approx(10)


def test_a_policy_that_never_ends_is_refused() -> None:
    policy = ProcedurePolicy({(0, None): 0}, DASH_LAST.activities)
    with pytest.raises(ImproperPolicy, match="no action in state 'hall'"):
        evaluate(retrying(), policy)


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_shares_sum_to_the_whole_which_is_the_brute_force(seed: int, several_exits: bool) -> None:
    problem = random_procedure(seed, cycles=True, several_exits=several_exits)
    flattening = problem.flattening
    policies = brute_force(problem)
    for rows, costs in zip(policies.rows[:10], policies.costs, strict=False):
        answer = evaluate(flattening, ProcedurePolicy(flattening.problem, rows))
        assert answer.costs == pytest.approx(costs, rel=1e-9, abs=1e-12)
        assert sum(activity.cost for activity in answer.activities) == pytest.approx(costs[0])
        for constraint, used in zip(problem.constraints, costs[1:], strict=True):
            shares = [activity.usage.get(constraint.name, 0.0) for activity in answer.activities]
            assert sum(shares) == pytest.approx(used)
