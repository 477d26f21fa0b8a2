"""Telling the progress of a solver on stderr, while it works.

On a terminal one line is rewritten; elsewhere plain lines come at a modest rate, a line at the first plan
and then ever fewer; ``--quiet`` prints nothing and ``--verbose`` a line for every change of the bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, TextIO

from hcssp.cli.terminal import can_rewrite, style_of, width_of

if TYPE_CHECKING:
    import argparse

    from hcssp.cli.interruption import Interruption
    from hcssp.contract.progress import Progress
    from hcssp.cssp.reward import Reward

_REWRITE_EVERY = 0.1
_FIRST_LINE_AFTER = 1.0
_LINES_GROW_BY = 1.5


class Talk(Enum):
    """How much to tell."""

    NOTHING = "nothing"
    REWRITTEN_LINE = "rewritten line"
    FEW_LINES = "few lines"
    EVERY_CHANGE = "every change"

    @classmethod
    def suited_to(cls, stream: TextIO, *, quiet: bool, verbose: bool) -> Talk:
        """What suits `stream` and what was asked for."""
        if quiet:
            return cls.NOTHING
        if verbose:
            return cls.EVERY_CHANGE
        return cls.REWRITTEN_LINE if can_rewrite(stream) else cls.FEW_LINES


@dataclass
class ProgressPrinter:
    """Prints the snapshots it is called with; :meth:`close` leaves the terminal tidy.

    Attributes
    ----------
    stream, talk
        Where to print, and how much.
    counts
        What the solver's iterations are.
    label
        Put before every line.
    reward
        What is maximised, if a reward is.
    """

    stream: TextIO
    talk: Talk
    counts: str = "nodes"
    label: str = ""
    reward: Reward | None = None
    _next: float = field(default=0.0, init=False)
    _told: tuple[float, float] | None = field(default=None, init=False)
    _open: bool = field(default=False, init=False)

    @classmethod
    def wanted(cls, arguments: argparse.Namespace, counts: str = "nodes") -> ProgressPrinter:
        """One for standard error, that tells as much as the user wants."""
        talk = Talk.suited_to(sys.stderr, quiet=arguments.quiet, verbose=arguments.verbose)
        return cls(sys.stderr, talk, counts)

    def __call__(self, progress: Progress) -> None:
        """Tell about `progress`, if it is time to."""
        if not self._due(progress):
            return
        self._told = (progress.lower_bound, progress.upper_bound)
        line = progress.in_words(self.counts, self.reward)
        if self.talk is Talk.REWRITTEN_LINE:
            self._next = progress.seconds + _REWRITE_EVERY
            self._rewrite(self.label + line)
        else:
            self._next = max(_FIRST_LINE_AFTER, _LINES_GROW_BY * progress.seconds)
            print(self.label + line, file=self.stream, flush=True)

    def note(self, text: str) -> None:
        """Say what is being done before there are bounds to tell."""
        if self.talk is Talk.REWRITTEN_LINE:
            self._rewrite(self.label + text)
        elif self.talk is not Talk.NOTHING:
            print(self.label + text, file=self.stream, flush=True)

    def restart(self, label: str) -> None:
        """Begin anew, for another run, with another label."""
        self.close()
        self.label, self._next, self._told = label, 0.0, None

    def close(self) -> None:
        """Remove the rewritten line: what comes next says more."""
        if self._open:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._open = False

    def _due(self, progress: Progress) -> bool:
        if self.talk is Talk.NOTHING:
            return False
        if self.talk is Talk.EVERY_CHANGE:
            return self._told != (progress.lower_bound, progress.upper_bound)
        if self.talk is Talk.FEW_LINES and self._told is not None:
            first_plan = isfinite(progress.upper_bound) and not isfinite(self._told[1])
            return first_plan or progress.seconds >= self._next
        return progress.seconds >= self._next

    def _rewrite(self, text: str) -> None:
        width = width_of(self.stream)
        # A line that wraps could not be written over.
        shown = text if len(text) < width else text[: max(0, width - 2)] + "…"
        self.stream.write("\r\x1b[K" + style_of(self.stream).faint(shown))
        self.stream.flush()
        self._open = True


@contextmanager
def notes_on(arguments: argparse.Namespace, interruption: Interruption) -> Iterator[ProgressPrinter]:
    """A printer for a command that can be interrupted and has nothing to save; it is closed at the end."""
    printer = ProgressPrinter.wanted(arguments)
    interruption.begin()
    try:
        yield printer
    finally:
        printer.close()
    interruption.end()
