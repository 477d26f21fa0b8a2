from __future__ import annotations

import json

import pytest

from hcssp.cli import main


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--bound", "damage=2", "--quiet", "--out", str(path)]) == 0
    return str(path)


def test_the_worst_case_is_told_as_json(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    # Under a wider bound than it was made for, a small error is borne.
    arguments = ["robust", "small-building", plan, "--quiet", "--json", "--bound", "damage=2.5"]
    assert main([*arguments, "--within", "1%"]) == 0
    document = json.loads(capsys.readouterr().out)
    damage = document["costs"]["damage"]
    assert document["within"] == 0.01
    assert document["keeps_bounds"] is True
    assert damage["expected"] < damage["worst"] <= damage["at_most"] == 2.5
    assert 0.01 < damage["margin"] < 1.0
    assert len(damage["influences"]) == 5
    assert main([*arguments, "--within", "50%"]) == 1
    broken = json.loads(capsys.readouterr().out)
    assert broken["costs"]["damage"]["worst"] > 2.5
    assert broken["costs"]["damage"]["margin"] == pytest.approx(damage["margin"], rel=3e-3)


def test_the_worst_case_is_told_in_words(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["robust", "small-building", plan, "--quiet", "--most", "1"]) == 1
    told = capsys.readouterr().out
    assert "If every probability may be wrong by a relative 10%" in told
    assert "damage: kept as long as no probability is wrong by more than" in told
    assert "Largest sensitivities of damage" in told


@pytest.mark.parametrize("share", ["1", "-1%", "120%", "much"])
def test_a_share_that_is_none_is_refused(share: str, capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["robust", "small-building", plan, f"--within={share}"]) == 2
    assert "--within" in capsys.readouterr().err
