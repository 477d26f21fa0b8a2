"""Workers: tasks executed in parallel by processes of this machine, a Dask cluster, or any executor.

A task is a function of a module and arguments that can be pickled. A large object is sent once to each worker
(:meth:`Workers.share`). Results arrive in the order of completion. A task whose worker dies is repeated by
another one.

Processes are those of :class:`concurrent.futures.ProcessPoolExecutor`, started by *spawn*. They ignore
Ctrl-C, which the coordinating process handles, and end with it. If one is killed, the pool is replaced, and
each task that was lost is repeated in a process of its own: a task that kills its process does not affect
other tasks.

Only the thread that opened the workers may use them.

>>> with open_workers(jobs=1) as workers:
...     tasks = {workers.submit(divmod, 17, number): number for number in (3, 5)}
...     {tasks[task]: task.result() for task in workers.as_completed()}
{3: (5, 2), 5: (3, 2)}
"""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from math import inf
from multiprocessing import context as contexts
from multiprocessing import parent_process, resource_tracker
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from hcssp.deadline import seconds_left
from hcssp.errors import HcsspError, MissingDependency
from hcssp.threads import work_in_one_thread
from hcssp.version import __version__

logger = logging.getLogger(__name__)

Item = TypeVar("Item")

RETRIES = 3
"""How often a task whose worker dies is repeated, by default."""

LOOK_EVERY = 1.0
WORKERLESS_SECONDS = 30.0
"""The interval at which a cluster is asked for the number of its workers, in seconds, and the time without
any worker after which this process does the work. Restarting a worker takes a few seconds."""

SECONDS_TO_CONNECT = 10
"""A scheduler that does not answer within this time is taken to be absent."""

MAX_KEPT = 8
"""The number of objects that a worker keeps between tasks; the least recently used one is dropped first."""

MAX_JOBS = 1024
"""More processes than one machine can use."""


class LostWorker(HcsspError):
    """A task was not finished because its worker died each time it was tried."""


class InvalidWorkers(HcsspError):
    """What was given as workers cannot be used as such."""


class NoCluster(HcsspError):
    """There is no Dask cluster to work with; the message says what to do."""


def open_workers(
    jobs: int | None = None, *, scheduler: str | None = None, executor: object | None = None
) -> Workers:
    """Workers to submit tasks to; close them, or use them as a context.

    Parameters
    ----------
    jobs
        The number of processes of this machine; 1 does the work in this process.
    scheduler
        The address of a Dask cluster's scheduler, such as ``tcp://localhost:8786``.
    executor
        A Dask client, any executor of :mod:`concurrent.futures`, or workers; it stays open.

    Raises
    ------
    InvalidWorkers
        If none or several of these are given, or what is given cannot be used.
    MissingDependency, NoCluster
        If Dask is not installed, or there is no cluster at `scheduler`.
    """
    given = [each for each in (jobs, scheduler, executor) if each is not None]
    if len(given) != 1:
        raise InvalidWorkers("give either a number of jobs, or a scheduler, or an executor")
    if jobs is not None:
        if jobs < 1:
            raise InvalidWorkers(f"jobs {jobs}: give at least 1")
        if jobs > MAX_JOBS:
            raise InvalidWorkers(f"jobs {jobs}: too many processes; give at most {MAX_JOBS}")
        return Workers(None if jobs == 1 else _Processes(jobs))
    if scheduler is not None:
        return Workers(_Cluster(_connected(scheduler), own=True))
    if isinstance(executor, Workers):
        return executor.borrowed()
    dask = sys.modules.get("distributed")
    if dask is not None and isinstance(executor, dask.Client):
        return Workers(_Cluster(executor, own=False))
    if isinstance(executor, Executor):
        return Workers(_Foreign(executor))
    raise InvalidWorkers(f"{executor!r} is neither an executor of concurrent.futures nor a Dask client")


@dataclass(frozen=True)
class Shared:
    """Stands for a large object among the arguments of a task; the function is given the object.

    Attributes
    ----------
    key
        Identifies the object.
    directory
        Where processes of this machine find it; None if it is sent in another way.
    """

    key: str
    directory: str | None = None


@dataclass(eq=False)
class Task:
    """A call that a worker was asked to make.

    Attributes
    ----------
    losses
        How many workers have died over it.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(repr=False)
    retries: int = RETRIES
    losses: int = 0
    _future: Future[Any] = field(default_factory=Future, repr=False)
    _outcome: Future[Any] | None = field(default=None, repr=False)

    @property
    def done(self) -> bool:
        return self._outcome is not None

    def result(self) -> Any:
        """What the function returned; what it raised is raised here.

        Raises
        ------
        LostWorker
            If its workers have died, each time it was tried.
        """
        if self._outcome is None:
            raise RuntimeError("the task is not done; wait for it with Workers.as_completed")
        return self._outcome.result()


class Workers:
    """The workers that :func:`open_workers` opens.

    Parameters
    ----------
    engine
        Makes the calls; None for this process.
    """

    def __init__(self, engine: Any = None) -> None:
        self._engine: _Foreign | None = engine
        self._is_borrowed = False
        self._outstanding: dict[Task, None] = {}
        self._things: dict[int, tuple[Any, Shared]] = {}
        self._sent: dict[str, Any] = {}
        self._workerless_since = inf
        # Borrowers share it.
        self._losses = [0]

    def borrowed(self) -> Self:
        """The same workers for a user whose ``close`` only abandons what is not done."""
        other = copy(self)
        other._is_borrowed = True
        return other

    @property
    def count(self) -> int:
        """How many tasks are worked on at a time; it may change with a cluster."""
        return 1 if self._engine is None else max(1, self._engine.count)

    @property
    def takes_part(self) -> bool:
        """Whether this process works, too; not beside a cluster or another executor."""
        return self._engine is None or isinstance(self._engine, _Processes)

    @property
    def helpers(self) -> int:
        """How many tasks are worked on at a time while this process does its share, if it takes part."""
        return self.count - 1 if self.takes_part else self.count

    @property
    def lost(self) -> int:
        """How many tasks were lost with their worker so far."""
        return self._losses[0]

    @property
    def outstanding(self) -> int:
        """How many tasks are submitted and not handed back."""
        return len(self._outstanding)

    @property
    def process_ids(self) -> list[int]:
        """The processes of this machine that were started for this and are running."""
        return self._engine.process_ids if isinstance(self._engine, _Processes) else []

    def share(self, thing: Any) -> Shared:
        """What to give to tasks in place of a large object, which then is sent once to each worker."""
        if id(thing) not in self._things:
            directory = self._engine.directory if isinstance(self._engine, _Processes) else None
            shared = Shared(uuid4().hex, directory)
            if directory is not None:
                (Path(directory) / shared.key).write_bytes(pickle.dumps(thing, protocol=5))
            self._things[id(thing)] = thing, shared
        return self._things[id(thing)][1]

    def submit(self, function: Callable[..., Any], *arguments: Any, retries: int = RETRIES) -> Task:
        """Have ``function(*arguments)`` called by a worker.

        Parameters
        ----------
        function
            A function of a module, so that workers can import it.
        arguments
            Objects that can be pickled; a :class:`Shared` is replaced by the object that it stands for.
        retries
            How often a task whose worker dies is given to another.
        """
        task = Task(function, arguments, retries)
        self._outstanding[task] = None
        self._send(task)
        return task

    def warm_up(self, function: Callable[[], object], count: int | None = None) -> list[Future[Any]]:
        """Start the processes of this machine, unless some are running, while this one does something else.

        Parameters
        ----------
        function
            A function of the module that the tasks will need, which is imported thereby; each process calls
            it.

        count
            The number of processes; all by default.

        Returns
        -------
        calls
            They are done when the processes are ready; empty if nothing is started.
        """
        if not isinstance(self._engine, _Processes) or self.process_ids:
            return []
        started = self.count if count is None else min(count, self.count)
        return [self._engine.submit(function, (), retried=False) for _ in range(started)]

    def as_completed(self) -> Iterator[Task]:
        """Tasks as they are done, until none is left; those that are submitted meanwhile are included."""
        while self._outstanding:
            task = self.next_done()
            if task is not None:
                yield task

    def each(self, items: Iterable[Item], send: Callable[[Item], Task]) -> Iterator[tuple[Item, Task]]:
        """Send items one by one, as workers become free, and yield each with its task when that is done.

        Parameters
        ----------
        items
            The items.
        send
            Submits the task of an item. It is called when a worker is free, and so may use earlier answers.
        """
        out: dict[Task, Item] = {}
        waiting = iter(items)
        try:
            while True:
                for item in islice(waiting, max(0, self.count - len(out))):
                    out[send(item)] = item
                if not out:
                    return
                task = self.next_done()
                if task is not None:
                    yield out.pop(task), task
        finally:
            for task in out:
                self.abandon(task)

    def next_done(self, timeout: float | None = None) -> Task | None:
        """Wait for a task to be done; None if none is within `timeout` seconds, or none is outstanding."""
        until = inf if timeout is None else time.monotonic() + timeout
        while self._outstanding:
            if self._engine is None:
                task = next(iter(self._outstanding))
                return self._finished(task, _called(task.function, self._arguments(task)))
            left = max(0.0, until - time.monotonic())
            futures = {task._future: task for task in self._outstanding}
            done, _ = wait(futures, min(left, LOOK_EVERY), FIRST_COMPLETED)
            for future in done:
                if self._is_settled(futures[future]):
                    return futures[future]
            if not done and self._engine.count == 0 and self._is_workerless():
                self._go_on_alone("there has been none for a while")
            elif not done and left <= LOOK_EVERY:
                return None
        return None

    def abandon(self, task: Task) -> None:
        """Ignore the result of the task; a worker that has begun with it finishes it."""
        self._outstanding.pop(task, None)
        task._future.cancel()

    def close(self) -> None:
        """Abandon what is not done, and end the workers that were started here."""
        for task in list(self._outstanding):
            self.abandon(task)
        if self._is_borrowed:
            return
        if self._engine is None:
            forget()
        else:
            self._engine.close()
        self._sent.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, task: Task) -> None:
        if self._engine is None:
            return
        call = (task.function, self._arguments(task))
        try:
            task._future = self._engine.submit(_run, call, retried=task.losses > 0)
        except self._engine.losses as error:
            self._go_on_alone(error)

    def _arguments(self, task: Task) -> tuple[Any, ...]:
        """The arguments as they are sent: processes open what is shared themselves."""
        if isinstance(self._engine, _Processes):
            return task.arguments
        return tuple(self._place(each) if isinstance(each, Shared) else each for each in task.arguments)

    def _place(self, shared: Shared) -> Any:
        thing = next(thing for thing, known in self._things.values() if known is shared)
        if not isinstance(self._engine, _Cluster):
            return thing
        if shared.key not in self._sent:
            self._sent[shared.key] = self._engine.keep(thing)
        return self._sent[shared.key]

    def _is_settled(self, task: Task) -> bool:
        """Whether a task is done whose future is; one that was lost with its worker is sent again."""
        engine, error = self._engine, None
        with suppress(CancelledError):
            error = task._future.exception()
        if engine is None or not (task._future.cancelled() or isinstance(error, engine.losses)):
            self._finished(task, task._future)
            return True
        task.losses += 1
        self._losses[0] += 1
        # What the worker had may be gone with it.
        self._sent.clear()
        if task.losses <= task.retries:
            logger.info("a task is tried again: %s", error)
            self._send(task)
            return False
        given_up: Future[Any] = Future()
        message = f"a task was given up after {task.losses} workers had died over it ({error})"
        if isinstance(engine, _Processes):
            message += "; a script that starts processes must do so under if __name__ == '__main__':"
        given_up.set_exception(LostWorker(message))
        self._finished(task, given_up)
        return True

    def _finished(self, task: Task, outcome: Future[Any]) -> Task:
        self._outstanding.pop(task, None)
        task._outcome = outcome
        return task

    def _is_workerless(self) -> bool:
        """Whether a cluster without workers has had none for too long."""
        now = time.monotonic()
        self._workerless_since = min(self._workerless_since, now)
        return now - self._workerless_since >= WORKERLESS_SECONDS

    def _go_on_alone(self, reason: object) -> None:
        """No worker takes tasks any more: this process does the rest."""
        logger.warning("the workers are gone (%s); this process goes on alone", reason)
        self._engine = None


class _Foreign:
    """An executor that its owner closes; the base of the others.

    Attributes
    ----------
    losses
        The errors that mean that a worker is gone.
    """

    losses: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def count(self) -> int:
        """The number of tasks that run at a time, if the executor states it, else 1."""
        stated = getattr(self._executor, "_max_workers", None)
        return stated if isinstance(stated, int) else 1

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], retried: bool) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def close(self) -> None:
        """End what was opened here."""


class _Processes(_Foreign):
    """Processes of this machine. A pool that has lost a process is replaced by another."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._context = _Context()
        super().__init__(self._pool(jobs))
        self.directory = tempfile.mkdtemp(prefix="hcssp-")

    @property
    def count(self) -> int:
        return self._jobs

    @property
    def process_ids(self) -> list[int]:
        return [each.pid for each in self._context.processes if each.pid is not None and each.is_alive()]

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], retried: bool) -> Future[Any]:
        if retried:
            # It may be this task that kills its process.
            pool = self._pool(1)
            future = pool.submit(function, *arguments)
            pool.shutdown(wait=False)
            return future
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            self._executor = self._pool(self._jobs)
            return self._executor.submit(function, *arguments)

    def close(self) -> None:
        for process in self._context.processes:
            process.kill()
        self._executor.shutdown(cancel_futures=True)
        for process in self._context.processes:
            process.join()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _pool(self, jobs: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(jobs, self._context, _begin)


class _Process(contexts.SpawnProcess):
    """A process that Ctrl-C does not interrupt, not even while it starts."""

    def start(self) -> None:
        with _not_interrupted():
            super().start()


class _Context(contexts.SpawnContext):
    """Makes the processes of a pool, and knows them."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[_Process] = []

    def Process(self, *arguments: Any, **named: Any) -> _Process:  # type: ignore[override]  # noqa: N802
        self.processes = [each for each in self.processes if each.pid is None or each.is_alive()]
        self.processes.append(_Process(*arguments, **named))
        return self.processes[-1]


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Block Ctrl-C for processes that are started meanwhile: they inherit the mask."""
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


def _begin() -> None:
    """The first thing that a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    work_in_one_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End as soon as the coordinating process has, also in the middle of a task."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Cluster(_Foreign):
    """The cluster of a Dask client (https://distributed.dask.org).

    Dask moves the tasks of a worker that has died to others by itself, and gives up a task that has taken
    several workers with it.
    """

    def __init__(self, client: Any, own: bool) -> None:
        super().__init__(client.get_executor(pure=False))
        self._client, self._own = client, own
        distributed: Any = import_module("distributed")
        lost = (distributed.scheduler.KilledWorker, distributed.comm.CommClosedError)
        self.losses = (*_Foreign.losses, *lost)
        self._counted = (-inf, 0)

    @property
    def count(self) -> int:
        now = time.monotonic()
        if now >= self._counted[0] + LOOK_EVERY:
            self._counted = now, sum(self._client.nthreads().values())
        return self._counted[1]

    def keep(self, thing: Any) -> Any:
        """What stands for an object among the arguments of tasks.

        It is the outcome of a task, which Dask repeats if the worker dies that had it. What is scattered
        would be gone with its worker, and all tasks about it cancelled.
        """
        dask: Any = import_module("dask")
        # The warning is about objects that travel with every task; this one travels by itself.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize}):
            return self._client.submit(_same, thing, pure=False)

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        if self._own:
            self._client.close()


def _connected(scheduler: str) -> Any:
    """A client of the cluster whose scheduler has the address `scheduler`, with workers of this version."""
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "a cluster needs Dask, which is not installed; pip install 'hcssp[dask]'"
        ) from error
    # A client that is interrupted while it connects complains about it later; so it waits less.
    patience = min(SECONDS_TO_CONNECT, max(0.1, seconds_left()))
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(scheduler, timeout=patience, set_as_default=False)
    except BaseException as error:
        # One that was never opened would wait twice as long to be closed, and complain that it cannot.
        client.status = "closed"
        if not isinstance(error, OSError | ValueError | TypeError):
            raise
        raise NoCluster(
            f"scheduler {scheduler!r}: there is none ({error}); start one with 'dask scheduler' and give its "
            "address, such as tcp://localhost:8786"
        ) from error
    try:
        _check_workers(client, scheduler)
    except BaseException:
        client.close()
        raise
    return client


def _check_workers(client: Any, scheduler: str) -> None:
    """Refuse a cluster without workers, or with workers that have another version of this package."""
    if not client.nthreads():
        raise NoCluster(
            f"scheduler {scheduler!r} has no workers; start some with 'dask worker {scheduler} --nthreads 1'"
        )
    try:
        versions = client.run(_version)
    except Exception as error:
        raise NoCluster(
            f"the workers of {scheduler!r} cannot run hcssp ({error}); install version {__version__} there"
        ) from error
    for worker, version in versions.items():
        if version != __version__:
            raise NoCluster(
                f"worker {worker} has version {version} of hcssp, not {__version__}; install the same there"
            )


def _same(thing: Any) -> Any:
    return thing


def _version() -> str:
    return __version__


class _Kept(threading.local):
    """What one thread of a worker keeps: nothing that tasks make of a problem is for two at once."""

    def __init__(self) -> None:
        self.things: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()


_kept = _Kept()


def kept(key: Hashable, make: Callable[[], Any], version: Hashable = None) -> Any:
    """What `make` made for an earlier task of this worker with the same `key` and `version`, or makes now.

    Of several versions only the last is kept.
    """
    things = _kept.things
    if key in things and things[key][0] != version:
        # The old one goes first: both together may need more memory than there is.
        del things[key]
    if key not in things:
        things[key] = version, make()
        while len(things) > MAX_KEPT:
            things.popitem(last=False)
    things.move_to_end(key)
    return things[key][1]


def forget() -> None:
    """Drop what this worker has kept."""
    _kept.things.clear()


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a task in a worker."""
    try:
        return function(*(_opened(each) if isinstance(each, Shared) else each for each in arguments))
    except Exception as error:  # noqa: BLE001, raised where the result is asked for
        raise _portable(error) from None


def _opened(shared: Shared) -> Any:
    path = Path(shared.directory or "") / shared.key
    return kept(("shared", shared.key), lambda: pickle.loads(path.read_bytes()))


def _portable(error: Exception) -> Exception:
    """The error with a note of where it was raised; one that says the same if it cannot be pickled."""
    where = f"at a worker:\n{traceback.format_exc()}"
    with suppress(Exception):
        copy = pickle.loads(pickle.dumps(error))
        if type(copy) is type(error) and str(copy) == str(error):
            error.add_note(where)
            return error
    said = f"{type(error).__name__}: {error}"
    other = HcsspError(str(error)) if isinstance(error, HcsspError) else RuntimeError(said)
    other.add_note(where)
    return other


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
    """The outcome of a task that is run in this process."""
    outcome: Future[Any] = Future()
    try:
        outcome.set_result(function(*arguments))
    except Exception as error:  # noqa: BLE001, raised where the result is asked for
        outcome.set_exception(error)
    return outcome
