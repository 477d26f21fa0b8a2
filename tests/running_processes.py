"""Whether processes are still there: those that a test has had started must not outlive it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HANG_GUARD = 300.0
"""Seconds after which something that a test waits for counts as never happening, on any machine."""


def attempts(seconds: float = HANG_GUARD, pause: float = 0.05) -> Iterator[None]:
    """Attempts with a pause after each, until the hang guard ends them."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)


def is_running(process: int) -> bool:
    """Whether there is such a process that has not ended; a parent may not have asked after it yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def measurements_of(workers: Iterable[int]) -> dict[int, int]:
    """Wait until one of some processes has started one that measures a solver; who did, of each."""
    starters = list(workers)
    for _ in attempts():
        found = {
            int(child): starter
            for starter in starters
            for task in Path(f"/proc/{starter}/task").iterdir()
            for child in (task / "children").read_text(encoding="utf-8").split()
            if "measuring import answer" in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8")
        }
        if found:
            return found
    raise AssertionError(f"none of the processes {starters} measures anything")


def assert_gone(processes: Iterable[int]) -> None:
    """Wait until the processes have ended."""
    waited_for = list(processes)
    assert waited_for
    for _ in attempts():
        if not any(map(is_running, waited_for)):
            return
    raise AssertionError(f"of the processes {waited_for} some are still running")
