"""Ctrl-C, SIGTERM, SIGHUP and the time limit as an ordinary way to stop: what was found is kept and printed.

While a problem is read or a solver works, a signal raises ``KeyboardInterrupt`` in it, which ``solve`` turns
into a result. Before (while modules are imported, which must not be torn apart) and after (while the plan is
evaluated and printed) a signal is only noted; only someone who insists gets through.

The time limit counts from :meth:`Interruption.allow` on, after the problem was read. A solver looks at the
clock by itself, but not everywhere: an alarm comes a little after the time limit, to whatever is being done.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from math import isfinite
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from hcssp.start import SIGNALS, began

if TYPE_CHECKING:
    from hcssp.contract.ending import Ending
    from hcssp.contract.progress import Progress
    from hcssp.contract.stop import StopCriterion

_INSISTS = 3
_ALARM = getattr(signal, "SIGALRM", None)
"""None where the system has no timers: there only solvers look at the clock."""

_LATER, _LONGER = 0.1, 1.01
"""The alarm comes so many seconds, and so many times, later than a solver should have ended by itself."""
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
        # Only the main thread can; elsewhere whoever started the thread decides about signals. A shell
        # script starts its background jobs with SIGINT ignored, yet who sends it one means it.
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
        """Let work that has begun, whatever it is, go on for so many seconds from now."""
        self.expired = False
        self._allowed = time.perf_counter()
        self.before = self._allowed - self._began
        if isfinite(seconds):
            # The system's timers end before its clocks do.
            self._set_alarm(min(_LONGER * seconds + _LATER, _LONGEST))

    @property
    def seconds(self) -> float:
        """How long the work has been going on that the time limit counts."""
        return time.perf_counter() - self._allowed

    @property
    def insisted(self) -> bool:
        """Whether so many signals have come that the command is to end at once."""
        return self._count >= _INSISTS

    @property
    def ending(self) -> Ending:
        """What ended the work, if a signal or the alarm did."""
        from hcssp.contract.ending import Ending, Reason

        expired = self.expired and not self.requested
        return Ending(Reason.TIME_LIMIT if expired else Reason.INTERRUPTED)

    def watching(self, criteria: Sequence[StopCriterion]) -> Watching:
        """One stop criterion for all of `criteria` and the signals; when it holds, the work is over."""
        return Watching(self, criteria)

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


class Watching:
    """The stop criterion of a command: its own criteria, and the signals."""

    def __init__(self, interruption: Interruption, criteria: Sequence[StopCriterion]) -> None:
        from hcssp.contract.stop import time_limit_of

        self._interruption = interruption
        self._criteria = tuple(criteria)
        self.time_limit = time_limit_of(self._criteria)

    def __call__(self, progress: Progress) -> Ending | None:
        from hcssp.contract.ending import Ending, Reason
        from hcssp.contract.stop import first_ending

        # A signal may come where Python swallows exceptions (a finaliser), so the flag is asked too.
        if self._interruption.requested:
            ending: Ending | None = Ending(Reason.INTERRUPTED)
        else:
            ending = first_ending(self._criteria, progress)
        if ending is not None:
            self._interruption.end()
        return ending
