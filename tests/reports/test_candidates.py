from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap
from hcssp.cssp.builder import CSSPBuilder
from hcssp.errors import UnknownName
from hcssp.evaluation.exact import evaluate
from hcssp.files.plan_file import load_plan
from hcssp.reports.page_data import (
    along_curve,
    curve_bounds,
    draw_curve,
    spaced,
    varied_constraints,
)
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import CurvePoint
from small_procedures import retrying
from solved_building import solved_building


@pytest.mark.parametrize(
    ("least", "own", "most", "count"),
    [(0.0, 2.0, 100.0, 11), (0.37, 2.0, 3.0, 9), (1.0, 1.0, 1.0, 5), (0.0, 0.0, 7.0, 6), (2.0, 9.0, 4.0, 5)],
)
def test_the_own_bound_is_among_the_points_and_all_can_be_kept(
    least: float, own: float, most: float, count: int
) -> None:
    points = spaced(least, own, most, count)
    assert own in points
    assert points == sorted(set(points))
    assert min(points) >= least
    assert len(points) <= count + 1


def test_a_rounding_error_is_nothing() -> None:
    assert spaced(7e-21, 2.0, 10.0, 5)[0] == 0.0


def test_without_a_bound_the_points_cover_everything() -> None:
    assert spaced(0.0, inf, 8.0, 5) == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_the_scarcest_constraint_is_varied_unless_another_is_asked_for() -> None:
    prices = {"damage": 0.0, "damage-at-last": 3.0}
    plan = Plan(retrying(), prices=prices).as_procedure()
    # Of constraints without a bound there is enough.
    assert varied_constraints(plan)[0] == "damage"
    bounded = Plan(retrying().with_bounds({"damage-at-last": 1.0}), prices=prices).as_procedure()
    assert varied_constraints(bounded)[0] == "damage-at-last"
    assert varied_constraints(plan, "damage-at-last")[0] == "damage-at-last"
    with pytest.raises(UnknownName, match="there is no constraint 'damge'; did you mean 'damage'"):
        varied_constraints(plan, "damge")


def test_every_plan_of_the_curve_keeps_its_bound_and_costs_what_is_said() -> None:
    solved = solved_building().as_procedure()
    bounds = curve_bounds(solved, "damage", 7)
    curve = draw_curve(solved, "damage", bounds)
    plans, own = along_curve(solved, curve)
    assert plans[own].policy is solved.policy
    assert [plan.problem.constraints[0].at_most for plan in plans] == bounds
    costs = []
    for plan in plans:
        evaluation = evaluate(plan.problem, plan.policy)
        assert evaluation.keeps_bounds()
        assert evaluation.costs[0] == pytest.approx(plan.upper_bound)
        assert plan.lower_bound <= plan.upper_bound + 1e-9
        costs.append(plan.upper_bound)
    assert np.all(np.diff(costs) <= 1e-9)
    exact = solve(solved.problem.with_bounds(damage=bounds[0]), stop=Gap(1e-9))
    assert plans[0].lower_bound <= exact.upper_bound + 1e-9 <= plans[0].upper_bound + 1e-3


def test_what_is_proven_of_deterministic_plans_is_not_claimed_of_a_randomised_one(tmp_path: Path) -> None:
    """A worse randomised plan, from a file without a proof, costs less than every deterministic one."""
    problem = small_building(2.0)
    solve(small_building(1.95), policies="randomised").save(tmp_path / "plan.json")
    plan = load_plan(tmp_path / "plan.json", small_building(1.95)).under(problem).evaluated().as_procedure()
    best = solve(problem, policies="randomised").upper_bound
    assert best * 1.01 < plan.upper_bound < 0.99 * solve(problem).upper_bound
    curve = draw_curve(plan, "damage", [1.5, 2.0, 2.1])
    plans, own = along_curve(plan, curve)
    assert own == 1
    for each in plans[own:]:
        assert each.policy.is_randomised
        optimum = solve(each.problem, policies="randomised").upper_bound
        assert each.lower_bound <= optimum * (1.0 + 1e-9)
        assert each.lower_bound < 0.99 * each.upper_bound


def test_an_interrupted_curve_keeps_the_points_that_are_done() -> None:
    solved = Plan(small_building(2.0)).as_procedure()
    seen = []

    def stop(point: CurvePoint) -> None:
        seen.append(point)
        if len(seen) == 2:
            raise KeyboardInterrupt

    curve = draw_curve(solved, "damage", [0.0, 1.0, 2.0], on_point=stop)
    assert curve.points == tuple(seen)
    assert len(curve.points) == 2


def test_a_plan_without_prices_is_varied_where_the_dual_says_it_hurts() -> None:
    # Nobody needs the ten of `slack`; the half of `tight` is what makes the way long.
    way = CSSPBuilder(cost_names=("time", "slack", "tight"), bounds={"slack": 10.0, "tight": 0.5})
    start, goal = way.add_state("start"), way.add_goal("goal")
    way.add_action(start, "run", to=goal, costs={"time": 1, "slack": 1, "tight": 1})
    way.add_action(start, "walk", to=goal, costs={"time": 5, "slack": 1})
    way.set_initial(start)
    plan = replace(solve(way.build()).as_procedure(), prices=None)
    assert varied_constraints(plan) == ["tight", "slack"]
    assert varied_constraints(plan, "slack") == ["slack", "tight"]
