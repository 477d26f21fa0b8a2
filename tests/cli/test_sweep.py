from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.cli.arguments import axis, bound_axis
from hcssp.solving import sweep as sweeping

SWEEP = ["sweep", "small-building", "--set", "locked=0.1:0.35:0.1", "--bound", "damage=3,4", "--quiet"]


def test_ranges_are_exact_and_lists_are_lists() -> None:
    assert [float(each) for each in axis("slip=0.05:0.3:0.05")[1]] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert [float(each) for each in axis("slip = 5%, 1/2 ,1:3:1")[1]] == [0.05, 0.5, 1.0, 2.0, 3.0]
    assert bound_axis("damage=inf,1:2:0.5") == ("damage", [float("inf"), 1.0, 1.5, 2.0])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "slip"], "'slip' is not of the form NAME=VALUES"),
        (["--set", "slip="], "the parameter 'slip': '' is not a number; write slip=0.05"),
        (["--bound", "=inf"], "is not of the form NAME=VALUES"),
        (["--set", "slip=a"], "the parameter 'slip': 'a' is not a number"),
        (["--set", "slip=1:2"], "'1:2' is not a range FROM:TO:STEP"),
        (["--set", "slip=2:1:1"], "'2:1:1' is not a range FROM:TO:STEP"),
        (["--set", "slip=0:1:0"], "that goes up by a positive step"),
        (["--set", "slip=0:1:1e-9"], "has 1,000,000,001 values"),
        (["--set", "locked=0.1", "--set", "locked=0.2"], "--set locked: given twice"),
        (["--bound", "damage=1", "--bound", "damage=2"], "--bound damage: given twice"),
        (["--probability", "door=2"], "the probability of 'door': 2 is no share from 0 to 1"),
        (["--probability", "=1%"], "is not of the form NAME=VALUES"),
        (["--bound", "damage=1", "--probability", "damage=1"], "--bound damage: given twice"),
        (["--constants", "B=1"], "constants, costs and goals apply to models in files only"),
        (["--set", "lockd=0.1"], "did you mean 'locked'"),
        (["--page", "nowhere/at/all.html"], "there is no folder"),
        (["--plot", "plot.exe"], "matplotlib cannot write .exe"),
    ],
)
def test_what_is_no_sweep_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "small-building", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_standard_input_is_read_once_and_so_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "-", "--bound", "damage=1"]) == 2
    assert "reads its problem more than once" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweep")


def test_everything_is_written_and_a_second_run_answers_alike(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ["--out", str(folder / "points.jsonl")]
    outputs = ["--csv", str(folder / "a.csv"), "--page", str(folder / "a.html"), *kept]
    assert main([*SWEEP, *outputs]) == 0
    told = capsys.readouterr().out
    assert "small-building: least expected time" in told
    assert told.count("\n  0.") == 6
    with (folder / "a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["set_locked"] for row in rows] == ["0.1", "0.1", "0.2", "0.2", "0.3", "0.3"]
    assert "What if?" in (folder / "a.html").read_text()

    def forbidden(*arguments: Any) -> Any:
        raise AssertionError("nothing was missing")

    monkeypatch.setattr(sweeping, "_solve_point", forbidden)
    assert main([*SWEEP, *kept, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [point["upper_bound"] for point in document["points"]] == [
        float(row["upper_bound"]) for row in rows
    ]


MINE = """
format: hcssp-problem
version: 1
parameters: {found: 3}
costs: [hours, gold, wear]
activities:
  dig:
    table:
      mine:
        drill: {to: {mine: 0.5, home: 0.5}, costs: {gold: found, wear: 3, hours: 1}}
        shovel: {to: {mine: 0.5, home: 0.3, sore: 0.2}, costs: {gold: 1, wear: 1, hours: 2}}
      sore: {rest: {to: {home: 1}, costs: {hours: 5}}}
    start: mine
    goal: home
constraints: {wear: {at_most: inf}}
"""


def test_a_reward_is_told_and_not_what_is_missed_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.yaml").write_text(MINE)
    kept = ["--out", str(folder / "gold.jsonl"), "--page", str(folder / "gold.html"), "--quiet"]
    asked = ["sweep", str(folder / "mine.yaml"), "--set", "found=3,5", "--bound", "wear=2,6", *kept]
    assert main([*asked, "--maximise", "gold"]) == 0
    told = capsys.readouterr().out
    assert "greatest expected gold" in told
    assert "gold: from" in told
    assert "missed" not in told
    assert "The greatest expected gold for 4 combinations" in (folder / "gold.html").read_text()
    # A second run takes the points from the file, rewards included.
    assert main([*asked, "--maximise", "gold", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["reward"] == "gold"
    rewards = [point["reward"] for point in document["points"]]
    assert rewards == pytest.approx([2.0, 6.0, 2.0, 10.0])
    assert all(point["reward_at_most"] >= point["reward"] for point in document["points"])


def test_probabilities_are_bounded_point_by_point(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yaml").write_text(MINE)
    chances = ["--probability", "sore=0,50%", "--maximise", "hours", "--quiet", "--json"]
    assert main(["sweep", str(folder / "mine.yaml"), *chances]) == 0
    document = json.loads(capsys.readouterr().out)
    # Without getting sore there is only the drill, for two hours; else four, and two fifths of five.
    assert [point["reward"] for point in document["points"]] == pytest.approx([2.0, 6.0])


def test_what_no_plan_can_keep_is_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "small-building", "--bound", "damage=-1,-2", "--quiet"]) == 1
    assert "no plan at any point" in capsys.readouterr().err


def test_a_signal_keeps_the_points_that_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve_point, solved = sweeping._solve_point, []

    def interrupted(*arguments: Any) -> Any:
        if len(solved) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        solved.append(1)
        return solve_point(*arguments)

    monkeypatch.setattr(sweeping, "_solve_point", interrupted)
    assert main([*SWEEP, "--json"]) == 130
    captured = capsys.readouterr()
    assert [point["settings"]["locked"] for point in json.loads(captured.out)["points"]] == [0.1, 0.1]
    assert "interrupted; the points are those finished so far" in captured.err
