from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.contract.progress import Gap
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_problem_is_solved_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert (
        main(["report", "small-building", "--bound", "damage=3", "--out", str(target), "--points", "5"]) == 0
    )
    printed = capsys.readouterr()
    assert f"The report is in {target}" in printed.out
    data = data_of(target)
    exact = solve(small_building(3.0), PolicyBranching(), [Gap(1e-6)])
    assert data["plans"][data["reported"]]["own"] == pytest.approx(exact.upper_bound)
    assert data["plans"][data["reported"]]["bounds"] == {"damage": 3.0}
    assert len(data["plans"]) >= 4
    assert data["problem"]["name"] == "small-building"


def test_a_saved_plan_is_reported_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, target = tmp_path / "plan.json", tmp_path / "report.html"
    assert main(["solve", "small-building", "--gap", "0.5", "--out", str(plan), "--quiet"]) == 0
    saved = json.loads(plan.read_text(encoding="utf-8"))
    arguments = [
        "report",
        "small-building",
        str(plan),
        "--out",
        str(target),
        "--points",
        "0",
        "--quiet",
        "--json",
    ]
    capsys.readouterr()
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["written"] == [str(target)]
    assert answer["upper_bound"] == pytest.approx(saved["upper_bound"])
    data = data_of(target)
    (shown,) = data["plans"]
    told = shown["claimed"], shown["own"]
    assert told == pytest.approx((saved["lower_bound"], saved["upper_bound"]))
    assert shown["limit"] is None
    assert data["curve"] is None
    assert len(data["history"]) >= len(saved["trace"])


def test_a_plan_that_breaks_its_bounds_is_called_so(tmp_path: Path) -> None:
    plan, target = tmp_path / "plan.json", tmp_path / "report.html"
    assert main(["solve", "small-building", "--bound", "damage=4", "--out", str(plan), "--quiet"]) == 0
    arguments = ["report", "small-building", str(plan), "--bound", "damage=1", "--out", str(target), "-q"]
    assert main([*arguments, "--points", "0"]) == 1
    (shown,) = data_of(target)["plans"]
    assert "which breaks the bound of 1" in shown["words"][0]
    assert shown["limit"] is None


def test_where_no_plan_exists_no_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert main(["report", "small-building", "--bound", "damage=-1", "--out", str(target), "--quiet"]) == 1
    assert "hcssp: no plan: no policy keeps the bound on 'damage'" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "no/such/folder/report.html"], "there is no folder no/such/folder; make it first"),
        (["--constraint", "damge"], "there is no constraint 'damge'; did you mean 'damage'?"),
        (["--points", "1000"], "--points 1000: a page can hold the plans of 60 at most"),
        (["--points", "-1"], "-1 is no number of points; give a whole number, 0 or more"),
        (["nothing.json"], "nothing.json"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["report", "small-building", *arguments, "--quiet"]) == 2
    assert message in capsys.readouterr().err
