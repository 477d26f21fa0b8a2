from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.cli.plans import Watching
from hcssp.cli.running import Interruption
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap, Progress
from hcssp.contract.proof import Ending, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.solving.solve import Findings
from hcssp.start import SIGNALS

pytestmark = pytest.mark.slow

# A gap that no proof of this size of problem reaches while a test waits.
LONG = ["solve", "evacuation", "--bound", "damage=5", "--gap", "0", "--json", "--verbose"]


@pytest.mark.parametrize("sent", SIGNALS, ids=lambda sent: sent.name)
def test_a_signal_leaves_the_incumbent_and_exit_code_130(sent: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "hcssp", *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        for line in process.stderr:
            if "incumbent" in line:
                break
        process.send_signal(sent)
        told = process.stderr.read()
        document = json.loads(process.stdout.read())
    assert process.returncode == 130
    assert "interrupted; the plan is the best one so far" in told
    assert document["stopped_by"] == "interrupted"
    assert document["status"] == "feasible"
    assert document["constraints"]["damage"]["expected"] <= 5.0 + 1e-8
    assert document["lower_bound"] <= document["upper_bound"]


class Interrupted:
    """A solver that is sent a signal before it has found anything."""

    name = "interrupted"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        yield Progress(lower_bound=1.0)
        os.kill(os.getpid(), signal.SIGTERM)
        yield Progress(lower_bound=2.0)


def test_without_an_incumbent_it_is_130_all_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.cli.solve.make_solver", lambda *arguments: Interrupted())
    assert main(["solve", "small-building", "--json", "--quiet"]) == 130
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["status"] == "unknown"
    assert document["lower_bound"] == 1.0
    assert "no feasible policy was found before the stop (interrupted)" in told.err


def test_a_signal_before_the_work_waits_for_it() -> None:
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            interruption.begin()


def test_a_signal_after_the_end_does_not_lose_the_plan() -> None:
    done = Progress(lower_bound=1.0, upper_bound=1.0)
    with Interruption() as interruption:
        interruption.begin()
        assert Watching(interruption, [Gap(0.1)])(done) == Ending(Reason.GAP)
        os.kill(os.getpid(), signal.SIGINT)
    with Interruption() as interruption:
        interruption.begin()
        interruption.look(Progress(ending=Ending(Reason.PROVED)))
        os.kill(os.getpid(), signal.SIGTERM)


def test_who_insists_gets_through() -> None:
    with Interruption():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_the_handlers_of_before_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_swallowed_interruption_is_noticed_at_the_next_step() -> None:
    with Interruption() as interruption:
        interruption.begin()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert Watching(interruption, [])(Progress()) == Ending(Reason.INTERRUPTED)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
@pytest.mark.parametrize("ignored", [True, False])
def test_a_command_that_ignores_hangups_continues(ignored: bool) -> None:
    """As ``nohup hcssp ...`` does. The process that runs the tests may itself ignore them."""
    handler = signal.SIG_IGN if ignored else signal.SIG_DFL
    process = subprocess.run(
        [sys.executable, "-c", "from hcssp.start import SIGNALS; print(*(each.name for each in SIGNALS))"],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, handler),
    )
    assert {"SIGINT", "SIGTERM"} <= set(process.stdout.split())
    assert ("SIGHUP" not in process.stdout.split()) == ignored


@pytest.mark.parametrize("instant", ["before", "within", "after"])
def test_a_signal_around_the_search_keeps_the_best_plan(
    instant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A signal just before solve is called, in its evaluation, or just after it has returned."""
    path = tmp_path / "plan.json"
    assert main(["solve", "small-building", "-q", "--bound", "damage=2", "--out", str(path)]) == 0
    capsys.readouterr()
    solve, conclude = import_module("hcssp.solving.solve").solve, Findings.conclude

    def signalled(*given: Any, **options: Any) -> Plan:
        if instant == "before":
            signal.raise_signal(signal.SIGTERM)
        plan: Plan = solve(*given, **options)
        if instant == "after":
            raise KeyboardInterrupt
        return plan

    def concluded(self: Findings, *given: Any) -> Plan:
        if instant == "within":
            monkeypatch.setattr(Findings, "conclude", conclude)
            raise KeyboardInterrupt
        return conclude(self, *given)

    monkeypatch.setattr("hcssp.solving.solve.solve", signalled)
    monkeypatch.setattr(Findings, "conclude", concluded)
    given = ["solve", "small-building", "--resume", str(path), "--bound", "damage=3", "--json", "-q"]
    assert main(given) == 130
    document = json.loads(capsys.readouterr().out)
    assert document["stopped_by"] == "interrupted"
    assert document["constraints"]["damage"]["expected"] <= 3.0 + 1e-8
