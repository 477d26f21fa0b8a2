"""The points of a sweep on disk, a line each, written as they are found.

Each line holds the problem's fingerprint, all its bounds, and what was found: a later sweep over the same
problem, whatever its grid, takes from the file what is there. The file holds no proof, and anybody can write
one: a point that is taken from it has the status ``claimed``. A line that was cut off when the machine
stopped, or that contradicts itself, is left out, and its point solved again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from math import isfinite
from pathlib import Path
from typing import Any

from hcssp.contract.memory import Problem
from hcssp.contract.proof import Status, refuse_contradiction
from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.files.atomic import append_line, check_writable
from hcssp.files.fingerprint import fingerprint
from hcssp.solving.sweep_record import SweepPoint

FORMAT = "hcssp-sweep-1"
"""The first line of a file says so; it changes with what the lines hold."""


class SweepFile:
    """What a file knows about points of sweeps; more is added at its end.

    Parameters
    ----------
    path
        The file; it is begun if it is not there.

    Raises
    ------
    InvalidProblem
        If it is another kind of file.
    CannotWrite
        If it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        check_writable(self._path)
        self._points: dict[str, SweepPoint] = {}
        if self._path.exists() and self._path.stat().st_size:
            self._read()
        else:
            append_line(self._path, json.dumps({"format": FORMAT}))

    def __len__(self) -> int:
        return len(self._points)

    def key(self, problem: Problem) -> str:
        """What tells a problem from others, its bounds included."""
        bounds = {
            name: _written(bound)
            for name, bound in zip(problem.constraint_names, problem.bounds.tolist(), strict=True)
        }
        return f"{fingerprint(problem)} {json.dumps(bounds, sort_keys=True)}"

    def find(self, key: str) -> SweepPoint | None:
        """What is known about the problem of that key."""
        return self._points.get(key)

    def add(self, key: str, point: SweepPoint) -> None:
        """Keep a point; it is on the disk when this returns.

        Raises
        ------
        CannotWrite
            If that is impossible.
        """
        self._points[key] = point
        append_line(self._path, json.dumps({"key": key, "point": _document(point)}, allow_nan=False))

    def _read(self) -> None:
        try:
            text = self._path.read_bytes().decode(errors="replace")
        except OSError as error:
            raise InvalidProblem([f"{self._path}: it cannot be read: {error.strerror or error}"]) from error
        first, *lines = text.split("\n")
        if _parsed(first) != {"format": FORMAT}:
            raise InvalidProblem(
                [f"{self._path}: it is no file of a sweep (its first line is not {FORMAT}); name another one"]
            )
        if lines and lines[-1]:
            # The last line was cut off; what comes next must not be taken for its end.
            append_line(self._path, "")
        for line in lines:
            document = _parsed(line)
            point = _point(document.get("point")) if isinstance(document, dict) else None
            if point is not None:
                self._points[str(document["key"])] = point


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _written(value: Any) -> Any:
    """A number as JSON knows it: infinities are words."""
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _document(point: SweepPoint) -> dict[str, Any]:
    parts = asdict(point)
    return {
        name: {key: _written(each) for key, each in value.items()}
        if isinstance(value, Mapping)
        else _written(value)
        for name, value in parts.items()
    }


def _point(document: Any) -> SweepPoint | None:
    """The point that a line tells of; None if the line is not in order."""
    if not isinstance(document, dict) or set(document) != {each.name for each in fields(SweepPoint)}:
        return None
    perhaps = {name: document[name] for name in ("randomised", "reward", "reward_at_most")}
    try:
        refuse_contradiction(float(document["lower_bound"]), float(document["upper_bound"]))
        return SweepPoint(
            settings=_numbers(document["settings"]),
            bounds=_numbers(document["bounds"]),
            status=Status(document["status"]),
            lower_bound=float(document["lower_bound"]),
            upper_bound=float(document["upper_bound"]),
            costs=_numbers(document["costs"]),
            prices=_numbers(document["prices"]),
            reason=str(document["reason"]),
            message=str(document["message"]),
            iterations=int(document["iterations"]),
            seconds=float(document["seconds"]),
            cpu_seconds=float(document["cpu_seconds"]),
            **{name: None if value is None else float(value) for name, value in perhaps.items()},
        )
    except (TypeError, ValueError, AttributeError, InvalidPlan):
        return None


def _numbers(document: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in document.items()}
