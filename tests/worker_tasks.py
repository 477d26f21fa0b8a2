"""What tests ask workers to do: functions of a module, which other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.errors import InvalidProblem
from hcssp.workers import LostWorker, kept

if TYPE_CHECKING:
    from hcssp.cssp.model import CSSP


def process() -> int:
    return os.getpid()


def is_deaf_to_interrupts() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def look_at(problem: CSSP) -> tuple[int, int, bool]:
    """Process, size, and whether this was looked at before."""
    looks: list[int] = kept(("looks", problem.name), list)
    looks.append(1)
    return os.getpid(), problem.num_states, len(looks) > 1


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
