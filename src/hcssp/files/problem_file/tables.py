"""An explicit table of transitions, wherever it came from: inline, CSV or DRN.

A table has no start and no goal of its own: activities share it and say where they begin and end. The
actions of a goal are left out, since a goal ends the activity.

A table in a CSV file: one line for every transition.

The columns are ``state``, ``action``, ``next`` and ``probability``, then one for every cost that is not
zero everywhere, in any order. A cost belongs to the transition: the lines of an action may name different
costs. Plans are made for the expected cost; what a single run spends is the cost of the transitions that it
takes. The lines of an action may stand apart; states and actions keep the order of their first lines.

A table in a DRN file, the explicit format of the model checker Storm, whose reward models are costs.

A label stands for all states that carry it. Unless the activity says otherwise it starts where ``init`` is
and ends where ``goal`` is.

Storm writes numbers with some ten digits: probabilities that sum to one up to 1e-6 are scaled to do so.

A table in a file of another tool: PRISM, JANI or UMB, whose reward models are costs.

A label of the model stands for all states that carry it. Unless the activity says otherwise it starts in the
initial states, each as probable as the others, and ends where ``goal`` is. Storm explores models of PRISM and
JANI as wholes, because several activities may end them in different places.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.cssp.builder import Assembly, Table
from hcssp.cssp.model import CSSP, states_of_rows
from hcssp.cssp.product import Uses
from hcssp.cssp.validation import capped, unknown_cost, unsound_rows, validated
from hcssp.errors import HcsspError, InvalidProblem, did_you_mean, listed
from hcssp.exchange import MODEL_SUFFIXES
from hcssp.files.problem_file.arithmetic import NO_PARAMETERS, Parameters
from hcssp.files.problem_file.document import Field, Findings, Scalar, resolved
from hcssp.files.problem_file.format import AMOUNT, PROBABILITY, Target
from hcssp.files.problem_file.format import Table as WrittenTable
from hcssp.files.problem_file.schema import NAMED, Form

if TYPE_CHECKING:
    from hcssp.exchange.models import ExplicitModel

_TUPLE = re.compile(r"\(-?\d{1,15}(, ?-?\d{1,15})+\)")


Wrong = Callable[[int, str, str], None]
"""Notes a mistake: its line, its field and what it is."""


@dataclass(frozen=True, eq=False)
class TableModel:
    """A table without a start and a goal.

    Attributes
    ----------
    table
        Its states and rows.
    index
        The states by their labels.
    places
        States by the labels of a DRN file.
    starts, goals
        The states that a DRN file labels ``init`` and ``goal``; empty if there are none.
    unlisted
        The states that are only led to, each with what to call if that turns out to be a mistake.
    capacities
        The last of the table's costs, which are only used up.
    """

    table: Table
    index: Mapping[object, int]
    places: Mapping[str, Sequence[int]]
    starts: tuple[int, ...] = ()
    goals: tuple[int, ...] = ()
    unlisted: Mapping[int, Callable[[], None]] = field(default_factory=dict)
    capacities: tuple[str, ...] = ()

    @property
    def cost_names(self) -> tuple[str, ...]:
        names = self.table.cost_names
        return tuple(name for name in names if name not in self.capacities) if self.capacities else names

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """What two models share if they make the same of the same start and goal."""
        return (id(self.table), self.capacities)

    @property
    def num_states(self) -> int:
        return self.table.num_states

    @property
    def num_transitions(self) -> int:
        return int(self.table.transitions.nnz)

    def find(self, target: Target, where: Field) -> tuple[int, ...]:
        """The states of a target; none, and a mistake noted, if there are none."""
        label = state_label(target) if isinstance(target, str) else target
        if label in self.index:
            return (self.index[label],)
        if isinstance(label, str) and label in self.places:
            return tuple(self.places[label])
        known = [*self.places, *(label for label in self.index if isinstance(label, str))]
        where.wrong(f"there is no state {label!r} in the table; {did_you_mean(str(label), known)}")
        return ()

    @property
    def ends_by_itself(self) -> bool:
        """Whether an activity need not say where it ends."""
        return bool(self.goals)

    def exits(self, goals: tuple[int, ...]) -> dict[str, tuple[Hashable, ...]]:
        """What outcomes may call the ends of an activity, and the labels that are meant."""
        labels = self.table.state_labels
        found: dict[str, tuple[Hashable, ...]] = {
            name: tuple(labels[state] for state in states if state in goals)
            for name, states in self.places.items()
        }
        found |= {label_text(labels[goal]): (labels[goal],) for goal in goals}
        return {name: meant for name, meant in found.items() if meant}

    def made(self, starts: Mapping[int, float], goals: tuple[int, ...]) -> CSSP:
        """The table with a start and a goal, validated; what is only used up costs nothing."""
        table = self.table
        if self.capacities or table.gives_back:
            table = table.with_costs(self.cost_names)
        made = validated(table.without_actions_of(goals).cssp(starts, goals))
        if not self.places:
            return made
        labels = table.state_labels
        return made.derive(
            groups={name: [labels[state] for state in states] for name, states in self.places.items()}
        )

    def uses(self, cssp: CSSP, names: Sequence[str]) -> Uses:
        """How much of each capacity the rows of what was made use, or give back if negative."""
        table = self.table.without_actions_of(np.flatnonzero(cssp.goals).tolist())
        places = [table.cost_names.index(name) for name in names]
        paid = table.transition_costs
        if paid is not None:
            costs = np.maximum(paid.costs[[table.cost_names.index(name) for name in cssp.cost_names]], 0.0)
            paid = paid.paying(np.vstack([costs, paid.costs[places]]))
        return Uses(table.costs[places], paid)


class TableDraft:
    """A table in the making: states called by texts, and rows that know where they stand in their file.

    Parameters
    ----------
    cost_names
        The primary cost, then the others.
    wrong
        Notes a mistake.
    """

    def __init__(self, cost_names: tuple[str, ...], wrong: Wrong) -> None:
        self._assembly = Assembly(cost_names)
        self.places: dict[str, list[int]] = {}
        self._wrong = wrong
        # Most texts come many times, and turning them into labels takes a while.
        self._by_text: dict[str, int] = {}
        self._listed: set[int] = set()
        self._where: list[int | Field] = []
        self._led_from: dict[int, int] = {}

    def state(self, text: str, *, listed: bool = False) -> int:
        """The number of a state, which is new if it has not been met yet.

        Parameters
        ----------
        text
            What the table calls it.
        listed
            Whether it stands in the table for itself, or something leads to it.
        """
        number = self._by_text.get(text)
        if number is None:
            label = state_label(text)
            number = self._assembly.state_index.get(label)
            if number is None:
                number = self._assembly.add_state(label)
            self._by_text[text] = number
        if listed:
            self._listed.add(number)
        return number

    def row(self, state: int, action: str, costs: Sequence[float], where: int | Field) -> int:
        """The number of a new row, which stands on that line, or is that field of the document."""
        self._where.append(where)
        return self._assembly.add_row(state, action, costs)

    def lead(
        self,
        rows: Sequence[int],
        texts: Collection[str],
        probabilities: Collection[float],
        arrival_costs: Sequence[float] | None = None,
    ) -> None:
        """Let rows lead to states, which are new if they have not been met yet."""
        successors = [self.state(text) for text in texts]
        for row, state in zip(rows, successors, strict=True):
            if state not in self._led_from:
                self._led_from[state] = row
        self._assembly.add_transitions(rows, successors, [*probabilities], arrival_costs)

    def model(self, starts: Sequence[int] = (), goals: Sequence[int] = ()) -> TableModel:
        """The table; rows that lead nowhere or whose probabilities do not sum to one are noted."""
        table = self._assembly.table()
        for row, message in unsound_rows(table.transitions):
            self._note(int(table.origin[row]), message)
        return TableModel(
            table=table,
            index=self._assembly.state_index,
            places=self.places,
            starts=tuple(starts),
            goals=tuple(goals),
            unlisted={
                state: partial(self._note_unlisted, state, row)
                for state, row in self._led_from.items()
                if state not in self._listed
            },
        )

    def _note_unlisted(self, state: int, row: int) -> None:
        labels = self._assembly.state_labels
        guess = did_you_mean(str(labels[state]), [str(labels[other]) for other in self._listed])
        remedy = guess if guess.startswith("did") else "give it actions, or let an activity end there"
        message = f"it leads to {labels[state]!r}, which has no actions and is no goal; {remedy}"
        self._note(row, message)

    def _note(self, row: int, message: str) -> None:
        """Note a mistake of a row, by the number it was given."""
        where = self._where[row]
        if isinstance(where, int):
            self._wrong(where, "", message)
        else:
            where.wrong(message)


def read_table(table: WrittenTable, where: Field, cost_names: tuple[str, ...]) -> TableModel:
    """A table that is written into the problem file; mistakes are noted."""
    draft = TableDraft(cost_names, where.findings.add)
    # First all that are listed, then those that are only led to: so the file decides on their order.
    numbers = [draft.state(text, listed=True) for text in table]
    for number, actions in zip(numbers, table.values(), strict=True):
        for label, action in (actions or {}).items():
            if action is None or action.to is None:
                continue
            to = {action.to: 1.0} if isinstance(action.to, str) else action.to
            chances = {reached: chance for reached, chance in to.items() if chance is not None}
            paid = _costs(action.costs, action.where("costs"), cost_names)
            arrivals = action.arrival_costs or {}
            extra = [
                _costs(arrivals.get(text), action.where("arrival_costs", text), cost_names)
                for text in (chances if arrivals else ())
            ]
            for text in arrivals.keys() - to.keys():
                message = f"{text!r} is not a next state; {did_you_mean(text, [*to])}"
                action.where("arrival_costs", text).wrong(message)
            if len(chances) == len(to):
                row = draft.row(number, label, paid, action.where("to"))
                arriving = [cost for costs in extra for cost in costs] if arrivals else None
                draft.lead([row] * len(chances), chances, chances.values(), arriving)
    return draft.model()


def _costs(
    given: Mapping[str, float | None] | None, where: Field, cost_names: tuple[str, ...]
) -> list[float]:
    """One number for each cost, 0 where it is not named; costs that there are not are noted."""
    costs = given or {}
    for name in costs:
        if name not in cost_names:
            where.at(name).wrong(unknown_cost(name, cost_names))
    return [costs.get(name) or 0.0 for name in cost_names]


def state_label(text: str) -> Hashable:
    """What a state of a table is called: its text, or a cell if it is written like one.

    So a table can hand over to a grid, and a grid to a table: exits and entries meet by their labels.

    >>> state_label("hall"), state_label("(3, 4)"), state_label("7")
    ('hall', (3, 4), '7')
    """
    if _TUPLE.fullmatch(text):
        return tuple(int(number) for number in text[1:-1].split(","))
    return text


def label_text(label: Hashable) -> str:
    """How a table calls a state or an action: the inverse of :func:`state_label`, as far as there is one."""
    return label if isinstance(label, str) else str(label)


COLUMNS = ("state", "action", "next", "probability")


def read_csv_table(
    text: str,
    cost_names: tuple[str, ...],
    wrong: Wrong,
    most: int,
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
    parameters
        What the names in numbers stand for, and which costs can be given back.
    """
    lines = _lines(text, wrong)
    header = next(lines, None)
    if header is None:
        wrong(1, "", f"the table is empty; its first line must be {','.join(COLUMNS)} and the costs")
        return None
    columns = _columns(header[0], header[1], cost_names, wrong)
    if columns is None:
        return None
    sink = _Sink(wrong)
    readers = [(name, at, _reader(name, sink, parameters)) for name, at in columns.items()]
    draft = TableDraft(cost_names, wrong)
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
        if len(fields) != len(columns):
            wrong(line, "", f"{len(fields)} columns instead of {len(columns)}")
            unreadable = True
            continue
        values = {name: read(line, fields[at]) for name, at, read in readers}
        if None in values.values():
            unreadable = True
            continue
        state, action = values["state"], values["action"]
        row = rows.get((state, action))
        if row is None:
            row = rows[state, action] = draft.row(draft.state(state, listed=True), action, free, line)
        found.append(row)
        reached.append(values["next"])
        probabilities.append(values["probability"])
        paid += [values.get(name, 0.0) for name in cost_names]
    if not found:
        if not unreadable:
            wrong(header[0], "", "the table has no transitions")
        return None
    # First all states that have actions, then those that are only led to.
    draft.lead(found, reached, probabilities, paid)
    return draft.model()


class _Sink(Findings):
    """What is found wrong in a file beside the document."""

    def __init__(self, wrong: Wrong) -> None:
        super().__init__("")
        self._wrong = wrong

    def add(self, line: int, path: str, message: str, file: str | None = None) -> None:
        """Note a mistake."""
        self._wrong(line, path, message)


def _reader(column: str, sink: Findings, parameters: Parameters) -> Callable[[int, str], Any]:
    """What reads the texts of a column; None, and the mistake noted, of one that is not sound."""
    form: Form[Any] = NAMED if column in COLUMNS[:3] else PROBABILITY if column == COLUMNS[3] else AMOUNT
    # Texts that come again and again are looked at once.
    known: dict[str, Any] = {"": 0.0} if form is AMOUNT else {}

    def read(line: int, text: str) -> Any:
        text = text.strip()
        if text not in known:
            node = Scalar(text if form is NAMED else resolved(text), line, text, line)
            value = form.read(Field(node, (None, column), line, sink, parameters))
            if value is None:
                return None
            known[text] = value
        return known[text]

    return read


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
    columns = {title.strip(): position for position, title in enumerate(header)}
    titles = [*map(str.strip, header)]
    mistakes = [
        (name[:60], f"there is no such column; {did_you_mean(name, known)}")
        for name in columns
        if name not in known
    ]
    mistakes += [
        (name, "this column stands here a second time") for name in columns if titles.count(name) > 1
    ]
    mistakes += [
        ("", f"the column {name!r} is missing; the first line must name the columns")
        for name in COLUMNS
        if name not in columns
    ]
    for name, why in mistakes:
        wrong(line, name, why)
    return None if mistakes else columns


def read_drn_table(text: str, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> TableModel | None:
    """The table of a DRN file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    cost_names
        The costs; every reward model must be one of them, and what none names is zero.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    """
    from hcssp.exchange.drn import read_drn

    model = read_drn(text, wrong, most)
    if model is None:
        return None
    header = text.count("\n", 0, text.find("@reward_models")) + 1
    for name in model.rewards.keys() - set(cost_names):
        wrong(header, "@reward_models", f"{name!r} is not a cost; the costs are {listed(cost_names)}")
    # The reader has looked at numbers and probabilities already, and knows their lines.
    return _table_of(model, cost_names)


SUFFIXES = tuple(suffix for suffix in MODEL_SUFFIXES if suffix != ".drn")
"""What the names of the files end in that are read here."""


def read_model_table(
    path: Path, cost_names: tuple[str, ...], constants: Mapping[str, float], wrong: Callable[[str], None]
) -> TableModel | None:
    """The table of a model; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    path
        The file.
    cost_names
        The costs; those that are no reward models are zero, and reward models that are no costs do not count.
    constants
        The constants that the model leaves open.
    wrong
        Notes a mistake.
    """
    from hcssp.exchange.reading import read_model

    try:
        model = read_model(path, {name: f"{value:.17g}" for name, value in constants.items()}, whole=True)
    except InvalidProblem as error:
        for violation in error.violations:
            wrong(violation)
        return None
    except HcsspError as error:
        wrong(str(error))
        return None
    found = _violations(model, cost_names, path)
    for violation in found:
        wrong(violation)
    return None if found else _table_of(model, cost_names)


def _table_of(model: ExplicitModel, cost_names: tuple[str, ...]) -> TableModel:
    """A model as a table of these costs."""
    from hcssp.exchange.models import GOAL, scaled

    nothing = np.zeros(model.num_rows)
    costs = np.array([model.rewards.get(name, nothing) for name in cost_names])
    paid = model.transition_costs(cost_names, np.arange(model.num_rows))
    if paid is not None:
        differing, means = paid.expected()
        costs[:, differing] = means
    table = Table(
        transitions=scaled(model.transitions),
        row_states=states_of_rows(model.row_start),
        costs=costs,
        cost_names=cost_names,
        state_labels=tuple(model.state_names),
        action_labels=tuple(model.action_names),
        origin=np.arange(model.num_rows),
        transition_costs=paid,
    )
    places = {label: np.flatnonzero(mask).tolist() for label, mask in model.labels.items() if mask.any()}
    return TableModel(
        table=table,
        index={label: state for state, label in enumerate(table.state_labels)},
        places=places,
        starts=tuple(np.flatnonzero(model.initial).tolist()),
        goals=tuple(places.get(GOAL, ())),
    )


def _violations(model: ExplicitModel, cost_names: tuple[str, ...], path: Path) -> list[str]:
    """What keeps a model from being a table of these costs."""
    from hcssp.exchange.models import scaled

    found: list[str] = []
    counted = [name for name in cost_names if name in model.rewards]
    if not counted:
        there_are = f"its reward models are {listed(list(model.rewards))}"
        found.append(f"{path}: none of the costs {listed(cost_names)} is in the model; {there_are}")
    owners = states_of_rows(model.row_start)

    def place(row: int) -> str:
        return f"{path}: state {model.state_names[int(owners[row])]!r}, action {model.action_names[row]!r}"

    found += [
        f"{place(row)}: the reward {name!r} is negative; costs are not"
        for name in counted
        for row in np.flatnonzero(~(model.rewards[name] >= 0.0))[:1].tolist()
    ]
    found += capped(f"{place(row)}: {message}" for row, message in unsound_rows(scaled(model.transitions)))
    return found
