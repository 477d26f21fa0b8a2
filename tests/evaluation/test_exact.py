from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array

from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.errors import CostOverflow, ImproperPolicy, InvalidProblem
from hcssp.evaluation import is_proper, narrate, simulate
from hcssp.evaluation.exact import Evaluation, ProcedureEvaluation, evaluate, expected_remaining
from hcssp.procedure import ProcedurePolicy
from random_problems import cssps, random_cssp
from random_procedures import random_procedure
from small_procedures import dash_last, forking, retrying
from volume import examples, some


def attempts(success: float, bound: float = 10.0) -> CSSP:
    """Try until it succeeds, one second and two units of wear a try."""
    return CSSP(
        transitions=csr_array(np.array([[1.0 - success, success]])),
        row_start=np.array([0, 1, 1]),
        costs=np.array([[1.0], [2.0]]),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time", "wear"),
        bounds=np.array([bound]),
    )


def only(problem: CSSP) -> DeterministicPolicy:
    """The only thing that one can do there."""
    return DeterministicPolicy(problem, np.array([0, -1]))


def evaluated(problem: CSSP) -> Evaluation:
    return evaluate(problem, only(problem))


def gambler(states: int, win: float) -> CSSP:
    """The gambler's ruin between 0 and `states` - 1, from the middle."""
    rows = np.zeros((states - 2, states))
    for i in range(1, states - 1):
        rows[i - 1, i + 1], rows[i - 1, i - 1] = win, 1.0 - win
    initial = np.zeros(states)
    initial[states // 2] = 1.0
    goals = np.zeros(states, dtype=bool)
    goals[[0, -1]] = True
    return CSSP(
        transitions=csr_array(rows),
        row_start=np.concatenate([[0], np.arange(states - 1), [states - 2]]),
        costs=np.ones((1, states - 2)),
        initial=initial,
        goals=goals,
        cost_names=("games",),
        bounds=np.zeros(0),
    )


@given(cssps())
@settings(max_examples=examples(60))
def test_costs_agree_with_dense_algebra_for_every_policy(problem: CSSP) -> None:
    truth = brute_force(problem)
    for rows, costs in list(zip(truth.policies, truth.costs, strict=True))[:20]:
        answer = evaluate(problem, DeterministicPolicy(problem, rows))
        np.testing.assert_allclose(answer.costs, costs, rtol=1e-11, atol=1e-12)
        assert answer.residual < 1e-12
        assert answer.visits[problem.goals].sum() == pytest.approx(1.0, abs=1e-12)
        as_randomised = np.zeros(problem.num_rows)
        as_randomised[rows[rows >= 0]] = 1.0
        again = evaluate(problem, RandomisedPolicy(problem, as_randomised))
        np.testing.assert_allclose(again.costs, answer.costs, rtol=1e-12)
        np.testing.assert_allclose(again.visits, answer.visits, rtol=1e-12)


def test_the_gamblers_ruin_has_its_closed_form() -> None:
    answer = evaluate(
        gambler(101, 0.5), DeterministicPolicy(gambler(101, 0.5), np.concatenate([[-1], np.arange(99), [-1]]))
    )
    assert answer.cost("games") == pytest.approx(50 * 50, rel=1e-12)
    assert answer.visits[[0, -1]] == pytest.approx([0.5, 0.5], rel=1e-12)
    odds = (0.6 / 0.4) ** 10
    unfair = evaluate(
        gambler(21, 0.4), DeterministicPolicy(gambler(21, 0.4), np.concatenate([[-1], np.arange(19), [-1]]))
    )
    assert unfair.visits[-1] == pytest.approx(1.0 / (odds + 1.0), rel=1e-12)


def test_a_randomised_policy_mixes_the_rows_of_a_state() -> None:
    problem = CSSP(
        transitions=csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])),
        row_start=np.array([0, 2, 2]),
        costs=np.array([[3.0, 1.0]]),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
    )
    answer = evaluate(problem, RandomisedPolicy(problem, np.array([0.25, 0.75])))
    assert answer.visits.tolist() == pytest.approx([4.0, 1.0])
    assert answer.cost("time") == pytest.approx(4.0 * (0.25 * 3.0 + 0.75 * 1.0))


def test_long_waits_are_still_exact() -> None:
    # 1 - success is rounded once, by half a unit in the last place: relative error 1e-16 / 2**-40.
    answer = evaluated(attempts(2.0**-40))
    assert answer.cost("time") == 2.0**40


@pytest.mark.parametrize("success", [1e-12, 1e-15, 1e-30, 1e-300])
def test_a_policy_that_ends_is_never_refused_for_being_slow(success: float) -> None:
    # One minus the chance of success may be no more than a rounded one: what counts is the chance itself.
    answer = evaluated(attempts(success, bound=np.inf))
    assert answer.costs == pytest.approx([1.0 / success, 2.0 / success], rel=1e-15)
    assert answer.residual < 1e-15


def test_only_what_is_beyond_any_number_is_refused() -> None:
    with pytest.raises(CostOverflow, match="reaches a goal almost surely, but so late"):
        evaluated(attempts(1e-310))


@pytest.mark.parametrize("length", [45, 60, 300])
def test_a_chain_that_is_thrown_back_again_and_again(length: int) -> None:
    # From every state half of the steps lead back to the first one.
    rows = np.zeros((length, length + 1))
    rows[:, 0] += 0.5
    rows[np.arange(length), np.arange(1, length + 1)] += 0.5
    problem = CSSP(
        transitions=csr_array(rows),
        row_start=np.append(np.arange(length + 1), length),
        costs=np.ones((1, length)),
        initial=np.eye(length + 1)[0],
        goals=np.eye(length + 1, dtype=bool)[length],
        cost_names=("time",),
        bounds=np.zeros(0),
    )
    policy = DeterministicPolicy(problem, np.append(np.arange(length), -1))
    answer = evaluate(problem, policy)
    assert answer.cost("time") == pytest.approx(2.0 * (2.0**length - 1.0), rel=answer.residual)
    assert answer.residual < 1e-11
    remaining = expected_remaining(problem, policy)[0]
    expected = [2.0 * (2.0**length - 2.0**state) for state in range(length + 1)]
    assert remaining == pytest.approx(expected, rel=1e-12)


def test_a_cost_is_nothing_only_if_nothing_that_costs_is_ever_done() -> None:
    # One in 1e200 tries goes through a state that costs 1e-200: no number is as small.
    problem = CSSP(
        transitions=csr_array(np.array([[0.0, 1e-200, 1.0], [0.0, 0.0, 1.0]])),
        row_start=np.array([0, 1, 2, 2]),
        costs=np.array([[1.0, 0.0], [0.0, 1e-200], [0.0, 0.0]]),
        initial=np.array([1.0, 0.0, 0.0]),
        goals=np.array([False, False, True]),
        cost_names=("time", "damage", "noise"),
        bounds=np.zeros(2),
    )
    answer = evaluate(problem, DeterministicPolicy(problem, np.array([0, 1, -1])))
    assert answer.cost("damage") > 0.0
    assert answer.cost("noise") == 0.0
    assert list(answer.violations()) == ["damage"]


def test_starting_in_a_goal_costs_nothing() -> None:
    answer = evaluated(replace(attempts(0.5), initial=np.array([0.0, 1.0])))
    assert answer.costs.tolist() == [0.0, 0.0]
    assert answer.visits.tolist() == [0.0, 1.0]
    assert answer.residual == 0.0


def test_bounds_are_kept_up_to_the_documented_tolerance() -> None:
    kept = evaluated(attempts(0.5, bound=4.0 - 3e-9))
    assert kept.keeps_bounds()
    assert kept.violations() == {}
    broken = evaluated(attempts(0.5, bound=4.0 - 5e-9))
    assert not broken.keeps_bounds()
    assert broken.violations() == {"wear": pytest.approx(5e-9, rel=1e-6)}
    assert broken.keeps_bounds(tolerance=1e-6)
    assert evaluated(attempts(0.5, bound=np.inf)).keeps_bounds()


def test_an_unknown_cost_is_named() -> None:
    with pytest.raises(InvalidProblem, match=r"no cost 'money'; the costs are 'time', 'wear'"):
        evaluated(attempts(0.5)).cost("money")


def test_the_answer_cannot_be_changed() -> None:
    answer = evaluated(attempts(0.5))
    with pytest.raises(ValueError, match="read-only"):
        answer.costs[0] = 0.0


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_what_remains_is_what_a_start_there_would_cost(seed: int) -> None:
    problem = random_cssp(seed)
    policy = DeterministicPolicy(problem, brute_force(problem).policies[-1])
    remaining = expected_remaining(problem, policy)
    assert (remaining[:, problem.goals] == 0.0).all()
    for state in np.flatnonzero(~np.isnan(remaining[0])):
        there = replace(problem, initial=np.eye(problem.num_states)[state])
        assert remaining[:, state] == pytest.approx(evaluate(there, policy).costs)
    assert np.array_equal(np.isnan(remaining[0]), (evaluate(problem, policy).visits == 0.0) & ~problem.goals)


def test_every_activity_has_its_share() -> None:
    answer = evaluate(retrying(), dash_last())
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
        evaluate(retrying(), dash_last()).activity("crss")


def test_what_is_never_executed_costs_nothing() -> None:
    choices = {(0, None): 0, (1, "left"): 2, (1, "right"): 2}
    policy = ProcedurePolicy.compose(forking(), choices, (np.array([1, -1, -1]), np.full(3, -1)))
    walk = evaluate(policy.problem, policy).activity("walk")
    assert (walk.expected_executions, walk.cost, walk.usage) == (0.0, 0.0, {"damage": 0.0})
    assert walk.cost_per_execution is None
    assert walk.usage_per_execution is None


def test_choices_may_depend_on_the_exit() -> None:
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    policy = ProcedurePolicy.compose(forking(), choices, (np.array([1, -1, -1]), np.array([0, -1, -1])))
    answer = evaluate(policy.problem, policy)
    assert answer.costs == pytest.approx([1 + 0.25 * 10, 2])
    assert answer.activity("walk").expected_executions == pytest.approx(0.25)
    assert answer.activity("walk").cost_per_execution == pytest.approx(10)


def test_a_procedures_policy_that_never_ends_is_refused() -> None:
    policy = ProcedurePolicy.compose(retrying(), {(0, None): 0}, dash_last().activities)
    with pytest.raises(ImproperPolicy, match="no action in state 'hall'"):
        evaluate(retrying(), policy)


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("seed", some(range(20)))
def test_the_shares_sum_to_the_whole_which_is_the_brute_force(seed: int, several_exits: bool) -> None:
    problem = random_procedure(seed, cycles=True, several_exits=several_exits)
    policies = brute_force_procedure(problem)
    for rows, costs in zip(policies.rows[:10], policies.costs, strict=False):
        answer = evaluate(problem, ProcedurePolicy(problem, rows))
        assert answer.costs == pytest.approx(costs, rel=1e-9, abs=1e-12)
        assert sum(activity.cost for activity in answer.activities) == pytest.approx(costs[0])
        for constraint, used in zip(problem.constraints, costs[1:], strict=True):
            shares = [activity.usage.get(constraint.name, 0.0) for activity in answer.activities]
            assert sum(shares) == pytest.approx(used)


def test_each_kind_of_problem_has_its_kind_of_answer() -> None:
    single = evaluated(attempts(0.5))
    assert type(single) is Evaluation
    whole = evaluate(retrying(), dash_last())
    assert type(whole) is ProcedureEvaluation
    flat = retrying().flattening.cssp
    assert evaluate(flat, DeterministicPolicy(flat, dash_last().rows)).costs == pytest.approx(whole.costs)


def test_a_policy_is_judged_by_the_bounds_of_the_problem_it_is_given_with() -> None:
    tight, loose = attempts(0.5, bound=3.0), attempts(0.5, bound=5.0)
    assert evaluate(loose, only(tight)).keeps_bounds()
    assert evaluate(tight, only(loose)).violations() == {"wear": pytest.approx(1.0)}
    assert evaluate(tight, RandomisedPolicy(loose, [1.0])).violations() == {"wear": pytest.approx(1.0)}
    assert evaluate(retrying().with_bounds(damage=8.0), dash_last()).keeps_bounds()
    assert evaluate(retrying().with_bounds(damage=7.0), dash_last()).violations() == {
        "damage": pytest.approx(1.0)
    }


@pytest.mark.parametrize(
    ("problem", "policy", "message"),
    [
        (retrying(), only(attempts(0.5)), "a DeterministicPolicy is not a policy of a HCSSP"),
        (retrying(), RandomisedPolicy(attempts(0.5), [1.0]), "a RandomisedPolicy is not a policy of a HCSSP"),
        (attempts(0.5), dash_last(), "a ProcedurePolicy is not a policy of a CSSP"),
        (attempts(0.5), np.array([0, -1]), "a ndarray is not a policy of a CSSP"),
        (retrying().flattening, dash_last(), "a ProcedurePolicy is not a policy of a Flattening"),
    ],
)
def test_a_policy_of_another_kind_of_problem_is_refused(problem: Any, policy: Any, message: str) -> None:
    remedy = (
        "give a CSSP with a deterministic or randomised policy, or a procedure with a policy of a procedure"
    )
    for judge in (evaluate, simulate):
        with pytest.raises(InvalidProblem) as caught:
            judge(problem, policy)
        assert str(caught.value) == f"{message}; {remedy}"


def test_a_policy_of_another_kind_is_refused_wherever_one_is_judged() -> None:
    for judge in (is_proper, expected_remaining, lambda *what: next(narrate(*what))):
        with pytest.raises(InvalidProblem, match="a ProcedurePolicy is not a policy of a CSSP"):
            judge(attempts(0.5), dash_last())
        with pytest.raises(InvalidProblem, match="a DeterministicPolicy is not a policy of a HCSSP"):
            judge(retrying(), only(attempts(0.5)))


def test_a_policy_of_a_problem_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidProblem, match=r"rows of shape \(2,\), but the problem has 21 states"):
        evaluate(gambler(21, 0.5), only(attempts(0.5)))
    with pytest.raises(InvalidProblem, match=r"rows of shape \(5,\), but the problem has 7 states"):
        evaluate(forking(), dash_last())
