"""The referee itself, held against closed forms and against the floating-point brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from brute_force import brute_force
from brute_force_procedures import brute_force as brute_force_procedure
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from random_problems import random_cssp
from random_procedures import random_procedure
from referee.exact_policies import ExactProblem, TooManyPolicies, every_policy, round_up


def resetting(steps: int) -> CSSP:
    """A chain in which every step succeeds half of the time and otherwise leads back to the first state."""
    plan = CSSPBuilder(cost_names=("time",))
    states = [*(plan.add_state(index) for index in range(steps)), plan.add_goal("out")]
    for index in range(steps):
        plan.add_action(states[index], "step", to={states[index + 1]: 0.5, states[0]: 0.5}, costs=1.0)
    plan.set_initial(states[0])
    return plan.build()


@pytest.mark.parametrize("steps", [1, 5, 60])
def test_no_digit_is_lost_where_doubles_have_none_left(steps: int) -> None:
    (policy,) = every_policy(resetting(steps)).policies
    assert policy.costs == (Fraction(2 ** (steps + 1) - 2),)


def test_a_bound_is_kept_or_it_is_not() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=(3.0, 0.0))
    plan.add_action(here, "run", to={out: 0.75, here: 0.25}, costs=(1.0, 1.0))
    truth = every_policy(plan.build())
    third = round_up(Fraction(4, 3))
    assert Fraction(third) > Fraction(4, 3)
    best, next_best = truth.optimum([third]), truth.optimum([float(np.nextafter(third, 0.0))])
    assert best is not None
    assert next_best is not None
    assert (best.costs[0], next_best.costs[0]) == (Fraction(4, 3), 3)
    assert truth.optimum([-1e-300]) is None


def test_a_policy_that_may_never_end_is_none() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, pit, out = plan.add_state("here"), plan.add_state("pit"), plan.add_goal("out")
    plan.add_action(here, "wait", to=here, costs=1.0)
    plan.add_action(here, "jump", to={out: 1.0 - 2.0**-40, pit: 2.0**-40}, costs=1.0)
    plan.add_action(here, "crawl", to={out: 2.0**-40, here: 1.0 - 2.0**-40}, costs=1.0)
    plan.add_action(pit, "shout", to=pit, costs=1.0)
    problem = plan.build()
    assert [policy.costs for policy in every_policy(problem).policies] == [(2**40,)]
    exact = ExactProblem.of(problem)
    assert len(list(exact.behaviours())) == 3
    assert exact.sums_to_one


def test_beginning_in_a_goal_costs_nothing() -> None:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    plan.set_initial(plan.add_goal("out"))
    assert [policy.costs for policy in every_policy(plan.build()).policies] == [(0, 0)]


def test_too_many_policies_are_refused() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    for index in range(4):
        plan.add_action(here, index, to=out, costs=1.0)
    assert len(every_policy(plan.build(), most=4).policies) == 4
    with pytest.raises(TooManyPolicies, match="more than 3 policies"):
        every_policy(plan.build(), most=3)


@pytest.mark.parametrize("seed", range(12))
def test_both_brute_forces_find_the_same_policies(seed: int) -> None:
    problem = random_cssp(seed, max_states=5, max_actions=3)
    exact = sorted(tuple(map(float, policy.costs)) for policy in every_policy(problem).policies)
    np.testing.assert_allclose(exact, sorted(map(tuple, brute_force(problem).costs)), rtol=1e-9, atol=1e-12)


def test_a_procedure_is_judged_by_its_flattening() -> None:
    compared = 0
    for seed in range(8):
        problem = random_procedure(seed, cycles=seed % 2 == 0, several_exits=seed % 4 >= 2)
        every = brute_force_procedure(problem)
        if len(every.costs) <= 150:
            compared += 1
            exact = sorted(tuple(map(float, policy.costs)) for policy in every_policy(problem).policies)
            np.testing.assert_allclose(exact, sorted(map(tuple, every.costs)), rtol=1e-9, atol=1e-12)
    assert compared >= 2
