"""A table in a CSV file: one line for every transition.

The columns are ``state``, ``action``, ``next`` and ``probability``, then one for every cost that is not
zero everywhere, in any order. A cost belongs to the transition: if the lines of an action name different
costs, the expected one counts. The lines of an action may stand apart; states and actions keep the order
of their first lines.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from hcssp.files.problems.table import TableBuilder, TableModel, Wrong
from hcssp.files.problems.targets import state_label
from hcssp.files.reading.fields import LARGEST_COST, name_problem
from hcssp.files.reading.findings import did_you_mean

COLUMNS = ("state", "action", "next", "probability")
_LONGEST_FIELD = 1000


@dataclass
class _Row:
    """An action as its lines come."""

    state: int
    action: str
    line: int
    to: list[tuple[Hashable, float]] = field(default_factory=list)
    costs: list[list[float]] = field(default_factory=list)


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
    rows: dict[tuple[int, str], _Row] = {}
    width = len(header[1])
    count = 0
    for line, fields in lines:
        count += 1
        if count > most:
            wrong(line, "", f"the table has more than the {most:,} transitions that are allowed")
            return None
        if len(fields) != width:
            wrong(line, "", f"{len(fields)} columns instead of {width}")
            continue
        values = {name: fields[column].strip() for name, column in columns.items()}
        problems = [(name, name_problem(values[name])) for name in COLUMNS[:3]]
        for name, problem in problems:
            if problem is not None:
                wrong(line, name, problem)
        probability = _number(values["probability"], line, "probability", wrong)
        if probability is not None and probability > 1.0:
            wrong(line, "probability", f"{values['probability']!r} is not a probability between 0 and 1")
            probability = None
        costs = [_number(values[name], line, name, wrong) if values.get(name) else 0.0 for name in cost_names]
        known = [cost for cost in costs if cost is not None]
        if probability is None or len(known) < len(costs) or any(problem for _, problem in problems):
            continue
        state, action = builder.list_state(state_label(values["state"])), values["action"]
        row = rows.setdefault((state, action), _Row(state, action, line))
        row.to.append((state_label(values["next"]), probability))
        row.costs.append(known)
    if not rows:
        wrong(1, "", "the table has no transitions")
        return None
    for row in rows.values():
        builder.add_row(row.state, row.action, row.to, _expected(row), row.line, "")
    return builder.build()


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


def _expected(row: _Row) -> list[float]:
    """The costs of an action: where its lines agree exactly these, without rounding."""
    return [
        each[0]
        if len(set(each)) == 1
        else sum(probability * cost for (_, probability), cost in zip(row.to, each, strict=True))
        for each in zip(*row.costs, strict=True)
    ]
