from __future__ import annotations

from math import inf

import pytest

from hcssp.dual.precision import COARSE_PRECISION, DUAL_TOLERANCE, PRECISION_SHARE, STEP_SHARE, Precision


def test_a_search_begins_with_what_is_known_and_can_begin_anew() -> None:
    precision = Precision()
    assert precision.is_lookup
    precision.coarsen()
    assert precision.value == COARSE_PRECISION
    assert not precision.is_lookup
    precision.look_up()
    assert precision.is_lookup


@pytest.mark.parametrize(
    ("missing", "asked"),
    [(inf, COARSE_PRECISION), (1.0, COARSE_PRECISION), (1e-4, STEP_SHARE * 1e-4), (0.0, DUAL_TOLERANCE)],
)
def test_a_step_is_as_precise_as_what_is_missing_asks_for(missing: float, asked: float) -> None:
    precision = Precision()
    precision.coarsen(missing)
    assert precision.value == pytest.approx(asked)


@pytest.mark.parametrize(
    ("before", "gap", "after"),
    [
        (inf, inf, PRECISION_SHARE),
        (inf, 0.1, PRECISION_SHARE * 0.1),
        (1e-3, 0.1, PRECISION_SHARE * 1e-3),
        (1e-3, 1e-5, PRECISION_SHARE * 1e-5),
        (1e-3, DUAL_TOLERANCE, 0.0),
        (0.0, 0.1, 0.0),
    ],
)
def test_refining_follows_the_gap_and_never_goes_back(before: float, gap: float, after: float) -> None:
    precision = Precision()
    precision.value = before
    precision.refine(gap)
    assert precision.value == pytest.approx(after)
    assert precision.is_exact == (after == 0.0)


def test_refining_alone_ends_with_an_exact_answer() -> None:
    precision = Precision()
    asked = []
    while not precision.is_exact:
        precision.refine()
        asked.append(precision.value)
    assert len(asked) < 10
    assert asked == sorted(asked, reverse=True)
