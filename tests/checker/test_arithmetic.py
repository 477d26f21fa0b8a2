from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hcssp.checker.arithmetic import GRAIN, MODERATE, UNIT, excess, grains, is_moderate, slack
from hcssp.checker.layout import Block
from hcssp.cssp.arrays import decimal, integers
from hcssp.cssp.model import CSSP, FloatArray
from random_problems import random_cssp

LOW, HIGH = -80, 80


def exact_slack(block: Block, weights: FloatArray, values: FloatArray) -> list[Fraction]:
    """The definition, row by row."""
    answers = []
    for row in range(block.num_rows):
        entries = range(block.pointers[row], block.pointers[row + 1])
        chances = [decimal(block.probabilities[entry]) for entry in entries]
        own = Fraction(float(values[block.row_state[row]]))
        steps = [Fraction(float(values[block.successors[entry]])) - own for entry in entries]
        paid = sum(
            Fraction(float(weight)) * decimal(cost)
            for weight, cost in zip(weights, block.costs[:, row], strict=True)
        )
        answers.append(sum(chances) * paid + sum(p * d for p, d in zip(chances, steps, strict=True)))
    return answers


def chain(probabilities: list[float], costs: list[list[float]]) -> Block:
    """One state, one row, as many goals as there are probabilities."""
    count = len(probabilities)
    return Block(
        CSSP.unchecked(
            transitions=csr_array(np.array([[0.0, *probabilities]])),
            row_start=np.array([0, 1, *[1] * count]),
            costs=np.array(costs),
            initial=np.eye(1 + count)[0],
            goals=np.arange(1 + count) > 0,
            cost_names=tuple(f"cost {index}" for index in range(len(costs))),
            bounds=np.full(len(costs) - 1, np.inf),
        )
    )


def test_a_number_means_its_shortest_decimal() -> None:
    assert decimal(0.05) == Fraction(1, 20)
    assert decimal(1e-9) + decimal(1 - 1e-9) == 1
    assert decimal(np.float64(0.1)) == Fraction(1, 10)
    assert Fraction(0.1) != Fraction(1, 10)


def test_integers_have_one_divisor() -> None:
    array, divisor = integers([Fraction(1, 4), Fraction(-2, 3), Fraction(5)])
    assert divisor == 12
    assert array.tolist() == [3, -8, 60]
    assert array.dtype == object
    array, divisor = integers([])
    assert (array.tolist(), divisor) == ([], 1)


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(0.0, allow_nan=False, allow_infinity=False)
)
def test_grains_are_exact(number: float, share: float) -> None:
    assert Fraction(grains(number, share.as_integer_ratio()), 2**GRAIN) == Fraction(number) * Fraction(share)
    assert Fraction(grains(number), 2**GRAIN) == Fraction(number)


@given(st.integers(0, 2**32 - 1))
def test_rows_of_all_lengths_have_their_slack(seed: int) -> None:
    """One row leads to everything and others to little, so that long ones are cut into pieces."""
    rng = np.random.default_rng(seed)
    states, rows = 12, 9
    moves = np.where(rng.random((rows, states)) < 0.15, rng.random((rows, states)), 0.0)
    moves[:, -1] = 0.25
    moves[int(rng.integers(rows))] = 1.0 / states
    block = Block(
        CSSP.unchecked(
            transitions=csr_array(moves),
            row_start=np.minimum(np.arange(states + 1), rows),
            costs=rng.random((2, rows)),
            initial=np.eye(states)[0],
            goals=np.arange(states) >= rows,
            cost_names=("time", "risk"),
            bounds=np.array([np.inf]),
        )
    )
    weights, values = np.array([1.0, -0.5]), 10.0 * rng.normal(size=states)
    computed, error = slack(block, weights, values)
    truth = exact_slack(block, weights, values)
    misses = [abs(Fraction(float(own)) - each) for own, each in zip(computed, truth, strict=True)]
    assert all(miss <= Fraction(float(most)) for miss, most in zip(misses, error, strict=True))
    assert error.max() <= 1e-12


@given(st.integers(0, 2**32 - 1))
def test_integers_decide_by_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = Block(random_cssp(rng, max_states=5, max_constraints=2))
    weights = np.append(rng.choice([0.0, 1.0]), rng.choice([0.0, 0.5, -1.0], len(block.costs) - 1))
    values = rng.choice([0.0, 1.0, 2.0, 1 / 3], block.num_states)
    rows = np.flatnonzero(rng.random(block.num_rows) < 0.7)
    if len(rows):
        expected = [each >= 0 for each in np.array(exact_slack(block, weights, values), dtype=object)[rows]]
        assert (excess(block, weights, values, rows)[0] >= 0).tolist() == expected


@given(
    st.lists(st.floats(2.0**LOW, 1.0), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.floats(0.0, 2.0**HIGH), st.floats(-(2.0**HIGH), 2.0**HIGH)), min_size=1, max_size=3
    ),
    st.lists(st.floats(-(2.0**HIGH), 2.0**HIGH), min_size=7, max_size=7),
)
def test_the_error_is_as_large_as_the_error_at_least(
    probabilities: list[float], paid: list[tuple[float, float]], levels: list[float]
) -> None:
    block = chain(probabilities, [[cost] for cost, _ in paid])
    weights = np.array([weight for _, weight in paid])
    values = np.array(levels[: block.num_states])
    computed, error = slack(block, weights, values)
    (truth,) = exact_slack(block, weights, values)
    if np.isfinite(error[0]):
        assert abs(Fraction(float(computed[0])) - truth) <= Fraction(float(error[0]))
        if computed[0] >= error[0]:
            assert truth >= 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_the_error_covers_cancellation_in_long_rows(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(count)) + 1e-12
    block = chain(probabilities.tolist(), [[float(rng.random())]])
    values = rng.normal(size=block.num_states) * 10.0 ** rng.integers(-8, 8, block.num_states)
    # Close to equality, where signs are hard to tell.
    values[0] = probabilities @ values[1:] / probabilities.sum() + block.costs[0, 0]
    computed, error = slack(block, np.ones(1), values)
    (truth,) = exact_slack(block, np.ones(1), values)
    assert abs(Fraction(float(computed[0])) - truth) <= Fraction(float(error[0]))
    assert error[0] <= 1e-12 * (1.0 + np.abs(values).max())


def test_one_ulp_too_high_is_seen() -> None:
    # Half of the time to a goal of 1, half to one of 2: not above 1.5 + 0.1 is held in decimals.
    block = chain([0.5, 0.5], [[0.1]])
    only = np.array([0])
    tight = np.array([1.6, 1.0, 2.0])
    assert Fraction(1.6) > Fraction(16, 10)
    assert excess(block, np.ones(1), tight, only)[0][0] < 0
    tight[0] = np.nextafter(1.6, 0.0)
    assert excess(block, np.ones(1), tight, only)[0][0] >= 0
    computed, error = slack(block, np.ones(1), tight)
    assert computed[0] < error[0], "double precision cannot tell, and must not claim to"


def test_staying_costs_no_digits() -> None:
    cssp = CSSP.unchecked(
        transitions=csr_array(np.array([[1.0 - 1e-9, 1e-9]])),
        row_start=np.array([0, 1, 1]),
        costs=np.array([[1e-9]]),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
    )
    block = Block(cssp)
    just_below = np.array([1.0 - 1e-13, 0.0])
    computed, error = slack(block, np.ones(1), just_below)
    assert computed[0] >= error[0] > 0.0
    assert excess(block, np.ones(1), np.array([1.0, 0.0]), np.array([0]))[0][0] >= 0
    assert excess(block, np.ones(1), np.array([1.0 + 2e-16, 0.0]), np.array([0]))[0][0] < 0
    free = Block(cssp.derive(costs=np.zeros((1, 1))))
    computed, error = slack(free, np.ones(1), np.zeros(2))
    assert computed[0] == error[0] == 0.0


def test_the_unit_is_the_largest_relative_error_of_one_rounding() -> None:
    rng = np.random.default_rng(1)
    pairs = [(1.0, 2.0**-53), (1.0, 3.0 * 2.0**-53), *rng.random((200, 2)).tolist()]
    errors = []
    for first, second in pairs:
        exact = Fraction(first) + Fraction(second)
        errors.append(abs(Fraction(first + second) - exact) / exact)
    assert Fraction(UNIT) * (1 - Fraction(UNIT)) <= max(errors) <= Fraction(UNIT)


def test_products_of_three_moderate_numbers_are_neither_huge_nor_tiny() -> None:
    most, least = MODERATE**3, (1.0 / MODERATE) ** 3
    assert Fraction(most) == Fraction(MODERATE) ** 3
    assert Fraction(least) == Fraction(1.0 / MODERATE) ** 3
    assert least >= np.finfo(np.float64).tiny


def test_moderate_numbers_are_those_between_the_limits_and_zero() -> None:
    assert is_moderate(np.array([0.0, 1.0, -1.0, MODERATE, -MODERATE, 1.0 / MODERATE]))
    for extreme in (np.nextafter(MODERATE, np.inf), np.nextafter(1.0 / MODERATE, 0.0), np.nan, np.inf):
        assert not is_moderate(np.array([0.0, 1.0, -extreme]))
    assert is_moderate(np.zeros(0))


@pytest.mark.parametrize("extreme", [2.0 * MODERATE, 0.5 / MODERATE, 5e-324, np.inf, np.nan])
@pytest.mark.parametrize("where", ["chance", "cost", "weight", "value"])
def test_extreme_numbers_are_left_to_integers(extreme: float, where: str) -> None:
    if where in ("chance", "cost") and not np.isfinite(extreme):
        return
    block = chain([extreme if where == "chance" else 1.0], [[extreme if where == "cost" else 1.0]])
    weights = np.array([extreme if where == "weight" else 1.0])
    values = np.array([extreme if where == "value" else 1.0, 0.0])
    computed, error = slack(block, weights, values)
    assert error.tolist() == [np.inf]
    assert not (computed >= error).any()
