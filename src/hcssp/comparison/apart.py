"""One contestant on one problem, in a fresh process that is ended when its time is over.

Whoever employs the worker that starts it, the process is no child of :mod:`multiprocessing`, which Dask's
workers may not have. It ends with its worker: the pipe by which it was asked breaks then.

A contestant that does not look at the clock by itself is ended a little after its time; what it had told
until then is lost with it.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from hcssp.comparison.measurement import Measurement
from hcssp.comparison.suite import Instance
from hcssp.workers.processes import THREADS_OF_LIBRARIES

GRACE = 1.0
"""Seconds that a contestant has to end after its time."""

PREPARATION = 60.0
"""Seconds after which a problem that is not even read is given up."""

_running: dict[str, set[subprocess.Popen[bytes]]] = {}
_given_up: set[str] = set()
_guard = threading.Lock()


def measured_apart(run: str, instance: Instance, contestant: str, time_limit: float) -> Measurement:
    """What a contestant does on a problem, in a process of its own.

    Parameters
    ----------
    run
        What the measurement belongs to; see :func:`give_up`.
    instance, contestant, time_limit
        Who solves what, in how many seconds.
    """
    states = 0

    def without(status: str, note: str) -> Measurement:
        took = time_limit if status == "unknown" else 0.0
        about = (instance.name, instance.domain, states, contestant, time_limit, status)
        return Measurement(*about, seconds=took, cpu_seconds=took, note=note)

    with _process(run, (instance, contestant, time_limit)) as process:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(process.stdout, answers), daemon=True).start()
        deadline = time.perf_counter() + PREPARATION
        while True:
            try:
                told = answers.get(timeout=max(0.0, deadline - time.perf_counter()))
            except queue.Empty:
                if not states:
                    return without("failed", f"it was not ready within {PREPARATION:g} s")
                return without("unknown", "it was ended after the time limit")
            if isinstance(told, Measurement):
                return told
            if told is None:
                return without("failed", f"its process ended with code {process.wait()}")
            # It is ready, and begins.
            states = told
            deadline = time.perf_counter() + time_limit + GRACE


def give_up(run: str) -> None:
    """End the processes of a run that workers of this process have started; they start no more for it."""
    with _guard:
        _given_up.add(run)
        for process in _running.get(run, ()):
            process.kill()


@contextmanager
def _process(run: str, asked: tuple[Instance, str, float]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has been asked, and is ended with the context."""
    with _guard:
        process = subprocess.Popen(
            # Not by -m: what lies in the folder of the user is not meant to be imported.
            [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                **dict.fromkeys(THREADS_OF_LIBRARIES, "1"),
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            # Ctrl-C passes it by from its first instant.
            start_new_session=True,
        )
        _running.setdefault(run, set()).add(process)
        if run in _given_up:
            process.kill()
    try:
        if process.stdin is not None:
            # One that has ended already is told by its silence.
            with suppress(OSError):
                process.stdin.write(pickle.dumps(asked))
                process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()
        with _guard:
            _running[run].discard(process)
            if not _running[run]:
                del _running[run]
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()


def _listen(stream: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Hand on what a process says, and None when it says no more."""
    try:
        with stream, suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                answers.put(pickle.load(stream))
    finally:
        answers.put(None)


def answer() -> None:
    """The life of the process: it is asked on its standard input, and answers on its standard output."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What other tools print, from below Python too, would stand among the results.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)

    def say(told: int | Measurement) -> None:
        pickle.dump(told, answers)
        answers.flush()

    from hcssp.comparison.contest import measured
    from hcssp.parallel import work_in_one_thread

    instance, contestant, time_limit = pickle.load(asked)
    _end_with_worker()
    work_in_one_thread()
    say(measured(instance, contestant, time_limit, say))


def _end_with_worker() -> None:
    """Leave as soon as the worker is gone, in the middle of whatever is being done."""

    def watch() -> None:
        os.read(0, 1)
        os._exit(1)

    if hasattr(signal, "SIGIO"):
        import fcntl

        # Other tools may not let Python's threads go on; the signal ends the process without them.
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=watch, daemon=True).start()
