from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hcssp.cli import main
from hcssp.cli.interruption import Interruption
from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.solver import Context
from hcssp.contract.stop import Gap

pytestmark = pytest.mark.slow

# A gap that no proof of this size of problem reaches while a test waits.
LONG = ["solve", "evacuation", "--bound", "damage=5", "--gap", "0", "--json", "--verbose"]


def test_a_signal_leaves_the_incumbent_and_exit_code_130() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "hcssp", *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        for line in process.stderr:
            if "incumbent" in line:
                break
        process.send_signal(signal.SIGTERM)
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
        assert interruption.watching([Gap(0.1)])(done) == Ending(Reason.GAP)
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
        assert interruption.watching([])(Progress()) == Ending(Reason.INTERRUPTED)
