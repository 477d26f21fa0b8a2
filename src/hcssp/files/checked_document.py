"""JSON that somebody else wrote: read value by value, and refused with all that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, NoReturn

from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.files.problem_file.source import read_bytes

LARGEST_FILE = 2**30
_SHOWN = 60


def read_json(path: str | Path) -> Any:
    """What a file holds, in which every number is one.

    Raises
    ------
    InvalidPlan
        If it cannot be read, is too large or is not JSON.
    """
    file = str(path)
    try:
        return json.loads(read_bytes(Path(path), file, LARGEST_FILE), parse_constant=_refuse)
    except InvalidProblem as error:
        raise InvalidPlan(error.violations) from None
    except (ValueError, RecursionError) as error:
        raise InvalidPlan([f"{file}: this is not JSON: {error}"]) from None


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
