from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import inf

import numpy as np
import pytest

from hcssp.contract.proof import Infeasible, Interval, Status
from hcssp.dual.ascent import Infeasibility
from hcssp.numerics import OPTIMALITY_TOLERANCE


def test_by_default_an_interval_proves_nothing() -> None:
    proof = Interval()
    assert (proof.lower_bound, proof.upper_bound, proof.gap) == (-inf, inf, inf)
    assert proof.status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("lower", "upper", "status"),
    [
        (3.0, inf, Status.UNKNOWN),
        (-inf, 4.0, Status.FEASIBLE),
        (3.0, 4.0, Status.FEASIBLE),
        (4.0, 4.0, Status.OPTIMAL),
        (0.0, 0.0, Status.OPTIMAL),
        (100.0 * (1.0 - 0.9 * OPTIMALITY_TOLERANCE), 100.0, Status.OPTIMAL),
        (100.0 * (1.0 - 1.1 * OPTIMALITY_TOLERANCE), 100.0, Status.FEASIBLE),
    ],
)
def test_the_status_follows_from_the_interval(lower: float, upper: float, status: Status) -> None:
    assert Interval(lower, upper).status is status


def test_the_gap_is_relative_to_the_upper_bound() -> None:
    assert Interval(3.0, 4.0).gap == 0.25


def test_where_nothing_is_feasible_there_is_no_interval() -> None:
    proof = Infeasible()
    assert (proof.lower_bound, proof.upper_bound, proof.gap) == (inf, inf, inf)
    assert proof.status is Status.INFEASIBLE


def test_no_proof_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Interval().lower_bound = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Infeasible().weights = None  # type: ignore[misc]


def test_a_status_reads_as_a_word() -> None:
    assert [str(status) for status in Status] == ["optimal", "feasible", "infeasible", "unknown", "claimed"]


def test_a_single_offending_bound_is_explained_with_the_least_that_can_be_kept() -> None:
    proof = Infeasible(Infeasibility(np.array([0.0, 1.0]), 3.0, 2.0))
    assert proof.explain(("damage", "fuel"), (1.0, 2.0)) == (
        "no policy keeps the bound on 'fuel': the least achievable fuel is 3, above the bound 2; "
        "raise the bound"
    )
    # The proof allows for rounding; no expected cost is negative.
    below_zero = Infeasible(Infeasibility(np.array([1.0]), -1e-12, -1.0))
    assert "the least achievable damage is 0, above the bound -1" in below_zero.explain(("damage",), (-1.0,))


def test_several_offending_bounds_are_explained_together() -> None:
    proof = Infeasible(Infeasibility(np.array([0.25, 0.0, 0.75]), 3.0, 2.0))
    # With noise at 2 and fuel at 2 the weighted sum is 2, but at least 3: noise misses 4, or fuel 4/3.
    assert proof.explain(("noise", "risk", "fuel"), (2.0, 9.0, 2.0)) == (
        "no policy keeps the bounds together: with fuel at most 2 no plan has an expected noise below 6 and "
        "with noise at most 2 no plan has an expected fuel below 3.33333; raise one of them"
    )


def test_what_a_bound_of_0_has_left_out_is_told_with_it() -> None:
    proof = Infeasible(Infeasibility(np.array([0.0, 1.0]), 4.0, 2.0))
    assert proof.explain(("noise", "fuel"), (0.0, 2.0)) == (
        "no policy keeps the bounds together: with noise at most 0 no plan has an expected fuel below 4; "
        "raise one of them"
    )
    negative = Infeasible(Infeasibility(np.array([0.0, 1.0]), 4.0, -1.0))
    told = negative.explain(("noise", "fuel"), (0.0, -1.0))
    assert told.endswith("no plan has an expected fuel below 4; raise the bound on 'fuel'")
    both = Infeasible(Infeasibility(np.array([0.0, 0.5, 0.5]), 4.0, 2.0)).explain("abc", (0.0, 2.0, 2.0))
    assert "with a at most 0 and c at most 2 no plan has an expected b below 6" in both
    nothing = Infeasible(Infeasibility(np.array([0.0, 1.0]), 4.0, 0.0))
    assert "the least achievable fuel is 4, above the bound 0" in nothing.explain(
        ("noise", "fuel"), (0.0, 0.0)
    )


def test_a_complete_search_is_a_proof_without_weights() -> None:
    assert (
        Infeasible().explain(("noise",), (1.0,))
        == "no deterministic policy keeps the bounds (proved by search)"
    )
