from __future__ import annotations

import numpy as np
import pytest

from hcssp.errors import InvalidProblem
from hcssp.numerics import (
    FEASIBILITY_TOLERANCE,
    LEAST_TOLERANCE,
    REEVALUATION_SHARE,
    Tolerances,
    allowance,
    excess,
    is_feasible,
    may_be_feasible,
    relative_gap,
    scales,
    tolerated,
)

INF = np.inf


@pytest.mark.parametrize(
    ("secondary", "bounds", "expected"),
    [
        ([2.5], [2.0], 0.25),
        ([0.5], [0.25], 1.0),
        ([1.5e-12], [1e-12], 0.5),
        ([1.0, 30.0], [4.0, 20.0], 0.5),
        ([1.0, 1e9], [4.0, INF], -0.75),
        ([1e9], [INF], -INF),
        ([], [], -INF),
        ([0.0], [-1.0], 1.0),
        ([0.0], [-1e-10], 1.0),
        ([0.0], [-INF], INF),
        ([0.0], [0.0], 0.0),
        ([5e-324], [0.0], INF),
        ([5e-324, 0.1], [0.0, 1.0], INF),
    ],
)
def test_the_excess_is_a_share_of_the_bound(
    secondary: list[float], bounds: list[float], expected: float
) -> None:
    assert excess(np.array([7.0, *secondary]), np.array(bounds)) == pytest.approx(expected)


def test_feasible_is_what_keeps_the_bounds_up_to_the_tolerance() -> None:
    bounds = np.array([100.0, 1e-6])
    assert is_feasible(np.array([7.0, 100.0 + 9e-8, 1e-6 + 9e-16]), bounds)
    assert not is_feasible(np.array([7.0, 100.0 + 2e-7, 0.0]), bounds)
    assert not is_feasible(np.array([7.0, 0.0, 1e-6 + 2e-15]), bounds)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1.0, 1e9])
def test_units_do_not_matter(unit: float) -> None:
    bounds = unit * np.array([100.0, 0.5])
    for share in (0.5, 0.99, 1.01, 2.0):
        costs = np.append(7.0, bounds * (1.0 + share * REEVALUATION_SHARE * FEASIBILITY_TOLERANCE))
        assert is_feasible(costs, bounds) == (share < 1.0)


def test_a_bound_of_nothing_allows_nothing() -> None:
    assert is_feasible(np.array([7.0, 0.0]), np.zeros(1))
    assert not is_feasible(np.array([7.0, 1e-300]), np.zeros(1))
    assert tolerated(np.zeros(1)).tolist() == allowance(np.zeros(1)).tolist() == [0.0]


def test_what_is_tolerated_is_the_bound_and_its_allowance() -> None:
    bounds = np.array([0.25, -3.0, 100.0, INF])
    assert allowance(bounds).tolist() == pytest.approx([2.5e-10, 3e-9, 1e-7, INF])
    assert allowance(bounds, 0.0).tolist() == [0.0, 0.0, 0.0, INF]
    assert tolerated(bounds).tolist() == [0.25 + 2.5e-10, -3.0 + 3e-9, 100.0 + 1e-7, INF]
    assert scales(np.append(bounds, 0.0)).tolist() == [0.25, 3.0, 100.0, INF, 1.0]


def test_lower_bounds_hold_for_all_that_a_search_takes_for_feasible() -> None:
    bounds = np.array([0.3, 7.0])
    edge = bounds + REEVALUATION_SHARE * allowance(bounds) * (1.0 - 1e-9)
    assert is_feasible(np.append(1.0, edge), bounds)
    assert np.all(edge < tolerated(bounds))


@pytest.mark.parametrize("feasibility", [LEAST_TOLERANCE, FEASIBILITY_TOLERANCE, 1e-6, 0.5])
def test_a_search_under_shifted_bounds_keeps_the_bounds_as_they_were_meant(feasibility: float) -> None:
    bounds = np.array([0.0, 1e-9, 0.3, 7.0, 1e12, -2.0, INF])
    shifted = Tolerances(feasibility=feasibility).shifted(bounds)
    wanted = bounds[:-1] + feasibility * np.abs(bounds[:-1])
    # All that counts as feasible is searched, and what a search returns counts.
    assert np.all(tolerated(shifted)[:-1] >= wanted)
    assert tolerated(shifted)[:-1] == pytest.approx(wanted, rel=2e-15, abs=0.0)
    largest = shifted[:-1] + REEVALUATION_SHARE * allowance(shifted[:-1])
    assert np.all(largest <= wanted)
    assert np.all(largest >= bounds[:-1])
    assert shifted[-1] == INF


@pytest.mark.parametrize("wrong", [-1e-9, 1.0, INF, np.nan])
def test_a_tolerance_is_a_share(wrong: float) -> None:
    with pytest.raises(InvalidProblem, match=r"a tolerance on feasibility of .*: give a share"):
        Tolerances(feasibility=wrong)
    with pytest.raises(InvalidProblem, match=r"a tolerance on optimality of .*: give a share"):
        Tolerances(optimality=wrong)
    with pytest.raises(InvalidProblem, match="give a share from 1e-11 to below 1"):
        Tolerances(feasibility=0.0)


@pytest.mark.parametrize(("spent", "kept"), [(0.0, True), (1.0, True), (1.2, False), (2.5, False)])
@pytest.mark.parametrize("tolerance", [FEASIBILITY_TOLERANCE, 1e-4])
def test_a_mixture_may_spend_the_tolerance_and_what_rounding_may_be(
    spent: float, kept: bool, tolerance: float
) -> None:
    costs = np.array([7.0, 4.0 * (1.0 + spent * tolerance)])
    assert may_be_feasible(costs, np.array([4.0]), tolerance) is kept


@pytest.mark.parametrize(("spent", "kept"), [(0.5, True), (1.01, False), (2.0, False)])
def test_a_policy_may_spend_the_tolerance(spent: float, kept: bool) -> None:
    assert is_feasible(np.array([7.0, 4.0 * (1.0 + spent * FEASIBILITY_TOLERANCE)]), np.array([4.0])) is kept


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [
        (0.25, 0.5, 0.5),
        (0.0, 0.5, 1.0),
        (-0.5, 0.5, 2.0),
        (1e-12, 2e-12, 0.5),
        (3.0, 4.0, 0.25),
        (4.0, 4.0, 0.0),
        (5.0, 4.0, 0.0),
        (0.5, 0.4, 0.0),
        (0.0, 0.0, 0.0),
        (-1.0, 0.0, 0.0),
        (-INF, 4.0, INF),
        (4.0, INF, INF),
        (-INF, INF, INF),
    ],
)
def test_the_gap_is_relative_to_what_is_known_from_above(lower: float, upper: float, gap: float) -> None:
    assert relative_gap(lower, upper) == gap
