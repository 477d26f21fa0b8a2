from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml

from hcssp import solve
from hcssp.cli import main
from hcssp.files.problem_file.loading import load_text
from hcssp.scenarios.scenario import find_scenario


@cache
def optimum() -> float:
    """That of the building of which the doors are locked more often and the steps go astray more often."""
    return solve(find_scenario("small-building").make(locked=0.3, intended=0.75)).upper_bound


def test_a_parameter_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "small-building", "-q", "--json", "--set", "locked=30%", "--set", "intended=3/4"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["upper_bound"] == pytest.approx(optimum())
    assert told["upper_bound"] != pytest.approx(27.7191165, rel=1e-3)


def test_the_words_say_what_was_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "small-building", "-q", "--set", "locked=1/4", "--set", "intended=70%"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("small-building with locked = 0.25, intended = 0.7: minimise the expected time")


def test_a_new_file_has_the_parameters_that_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "small-building", "--set", "locked=0.35"]) == 0
    assert "0.35" in capsys.readouterr().out


def test_the_parameters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["problems"]) == 0
    assert "locked = 0.2         the probability that a door is locked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["locked"], "'locked' is not of the form NAME=VALUE, such as slip=0.2"),
        (["=1"], "'=1' is not of the form NAME=VALUE"),
        (["locked=often"], "the parameter 'locked': 'often' is not a number"),
        (["locked=1e400"], "the parameter 'locked': '1e400' is not a number"),
        (["locked=1/0"], "the parameter 'locked': '1/0' is not a number"),
        (["locked=2"], "the parameter 'locked' is set to 2; give a number from 0 to 1"),
        (["loked=0.5"], "there is no parameter 'loked'; did you mean 'locked'?"),
        (["locked=0.5", "locked=0.6"], "--set locked: given twice (0.5 and 0.6); give one"),
    ],
)
def test_what_cannot_be_set_is_told(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["show", "small-building", "-q"]
    for each in given:
        command += ["--set", each]
    assert main(command) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "parameters", "style"),
    [
        ("small-building", {"intended", "locked", "damage"}, "json"),
        ("campus", {"slip", "locked", "gate_locked", "slow"}, "yaml"),
        ("rover", {"slip", "dust", "failure", "energy", "risk", "missed"}, "yaml"),
    ],
)
def test_the_parameters_of_a_new_file_are_its_parameters(
    name: str,
    parameters: set[str],
    style: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario = find_scenario(name)
    assert main(["new", name, *(["--json"] if style == "json" else [])]) == 0
    text = capsys.readouterr().out
    assert parameters == set(yaml.safe_load(text)["parameters"])
    settings = dict.fromkeys(parameters & {"locked", "slip", "slow", "intended", "dust", "failure"}, 0.25)
    settings |= dict.fromkeys(parameters & {"damage", "energy", "risk", "missed"}, 2.0)
    loaded = load_text(text, json=style == "json", parameters=settings)
    made = scenario.make(**settings)
    assert loaded.bounds.tolist() == made.bounds.tolist()
    assert load_text(text, json=style == "json").constraint_names == scenario.make().constraint_names
    for ours, theirs in zip(loaded.activities, made.activities, strict=True):
        assert ours.cssp.costs == pytest.approx(theirs.cssp.costs)
        assert ours.cssp.transitions.toarray() == pytest.approx(theirs.cssp.transitions.toarray())
    chances = [
        [outcome.probability for choice in each.choices for outcome in choice.outcomes]
        for each in (loaded, made)
    ]
    assert chances[0] == pytest.approx(chances[1])


def test_a_parameter_of_a_file_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "small-building"]) == 0
    path = tmp_path / "mine.yaml"
    path.write_text(capsys.readouterr().out)
    assert main(["solve", str(path), "-q", "--json", "--set", "locked=30%", "--set", "intended=3/4"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["upper_bound"] == pytest.approx(optimum())
    assert main(["show", str(path), "-q", "--set", "lokced=1"]) == 2
    assert "there is no parameter 'lokced'; did you mean 'locked'?" in capsys.readouterr().err
