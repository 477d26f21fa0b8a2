"""Measurements on disk, a line each, written as they are made: a second run does only what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hcssp.comparison.measurement import Measurement
from hcssp.errors import CannotWrite
from hcssp.files.atomic import append_line
from hcssp.version import __version__

Key = tuple[str, str, float]
"""Problem, contestant, time limit."""


class ResultsFile:
    """What a file knows; measurements of other versions of this package are left alone.

    Parameters
    ----------
    path
        The file; it is begun if it is not there.

    Raises
    ------
    CannotWrite
        If it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[Key, Measurement] = {}
        try:
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        except OSError as error:
            raise CannotWrite(f"{path}: it cannot be read: {error.strerror or error}") from error
        if text and not text.endswith("\n"):
            # The last line was cut off; what comes next must not be taken for its end.
            append_line(self._path, "")
        for line in text.splitlines():
            found = _read(line)
            # What was not installed, or failed, may do better now.
            if found is not None and found.status not in ("missing", "failed"):
                self._known[found.instance, found.contestant, found.time_limit] = found

    def find(self, key: Key) -> Measurement | None:
        """What is known of that pair under that limit."""
        return self._known.get(key)

    def add(self, measurement: Measurement) -> None:
        """Keep a measurement; it is on the disk when this returns.

        Raises
        ------
        CannotWrite
            If that is impossible.
        """
        document = {"hcssp": __version__, **measurement.to_document()}
        append_line(self._path, json.dumps(document, allow_nan=False))


def _read(line: str) -> Measurement | None:
    """The measurement of a line; None if it is cut off, or one of another version."""
    try:
        document = json.loads(line)
        if document.pop("hcssp") != __version__:
            return None
        return Measurement.from_document(document)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def in_order(measurements: Sequence[Measurement], contestants: Sequence[str]) -> list[Measurement]:
    """By problem, as they came, and within each by contestant."""
    problems = list(dict.fromkeys(each.instance for each in measurements))
    return sorted(
        measurements,
        key=lambda each: (problems.index(each.instance), contestants.index(each.contestant)),
    )
