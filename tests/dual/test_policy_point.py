"""What is true of every policy that tells its rows and its visits, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.oracle import CLEARLY_VISITED, PolicyPoint
from hcssp.ssp.scalar_problem import Region

ROW_STATE = np.repeat(np.arange(4), 2)


class Walk(PolicyPoint):
    """A policy of four states with two rows each, of which it goes to some, clearly or hardly ever."""

    costs = np.ones(2)

    def __init__(self, rows: list[int], visits: list[float]) -> None:
        self._rows, self._visits = np.array(rows), np.array(visits)

    @property
    def rows(self) -> IntArray:
        return self._rows

    @property
    def visits(self) -> FloatArray:
        return self._visits


WALK = Walk([0, 3, 4, 7], [1.0, 0.25, 0.001 * CLEARLY_VISITED, 0.0])


def test_it_goes_where_it_has_visits_however_few() -> None:
    assert WALK.reached.tolist() == [True, True, True, False]
    assert [WALK.goes_to(state) for state in range(4)] == [True, True, True, False]
    assert WALK.visits_of(np.array([3, 1])).tolist() == [0.0, 0.25]
    assert WALK.rows_of(np.array([3, 1])).tolist() == [7, 3]


@pytest.mark.parametrize(
    ("forbidden", "inside"), [([], True), ([1, 2, 5], True), ([7], True), ([4], False), ([0, 7], False)]
)
def test_it_lies_where_it_takes_no_forbidden_row_on_its_way(forbidden: list[int], inside: bool) -> None:
    assert WALK.lies_in(Region().forbid(forbidden), ROW_STATE) == inside


def test_it_parts_from_others_where_rows_differ_whoever_goes_there() -> None:
    other = Walk([0, 2, 4, 6], [1.0, 0.0, 0.0, 0.0])
    assert WALK.parting(other).tolist() == [1, 3]
    assert WALK.parting_choices(other).tolist() == []
    assert WALK.switching_costs(np.array([0]), np.array([1])) is None
