"""Sweeps: every point is what a search of its own finds, and a file makes a second run short."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.contract.progress import Gap
from hcssp.contract.proof import Status
from hcssp.contract.solver import Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidOption, InvalidProblem, UnknownName
from hcssp.methods.paper import BudgetAllocation
from hcssp.procedure import HCSSP
from hcssp.reports.page import sweep_html
from hcssp.reports.plan_text import Style
from hcssp.reports.sweep_tables import sweep_in_words
from hcssp.scenarios import small_building
from hcssp.scenarios.scenario import find_scenario
from hcssp.solving.solve import solve
from hcssp.solving.sweep import Grid, Sweep, SweepPoint, sweep, sweep_file, sweep_key

sweeping = import_module("hcssp.solving.sweep")

SETTINGS = {"locked": [0.1, 0.4], "intended": [0.8, 0.9]}
BOUNDS = {"damage": [4.0, inf]}


@pytest.fixture(scope="module")
def found() -> Sweep:
    return sweep("small-building", SETTINGS, BOUNDS)


def fresh(point: SweepPoint) -> Any:
    problem = find_scenario("small-building").make(**point.settings)
    return solve(problem.with_bounds(point.bounds), stop=Gap(1e-4))


def test_every_combination_is_there_once_and_in_order(found: Sweep) -> None:
    places = [(p.settings["locked"], p.settings["intended"], p.bounds["damage"]) for p in found.points]
    assert places == [(x, y, z) for x in (0.1, 0.4) for y in (0.8, 0.9) for z in (4.0, inf)]
    assert found.primary == "time"
    assert found.constraints == ("damage",)


def test_every_point_is_what_a_search_of_its_own_finds(found: Sweep) -> None:
    for point in found.points:
        plan = fresh(point)
        assert point.lower_bound <= plan.upper_bound * (1 + 1e-9)
        assert plan.lower_bound <= point.upper_bound * (1 + 1e-9)
        assert point.gap <= 1e-4
        assert point.costs["time"] == point.upper_bound
        assert point.costs["damage"] <= point.bounds["damage"] * (1 + 1e-9)


def test_the_columns_are_equally_long_and_keep_apart_what_has_one_name(found: Sweep) -> None:
    columns = found.columns()
    assert {len(column) for column in columns.values()} == {len(found.points)}
    assert columns["bound_damage"][2] == 4.0
    assert columns["expected_damage"][2] == found.points[2].costs["damage"]
    assert columns["set_locked"][-1] == 0.4


def test_a_frame_has_the_same_columns(found: Sweep) -> None:
    pytest.importorskip("pandas", reason="pip install 'hcssp[notebook]'")
    assert list(found.to_frame()) == list(found.columns())


def shop(price: float, detour: float = 6.0) -> CSSP:
    """Without an activity: a way that is dear and one that is long."""
    way = CSSPBuilder(cost_names=("minutes", "money"), bounds={"money": 2.0})
    home, shop = way.add_state("home"), way.add_goal("shop")
    way.add_action(home, "taxi", to=shop, costs={"minutes": 1.0, "money": price})
    way.add_action(home, "walk", to=shop, costs={"minutes": detour})
    way.set_initial(home)
    return way.build()


def test_a_single_problem_is_swept_by_a_function_that_makes_it() -> None:
    points = sweep(shop, {"price": [1.0, 2.0, 3.0]}).points
    assert [point.upper_bound for point in points] == [1.0, 1.0, 6.0]
    assert all(point.status is Status.OPTIMAL for point in points)


def test_what_cannot_be_kept_is_said_and_the_rest_is_solved() -> None:
    points = sweep(shop(1.0), bounds={"money": [-1.0, 0.0, 2.0]}).points
    assert [point.status for point in points] == [Status.INFEASIBLE, Status.OPTIMAL, Status.OPTIMAL]
    assert "money" in points[0].message
    assert not points[0].found
    assert [point.upper_bound for point in points[1:]] == [6.0, 1.0]


def test_a_neighbour_of_another_shape_is_no_help_and_no_harm() -> None:
    def rooms(count: int) -> CSSP:
        way = CSSPBuilder(cost_names=("minutes", "money"))
        places = [way.add_state(number) for number in range(int(count))] + [way.add_goal("out")]
        for here, there in pairwise(places):
            way.add_action(here, "on", to=there, costs={"minutes": 1.0})
        way.set_initial(places[0])
        return way.build()

    points = sweep(rooms, {"count": [1, 2, 5]}).points
    assert [point.upper_bound for point in points] == [1.0, 2.0, 5.0]


@pytest.mark.parametrize(
    ("settings", "bounds", "error", "told"),
    [
        ({"lockd": [0.1]}, {}, UnknownName, "did you mean 'locked'"),
        ({}, {"damag": [1.0]}, UnknownName, "did you mean 'damage'"),
        ({"locked": []}, {}, InvalidProblem, "'locked' has no values"),
        ({"locked": [inf]}, {}, InvalidProblem, "'locked' is inf; give finite numbers"),
        ({}, {"damage": [float("nan")]}, InvalidProblem, "the bound on 'damage' is nan"),
        ({"locked": [0.1, 1.5]}, {}, InvalidProblem, "at locked = 1.5: the parameter 'locked' is set to 1.5"),
        ({"locked": range(10**4), "intended": range(10**4)}, {}, InvalidProblem, "100,000,000 points"),
    ],
)
def test_what_is_no_grid_is_refused(settings: Any, bounds: Any, error: type, told: str) -> None:
    with pytest.raises(error, match=told):
        sweep("small-building", settings, bounds)


def test_a_problem_that_is_made_has_no_parameters() -> None:
    with pytest.raises(InvalidProblem, match="a problem has no parameter 'price' any more"):
        sweep(shop(1.0), {"price": [1.0]})


def test_a_second_run_does_what_is_missing_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "points.jsonl"
    first = sweep("small-building", {"locked": [0.1]}, {"damage": [2.0, 3.0]}, file=path, gap=0.3)
    solved: list[SweepPoint] = []
    solve_point = sweeping._solve_point

    def counted(*arguments: Any) -> SweepPoint:
        solved.append(solve_point(*arguments))
        return solved[-1]

    monkeypatch.setattr(sweeping, "_solve_point", counted)
    again = sweep("small-building", {"locked": [0.1]}, {"damage": [2.0, 3.0]}, file=path, gap=0.3)
    assert not solved
    assert again.points == tuple(replace(point, status=Status.CLAIMED) for point in first.points)
    wider = sweep("small-building", {"locked": [0.1, 0.3]}, {"damage": [3.0]}, file=path, gap=0.3)
    assert [point.settings["locked"] for point in solved] == [0.3]
    assert wider.points[0] == replace(first.points[1], status=Status.CLAIMED)
    # What is not precise enough is not taken for done.
    closer = sweep("small-building", {"locked": [0.1]}, {"damage": [2.0]}, file=path, gap=1e-7)
    assert first.points[0].gap > 1e-7 >= closer.points[0].gap
    assert sweep_file(path).find(sweep_key(_made(2.0))) == closer.points[0]


def _made(damage: float) -> Any:
    return find_scenario("small-building").make(locked=0.1).with_bounds(damage=damage)


def test_a_file_survives_what_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    first = sweep(shop, {"price": [1.0, 3.0]}, file=path)
    text = path.read_text()
    path.write_text(text[:-40])
    again = sweep(shop, {"price": [1.0, 3.0]}, file=path)
    assert [point.upper_bound for point in again.points] == [point.upper_bound for point in first.points]
    assert len(sweep_file(path)) == 2


def test_a_point_without_a_plan_survives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    first = sweep(shop(1.0), bounds={"money": [-1.0, inf]}, file=path)
    again = sweep(shop(1.0), bounds={"money": [-1.0, inf]}, file=path)
    assert again.points == tuple(replace(point, status=Status.CLAIMED) for point in first.points)


@pytest.mark.parametrize(
    ("forgery", "status"),
    [
        ({"lower_bound": 2.0, "upper_bound": 2.0}, Status.CLAIMED),
        ({"status": "infeasible", "lower_bound": "inf", "upper_bound": "inf", "costs": {}}, Status.CLAIMED),
        # What contradicts itself, or is not about this problem, is solved again.
        ({"lower_bound": 9.0, "upper_bound": 2.0, "reason": "proved"}, None),
        ({"lower_bound": "nan", "reason": "proved"}, None),
        ({"costs": {"miles": 2.0}}, None),
    ],
)
def test_what_a_file_says_is_never_called_proven(
    tmp_path: Path, forgery: dict[str, Any], status: Status | None
) -> None:
    path = tmp_path / "points.jsonl"
    (honest,) = sweep(shop(1.0), file=path).points
    head, line = path.read_text().splitlines()
    document = json.loads(line)
    document["point"] |= {"status": "optimal"} | forgery
    path.write_text(f"{head}\n{json.dumps(document)}\n")
    found = sweep(shop(1.0), file=path)
    (point,) = found.points
    if status is None:
        assert (point.status, point.upper_bound) == (honest.status, honest.upper_bound)
    else:
        assert point.status is status
        assert "claimed" in sweep_in_words(found, Style())
        assert '"claimed"' in sweep_html(found)
        assert found.columns()["status"] == ["claimed"]


@pytest.mark.parametrize("content", ["damage,2\n", "{}\n", '{"format": "hcssp-sweep-9"}\n', "\x00\xff"])
def test_another_file_is_not_overwritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine"
    path.write_text(content)
    with pytest.raises(InvalidProblem, match="it is another kind of file"):
        sweep(shop(1.0), file=path)
    assert path.read_text() == content


def test_workers_find_the_same(found: Sweep) -> None:
    told: list[SweepPoint] = []
    with ThreadPoolExecutor(2) as pool:
        shared = sweep("small-building", SETTINGS, BOUNDS, executor=pool, on_point=told.append)
    assert len(told) == len(shared.points) == len(found.points)
    for one, other in zip(found.points, shared.points, strict=True):
        assert (one.settings, one.bounds, one.status) == (other.settings, other.bounds, other.status)
        assert one.lower_bound <= other.upper_bound * (1 + 1e-9)
        assert other.lower_bound <= one.upper_bound * (1 + 1e-9)


def test_a_grid_knows_its_places() -> None:
    grid = Grid.of({"a": [3, 1], "b": [0.5]}, {"c": [1, 2, inf]})
    assert len(grid) == 6
    for place in range(6):
        settings, bounds = grid.at(place)
        assert (
            grid.place({k: float(v) for k, v in settings.items()}, {k: float(v) for k, v in bounds.items()})
            == place
        )


def test_parameters_that_leave_the_activities_alone_vary_faster() -> None:
    grid = Grid.of({"a": [1, 2, 3], "b": [1, 2], "c": [1, 2, 3]}, {"d": [1, 2]})
    order = grid.order(inner=["b"])
    assert sorted(order) == list(range(len(grid)))
    steps = [grid.at(place) for place in order]
    assert [bounds["d"] for _, bounds in steps] == [1, 2] * 18
    assert [settings["b"] for settings, _ in steps] == [1, 1, 2, 2] * 9
    assert [settings["a"] for settings, _ in steps] == [1] * 12 + [2] * 12 + [3] * 12
    assert Grid.of({}, {}).order([]) == [0]


def test_a_problem_is_made_once_for_all_points_with_its_parameters() -> None:
    made: list[float] = []

    def make(slip: float) -> HCSSP:
        made.append(slip)
        return small_building(bound=2.0)

    found = sweep(make, {"slip": [0.1]}, {"damage": [2.0, 3.0]}, gap=0.5)
    assert len(found.points) == 2
    assert made == [0.1]


@pytest.mark.parametrize("method", ["anytime", BudgetAllocation(mode="sharp"), "milp"])
def test_another_method_solves_the_points(method: Solver | str) -> None:
    expected = sweep("small-building", bounds={"damage": [1.0, 3.0]})
    found = sweep("small-building", bounds={"damage": [1.0, 3.0]}, method=method, gap=0.5, time_limit=60.0)
    for point, exact in zip(found.points, expected.points, strict=True):
        assert point.lower_bound <= exact.upper_bound * (1.0 + 1e-9)
        assert point.upper_bound >= exact.lower_bound * (1.0 - 1e-9)


def test_a_method_for_randomised_plans_is_refused() -> None:
    with pytest.raises(InvalidOption, match="a sweep compares deterministic plans"):
        sweep("small-building", bounds={"damage": [1.0]}, method="lp")
    assert main(["sweep", "small-building", "--bound", "damage=1", "--method", "dual"]) == 2
    assert main(["sweep", "small-building", "--bound", "damage=3", "--method", "milp", "--quiet"]) == 0
