"""What is to come at least in small problems: the optimum, from below, dead ends or not."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hcssp
from brute_force import brute_force
from hcssp.heuristics import ExpectedCosts, ShortestPaths
from random_problems import random_cssp
from volume import examples


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1))
def test_expected_costs_are_those_of_the_best_policy_under_weights(seed: int) -> None:
    problem = random_cssp(seed, zero_costs=0.0)
    weights = np.append(1.0, np.random.default_rng(seed).random(len(problem.bounds)))
    truth = float((brute_force(problem).costs @ weights).min())
    found = float(problem.initial @ ExpectedCosts(problem).least(weights @ problem.costs))
    assert found <= truth * (1.0 + 1e-13)
    assert found == pytest.approx(truth, rel=1e-8)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1))
def test_they_promise_no_more_than_a_step_and_what_is_after_it(seed: int) -> None:
    problem = random_cssp(seed)
    for cost in problem.costs:
        values = ExpectedCosts(problem).least(cost)
        after = cost + problem.transitions @ values
        assert np.all(np.isfinite(values))
        assert np.all(values[problem.goals] == 0.0)
        assert np.all(values[problem.row_state] <= after * (1.0 + 1e-12))


def test_dead_ends_are_dear_and_rare_departures_are_not_waited_for() -> None:
    """A short cut through a trap looks cheap, and waiting takes a million steps until something happens."""
    builder = hcssp.CSSPBuilder(cost_names=("time",))
    here, trap, pit, out = (*map(builder.add_state, ("here", "trap", "pit")), builder.add_goal("out"))
    builder.add_action(here, "jump", to={out: 0.5, trap: 0.25, pit: 0.25}, costs=1.0)
    builder.add_action(here, "wait", to={out: 1e-6, here: 1.0 - 1e-6}, costs=0.001)
    builder.add_action(trap, "struggle", to=trap, costs=1.0)
    builder.set_initial(here)
    problem = builder.build()
    values = ExpectedCosts(problem).least(problem.costs[0])
    assert values[problem.state_index["here"]] == pytest.approx(1000.0, rel=1e-6)
    assert values[problem.state_index["pit"]] > 100.0


def test_long_paths_are_never_too_long_by_rounding() -> None:
    builder = hcssp.CSSPBuilder(cost_names=("time",))
    line = [builder.add_state(place) for place in range(1_000)] + [builder.add_goal("out")]
    for here, there in pairwise(line):
        builder.add_action(here, "on", to=there, costs=0.1)
    builder.set_initial(line[0])
    problem = builder.build()
    found = ShortestPaths(problem, repeated=True).least(problem.costs[0])
    exact = [Fraction(0.1) * (1_000 - place) for place in range(1_000)]
    assert all(Fraction(value) <= length for value, length in zip(found.tolist(), exact, strict=False))
    assert found[0] == pytest.approx(100.0, rel=1e-11)
