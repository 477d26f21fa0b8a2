"""Files beside a problem file: they stay inside its folder, whatever the file asks for."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from hcssp.errors import InvalidProblem
from hcssp.files.reading.document import decoded, read_bytes
from hcssp.files.reading.fields import Field
from hcssp.files.reading.limits import Limits


class Folder:
    """The folder of a problem file.

    Parameters
    ----------
    path
        The folder.
    limits
        How large the files in it may be.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits

    def read(self, field: Field, name: str) -> tuple[str, str] | None:
        """What to call a file of this folder, and its text; None, and the mistake noted, if unreadable."""
        relative = PurePosixPath(name)
        if "\\" in name or ":" in name or relative.is_absolute() or ".." in relative.parts:
            field.wrong(
                f"{name!r} leads out of the problem's folder; name a file inside, with / between folders"
            )
            return None
        path = self._path / relative
        shown = str(path)
        try:
            # A link may lead anywhere, so it is followed before anything is opened.
            inside = path.resolve().is_relative_to(self._path.resolve())
            regular = path.is_file()
        except (OSError, ValueError, RuntimeError) as error:
            field.wrong(f"{name!r} cannot be read: {error}")
            return None
        if not inside:
            field.wrong(
                f"{name!r} is a link that leads out of the problem's folder; put the file itself there"
            )
            return None
        if not regular:
            field.wrong(f"there is no file {name!r} beside the problem file")
            return None
        try:
            content = read_bytes(path, shown, self._limits.table_bytes)
        except InvalidProblem as error:
            field.wrong("; ".join(error.violations))
            return None
        return shown, decoded(content, field.findings, shown)
