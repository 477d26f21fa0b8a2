"""Models of other tools on the command line: the same options name them in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hcssp
from hcssp.cli import main

MODELS = Path(__file__).parents[1] / "exchange" / "models"
SENSORS = [str(MODELS / "sensors.prism"), "--constants=readings=1", "--minimise=delay", "--goal=collected"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("stormpy", reason="pip install 'hcssp[storm]' to test models of PRISM and JANI")
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", *SENSORS, "--bound", "energy=11", "--quiet", "--out", str(path)]) == 0
    return str(path)


def test_a_plan_is_evaluated_with_the_same_options(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["evaluate", SENSORS[0], plan, *SENSORS[1:], "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    problem = hcssp.load_model(
        SENSORS[0], constants="readings=1", minimise="delay", goal="collected", bounds={"energy": 11}
    )
    assert evaluated["cost"] == pytest.approx(hcssp.solve(problem).upper_bound)


@pytest.mark.parametrize("command", ["simulate", "robust"])
def test_other_commands_take_models(command: str, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    extra = ["--runs", "10"] if command == "simulate" else ["--within", "0%"]
    assert main([command, SENSORS[0], plan, *SENSORS[1:], "--quiet", *extra]) == 0
    assert "delay" in capsys.readouterr().out


def test_constants_can_be_set_as_parameters(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["show", SENSORS[0], "--set=readings=1", "--minimise=delay", "--goal=left=0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_drn_file_needs_no_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "building.drn"
    hcssp.to_drn(hcssp.small_building(), path)
    assert main(["solve", str(path), "--bound", "damage=2", "--quiet", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    expected = hcssp.solve(hcssp.small_building().with_bounds(damage=2.0)).upper_bound
    assert document["upper_bound"] == pytest.approx(expected, rel=1e-6)


TRAP = """@type: MDP
@reward_models
time
@model
state 0 [1] init
  action go [0]
    1 : 0.5
    2 : 0.5
state 1 [0] goal
  action stay [0]
    1 : 1
state 2 [0]
  action stay [0]
    2 : 1
"""


def test_a_dead_end_has_a_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trap.drn"
    path.write_text(TRAP, encoding="utf-8")
    assert main(["solve", str(path), "--quiet"]) == 1
    assert "--give-up time=500" in capsys.readouterr().err
    assert main(["solve", str(path), "--quiet", "--json", "--give-up", "time=6"]) == 0
    assert json.loads(capsys.readouterr().out)["upper_bound"] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["small-building", "--goal", "out"], "apply to models in files only"),
        (["-", "--goal", "out"], "not to standard input"),
        (["trap.drn", "--constants", "N=3"], "has no constants"),
        (["trap.drn", "--minimise", "tme"], "did you mean 'time'?"),
        (["trap.drn", "--goal", "gaol"], "did you mean 'goal'?"),
        (["trap.drn", "--costs", "a,,b"], "not a list of names"),
        (["trap.drn", "--give-up", "time=1", "--give-up", "time=2"], "--give-up time: given twice"),
        (["problem.yaml", "--minimise", "time"], "a problem file states its costs and goals itself"),
    ],
)
def test_what_makes_no_sense_is_told(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "trap.drn").write_text(TRAP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["solve", *arguments, "--quiet"]) == 2
    assert told in capsys.readouterr().err
