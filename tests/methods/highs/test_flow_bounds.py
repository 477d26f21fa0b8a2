from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.preprocessing import prepare
from hcssp.evaluation import evaluate
from hcssp.methods.highs.mixed_integer import flow_bounds
from hcssp.methods.highs.running import HighsParameters
from random_problems import random_cssp
from volume import some

LARGEST = HighsParameters().largest_flow


@pytest.mark.parametrize("seed", some(range(60)))
def test_no_feasible_policy_exceeds_its_limits(seed: int) -> None:
    problem = prepare(random_cssp(seed, zero_costs=0.6)).problem
    truth = brute_force(problem)
    feasible = (truth.costs[:, 1:] <= problem.bounds + 1e-9).all(axis=1)
    for cost_limit in (truth.value, 2.0 * truth.costs[:, 0].min(), np.inf):
        limits = flow_bounds(problem, cost_limit, LARGEST)
        meant = feasible & (truth.costs[:, 0] <= cost_limit)
        for rows in truth.policies[meant][:40]:
            visits = evaluate(problem, DeterministicPolicy(problem, rows)).visits
            used = rows >= 0
            assert np.all(visits[used] <= limits[rows[used]] * (1.0 + 1e-9))


def test_free_moves_are_limited_by_their_way_out() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
    plan.add_action(left, "cross", to={right: 0.5, left: 0.5}, costs=0.0)
    plan.add_action(right, "back", to={left: 0.75, out: 0.25}, costs=0.0)
    limits = flow_bounds(plan.build(), cost_limit=1.0, largest=LARGEST)
    # Out of the circle with at least 0.5 * 0.25 each time round.
    assert limits == pytest.approx([8.0, 8.0], rel=1e-6)


def test_a_limit_that_is_of_no_use_is_not_cut() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "wait", to={here: 1.0 - 1e-8, out: 1e-8}, costs=0.0)
    limits = flow_bounds(plan.build(), cost_limit=1.0, largest=LARGEST)
    assert limits[0] >= 0.99e8


def test_what_leaves_a_state_has_entered_it() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    plan.add_action(here, "detour", to={there: 0.25, out: 0.75}, costs=1.0)
    plan.add_action(here, "straight", to=out, costs=1.0)
    plan.add_action(there, "on", to=out, costs=1.0)
    limits = flow_bounds(plan.build(), cost_limit=10.0, largest=LARGEST)
    assert limits == pytest.approx([1.0, 1.0, 0.25])


def test_no_digit_is_lost_on_the_way_round_a_circle() -> None:
    """A limit that rounding makes too tight cuts off the very policy that attains it."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        chances = rng.integers(1, 2**20, size=4) / 2.0**20
        plan = CSSPBuilder(cost_names=("time",))
        states = [*(plan.add_state(index) for index in range(4)), plan.add_goal("out")]
        for index, chance in enumerate(chances):
            plan.add_action(states[index], "on", to={states[index + 1]: chance, states[0]: 1.0 - chance})
        plan.set_initial(states[0])
        limits = flow_bounds(plan.build(), cost_limit=1.0, largest=LARGEST)
        # The least probability of a state may be that of going back; then the limit is only looser.
        visits = 1 / prod(min(Fraction(chance), 1 - Fraction(chance)) for chance in chances.tolist())
        if visits <= LARGEST:
            assert all(Fraction(limit) >= visits for limit in limits.tolist())
