"""A table in a CSV file: one line for every transition.

The columns are ``state``, ``action``, ``next`` and ``probability``, then one for every cost that is not
zero everywhere, in any order. A cost belongs to the transition: if the lines of an action name different
costs, the expected one counts. The lines of an action may stand apart; states and actions keep the order
of their first lines.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from hcssp.errors import did_you_mean
from hcssp.files.problems.table import TableBuilder, TableModel, Wrong
from hcssp.files.reading.fields import LARGEST_COST, name_problem

COLUMNS = ("state", "action", "next", "probability")
_LONGEST_FIELD = 1000


def read_csv_table(text: str, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> TableModel | None:
    """The table of a CSV file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    cost_names
        The costs that columns may name.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    """
    lines = _lines(text, wrong)
    header = next(lines, None)
    if header is None:
        wrong(1, "", f"the table is empty; its first line must be {','.join(COLUMNS)} and the costs")
        return None
    columns = _columns(header[0], header[1], cost_names, wrong)
    if columns is None:
        return None
    builder = TableBuilder(cost_names, wrong)
    reader = _LineReader(columns, cost_names, wrong)
    found: list[tuple[int, str, float, list[float]]] = []
    for count, (line, fields) in enumerate(lines, start=1):
        if count > most:
            wrong(line, "", f"the table has more than the {most:,} transitions that are allowed")
            return None
        transition = reader.read(line, fields)
        if transition is not None:
            state, action, reached, probability, costs = transition
            row = builder.row(builder.state(state, listed=True), action, line, "")
            found.append((row, reached, probability, costs))
    if not found:
        wrong(header[0], "", "the table has no transitions")
        return None
    # First all states that have actions, then those that are only led to.
    for each in found:
        builder.lead(*each)
    return builder.build()


class _LineReader:
    """Reads lines; texts that come again and again are looked at once."""

    def __init__(self, columns: Mapping[str, int], cost_names: tuple[str, ...], wrong: Wrong) -> None:
        self._names = [(name, columns[name]) for name in COLUMNS[:3]]
        self._numbers = [(name, columns.get(name)) for name in ("probability", *cost_names)]
        self._width = len(columns)
        self._wrong = wrong
        self._sound_names: set[str] = set()
        self._sound_numbers: dict[str, float] = {}

    def read(self, line: int, fields: list[str]) -> tuple[str, str, str, float, list[float]] | None:
        """State, action, next state, probability and costs; None, and the mistakes noted, if unreadable."""
        if len(fields) != self._width:
            self._wrong(line, "", f"{len(fields)} columns instead of {self._width}")
            return None
        state, action, reached = (self._name(line, name, fields[column]) for name, column in self._names)
        probability, *costs = (
            0.0 if column is None else self._number(line, name, fields[column].strip())
            for name, column in self._numbers
        )
        known = [cost for cost in costs if cost is not None]
        if not (state and action and reached) or probability is None or len(known) < len(costs):
            return None
        return state, action, reached, probability, known

    def _name(self, line: int, column: str, text: str) -> str:
        """A name; empty, and the mistake noted, if it is none."""
        name = text.strip()
        if name in self._sound_names:
            return name
        problem = name_problem(name)
        if problem is not None:
            self._wrong(line, column, problem)
            return ""
        self._sound_names.add(name)
        return name

    def _number(self, line: int, column: str, text: str) -> float | None:
        """A number that is not negative; an empty cost is zero."""
        value = self._sound_numbers.get(text)
        if value is None:
            value = _number(text, line, column, self._wrong) if text or column == "probability" else 0.0
            if value is None:
                return None
            self._sound_numbers[text] = value
        if column == "probability" and (value > 1.0 or not text):
            self._wrong(line, column, f"{text!r} is not a probability between 0 and 1")
            return None
        return value


def _lines(text: str, wrong: Wrong) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers."""
    reader = csv.reader(text.split("\n"), strict=True)
    try:
        for fields in reader:
            if any(each.strip() for each in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        wrong(reader.line_num, "", f"this is not CSV: {error}")


def _columns(
    line: int, header: list[str], cost_names: tuple[str, ...], wrong: Wrong
) -> dict[str, int] | None:
    """Where each column stands."""
    known = (*COLUMNS, *cost_names)
    columns: dict[str, int] = {}
    sound = True
    for position, title in enumerate(header):
        name = title.strip()
        if name not in known:
            wrong(line, name[:60], f"there is no such column; {did_you_mean(name, known)}")
            sound = False
        elif name in columns:
            wrong(line, name, "this column stands here a second time")
            sound = False
        columns[name] = position
    for name in COLUMNS:
        if name not in columns:
            wrong(line, "", f"the column {name!r} is missing; the first line must name the columns")
            sound = False
    return columns if sound else None


def _number(text: str, line: int, column: str, wrong: Wrong) -> float | None:
    """A finite number that is not negative."""
    try:
        value = float(text) if len(text) < _LONGEST_FIELD and "_" not in text else -1.0
    except ValueError:
        wrong(line, column, f"{text[:60]!r} is not a number")
        return None
    if not 0.0 <= value <= LARGEST_COST:
        wrong(line, column, f"{text[:60]!r} is not a number from 0 to {LARGEST_COST:g}")
        return None
    return value
