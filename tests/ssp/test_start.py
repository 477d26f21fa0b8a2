from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, BoolArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem
from hcssp.ssp.policy_iteration import safe_rows, starting_policy
from proper_problems import proper_problem
from random_problems import random_cssp
from volume import some


def ends_surely(problem: CSSP, state: int, allowed: BoolArray) -> bool:
    """Whether some policy within `allowed` reaches a goal almost surely from `state`, by enumeration."""
    initial = np.zeros(problem.num_states)
    initial[state] = 1.0
    policies = brute_force(
        replace(problem, initial=initial, bounds=np.full_like(problem.bounds, np.inf))
    ).policies
    return any(allowed[rows[rows != NO_ROW]].all() for rows in policies)


@pytest.mark.parametrize("seed", some(range(60), 3))
def test_safe_rows_are_found_exactly_where_the_region_can_end(seed: int) -> None:
    problem = prepare(random_cssp(seed, zero_costs=0.5)).problem
    balance = Balance(problem)
    rng = np.random.default_rng(seed)
    allowed = rng.random(problem.num_rows) < rng.choice([0.4, 0.7, 1.0])
    rows, safe, _ = safe_rows(balance, problem.costs[0], allowed)
    ends = np.array([ends_surely(problem, int(state), allowed) for state in balance.live])
    assert (rows != NO_ROW).tolist() == ends.tolist()
    lost = np.zeros(problem.num_states)
    lost[balance.live[~ends]] = 1.0
    keeps_out = problem.transitions @ lost == 0.0
    alive = ends[balance.row_state]
    assert (safe & alive).tolist() == (allowed & keeps_out & alive).tolist()
    assert safe[rows[ends]].all()
    # The policy is proper: filled up with anything that ends, it can be evaluated.
    everywhere, _, _ = safe_rows(balance, problem.costs[0], np.ones(problem.num_rows, dtype=np.bool_))
    filled = np.where(ends, rows, everywhere)
    assert np.isfinite(PolicySystem(balance).values(filled)).all()


def test_an_empty_region_is_safe_nowhere() -> None:
    balance = Balance(proper_problem(0))
    rows, safe, _ = safe_rows(balance, balance.costs[0], np.zeros(balance.num_rows, dtype=np.bool_))
    assert (rows == NO_ROW).all()
    assert not safe.any()


def test_the_starting_policy_follows_the_shortest_way() -> None:
    problem = proper_problem(1, num_states=12)
    # Steps that do as told: then a shortest path is optimal, and value iteration finds its length.
    best = np.argmax(problem.transitions.toarray(), axis=1)
    certain = np.zeros((problem.num_rows, problem.num_states))
    certain[np.arange(problem.num_rows), best] = 1.0
    problem = replace(problem, transitions=certain, costs=problem.costs + 1.0)
    balance = Balance(problem)
    rows, _ = starting_policy(balance, problem.costs[0], np.ones(problem.num_rows, dtype=np.bool_))
    ends = rows != NO_ROW
    distance = np.where(problem.goals, 0.0, np.inf)
    for _ in range(problem.num_states):
        through = problem.costs[0] + distance[best]
        for row, state in enumerate(problem.row_state):
            distance[state] = min(distance[state], through[row])
    assert np.isfinite(distance[balance.live]).tolist() == ends.tolist()
    assert ends.any()
    through = problem.costs[0] + distance[best]
    np.testing.assert_allclose(through[rows[ends]], distance[balance.live[ends]])


def test_beside_enormous_lengths_no_path_runs_in_circles() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    # The way out is so improbable that the cheap steps to and fro are lost in its length.
    for here, there in ((first, second), (second, first)):
        plan.add_action(here, "to and fro", to=there, costs=1e-6)
        plan.add_action(here, "out", to={out: 2.0**-60, there: 1.0 - 2.0**-60}, costs=1e9)
    plan.set_initial(first)
    balance = Balance(plan.build())
    rows, _ = starting_policy(balance, balance.costs[0], np.ones(4, dtype=np.bool_))
    assert balance.is_proper(rows)
