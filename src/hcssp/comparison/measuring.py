"""Contestants on problems, each measured in a fresh process, by whoever works: here, processes, a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from hcssp.comparison.apart import give_up, measured_apart
from hcssp.comparison.measurement import Measurement
from hcssp.comparison.suite import Instance
from hcssp.workers import Task, open_workers
from hcssp.workers.losses import LostWorker

Pair = tuple[Instance, str]
"""A problem, and the name of a contestant."""


def measure_all(
    pairs: Sequence[Pair], time_limit: float, executor: Any | None = None
) -> Iterator[Measurement]:
    """Measure contestants on problems, each in a process of its own, and yield what they did as it is known.

    Parameters
    ----------
    pairs
        Who is to solve what; they begin in this order.
    time_limit
        Seconds for each of them.
    executor
        Who starts the processes and waits for them: what :func:`hcssp.open_workers` opens, a Dask client, or
        any executor of :mod:`concurrent.futures`; it stays open. As many run at a time as it works on; more
        than one on an idle core each disturb each other's times a little. None: this process, one at a time.
    """
    run = uuid4().hex
    waiting, out = list(reversed(pairs)), dict[Task, Pair]()
    with open_workers(jobs=1) if executor is None else open_workers(executor=executor) as workers:
        try:
            while waiting or out:
                # No more than are worked on: what waits here is not lost with anybody.
                while waiting and len(out) < workers.count:
                    pair = waiting.pop()
                    out[workers.submit(measured_apart, run, *pair, time_limit)] = pair
                task = workers.next_done()
                if task is not None:
                    yield _outcome(task, out.pop(task), time_limit)
        finally:
            if out:
                for task in out:
                    workers.abandon(task)
                workers.everywhere(give_up, run)


def _outcome(task: Task, pair: Pair, time_limit: float) -> Measurement:
    try:
        found: Measurement = task.result()
    except LostWorker as error:
        # As a contestant that takes more memory than there is may end its worker, too.
        instance, contestant = pair
        return Measurement(
            instance.name, instance.domain, 0, contestant, time_limit, "failed", note=str(error)
        )
    return found
