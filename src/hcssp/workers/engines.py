"""Who does the work: processes of this machine, a Dask cluster, or an executor that somebody brings."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from hcssp.workers import dask_cluster
from hcssp.workers.processes import ProcessWorkers
from hcssp.workers.sharing import Parcel

ASK_AGAIN_AFTER = 2.0
"""Seconds after which a cluster is asked again how many workers it has."""


@dataclass(frozen=True)
class Engine:
    """Who does the work.

    Attributes
    ----------
    executor, count
        Where tasks go, and how many it works on at a time.
    close
        Ends what was opened here.
    local
        Whether the workers see the files of this machine.
    losses
        The errors that mean that a worker is gone.
    send
        Makes what stands for a parcel in a task, where it need not travel with every one.
    everywhere
        Has a function called by every worker at once, beside its tasks; None where nobody would listen.
    """

    executor: Executor
    count: Callable[[], int]
    close: Callable[[], object]
    local: bool = False
    losses: tuple[type[BaseException], ...] = ()
    send: Callable[[Parcel], Any] | None = None
    everywhere: Callable[..., object] | None = None


def of_processes(processes: ProcessWorkers, own: bool = True) -> Engine:
    """Processes of this machine; they are ended if they are our own."""

    def close() -> None:
        if own:
            processes.shutdown(wait=False)

    return Engine(processes, lambda: processes.jobs, close, local=True)


def of_client(client: Any, close: Callable[[], object]) -> Engine:
    """The cluster of a Dask client; `close` is called when the work is over."""
    executor = client.get_executor(pure=False)

    def end() -> None:
        executor.shutdown(wait=False)
        close()

    return Engine(
        executor,
        Remembered(lambda: dask_cluster.num_threads(client)),
        end,
        losses=dask_cluster.losses(),
        send=lambda parcel: dask_cluster.keep(client, parcel),
        everywhere=partial(dask_cluster.call_everywhere, client),
    )


class Remembered:
    """A figure that takes a message to ask for, and is asked for anew only after a while."""

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._asked, self._known = -inf, 0

    def __call__(self) -> int:
        now = time.monotonic()
        if now >= self._asked + ASK_AGAIN_AFTER:
            self._asked, self._known = now, self._ask()
        return self._known


def of_executor(executor: Executor) -> Engine:
    """An executor that stays its owner's; how many it works on at a time is asked of those that tell."""
    told = getattr(executor, "_max_workers", None)
    count = told if isinstance(told, int) else 1
    return Engine(executor, lambda: count, lambda: None)
