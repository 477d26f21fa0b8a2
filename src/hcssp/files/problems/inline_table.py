"""A table written into the problem file: states, their actions, and where each leads at what cost."""

from __future__ import annotations

from hcssp.files.problems.grid import read_costs
from hcssp.files.problems.table import TableDraft, TableModel
from hcssp.files.reading.fields import Field


def read_inline_table(field: Field, cost_names: tuple[str, ...]) -> TableModel | None:
    """A table; None, and the mistakes noted, if it cannot be read."""
    states = field.members("a mapping from states to their actions")
    if states is None:
        return None
    if not states:
        field.wrong("the table is empty; give at least one state with an action")
        return None
    draft = TableDraft(cost_names, field.findings.add)
    # First all that are listed, then those that are only led to: so the file decides on their order.
    numbers = [draft.state(text, listed=True) for text in states]
    for number, state in zip(numbers, states.values(), strict=True):
        if state.is_nothing:
            continue
        for action, row in (state.members("a mapping from actions to where they lead") or {}).items():
            parts = row.entries("where an action leads, {to: ..., costs: {...}}", ("to",), ("costs",))
            if parts is None or "to" not in parts:
                continue
            costs = read_costs(parts["costs"], cost_names) if "costs" in parts else {}
            to = _successors(parts["to"])
            if to is not None:
                vector = [costs.get(name, 0.0) for name in cost_names]
                number_of_row = draft.row(number, action, vector, parts["to"].line, parts["to"].path)
                draft.assembly.add_transitions(
                    [number_of_row] * len(to),
                    [draft.state(reached) for reached, _ in to],
                    [probability for _, probability in to],
                )
    return draft.model()


def _successors(field: Field) -> list[tuple[str, float]] | None:
    if not field.is_mapping:
        name = field.name("a state, or a mapping from states to probabilities")
        return None if name is None else [(name, 1.0)]
    members = field.members("a mapping from states to probabilities") or {}
    found = [(name, member.probability()) for name, member in members.items()]
    known = [(name, probability) for name, probability in found if probability is not None]
    return known if len(known) == len(found) else None
