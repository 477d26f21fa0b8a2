from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.grid import DIRECTIONS
from hcssp.errors import NoSolution
from hcssp.reports.rooms import draw_rooms, passages
from hcssp.scenarios import small_building
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
        assert passage.visits.sum() == pytest.approx(passage.executions * passage.each["time"])
    assert found["return-to-E"].executions == pytest.approx(0.2)


def test_the_busiest_passage_has_the_cell(solved: ProcedurePlan) -> None:
    found = {each.name: each for each in passages(solved)}
    first, second = found["go-to-door"], found["return-to-E"]
    cells = [
        tuple(map(tuple, p.where_busiest([o]).cells.tolist())) for p, o in ((first, second), (second, first))
    ]
    assert not set(cells[0]) & set(cells[1])
    union = {tuple(cell) for cell in np.vstack([first.cells, second.cells]).tolist()}
    assert set(cells[0]) | set(cells[1]) == union


def test_the_picture_has_a_panel_for_every_activity_that_runs(solved: ProcedurePlan) -> None:
    figure = draw_rooms(solved)
    titles = [axes.get_title() for axes in figure.get_axes()]
    panels = [title.split(" ")[0] for title in titles if "executed" in title]
    assert panels == ["go-to-door", "leave-through-door", "return-to-E", "leave-through-E"]
    assert "executed once\neach: time 6.899, damage 1.479" in titles[1]
    assert "expected damage 1.8969 of at most 2" in figure.get_suptitle()
    hatched = [patch for axes in figure.get_axes() for patch in axes.patches if patch.get_hatch()]
    # Three hazards on the map, and one in each of the four panels.
    assert len(hatched) == 3 + 4


def test_without_a_policy_there_is_nothing_to_draw() -> None:
    with pytest.raises(NoSolution):
        draw_rooms(Plan(small_building()))


def test_the_command_writes_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.png"
    assert main(["solve", "small-building", "--plot", str(target), "--quiet"]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert str(target) in capsys.readouterr().out
