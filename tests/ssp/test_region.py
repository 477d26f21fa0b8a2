from __future__ import annotations

import numpy as np

from hcssp.ssp.scalar_problem import Region

ROW_START = np.array([0, 3, 4, 6])
ROW_STATE = np.array([0, 0, 0, 1, 2, 2])


def test_forbidding_twice_is_forbidding_both_in_any_order() -> None:
    assert Region().forbid([1]).forbid([4, 5]) == Region().forbid([5, 1, 4])
    assert hash(Region().forbid([1]).forbid([4])) == hash(Region().forbid([4]).forbid([1]))


def test_forcing_a_row_forbids_its_siblings_and_nothing_else() -> None:
    assert Region().force(1, ROW_START, ROW_STATE).forbidden == {0, 2}
    assert Region().forbid([5]).force(3, ROW_START, ROW_STATE).forbidden == {5}


def test_forcing_and_forbidding_a_row_share_no_policy_and_lose_none() -> None:
    forced = Region().force(4, ROW_START, ROW_STATE)
    rest = Region().forbid([4])
    for first in (0, 1, 2):
        for last in (4, 5):
            rows = np.array([first, 3, last])
            assert forced.allowed(6)[rows].all() != rest.allowed(6)[rows].all()


def test_a_region_as_a_mask() -> None:
    assert Region().allowed(3).tolist() == [True] * 3
    mask = Region(frozenset({0, 2})).allowed(4)
    assert mask.tolist() == [False, True, False, True]


def test_numpy_integers_are_plain_ones() -> None:
    assert Region().forbid(np.array([2, 3])) == Region(frozenset({2, 3}))
