"""Reading and writing whole files.

A text that is written goes to a temporary file in the same folder, reaches the disk, and takes the old file's
place in one step. Whatever happens meanwhile, even ``kill -9`` or a power cut, there is the old file or the
new one. A file that is read may have at most a given size.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Generic, NoReturn, TypeVar

from hcssp.errors import CannotWrite, InvalidPlan, InvalidProblem

Key = TypeVar("Key")
Record = TypeVar("Record")

# A larger file is refused.
LARGEST_FILE = 2**30


def write_atomically(path: str | Path, text: str | bytes) -> None:
    """Write `text`, in UTF-8 if it is no bytes, to `path`.

    A device or a pipe is written to as it is; there is no old file that could be kept.

    Raises
    ------
    CannotWrite
        If that is impossible; an old file is then as it was.
    """
    # A link stays one: what it points to is replaced.
    target = _resolved(path)
    content = text.encode(errors="backslashreplace") if isinstance(text, str) else text
    if _is_device(target):
        _write_to_device(path, target, content)
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        try:
            # Not tempfile, whose files no other user may read.
            with temporary.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except (OSError, ValueError) as error:
        raise _cannot("it cannot be written", path, error) from error


def worded(value: Any) -> Any:
    """A value as JSON knows it: infinities are words.

    >>> from math import inf
    >>> worded({"bound": inf, "trace": [(0.5, -inf)]})
    {'bound': 'inf', 'trace': [[0.5, '-inf']]}
    """
    if isinstance(value, Mapping):
        return {name: worded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [worded(each) for each in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def make_folder(path: str | Path) -> None:
    """Make a folder, and those it lies in, unless it is there.

    Raises
    ------
    CannotWrite
        If that is impossible.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _cannot("the folder cannot be made", path, error) from error


def _resolved(path: str | Path) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot("it cannot be written", path, error) from error


def _cannot(what: str, path: str | Path, error: Exception) -> CannotWrite:
    """Why something cannot be done to a file; a name with a null byte is a ValueError."""
    return CannotWrite(f"{path}: {what}: {getattr(error, 'strerror', None) or error}")


def _is_device(target: Path) -> bool:
    """Whether it is a pipe or a device, such as /dev/stdout: something to write to, not to replace."""
    return target.exists() and not target.is_file() and not target.is_dir()


def _write_to_device(path: str | Path, target: Path, content: bytes) -> None:
    try:
        with target.open("wb") as stream:
            stream.write(content)
    except (OSError, ValueError) as error:
        raise _cannot("it cannot be written", path, error) from error


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk, on systems where a folder can be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_writable(path: str | Path) -> None:
    """Find out beforehand whether a file can be written there.

    Raises
    ------
    CannotWrite
        If the folder does not exist or takes no files, or `path` is a folder itself.
    """
    target = _resolved(path)
    try:
        is_folder, is_device, has_folder = target.is_dir(), _is_device(target), target.parent.is_dir()
    except (OSError, ValueError) as error:
        # Such as a name that is too long for the system.
        raise _cannot("it cannot be written", path, error) from error
    if is_folder:
        raise CannotWrite(f"{path}: it is a folder; name a file in it")
    if is_device:
        return
    if not has_folder:
        raise CannotWrite(f"{path}: there is no folder {Path(path).parent}; make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise CannotWrite(f"{path}: the folder {Path(path).parent} takes no files; choose another one")


class Journal(Generic[Key, Record]):
    """Records by their keys in a file, one JSON value on each line; more are added at its end.

    Parameters
    ----------
    path
        The file; it is begun if it is not there.
    read
        The key and the record of a line; None if there is none in it, as where it is cut off.
    write
        The line of a key and a record.
    first
        What the first line must be; None if it is a record as well.

    Raises
    ------
    InvalidProblem
        If it cannot be read, or is another kind of file.
    CannotWrite
        If it cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        read: Callable[[Any], tuple[Key, Record] | None],
        write: Callable[[Key, Record], Mapping[str, Any]],
        first: Mapping[str, Any] | None = None,
    ) -> None:
        self._path, self._write = Path(path), write
        check_writable(path)
        text = read_bytes(self._path).decode(errors="replace") if self._path.exists() else ""
        lines = [
            _parsed(line) for line in text.split("\n")[: -1 if text.endswith("\n") or not text else None]
        ]
        if first is not None and not lines:
            self._append(first)
        elif first is not None and lines.pop(0) != first:
            message = f"its first line is not {json.dumps(first)}; name another one"
            raise InvalidProblem(f"{path}: it is another kind of file: {message}")
        found = (read(line) for line in lines)
        self._records = dict(each for each in found if each is not None)

    def __len__(self) -> int:
        return len(self._records)

    def find(self, key: Key) -> Record | None:
        """The value under a key."""
        return self._records.get(key)

    def add(self, key: Key, record: Record) -> None:
        """Keep a record; it is on the disk when this returns.

        Raises
        ------
        CannotWrite
            If that is impossible.
        """
        self._append(self._write(key, record))
        self._records[key] = record

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            with self._path.open("a+b") as stream:
                if stream.tell():
                    stream.seek(-1, os.SEEK_END)
                    if stream.read() != b"\n":
                        # The last line was cut off; the next line must not become its end.
                        stream.write(b"\n")
                stream.write(json.dumps(line, allow_nan=False).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except (OSError, ValueError) as error:
            raise _cannot("it cannot be written", self._path, error) from error


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def read_bytes(path: Path, most: int = LARGEST_FILE, name: str | None = None) -> bytes:
    """The content of a file that may have at most `most` bytes; errors call it `name`.

    Raises
    ------
    InvalidProblem
        If there is no such file, it cannot be read, or it is too large.
    """
    name = name or str(path)
    try:
        with path.open("rb") as stream:
            return read_stream(stream, name, most)
    except FileNotFoundError:
        raise InvalidProblem(f"{name}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise _unread(name, error) from None


def read_text(path: Path, most: int = LARGEST_FILE, name: str | None = None) -> str:
    """The text of a file in UTF-8 that may have at most `most` bytes; errors call it `name`.

    Raises
    ------
    InvalidProblem
        If there is no such file, it cannot be read, is too large, or is not UTF-8.
    """
    return decoded(read_bytes(path, most, name), name or str(path))


def decoded(content: bytes, name: str) -> str:
    """The text that bytes hold in UTF-8, without a byte order mark and with plain ends of lines.

    Raises
    ------
    InvalidProblem
        If it is not UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = content[: error.start].count(b"\n") + 1, content[error.start]
        why = f"byte {byte:#04x} is not UTF-8; save the file as UTF-8"
        raise InvalidProblem(f"{name}:{line}: {why}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_stream(stream: BinaryIO, name: str, most: int) -> bytes:
    """The content of a stream that may have at most `most` bytes.

    Raises
    ------
    InvalidProblem
        If it cannot be read, or is too large.
    """
    try:
        # Not the size that the system reports: a pipe has none, and a device has no end.
        content = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise _unread(name, error) from None
    if len(content) > most:
        size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most} bytes"
        raise InvalidProblem(f"{name}: the file is larger than the {size} that are allowed")
    return content


def _unread(name: str, error: Exception) -> InvalidProblem:
    return InvalidProblem(f"{name}: it cannot be read: {getattr(error, 'strerror', None) or error}")


def read_json(path: str | Path) -> Any:
    """What a file holds, in which every number is one.

    Raises
    ------
    InvalidPlan
        If it cannot be read, is too large or is not JSON.
    """
    file = str(path)
    try:
        return json.loads(read_bytes(Path(path)), parse_constant=_refuse)
    except InvalidProblem as error:
        raise InvalidPlan(error.violations) from None
    except (ValueError, RecursionError) as error:
        raise InvalidPlan(f"{file}: this is not JSON: {error}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
