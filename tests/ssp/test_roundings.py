"""Each small step of the certificate in rational numbers: never beyond the truth, and hardly short of it."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from hcssp.ssp.potential import (
    ROUNDINGS,
    UNIT_ROUNDOFF,
    Certificate,
    Certifier,
    Steps,
    divided,
    largest_share,
    levels_of,
    lowering,
    quick_shortfalls,
)

NOTHING = Fraction(1, 10**14)
"""A share that nobody misses."""


def random_values(rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of all digits over some orders of magnitude."""
    return rng.random(count) * 10.0 ** rng.integers(-3, 4, count)


@pytest.mark.parametrize("share", [0.0, 1e-10, 0.3, 7.0])
def test_values_that_are_divided_are_rounded_down(share: float) -> None:
    rng = np.random.default_rng(int(share * 10.0))
    for _ in range(100):
        values, initial = random_values(rng, 5), rng.dirichlet(np.ones(5))
        certificate = divided(values, share, initial)
        each = [Fraction(value) / (1 + Fraction(share)) for value in values.tolist()]
        whole = sum(p * v for p, v in zip(map(Fraction, initial.tolist()), each, strict=True))
        assert whole * (1 - NOTHING) <= Fraction(certificate.bound) <= whole
        for level, true in zip(levels_of(certificate, slice(None)).tolist(), each, strict=True):
            assert true * (1 - NOTHING) <= Fraction(level) <= true


def test_what_a_row_adds_to_the_bound_is_told_to_the_last_digits() -> None:
    # Two states in a row, and a goal; each state has two rows.
    steps = Steps(np.array([0, 0, 1, 1]), np.array([0, 1, 3, 4, 5]), np.array([1, 1, 2, 2, 0]), np.zeros(5))
    rng = np.random.default_rng(5)
    added = 0
    for share in (0.0, 0.01, 0.5):
        for _ in range(40):
            chances = np.array([1.0, *rng.dirichlet([1.0, 1.0]), 1.0, 1.0])
            certifier = Certifier(steps._replace(probabilities=chances), np.array([1.0, 0.0]), 1)
            costs, values = random_values(rng, 4), random_values(rng, 2)
            told = certifier.surcharges(costs, Certificate(0.0, values, share))
            level, p = [*map(Fraction, values.tolist()), Fraction(0)], [*map(Fraction, chances.tolist())]
            gains = [
                p[0] * (level[1] - level[0]),
                p[1] * (level[1] - level[0]) + p[2] * (level[2] - level[0]),
                p[3] * (level[2] - level[1]),
                p[4] * (level[0] - level[1]),
            ]
            for row, gain in enumerate(gains):
                cost = Fraction(float(costs[row]))
                true = max((gain + (1 + Fraction(share)) * cost) / (1 + Fraction(share)), Fraction(0))
                size = cost + max(level)
                assert true - NOTHING * size <= Fraction(float(told[row])) <= true
                added += true > 0
    assert added > 100


def test_the_largest_share_is_rounded_up_and_what_costs_nothing_lacks_without_measure() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        shortfalls, costs = random_values(rng, 3), random_values(rng, 3)
        exact = max(
            Fraction(s) / Fraction(c) for s, c in zip(shortfalls.tolist(), costs.tolist(), strict=True)
        )
        assert exact <= Fraction(largest_share(shortfalls, costs)) <= exact * (1 + NOTHING)
    assert largest_share(np.array([1.0, 1e-300]), np.array([1.0, 0.0])) == inf
    assert largest_share(np.zeros(0), np.zeros(0)) == 0.0


ROUNDING = 2.0**-20
"""What a reduced cost may be off: far more than what the tests themselves are."""


def test_rows_that_may_be_short_are_told_with_all_that_they_may_lack() -> None:
    rng = np.random.default_rng(2)
    values = np.array([0.0, 1.0, 300.0])
    state = np.repeat(np.arange(3), 200)
    off = ROUNDING * 2.0 * values[state]
    reduced = np.where(np.arange(600) % 4 == 0, 0.0, off * rng.uniform(-3.0, 3.0, 600))
    rows, shortfalls = quick_shortfalls(reduced, values, state, ROUNDING)
    needed = ROUNDING * (np.abs(reduced) + 2.0 * values[state]) - reduced
    # What surely holds is not told, and what is told lacks a hundredth more at most.
    assert set(np.flatnonzero(needed > 0.0)) <= set(rows)
    assert np.all(needed[rows] >= -0.02 * off[rows])
    assert np.all(shortfalls >= needed[rows])
    assert np.all(shortfalls <= needed[rows] + 0.02 * off[rows] + 0.011 * ROUNDING * np.abs(reduced[rows]))
    # Nothing is short where nothing is worth anything and no row is below it.
    assert len(quick_shortfalls(np.zeros(600), np.zeros(3), state, ROUNDING)[0]) == 0
    assert len(quick_shortfalls(np.full(600, inf), values, state, ROUNDING)[0]) == 0


def test_values_are_lowered_by_twice_what_a_row_may_lack_for_half_a_unit_of_length() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        level = random_values(rng, 6)
        reduced = ROUNDING * level * rng.uniform(-4.0, 9.0, 6)
        # Once for the reduced cost, and once for the values that come out.
        lacking = max(0.0, float((2.0 * ROUNDING * (np.abs(reduced) + 2.0 * level) - reduced).max()))
        room = 0.02 * ROUNDING * float((np.abs(reduced) + 2.0 * level).max())
        assert 2.0 * lacking <= lowering(reduced, level, ROUNDING) <= 2.0 * (lacking + 1.01 * room)
    assert lowering(np.ones(3), np.zeros(3), ROUNDING) == 0.0
    assert lowering(np.zeros(0), np.zeros(0), ROUNDING) == 0.0


def test_many_roundings_lose_no_more_than_their_number_times_one_and_hardly_less() -> None:
    count = 2**30
    # (1 + u)^n is below 1 / (1 - n u).
    assert Fraction(ROUNDINGS) * count >= Fraction(UNIT_ROUNDOFF) * count / (
        1 - Fraction(UNIT_ROUNDOFF) * count
    )
    assert ROUNDINGS <= 1.00001 * UNIT_ROUNDOFF
    assert np.finfo(np.float64).eps / 2.0 == UNIT_ROUNDOFF


@pytest.mark.parametrize("successors", [1, 3, 30])
@pytest.mark.parametrize("num_costs", [1, 20])
def test_what_a_slack_may_be_off_grows_with_successors_and_costs(successors: int, num_costs: int) -> None:
    # From the first state down to the others with equal chances: nothing is left open, and nothing is lost.
    steps = Steps(
        np.array([0]),
        np.array([0, successors]),
        1 + np.arange(successors),
        np.full(successors, 1.0 / successors),
    )
    certifier = Certifier(steps, np.ones(1), num_costs)
    values = np.append(2.0, np.ones(successors))
    told = certifier.slack(np.ones(1), values)[0]
    # Roundings for each successor and each cost, and some besides; the sizes add up to 2.
    assert -told >= (successors + num_costs + 5) * UNIT_ROUNDOFF * 2.0
    assert -told <= (successors + num_costs + 8) * UNIT_ROUNDOFF * 2.0 + 4.0 * UNIT_ROUNDOFF
