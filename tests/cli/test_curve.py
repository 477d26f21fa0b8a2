from __future__ import annotations

import csv
import json
import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.cli.grids import asked_bounds

CURVE = ["curve", "small-building", "--from", "2", "--to", "8", "--points", "3"]


def traced(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*CURVE, "--json", "--quiet", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_points_are_what_solve_finds(capsys: pytest.CaptureFixture[str]) -> None:
    document = traced(capsys, "--constraint", "damage", "--gap", "1e-6")
    assert document["constraint"] == "damage"
    assert [point["bound"] for point in document["points"]] == [2.0, 5.0, 8.0]
    for point in document["points"]:
        assert main(["solve", "small-building", "--bound", f"damage={point['bound']}", "--json", "-q"]) in (
            0,
            1,
        )
        solved = json.loads(capsys.readouterr().out)
        if solved["upper_bound"] is None:
            assert point["upper_bound"] is None
            continue
        assert point["upper_bound"] == pytest.approx(solved["upper_bound"], rel=1e-6)
        assert point["lower_bound"] <= solved["upper_bound"] + 1e-9
        assert point["price"] == pytest.approx(solved["constraints"]["damage"]["price"], abs=1e-4)
        assert point["expected"] <= point["bound"] + 1e-8


def test_the_csv_holds_points_and_all_breakpoints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    document = traced(capsys, "--csv", str(path))
    bounds = [bound for bound, _ in document["breakpoints"]]
    assert bounds == sorted(bounds)
    assert len(document["prices"]) == len(bounds) - 1
    assert document["prices"] == sorted(document["prices"], reverse=True)
    assert document["least"] is not None
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    points = [row for row in rows if row["kind"] == "point"]
    breakpoints = [row for row in rows if row["kind"] == "breakpoint"]
    assert [float(row["bound"]) for row in rows] == sorted(float(row["bound"]) for row in rows)
    assert [[float(row["bound"]), float(row["stochastic"])] for row in breakpoints] == document["breakpoints"]
    for row, point in zip(points, document["points"], strict=True):
        for key, value in point.items():
            assert row[key] == ("" if value is None else str(value))


def test_the_curve_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    assert main([*CURVE, "--quiet", "--csv", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "small-building: least expected time as the bound on damage grows" in printed.out
    rows = [line.split() for line in printed.out.splitlines()]
    assert [
        "bound",
        "randomised",
        "price",
        "deterministic:",
        "from",
        "to",
        "gap",
        "expected",
        "damage",
    ] in rows
    assert any(row[:2] == ["2", "25.3539"] for row in rows)
    assert "Over randomised policies the curve is exact: " in printed.out
    assert printed.out.endswith(f"The figures are in {path}.\n")


def test_every_point_is_told_when_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CURVE, "--json"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == ["reading small-building", "tracing the curve of damage"]
    assert told[-1].startswith("3 of 3: damage at most 8   between ")
    assert len(told) == 5


def test_the_curve_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    assert main(["curve", "small-building", "--from", "2", "--to", "2", "--quiet", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.endswith(f"The curve is drawn in {path}.\n")


def test_bounds_that_nothing_keeps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    arguments = ["curve", "small-building", "--from", "-2", "--to", "-1", "--quiet", "--plot", str(path)]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert "no plan" in printed.out
    assert "hcssp: no plan: the least achievable damage is " in printed.err


@pytest.mark.parametrize(
    "interrupted", ["hcssp.solving.trade_off.on_curve", "hcssp.methods.policy_branching.PolicySearch"]
)
def test_a_signal_leaves_the_points_finished_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, interrupted: str
) -> None:
    """Between two searches, and within one of them, which a signal only ends."""
    module, _, name = interrupted.rpartition(".")
    real = getattr(import_module(module), name)
    calls: list[int] = []

    def signalled(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(interrupted, signalled)
    assert main([*CURVE, "--json", "--quiet"]) == 130
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert len(calls) == 3
    assert len(document["points"]) == 2
    assert document["least"] is None
    assert "hcssp: interrupted; the points are those finished so far" in printed.err


def test_asked_bounds_include_both_ends() -> None:
    assert asked_bounds(0.0, 1.0, 3) == [0.0, 0.5, 1.0]
    assert asked_bounds(0.1, 0.7, 7)[-1] == 0.7
    assert asked_bounds(2.0, 2.0, 5) == asked_bounds(2.0, 3.0, 1) == [2.0]


def test_the_range_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """From where there is a plan to where the bound is no bound any more."""
    assert main(["curve", "small-building", "--points", "3", "--json", "--quiet"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["bound"] for point in points] == [0.0, 6.8, 13.6]
    assert points[-1]["upper_bound"] == pytest.approx(points[-1]["stochastic"])
    assert main(["curve", "small-building", "--from", "20", "--json", "--quiet"]) == 0
    assert [point["bound"] for point in json.loads(capsys.readouterr().out)["points"]] == [20.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "-1"], "--from 0 --to -1: the smallest bound comes first"),
        (["--from", "3", "--to", "1"], "--from 3 --to 1: the smallest bound comes first"),
        (["--from", "0", "--to", "inf"], "--from 0 --to inf: give finite numbers"),
        (["--from", "0", "--to", "1", "--points", "0"], "--points 0: give 1 to 10000"),
        (["--from", "0", "--to", "1", "--points", "100000"], "--points 100000: give 1 to 10000"),
        (["--from", "0", "--to", "1", "--constraint", "damgae"], "did you mean 'damage'?"),
        (["--from", "0", "--to", "1", "--gap", "-1"], "-1 is no relative gap"),
        (["--from", "0", "--to", "1", "--csv", "no/such/x.csv"], "there is no folder no/such; make it first"),
        (["--from", "0", "--to", "1", "--plot", "x.doc"], "--plot x.doc: matplotlib cannot write .doc"),
        (
            ["--from", "0", "--to", "1", "--plot", "no/such/x.png"],
            "there is no folder no/such; make it first",
        ),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["curve", "small-building", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err


TWO = """\
format: hcssp-problem
version: 1
costs: [time, damage, battery]
activities:
  cross: {grid: {width: 3, height: 2, step_cost: {time: 1, battery: 1}}, start: [0, 1], goal: [4, 2]}
constraints:
  damage: {at_most: 1}
  battery: {at_most: 50}
"""


def test_one_of_several_constraints_must_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    command = ["curve", str(path), "--from", "1", "--to", "9", "--points", "2", "--quiet"]
    assert main(command) == 2
    assert (
        "--constraint: name the constraint whose bound varies; the constraints are: damage, battery"
        in capsys.readouterr().err
    )
    assert main([*command, "--constraint", "battery"]) == 0
    assert "as the bound on battery grows, damage at most 1" in capsys.readouterr().out
