"""The first instants of the command ``hcssp``: Ctrl-C leaves no traceback, even while modules are imported.

Whoever imports the library keeps its own signals; only a process started as the command is concerned.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_IMPORTED = time.perf_counter()

INTERRUPTED = 130
"""The exit code of whatever was ended by Ctrl-C, as from any other tool."""


SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    # Not every system has SIGHUP, which says that the terminal is gone. Whoever ignores it (nohup) goes on.
    if hasattr(signal, name) and (name != "SIGHUP" or signal.getsignal(signal.SIGHUP) != signal.SIG_IGN)
)
"""The signals that ask a command to end."""


def is_command() -> bool:
    """Whether this process was started as ``hcssp`` or ``python -m hcssp``."""
    started = sys.orig_argv
    if "-m" in started:
        return started[started.index("-m") + 1 :][:1] == ["hcssp"]
    # Not by pathlib, which takes longer to import than all that comes before.
    name = sys.argv[0].replace(os.sep, "/").rpartition("/")[2] if sys.argv else ""
    return name in ("hcssp", "hcssp.exe", "hcssp-script.py")


def began() -> float:
    """When the command began, by ``time.perf_counter()``, before its imports; now if nobody started one."""
    return _IMPORTED if is_command() else time.perf_counter()


def leave_quietly_if_interrupted() -> None:
    """Let signals end the process at once, until a command knows better what to do with them."""
    for number in SIGNALS:
        signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"hcssp: interrupted\n")
    finally:
        # Nothing has been begun, or everything is written: there is nothing to tidy up.
        os._exit(INTERRUPTED)
