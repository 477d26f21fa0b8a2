"""Faults that nobody foresaw, a lack of memory, and the time limit: whatever ends the work keeps the plan."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.cli.running import Interruption
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Context, Problem
from hcssp.files.plan_file import load_plan
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.reports.plan_text import plan_document
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.start import is_command


class Failing:
    """A solver that fails once it has a plan."""

    name = "failing"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        for progress in PolicyBranching().iterate(problem, context):
            yield progress
            if progress.incumbent is not None:
                raise self.error


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(
        "hcssp.cli.solve.make_solver", lambda *arguments: Failing(ZeroDivisionError("one\ntwo"))
    )
    return tmp_path


def test_a_fault_is_one_line_that_says_how_to_report_it(
    failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "small-building", "-q"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "a bug in hcssp, not of your input (ZeroDivisionError: one)" in line
    found = re.search(r"in (\S+hcssp-fault-\S+\.txt)", line)
    assert found is not None
    details = Path(found[1]).read_text()
    assert "arguments: ['solve', 'small-building', '-q']" in details
    assert "Traceback" in details


def test_after_a_fault_the_plan_is_told_and_saved_but_nothing_is_believed(
    failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = failing / "plan.json"
    assert main(["solve", "small-building", "-q", "--json", "--out", str(path)]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["stopped_by"] == "failed"
    assert document["lower_bound"] is None
    plan = load_plan(path, small_building())
    assert plan.evaluate().cost("time") == pytest.approx(document["upper_bound"])


class Deceived:
    """A solver that takes a plan which breaks its bounds for one that keeps them."""

    name = "deceived"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        loose = solve(problem.with_bounds(damage=1e6))
        policy = loose.policy.under(problem)  # type: ignore[arg-type]
        yield Progress(lower_bound=1.0, upper_bound=loose.upper_bound, incumbent=policy)


def test_a_plan_that_breaks_its_bounds_is_not_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("hcssp.cli.solve.make_solver", lambda *arguments: Deceived())
    assert main(["solve", "small-building", "--bound", "damage=1", "-q", "--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out)["upper_bound"] is None
    assert "UnsoundResult: the policy breaks its bounds" in told.err


def test_a_lack_of_memory_ends_a_search_and_keeps_what_it_proved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.cli.solve.make_solver", lambda *arguments: Failing(MemoryError("37 GiB")))
    assert main(["solve", "small-building", "-q", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["stopped_by"] == "memory"
    assert 0.0 < document["lower_bound"] <= document["upper_bound"]


def test_a_lack_of_memory_elsewhere_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_much(*arguments: object) -> None:
        raise MemoryError("37 GiB")

    monkeypatch.setattr("hcssp.cli.session.load_problem", too_much)
    assert main(["solve", "small-building", "-q"]) == 2
    assert capsys.readouterr().err == "hcssp: error: there is not enough memory (37 GiB); ask for less\n"


def work_until_the_alarm(*arguments: object) -> None:
    """Work on for ever; the alarm that the command has set for its time limit rings now instead of later."""
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while True:
        time.sleep(0.001)


class Deaf:
    """A solver that works on without ever looking at the clock."""

    name = "deaf"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        yield Progress(lower_bound=1.0)
        work_until_the_alarm()


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no timers")
def test_the_time_limit_ends_a_solver_that_does_not_look_at_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.cli.solve.make_solver", lambda *arguments: Deaf())
    assert main(["solve", "small-building", "-q", "--json", "--time-limit", "3600"]) == 1
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["stopped_by"] == "time limit"
    assert document["lower_bound"] == 1.0


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the alarm of a time limit come as soon as the limit begins to count."""

    def at_once(self: Interruption, seconds: float) -> None:
        if seconds > 0.0:
            signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(Interruption, "_set_alarm", at_once)


WITH_TIMERS = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no timers")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A plan of the small building."""
    path = tmp_path / "plan.json"
    assert main(["solve", "small-building", "-q", "--bound", "damage=2", "--out", str(path)]) == 0
    return path


@WITH_TIMERS
@pytest.mark.parametrize("limit", ["1e-9", "1e9"])
def test_a_time_limit_hands_back_the_plan_that_was_given(
    limit: str, saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    capsys.readouterr()
    for command in (
        ["solve", "small-building", "--resume", str(saved)],
        ["replan", "small-building", str(saved), "--at", "hallway"],
    ):
        assert main([*command, "--json", "--time-limit", limit]) == 0
        told = capsys.readouterr()
        document = json.loads(told.out)
        assert (document["status"], document["stopped_by"]) == ("feasible", "time limit")
        assert document["activities"]
        assert f"the time limit of {float(limit):g} s was reached; reading took" in told.err
        assert "interrupted" not in told.err


@WITH_TIMERS
@pytest.mark.parametrize("command", ["solve", "replan", "curve", "report"])
def test_no_time_limit_is_called_an_interruption(
    command: str,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(saved.parent)
    given = [command, "small-building", *([str(saved)] if command == "replan" else []), "-q"]
    # From the start with a bound that the old plan breaks: there is no plan to fall back to.
    given += ["--bound", "damage=0.5"] if command == "replan" else []
    impatient(monkeypatch)
    capsys.readouterr()
    assert main([*given, "--time-limit", "1e-9"]) == 1
    told = capsys.readouterr().err
    assert "no plan" in told
    assert "time limit" in told
    assert "interrupted" not in told


HOMES = {"solve": "session", "curve": "grids", "report": "report", "replan": "session"}


@pytest.mark.parametrize("command", HOMES)
def test_the_time_limit_does_not_count_the_reading(
    command: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    read, seen = import_module(f"hcssp.cli.{HOMES[command]}").load_problem, list[str]()

    def reading(*arguments: Any, **options: Any) -> Any:
        seen.append("read")
        return read(*arguments, **options)

    def set_alarm(self: Interruption, seconds: float) -> None:
        seen.append("set" if seconds > 0.0 else "stopped")

    monkeypatch.setattr(f"hcssp.cli.{HOMES[command]}.load_problem", reading)
    monkeypatch.setattr(Interruption, "_set_alarm", set_alarm)
    main(
        [
            command,
            "small-building",
            *([str(saved)] if command == "replan" else []),
            "-q",
            "--time-limit",
            "1e-9",
        ]
    )
    assert [each for each in seen if each != "stopped"][:2] == ["read", "set"]


@pytest.mark.parametrize("json_too", [True, False])
def test_an_interruption_while_the_problem_is_read(
    json_too: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hcssp.cli.session.load_problem", lambda arguments: signal.raise_signal(signal.SIGINT)
    )
    options = ["--json"] if json_too else []
    assert main(["solve", "big.yaml", "-q", "--time-limit", "100", *options]) == 130
    told = capsys.readouterr()
    assert told.err == "hcssp: no plan: interrupted while big.yaml was read\n"
    if json_too:
        document = json.loads(told.out)
        assert document["status"] == "unknown"
        # A program finds all keys that it finds otherwise.
        assert document.keys() == plan_document(Plan(small_building())).keys()


def test_an_alarm_after_the_work_is_only_noted() -> None:
    with Interruption() as interruption:
        interruption.begin()
        interruption.allow(3600.0)
        interruption.end()
        signal.raise_signal(signal.SIGALRM)
        assert not interruption.expired


def test_only_the_command_changes_signals() -> None:
    assert not is_command()
    # Whoever starts us may have had it ignored.
    program = (
        "import signal; before = signal.getsignal(2); import hcssp; print(signal.getsignal(2) is before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_ctrl_c_while_modules_are_imported_leaves_no_traceback() -> None:
    # The module that is imported first interrupts its own process.
    program = (
        "import sys, os, signal; sys.orig_argv = ['python', '-m', 'hcssp']; import hcssp.start; import hcssp;"
        "os.kill(os.getpid(), signal.SIGINT); import hcssp.cli"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "hcssp: interrupted\n")


def test_a_plan_that_is_kept_is_evaluated(failing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "-q"]) == 3
    told = capsys.readouterr().out
    assert "Stopped because the underlying solver failed" in told


def test_a_command_ends_at_once_after_its_exit_functions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[object] = []
    monkeypatch.setattr("hcssp.cli.is_command", lambda: True)
    monkeypatch.setattr("hcssp.cli.atexit._run_exitfuncs", lambda: ended.append("exit functions"))
    monkeypatch.setattr("hcssp.cli.os._exit", ended.append)
    assert main(["methods"]) == 0
    assert ended == ["exit functions", 0]
