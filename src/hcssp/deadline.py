"""Deadlines for long work: the work checks the clock, or the caller stops waiting for it.

A search looks at the clock between two of its steps. A step of a large problem may take minutes, nearly all
of them in a few places: factorisations, which cannot be interrupted, and sweeps. A caller with a deadline
sets it around the work, and these places raise :class:`OutOfTime` once it has passed.

>>> with until(time.perf_counter() + 60.0):
...     keep_time()
...     awaited(lambda: 6 * 7)
42
>>> with until(time.perf_counter() - 1.0):
...     keep_time()
Traceback (most recent call last):
...
hcssp.deadline.OutOfTime: the time is up
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import TypeVar

Answer = TypeVar("Answer")

_THREAD = "hcssp-awaited"

_HEARD = 0.05
"""The seconds between two checks whether work in another thread is past its deadline."""


class Deadline:
    """A moment by ``time.perf_counter()``, or an earlier one of those around it."""

    def __init__(self, moment: float, around: Deadline | None = None) -> None:
        self._moment = moment
        self._around = around

    @property
    def seconds_left(self) -> float:
        """Until the moment; not above zero once it has passed."""
        around = inf if self._around is None else self._around.seconds_left
        return min(around, self._moment - time.perf_counter())

    def give_up(self) -> None:
        """It has passed: threads that work under it hear of it as soon as they ask for the time."""
        self._moment = -inf


_DEADLINE: ContextVar[Deadline] = ContextVar("deadline", default=Deadline(inf))  # noqa: B039  never given up


class OutOfTime(Exception):
    """The deadline has passed, and the work was given up; not a fault of the problem's."""

    def __init__(self) -> None:
        super().__init__("the time is up")


@contextmanager
def until(moment: float) -> Iterator[Deadline]:
    """What is done meanwhile is given up at `moment`, by ``time.perf_counter()``, or at an earlier one.

    A thread has no deadline of its own; one that is to hear of this one runs in a copy of the context.
    """
    deadline = Deadline(moment, _DEADLINE.get())
    before = _DEADLINE.set(deadline)
    try:
        yield deadline
    finally:
        _DEADLINE.reset(before)


def seconds_left() -> float:
    """Until the deadline; ``inf`` if there is none, and not above zero once it has passed."""
    return _DEADLINE.get().seconds_left


def keep_time() -> None:
    """Raise :class:`OutOfTime` if the deadline has passed."""
    if seconds_left() <= 0.0:
        raise OutOfTime


def awaited(work: Callable[[], Answer]) -> Answer:
    """What `work` answers or raises, done by a thread; signals are heard while it is waited for.

    Work that is given up continues in its thread until it is done, but its result is ignored, and it does not
    keep the process from ending. It must let other threads run, as SuperLU does, and change nothing that
    others see.

    Raises
    ------
    OutOfTime
        If the deadline passes first.
    MemoryError
        If there is not enough memory for another thread.
    """
    keep_time()
    answers: list[Answer] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name=_THREAD, daemon=True).start()
    except RuntimeError as error:
        # The stack of a thread takes memory.
        raise MemoryError(str(error)) from error
    deadline = _DEADLINE.get()
    while not done.wait(min(_HEARD, max(0.0, deadline.seconds_left))):
        keep_time()
    if errors:
        raise errors[0]
    return answers[0]
