from __future__ import annotations

import pytest

from hcssp.solving.expected_times import ExpectedTimes


def test_nothing_is_expected_before_something_is_known() -> None:
    times = ExpectedTimes((3, 4))
    assert [times.of(place) for place in range(12)] == [0.0] * 12


def test_what_is_expected_lies_between_what_was_seen_and_near_the_neighbours() -> None:
    times = ExpectedTimes((3, 5))
    times.took(0, 1.0)
    assert times.of(14) == pytest.approx(1.0)
    times.took(12, 10.0)
    expected = [times.of(place) for place in range(15)]
    assert all(1.0 < each < 10.0 for each in expected)
    # By steps along both axes, and not by their numbers: 7 is beside 12, and so is 11.
    assert expected[7] == pytest.approx(expected[11])
    assert expected[7] > expected[6] > expected[5] > expected[0]


def test_what_is_learnt_later_counts() -> None:
    times = ExpectedTimes((9,))
    times.took(0, 1.0)
    before = times.of(5)
    times.took(4, 8.0)
    assert times.of(5) > before
