"""Pages and pictures of a plan, asked of the plan itself: of a procedure and of a single problem alike."""

from __future__ import annotations

import json
import re
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.contract.plan import Plan
from hcssp.cssp.grid import DIRECTIONS, GridWorld
from hcssp.cssp.model import CSSP
from hcssp.errors import CannotWrite, NoSolution, UnknownName
from hcssp.files.fingerprint import fingerprint
from hcssp.reports.page import curves_around
from hcssp.reports.rooms import passages
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from known_optima import attempts, knapsack
from small_procedures import retrying

MAP = """
#######
S.~~..G
#.~~..#
#.....#
#######
"""


def hall(bound: float = 0.5) -> CSSP:
    world = GridWorld.from_map(MAP, hazards={"~": {"damage": 1.0}}, slip=0.1)
    return world.to_cssp().with_bounds(damage=bound)


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(hall())


def test_a_single_problem_on_a_grid_has_a_page(plan: Plan, tmp_path: Path) -> None:
    plan.report(tmp_path / "page.html", points=5, seed=3)
    data = data_of(tmp_path / "page.html")
    assert data["problem"]["fingerprint"] == fingerprint(plan.problem)
    assert [each["name"] for each in data["problem"]["activities"]] == ["problem"]
    assert [panel["grid"] for panel in data["sheet"]["panels"]] == [True]
    assert data["sheet"]["map"] is True
    assert data["samples"]["seed"] == 3
    shown = data["plans"][data["reported"]]
    assert shown["costs"] == pytest.approx({name: plan.cost(name) for name in ("time", "damage")})
    # What the search for another bound of the curve has proven may be higher by a rounding.
    assert plan.lower_bound <= shown["limit"] <= plan.upper_bound
    assert shown["limit"] == pytest.approx(plan.lower_bound, rel=1e-12)
    assert shown["own"] == plan.upper_bound
    assert shown["activities"][0]["executions"] == 1.0
    assert shown["runs"][0]["finished"]
    # The slider moves the only bound there is.
    assert data["varied"] == "damage"
    assert len(data["plans"]) > 2
    for other in data["plans"]:
        exact = solve(hall(other["bounds"]["damage"]))
        assert other["limit"] <= exact.upper_bound * (1.0 + 1e-9)
        assert other["own"] >= exact.lower_bound * (1.0 - 1e-9)


def test_the_passage_of_a_single_problem_is_what_its_plan_does(plan: Plan) -> None:
    (passage,) = passages(plan.as_procedure())
    drawn = {
        (int(column), int(row)): DIRECTIONS[heading]
        for (column, row), heading in zip(passage.cells, passage.headings, strict=True)
    }
    assert drawn
    assert drawn == {cell: plan.action(cell) for cell in drawn}
    assert passage.visits.sum() == pytest.approx(plan.cost("time"))


def test_a_single_problem_with_a_name_is_called_so(tmp_path: Path) -> None:
    named = solve(hall().derive(name="hall", description="two fires"))
    named.report(tmp_path / "page.html", points=0)
    data = data_of(tmp_path / "page.html")
    assert (data["problem"]["name"], data["problem"]["description"]) == ("hall", "two fires")
    # A name changes nothing of what a plan is for.
    assert data["problem"]["fingerprint"] == fingerprint(hall())
    assert (data["curve"], len(data["plans"])) == (None, 1)


@pytest.mark.parametrize(
    "problem",
    [hall(), small_building(2.0), knapsack(6.0), retrying()],
    ids=["grid", "rooms", "table", "procedure of tables"],
)
def test_whatever_was_solved_can_be_drawn_and_reported(problem: Any, tmp_path: Path) -> None:
    plan = solve(problem)
    plan.plot(tmp_path / "plan.png")
    assert is_picture(tmp_path / "plan.png")
    plan.report(tmp_path / "page.html", points=0)
    data = data_of(tmp_path / "page.html")
    assert data["plans"][0]["own"] == plan.upper_bound


def test_without_a_constraint_there_is_no_slider(tmp_path: Path) -> None:
    plan = solve(attempts(0.5))
    assert curves_around(plan) == []
    plan.report(tmp_path / "page.html")
    assert data_of(tmp_path / "page.html")["varied"] is None


def test_a_curve_at_hand_is_used(plan: Plan, tmp_path: Path) -> None:
    curve = trade_off(plan.as_procedure().problem, "damage", [0.25, 0.5])
    plan.report(tmp_path / "page.html", curve=curve)
    assert [each["bounds"]["damage"] for each in data_of(tmp_path / "page.html")["plans"]] == [0.25, 0.5]


def test_what_cannot_be_reported_is_said(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="there is no constraint 'smoke'"):
        plan.report(tmp_path / "page.html", vary="smoke")
    with pytest.raises(CannotWrite, match="it cannot be written: No such file or directory"):
        plan.report(tmp_path / "nowhere" / "page.html", points=0)
    nothing = solve(hall(-1.0))
    with pytest.raises(NoSolution, match="the least achievable damage is 0, above the bound -1"):
        nothing.report(tmp_path / "page.html", points=0)
    with pytest.raises(NoSolution, match="raise the bound"):
        nothing.plot(tmp_path / "plan.png")
    assert list(tmp_path.iterdir()) == []


def test_without_a_bound_the_slider_covers_what_helps(tmp_path: Path) -> None:
    plan = solve(hall(inf))
    plan.report(tmp_path / "page.html", points=4)
    bounds = [each["bounds"]["damage"] for each in data_of(tmp_path / "page.html")["plans"]]
    assert bounds[-1] is None
    assert all(bound <= plan.cost("damage") + 0.1 for bound in bounds[:-1])
