"""Processes of this machine as an executor that survives the death of any of them.

The executors of the standard library give up as a whole when one of their processes is killed. Here each
process has its own pipe and its own thread that listens: the task of a dead one fails with
:class:`LostWorker`, the others never notice, and a new process takes its place.

Processes are started afresh (*spawn*), with one thread for linear algebra each. They ignore Ctrl-C, which is
the coordinator's business, and end when it does, however that happens.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

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


class _Waiting(NamedTuple):
    """Who waits for an answer, the call, and whether its process has nothing to do as good as at once."""

    future: Future[Any]
    call: tuple[Any, ...]
    brief: bool


class ProcessWorkers(Executor):
    """So many processes, each working on one task at a time.

    Parameters
    ----------
    jobs
        How many.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._desk = _Desk(jobs)
        self._lanes = [_Lane(self._desk) for _ in range(jobs)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if kwargs:
            raise TypeError("tasks take positional arguments only")
        waiting = _Waiting(Future(), (fn, args), False)
        self._desk.put(waiting)
        return waiting.future

    def warm_up(self, function: Callable[[], object], count: int) -> list[Future[Any]]:
        """Start processes until there are so many; each of these calls a function that takes no time."""
        missing = min(count, self.jobs) - self._desk.expected()
        calls = [_Waiting(Future(), (function, ()), True) for _ in range(missing)]
        for call in calls:
            self._desk.put(call)
        return [call.future for call in calls]

    @property
    def process_ids(self) -> list[int]:
        """The processes that are running at this moment."""
        return [lane.process_id for lane in self._lanes if lane.process_id is not None]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after what was submitted if `wait` is true, else now."""
        if not wait or cancel_futures:
            for each in self._desk.cleared():
                each.future.cancel()
        for _ in self._lanes:
            self._desk.put(None)
        if not wait:
            for lane in self._lanes:
                lane.kill()
        for lane in self._lanes:
            lane.join()


class _Desk:
    """Where tasks wait: no process is started while one that is there has nothing to do.

    Parameters
    ----------
    lanes
        How many take tasks from here.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._waiting: deque[_Waiting | None] = deque()
        # Those whose process is there, or is being started; and those of them that have nothing to do.
        self._there: set[_Lane] = set()
        self._resting: set[_Lane] = set()
        self._changed = threading.Condition()

    def put(self, task: _Waiting | None) -> None:
        """Let a task wait, or the word that there will be no more, for one lane."""
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()

    def rest(self, lane: _Lane) -> None:
        """The process of a lane has nothing to do; to be said before its answer brings the next task."""
        with self._changed:
            self._resting.add(lane)

    def take(self, lane: _Lane, is_there: bool) -> _Waiting | None:
        """Wait for a task for a lane, whose process is there or would have to be started."""
        with self._changed:
            if is_there:
                self._resting.add(lane)
            else:
                # A process that was counted on may have died.
                self._there.discard(lane)
                self._resting.discard(lane)
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_for(is_there))
            task = self._waiting.popleft()
            self._there.add(lane)
            if task is not None and task.brief:
                self._resting.add(lane)
            else:
                self._resting.discard(lane)
            return task

    def _is_for(self, is_there: bool) -> bool:
        """Whether the first task is for a process that is there, or one that is not."""
        if not self._waiting:
            return False
        first = self._waiting[0]
        if first is not None and first.brief:
            # It was asked for to start one.
            return not is_there or len(self._there) == self._lanes
        return is_there or len(self._waiting) > len(self._resting)

    def expected(self) -> int:
        """How many processes are there, or will be for what is waiting only to start them."""
        with self._changed:
            return len(self._there) + sum(task is not None and task.brief for task in self._waiting)

    def cleared(self) -> list[_Waiting]:
        """The tasks that nobody will take any more."""
        with self._changed:
            waiting = [task for task in self._waiting if task is not None]
            self._waiting.clear()
            return waiting


class _Lane:
    """One process after another, and the thread that gives it work."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk
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
        while (waiting := self._desk.take(self, self._process is not None)) is not None:
            future, call, _ = waiting
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
                self._desk.rest(self)
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
            with one_thread_each(), _not_interrupted():
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


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Let Ctrl-C pass by processes that are started now, from their first instant: they inherit it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting it, which the first process would do, ends with a mask of its own.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection[Any, Any]) -> None:
    """The life of a worker process."""
    # What is imported for the first task stays: it would be looked through again and again for nothing.
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    work_in_one_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            function, arguments = pipe.recv()
            gc.enable()
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
