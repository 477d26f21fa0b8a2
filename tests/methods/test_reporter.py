from __future__ import annotations

import time
from math import inf

import numpy as np
import pytest

from hcssp.cssp.model import IntArray
from hcssp.dual.ascent import Infeasibility
from hcssp.methods.best_first import BestFirst
from hcssp.methods.reporter import Reporter
from menus import Dish, Menu


class CountingMenu(Menu):
    """Counts how often a policy is written out."""

    num_lifted = 0

    def lift(self, vertex: Dish) -> IntArray:
        self.num_lifted += 1
        return super().lift(vertex)


def reporting(known_cost: float = inf) -> tuple[CountingMenu, BestFirst[None, Dish], Reporter[Dish]]:
    menu = CountingMenu([(10.0, 0.0), (6.0, 2.0), (4.0, 6.0)], [4.0])
    search: BestFirst[None, Dish] = BestFirst(upper_bound=known_cost)
    return menu, search, Reporter(menu, search, time.perf_counter())


def dish(menu: Menu, row: int) -> Dish:
    return Dish(menu.table[row], row)


def test_only_what_keeps_the_bounds_and_is_better_becomes_the_incumbent() -> None:
    menu, search, reporter = reporting()
    for row, cost in ((2, inf), (0, 10.0), (1, 6.0), (0, 6.0)):
        reporter.offer(dish(menu, row))
        assert search.upper_bound == cost


def test_a_policy_is_written_out_once_however_often_it_is_told() -> None:
    menu, _, reporter = reporting()
    assert reporter.snapshot(1.0).incumbent is None
    reporter.offer(dish(menu, 0))
    for _ in range(3):
        step = reporter.snapshot(1.0)
        assert step.incumbent is not None
        assert step.incumbent.tolist() == [0]
    assert menu.num_lifted == 1
    reporter.offer(dish(menu, 1))
    step = reporter.snapshot(1.0)
    assert step.incumbent is not None
    assert (step.incumbent.tolist(), step.upper_bound, menu.num_lifted) == ([1], 6.0, 2)


def test_a_cost_known_beforehand_is_no_incumbent_but_limits_the_lower_bound() -> None:
    menu, _, reporter = reporting(known_cost=7.0)
    step = reporter.snapshot(9.0)
    assert (step.lower_bound, step.upper_bound, step.incumbent) == (7.0, inf, None)
    reporter.offer(dish(menu, 0))
    assert reporter.snapshot(1.0).incumbent is None
    reporter.offer(dish(menu, 1))
    assert reporter.snapshot(1.0).upper_bound == 6.0


def test_a_snapshot_says_what_the_search_has_told() -> None:
    _, _, reporter = reporting()
    reporter.iterations = 5
    reporter.prices = np.array([0.5])
    proof = Infeasibility(np.ones(1), 2.0, 1.0)
    step = reporter.snapshot(3.0, "infeasible", proof)
    assert (step.iterations, step.lower_bound, step.finished) == (5, 3.0, "infeasible")
    assert step.prices == pytest.approx([0.5])
    assert step.infeasibility is proof
    assert step.seconds >= 0.0
    # It stays as it is when the search goes on.
    reporter.iterations = 6
    assert step.iterations == 5
