"""Feasibility restored step by step, on problems of which the values that hold are known."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.model import FloatArray
from hcssp.ssp.restoration import Missing, Restoration, RestorationParameters, Rows

# A corridor: from state 0 to 1 for 2, from 1 out for 3, from 0 out for 9; "out" is state 2.
COSTS = np.array([2.0, 3.0, 9.0])
STATE = np.array([0, 1, 0])
HEADS = np.array([1, 2, 2])
RIGHT = [5.0, 3.0]
OUT = np.array([False, False, True])


def restoration(
    rows: Rows, values: list[float], missing: Missing, parameters: RestorationParameters | None = None
) -> Restoration:
    """Values of two states, and nothing at the goal."""
    return Restoration(rows, np.array([*values, 0.0]), missing, parameters or RestorationParameters())


def corridor(
    values: list[float],
    costs: FloatArray = COSTS,
    rows: list[bool] | None = None,
    stays: float = 0.0,
    parameters: RestorationParameters | None = None,
) -> Restoration:
    """Values on a corridor, whose steps may fail and `stay`."""
    leaves = np.full(3, 1.0 - stays)

    def missing(potential: FloatArray, margin: float) -> FloatArray:
        after = np.append(np.maximum(potential[:-1], 0.0), 0.0)
        return (1.0 + 1e-12 * margin) * leaves * (after[STATE] - after[HEADS]) - costs

    some = np.ones(3, dtype=np.bool_) if rows is None else np.array(rows)
    return restoration(
        Rows(some, costs, STATE, np.arange(3), HEADS, leaves, OUT), values, missing, parameters
    )


@pytest.mark.parametrize("values", [[5.0 + 4e-6, 3.0 + 1e-6], [5.0 + 1e-6, 3.0 + 1e-6], [5.0 + 1e-6, 3.0]])
def test_one_solve_subtracts_what_is_missing_all_the_way(values: list[float]) -> None:
    wrong = corridor(values)
    assert wrong.solve(2.0)
    assert wrong.values[:2] == pytest.approx(RIGHT, abs=1e-10)
    assert np.all(wrong.values[:2] <= values)


def test_sweeps_lower_what_is_too_high_and_end() -> None:
    wrong = corridor([8.0, 4.0])
    sweeps = 0
    while wrong.lower(2.0):
        sweeps += 1
        assert sweeps < 10
    assert wrong.values[:2] == pytest.approx(RIGHT, abs=1e-9)
    assert np.all(wrong.values[:2] <= RIGHT)


def test_a_sweep_lowers_by_what_is_missing_and_not_more() -> None:
    wrong = corridor([6.0, 3.0 - 1e-9])
    assert wrong.lower(2.0)
    assert wrong.values[:2] == pytest.approx([5.0, 3.0 - 1e-9], rel=1e-9)
    # A step that fails half of the time takes half of what is missing, each time.
    slow = corridor([12.0, 6.0 - 1e-9], stays=0.5)
    assert slow.lower(2.0)
    assert slow.values[:2] == pytest.approx([10.0, 6.0 - 1e-9], rel=1e-9)


def test_where_nothing_is_missing_nothing_is_lowered() -> None:
    right = corridor([3.9, 2.0])
    assert not right.lower(2.0)
    assert right.values[:2].tolist() == [3.9, 2.0]


def test_rows_that_do_not_count_ask_for_nothing() -> None:
    without = corridor([8.0, 3.0 - 1e-9], rows=[False, True, True])
    assert not without.lower(2.0)
    assert without.values[:2].tolist() == [8.0, 3.0 - 1e-9]


def to_and_fro(price: float, values: list[float], rows: tuple[bool, bool, bool]) -> Restoration:
    """Two states between which one goes to and fro at a price; out of the second for 3."""
    costs, state, heads = np.array([price, price, 3.0]), np.array([0, 1, 1]), np.array([1, 0, 2])

    def missing(potential: FloatArray, margin: float) -> FloatArray:
        after = np.append(np.maximum(potential[:-1], 0.0), 0.0)
        return after[state] - after[heads] - costs

    some = np.array(rows)
    return restoration(Rows(some, costs, state, np.arange(3), heads, np.ones(3), OUT), values, missing)


def test_states_between_which_all_is_free_have_the_least_of_their_values() -> None:
    one = to_and_fro(0.0, [7.0, 4.0], (True, True, True))
    assert one.values[:2].tolist() == [4.0, 4.0]
    assert one.lower(1.0)
    assert one.values[:2] == pytest.approx([3.0, 3.0])
    assert not one.lower(1.0)


@pytest.mark.parametrize(("price", "rows"), [(1.0, (True, True, True)), (0.0, (True, False, True))])
def test_where_there_and_back_is_not_free_or_not_allowed_values_differ(
    price: float, rows: tuple[bool, bool, bool]
) -> None:
    assert to_and_fro(price, [4.0, 3.0], rows).values[:2].tolist() == [4.0, 3.0]


def test_policy_steps_find_values_from_none() -> None:
    unknown = corridor([100.0, 100.0], parameters=RestorationParameters(tight=1.0))
    for _ in range(3):
        assert unknown.solve(0.0, raises=True)
    assert unknown.values[:2] == pytest.approx(RIGHT)
