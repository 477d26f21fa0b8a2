"""Interpolated and priced bounds in rational numbers: never beyond the truth, and hardly short of it."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from hcssp.dual.activity_planner import ExitAnswer, MultiExitPlanner, above_least
from hcssp.dual.ascent import lagrangian_bound
from hcssp.dual.oracle import estimated_rounding
from hcssp.dual.value_cache import DEFAULT_PARAMETERS, chord
from hcssp.numerics import tolerated

NOTHING = Fraction(1, 10**14)


def numbers(rng: np.random.Generator, count: int) -> list[float]:
    """Numbers of all digits, not negative, over some orders of magnitude."""
    return (rng.random(count) * 10.0 ** rng.integers(-3, 4, count)).tolist()


def test_chords_are_rounded_down() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        low, high = sorted(numbers(rng, 2))
        low_bound, high_bound = sorted(numbers(rng, 2))
        price = low + float(rng.random()) * (high - low)
        share = (Fraction(price) - Fraction(low)) / (Fraction(high) - Fraction(low))
        exact = (1 - share) * Fraction(low_bound) + share * Fraction(high_bound)
        told = Fraction(chord(low, low_bound, high, high_bound, price))
        # The share itself is a quotient of differences, whose digits are lost where they are close.
        lost = NOTHING * (1 + Fraction(high) / (Fraction(high) - Fraction(low)))
        assert exact - lost * Fraction(high_bound) <= told <= exact
        # A bound at the higher price that is below that at the lower says nothing.
        fallen = Fraction(chord(low, high_bound, high, low_bound, price))
        assert Fraction(high_bound) * (1 - NOTHING) <= fallen <= Fraction(high_bound)


def test_beyond_the_last_price_a_bound_grows_with_the_least_secondary_cost() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        low, bound, use, more = numbers(rng, 4)
        price = low + more
        exact = Fraction(bound) + (Fraction(price) - Fraction(low)) * Fraction(use)
        lost = NOTHING * (exact + Fraction(price) * Fraction(use))
        assert exact - lost <= Fraction(chord(low, bound, inf, use, price)) <= exact


def test_what_bounds_are_worth_is_subtracted_and_a_little_more() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        bounds = np.array(numbers(rng, 4))
        prices = np.where(rng.random(4) < 0.3, 0.0, numbers(rng, 4))
        bounds[prices == 0.0] = rng.choice([inf, 1.0], int((prices == 0.0).sum()))
        value = numbers(rng, 1)[0]
        allowed = tolerated(bounds)
        worth = [
            Fraction(p) * Fraction(b) for p, b in zip(prices.tolist(), allowed.tolist(), strict=True) if p
        ]
        exact = Fraction(value) - sum(worth)
        told = Fraction(lagrangian_bound(value, prices, bounds))
        assert exact - NOTHING * (Fraction(value) + sum(worth)) <= told <= exact
    # Without a price nothing is subtracted, and nothing is rounded.
    assert lagrangian_bound(0.1, np.zeros(1), np.array([inf])) == 0.1


def test_exits_are_compared_with_the_least_of_them_and_rounded_down() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        values = numbers(rng, 3)
        told = above_least(np.array(values)).tolist()
        for level, value in zip(told, values, strict=True):
            exact = Fraction(value) - Fraction(min(values))
            assert exact * (1 - NOTHING) <= Fraction(level) <= exact
    assert above_least(np.array([5.0])).tolist() == [0.0]


def test_what_follows_the_exits_is_added_and_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    planner = MultiExitPlanner.__new__(MultiExitPlanner)
    planner._answers, planner._parameters = {}, DEFAULT_PARAMETERS
    plan: Any = None
    for _ in range(100):
        levels = numbers(rng, 3)
        (least,) = numbers(rng, 1)
        known = ExitAnswer(plan, np.array([*levels, inf]))
        monkeypatch.setattr(planner, "_answer", lambda *_, known=known: known)
        planner._answers.clear()
        answer = planner.plan(np.ones(1), np.array([least]), frozenset())
        assert answer is not None
        assert answer.levels[-1] == inf
        for told, level in zip(answer.levels.tolist(), levels, strict=False):
            exact = Fraction(level) + Fraction(least)
            assert exact * (1 - NOTHING) <= Fraction(told) <= exact


def test_what_has_no_plan_is_asked_for_one_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = MultiExitPlanner.__new__(MultiExitPlanner)
    planner._answers, planner._parameters = {}, DEFAULT_PARAMETERS
    asked: list[Any] = []
    monkeypatch.setattr(planner, "_answer", lambda *question: asked.append(question))
    for _ in range(2):
        assert planner.plan(np.ones(1), np.array([2.0]), frozenset()) is None
    assert len(asked) == 1
    assert planner.plan(np.ones(1), np.array([inf]), frozenset()) is None
    assert len(asked) == 1


def test_what_rounding_may_hide_is_estimated_by_the_largest_value_and_by_departures() -> None:
    values = np.array([[3.0, 0.5], [7.0, 0.25]])
    few = estimated_rounding(values, np.array([3.0, 0.5]), 1.0)
    assert few == pytest.approx(8.0 * 2.0**-53 * np.array([7.0, 0.5]), rel=1e-3)
    many = estimated_rounding(values, np.array([3.0, 0.5]), 1000.0)
    assert many == pytest.approx(8.0 * 2.0**-53 * np.array([3000.0, 500.0]), rel=1e-3)
