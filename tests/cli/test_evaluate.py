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


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["evaluate", "small-building", *arguments, "--json", "--quiet"]) == code
    return json.loads(capsys.readouterr().out)


def test_everything_is_recomputed(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    document = evaluated(capsys, plan)
    assert document["keeps_bounds"] is True
    assert document["cost"] == pytest.approx(27.7191165)
    assert document["constraints"] == {"damage": {"expected": pytest.approx(1.8968648), "at_most": 2.0}}
    assert document["violations"] == {}
    assert document["residual"] < 1e-12
    assert document["choices"]["start"] == "go-to-door"
    assert document["activities"]["go-to-E"]["cost"] is None
    assert document["claimed"]["cost"] == pytest.approx(document["cost"])


def test_a_broken_bound_is_exit_code_1(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    document = evaluated(capsys, plan, "--bound", "damage=1.5", code=1)
    assert document["keeps_bounds"] is False
    assert document["violations"] == {"damage": pytest.approx(0.3968648)}
    # What was proven for another bound is not claimed for this one.
    assert document["claimed"]["lower_bound"] is None
    assert main(["evaluate", "small-building", plan, "--bound", "damage=1.5", "--quiet"]) == 1
    printed = capsys.readouterr().out
    assert "1.896865 expected, at most 1.5 allowed (the plan was made for 2): broken, by 0.396865" in printed
    assert printed.endswith("The plan does NOT keep the bounds.\n")


def test_the_evaluation_in_words(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["evaluate", "small-building", plan, "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert f"{plan}, a plan for small-building: expected time 27.719117" in printed.out
    assert "at start  go-to-door (rather than go-to-E)" in printed.out
    assert "damage: 1.896865 expected, at most 2 allowed: kept" in printed.out
    assert "expected time 27.719117, which is correct" in printed.out
    assert "no plan that keeps these bounds has an expected time below 27.7191" in printed.out
    assert "by the method 'exact' (a claim, not checked here)" in printed.out
    assert printed.out.endswith("The plan keeps the bounds.\n")


def changed(plan: str, folder: Path, **fields: Any) -> str:
    document = json.loads(Path(plan).read_text()) | fields
    path = folder / "changed.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_a_claim_that_is_not_so_is_refused(
    capsys: pytest.CaptureFixture[str], plan: str, tmp_path: Path
) -> None:
    path = changed(plan, tmp_path, upper_bound=28.0, lower_bound=None)
    assert main(["evaluate", "small-building", path, "--quiet"]) == 2
    assert "it claims an expected cost of 28, but it is 27.7191165" in capsys.readouterr().err
    path = changed(plan, tmp_path, upper_bound=None, lower_bound=None)
    assert main(["evaluate", "small-building", path, "--quiet"]) == 0
    assert "nothing about these bounds" in capsys.readouterr().out


def test_a_plan_that_gets_stuck_is_refused(
    capsys: pytest.CaptureFixture[str], plan: str, tmp_path: Path
) -> None:
    policy = json.loads(Path(plan).read_text())["policy"]
    policy["choices"][1]["choice"] = None
    path = changed(plan, tmp_path, policy=policy)
    assert main(["evaluate", "small-building", path, "--quiet"]) == 2
    assert (
        f"{path}: the policy has no action in state 'at-door', which it can enter" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bound", "smoke=2"], "there is no constraint 'smoke'"),
        (["--bound", "damage=x"], "the bound on 'damage': 'x' is not a number"),
        (["--runs", "3"], "unknown option --runs; see hcssp evaluate --help"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], plan: str, arguments: list[str], message: str) -> None:
    assert main(["evaluate", "small-building", plan, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_progress_is_told_on_stderr(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    assert main(["evaluate", "small-building", plan, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)
    assert printed.err.splitlines() == ["reading small-building", f"evaluating {plan}"]
