"""What tests ask workers to do: functions of a module, which other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.errors import InvalidProblem
from hcssp.workers.at_work import kept
from hcssp.workers.losses import LostWorker

if TYPE_CHECKING:
    from hcssp.cssp.model import CSSP


def process_and_thread_limit() -> tuple[int, str | None]:
    return os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS")


def is_deaf_to_interrupts() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def look_at(problem: CSSP) -> tuple[int, int, bool, bool]:
    """Process, size, whether the transitions lie in a mapped file, and whether this was looked at before."""
    import numpy as np

    arrays: list[Any] = [problem.transitions.data]
    while isinstance(arrays[-1], np.ndarray) and arrays[-1].base is not None:
        arrays.append(arrays[-1].base)
    mapped = any(isinstance(each, np.memmap) for each in arrays) or "mmap" in type(arrays[-1]).__name__
    looks: list[int] = kept(("looks", problem.name), list)
    looks.append(1)
    return os.getpid(), problem.num_states, mapped, len(looks) > 1


def die_once(marker: str, problem: CSSP) -> int:
    """Die as if by the system's hand, the first time; answer the next time."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return problem.num_states


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def lose_whoever_measures(*asked: object) -> None:
    raise LostWorker("all died")


def refuse() -> None:
    raise InvalidProblem(["this is wrong", "and that"])


def refuse_and_be_awkward() -> None:
    class LocalError(Exception):
        pass

    raise LocalError("nobody can import me")


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def unsendable() -> Any:
    return lambda: None


def size_of(thing: Any) -> int:
    return len(thing)


def another_version() -> str:
    return "9.9"
