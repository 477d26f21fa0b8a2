"""Saving plans while solving, and beginning with a saved one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hcssp.cli import main
from hcssp.cli.plans import PlanSaver
from hcssp.contract.progress import FirstPlan, Gap, Progress
from hcssp.contract.proof import Ending, FileClaim, Reason
from hcssp.files.plan_file import load_plan
from hcssp.scenarios import small_building
from hcssp.scenarios.scenario import find_scenario
from hcssp.solving.solve import solve

PROBLEM = small_building(2.0)

# Gaps that the first does not close while a test waits, and the second never.
LONG = ("evacuation", "damage=5")
SHARED = ("small-building", "damage=4", "--method", "budget-allocation", "--mode", "published")


def solved(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    command = ["solve", "small-building", "--json", "--quiet", *map(str, arguments)]
    assert main(command) == code
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def claim(path: Path) -> FileClaim:
    told = load_plan(path, PROBLEM).claim
    assert told is not None
    return told


def stopped(arguments: list[str], number: signal.Signals) -> tuple[int, str]:
    """The exit code and the last words of a run that gets a signal once it has told of a plan."""
    with subprocess.Popen(
        [sys.executable, "-m", "hcssp", "solve", *arguments, "--gap", "0", "--verbose"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "incumbent" in line:
                break
        process.send_signal(number)
        told = process.stderr.read()
    return process.returncode, told


@pytest.mark.parametrize(("command", "number"), [(LONG, signal.SIGKILL), (SHARED, signal.SIGINT)])
def test_whatever_ends_a_run_its_plan_is_left(
    tmp_path: Path, command: tuple[str, ...], number: signal.Signals
) -> None:
    path = tmp_path / "plan.json"
    scenario, bound, *method = command
    code, told = stopped([scenario, "--bound", bound, *method, "--out", str(path)], number)
    assert "Traceback" not in told
    killed = number == signal.SIGKILL
    assert code == (-signal.SIGKILL if killed else 130)
    assert list(tmp_path.iterdir()) == [path]
    at_most = {"damage": float(bound.removeprefix("damage="))}
    plan = load_plan(path, find_scenario(scenario).make().with_bounds(at_most))
    evaluation = plan.evaluate()
    assert plan.made_for == at_most
    assert evaluation.keeps_bounds()
    assert evaluation.cost("time") == pytest.approx(plan.upper_bound, rel=1e-9)
    assert plan.claim is not None
    assert plan.claim.lower_bound <= plan.upper_bound
    assert plan.claim.trace[-1].upper_bound == pytest.approx(plan.upper_bound, rel=1e-9)
    assert plan.ending == Ending(Reason.UNKNOWN if killed else Reason.INTERRUPTED)


def test_the_plan_is_saved_as_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    document, _ = solved(capsys, "--bound", "damage=2", "--out", path)
    plan = load_plan(path, PROBLEM)
    assert (plan.name, plan.method, plan.ending.reason) == ("small-building", "exact", "gap")
    assert plan.claim is not None
    told = (document["lower_bound"], document["upper_bound"])
    assert (plan.claim.lower_bound, plan.claim.upper_bound) == told
    assert [list(point) for point in plan.claim.trace] == [
        [value if value is not None else (-np.inf, np.inf)[index - 1] for index, value in enumerate(point)]
        for point in document["trace"]
    ]
    assert main(["solve", "small-building", "--quiet", "--out", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"The plan is saved in {path}.\n")


def test_budgets_are_saved_with_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    arguments = ["--bound", "damage=2", "--method", "budget-allocation", "--gap", "0.1"]
    document, _ = solved(capsys, *arguments, "--out", path)
    told = {
        name: activity["budget"]
        for name, activity in document["activities"].items()
        if activity["expected_executions"]
    }
    assert load_plan(path, PROBLEM).budgets == told
    # They come back with the plan.
    again, _ = solved(capsys, *arguments, "--resume", path)
    assert again["activities"] == document["activities"]


@pytest.mark.usefixtures("out_of_time")
def test_without_a_plan_an_old_file_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    solved(capsys, "--bound", "damage=-1", "--out", path, code=1)
    solved(capsys, "--time-limit", "3600", "--out", path, code=1)
    assert path.read_text() == "old"


def test_every_better_plan_is_saved_and_a_better_bound_now_and_then(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    best, worse = solve(PROBLEM, stop=Gap(0.1)), solve(PROBLEM.with_bounds(damage=1.0), stop=FirstPlan())
    cost, more = best.upper_bound, worse.upper_bound
    saver = PlanSaver(path, PROBLEM, "exact", None)
    saver(Progress(seconds=0.1, lower_bound=1.0))
    assert not path.exists()
    saver(Progress(seconds=0.2, lower_bound=1.0, upper_bound=more, incumbent=worse.policy))
    assert claim(path).upper_bound == more
    saver(Progress(seconds=0.3, lower_bound=2.0, upper_bound=more, incumbent=worse.policy))
    assert claim(path).lower_bound == 1.0
    saver(Progress(seconds=0.4, lower_bound=2.0, upper_bound=cost, incumbent=best.policy))
    assert (claim(path).lower_bound, claim(path).upper_bound) == (2.0, cost)
    saver(Progress(seconds=60.0, lower_bound=3.0, upper_bound=cost, incumbent=best.policy))
    assert claim(path).lower_bound == 3.0
    assert [point.seconds for point in claim(path).trace] == [0.1, 0.2, 0.3, 0.4, 60.0]


def test_a_disk_that_is_full_for_a_moment_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    real, calls = os.fsync, []

    def full_at_first(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full_at_first)
    document, told = solved(capsys, "--bound", "damage=2", "--out", path)
    assert f"hcssp: warning: {path}: it cannot be written: No space left on device" in told
    assert load_plan(path, PROBLEM).upper_bound == document["upper_bound"]


def test_a_plan_that_cannot_be_saved_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    document, told = solved(capsys, "--bound", "damage=2", "--out", tmp_path / "plan.json", code=2)
    assert document["status"] == "optimal"
    assert "hcssp: error: " in told.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_search_goes_on_where_it_stopped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    first, _ = solved(capsys, "--bound", "damage=2", "--gap", "0.4", "--out", path)
    assert first["gap"] > 1e-6
    # The bounds are those of the plan; its cost is known from the start, what was proven is proven again.
    second, _ = solved(capsys, "--resume", path, "--out", path)
    assert second["constraints"]["damage"]["at_most"] == 2.0
    assert second["trace"][0] == [0.0, None, pytest.approx(first["upper_bound"])]
    assert second["status"] == "optimal"
    assert claim(path).gap <= 1e-6
    third, _ = solved(capsys, "--resume", path)
    assert (third["stopped_by"], third["upper_bound"]) == ("gap", pytest.approx(second["upper_bound"]))
    assert third["trace"][0][1] is None
    assert third["lower_bound"] == pytest.approx(second["lower_bound"], rel=2e-6)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the best plan under a bound of 2, which nobody changes."""
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--quiet", "--bound", "damage=2", "--out", str(path)]) == 0
    return path


@pytest.mark.parametrize("method", ["exact", "budget-allocation", "milp", "lp"])
def test_every_method_begins_with_a_plan(
    capsys: pytest.CaptureFixture[str], saved: Path, method: str
) -> None:
    # Another bound: the plan counts, its lower bound does not.
    document, _ = solved(
        capsys, "--resume", saved, "--bound", "damage=1.9", "--method", method, "--gap", "0.1"
    )
    assert document["upper_bound"] <= 27.7191166
    assert document["trace"][0][1:] == [None, pytest.approx(27.7191165)]
    assert document["lower_bound"] <= 27.7191166


def test_a_plan_that_breaks_the_bounds_is_not_begun_with(
    capsys: pytest.CaptureFixture[str], saved: Path
) -> None:
    document, told = solved(capsys, "--resume", saved, "--bound", "damage=1")
    assert f"the plan {saved} breaks the bounds (damage 1.89686 of at most 1); starting without it" in told
    assert document["status"] == "optimal"
    assert document["trace"][0][2] is None


@pytest.fixture(scope="module")
def lie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that says of the best plan under a bound of 1 that it is the best under 2."""
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert main(["solve", "small-building", "--quiet", "--bound", "damage=1", "--out", str(path)]) == 0
    document = json.loads(path.read_text())
    document["bounds"]["damage"] = 2.0
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("method", ["exact", "lp", "milp", "budget-allocation"])
def test_a_lower_bound_that_is_a_lie_is_not_believed(
    capsys: pytest.CaptureFixture[str], lie: Path, method: str
) -> None:
    # Worth no more than its policy, which is not the best: 27.7 is. Budgets cannot prove it; what is nearest
    # to the dual's bound, within this gap, is it.
    gap = "0.086" if method == "budget-allocation" else "1e-3"
    told, _ = solved(capsys, "--resume", lie, "--method", method, "--gap", gap)
    assert told["lower_bound"] <= 27.7192
    if method != "lp":
        assert told["upper_bound"] == pytest.approx(27.7191165, rel=1e-3)


def test_a_lower_bound_above_the_cost_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lie: Path
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(json.loads(lie.read_text()) | {"lower_bound": 1e9}))
    assert main(["solve", "small-building", "--quiet", "--resume", str(path)]) == 2
    assert "the lower bound 1e+09 is above the upper bound" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "no/such/folder/plan.json"], "there is no folder no/such/folder; make it first"),
        (["--out", "."], ".: it is a folder; name a file in it"),
        (["--resume", "nothing.json"], "nothing.json: there is no such file"),
        (["--resume", "pyproject.toml"], "pyproject.toml: this is not JSON"),
    ],
)
def test_what_is_wrong_is_told_before_solving(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["solve", "small-building", "--quiet", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


def test_a_plan_for_another_problem_is_refused(capsys: pytest.CaptureFixture[str], saved: Path) -> None:
    for command in (
        ["solve", "small-building", "--scale", "2", "--resume", str(saved)],
        ["evaluate", "small-building", str(saved), "--scale", "2"],
        ["simulate", "evacuation", str(saved)],
    ):
        assert main([*command, "--quiet"]) == 2
        assert "this plan is for another problem, called 'small-building'" in capsys.readouterr().err
