"""In every command a saved plan is judged by the bounds of the problem; its own are only printed."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import arguments, main

NOTE = "the plan was made for damage at most 2, and is judged by damage at most {}"
COMMANDS: dict[str, tuple[str, ...]] = {
    "evaluate": (),
    "robust": ("--within", "0"),
    "simulate": ("--runs", "10"),
    "why": ("--at", "start"),
    "report": ("--points", "0"),
}
"""The commands that judge a plan, and what else they need."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plan that was made for a damage of at most 2, and uses 1.897 of it."""
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet", "--out", str(path)]) == 0
    return str(path)


@pytest.fixture
def stricter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The same problem as a file whose own bound is 1.5."""
    assert main(["new", "small-building"]) == 0
    text = capsys.readouterr().out
    assert text.count("at_most: 2") == 1
    path = tmp_path / "stricter.yaml"
    path.write_text(text.replace("at_most: 2", "at_most: 1.5"))
    return str(path)


def answered(
    capsys: pytest.CaptureFixture[str], folder: Path, command: str, *arguments: str, code: int
) -> tuple[Any, str]:
    """The JSON object and the messages of a command."""
    more = ["--out", str(folder / "page.html")] if command == "report" else []
    given = [command, *arguments, *COMMANDS[command], *more, "--json", "--quiet"]
    assert main(given) == code
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_bounds_of_the_problem_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str, stricter: str, command: str
) -> None:
    for given, bound in (
        ((stricter, plan), "1.5"),
        (("small-building", plan, "--bound", "damage=1"), "1"),
    ):
        document, told = answered(capsys, tmp_path, command, *given, code=1)
        assert document["made_for"] == {"damage": 2.0}
        assert NOTE.format(bound) in told
    # A looser bound is named as well, and kept.
    document, told = answered(
        capsys, tmp_path, command, "small-building", plan, "--bound", "damage=3", code=0
    )
    assert NOTE.format(3) in told
    # The bounds of the file count only for who asks for them.
    document, told = answered(capsys, tmp_path, command, stricter, plan, "--bounds-of", "plan", code=0)
    assert told == ""
    document, told = answered(
        capsys, tmp_path, command, stricter, plan, "--bounds-of", "plan", "--bound", "damage=1", code=1
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_names_any_bounds_is_not_believed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str, command: str
) -> None:
    document = json.loads(Path(plan).read_text())
    document["bounds"]["damage"] = 1e9
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(document))
    _, told = answered(
        capsys, tmp_path, command, "small-building", str(forged), "--bound", "damage=1", code=1
    )
    assert "made for damage at most 1e+09" in told


def test_the_page_names_both_bounds(capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str) -> None:
    answered(capsys, tmp_path, "report", "small-building", plan, "--bound", "damage=1", code=1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "made for damage at most 2, and is judged by damage at most 1" in page
    assert "which breaks the bound of 1" in page


def test_replanning_spends_the_budget_of_the_problem(
    capsys: pytest.CaptureFixture[str], plan: str, stricter: str
) -> None:
    left = {}
    for bounds_of in ("problem", "plan"):
        given = ["--at", "start", "--spent", "damage=0.5", "--bounds-of", bounds_of, "--json", "--quiet"]
        assert main(["replan", stricter, plan, *given]) == 0
        left[bounds_of] = json.loads(capsys.readouterr().out)["constraints"]["damage"]["at_most"]
    assert left == {"problem": 1.0, "plan": 1.5}


def test_a_search_resumes_under_the_bounds_of_the_problem(
    capsys: pytest.CaptureFixture[str], plan: str, stricter: str
) -> None:
    found = {}
    for bounds_of in ("problem", "plan"):
        assert main(["solve", stricter, "--resume", plan, "--bounds-of", bounds_of, "--json", "--quiet"]) == 0
        printed = capsys.readouterr()
        found[bounds_of] = json.loads(printed.out)["constraints"]["damage"]
        broken = "breaks the bounds (damage 1.89686 of at most 1.5)"
        assert (broken in printed.err) is (bounds_of == "problem")
    assert found["problem"]["at_most"] == 1.5
    assert found["problem"]["expected"] <= 1.5 * (1 + 1e-9)
    assert found["plan"]["at_most"] == 2.0


def test_the_command_that_verifies_a_certificate_is_complete(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    proof = tmp_path / "the proof.cert"
    given = ["--bound", "damage=1.5", "--set", "locked=30%", "--certificate", str(proof)]
    assert main(["solve", "small-building", *given, "--quiet"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("Verify it: hcssp ")
    assert command == f"check small-building --set locked=3/10 --bound damage=1.5 '{proof}'"
    asked = ["check", "small-building", str(proof), "--set", "locked=3/10", "--quiet"]
    assert main([*asked, "--bound", "damage=1.5"]) == 0
    # A proof about other bounds says nothing about the problem.
    assert main(asked) == 2
    told = capsys.readouterr().err
    assert "1.5" in told
    assert "2.0" in told
    assert "to check it under its own bounds, add --bound damage=1.5" in told


def test_a_name_may_contain_the_sign_that_a_value_follows() -> None:
    """A number never contains "=", so that the last one separates."""
    assert arguments.bound("wear=tear = 50%") == ("wear=tear", 0.5)
    assert arguments.chance("x=1=1/4") == ("x=1", 0.25)
    assert arguments.setting("a=b=0.1") == ("a=b", Fraction(1, 10))
    assert arguments.axis("a=b=1,2") == ("a=b", [1, 2])
    assert arguments.bound_axis("a=b=1,inf") == ("a=b", [1.0, inf])
