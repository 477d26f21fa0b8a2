from __future__ import annotations

import numpy as np
import pytest

from hcssp.numerics import excess, is_feasible

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
