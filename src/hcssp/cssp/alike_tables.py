"""Tables of one document: what is stated again is made once, and what looks alike shares its layout.

A file may write out thousands of tables of a few rows each. Making and checking the arrays of a C-SSP takes
a hundred times as long as filling in a few numbers, so tables that agree in all but their numbers and names
share one :class:`~hcssp.cssp.pattern.Pattern`, and problems made of them all but their numbers and names. Of
these the rules about numbers and names are checked, and nothing is believed of them: of a problem that breaks
one, all rules are looked at, and say what they always say.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np

from hcssp.cssp.assembly import Assembly, Table
from hcssp.cssp.conversion import frozen
from hcssp.cssp.model import CSSP, IntArray, SparseMatrix
from hcssp.cssp.pattern import Pattern
from hcssp.cssp.validation import numbers_and_names_are_sound, validated


@dataclass(frozen=True, eq=False)
class _Mould:
    """A valid problem, and which rows and transitions of its table it has: None for all of them."""

    problem: CSSP
    rows: IntArray | None
    entries: IntArray | None

    def filled(self, table: Table) -> CSSP:
        """The problem that another table of the same pattern makes, not validated."""
        costs, data, actions = table.costs, table.transitions.data, table.action_labels
        paid = table.transition_costs
        if self.rows is not None:
            paid = None if paid is None else paid.take(self.rows)
            costs, data = costs[:, self.rows], data[self.entries]
            actions = tuple([actions[row] for row in self.rows.tolist()])
        transitions = copy(self.problem.transitions)
        transitions.data = frozen(data)
        return self.problem.filled(
            transitions=transitions,
            costs=frozen(np.ascontiguousarray(costs)),
            state_labels=table.state_labels,
            action_labels=actions,
            transition_costs=paid,
        )


class AlikeTables:
    """The tables and problems that have been made so far."""

    def __init__(self) -> None:
        self._patterns: dict[Hashable, Pattern] = {}
        self._tables: dict[Hashable, Table] = {}
        self._moulds: dict[Hashable, _Mould] = {}

    def table(self, assembly: Assembly) -> Table:
        """What has been put together; the same table if all of it has been before."""
        wiring = assembly.wiring
        whole = (wiring, assembly.content)
        table = self._tables.get(whole)
        if table is None:
            pattern = self._patterns.get(wiring)
            if pattern is None:
                pattern = self._patterns[wiring] = Pattern(*wiring)
            table = self._tables[whole] = assembly.table(pattern)
        return table

    def problem(self, table: Table, initial: Mapping[int, float], goals: tuple[int, ...]) -> CSSP:
        """A table with a start and a goal, whose actions are left out.

        Raises
        ------
        InvalidProblem
            If it breaks any rule, with all violations.
        """
        if table.pattern is None:
            return validated(table.without_actions_of(goals).cssp(initial, goals))
        key = (table.pattern, table.cost_names, tuple(initial.items()), goals)
        mould = self._moulds.get(key)
        if mould is not None:
            problem = mould.filled(table)
            return problem if numbers_and_names_are_sound(problem) else validated(problem)
        shortened = table.without_actions_of(goals)
        problem = validated(shortened.cssp(initial, goals))
        if shortened is table:
            self._moulds[key] = _Mould(problem, None, None)
        else:
            kept = np.flatnonzero(~np.isin(table.row_states, goals))
            self._moulds[key] = _Mould(problem, kept, _entries_of(table.transitions, kept))
        return problem


def _entries_of(transitions: SparseMatrix, rows: IntArray) -> IntArray:
    """Where the transitions of some rows, which are in order, stand among all of them."""
    chosen = np.zeros(transitions.shape[0], dtype=np.bool_)
    chosen[rows] = True
    return np.flatnonzero(np.repeat(chosen, np.diff(transitions.indptr)))
