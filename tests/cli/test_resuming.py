"""``--out`` and ``--resume``: a run that is killed loses a few seconds of its search, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.cli import plans as saving
from hcssp.cli.running import INTERRUPTED
from hcssp.files.search_file import search_path
from hcssp.methods.policy_branching import PolicySearch
from running_processes import HANG_GUARD, assert_gone

pytestmark = pytest.mark.slow

COORDINATOR = """
import sys, time
from hcssp.cli import main, plans
from dataclasses import replace
from hcssp.methods import parallel_search
from hcssp.workers import Workers

def save_and_wait(saver):
    error = honest(saver)
    if search_path.exists() and coordinators and not waited:
        # Once: an interrupt ends the wait, and the search is saved again after it.
        waited.append(True)
        print(*coordinators[0]._workers.process_ids, flush=True)
        time.sleep(3600)
    return error

if __name__ == "__main__":
    from pathlib import Path
    from hcssp.files.search_file import search_path as beside
    search_path = beside(Path(sys.argv[sys.argv.index("--out") + 1]))
    coordinators, waited = [], []
    take = parallel_search.ParallelSearch._take_back
    parallel_search.ParallelSearch._take_back = (
        lambda self, task: (coordinators.append(self), take(self, task))
    )
    parallel_search.DEFAULT_PARAMETERS = replace(
        parallel_search.DEFAULT_PARAMETERS, alone_seconds=0.0, alone_nodes=1, scarce_seconds=0.0
    )
    warm_up = Workers.warm_up
    Workers.warm_up = lambda *given: [each for each in warm_up(*given) if each.result()]
    plans._SAVE_SEARCH_EVERY = plans._SAVING_SHARE = 0.0
    honest = plans.PlanSaver._save_search
    plans.PlanSaver._save_search = save_and_wait
    sys.exit(main(sys.argv[1:]))
"""


def solved(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["solve", "small-building", "--json", "--quiet", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def started(out: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A search by two processes that has saved what is left of it, and waits; and its workers."""
    script = out.with_name("coordinator.py")
    script.write_text(COORDINATOR, encoding="utf-8")
    command = [sys.executable, str(script), "solve", "small-building", "--jobs", "2", "--out", str(out)]
    coordinator = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert coordinator.stdout is not None
    workers = [int(word) for word in coordinator.stdout.readline().split()]
    assert workers
    return coordinator, workers


def test_a_coordinator_that_is_killed_goes_on_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "plan.json"
    coordinator, workers = started(out)
    with coordinator:
        coordinator.send_signal(signal.SIGKILL)
    assert_gone(workers)
    assert search_path(out).exists()
    proved: list[bool] = []
    honest = PolicySearch.solve
    monkeypatch.setattr(
        PolicySearch, "solve", lambda self, *node: (proved.append(True), honest(self, *node))[1]
    )
    again = solved(["--resume", str(out), "--out", str(out)], capsys)
    alone = solved([], capsys)
    assert again["status"] == alone["status"] == "optimal"
    assert again["upper_bound"] == pytest.approx(alone["upper_bound"], rel=1e-9)
    # It went on with the regions that were left, and has done with them.
    assert proved
    assert not search_path(out).exists()


def test_an_interrupt_ends_the_workers_and_saves(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    coordinator, workers = started(out)
    search_path(out).unlink()
    with coordinator:
        # As from a terminal: all processes of the command get it.
        os.killpg(coordinator.pid, signal.SIGINT)
        try:
            told, _ = coordinator.communicate(timeout=HANG_GUARD)
        finally:
            coordinator.kill()
    assert coordinator.returncode == INTERRUPTED
    assert "small-building: least expected time" in told
    assert_gone(workers)
    assert out.exists()
    assert search_path(out).exists()


@pytest.fixture
def stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a search that was out of time after its first split."""
    out = tmp_path / "plan.json"
    ticks = iter(range(10**6))
    monkeypatch.setattr("hcssp.contract.progress.MaxRuntime.__call__", _after_a_split(ticks))
    main(["solve", "small-building", "--quiet", "--time-limit", "1000", "--out", str(out)])
    capsys.readouterr()
    monkeypatch.undo()
    return out


def _after_a_split(ticks: Any) -> Any:
    from hcssp.contract.proof import Reason

    return lambda self, progress: Reason.TIME_LIMIT if next(ticks) > 12 else None


def test_a_search_without_a_plan_goes_on_too(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search_path(stopped).exists()
    stopped.unlink()
    again = solved(["--resume", str(stopped)], capsys)
    assert again["status"] == "optimal"


def test_a_damaged_search_is_left_out(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search_path(stopped).write_bytes(search_path(stopped).read_bytes()[:100])
    assert main(["solve", "small-building", "--json", "--quiet", "--resume", str(stopped)]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["status"] == "optimal"
    assert "plan.json is left out: " in told.err
    assert "this is not JSON" in told.err
    # Without a plan there is nothing to go on with.
    stopped.unlink()
    assert main(["solve", "small-building", "--quiet", "--resume", str(stopped)]) == 2


def test_under_other_bounds_the_regions_are_left_alone(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = solved(["--resume", str(stopped), "--bound", "damage=3"], capsys)
    assert again["upper_bound"] == pytest.approx(15.5535, rel=1e-5)


def test_a_search_is_saved_seldom_if_that_takes_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[float] = []
    monkeypatch.setattr(saving, "_SAVE_SEARCH_EVERY", 0.0)
    monkeypatch.setattr(saving, "_SAVING_SHARE", 1e9)
    honest = saving.PlanSaver._save_search
    monkeypatch.setattr(
        saving.PlanSaver, "_save_search", lambda self: (saved.append(time.perf_counter()), honest(self))[1]
    )
    solved(["--out", str(tmp_path / "plan.json")], capsys)
    assert len(saved) == 1
