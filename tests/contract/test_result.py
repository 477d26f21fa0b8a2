from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import inf

import pytest

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Status
from hcssp.errors import NoSolution


def test_by_default_a_result_claims_nothing() -> None:
    result = Result()
    assert result.status is Status.UNKNOWN
    assert (result.lower_bound, result.upper_bound, result.gap) == (-inf, inf, inf)
    assert result.ending.reason == "not started"
    assert result.trace == ()
    assert result.prices is result.evaluation is result.stochastic is result.infeasibility is None


def test_so_does_a_progress() -> None:
    progress = Progress()
    assert (progress.lower_bound, progress.upper_bound, progress.gap) == (-inf, inf, inf)
    assert progress.incumbent is progress.prices is progress.ending is progress.infeasibility is None


def test_a_missing_policy_is_an_error_that_says_why() -> None:
    with pytest.raises(NoSolution, match=r"^no policy was found \(not started\)$"):
        _ = Result().policy
    with pytest.raises(NoSolution, match=r"^the bound is too tight$"):
        _ = Result(message="the bound is too tight").policy


def test_a_policy_is_handed_out() -> None:
    assert Result(found_policy="walk").policy == "walk"


def test_the_gap_is_relative_to_the_upper_bound() -> None:
    assert Result(lower_bound=3.0, upper_bound=4.0).gap == 0.25


def test_neither_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Result().lower_bound = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Progress().lower_bound = 3.0  # type: ignore[misc]


def test_a_status_reads_as_a_word() -> None:
    assert [str(status) for status in Status] == ["optimal", "feasible", "infeasible", "unknown"]
