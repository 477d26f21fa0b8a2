"""The referee at full length: what it prints, what it writes, and when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp.files.problem_file.loading import load
from referee import __main__ as runner
from referee.exact_policies import every_policy
from referee.judgement import OPEN, Finding
from referee.wild_problems import Case, make_case


def test_a_clean_run_is_told_in_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "judge", lambda case, method: [])
    asked = [
        "--family",
        "natural",
        "--method",
        "exact",
        "--first",
        "1",
        "--count",
        "2",
        "--out",
        str(tmp_path),
    ]
    assert runner.main(asked) == 0
    first, line, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["family", "problems", "open", "wrong"]
    assert line.split() == ["natural", "2", "0", "-"]
    assert last.startswith("2 problems in ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("family", ["loops", "retries: loops"])
def test_a_problem_about_which_a_lie_is_told_is_written_down(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(case: Case, method: str) -> list[Finding]:
        return [Finding(case.name, method, kind, "so it says") for kind in ("lower bound", OPEN)]

    monkeypatch.setattr(runner, "judge", lying)
    asked = ["--family", family, "--method", "exact", "--first", "7", "--count", "1", "--out", str(tmp_path)]
    assert runner.main(asked) == 1
    told = capsys.readouterr().out
    assert f"{family} 7, exact: lower bound: so it says" in told
    assert "lower bound 1" in told
    (written,) = tmp_path.iterdir()
    read, case = load(written), make_case(family, 7)
    assert read.bounds.tolist() == case.bounds
    costs = sorted(policy.costs for policy in every_policy(read).policies)
    assert costs == sorted(policy.costs for policy in case.truth.policies)
    story = written.read_text().splitlines()
    assert story[0] == f"# {family} 7, exact: lower bound: so it says"
    assert story[1] == f"# python -m referee --family '{family}' --first 7 --count 1"


def test_what_is_left_open_is_counted_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "judge", lambda case, method: [Finding(case.name, method, OPEN, "a gap")])
    assert runner.main(["--family", "free", "--count", "3", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["free", "3", "3", "-"]


def test_every_method_is_asked_about_some_problem() -> None:
    cases = [make_case(family, seed) for family in ("natural", "procedure: natural") for seed in range(4)]
    asked = {method for case in cases for method in runner.methods_for(case)}
    assert asked == {*runner.METHODS, runner.CURVE}
