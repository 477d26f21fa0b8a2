"""Writing a file as a whole or not at all.

The text goes to a temporary file in the same folder, reaches the disk, and takes the old file's place in one
step. Whatever happens meanwhile, even ``kill -9`` or a power cut, there is the old file or the new one.
"""

from __future__ import annotations

import os
from pathlib import Path

from hcssp.errors import CannotWrite


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
            # Not tempfile, whose files nobody else may read.
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


def append_line(path: str | Path, line: str) -> None:
    """Add a line to a file, which is begun if it is not there; it is on the disk when this returns.

    Raises
    ------
    CannotWrite
        If that is impossible.
    """
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except (OSError, ValueError) as error:
        raise _cannot("it cannot be written", path, error) from error


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
