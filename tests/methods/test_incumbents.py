from __future__ import annotations

import time
from math import inf

import numpy as np
import pytest

from hcssp import Anytime, BudgetAllocation, PolicyBranching, Status, solve
from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.contract.solver import Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.ascent import Infeasibility
from hcssp.methods.best_first import BestFirst
from hcssp.methods.incumbents import Reporter, is_doubtful
from hcssp.numerics import tolerated
from menus import Dish, Menu


class CountingMenu(Menu):
    """Counts how often a policy is written out."""

    num_lifted = 0

    def lift(self, point: Dish) -> IntArray:
        self.num_lifted += 1
        return np.append(super().lift(point), NO_ROW)


def reporting(known_cost: float = inf) -> tuple[CountingMenu, BestFirst[None, Dish], Reporter[Dish]]:
    menu = CountingMenu([(10.0, 0.0), (6.0, 2.0), (4.0, 6.0)], [4.0])
    search: BestFirst[None, Dish] = BestFirst(upper_bound=known_cost)
    return menu, search, Reporter(one_state(), menu, search, time.perf_counter())


def one_state() -> CSSP:
    """A problem that the lines of the menu are policies of."""
    plan = CSSPBuilder(cost_names=("price", "calories"), bounds={"calories": 4.0})
    hungry, full = plan.add_state("hungry"), plan.add_goal("full")
    for name in ("soup", "salad", "cake"):
        plan.add_action(hungry, name, to=full)
    return plan.build()


def dish(menu: Menu, row: int) -> Dish:
    return Dish(menu.table[row], row)


def test_only_what_keeps_the_bounds_and_is_better_becomes_the_incumbent() -> None:
    menu, search, reporter = reporting()
    for row, cost in ((2, inf), (0, 10.0), (1, 6.0), (0, 6.0)):
        reporter.offer(dish(menu, row))
        assert search.upper_bound == cost


def test_a_policy_of_others_is_taken_only_if_it_is_better_and_keeps_the_bounds() -> None:
    plan = CSSPBuilder(cost_names=("price", "calories"), bounds={"calories": 4.0})
    hungry, full = plan.add_state("hungry"), plan.add_goal("full")
    for name, price, calories in (("soup", 10.0, 0.0), ("salad", 6.0, 2.0), ("cake", 4.0, 6.0)):
        plan.add_action(hungry, name, to=full, costs={"price": price, "calories": calories})
    menu = CountingMenu([(10.0, 0.0), (6.0, 2.0), (4.0, 6.0)], [4.0])
    search: BestFirst[None, Dish] = BestFirst(upper_bound=inf)
    reporter = Reporter(plan.build(), menu, search, time.perf_counter())
    for row, taken, cost in ((2, False, inf), (1, True, 6.0), (0, False, 6.0), (1, False, 6.0)):
        assert reporter.offer_policy(np.array([row, NO_ROW])) is taken
        assert search.upper_bound == cost
    incumbent = reporter.snapshot(1.0).incumbent
    assert incumbent is not None
    assert incumbent.rows.tolist() == [1, NO_ROW]


def test_a_policy_is_written_out_once_however_often_it_is_told() -> None:
    menu, _, reporter = reporting()
    assert reporter.snapshot(1.0).incumbent is None
    reporter.offer(dish(menu, 0))
    for _ in range(3):
        step = reporter.snapshot(1.0)
        assert step.incumbent is not None
        assert step.incumbent.rows.tolist() == [0, NO_ROW]
    assert menu.num_lifted == 1
    reporter.offer(dish(menu, 1))
    step = reporter.snapshot(1.0)
    assert step.incumbent is not None
    assert (step.incumbent.rows.tolist(), step.upper_bound, menu.num_lifted) == ([1, NO_ROW], 6.0, 2)


def test_a_cost_known_beforehand_is_no_incumbent_but_limits_the_lower_bound() -> None:
    menu, _, reporter = reporting(known_cost=7.0)
    step = reporter.snapshot(9.0)
    # The cost that was known is rounded, so a little less than it is proven.
    assert step.lower_bound == pytest.approx(7.0, rel=1e-11)
    assert step.lower_bound < 7.0
    assert (step.upper_bound, step.incumbent) == (inf, None)
    reporter.offer(dish(menu, 0))
    assert reporter.snapshot(1.0).incumbent is None
    reporter.offer(dish(menu, 1))
    assert reporter.snapshot(1.0).upper_bound == 6.0


def test_a_snapshot_says_what_the_search_has_told() -> None:
    _, _, reporter = reporting()
    reporter.iterations = 5
    reporter.prices = np.array([0.5])
    proof = Infeasibility(np.ones(1), 2.0, 1.0)
    step = reporter.snapshot(3.0, Reason.INFEASIBLE, Infeasible(proof))
    assert (step.iterations, step.lower_bound, step.ending) == (5, 3.0, Ending(Reason.INFEASIBLE))
    assert step.prices == pytest.approx([0.5])
    assert step.infeasible == Infeasible(proof)
    assert step.seconds >= 0.0
    # It stays as it is when the search goes on.
    reporter.iterations = 6
    assert step.iterations == 5


class DoubtfulDish(Dish):
    """One whose costs may be anything."""

    @property
    def rounding(self) -> FloatArray:
        return np.full(len(self.costs), inf)


def test_open_nodes_are_those_of_the_search_unless_others_have_some() -> None:
    _, search, reporter = reporting()
    assert reporter.snapshot(1.0).open_nodes == 0
    for bound in (1.0, 2.0):
        search.push(bound, None)
    assert reporter.snapshot(1.0).open_nodes == 2
    reporter.open_nodes = 7
    assert reporter.snapshot(1.0).open_nodes == 7


def test_a_policy_that_costs_more_than_any_number_is_no_incumbent() -> None:
    plan = CSSPBuilder(cost_names=("price", "calories"), bounds={"calories": 4.0})
    hungry, full = plan.add_state("hungry"), plan.add_goal("full")
    plan.add_action(hungry, "wait", to={hungry: 1.0, full: 1e-200}, costs={"price": 1e200})
    plan.add_action(hungry, "pay", to=full, costs={"price": 9.0})
    menu = CountingMenu([(1.0, 0.0), (9.0, 0.0)], [4.0])
    search: BestFirst[None, Dish] = BestFirst()
    reporter = Reporter(plan.build(), menu, search, time.perf_counter())
    reporter.offer(DoubtfulDish(menu.table[0], 0))
    assert search.upper_bound == inf
    reporter.offer(DoubtfulDish(menu.table[1], 1))
    assert search.upper_bound == 9.0


class RoundedDish(Dish):
    """One whose costs may be off by a little."""

    def __init__(self, costs: FloatArray, row: int, rounding: list[float]) -> None:
        super().__init__(costs, row)
        self._rounding = np.array(rounding)

    @property
    def rounding(self) -> FloatArray:
        return self._rounding


@pytest.mark.parametrize(
    ("calories", "rounding", "told"),
    [
        # Far from its bound, and exact: the search is taken at its word.
        (1.0, [0.0, 0.0], 8.0),
        (1.0, [1e-15, 0.5], 8.0),
        # It may cost anything, or lie beyond its bound: it does, says the other evaluation.
        (1.0, [1.0, 0.0], inf),
        (4.0, [0.0, 1e-6], inf),
    ],
)
def test_what_rounding_may_hide_is_evaluated_anew(
    calories: float, rounding: list[float], told: float
) -> None:
    plan = CSSPBuilder(cost_names=("price", "calories"), bounds={"calories": 4.0})
    hungry, full = plan.add_state("hungry"), plan.add_goal("full")
    plan.add_action(hungry, "cake", to=full, costs=(8.0, 5.0))
    menu = CountingMenu([(8.0, calories)], [4.0])
    search: BestFirst[None, Dish] = BestFirst()
    reporter = Reporter(plan.build(), menu, search, time.perf_counter())
    reporter.offer(RoundedDish(menu.table[0], 0, rounding))
    assert search.upper_bound == told


def test_only_what_may_be_better_is_evaluated_at_all() -> None:
    menu, search, reporter = reporting(known_cost=5.0)
    reporter.offer(DoubtfulDish(menu.table[0], 0))
    assert (menu.num_lifted, search.incumbent) == (0, None)


def test_time_is_counted_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    menu, search, _ = reporting()
    monkeypatch.setattr("hcssp.methods.incumbents.time.perf_counter", lambda: 107.5)
    assert Reporter(one_state(), menu, search, began=100.0).snapshot(1.0).seconds == 7.5


def test_a_policy_of_others_that_does_not_end_is_not_taken() -> None:
    plan = CSSPBuilder(cost_names=("price", "calories"), bounds={"calories": 4.0})
    hungry, full = plan.add_state("hungry"), plan.add_goal("full")
    plan.add_action(hungry, "wait", to=hungry, costs={"price": 1.0})
    plan.add_action(hungry, "salad", to=full, costs={"price": 6.0, "calories": 2.0})
    search: BestFirst[None, Dish] = BestFirst()
    reporter = Reporter(plan.build(), CountingMenu([(6.0, 2.0)], [4.0]), search, time.perf_counter())
    assert reporter.offer_policy(np.array([0, NO_ROW])) is False
    assert search.incumbent is None
    assert reporter.offer_policy(np.array([1, NO_ROW])) is True


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
        point = Doubtful(menu.table[0], 0, np.array([0.0, rounding]))
        assert is_doubtful(point, menu.bounds) is doubtful


def two_ways() -> CSSP:
    """One way costs noise, the other fuel, and both some damage."""
    made = CSSPBuilder(cost_names=("time", "damage", "noise", "fuel"))
    here, there = made.add_state("here"), made.add_goal("there")
    for name in ("noise", "fuel"):
        made.add_action(
            here, name, to={there: 0.5, here: 0.5}, costs={"time": 1.0, "damage": 0.25, name: 2.0}
        )
    made.set_initial(here)
    return made.build()


@pytest.mark.parametrize("solver", [PolicyBranching(), Anytime(), BudgetAllocation()])
def test_under_a_bound_of_0_the_least_is_told(solver: Solver) -> None:
    problem = two_ways().procedure if isinstance(solver, BudgetAllocation) else two_ways()
    plan = solve(problem.with_bounds(damage=0.0), solver)
    assert plan.status is Status.INFEASIBLE
    assert plan.message == (
        "no policy keeps the bound on 'damage': the least achievable damage is 0.5, above the bound 0; "
        "raise the bound"
    )


def test_what_is_impossible_only_beside_a_bound_of_0_is_told_with_it() -> None:
    # Without noise there is only the way that costs fuel; fuel by itself can be spared.
    plan = solve(two_ways().with_bounds(noise=0.0, fuel=1.0))
    assert "with noise at most 0 no plan has an expected fuel below 4" in plan.message


def test_bounds_of_0_that_exclude_each_other() -> None:
    plan = solve(two_ways().with_bounds(noise=0.0, fuel=0.0))
    assert plan.status is Status.INFEASIBLE
    assert "proved by search" in plan.message
