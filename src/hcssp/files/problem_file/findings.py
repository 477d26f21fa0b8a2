"""What is wrong with a file, each with its file, line and field, told together.

>>> findings = Findings("mine.yaml")
>>> findings.add(12, "activities.cross.slip", "1.4 is not a probability between 0 and 1")
>>> findings.raise_if_any()
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: mine.yaml:12: activities.cross.slip: 1.4 is not a probability between 0 and 1
"""

from __future__ import annotations

from typing import NoReturn

from hcssp.errors import InvalidProblem

MOST_FINDINGS = 25
"""Findings beyond this many are counted instead of listed."""

ENOUGH_FINDINGS = 1000
"""After so many a file is not looked at any further: finding them takes time, too."""


class Findings:
    """What has been found wrong so far.

    Parameters
    ----------
    file
        What the user calls the file.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._files = [file]
        self._found: dict[tuple[int, int, str], None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, line: int, path: str, message: str, file: str | None = None) -> None:
        """Note that something is wrong.

        Parameters
        ----------
        line
            Where, counted from 1.
        path
            The field, such as ``activities.cross.slip``; empty for the whole document.
        message
            The value and the remedy.
        file
            The file beside the document that it is wrong in; None: the document.

        Raises
        ------
        InvalidProblem
            If that makes very many.
        """
        place = self.file if file is None else file
        if place not in self._files:
            self._files.append(place)
        where = f"{path}: " if path else ""
        text = f"{place}:{line}: {where}{message}"
        self._found[self._files.index(place), line, " ".join(text.splitlines())] = None
        if len(self._found) >= ENOUGH_FINDINGS:
            self.raise_if_any()

    def fatal(self, line: int, path: str, message: str, file: str | None = None) -> NoReturn:
        """Note what makes the rest unreadable, and report everything."""
        self.add(line, path, message, file)
        self.raise_if_any()
        raise InvalidProblem([message])  # not reached: something has just been noted

    def raise_if_any(self) -> None:
        """Report everything, file by file and line by line.

        Raises
        ------
        InvalidProblem
            If anything has been noted.
        """
        if not self._found:
            return
        # Sorting is stable: what stands on one line is told in the order it was found in.
        told = [text for _, _, text in sorted(self._found, key=lambda found: found[:2])]
        more = len(told) - MOST_FINDINGS
        if more > 0:
            least = "at least " if len(told) >= ENOUGH_FINDINGS else ""
            told = [*told[:MOST_FINDINGS], f"... and {least}{more} more"]
        raise InvalidProblem(told)
