"""Exit codes, faults and interruptions.

A bug in hcssp prints one line, and writes the details to a file that can be sent.

Ctrl-C, SIGTERM, SIGHUP and the time limit are ordinary ways to stop: the best plan so far is printed.

While a problem is read or a solver works, a signal raises ``KeyboardInterrupt`` in it, which ``solve`` turns
into a result. Before (while modules are imported, which must not be torn apart) and after (while the plan is
evaluated and printed) a signal is only noted, unless it is sent three times.

The time limit counts from :meth:`Interruption.allow` on, after the problem was read. A solver looks at the
clock by itself, but not everywhere: an alarm interrupts everything else a little after the time limit.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from hcssp.start import INTERRUPTED as INTERRUPTED
from hcssp.start import SIGNALS, began

if TYPE_CHECKING:
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import Progress
    from hcssp.contract.proof import Ending

SOLVED = 0


NO_PLAN = 1
"""No feasible plan exists, or none was found in time, or the plan that was evaluated breaks its bounds, or
the proof that was checked does not hold; the message says which."""


BAD_INPUT = 2
"""What was asked for makes no sense, or what was to be written cannot be."""


FAULT = 3
"""A mistake of this program, which should be reported."""


BROKEN_PIPE = 141
"""The reader of the output has gone: 128 + SIGPIPE, as from any other tool."""


def fault_in_words(error: BaseException, argv: Sequence[str]) -> str:
    """One line about a mistake of ours, with how to report it; the traceback goes to a file.

    Parameters
    ----------
    error
        What was raised.
    argv
        The arguments of the command.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    why = f"{type(error).__name__}: {first}" if first else type(error).__name__
    where = _written(error, argv)
    details = f"the details are in {where}; please send them" if where else "please send this line"
    return f"hcssp: a bug in hcssp, not of your input ({why}); {details} to the maintainers"


def _written(error: BaseException, argv: Sequence[str]) -> Path | None:
    """The file with the details; None if none can be written."""
    import tempfile
    import traceback

    from hcssp.version import __version__

    trace = "".join(traceback.format_exception(error))
    text = f"hcssp {__version__}, Python {sys.version}\n{sys.platform}\narguments: {list(argv)!r}\n\n{trace}"
    try:
        with tempfile.NamedTemporaryFile(prefix="hcssp-fault-", suffix=".txt", delete=False) as stream:
            stream.write(text.encode(errors="backslashreplace"))
    except OSError:
        return None
    return Path(stream.name)


_INSISTS = 3


_ALARM = getattr(signal, "SIGALRM", None)
"""None where the system has no timers: there only solvers look at the clock."""


_LATER, _LONGER = 0.1, 1.01
"""The seconds added to a time limit, and the factor, after which the alarm comes."""


_LONGEST = 1e8


class Interruption:
    """A context in which signals interrupt the work, once.

    Attributes
    ----------
    requested
        Whether a signal has come.
    expired
        Whether the time limit has ended the work.
    before
        How many seconds had passed when the time limit began to count, such as for reading the problem.
    """

    def __init__(self) -> None:
        self.requested = False
        self.expired = False
        self.before = 0.0
        self._allowed = self._began = began()
        self._count = 0
        self._working = False
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        # Only the main thread can set handlers. A shell script starts its background jobs with SIGINT
        # ignored, but a signal that is sent to one is meant.
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
            if _ALARM is not None:
                self._handlers[_ALARM] = signal.signal(_ALARM, self._expire)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._set_alarm(0.0)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def begin(self) -> None:
        """Work begins: from now on a signal interrupts it, and one that has come does so at once."""
        self._working = True
        if self.requested:
            self._working = False
            raise KeyboardInterrupt

    def end(self) -> None:
        """Work is over: from now on a signal is only noted."""
        self._working = False
        self._set_alarm(0.0)

    def allow(self, seconds: float) -> None:
        """Allow the work that has begun this many seconds from now."""
        self.expired = False
        self._allowed = time.perf_counter()
        self.before = self._allowed - self._began
        # The system's timers end before its clocks do.
        self._set_alarm(min(_LONGER * seconds + _LATER, _LONGEST) if isfinite(seconds) else 0.0)

    @property
    def seconds(self) -> float:
        """How long the work has been going on that the time limit counts."""
        return time.perf_counter() - self._allowed

    @property
    def insisted(self) -> bool:
        """Whether enough signals have come for the command to end at once."""
        return self._count >= _INSISTS

    @property
    def ending(self) -> Ending:
        """What ended the work, if a signal or the alarm did."""
        from hcssp.contract.proof import Ending, Reason

        expired = self.expired and not self.requested
        return Ending(Reason.TIME_LIMIT if expired else Reason.INTERRUPTED)

    def look(self, progress: Progress) -> None:
        """Take note of a solver that has finished by itself: the work is over."""
        if progress.ending is not None:
            self.end()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self.requested = True
        if self._working or self.insisted:
            self._working = False
            raise KeyboardInterrupt

    def _expire(self, number: int, frame: FrameType | None) -> None:
        if self._working:
            self.expired = True
            self._working = False
            raise KeyboardInterrupt

    def _set_alarm(self, seconds: float) -> None:
        if _ALARM is not None and _ALARM in self._handlers:
            signal.setitimer(signal.ITIMER_REAL, seconds)


class Faulty(Exception):
    """A mistake of ours, its cause, ended the search; the plan that was found until then is kept.

    Attributes
    ----------
    plan
        The best plan so far, evaluated, about which nothing is proven.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__("the search failed")
        self.plan = plan
