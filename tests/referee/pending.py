"""What is not true yet: checks that fail, each with the reason. The aim is that this table is empty.

A check is named by its kind and what it is about. Tests leave out what is listed here, and
``test_pending.py`` runs it: as soon as one of them holds, its line must go.
"""

from __future__ import annotations

from collections.abc import Iterable

_BECAUSE: dict[str, tuple[str, ...]] = {}
"""From the reasons to the checks that fail for them."""

PENDING = {name: why for why, names in _BECAUSE.items() for name in names}
"""From a check's name to the reason why it fails."""

PENDING_KINDS: dict[str, str] = {}
"""From a kind of finding that no verdict counts yet to the reason; ``test_pending.py`` checks each."""


def settled(kind: str, names: Iterable[str]) -> list[str]:
    """The checks of a kind that are to hold."""
    return [name for name in names if f"{kind} | {name}" not in PENDING]
