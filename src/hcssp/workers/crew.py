"""Workers, wherever they are: tasks go out, what is finished comes back, what is lost goes out again.

Only the thread that opened the workers talks to them.
"""

from __future__ import annotations

import logging
import pickle
import queue
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from copy import copy
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hcssp.errors import HcsspError
from hcssp.workers import dask_cluster, engines
from hcssp.workers.at_work import Answer, Fault, Missing, forget, run_task
from hcssp.workers.losses import LostWorker
from hcssp.workers.processes import ProcessWorkers
from hcssp.workers.sharing import Parcel, Shared, pack, write_parcel

logger = logging.getLogger(__name__)

RETRIES = 3
"""A task that has cost so many workers their lives is tried once more, and then given up."""

LOOK_EVERY = 1.0
"""Seconds after which somebody who waits for a task looks whether there are workers at all."""

WORKERLESS_SECONDS = 30.0
"""A cluster that has had no worker for so long is taken for gone; restarting one takes a few seconds."""

LOSSES: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError, LostWorker)
"""The errors that mean that a worker is gone, whoever employs it."""


class InvalidWorkers(HcsspError):
    """What was given as workers is none."""


MAX_JOBS = 1024
"""More processes than one machine can use; whoever has more cores has a cluster."""


def open_workers(
    jobs: int | None = None, *, scheduler: str | None = None, executor: object | None = None
) -> Workers:
    """Workers to submit tasks to; close them, or use them as a context.

    Parameters
    ----------
    jobs
        So many processes of this machine; 1 does the work in this one.
    scheduler
        The address of a Dask cluster's scheduler, such as ``tcp://localhost:8786``.
    executor
        A Dask client, any executor of :mod:`concurrent.futures`, or workers; it stays open.

    Raises
    ------
    InvalidWorkers
        If none or several of these are given, or what is given cannot be used.
    """
    given = [each for each in (jobs, scheduler, executor) if each is not None]
    if len(given) != 1:
        raise InvalidWorkers("give either a number of jobs, or a scheduler, or an executor")
    if jobs is not None:
        if jobs < 1:
            raise InvalidWorkers(f"jobs {jobs}: give at least 1")
        if jobs > MAX_JOBS:
            raise InvalidWorkers(f"jobs {jobs}: no machine runs so many processes; give at most {MAX_JOBS}")
        return Workers(None) if jobs == 1 else Workers(engines.of_processes(ProcessWorkers(jobs)))
    if scheduler is not None:
        client = dask_cluster.connect(scheduler)
        return Workers(engines.of_client(client, client.close))
    if isinstance(executor, Workers):
        return executor.borrowed()
    if dask_cluster.is_client(executor):
        return Workers(engines.of_client(executor, lambda: None))
    if isinstance(executor, ProcessWorkers):
        return Workers(engines.of_processes(executor, own=False))
    if isinstance(executor, Executor):
        return Workers(engines.of_executor(executor))
    raise InvalidWorkers(f"{executor!r} is neither an executor of concurrent.futures nor a Dask client")


@dataclass(eq=False)
class Task:
    """Something that a worker was asked to do.

    Attributes
    ----------
    losses
        How many workers have died over it.
    """

    call: bytes = field(repr=False)
    shared: tuple[Shared, ...] = ()
    retries: int = RETRIES
    losses: int = 0
    _future: Future[Any] | None = field(default=None, repr=False)
    _outcome: Answer | Fault | None = field(default=None, repr=False)

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
        if isinstance(self._outcome, Fault):
            self._outcome.error.add_note(f"at a worker:\n{self._outcome.where}")
            raise self._outcome.error
        return self._outcome.value


@dataclass
class _Common:
    """What all borrowers of the same workers see."""

    lost: int = 0
    directory: Path | None = None


class Workers:
    """What :func:`open_workers` opens.

    Parameters
    ----------
    engine
        Who does the work, see :mod:`hcssp.workers.engines`; None for this process.
    """

    def __init__(self, engine: Any = None) -> None:
        self._engine: engines.Engine | None = engine
        self._finished: queue.SimpleQueue[tuple[Task, Future[Any]]] = queue.SimpleQueue()
        # Tasks for this process, which it turns to when it is asked for what is done.
        self._inline: deque[Task] = deque()
        self._parcels: dict[str, Parcel] = {}
        self._sent: dict[str, Any] = {}
        self._things: dict[int, tuple[Any, Shared]] = {}
        self._common = _Common()
        self._is_borrowed = False
        self._losses = LOSSES if engine is None else (*LOSSES, *engine.losses)
        self._outstanding: set[Task] = set()
        self._workerless_since: float | None = None

    @property
    def lost(self) -> int:
        """How many workers have been lost so far, as far as was noticed here."""
        return self._common.lost

    def borrowed(self) -> Self:
        """The same workers for somebody who may close them without consequence."""
        other = copy(self)
        other._is_borrowed = True
        return other

    @property
    def count(self) -> int:
        """How many tasks are worked on at a time; it may change with a cluster."""
        return 1 if self._engine is None else max(1, self._engine.count())

    @property
    def takes_part(self) -> bool:
        """Whether this process does its share of the work: where they are processes of its own machine."""
        return self._engine is None or self._engine.local

    @property
    def helpers(self) -> int:
        """How many tasks are worked on at a time while this process does its share, if it takes part."""
        return self.count - 1 if self.takes_part else self.count

    @property
    def outstanding(self) -> int:
        """How many tasks are submitted and not handed back."""
        return len(self._outstanding)

    @property
    def process_ids(self) -> list[int]:
        """Processes of this machine that were started for this."""
        executor = None if self._engine is None else self._engine.executor
        return executor.process_ids if isinstance(executor, ProcessWorkers) else []

    def share(self, thing: Any) -> Shared:
        """What to give to tasks in the place of something large: it travels once for each worker."""
        known = self._things.get(id(thing))
        if known is not None:
            return known[1]
        parcel = pack(thing)
        directory = None
        if self._engine is not None and self._engine.local:
            if self._common.directory is None:
                self._common.directory = Path(tempfile.mkdtemp(prefix="hcssp-"))
            directory = str(self._common.directory)
            write_parcel(parcel, self._common.directory)
        else:
            self._parcels[parcel.fingerprint] = parcel
        shared = Shared(parcel.fingerprint, directory)
        self._things[id(thing)] = thing, shared
        return shared

    def submit(self, function: Callable[..., Any], *arguments: Any, retries: int = RETRIES) -> Task:
        """Have ``function(*arguments)`` done by a worker.

        Parameters
        ----------
        function
            Of a module, so that workers can import it.
        arguments
            Whatever can be pickled; a :class:`Shared` is replaced by what it stands for.
        retries
            How often a task whose worker dies is given to another.
        """
        shared = tuple(each for each in arguments if isinstance(each, Shared))
        task = Task(pickle.dumps((function, arguments)), shared, retries)
        self._outstanding.add(task)
        self._send(task, inline_parcels=False)
        return task

    def warm_up(self, function: Callable[[], object], count: int | None = None) -> list[Future[Any]]:
        """Start the processes of this machine, while something else is done here.

        Parameters
        ----------
        function
            Of the module that the tasks will need, which then is imported; each that is started calls it.
        count
            How many of them there shall be; all by default.

        Returns
        -------
        calls
            They are done when the processes are there; none for those that are there in any case.
        """
        executor = None if self._engine is None else self._engine.executor
        if not isinstance(executor, ProcessWorkers):
            return []
        return executor.warm_up(function, self.count if count is None else count)

    def as_completed(self) -> Iterator[Task]:
        """Tasks as they are done, until none is left; those that are submitted meanwhile come, too."""
        while self._outstanding:
            task = self.next_done()
            if task is not None:
                yield task

    def next_done(self, timeout: float | None = None) -> Task | None:
        """Wait for a task to be done; None if none is within `timeout` seconds, or none is outstanding."""
        until = inf if timeout is None else time.monotonic() + timeout
        while self._outstanding:
            if self._inline:
                task = self._inline.popleft()
                parcels = [self._parcels[each.fingerprint] for each in task.shared]
                outcome = run_task(task.call, parcels)
                self._hand_back(task, _told(outcome))
                return task
            left = max(0.0, until - time.monotonic())
            try:
                task, future = self._finished.get(timeout=min(left, LOOK_EVERY))
            except queue.Empty:
                if self._are_gone():
                    self._go_on_alone("there has been none for a while")
                    # Whoever answers after all is not heard: what is done here comes first.
                    self._inline.extend(self._outstanding)
                elif left <= LOOK_EVERY:
                    return None
                continue
            if task in self._outstanding and self._take(task, future):
                return task
        return None

    def abandon(self, task: Task) -> None:
        """Nobody wants the task any more; if a worker has it already, it is let finish."""
        self._outstanding.discard(task)
        if task in self._inline:
            self._inline.remove(task)
        if task._future is not None:
            task._future.cancel()

    def everywhere(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called at once here and by the workers of a cluster, beside what they are doing.

        Threads of this process see what it does here; processes that were started for this are ended when
        they are closed, and need not be told anything.
        """
        function(*arguments)
        if self._engine is not None and self._engine.everywhere is not None:
            self._engine.everywhere(function, *arguments)

    def close(self) -> None:
        """Give up what is not done, end the workers that were started here, forget what was shared."""
        for task in list(self._outstanding):
            self.abandon(task)
        if self._is_borrowed:
            return
        if self._engine is not None:
            self._engine.close()
        else:
            forget()
        self._sent.clear()
        if self._common.directory is not None:
            shutil.rmtree(self._common.directory, ignore_errors=True)
            self._common.directory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, task: Task, inline_parcels: bool) -> None:
        engine = self._engine
        if engine is None:
            self._inline.append(task)
            return
        parcels: list[Any] = []
        try:
            if engine.send is not None:
                for each in task.shared:
                    if each.fingerprint not in self._sent:
                        self._sent[each.fingerprint] = engine.send(self._parcels[each.fingerprint])
                    parcels.append(self._sent[each.fingerprint])
            elif inline_parcels and not engine.local:
                parcels = [self._parcels[each.fingerprint] for each in task.shared]
            task._future = engine.executor.submit(run_task, task.call, parcels)
        except self._losses as error:
            self._go_on_alone(error)
            self._send(task, inline_parcels)
            return
        task._future.add_done_callback(lambda future: self._finished.put((task, future)))

    def _take(self, task: Task, future: Future[Any]) -> bool:
        """Look at a finished future; whether its task is done, too."""
        try:
            outcome = future.result()
        except self._losses as error:
            task.losses += 1
            self._common.lost += 1
            # What its worker had got may be gone with it.
            self._sent.clear()
            if task.losses <= task.retries:
                logger.info("a task is tried again: %s", error)
                self._send(task, inline_parcels=True)
                return False
            told = f"a task was given up after {task.losses} workers had died over it ({error})"
            self._hand_back(task, Fault(LostWorker(told), ""))
            return True
        except Exception as error:  # noqa: BLE001, whoever asks for the result gets it
            self._hand_back(task, Fault(error, ""))
            return True
        if isinstance(outcome, Missing):
            self._send(task, inline_parcels=True)
            return False
        self._hand_back(task, outcome)
        return True

    def _hand_back(self, task: Task, outcome: Answer | Fault) -> None:
        task._outcome = outcome
        self._outstanding.discard(task)

    def _are_gone(self) -> bool:
        """Whether there has been no worker for so long that none will come."""
        if self._engine is None or self._engine.count() > 0:
            self._workerless_since = None
            return False
        now = time.monotonic()
        if self._workerless_since is None:
            self._workerless_since = now
        return now - self._workerless_since >= WORKERLESS_SECONDS

    def _go_on_alone(self, reason: object) -> None:
        """No worker takes tasks any more: the rest is done in this process."""
        logger.warning("the workers are gone (%s); this process goes on alone", reason)
        self._engine = None


def _told(outcome: Answer | Fault | Missing) -> Answer | Fault:
    if isinstance(outcome, Missing):
        return Fault(RuntimeError(f"{outcome.fingerprint} was never shared here"), "")
    return outcome
