"""The standard streams, whatever state they are in: closed, full, or of an encoding that cannot hold a name.

The answer goes to stdout: if it cannot be written there, that is an error, told once. Progress and messages
go to stderr: if nobody can hear them, the work goes on all the same.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

from hcssp.errors import CannotWrite


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
        """Let go of what cannot be written, lest the interpreter tries and complains when it ends."""
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
    """Stderr: whoever cannot be told is not told, and the work goes on."""

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
            # What was held back is lost with whoever was to read it.
            return


def _unwritable(why: str) -> CannotWrite:
    return CannotWrite(f"standard output: it cannot be written: {why}")


def _hold_descriptors() -> None:
    """Occupy standard descriptors that are closed, lest a file of ours gets their number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken: this one.
            os.open(os.devnull, os.O_RDWR)
