"""Files as texts: how large they may be, how they are encoded, and which ones a problem file may name.

The limits lie far above what can be solved; a problem beyond them is better built with the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.findings import Findings


@dataclass(frozen=True)
class Limits:
    """What a file may ask for, so that none, by mistake or malice, takes all memory or all day.

    Attributes
    ----------
    document_bytes
        The size of a problem file.
    table_bytes
        The size of a table beside it.
    nodes
        The values of a document, each counted as often as aliases repeat it.
    depth
        How deep lists and mappings may be nested.
    activities
        The activities of all procedures, each counted as often as it is used.
    states
        The states of all activities together; a grid counts with width times height.
    transitions
        The transitions of all activities together; a grid counts with 16 for every cell.
    """

    document_bytes: int = 8 * 2**20
    table_bytes: int = 256 * 2**20
    nodes: int = 1_000_000
    depth: int = 32
    activities: int = 10_000
    states: int = 5_000_000
    transitions: int = 80_000_000


def read_bytes(path: Path, name: str, most: int) -> bytes:
    """The content of a file that may have at most so many bytes.

    Raises
    ------
    InvalidProblem
        If there is no such file, it cannot be read, or it is too large.
    """
    try:
        with path.open("rb") as stream:
            return read_stream(stream, name, most)
    except FileNotFoundError:
        raise InvalidProblem([f"{name}: there is no such file"]) from None
    except (OSError, ValueError) as error:
        raise _unread(name, error) from None


def read_stream(stream: BinaryIO, name: str, most: int) -> bytes:
    """The content of a stream that may have at most so many bytes.

    Raises
    ------
    InvalidProblem
        If it cannot be read, or is too large.
    """
    try:
        # Not the size that the system tells: a pipe has none, and a device has no end.
        content = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise _unread(name, error) from None
    if len(content) > most:
        raise InvalidProblem([f"{name}: the file is larger than the {_size(most)} that are allowed"])
    return content


def _unread(name: str, error: Exception) -> InvalidProblem:
    reason = getattr(error, "strerror", None) or str(error)
    return InvalidProblem([f"{name}: it cannot be read: {reason}"])


def decoded(content: bytes, findings: Findings, file: str | None = None) -> str:
    """The text of a file, which must be UTF-8; a byte order mark is forgotten, as are carriage returns."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        findings.fatal(
            line, "", f"byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8", file
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count} bytes"


class Unreadable(Exception):
    """A file beside a problem file cannot be read; the message says why."""


def read_beside(folder: Path, name: str, limits: Limits, findings: Findings) -> tuple[str, str]:
    """What to call a file beside a problem file, and its text; it must lie in `folder` or below.

    Raises
    ------
    Unreadable
        If there is none, or it lies elsewhere.
    """
    path = find_beside(folder, name)
    try:
        content = read_bytes(path, str(path), limits.table_bytes)
    except InvalidProblem as error:
        raise Unreadable("; ".join(error.violations)) from error
    return str(path), decoded(content, findings, str(path))


def find_beside(folder: Path, name: str) -> Path:
    """A file beside a problem file, which must lie in `folder` or below.

    Raises
    ------
    Unreadable
        If there is none, or it lies elsewhere.
    """
    relative = PurePosixPath(name)
    if "\\" in name or ":" in name or relative.is_absolute() or ".." in relative.parts:
        raise Unreadable(
            f"{name!r} leads out of the problem's folder; name a file inside, with / between folders"
        )
    path = folder / relative
    try:
        # A link may lead anywhere, so it is followed before anything is opened.
        inside = path.resolve().is_relative_to(folder.resolve())
        regular = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise Unreadable(f"{name!r} cannot be read: {error}") from error
    if not inside:
        raise Unreadable(
            f"{name!r} is a link that leads out of the problem's folder; put the file itself there"
        )
    if not regular:
        raise Unreadable(f"there is no file {name!r} beside the problem file")
    return path
