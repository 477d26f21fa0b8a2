"""One contestant on one problem, in a fresh process that is ended when its time is over.

Reading the problem and handing it to another tool is not measured. A contestant that does not look at the
clock by itself is ended a little after its time; what it had told until then is lost with it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from hcssp.comparison.contestants import find_contestant
from hcssp.comparison.measurement import Measurement
from hcssp.comparison.suite import Instance
from hcssp.errors import HcsspError, MissingDependency, UnsupportedProblem
from hcssp.parallel import work_in_one_thread
from hcssp.workers.processes import one_thread_each

GRACE = 1.0
"""Seconds that a contestant has to end after its time, and once more for what is not measured before."""

PREPARATION = 60.0
"""Seconds after which a problem that is not even read is given up."""

Pair = tuple[Instance, str]
"""A problem, and the name of a contestant."""


def measure_all(pairs: Sequence[Pair], time_limit: float, jobs: int = 1) -> Iterator[Measurement]:
    """Measure contestants on problems, each in a process of its own, and yield what they did.

    Parameters
    ----------
    pairs
        Who is to solve what.
    time_limit
        Seconds for each of them.
    jobs
        How many run at a time; more than one on an idle core each disturb each other's times a little.
    """
    waiting, running = list(reversed(pairs)), list[_Running]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Running(waiting.pop(), time_limit))
            wait([each.pipe for each in running], timeout=0.05)
            for each in list(running):
                found = each.outcome()
                if found is not None:
                    running.remove(each)
                    yield found
    finally:
        for each in running:
            each.kill()


class _Running:
    """A contestant at work in its process."""

    def __init__(self, pair: Pair, time_limit: float) -> None:
        self.pair = pair
        self.time_limit = time_limit
        self.states = 0
        self._deadline = time.perf_counter() + PREPARATION
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self._process: Any = context.Process(target=_work, args=(theirs, pair, time_limit), daemon=True)
        with one_thread_each():
            self._process.start()
        theirs.close()

    def outcome(self) -> Measurement | None:
        """What the contestant did, once it is known; None while it works."""
        try:
            while self.pipe.poll():
                told = self.pipe.recv()
                if isinstance(told, Measurement):
                    self.kill()
                    return told
                # It is ready, and begins.
                self.states = told
                self._deadline = time.perf_counter() + self.time_limit + GRACE
        except EOFError:
            self._process.join()
            return self._without("failed", f"its process ended with code {self._process.exitcode}")
        if time.perf_counter() < self._deadline:
            return None
        self.kill()
        if not self.states:
            return self._without("failed", f"it was not ready within {PREPARATION:g} s")
        return self._without("unknown", "it was ended after the time limit")

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _without(self, status: str, note: str) -> Measurement:
        instance, contestant = self.pair
        took = self.time_limit if status == "unknown" else 0.0
        return Measurement(
            instance.name,
            instance.domain,
            self.states,
            contestant,
            self.time_limit,
            status,
            seconds=took,
            cpu_seconds=took,
            note=note,
        )


def _work(pipe: Connection[Any, Any], pair: Pair, time_limit: float) -> None:
    """The life of the process."""
    # What other tools print, from below Python too, would stand among the results.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work_in_one_thread()
    pipe.send(measured(*pair, time_limit, pipe.send))


def measured(
    instance: Instance, contestant: str, time_limit: float, on_ready: Callable[[int], object] = lambda _: None
) -> Measurement:
    """What a contestant does on a problem, in this process.

    Parameters
    ----------
    instance, contestant, time_limit
        Who solves what, in how many seconds.
    on_ready
        Called with the number of states when everything that is not measured is done.
    """
    problem = instance.problem()
    states = problem.flattening.num_states
    about = (instance.name, instance.domain, states, contestant, time_limit)
    try:
        work = find_contestant(contestant).prepare(problem)
        on_ready(states)
        began, cpu = time.perf_counter(), time.process_time()
        claim = work(time_limit)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    except MissingDependency as error:
        return Measurement(*about, "missing", note=str(error))
    except (UnsupportedProblem, NotImplementedError) as error:
        return Measurement(*about, "unsupported", note=str(error))
    except HcsspError as error:
        return Measurement(*about, "failed", note=str(error))
    except Exception as error:  # noqa: BLE001, whatever another tool raises is its answer
        return Measurement(*about, "failed", note=f"{type(error).__name__}: {error}")
    told = [point[0] for point in claim.trace if point[2] < inf]
    known = claim.randomised_seconds
    if known is None and claim.randomised is not None:
        known = seconds
    return Measurement(
        *about,
        claim.status,
        claim.lower_bound,
        claim.upper_bound,
        claim.randomised,
        told[0] if told else seconds if claim.upper_bound < inf else None,
        known,
        seconds,
        cpu_seconds,
        claim.trace,
        claim.note,
    )
