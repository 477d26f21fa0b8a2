from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import worker_tasks
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.workers import InvalidWorkers, LostWorker, Task, Workers, open_workers
from running_processes import assert_gone, is_running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with open_workers(jobs=2) as opened:
        yield opened


def chain(num_states: int) -> CSSP:
    """A chain of states that are left one after the other."""
    rows = num_states - 1
    return CSSP.unchecked(
        transitions=csr_array((np.ones(rows), (np.arange(rows), np.arange(rows) + 1)), (rows, num_states)),
        row_start=np.append(np.arange(num_states), rows),
        costs=np.ones((1, rows)),
        initial=np.eye(1, num_states)[0],
        goals=np.arange(num_states) == rows,
        cost_names=("time",),
        bounds=np.zeros(0),
        action_labels=range(rows),
        name=f"chain of {num_states}",
    )


def test_tasks_are_done_by_other_processes(workers: Workers) -> None:
    for _ in range(4):
        workers.submit(worker_tasks.process)
    found = [task.result() for task in workers.as_completed()]
    assert len(found) == 4
    assert os.getpid() not in found
    assert workers.count == 2
    assert workers.outstanding == 0


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="there are no masks of signals here")
def test_ctrl_c_passes_by_processes_from_their_first_instant(workers: Workers) -> None:
    # What they do about it themselves comes after their imports, during which they would complain.
    task = workers.submit(worker_tasks.is_deaf_to_interrupts)
    assert list(workers.as_completed()) == [task]
    assert task.result()
    assert not worker_tasks.is_deaf_to_interrupts()


def test_processes_are_started_before_there_is_work() -> None:
    with open_workers(jobs=2) as workers:
        calls = workers.warm_up(worker_tasks.process)
        assert {call.result() for call in calls} <= set(workers.process_ids)
        assert len(workers.process_ids) == 2
        assert workers.warm_up(worker_tasks.process) == []
        assert workers.outstanding == 0
    with open_workers(jobs=1) as here:
        assert here.warm_up(worker_tasks.process) == []


def test_items_are_sent_as_workers_become_free() -> None:
    with open_workers(jobs=1) as workers:
        log: list[str] = []

        def send(number: int) -> Task:
            log.append(f"send {number}")
            return workers.submit(abs, -number)

        for number, task in workers.each([1, 2], send):
            log.append(f"{number} is {task.result()}")
        assert log == ["send 1", "1 is 1", "send 2", "2 is 2"]
        for _ in workers.each([3, 4], send):
            break
        assert workers.outstanding == 0


def test_a_problem_is_opened_once_by_each(workers: Workers) -> None:
    shared = workers.share(chain(50))
    for _ in range(6):
        workers.submit(worker_tasks.look_at, shared)
    found = [task.result() for task in workers.as_completed()]
    assert {size for _, size, _ in found} == {50}
    assert sum(not again for *_, again in found) == len({process for process, *_ in found})


def test_what_is_shared_twice_is_one(workers: Workers) -> None:
    problem = chain(9)
    assert workers.share(problem) is workers.share(problem)


def test_an_error_is_raised_where_the_result_is_asked_for(workers: Workers) -> None:
    task = workers.submit(worker_tasks.refuse)
    assert list(workers.as_completed()) == [task]
    with pytest.raises(Exception, match="this is wrong") as caught:
        task.result()
    assert str(caught.value) == str(InvalidProblem(["this is wrong", "and that"]))
    assert "in refuse" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (worker_tasks.refuse_and_be_awkward, "LocalError: nobody can"),
        (worker_tasks.unsendable, "pickle"),
    ],
)
def test_what_cannot_travel_is_told_in_words(workers: Workers, function: object, said: str) -> None:
    task = workers.submit(function)  # type: ignore[arg-type]
    assert workers.next_done() is task
    with pytest.raises((RuntimeError, TypeError, AttributeError), match=said):
        task.result()


def test_the_task_of_a_worker_that_dies_is_given_to_another(workers: Workers, tmp_path: Path) -> None:
    lost = workers.lost
    task = workers.submit(worker_tasks.die_once, str(tmp_path / "died"), workers.share(chain(7)))
    assert list(workers.as_completed()) == [task]
    assert (task.result(), task.losses) == (7, 1)
    assert workers.lost == lost + 1


def test_a_task_that_kills_everybody_is_given_up(workers: Workers) -> None:
    task = workers.submit(worker_tasks.die, retries=1)
    innocent = workers.submit(worker_tasks.sleep, 0.0)
    assert set(workers.as_completed()) == {task, innocent}
    assert innocent.result() == 0.0
    with pytest.raises(LostWorker, match="after 2 workers had died"):
        task.result()


def test_nothing_is_done_within_no_time(workers: Workers) -> None:
    task = workers.submit(worker_tasks.sleep, 3600.0)
    assert workers.next_done(timeout=0.01) is None
    with pytest.raises(RuntimeError, match="not done"):
        task.result()
    workers.abandon(task)
    assert workers.next_done() is None


def test_closing_ends_the_processes_and_removes_the_files() -> None:
    opened = open_workers(jobs=2)
    directory = opened.share(chain(9)).directory
    opened.submit(worker_tasks.sleep, 0.0)
    opened.submit(worker_tasks.sleep, 3600.0)
    assert opened.next_done() is not None
    processes = opened.process_ids
    assert processes
    opened.close()
    assert not any(is_running(process) for process in processes)
    assert directory is not None
    assert not Path(directory).exists()


COORDINATOR = """
import sys, worker_tasks
from hcssp.workers import InvalidWorkers, LostWorker, Task, Workers, open_workers
if __name__ == "__main__":
    workers = open_workers(jobs=2)
    workers.submit(worker_tasks.sleep, 0.0)
    workers.submit(worker_tasks.sleep, 3600.0)
    next(workers.as_completed())
    print(*workers.process_ids, flush=True)
    next(workers.as_completed())
"""


def test_workers_do_not_outlive_a_coordinator_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "coordinator.py"
    script.write_text(COORDINATOR, encoding="utf-8")
    paths = [str(Path(worker_tasks.__file__).parent), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as coordinator:
        assert coordinator.stdout is not None
        processes = [int(word) for word in coordinator.stdout.readline().split()]
        assert processes
        coordinator.send_signal(signal.SIGKILL)
    assert_gone(processes)


def test_one_job_is_done_here() -> None:
    with open_workers(jobs=1) as workers:
        shared = workers.share(chain(5))
        for _ in range(2):
            workers.submit(worker_tasks.look_at, shared)
        found = [task.result() for task in workers.as_completed()]
    assert [(size, again) for _, size, again in found] == [(5, False), (5, True)]
    assert {process for process, *_ in found} == {os.getpid()}


def test_threads_get_what_is_shared() -> None:
    with ThreadPoolExecutor(2) as executor, open_workers(executor=executor) as workers:
        shared = workers.share(chain(7))
        workers.submit(worker_tasks.look_at, shared)
        workers.submit(worker_tasks.look_at, shared)
        assert [task.result()[1] for task in workers.as_completed()] == [7, 7]
        with open_workers(executor=workers) as borrowed:
            assert borrowed.count == 2
        workers.submit(worker_tasks.sleep, 0.0)
        assert [task.result() for task in workers.as_completed()] == [0.0]


def test_an_executor_that_breaks_leaves_the_work_to_this_process(caplog: pytest.LogCaptureFixture) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        workers = open_workers(executor=executor)
        shared = workers.share(chain(6))
        task = workers.submit(worker_tasks.look_at, shared)
        assert workers.next_done() is task
        assert task.result()[0] != os.getpid()
        executor.submit(worker_tasks.die).exception()
        workers.submit(worker_tasks.look_at, shared)
        (task,) = workers.as_completed()
        assert task.result()[:2] == (os.getpid(), 6)
        workers.close()
    assert "this process goes on alone" in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give either"),
        ({"jobs": 2, "scheduler": "tcp://localhost:1"}, "give either"),
        ({"jobs": 0}, "jobs 0: give at least 1"),
        ({"executor": "many"}, "'many' is neither an executor"),
    ],
)
def test_what_are_no_workers(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidWorkers, match=said):
        open_workers(**given)  # type: ignore[arg-type]
