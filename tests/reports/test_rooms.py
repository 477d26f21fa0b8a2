from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.grid import DIRECTIONS
from hcssp.errors import NoSolution
from hcssp.files.named_problem import find_problem
from hcssp.reports.rooms import draw_rooms, passages
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from solved_building import solved_building

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def solved() -> ProcedurePlan:
    return solved_building().as_procedure()


def test_passages_carry_what_the_plan_does(solved: ProcedurePlan) -> None:
    found = {each.name: each for each in passages(solved)}
    assert set(found) == {"go-to-door", "return-to-E", "leave-through-E", "leave-through-door"}
    for name, passage in found.items():
        actions = solved.policy.activity(name).actions()
        drawn = {
            (int(column), int(row)): DIRECTIONS[heading]
            for (column, row), heading in zip(passage.cells, passage.headings, strict=True)
        }
        assert drawn == {cell: actions[cell] for cell in drawn}
        # Every visit is a step of one unit of time.
        share = next(each for each in solved.costs.activities if each.name == name)
        assert passage.visits.sum() == pytest.approx(share.cost)


def test_the_busiest_passage_has_the_cell(solved: ProcedurePlan) -> None:
    found = {each.name: each for each in passages(solved)}
    first, second = found["go-to-door"], found["return-to-E"]
    cells = [
        tuple(map(tuple, p.where_busiest([o]).cells.tolist())) for p, o in ((first, second), (second, first))
    ]
    assert not set(cells[0]) & set(cells[1])
    union = {tuple(cell) for cell in np.vstack([first.cells, second.cells]).tolist()}
    assert set(cells[0]) | set(cells[1]) == union


def test_the_picture_has_all_rooms_and_the_plan(solved: ProcedurePlan) -> None:
    (axes,) = draw_rooms(solved.problem, solved).get_axes()
    assert "expected damage 1.8969 of at most 2" in axes.get_title().replace("\n", " ")
    assert len([patch for patch in axes.patches if patch.get_hatch()]) == 3
    names = {text.get_text() for text in axes.texts}
    assert {"W", "E", "SW", "at-door"} <= names
    arrows = {tuple(place) for each in axes.collections for place in each.get_offsets()}
    assert len(arrows) > 20


def test_a_room_without_a_position_is_drawn_if_the_plan_goes_there() -> None:
    plan = solve(find_problem("campus")).as_procedure()
    (axes,) = draw_rooms(plan.problem, plan).get_axes()
    executed = {each.name for each in passages(plan)}
    titles = {text.get_text() for text in axes.texts}
    assert executed <= titles
    assert titles & {each.name for each in plan.problem.activities} == executed


def test_without_a_policy_there_is_nothing_to_draw() -> None:
    with pytest.raises(NoSolution):
        Plan(small_building()).plot()


def test_the_command_writes_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.png"
    assert main(["solve", "small-building", "--plot", str(target), "--quiet"]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert str(target) in capsys.readouterr().out
