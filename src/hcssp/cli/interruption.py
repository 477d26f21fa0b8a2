"""Ctrl-C and SIGTERM as an ordinary way to stop: the work ends, what it found is kept and told.

While a solver works, a signal raises ``KeyboardInterrupt`` in it, which ``solve`` turns into a result. Before
(while modules are imported, which must not be torn apart) and after (while the plan is evaluated and
printed) a signal is only noted; only someone who insists gets through.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcssp.contract.ending import Ending
    from hcssp.contract.progress import Progress
    from hcssp.contract.stop import StopCriterion

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INSISTS = 3


class Interruption:
    """A context in which SIGINT and SIGTERM interrupt the work, once.

    Attributes
    ----------
    requested
        Whether a signal has come.
    """

    def __init__(self) -> None:
        self.requested = False
        self._count = 0
        self._working = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        # Only the main thread can; elsewhere whoever started the thread decides about signals. A shell
        # script starts its background jobs with SIGINT ignored, yet who sends it one means it.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
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

    def watching(self, criteria: Sequence[StopCriterion]) -> Watching:
        """One stop criterion for all of `criteria` and the signals; when it holds, the work is over."""
        return Watching(self, criteria)

    def look(self, progress: Progress) -> None:
        """Take note of a solver that has finished by itself: the work is over."""
        if progress.ending is not None:
            self._working = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self.requested = True
        if self._working or self._count >= _INSISTS:
            self._working = False
            raise KeyboardInterrupt


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
