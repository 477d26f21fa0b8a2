from __future__ import annotations

import itertools
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from brute_force_procedures import AllPolicies, brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxIterations
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.contract.solver import Memory
from hcssp.cssp.builder import CSSPBuilder
from hcssp.deadline import OutOfTime
from hcssp.errors import InvalidProblem
from hcssp.procedure import HCSSP
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import CurvePoint, Tangent, _tangent, trade_off
from hcssp.ssp.policy_iteration import PolicyIteration
from known_optima import roads
from random_procedures import random_procedure
from small_procedures import forking, retrying
from volume import some


def only_damage(problem: HCSSP) -> HCSSP:
    """The problem with no bound but on its first constraint."""
    return problem.with_bounds({each.name: inf for each in problem.constraints[1:]})


def lower_hull(everything: AllPolicies) -> np.ndarray:
    """The corners of the stochastic curve, by a library that knows nothing of policies: bounds and values."""
    points = everything.costs[:, [1, 0]]
    least, most = points[:, 0].min(), points[:, 0].max()
    top = points[:, 1].max() + 1.0
    hull = ConvexHull(
        np.vstack([points, [[least, top], [most + 1.0, top], [most + 1.0, points[:, 1].min()]]])
    )
    corners = hull.points[hull.vertices]
    corners = corners[np.lexsort((corners[:, 1], corners[:, 0]))]
    # From the least use of the budget down to the least cost, and no further.
    kept = [corners[0]]
    for corner in corners[1:]:
        if corner[1] < kept[-1][1] - 1e-9:
            if corner[0] <= kept[-1][0] + 1e-9:
                del kept[-1]
            kept.append(corner)
    return np.array(kept)


@pytest.mark.parametrize("several_exits", [False, True])
@pytest.mark.parametrize("seed", some(range(8)))
def test_the_curve_is_the_hull_of_all_policies(seed: int, several_exits: bool) -> None:
    problem = only_damage(random_procedure(seed, cycles=True, several_exits=several_exits))
    name = problem.constraints[0].name
    everything = brute_force(problem)
    hull = lower_hull(everything)
    least, most = hull[0, 0], hull[-1, 0]
    asked = np.linspace(least, most + 0.5, 7).tolist()
    curve = trade_off(problem, name, asked, gap=0.0)
    assert curve.least == pytest.approx(least, abs=1e-7)
    for point in curve.points:
        truth = everything.optimum(np.array([point.bound, *[inf] * (problem.num_constraints - 1)]))
        if point.upper_bound == inf:
            # The least achievable value itself may be missed by rounding.
            assert point.bound == pytest.approx(least, abs=1e-7)
            continue
        assert truth is not None
        assert point.lower_bound - 1e-7 <= truth[0] <= point.upper_bound + 1e-7
        assert point.gap <= 1e-7
        assert point.stochastic == pytest.approx(np.interp(point.bound, *hull.T), abs=1e-6)
        assert point.plan.problem.bounds[0] == point.bound
        assert point.plan.evaluate().cost(name) <= point.bound + 1e-8
        assert point.plan.evaluate().costs[0] == pytest.approx(point.upper_bound)
        assert point.stochastic <= point.lower_bound + 1e-9
    inside = hull[(hull[:, 0] > curve.breakpoints[0, 0] + 1e-6) & (hull[:, 0] < asked[-1])]
    found = curve.breakpoints[:, 0]
    for corner in inside:
        assert np.abs(found - corner[0]).min() < 1e-5
    assert np.all(np.diff(curve.prices) <= 1e-6)
    assert np.all(np.diff(curve.breakpoints[:, 1]) <= 1e-9)


def test_prices_are_the_slope_to_the_right() -> None:
    curve = trade_off(small_building(), "damage", [2.0, 3.0, 4.0, 50.0], gap=1e-6)
    for point in curve.points[:-1]:
        later = np.interp(point.bound + 1e-4, *curve.breakpoints.T)
        assert point.price == pytest.approx((point.stochastic - later) / 1e-4, rel=1e-3)
    assert curve.points[-1].price == 0.0


def test_points_help_each_other() -> None:
    curve = trade_off(small_building(), "damage", np.linspace(0.0, 8.0, 9).tolist(), gap=0.5)
    uppers = [point.upper_bound for point in curve.points]
    lowers = [point.lower_bound for point in curve.points]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers, reverse=True)
    assert all(point.gap <= 0.5 for point in curve.points)


def test_a_bound_that_nothing_keeps_has_no_price() -> None:
    told: list[CurvePoint] = []
    curve = trade_off(small_building(), "damage", [-1.0, 2.0], on_point=told.append)
    assert [point.bound for point in told] == [-1.0, 2.0]
    first = curve.points[0]
    assert (first.stochastic, first.price, first.lower_bound, first.plan.found) == (inf, None, inf, False)
    assert first.plan.status is Status.INFEASIBLE
    assert first.plan.ending.reason is Reason.INFEASIBLE
    assert first.plan.message == (
        "no policy keeps the bound on 'damage': the least achievable damage is 0, above the bound -1; "
        "raise the bound"
    )
    assert len(trade_off(small_building(), "damage", [-2.0, -1.0]).breakpoints) == 0


def test_out_of_time_there_is_still_an_interval() -> None:
    curve = trade_off(small_building(), "damage", [1.0, 2.0, 3.0], gap=0.0, time_limit=0.0)
    for point in curve.points:
        assert point.stochastic - 1e-9 <= point.lower_bound <= point.upper_bound


def test_other_bounds_stay() -> None:
    problem = retrying().with_bounds({"damage-at-last": 0.5})
    (point,) = trade_off(problem, "damage", [100.0], gap=0.0).points
    everything = brute_force(problem)
    truth = everything.optimum(np.array([100.0, 0.5]))
    assert truth is not None
    assert point.upper_bound == pytest.approx(truth[0])


@pytest.mark.parametrize(
    ("constraint", "points", "message"),
    [
        ("smoke", [1.0], "there is no constraint 'smoke'; the constraints are 'damage'"),
        ("damage", [], "give at least one, and only finite numbers"),
        ("damage", [1.0, inf], "give at least one, and only finite numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(constraint: str, points: list[float], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        trade_off(forking(), constraint, points)


def test_the_curve_begins_where_the_bounds_can_be_kept_together() -> None:
    plan = CSSPBuilder(cost_names=("time", "smoke", "battery"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "clear", to=out, costs={"time": 3, "battery": 2})
    plan.add_action(here, "short", to=out, costs={"time": 1, "smoke": 2})
    plan.add_action(here, "middle", to=out, costs={"time": 2, "smoke": 1, "battery": 1})
    plan.set_bound("battery", at_most=1)
    plan.set_bound("smoke", at_most=2)
    curve = trade_off(plan.build(), "smoke", [0, 1, 2])
    assert curve.least == pytest.approx(0.0, abs=1e-9)
    assert [point.upper_bound for point in curve.points] == [inf, pytest.approx(2.0), pytest.approx(1.0)]
    assert curve.breakpoints == pytest.approx(np.array([[1.0, 2.0], [2.0, 1.0]]), abs=1e-6)


def test_every_point_is_a_plan_under_its_bound() -> None:
    curve = trade_off(small_building(), "damage", [2.0, 4.0], gap=1e-6)
    for point in curve.points:
        fresh = solve(small_building(bound=point.bound))
        assert point.plan.problem == fresh.problem
        assert point.plan.name == "small-building"
        assert point.upper_bound == pytest.approx(fresh.upper_bound, rel=1e-5)
        assert point.plan.prices == {"damage": point.price}
        assert point.gap == point.plan.gap
    assert curve.problem == small_building()


def test_a_memory_is_shared_with_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = solve(small_building(bound=2.0))
    planned = 0
    plan_anew = PolicyIteration.minimise

    def counted(*arguments: object, **options: object) -> object:
        nonlocal planned
        planned += 1
        return plan_anew(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PolicyIteration, "minimise", counted)
    with_memory = trade_off(small_building(), "damage", [2.0], gap=1e-6, memory=plan.memory)
    shared, planned = planned, 0
    alone = trade_off(small_building(), "damage", [2.0], gap=1e-6)
    assert shared < planned
    assert with_memory.points[0].upper_bound == pytest.approx(alone.points[0].upper_bound)
    assert with_memory.points[0].plan.memory is plan.memory


def test_the_points_as_a_table() -> None:
    curve = trade_off(small_building(), "damage", [-1.0, 2.0], gap=1e-6)
    frame = curve.to_frame()
    assert frame.index.name == "damage"
    assert list(frame.index) == [-1.0, 2.0]
    assert list(frame.columns) == ["lower_bound", "upper_bound", "stochastic", "price"]
    assert frame.loc[2.0, "upper_bound"] == curve.points[1].upper_bound
    assert frame.loc[-1.0, "upper_bound"] == inf


def test_every_point_gets_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def noted(problem: object, *, gap: float, time_limit: float, start: Plan | None, memory: Memory) -> Plan:
        given.append(time_limit)
        plan = solve(problem, start=start, memory=memory, stop=MaxIterations(0))  # type: ignore[arg-type]
        return replace(plan, ending=Ending(Reason.TIME_LIMIT))

    clock = 100.0
    monkeypatch.setattr("hcssp.solving.trade_off.solve", noted)
    monkeypatch.setattr("hcssp.solving.trade_off.time.perf_counter", lambda: clock)
    trade_off(roads(damage=4.0), "damage", [1.0, 2.0, 4.0], gap=0.0, time_limit=12.0)
    # No time passes here: half of it for the first plan, half and all of it for the other points; then once
    # more, for what is open.
    assert given == [6.0, 6.0, 12.0, 4.0, 6.0, 12.0]


@pytest.mark.parametrize("tangents", range(4))
def test_a_curve_that_is_cut_off_claims_nothing_false(tangents: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time runs out within the first tangents: what can be kept under a bound is unknown then."""
    whole = trade_off(small_building(), "damage", [0.0, 1.0, 2.0], gap=0.0)
    made = itertools.count()

    def tangent(*given: Any) -> Tangent | None:
        if next(made) >= tangents:
            raise OutOfTime
        return _tangent(*given)

    monkeypatch.setattr("hcssp.solving.trade_off._tangent", tangent)
    curve = trade_off(small_building(), "damage", [0.0, 1.0, 2.0], gap=0.0, time_limit=3600.0)
    assert not curve.exact
    assert len(curve.breakpoints) == 0
    for early, late in zip(curve.points, whole.points, strict=True):
        assert early.stochastic <= late.stochastic + 1e-9
        assert early.plan.status is late.plan.status
        assert early.upper_bound == pytest.approx(late.upper_bound)


def test_a_point_without_time_has_the_plan_of_the_points_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluation of a plan may take what was left for all other points."""
    clock = [100.0]
    monkeypatch.setattr("hcssp.solving.trade_off.time.perf_counter", lambda: clock[0])

    def slow(problem: Any, **options: Any) -> Plan:
        clock[0] += 3600.0
        return solve(problem, **options | {"time_limit": None})

    monkeypatch.setattr("hcssp.solving.trade_off.solve", slow)
    first, second = trade_off(small_building(), "damage", [1.0, 2.0], gap=0.0, time_limit=3600.0).points
    assert second.plan.ending.reason is Reason.TIME_LIMIT
    assert second.upper_bound == first.upper_bound
    assert second.plan.keeps_bounds()
    assert second.lower_bound <= trade_off(small_building(), "damage", [2.0], gap=0.0).points[0].upper_bound


def test_without_time_the_curve_is_left_out_rather_than_told_wrong() -> None:
    curve = trade_off(small_building(), "damage", [1.0, 2.0, 3.0], gap=0.0, time_limit=0.0)
    whole = trade_off(small_building(), "damage", [1.0, 2.0, 3.0], gap=0.1)
    assert len(curve.breakpoints) == 0
    assert not curve.exact
    for early, late in zip(curve.points, whole.points, strict=True):
        # What the tangents that were found prove still holds.
        assert early.lower_bound <= late.upper_bound
        assert early.stochastic <= late.stochastic + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_the_randomised_optimum_is_told_where_only_deterministic_plans_fail(seed: int) -> None:
    generator = np.random.default_rng(seed)
    costs = generator.integers(0, 6, (4, 3)).astype(float)
    plan = CSSPBuilder(cost_names=("time", "damage", "noise"), bounds={"damage": 1.5})
    here, out = plan.add_state("here"), plan.add_goal("out")
    for number, action in enumerate(costs.tolist()):
        plan.add_action(here, f"a{number}", to=out, costs=tuple(action))
    plan.set_initial(here)
    curve = trade_off(plan.build(), "noise", points=[0.25, 0.75, 1.5, 2.5, 4.0])
    for point in curve.points:
        bounds = [1.5, point.bound]
        truth = linprog(costs[:, 0], A_ub=costs[:, 1:].T, b_ub=bounds, A_eq=np.ones((1, 4)), b_eq=[1.0])
        assert point.stochastic == (pytest.approx(truth.fun, abs=1e-7) if truth.success else inf)
        kept = costs[np.all(costs[:, 1:] <= bounds, axis=1), 0]
        assert point.upper_bound == pytest.approx(kept.min()) if len(kept) else inf
