"""Parts whose frontier knows prices: what they prove holds for the whole, under whatever weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import brute_force
from hcssp.cssp.expansion import Expansion, priced_part
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.heuristics import ExpectedCosts, expected_costs
from implicit_problems import implicit_of
from random_problems import random_cssp
from volume import examples


def least(problem: CSSP, weights: np.ndarray) -> float:
    return float(problem.initial @ ExpectedCosts(problem).least(weights @ problem.costs))


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1))
def test_no_lagrangian_of_a_priced_part_is_above_the_truth(seed: int) -> None:
    problem = random_cssp(seed, zero_costs=0.0)
    rng = np.random.default_rng(seed)
    expansion = Expansion(implicit_of(problem, expected_costs(problem)))
    for _ in range(int(rng.integers(0, 3))):
        expansion.expand(np.flatnonzero(rng.random(expansion.num_states) < 0.5))
    count = len(problem.costs)
    # Sometimes a cost has no weight.
    weights = np.append(1.0, rng.random(count - 1) * (rng.random(count - 1) < 0.8))
    part = priced_part(expansion.part(), weights, expansion.weighted_heuristic.under(weights))
    every_policy = brute_force(problem).costs
    for other in (weights, *(3.0 * rng.random((20, count)) * (rng.random((20, count)) < 0.8))):
        assert least(part, other) <= (every_policy @ other).min() * (1.0 + 1e-9)
    # These heuristics are exact under the weights, and the part knows it.
    assert least(part, weights) == pytest.approx((every_policy @ weights).min(), rel=1e-7)
    assert part.num_expanded == expansion.num_expanded


def test_a_trade_off_at_the_frontier_is_known() -> None:
    """Apart, time and damage may both be nothing; together they cost 1."""
    told = {"time": 0.0, "damage": 0.0}

    class Either:
        def __call__(self, state: int) -> dict[str, float]:
            return told

        def together(self, weights: np.ndarray, states: list[int]) -> np.ndarray:
            return np.array([0.0 if state == 9 else weights.min() for state in states])

    problem = ImplicitCSSP(
        0,
        lambda state: ("run", "walk"),
        lambda state, action: {9: 1.0},
        lambda state, action: (1.0, 0.0) if action == "walk" else (0.0, 1.0),
        lambda state: state == 9,
        Either(),
        ("time", "damage"),
    )
    expansion = Expansion(problem)
    weights = np.array([1.0, 2.0])
    part = priced_part(expansion.part(), weights, expansion.weighted_heuristic.under(weights))
    assert part.costs.T.round(9).tolist() == [[1.0, 0.0], [0.0, 0.5]]
    assert part.action_labels[0] != part.action_labels[1]
    assert part.priced_at == (1.0, 2.0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([-1.0]), r"state 0: under the weights \[1.0, 2.0\] .* is -1.0; it must be finite"),
        (np.array([np.inf]), "is inf; it must be finite"),
        (np.ones((1, 1)), r"shape \(1, 1\) for 1 states together"),
    ],
)
def test_a_wrong_answer_under_prices_is_told(answer: np.ndarray, message: str) -> None:
    class Wrong:
        def __call__(self, state: int) -> float:
            return 0.0

        def together(self, weights: np.ndarray, states: list[int]) -> np.ndarray:
            return answer

    problem = ImplicitCSSP(
        0,
        lambda state: ("go",),
        lambda state, action: {1: 1.0},
        lambda state, action: 1.0,
        lambda state: state == 1,
        Wrong(),
        ("time", "damage"),
    )
    with pytest.raises(InvalidProblem, match=message):
        Expansion(problem).weighted_heuristic.under(np.array([1.0, 2.0]))


def test_only_new_states_are_queried_under_the_latest_weights() -> None:
    asked: list[tuple[float, int]] = []

    class Told:
        def __call__(self, state: int) -> float:
            return 0.0

        def together(self, weights: np.ndarray, states: list[int]) -> np.ndarray:
            asked.append((float(weights[1]), len(states)))
            return np.array([0.0 if state == 4 else weights.sum() for state in states])

    problem = ImplicitCSSP(
        0,
        lambda state: ("go",),
        lambda state, action: {state + 1: 0.5, state + 2: 0.5} if state < 3 else {4: 1.0},
        lambda state, action: (1.0, 1.0),
        lambda state: state == 4,
        Told(),
        ("time", "damage"),
    )
    expansion = Expansion(problem)
    first, second = np.array([1.0, 0.0]), np.array([1.0, 5.0])
    assert expansion.weighted_heuristic.under(first).tolist() == [1.0]
    expansion.expand(np.array([0]))
    assert expansion.weighted_heuristic.under(first, 1).tolist() == [1.0, 1.0]
    assert expansion.weighted_heuristic.under(first, 3).tolist() == []
    assert expansion.weighted_heuristic.under(second).tolist() == [6.0] * 3
    assert asked == [(0.0, 1), (0.0, 2), (5.0, 3)]
