"""A Dask cluster as an executor: what is submitted is run by its workers, wherever they are.

Dask moves the tasks of a worker that has died to others by itself, and gives a task up that has taken several
workers with it. See https://distributed.dask.org.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from hcssp.deadline import seconds_left
from hcssp.errors import HcsspError, MissingDependency
from hcssp.version import __version__

SECONDS_TO_CONNECT = 10
"""A scheduler that has not answered by then is taken for one that is not there."""

LEAST_PATIENCE = 0.1
"""So many seconds it has in any case, whatever the time limit."""


class NoCluster(HcsspError):
    """There is no Dask cluster to work with; the message says what to do."""


def connect(scheduler: str) -> Any:
    """A client of the cluster whose scheduler has the address `scheduler`.

    Raises
    ------
    MissingDependency
        If Dask is not installed.
    NoCluster
        If there is no scheduler, or it has no workers that could do the work.
    """
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "a cluster needs Dask, which is not installed; pip install 'hcssp[dask]'"
        ) from error
    # A client that is interrupted while it connects complains about it later; so it waits less.
    patience = min(SECONDS_TO_CONNECT, max(LEAST_PATIENCE, seconds_left()))
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
        check_workers(client, scheduler)
    except BaseException:
        client.close()
        raise
    return client


def check_workers(client: Any, scheduler: str) -> None:
    """Refuse a cluster without workers, or with workers that have another version of this package."""
    if num_threads(client) == 0:
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


def num_threads(client: Any) -> int:
    """How many tasks the cluster works on at a time."""
    return sum(client.nthreads().values())


def is_client(executor: Any) -> bool:
    """Whether this is a Dask client, without importing Dask to find out."""
    dask = sys.modules.get("distributed")
    return dask is not None and isinstance(executor, dask.Client)


def losses() -> tuple[type[BaseException], ...]:
    """The errors that tell that a worker was lost, or the scheduler."""
    distributed: Any = import_module("distributed")
    return distributed.scheduler.KilledWorker, distributed.comm.CommClosedError


def keep(client: Any, thing: Any) -> Any:
    """What stands for a thing among the arguments of tasks, and is made anew if a worker dies that had it.

    It is the outcome of a task. What is scattered would be gone with its worker: of several copies the
    cluster drops all but one after a while, and it cancels every task about what it has lost.
    """
    dask: Any = import_module("dask")
    # The warning is about things that travel with every task; this one travels by itself.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize}):
        return client.submit(_same, thing, pure=False)


def call_everywhere(client: Any, function: Callable[..., object], *arguments: Any) -> None:
    """Have every worker that can be reached call a function, whatever else it is doing."""
    # A cluster that is gone is not waited for.
    if client.status == "running":
        with suppress(OSError):
            client.run(function, *arguments, on_error="ignore")


def _same(thing: Any) -> Any:
    return thing


def _version() -> str:
    return __version__
