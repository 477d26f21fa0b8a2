"""Reading and writing whole files.

A text that is written goes to a temporary file in the same folder, reaches the disk, and takes the old file's
place in one step. Whatever happens meanwhile, even ``kill -9`` or a power cut, there is the old file or the
new one. A file that is read may have at most a given size. JSON from elsewhere is read value by value, and
refused with everything that is wrong with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, BinaryIO, Generic, NoReturn, Self, TypeVar

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
        """What is known under a key."""
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


_SHOWN = 60


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


def figure(value: float | None) -> float | None:
    """A number that JSON knows, or None."""
    return None if value is None or not isfinite(value) else float(value)


def figures(values: Mapping[str, float]) -> dict[str, float | None]:
    """Numbers by name, as JSON knows them."""
    return {name: figure(value) for name, value in values.items()}


def head(
    name: str, version: int, problem: str, fingerprint: str, bounds: Mapping[str, float]
) -> dict[str, Any]:
    """What the files about a problem begin with: their format, which problem, and under which bounds."""
    about = {"name": problem, "fingerprint": fingerprint}
    return {"format": name, "version": version, "problem": about, "bounds": figures(bounds)}


class CheckedDocument:
    """A file that holds an object, and what was found to be wrong with it so far.

    Parameters
    ----------
    file
        What the user calls it.
    content
        The object it holds.
    """

    def __init__(self, file: str, content: Mapping[str, Any]) -> None:
        self.file = file
        self.content = content
        self._violations: list[str] = []

    @classmethod
    def of_format(cls, path: str | Path, name: str, versions: Sequence[int]) -> Self:
        """Read a file that must be of a format, such as ``hcssp-plan``, in one of some versions.

        Raises
        ------
        InvalidPlan
            If it is not.
        """
        file, content = str(path), read_json(path)
        found = content.get("format") if isinstance(content, dict) else None
        if found != name:
            kind = name.removeprefix("hcssp-")
            raise InvalidPlan(f"{file}: format: {shown(found)} is not {name!r}; this is no {kind}")
        version = content.get("version")
        if version not in versions or isinstance(version, bool):
            known = " and ".join(map(str, versions))
            why = f"{shown(version)} cannot be read; this hcssp reads version {known}"
            raise InvalidPlan(f"{file}: version: {why}")
        return cls(file, content)

    def check_problem(self, fingerprint: str) -> None:
        """Refuse a file about another problem.

        Raises
        ------
        InvalidPlan
            If the fingerprint is another one.
        """
        about = self.get("problem", dict, "an object", {})
        found = about.get("fingerprint")
        if not isinstance(found, str):
            self.wrong("problem.fingerprint", found, "a text")
        self.raise_if_any()
        if found != fingerprint:
            name, kind = about.get("name"), str(self.content.get("format")).removeprefix("hcssp-")
            called = f", called {name!r}" if isinstance(name, str) and name else ""
            raise InvalidPlan(
                f"{self.file}: this {kind} is for another problem{called} (its fingerprint is "
                f"{found[:12]}, that of this problem is {fingerprint[:12]}); solve this one, or name "
                f"the {kind}'s own problem, in its scale"
            )

    def get(self, key: str, kind: type[Any], what: str, otherwise: Any) -> Any:
        """The value of a key, or `otherwise` if it is null, missing or something else."""
        value = self.content.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, kind):
            self.wrong(key, value, what)
            return otherwise
        return value

    def number(self, where: str, given: Any, unknown: float) -> float:
        """A finite number, or `unknown` for null."""
        if given is None:
            return unknown
        if isinstance(given, bool) or not isinstance(given, int | float):
            self.wrong(where, given, "a number or null")
            return unknown
        try:
            value = float(given)
        except OverflowError:
            value = inf
        if not isfinite(value):
            self.wrong(where, given, "a number that a computer can hold")
            return unknown
        return value

    def whole_numbers(self, where: str, given: Any) -> list[int] | None:
        """A list of whole numbers, or None, and the mistake noted, if it is something else."""
        if not isinstance(given, list) or not all(type(value) is int for value in given):
            self.wrong(where, given, "a list of whole numbers")
            return None
        return given

    def bounds(self, names: Sequence[str]) -> dict[str, float]:
        """The bounds that the file was made for, by the names of the problem's constraints."""
        given = self.get("bounds", dict, "an object", {})
        if set(given) != set(names):
            wanted = ", ".join(map(repr, names)) or "none"
            self.wrong("bounds", list(given), f"the constraints of this problem, {wanted}")
            return {}
        return {name: self.number(f"bounds.{name}", given[name], inf) for name in names}

    def wrong(self, where: str, value: Any, wanted: str) -> None:
        """Note that a value is not what it should be."""
        self.violate(f"{where}: {shown(value)} is not {wanted}")

    def violate(self, message: str) -> None:
        """Note a mistake."""
        self._violations.append(f"{self.file}: {message}")

    def raise_if_any(self) -> None:
        """Refuse the file if a mistake was noted.

        Raises
        ------
        InvalidPlan
            With all of them.
        """
        if self._violations:
            raise InvalidPlan(dict.fromkeys(self._violations))


def shown(value: Any) -> str:
    """A value for a message: short, and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
