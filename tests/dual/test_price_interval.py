"""How far along a line of prices a plan is certified; test_activity_planner has the rest of it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.dual.price_interval import _Line
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration


class Certain(_Line):
    """A line on which bounds are certain up to a price, and it is remembered where they were asked for."""

    def __init__(self, quick: float, dear: bool = False) -> None:
        self._quick, self._dear = quick, dear
        self.asked: list[tuple[float, float, bool]] = []

    def _bound(self, primary: float, secondary: float, quickly: bool) -> float:
        self.asked.append((primary, secondary, quickly))
        certain = secondary <= self._quick if quickly else self._dear
        return 100.0 if certain else -inf

    def _far(self, price: float) -> float:
        return 9.0


@pytest.mark.parametrize(("quick", "reached"), [(5.0, 5.0), (4.9, 2.0), (1.9, 1.25)])
def test_where_the_end_is_not_certain_a_part_of_the_way_is(quick: float, reached: float) -> None:
    assert Certain(quick).furthest(1.0, 5.0, 3.0) == (reached, 100.0)


def test_a_dear_bound_is_the_last_resort() -> None:
    line = Certain(1.0, dear=True)
    assert line.furthest(1.0, 5.0, 3.0) == (5.0, 100.0)
    assert line.asked == [(1.0, 5.0, True), (1.0, 2.0, True), (1.0, 1.25, True), (1.0, 5.0, False)]
    assert Certain(1.0).furthest(1.0, 5.0, 3.0) == (1.0, 3.0)


def test_without_an_end_a_far_price_is_tried_and_then_the_use_alone() -> None:
    assert Certain(9.0).furthest(1.0, inf, 3.0) == (9.0, 100.0)
    line = Certain(1.0, dear=True)
    assert line.furthest(1.0, inf, 3.0) == (inf, 100.0)
    assert line.asked[-1] == (0.0, 1.0, False)


@pytest.mark.parametrize(("cost", "use"), [(1.0, 1000.0), (1000.0, 1.0)])
def test_a_bound_is_measured_by_what_the_plan_costs_and_uses(cost: float, use: float) -> None:
    way = CSSPBuilder(cost_names=("time", "damage"))
    way.add_action(way.add_state("here"), "only", to=way.add_goal("out"), costs=(cost, use))
    balance = Balance(way.build())
    line = _Line(balance, PolicyIteration(balance).minimise(np.array([1.0, 0.0])), 1, None)
    for quickly in (True, False):
        assert line._bound(1.0, 0.0, quickly) == pytest.approx(cost)
        assert line._bound(0.0, 1.0, quickly) == pytest.approx(use)
        assert line._bound(1.0, 2.0, quickly) == pytest.approx(cost + 2.0 * use)
