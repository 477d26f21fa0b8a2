"""An explicit table of transitions, wherever it came from: inline, CSV or DRN.

A table has no start and no goal of its own: activities share it and say where they begin and end. The
actions of a goal are left out, since a goal ends the activity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hcssp.cssp.assembly import Assembly, Table
from hcssp.cssp.levels import Uses
from hcssp.cssp.model import CSSP
from hcssp.cssp.validation import unknown_cost, unsound_rows, validated
from hcssp.errors import did_you_mean
from hcssp.files.problem_file.format import Table as WrittenTable
from hcssp.files.problem_file.format import Target
from hcssp.files.problem_file.tree import Field

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
        for row, told in unsound_rows(table.transitions):
            self._note(int(table.origin[row]), told)
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
        told = f"it leads to {labels[state]!r}, which has no actions and is no goal; {remedy}"
        self._note(row, told)

    def _note(self, row: int, told: str) -> None:
        """Note a mistake of a row, by the number it was given."""
        where = self._where[row]
        if isinstance(where, int):
            self._wrong(where, "", told)
        else:
            where.wrong(told)


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
                told = f"{text!r} is no next state; {did_you_mean(text, [*to])}"
                action.where("arrival_costs", text).wrong(told)
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
