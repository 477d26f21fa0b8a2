from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.model import FloatArray
from hcssp.methods.careful_costs import is_doubtful
from hcssp.numerics import tolerated
from menus import Dish, Menu


class Doubtful(Dish):
    """A dish of which it is not known what it costs to the last digit."""

    def __init__(self, costs: FloatArray, row: int, rounding: FloatArray) -> None:
        super().__init__(costs, row)
        self._rounding = rounding

    @property
    def rounding(self) -> FloatArray:
        return self._rounding


@pytest.mark.parametrize(
    ("calories", "rounding", "doubtful"),
    [
        ((2.0, 1.0), (0.0, 0.0, 0.0), False),
        # The cost itself, to more than what is always off.
        ((2.0, 1.0), (7e-12, 0.0, 0.0), True),
        ((2.0, 1.0), (5e-12, 0.0, 0.0), False),
        # One of the bounds is close enough, whichever.
        ((4.0, 1.0), (0.0, 1e-8, 1e-8), True),
        ((2.0, 3.0), (0.0, 1e-8, 1e-8), True),
        ((4.0, 3.0), (0.0, 1e-10, 1e-10), False),
        ((2.0, 1.0), (0.0, 1.9, 1.9), False),
        ((2.0, 1.0), (0.0, 2.1, 1.9), True),
    ],
)
def test_a_policy_is_doubtful_if_rounding_may_hide_its_cost_or_its_side_of_a_bound(
    calories: tuple[float, float], rounding: tuple[float, float, float], doubtful: bool
) -> None:
    menu = Menu([(6.0, *calories)], [4.0, 3.0])
    assert is_doubtful(Doubtful(menu.table[0], 0, np.array(rounding)), menu.bounds) is doubtful


def test_what_is_just_as_far_from_a_bound_as_rounding_may_hide_is_doubtful() -> None:
    menu = Menu([(6.0, 2.0)], [4.0])
    distance = float(np.abs(menu.table[0, 1] - tolerated(menu.bounds))[0])
    for rounding, doubtful in ((distance, True), (float(np.nextafter(distance, 0.0)), False)):
        vertex = Doubtful(menu.table[0], 0, np.array([0.0, rounding]))
        assert is_doubtful(vertex, menu.bounds) is doubtful
