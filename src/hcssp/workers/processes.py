"""Processes of this machine as an executor that survives the death of any of them.

The executors of the standard library give up as a whole when one of their processes is killed. Here each
process has its own pipe and its own thread that listens: the task of a dead one fails with
:class:`LostWorker`, the others never notice, and a new process takes its place.

Processes are started afresh (*spawn*), with one thread for linear algebra each. They ignore Ctrl-C, which is
the coordinator's business, and end when it does, however that happens.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from hcssp.parallel import work_in_one_thread
from hcssp.workers.losses import LostWorker

THREADS_OF_LIBRARIES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""What libraries of linear algebra read when they are loaded."""

_environment = threading.Lock()


class ProcessWorkers(Executor):
    """So many processes, each working on one task at a time.

    Parameters
    ----------
    jobs
        How many.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._waiting: queue.SimpleQueue[tuple[Future[Any], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._lanes = [_Lane(self._waiting) for _ in range(jobs)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if kwargs:
            raise TypeError("tasks take positional arguments only")
        future: Future[Any] = Future()
        self._waiting.put((future, (fn, args)))
        return future

    @property
    def process_ids(self) -> list[int]:
        """The processes that are running at this moment."""
        return [lane.process_id for lane in self._lanes if lane.process_id is not None]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after what was submitted if `wait` is true, else now."""
        if not wait or cancel_futures:
            with suppress(queue.Empty):
                while (waiting := self._waiting.get_nowait()) is not None:
                    waiting[0].cancel()
        for _ in self._lanes:
            self._waiting.put(None)
        if not wait:
            for lane in self._lanes:
                lane.kill()
        for lane in self._lanes:
            lane.join()


class _Lane:
    """One process after another, and the thread that gives it work."""

    def __init__(self, waiting: queue.SimpleQueue[Any]) -> None:
        self._waiting = waiting
        self._process: Any = None
        self._pipe: Connection[Any, Any] | None = None
        self._closed = False
        self._has_answered = False
        self._thread = threading.Thread(target=self._serve, name="hcssp worker", daemon=True)
        self._thread.start()

    @property
    def process_id(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def kill(self) -> None:
        self._closed = True
        if self._process is not None:
            self._process.kill()

    def join(self) -> None:
        self._thread.join()

    def _serve(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            future, call = waiting
            if not future.set_running_or_notify_cancel():
                continue
            try:
                answer = self._ask(call)
            except (EOFError, OSError):
                self._end()
                future.set_exception(LostWorker(_obituary(self._has_answered)))
            except BaseException as error:  # noqa: BLE001, whatever it is belongs to whoever waits for it
                future.set_exception(error)
            else:
                future.set_result(answer)
        self._end()

    def _ask(self, call: tuple[Any, ...]) -> Any:
        if self._closed:
            raise EOFError
        if self._pipe is None:
            self._start()
        pipe = self._pipe
        if pipe is None:
            raise EOFError
        pipe.send(call)
        answer = pipe.recv()
        self._has_answered = True
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _start(self) -> None:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        try:
            with one_thread_each():
                process.start()
        except BaseException:
            # As where a script starts processes while it is imported; a pipe that nobody reads would block.
            ours.close()
            raise
        finally:
            # Theirs alone: the pipe must break when they end.
            theirs.close()
        self._pipe, self._process = ours, process
        if self._closed:
            self._process.kill()

    def _end(self) -> None:
        if self._pipe is not None:
            # The process ends when its pipe does.
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.join()
            self._process = None


def _obituary(has_answered: bool) -> str:
    if has_answered:
        return "a worker process has died"
    return (
        "a worker process died before its first answer; a script that starts any must do so under "
        "if __name__ == '__main__':, since they import it"
    )


@contextmanager
def one_thread_each() -> Iterator[None]:
    """An environment in which a new process does its linear algebra in one thread."""
    with _environment:
        before = {name: os.environ.get(name) for name in THREADS_OF_LIBRARIES}
        os.environ.update(dict.fromkeys(THREADS_OF_LIBRARIES, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _work(pipe: Connection[Any, Any]) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    work_in_one_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            function, arguments = pipe.recv()
            answer = function(*arguments)
            try:
                pipe.send(answer)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                pipe.send(TypeError(f"the answer cannot be sent: {error}"))


def _end_with_parent() -> None:
    """Leave as soon as the coordinator is gone, in the middle of whatever is being done."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
