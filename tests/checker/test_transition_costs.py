"""Costs that depend on the state that is reached: the checker uses their exact means."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hcssp import CSSPBuilder, check, solve
from hcssp.checker.arithmetic import excess, slack
from hcssp.checker.layout import Block
from hcssp.cssp.model import CSSP
from volume import some


def random_arrivals(seed: int) -> CSSP:
    """A few states in a row; what a step costs depends on whether it slips."""
    rng = np.random.default_rng(seed)
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": float(rng.integers(1, 20)) / 10.0})
    states = [plan.add_state(f"s{n}") for n in range(3)]
    goal = plan.add_goal("out")
    for here, there in zip(states, [*states[1:], goal], strict=True):
        for action in range(2):
            slip = float(rng.choice([0.1, 0.3, 1 / 3]))
            costs = {"time": float(rng.integers(1, 9)) / 10.0}
            arrival = {
                there: {"damage": float(rng.choice([0.0, 0.1, 0.7]))},
                here: {"damage": float(rng.choice([0.0, 0.3])), "time": 0.1},
            }
            plan.add_action(
                here, action, to={there: 1.0 - slip, here: slip}, costs=costs, arrival_costs=arrival
            )
    plan.set_initial(states[0])
    return plan.build()


def exact_means(problem: CSSP) -> dict[int, list[Fraction]]:
    paid, found = problem.transition_costs, {}
    assert paid is not None
    for row in set(paid.rows.tolist()):
        own = paid.rows == row
        chances = [Fraction(repr(each)) for each in paid.probabilities[own].tolist()]
        found[row] = [
            sum(c * Fraction(repr(x)) for c, x in zip(chances, costs[own].tolist(), strict=True))
            / sum(chances)
            for costs in paid.costs
        ]
    return found


@pytest.mark.parametrize("seed", some(range(30), 6))
def test_rows_are_judged_by_their_exact_means(seed: int) -> None:
    problem, rng = random_arrivals(seed), np.random.default_rng(seed)
    block, means = Block(problem), exact_means(problem)
    assert block.means == means
    values, weights = np.round(rng.random(problem.num_states), 3), np.array([1.0, 0.5])
    computed, error = slack(block, weights, values)
    every = np.arange(problem.num_rows)
    for row, holding in zip(every, excess(block, weights, values, every)[0] >= 0, strict=True):
        costs = means.get(row) or [Fraction(repr(float(c))) for c in problem.costs[:, row]]
        matrix = problem.transitions[[row]].tocoo()
        chances = [Fraction(repr(float(p))) for p in matrix.data]
        rise = sum(
            p * (Fraction(values[t]) - Fraction(values[problem.row_state[row]]))
            for p, t in zip(chances, matrix.coords[1], strict=True)
        )
        truth = sum(chances) * (costs[0] + costs[1] / 2) + rise
        assert holding == (truth >= 0)
        assert abs(Fraction(float(computed[row])) - truth) <= Fraction(float(error[row]))


@pytest.mark.parametrize("seed", some(range(12), 3))
def test_certificates_prove_what_was_found(seed: int) -> None:
    problem = random_arrivals(seed)
    plan = solve(problem)
    verdict = check(problem, plan.certificate, exact=True)
    assert verdict == check(problem, plan.certificate) or verdict.num_exact > 0
    if plan.found:
        assert verdict.lower_bound == pytest.approx(plan.upper_bound, rel=1e-6)
        assert verdict.upper_bound == pytest.approx(plan.upper_bound, rel=1e-9)
    else:
        assert verdict.lower_bound == np.inf


def test_activities_with_other_transition_costs_are_not_the_same() -> None:
    first, other = random_arrivals(0), random_arrivals(0)
    assert Block(first).has_arrays_of(other)
    assert first.transition_costs is not None
    changed = first.derive(transition_costs=None)
    assert not Block(first).has_arrays_of(changed)
