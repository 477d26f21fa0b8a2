from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

import worker_tasks
from hcssp import workers as working
from hcssp.deadline import until
from hcssp.errors import MissingDependency
from hcssp.workers import NoCluster, open_workers
from running_processes import HANG_GUARD

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="pip install 'hcssp[dask]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Threads of this process, for what does not depend on where the workers are."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as opened:
        yield opened


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that is there has all the time it needs to answer."""
    monkeypatch.setattr("hcssp.workers.SECONDS_TO_CONNECT", HANG_GUARD)


def test_a_client_s_workers_get_what_is_shared(cluster: Any) -> None:
    with distributed.Client(cluster, set_as_default=False) as client:
        workers = open_workers(executor=client)
        assert workers.count == 2
        shared = workers.share({"a": 1})
        for _ in range(3):
            workers.submit(worker_tasks.size_of, shared)
        assert [task.result() for task in workers.as_completed()] == [1, 1, 1]
        workers.close()
        assert client.submit(abs, -1).result() == 1


@pytest.mark.usefixtures("patient")
def test_a_scheduler_is_connected_to(cluster: Any) -> None:
    with open_workers(scheduler=cluster.scheduler_address) as workers:
        task = workers.submit(worker_tasks.refuse)
        assert list(workers.as_completed()) == [task]
        with pytest.raises(Exception, match="this is wrong"):
            task.result()


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.workers.SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(NoCluster, match=r"127.0.0.1:9': there is none .* start one with 'dask scheduler'"):
        open_workers(scheduler="tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["nowhere", "post://here:1", "inproc://x", "tls://127.0.0.1:9"])
def test_what_is_no_address_of_a_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    states: list[str] = []
    close = distributed.Client.close

    def watched(client: Any, *arguments: Any, **named: Any) -> Any:
        states.append(client.status)
        return close(client, *arguments, **named)

    monkeypatch.setattr(distributed.Client, "close", watched)
    with pytest.raises(NoCluster, match=rf"{address}': there is none .* such as tcp://localhost:8786"):
        open_workers(scheduler=address)
    gc.collect()
    # A client that was never opened is not waited for, nor does it complain when it is thrown away.
    assert set(states) <= {"closed"}
    assert not complaints


@pytest.mark.usefixtures("patient")
def test_a_scheduler_without_workers() -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        pytest.raises(NoCluster, match="has no workers; start some with 'dask worker"),
    ):
        open_workers(scheduler=empty.scheduler_address)


@pytest.mark.usefixtures("patient")
def test_workers_of_another_version(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.workers.__version__", "0.0.1")
    monkeypatch.setattr("hcssp.workers._version", worker_tasks.another_version)
    with pytest.raises(NoCluster, match=r"has version 9.9 of hcssp, not 0.0.1; install the same there"):
        open_workers(scheduler=cluster.scheduler_address)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingDependency, match=r"pip install 'hcssp\[dask\]'"):
        open_workers(scheduler="tcp://localhost:8786")


def test_a_scheduler_that_is_not_there_is_not_waited_for_beyond_the_deadline() -> None:
    with until(-inf), pytest.raises(NoCluster, match=r"after 0\.1"):
        open_workers(scheduler="tcp://127.0.0.1:9")


def threads_of_this_process(count: int) -> Any:
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    )


def test_what_is_shared_outlives_the_worker_that_had_it() -> None:
    with threads_of_this_process(2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        with open_workers(executor=client) as workers:
            shared = workers.share({"a": 1})
            workers.submit(worker_tasks.size_of, shared)
            assert [task.result() for task in workers.as_completed()] == [1]
            (address,) = {who for who, keys in client.has_what().items() if keys}
            (holder,) = (each for each in cluster.workers.values() if each.worker_address == address)
            client.sync(holder.close, executor_wait=False)
            for _ in range(3):
                workers.submit(worker_tasks.size_of, shared)
            assert [task.result() for task in workers.as_completed()] == [1, 1, 1]
            assert workers.lost == 0
        # Nor does it stay there when the work is over.
        client.sync(wait_until_forgotten, cluster.scheduler)


async def wait_until_forgotten(scheduler: Any) -> None:
    deadline = time.monotonic() + HANG_GUARD
    while time.monotonic() < deadline:
        if not scheduler.tasks:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"the scheduler still has {list(scheduler.tasks)}")


def test_a_cluster_that_has_lost_all_workers_leaves_the_work_to_this_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(working, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(working, "WORKERLESS_SECONDS", 0.05)
    with (
        threads_of_this_process(1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        open_workers(executor=client) as workers,
    ):
        shared = workers.share({"a": 1, "b": 2})
        workers.submit(worker_tasks.size_of, shared)
        assert [task.result() for task in workers.as_completed()] == [2]
        cluster.scale(0)
        client.sync(cluster._correct_state)
        tasks = {workers.submit(worker_tasks.size_of, shared) for _ in range(2)}
        assert set(workers.as_completed()) == tasks
        assert [task.result() for task in tasks] == [2, 2]
    assert "the workers are gone (there has been none for a while)" in caplog.text
