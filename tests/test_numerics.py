from __future__ import annotations

import numpy as np
import pytest

from hcssp.numerics import REEVALUATION_SHARE, allowance, excess, is_feasible, tolerated

INF = np.inf


@pytest.mark.parametrize(
    ("secondary", "bounds", "expected"),
    [
        ([2.5], [2.0], 0.25),
        ([0.5], [0.25], 0.25),  # small bounds count absolutely
        ([1.0, 30.0], [4.0, 20.0], 0.5),
        ([1.0, 1e9], [4.0, INF], -0.75),
        ([1e9], [INF], -INF),
        ([], [], -INF),
        ([0.0], [-1.0], 1.0),
        ([0.0], [-INF], INF),
    ],
)
def test_the_excess_is_relative_to_the_bound_or_to_one(
    secondary: list[float], bounds: list[float], expected: float
) -> None:
    assert excess(np.array([7.0, *secondary]), np.array(bounds)) == pytest.approx(expected)


def test_feasible_is_what_keeps_the_bounds_up_to_the_tolerance() -> None:
    bounds = np.array([100.0, 0.0])
    assert is_feasible(np.array([7.0, 100.0 + 9e-8, 9e-10]), bounds)
    assert not is_feasible(np.array([7.0, 100.0 + 2e-7, 0.0]), bounds)
    assert not is_feasible(np.array([7.0, 0.0, 2e-9]), bounds)


def test_what_is_tolerated_is_the_bound_and_its_allowance() -> None:
    bounds = np.array([0.0, -3.0, 100.0, INF])
    assert allowance(bounds).tolist() == pytest.approx([1e-9, 3e-9, 1e-7, INF])
    assert allowance(bounds, 1.0).tolist() == [1.0, 3.0, 100.0, INF]
    assert tolerated(bounds).tolist() == [1e-9, -3.0 + 3e-9, 100.0 + 1e-7, INF]


def test_lower_bounds_hold_for_all_that_a_search_takes_for_feasible() -> None:
    bounds = np.array([0.3, 7.0])
    edge = bounds + REEVALUATION_SHARE * allowance(bounds) * (1.0 - 1e-9)
    assert is_feasible(np.append(1.0, edge), bounds)
    assert np.all(edge < tolerated(bounds))
