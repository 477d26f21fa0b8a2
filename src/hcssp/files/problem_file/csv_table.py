"""A table in a CSV file: one line for every transition.

The columns are ``state``, ``action``, ``next`` and ``probability``, then one for every cost that is not
zero everywhere, in any order. A cost belongs to the transition: the lines of an action may name different
costs. Plans are made for the expected cost; what a single run spends is the cost of the transitions that it
takes. The lines of an action may stand apart; states and actions keep the order of their first lines.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping
from math import isnan, nan

from hcssp.errors import did_you_mean
from hcssp.files.problem_file.expressions import ExpressionError, looks_like_expression
from hcssp.files.problem_file.forms import name_problem
from hcssp.files.problem_file.grid_format import LARGEST_COST
from hcssp.files.problem_file.parameters import NO_PARAMETERS, Parameters
from hcssp.files.problem_file.tables import TableDraft, TableModel, Wrong

COLUMNS = ("state", "action", "next", "probability")
_LONGEST_FIELD = 1000


def read_csv_table(
    text: str,
    cost_names: tuple[str, ...],
    wrong: Wrong,
    most: int,
    capacities: Collection[str] = (),
    parameters: Parameters = NO_PARAMETERS,
) -> TableModel | None:
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
    capacities
        The costs that can be given back.
    parameters
        What the names in numbers stand for.
    """
    lines = _lines(text, wrong)
    header = next(lines, None)
    if header is None:
        wrong(1, "", f"the table is empty; its first line must be {','.join(COLUMNS)} and the costs")
        return None
    columns = _columns(header[0], header[1], cost_names, wrong)
    if columns is None:
        return None
    draft = TableDraft(cost_names, wrong)
    fields_of = _Fields(columns, cost_names, wrong, capacities, parameters)
    rows: dict[tuple[str, str], int] = {}
    free = [0.0] * len(cost_names)
    found: list[int] = []
    reached: list[str] = []
    probabilities: list[float] = []
    paid: list[float] = []
    unreadable = False
    for count, (line, fields) in enumerate(lines, start=1):
        if count > most:
            wrong(line, "", f"the table has more than the {most:,} transitions that are allowed")
            return None
        read = fields_of.read(line, fields)
        if read is None:
            unreadable = True
            continue
        state, action, successor, probability, costs = read
        row = rows.get((state, action))
        if row is None:
            row = rows[state, action] = draft.row(draft.state(state, listed=True), action, free, line)
        found.append(row)
        reached.append(successor)
        probabilities.append(probability)
        paid += costs
    if not found:
        if not unreadable:
            wrong(header[0], "", "the table has no transitions")
        return None
    # First all states that have actions, then those that are only led to.
    draft.lead(found, reached, probabilities, paid)
    return draft.model()


class _Fields:
    """Reads the fields of lines; texts that come again and again are looked at once."""

    def __init__(
        self,
        columns: Mapping[str, int],
        cost_names: tuple[str, ...],
        wrong: Wrong,
        capacities: Collection[str],
        parameters: Parameters,
    ) -> None:
        self._capacities = capacities
        self._parameters = parameters
        self._columns = columns
        self._state, self._action, self._next, self._probability = (columns[name] for name in COLUMNS)
        self._wrong = wrong
        self._names: dict[str, str] = {}
        self._chances: dict[str, float] = {}
        self._numbers: dict[str, float] = {"": 0.0}
        self._given_back: dict[str, float] = {"": 0.0}
        self._costs = [
            (columns.get(name), self._given_back if name in capacities else self._numbers)
            for name in cost_names
        ]

    def read(self, line: int, fields: list[str]) -> tuple[str, str, str, float, list[float]] | None:
        """State, action, next state, probability and costs; None, and the mistakes noted, if unreadable."""
        if len(fields) != len(self._columns):
            self._wrong(line, "", f"{len(fields)} columns instead of {len(self._columns)}")
            return None
        names = self._names
        try:
            return (
                names[fields[self._state]],
                names[fields[self._action]],
                names[fields[self._next]],
                self._chances[fields[self._probability]],
                [0.0 if column is None else known[fields[column]] for column, known in self._costs],
            )
        except KeyError:
            # Some text is new; now all are looked at, so that all mistakes of the line are told.
            learnt = [self._learn(line, column, fields[at]) for column, at in self._columns.items()]
            return self.read(line, fields) if all(learnt) else None

    def _learn(self, line: int, column: str, text: str) -> bool:
        """Whether a text may stand in a column; if so it is known from now on."""
        if column in COLUMNS[:3]:
            problem = name_problem(text.strip())
            if problem is None:
                self._names[text] = text.strip()
        else:
            most, what, known = 1.0, "a probability between 0 and 1", self._chances
            if column != "probability":
                most, what, known = LARGEST_COST, f"a number from 0 to {LARGEST_COST:g}", self._numbers
            least = -LARGEST_COST if column in self._capacities else 0.0
            known = self._given_back if least else known
            if text in known:
                return True
            value, problem = _number(text.strip(), least, most, what, self._parameters)
            if value is not None:
                known[text] = value
        if problem is not None:
            self._wrong(line, column, problem)
        return problem is None


def _lines(text: str, wrong: Wrong) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers."""
    reader = csv.reader(text.split("\n"), strict=True)
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
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


def _number(
    text: str, least: float, most: float, what: str, parameters: Parameters
) -> tuple[float | None, str | None]:
    """A number from `least` to `most`, perhaps computed; and what is wrong with anything else."""
    short = len(text) < _LONGEST_FIELD and "_" not in text
    told = f"{text[:60]!r}"
    try:
        value = float(text) if short else nan
    except ValueError:
        value = nan
    if isnan(value) and looks_like_expression(text):
        try:
            value = float(parameters.evaluate(text))
            told = parameters.told(text)
        except ExpressionError as error:
            return None, f"{told} is not {what}: {error}"
    return (value, None) if least <= value <= most else (None, f"{told} is not {what}")
