"""Solvers on problems, each measured in a fresh process: here, on several cores, or on a cluster.

Reading a problem and converting it for a solver is not measured. The process is no child of
:mod:`multiprocessing`, which Dask's workers may not have. It ends with its worker: the pipe by which it was
asked breaks then. A solver that does not look at the clock by itself is ended a little after its time, and
what it had found until then is lost.

Measurements are written to a file as they are made, a line each: a second run makes only the missing ones.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import IO, Any

from hcssp.comparison.solvers import Measurement, find_solver
from hcssp.comparison.suite import Instance
from hcssp.errors import HcsspError, MissingDependency, UnsupportedProblem
from hcssp.files.atomic import Journal
from hcssp.threads import OF_ALL, OF_ONE
from hcssp.version import __version__
from hcssp.workers import LostWorker, Task, open_workers


def measured(
    instance: Instance, solver: str, time_limit: float, on_ready: Callable[[int], object] = lambda _: None
) -> Measurement:
    """The result of a solver on a problem, in this process.

    Parameters
    ----------
    instance, solver, time_limit
        The problem, the solver, and its seconds.
    on_ready
        Called with the number of states when everything that is not measured is done.
    """
    about: tuple[str, str, int, str, float] = (instance.name, instance.domain, 0, solver, time_limit)
    try:
        problem = instance.problem()
        states = problem.flattening.num_states
        about = (instance.name, instance.domain, states, solver, time_limit)
        work = find_solver(solver).prepare(problem)
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
    except Exception as error:  # noqa: BLE001, an exception of another tool is its answer
        return Measurement(*about, "failed", note=f"{type(error).__name__}: {error}")
    plans = [seconds for seconds, _, upper in claim.trace if upper < inf]
    first = plans[0] if plans else seconds if claim.upper_bound < inf else None
    if claim.randomised is not None and claim.randomised_seconds is None:
        claim = replace(claim, randomised_seconds=seconds)
    return Measurement(*about, **vars(claim), first=first, seconds=seconds, cpu_seconds=cpu_seconds)


GRACE = 1.0
"""Seconds that a solver has to end after its time."""


PREPARATION = 60.0
"""Seconds after which a problem that is not even read is given up."""


def measured_apart(instance: Instance, solver: str, time_limit: float) -> Measurement:
    """The result of a solver on a problem, in a separate process.

    Parameters
    ----------
    instance, solver, time_limit
        The problem, the solver, and its seconds.
    """
    states = 0

    def without(status: str, note: str) -> Measurement:
        took = time_limit if status == "unknown" else 0.0
        about = (instance.name, instance.domain, states, solver, time_limit, status)
        return Measurement(*about, seconds=took, cpu_seconds=took, note=note)

    with _process((instance, solver, time_limit)) as process:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(process.stdout, answers), daemon=True).start()
        deadline = time.perf_counter() + PREPARATION
        while True:
            try:
                message = answers.get(timeout=max(0.0, deadline - time.perf_counter()))
            except queue.Empty:
                if not states:
                    return without("failed", f"it was not ready within {PREPARATION:g} s")
                return without("unknown", "it was ended after the time limit")
            if isinstance(message, Measurement):
                return message
            if message is None:
                return without("failed", f"its process ended with code {process.wait()}")
            # It is ready, and begins.
            states = message
            deadline = time.perf_counter() + time_limit + GRACE


@contextmanager
def _process(asked: tuple[Instance, str, float]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has been asked, and is ended with the context."""
    process = subprocess.Popen(
        # Not by -m: what lies in the folder of the user is not meant to be imported.
        [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            **dict.fromkeys((OF_ALL, *OF_ONE), "1"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        # In a separate session, so that Ctrl-C does not reach it.
        start_new_session=True,
    )
    try:
        if process.stdin is not None:
            # One that has ended already gives no answer.
            with suppress(OSError):
                process.stdin.write(pickle.dumps(asked))
                process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()


def _listen(stream: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Pass on the output of a process, and None at its end."""
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

    def say(message: int | Measurement) -> None:
        pickle.dump(message, answers)
        answers.flush()

    from hcssp.comparison.measuring import measured
    from hcssp.threads import work_in_one_thread

    instance, solver, time_limit = pickle.load(asked)
    _end_with_worker()
    work_in_one_thread()
    say(measured(instance, solver, time_limit, say))


def _end_with_worker() -> None:
    """Leave as soon as the worker is gone, in the middle of any work."""

    def watch() -> None:
        os.read(0, 1)
        os._exit(1)

    if hasattr(signal, "SIGIO"):
        import fcntl

        # Other tools may not let Python's threads go on; the signal ends the process without them.
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=watch, daemon=True).start()


Key = tuple[str, str, float]
"""Problem, solver, time limit."""


def results_file(path: Path) -> Journal[Key, Measurement]:
    """What a file knows; measurements of other versions of this package are left alone.

    Raises
    ------
    InvalidProblem, CannotWrite
        If it cannot be read or written.
    """
    return Journal(path, _read, lambda _, found: {"hcssp": __version__, **found.to_document()})


def _read(document: Any) -> tuple[Key, Measurement] | None:
    """The measurement of a line; None if it is cut off, one of another version, or may be better now."""
    try:
        if document.pop("hcssp") != __version__:
            return None
        found = Measurement.from_document(document)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    # Missing tools and failures are tried again.
    return None if found.status in ("missing", "failed") else (key_of(found), found)


def key_of(measurement: Measurement) -> Key:
    """What identifies a measurement in a file."""
    return measurement.instance, measurement.solver, measurement.time_limit


def in_order(measurements: Sequence[Measurement], solvers: Sequence[str]) -> list[Measurement]:
    """By problem, as they came, and within each by solver."""
    problems = list(dict.fromkeys(each.instance for each in measurements))
    return sorted(
        measurements,
        key=lambda each: (problems.index(each.instance), solvers.index(each.solver)),
    )


Pair = tuple[Instance, str]
"""A problem, and the name of a solver."""


def measure_all(
    pairs: Sequence[Pair], time_limit: float, executor: Any | None = None
) -> Iterator[Measurement]:
    """Measure solvers on problems, each in a process of its own, and yield what they did as it is known.

    Parameters
    ----------
    pairs
        Problems and solvers; they begin in this order.
    time_limit
        Seconds for each of them.
    executor
        What starts the processes and waits for them: what :func:`hcssp.open_workers` opens, a Dask client, or
        any executor of :mod:`concurrent.futures`; it stays open. As many run at a time as it works on; more
        than one on an idle core each disturb each other's times a little. None: this process, one at a time.
    """
    with open_workers(jobs=1) if executor is None else open_workers(executor=executor) as workers:
        for pair, task in workers.each(pairs, lambda pair: workers.submit(measured_apart, *pair, time_limit)):
            yield _outcome(task, pair, time_limit)


def _outcome(task: Task, pair: Pair, time_limit: float) -> Measurement:
    try:
        found: Measurement = task.result()
    except LostWorker as error:
        # As a solver that takes more memory than there is may end its worker, too.
        instance, solver = pair
        return Measurement(instance.name, instance.domain, 0, solver, time_limit, "failed", note=str(error))
    return found
