from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main

MINE = """
format: hcssp-problem
version: 1
parameters: {luck: 1/2}
costs: [gold, wear]
activities:
  dig:
    table:
      mine:
        drill: {to: {mine: 1 - luck, flooded: luck / 4, home: luck * 3 / 4}, costs: {gold: 3, wear: 2}}
        shovel: {to: {mine: 1/4, home: 3/4}, costs: {gold: 3/2, wear: 3/2}}
      flooded: {swim: {to: home}}
    start: mine
    goal: home
constraints:
  wear: {at_most: 4}
"""


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


def test_the_changed_world_is_asked_what_the_plan_was(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mine, worse, saved = tmp_path / "mine.yaml", tmp_path / "worse.yaml", str(tmp_path / "plan.json")
    mine.write_text(MINE, encoding="utf-8")
    changed = MINE.replace("gold: 3,", "gold: 2,").replace("at_most: 4", "at_most: 3.75")
    worse.write_text(changed, encoding="utf-8")
    asked = ("--maximise", "gold", "--probability", "flooded=50%", "--quiet")
    assert main(["solve", str(mine), *asked, "--out", saved]) == 0
    capsys.readouterr()
    place = ("--at", "dig", "mine", "--spent", "wear=1", "--spent", "flooded=0", "--json")
    for world, reward, left in (
        (("--world", str(worse)), 2.0, 2.75),
        (("--world", str(worse), "--now", "luck=3/4"), 8 / 3, 2.75),
        (("--world", str(worse), "--bound", "wear=8"), 4.0, 7.0),
        (("--now", "luck=3/4"), 4.0, 3.0),
    ):
        assert main(["replan", str(mine), saved, *asked, *world, *place]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["reward"]["expected"] == pytest.approx(reward), world
        assert document["constraints"]["wear"]["at_most"] == left
        assert document["constraints"]["flooded"]["at_most"] == 0.5


def test_standard_input_is_read_once(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    for changed in (("--world", "-"), ("--now", "locked=1%")):
        assert main(["replan", "-", plan, *changed, "--quiet"]) == 2
        assert "standard input is read once" in capsys.readouterr().err


def test_nothing_is_left(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["replan", "small-building", plan, "--at", "hallway", "--spent", "damage=3", "--quiet"]) == 1
    assert "no plan: constraint 'damage': nothing is left of 2" in capsys.readouterr().err


def test_what_is_no_place(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["replan", "small-building", plan, "--at", "a", "b", "c", "--quiet"]) == 2
    assert "there is no event or activity 'a b c'; there are: at-door" in capsys.readouterr().err
    assert main(["replan", "small-building", plan, "--at", "hall", "--quiet"]) == 2
    assert "no event or activity 'hall'" in capsys.readouterr().err
    assert main(["replan", "small-building", plan, "--at", "go-to-door", "--quiet"]) == 2
    assert "this is an activity; name its state as well, such as 'go-to-door" in capsys.readouterr().err
