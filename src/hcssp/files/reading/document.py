"""From a file to a tree: its bytes, its encoding, and YAML or JSON by its suffix."""

from __future__ import annotations

from pathlib import Path

from hcssp.errors import InvalidProblem
from hcssp.files.reading.findings import Findings
from hcssp.files.reading.limits import Limits
from hcssp.files.reading.parsing import parse_document
from hcssp.files.reading.tree import Node


def read_document(path: Path, findings: Findings, limits: Limits) -> Node:
    """The tree of a YAML or JSON file; a suffix other than ``.json`` means YAML.

    Raises
    ------
    InvalidProblem
        If it cannot be read or parsed, or exceeds a limit.
    """
    text = decoded(read_bytes(path, str(path), limits.document_bytes), findings)
    return parse_document(text, findings, limits, json=path.suffix.lower() == ".json")


def read_bytes(path: Path, name: str, most: int) -> bytes:
    """The content of a file that may have at most so many bytes.

    Raises
    ------
    InvalidProblem
        If there is no such file, it cannot be read, or it is too large.
    """
    try:
        with path.open("rb") as stream:
            # Not the size that the system tells: a pipe has none, and a device has no end.
            content = stream.read(most + 1)
    except FileNotFoundError:
        raise InvalidProblem([f"{name}: there is no such file"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidProblem([f"{name}: it cannot be read: {reason}"]) from None
    if len(content) > most:
        raise InvalidProblem([f"{name}: the file is larger than the {_size(most)} that are allowed"])
    return content


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
