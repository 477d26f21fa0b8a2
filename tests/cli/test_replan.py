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
    assert "there is no event or activity 'a b c'; available: at-door" in capsys.readouterr().err
    assert main(["replan", "small-building", plan, "--at", "hall", "--quiet"]) == 2
    assert "no event or activity 'hall'" in capsys.readouterr().err
    assert main(["replan", "small-building", plan, "--at", "go-to-door", "--quiet"]) == 2
    assert "this is an activity; name its state as well, such as 'go-to-door" in capsys.readouterr().err


FLIGHT = """
format: hcssp-problem
version: 1
parameters: {windy: 0.25}
costs: [time, lost]
capacities: {battery: {at_most: 12}}
models:
  leg:
    grid: {map: ["#####", "S...G", "#...#", "#####"], slip: 10%, step_cost: {time: 1, battery: 1}}
    give_up: {time: 50, lost: 1}
activities:
  out: {model: leg}
  wait: {table: {here: {hover: {to: there, costs: {time: 7}}}}, start: here, goal: there}
  back: {model: leg}
  charge: {table: {docked: {fill: {to: full, costs: {time: 9, battery: -12}}}}, start: docked, goal: full}
procedure:
  start: depot
  end: over
  events:
    depot: {fly: {runs: out, to: ridge}}
    ridge: {charge: {runs: charge, to: ready}, go on: {to: ready}}
    ready:
      look: [{probability: windy, runs: wait, to: clear}, {probability: 1 - windy, to: clear}]
    clear: {fly: {runs: back, to: over}}
constraints: {lost: {at_most: 20%}}
"""


def test_a_rest_with_a_battery(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One way to name a place in all commands; and what is written can be read."""
    problem, plan, rest, saved = (
        str(tmp_path / name) for name in ("flight.yaml", "plan.json", "rest.yaml", "rest.json")
    )
    Path(problem).write_text(FLIGHT)
    assert main(["solve", problem, "--quiet", "--out", plan]) == 0
    told = capsys.readouterr().out
    assert "at ridge, battery used 4" in told
    assert " of 12 (" in told
    optima = []
    for place in (["ridge", "(4, 1), battery 5"], ["ridge (4, 1), battery 5"], ["ridge", "battery", "5"]):
        arguments = [
            "replan",
            problem,
            plan,
            "--at",
            *place,
            "--quiet",
            "--json",
            "--rest",
            rest,
            "--out",
            saved,
        ]
        assert main(arguments) == 0
        optima.append(json.loads(capsys.readouterr().out)["upper_bound"])
        assert main(["evaluate", rest, saved, "--quiet", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["cost"] == pytest.approx(optima[0])
        assert main(["why", problem, plan, "--at", *place, "--quiet"]) == 0
        assert "At ridge, entered in (4, 1), battery used 5 of 12 (7 left)," in capsys.readouterr().out
    assert "battery: {at_most: 12, used: 5}" in Path(rest).read_text()
    assert len(Path(rest).read_text()) < 2 * len(FLIGHT)
    for command in ("why", "replan"):
        assert main([command, problem, plan, "--at", "ridge (4, 1), battery 20", "--quiet"]) == 2
        assert "may be entered in '(4, 1), battery 4 to 12'; name one" in capsys.readouterr().err
    # Where the plan never gets, a robot still may be.
    assert main(["replan", problem, plan, "--at", "ridge battery 1", "--quiet"]) == 2
    assert (
        "the plan never reaches event 'ridge', entered in (4, 1), battery used 1" in capsys.readouterr().err
    )
    spent = ["--spent", "lost=0"]
    assert main(["replan", problem, plan, "--at", "ridge battery 1", *spent, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upper_bound"] < optima[0]
    assert main(["robust", problem, plan, "--quiet", "--most", "50"]) in (0, 1)
    told = capsys.readouterr().out
    assert "  windy: 0.25\n" in told
    assert "probability 25% of reaching wait here from ready, look\n" in told
    assert ", battery" not in told


def test_the_rest_of_a_randomised_plan_is_randomised(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(tmp_path / "plan.json")
    command = ["solve", "small-building", "--bound", "damage=2", "--policies", "randomised", "--quiet"]
    assert main([*command, "--out", path]) == 0
    capsys.readouterr()
    document = replanned(capsys, path, "--at", "hallway", "--spent", "damage=0.5")
    assert (document["method"], document["policies"]) == ("dual", "randomised")
    # The best deterministic rest takes 7.7199.
    assert document["upper_bound"] == pytest.approx(7.68984, abs=1e-5)
