"""The standard streams, and the progress that is printed on stderr.

The streams may be closed, full, or of an encoding that cannot hold a name. The answer goes to stdout; if it
cannot be written, that is an error. Progress and messages go to stderr; if they cannot be written, the work
continues.

On a terminal, rich shows one line of progress, with a bar where the end is known. Elsewhere, and without
rich, plain lines are printed at a falling rate. ``--quiet`` prints nothing, ``--verbose`` a line for every
change of the bounds, and ``--progress jsonl`` a JSON object at each change and every second.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, cast

from hcssp.errors import CannotWrite, HcsspError

if TYPE_CHECKING:
    import argparse

    from hcssp.contract.progress import Progress
    from hcssp.cssp.model import Reward
    from hcssp.reports.plan_text import Style


def is_terminal(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that has colours and on which a line can be written again."""
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


def width_of(stream: TextIO) -> int:
    """The columns of the terminal `stream`; for other streams those in the environment."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def style_of(stream: TextIO) -> Style:
    """The style that suits `stream`: none where ``NO_COLOR`` is set (https://no-color.org)."""
    from hcssp.reports.plan_text import Style

    return Style(is_terminal(stream) and not os.environ.get("NO_COLOR"))


class Streams:
    """A context in which printing either works or raises :class:`CannotWrite`."""

    def __init__(self) -> None:
        self._before = (sys.stdout, sys.stderr)
        self._opened: list[TextIO] = []

    def __enter__(self) -> Streams:
        _hold_descriptors()
        out, err = self._before
        # What an encoding cannot hold is written as its number, \u706b, rather than not at all.
        reconfigure = getattr(out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
        sys.stdout = cast("TextIO", _Answer(out))
        sys.stderr = cast("TextIO", _Unheard(self._nowhere() if err is None else err))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout, sys.stderr = self._before
        for stream in self._opened:
            stream.close()

    def finish(self) -> None:
        """Write what is still held back.

        Raises
        ------
        CannotWrite, BrokenPipeError
            If that is impossible.
        """
        sys.stdout.flush()

    def drop(self) -> None:
        """Drop what cannot be written, so that the interpreter does not try and complain when it ends."""
        out = self._before[0]
        try:
            descriptor = out.fileno()
        except (AttributeError, OSError, ValueError):
            # Closed, or something in its place that is no file: there is nothing to flush later.
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def _nowhere(self) -> TextIO:
        self._opened.append(Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - closed on exit
        return self._opened[-1]


class _Wrapped:
    """A stream that is written to in another way, and is the same otherwise."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Answer(_Wrapped):
    """Stdout: says why it cannot be written to. It may be None: Python makes that of a closed one."""

    def write(self, text: str) -> int:
        try:
            return self._open().write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(error.strerror or str(error)) from error

    def flush(self) -> None:
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(error.strerror or str(error)) from error

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def _open(self) -> TextIO:
        if self._stream is None:
            raise _unwritable("it is closed")
        return self._stream


class _Unheard(_Wrapped):
    """Stderr: what cannot be written is dropped, and the work continues."""

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            return self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        except (OSError, io.UnsupportedOperation):
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            # The reader has gone, and the buffered output is lost.
            return


def _unwritable(why: str) -> CannotWrite:
    return CannotWrite(f"standard output: it cannot be written: {why}")


def _hold_descriptors() -> None:
    """Occupy standard descriptors that are closed, so that no file of ours gets their number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken: this one.
            os.open(os.devnull, os.O_RDWR)


_REFRESH_EVERY, _FIRST_LINE_AFTER, _LINES_GROW_BY = 0.1, 1.0, 1.5
"""Seconds between two updates of the display, before the first plain line, and how the time between those
lines grows."""

_HINT_AFTER = 10.0
"""Seconds of a search after which one line prints the gap, and how to stop with this plan."""


class Talk(Enum):
    """How much progress to print, and in which form."""

    NOTHING = "nothing"
    DISPLAY = "display"
    FEW_LINES = "few lines"
    EVERY_CHANGE = "every change"
    JSONL = "jsonl"

    @classmethod
    def suited_to(cls, stream: TextIO, *, quiet: bool, verbose: bool, jsonl: bool = False) -> Talk:
        """The progress for `stream` and the requested form."""
        if quiet:
            return cls.NOTHING
        if jsonl:
            return cls.JSONL
        if verbose:
            return cls.EVERY_CHANGE
        return cls.DISPLAY if is_terminal(stream) and find_spec("rich") else cls.FEW_LINES


@dataclass
class ProgressPrinter:
    """Prints the progress reports that it is called with; :meth:`close` leaves the terminal tidy.

    Attributes
    ----------
    stream, talk
        Where to print, and how much.
    counts
        The name of the solver's iterations.
    label
        Printed before every line.
    reward
        The reward that is maximised, if any.
    hint
        Whether a long search prints once how to take the plan that it has.
    """

    stream: TextIO
    talk: Talk
    counts: str = "nodes"
    label: str = ""
    reward: Reward | None = None
    hint: bool = False
    _next: float = field(default=0.0, init=False)
    _printed: tuple[float, float] | None = field(default=None, init=False)
    _display: Any = field(default=None, init=False)
    _total: int | None = field(default=None, init=False)

    @classmethod
    def wanted(cls, arguments: argparse.Namespace) -> ProgressPrinter:
        """One for standard error, that prints as much as the user wants."""
        jsonl = arguments.progress == "jsonl"
        return cls(
            sys.stderr,
            Talk.suited_to(sys.stderr, quiet=arguments.quiet, verbose=arguments.verbose, jsonl=jsonl),
        )

    def __call__(self, progress: Progress) -> None:
        """Print `progress`, if it is time to."""
        late = progress.seconds >= _HINT_AFTER and progress.ending is None
        if self.hint and late and 0.0 < progress.gap < 1.0 and self.talk not in (Talk.NOTHING, Talk.JSONL):
            self._print_hint(progress)
        if not self._due(progress):
            return
        bounds = self._printed = (progress.lower_bound, progress.upper_bound)
        memory = _memory()
        self._next = progress.seconds + (_FIRST_LINE_AFTER if self.talk is Talk.JSONL else _REFRESH_EVERY)
        if self.talk is Talk.FEW_LINES:
            self._next = max(_FIRST_LINE_AFTER, _LINES_GROW_BY * progress.seconds)
        low, high, gap = (value if isfinite(value) else None for value in (*bounds, progress.gap))
        self._print(
            progress.in_words(self.counts, self.reward) + (f"   {memory / 1e6:.0f} MB" if memory else ""),
            {
                "event": "search",
                "seconds": progress.seconds,
                "iterations": progress.iterations,
                "open_nodes": progress.open_nodes,
                "lower_bound": low,
                "upper_bound": high,
                "gap": gap,
                "memory": memory,
            },
        )

    def note(self, text: str) -> None:
        """Print the current step."""
        self._print(text, {"event": "note", "text": text})

    def step(self, done: int, total: int, text: str) -> None:
        """Print the last step of work whose end is known."""
        line = f"{done:{len(str(total))}d} of {total}: {text}"
        self._print(line, {"event": "step", "done": done, "total": total, "text": text}, done, total)

    def counter(self, total: int, text: str) -> Callable[[int], None]:
        """A function that prints at a modest rate how many of many small steps are done."""
        began, due = time.perf_counter(), _FIRST_LINE_AFTER

        def count(done: int) -> None:
            nonlocal due
            elapsed = time.perf_counter() - began
            if elapsed >= due:
                due = elapsed + _REFRESH_EVERY if self.talk is Talk.DISPLAY else _LINES_GROW_BY * elapsed
                self.step(done, total, text)

        return count

    def restart(self, label: str) -> None:
        """Start again, for another run, with another label."""
        self.close()
        self.label, self._next, self._printed = label, 0.0, None

    def close(self) -> None:
        """Remove the display."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def _print(
        self, text: str, document: dict[str, Any], done: int | None = None, total: int | None = None
    ) -> None:
        if self.talk is Talk.JSONL:
            labelled = {**document, "label": self.label.rstrip(": ")} if self.label else document
            print(json.dumps(labelled, allow_nan=False), file=self.stream, flush=True)
        elif self.talk is Talk.DISPLAY:
            if self._display is None or self._total != total:
                self.close()
                self._display, self._total = _display(self.stream, total), total
            (task,) = self._display.task_ids
            self._display.update(task, description=self.label + text, completed=done or 0)
            self._display.start()
            self._display.refresh()
        elif self.talk is not Talk.NOTHING:
            print(self.label + text, file=self.stream, flush=True)

    def _print_hint(self, progress: Progress) -> None:
        from hcssp.reports.plan_text import how_to_take_it

        self.hint = False
        self.close()
        print(f"hcssp: {how_to_take_it(progress.seconds, progress.gap)}", file=self.stream, flush=True)

    def _due(self, progress: Progress) -> bool:
        if self.talk is Talk.NOTHING:
            return False
        is_new = self._printed != (progress.lower_bound, progress.upper_bound)
        if self.talk is Talk.EVERY_CHANGE:
            return is_new
        if self.talk is Talk.JSONL and is_new:
            return True
        if self.talk is Talk.FEW_LINES and self._printed is not None:
            first_plan = isfinite(progress.upper_bound) and not isfinite(self._printed[1])
            return first_plan or progress.seconds >= self._next
        return progress.seconds >= self._next


def _display(stream: TextIO, total: int | None) -> Any:
    """One line of a terminal, drawn by rich: a bar if the end is known, what was done last, and the time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    column = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    display = Progress(
        SpinnerColumn() if total is None else BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False, table_column=column),
        *(() if total is None else (TimeElapsedColumn(),)),
        console=Console(file=stream, width=width_of(stream)),
        # A thread that refreshes the display would write between the lines of others.
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        expand=True,
    )
    display.add_task("", total=total)
    return display


def _memory() -> int | None:
    """The bytes that the process occupies; None if the system does not report them."""
    from hcssp.contract.progress import resident_memory

    try:
        return resident_memory()
    except HcsspError:
        return None
