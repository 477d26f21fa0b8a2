"""Where an activity starts and ends, as the file says it: cells, states, or names of places."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from math import fsum

from hcssp.files.reading.fields import Field
from hcssp.numerics import PROBABILITY_TOLERANCE

Target = tuple[int, ...] | str
"""A cell, or the name of a place or a state."""

_TUPLE = re.compile(r"\(-?\d{1,15}(, ?-?\d{1,15})+\)")


@dataclass(frozen=True)
class Aim:
    """A target, how probable it is as a start, and where the file says so."""

    target: Target
    probability: float
    field: Field


def read_start(field: Field) -> list[Aim] | None:
    """One start, or several with their probabilities."""
    items = field.items("a start") if field.is_list else None
    if items is None or not any(item.is_mapping for item in items):
        target = read_target(field, "a start")
        return None if target is None else [Aim(target, 1.0, field)]
    aims: list[Aim] = []
    for item in items:
        parts = item.entries("a start with its probability", ("at", "probability"))
        if parts is None or len(parts) < 2:
            continue
        target = read_target(parts["at"], "a start")
        probability = parts["probability"].probability()
        if target is not None and probability is not None:
            aims.append(Aim(target, probability, parts["at"]))
    if len(aims) < len(items):
        return None
    total = fsum(aim.probability for aim in aims)
    if abs(total - 1.0) > PROBABILITY_TOLERANCE:
        field.wrong(f"the probabilities sum to {total:.10g}, not 1")
        return None
    return aims


def read_goal(field: Field) -> list[Aim] | None:
    """One goal, or a list of them."""
    items = field.items("a goal") if field.is_list else None
    if items is None or (items and isinstance(items[0].value, int | float)):
        items = [field]
    if not items:
        field.wrong("the list of goals is empty; give at least one")
        return None
    targets = [(read_target(item, "a goal"), item) for item in items]
    aims = [Aim(target, 1.0, item) for target, item in targets if target is not None]
    return aims if len(aims) == len(items) else None


def read_target(field: Field, what: str) -> Target | None:
    """A cell, written as a list of whole numbers, or a name."""
    if not field.is_list:
        return field.name(f"{what}: a cell [column, row], or the name of a place or state")
    items = field.items(what) or []
    if len(items) < 2:
        field.wrong(f"a list of {len(items)} is not {what}: write a cell [column, row], or a name")
        return None
    numbers = [item.whole("a whole number", -(10**9), 10**9) for item in items]
    whole = tuple(number for number in numbers if number is not None)
    return whole if len(whole) == len(items) else None


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
