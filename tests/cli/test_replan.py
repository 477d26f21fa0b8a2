from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet", "--out", str(path)]) == 0
    return str(path)


def replanned(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["replan", "small-building", *arguments, "--json", "--quiet"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_rest_of_a_plan(capsys: pytest.CaptureFixture[str], plan: str, tmp_path: Path) -> None:
    rest, saved = str(tmp_path / "rest.yaml"), str(tmp_path / "rest.json")
    place = ("--at", "go-to-door", "(1, 2)", "--spent", "damage=0.5")
    document = replanned(capsys, plan, *place, "--rest", rest, "--out", saved)
    assert document["constraints"]["damage"]["at_most"] == 1.5
    assert document["upper_bound"] == pytest.approx(37.010274)
    # The other commands take the rest as a problem, and the plan as one for it.
    assert main(["evaluate", rest, saved, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == pytest.approx(37.010274)


def test_what_the_plan_expected_counts(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    document = replanned(capsys, plan, "--at", "door-open")
    # What the plan has left unused, and what it reckons with from here, which is nothing.
    assert document["constraints"]["damage"]["at_most"] == pytest.approx(2.0 - 1.8968648)


def test_a_changed_world(capsys: pytest.CaptureFixture[str], plan: str, tmp_path: Path) -> None:
    main(["new", "small-building"])
    text = capsys.readouterr().out.replace("{at: [2, 1, 1, 1], costs", "{at: [3, 2, 1, 1], costs")
    changed = tmp_path / "changed.yaml"
    changed.write_text(text, encoding="utf-8")
    document = replanned(capsys, plan, "--world", str(changed))
    assert main(["solve", str(changed), "--bound", "damage=2", "--json", "--quiet"]) == 0
    anew = json.loads(capsys.readouterr().out)
    assert document["upper_bound"] == pytest.approx(anew["upper_bound"], rel=1e-6)


def test_nothing_is_left(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["replan", "small-building", plan, "--at", "hallway", "--spent", "damage=3", "--quiet"]) == 1
    assert "no plan: constraint 'damage': nothing is left of 2" in capsys.readouterr().err


def test_what_is_no_place(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["replan", "small-building", plan, "--at", "a", "b", "c", "--quiet"]) == 2
    assert "name an event, or an activity and its state" in capsys.readouterr().err
    assert main(["replan", "small-building", plan, "--at", "hall", "--quiet"]) == 2
    assert "no event or activity 'hall'" in capsys.readouterr().err
