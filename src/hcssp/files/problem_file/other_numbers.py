"""A model with other numbers: ``{model: hall, slip: 0.3}`` is the hall with another slip.

What an activity says takes the place of what the model says, as if it had been written there, and is read by
the same reader; so its mistakes are told where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hcssp.errors import listed
from hcssp.files.problem_file.format import OTHER_NUMBERS, TABLE, Model
from hcssp.files.problem_file.grid_format import GRID
from hcssp.files.problem_file.tree import Entries, Field

_SAME = {"slip": "intended", "intended": "slip"}
"""Keys that say the same thing: one takes the place of the other."""


def changes_model(part: Model) -> bool:
    """Whether an activity changes the model that it refers to."""
    return any(key in part.place for key in OTHER_NUMBERS)


def with_other_numbers(model: Model, changes: Iterable[Model]) -> Model | None:
    """A model as those who refer to it change it; None, and the mistakes noted, if it cannot be.

    Parameters
    ----------
    model
        A grid or a table.
    changes
        What refers to it, and gives some of :data:`~hcssp.files.problem_file.format.OTHER_NUMBERS`; the
        nearest first.
    """
    kind = "table" if "table" in model.place else "grid"
    possible = {"grid": OTHER_NUMBERS[:-1], "table": OTHER_NUMBERS[-1:]}[kind] if kind in model.place else ()
    node = model.place.at(kind).node
    place = model.place
    for part in reversed([*changes]):
        place = part.place
        for key in (key for key in OTHER_NUMBERS if key in place):
            if key not in possible or not isinstance(node, Entries):
                place.at(key).wrong(_impossible(kind, possible))
                return None
            node = _merged(node, place.at(key).node) if kind == "table" else _replaced(node, key, place)
    if kind == "table":
        return replace(model, table=TABLE.read(replace(place, node=node, way=(place.way, "actions"))))
    return replace(model, grid=GRID.read(replace(place, node=node)))


def _impossible(kind: str, possible: tuple[str, ...]) -> str:
    if not possible:
        return "the model is a table in a file, whose numbers stand there; write another file"
    return f"the model is a {kind}, of which {listed(possible)} may be changed"


def _replaced(grid: Entries, key: str, place: Field) -> Entries:
    """A grid in which a key has another value; of a map's hazards, those that are named."""
    value = place.at(key)
    before = grid.entries.get(key)
    node = value.node
    if key == "hazards" and isinstance(before, Entries) and isinstance(node, Entries):
        node = _joined(before, node)
    entries = {name: each for name, each in grid.entries.items() if name != _SAME.get(key)}
    return Entries({**entries, key: node}, {**grid.key_lines, key: value.line}, grid.line)


def _merged(table: Entries, changes: object) -> Entries:
    """A table with some actions of some states replaced, or new ones."""
    if not isinstance(changes, Entries):
        return table
    states = dict(table.entries)
    for state, actions in changes.entries.items():
        before = states.get(state)
        both = isinstance(before, Entries) and isinstance(actions, Entries)
        states[state] = _joined(before, actions) if both else actions  # type: ignore[arg-type]
    return Entries(states, {**table.key_lines, **changes.key_lines}, table.line)


def _joined(first: Entries, second: Entries) -> Entries:
    return Entries({**first.entries, **second.entries}, {**first.key_lines, **second.key_lines}, second.line)
