"""A real Dask cluster of two workers on this machine: the same optima as one process, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hazard_grid import stages
from hcssp.cli import main
from hcssp.comparison.measuring import measure_all
from hcssp.comparison.suite import Instance
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Reason
from hcssp.cssp.model import CSSP
from hcssp.files.search_file import load_search
from hcssp.methods import parallel_search
from hcssp.procedure.model import HCSSP
from hcssp.solving.solve import solve
from random_problems import random_cssp
from random_procedures import random_procedure
from running_processes import HANG_GUARD, assert_gone, measurements_of

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="pip install 'hcssp[dask]'")

PROBLEMS: list[CSSP | HCSSP] = [
    *(stages(6, seed=seed) for seed in (0, 1, 4)),
    stages(7, constraints=1, seed=1),
    stages(6, constraints=3, seed=1),
    stages(6, seed=4, tightness=0.1),
    *(random_cssp(seed) for seed in (26, 55)),
    *(random_procedure(seed) for seed in (1, 2)),
]


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are called at once and answer after one node each: small problems go back and forth."""
    eager = parallel_search.ParallelParameters(alone_seconds=0.0, alone_nodes=1, scarce_seconds=0.0)
    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", eager)
    monkeypatch.setattr("hcssp.workers.SECONDS_TO_CONNECT", HANG_GUARD)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as opened:
        yield opened


@pytest.mark.parametrize("index", range(len(PROBLEMS)))
def test_two_workers_find_the_optimum_of_one_process(client: Any, index: int) -> None:
    problem = PROBLEMS[index]
    alone, together = solve(problem, stop=[]), solve(problem, stop=[], executor=client)
    assert (together.status, together.ending) == (alone.status, alone.ending)
    assert together.upper_bound == pytest.approx(alone.upper_bound, rel=1e-9)
    # Bounds may be exceeded by a tolerance, and at high prices a proof that ends elsewhere tells that apart.
    assert together.lower_bound == pytest.approx(alone.lower_bound, rel=1e-7)


def test_the_command(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = cluster.scheduler_address
    assert main(["solve", "small-building", "--json", "--verbose", "--scheduler", scheduler]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["upper_bound"] == pytest.approx(27.7191, abs=1e-4)
    assert "2 workers" in captured.err


def test_instances_of_a_benchmark(
    cluster: Any, client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--problem", "small-building", "--method", "exact", "--method", "lp", "--peer", "none"]
    where = ["--scheduler", cluster.scheduler_address, "--out", str(tmp_path)]
    assert main(["bench", *chosen, *where, "--json", "--time-limit", "600"]) == 0
    exact, lp = json.loads(capsys.readouterr().out)["measurements"]
    assert exact["upper_bound"] == pytest.approx(27.7191, abs=1e-4)
    assert (exact["status"], lp["status"]) == ("optimal", "optimal")
    # One worker is killed over a run, and another makes it.
    slow = (Instance("campus"), "milp")
    measurements = measure_all([(Instance("small-building"), "lp"), slow], 600.0, client)
    assert next(measurements).solver == "lp"
    running = measurements_of(client.run(os.getpid).values())
    (victim,) = running.values()
    os.kill(victim, signal.SIGKILL)
    assert_gone(running)
    again = measurements_of(client.run(os.getpid).values())
    measurements.close()
    # On a cluster of somebody else's a run goes on until its time limit.
    for process in again:
        os.kill(process, signal.SIGKILL)
    assert_gone(again)


SEARCH = """
import sys, time
from distributed import Client
from hcssp import solve
from hcssp.extend import save_search, SearchRecord
from hcssp.methods import parallel_search
from hazard_grid import stages

if __name__ == "__main__":
    parallel_search.DEFAULT_PARAMETERS = parallel_search.ParallelParameters(
        alone_seconds=0.0, alone_nodes=1, scarce_seconds=0.0
    )
    problem, record = stages(8, seed=4), SearchRecord()

    def save(progress):
        if progress.workers and progress.iterations > 15:
            save_search(sys.argv[2], problem, record)
            print("saved", flush=True)
            time.sleep(3600)

    with Client(sys.argv[1]) as client:
        solve(problem, stop=[], executor=client, record=record, on_progress=save)
"""


def test_a_coordinator_that_is_killed_goes_on_later(cluster: Any, client: Any, tmp_path: Path) -> None:
    script, saved = tmp_path / "search.py", tmp_path / "search"
    script.write_text(SEARCH, encoding="utf-8")
    command = [sys.executable, str(script), cluster.scheduler_address, str(saved)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "saved\n"
        killed.send_signal(signal.SIGKILL)
    problem = stages(8, seed=4)
    record = load_search(saved, problem)
    assert len(record) > 3
    plan = solve(problem, stop=[], executor=client, record=record)
    alone = solve(problem, stop=[])
    assert plan.upper_bound == pytest.approx(alone.upper_bound, rel=1e-9)
    assert plan.lower_bound == pytest.approx(alone.lower_bound, rel=1e-9)
    assert plan.ending.reason is Reason.PROVED


def test_a_worker_that_is_killed_costs_nothing_but_time(client: Any) -> None:
    problem = stages(8, seed=3)
    alone = solve(problem, stop=[])
    victims: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.workers and not victims:
            victims.extend(client.run(os.getpid).values())
            os.kill(victims[0], signal.SIGKILL)

    plan = solve(problem, stop=[], executor=client, on_progress=kill_one)
    assert victims
    assert plan.upper_bound == pytest.approx(alone.upper_bound, rel=1e-9)
    assert plan.lower_bound == pytest.approx(alone.lower_bound, rel=1e-9)
    assert plan.ending.reason is Reason.PROVED
