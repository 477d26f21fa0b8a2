"""Every cache of the library at size 2: what is evicted must be learnt again, and not be mixed up.

Small problems fill no cache, so that a mistake in eviction shows only where nobody looks. The fixture of the
same name in ``conftest.py`` makes all of them overflow.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from hcssp.ssp.policy_evaluation import PolicySystem

SIZE = 2

CACHES = {
    "hcssp.dual.activity_budget": ("MAX_KNOWN_VERTICES",),
    "hcssp.dual.activity_planner": ("MAX_CURVES",),
    "hcssp.dual.alike_activities": ("MAX_SPLITS", "MAX_SPLIT_ENTRIES"),
    "hcssp.dual.door_planner": ("MAX_ANSWERS", "MAX_PLANS"),
    "hcssp.dual.doors_oracle": ("MAX_SPLITS",),
    "hcssp.dual.event_solver": ("MAX_CHAINS", "MAX_CHAIN_STATES"),
    "hcssp.dual.expanding_oracle": ("MAX_KEPT",),
    "hcssp.dual.floors": ("MAX_WHOLE", "MAX_PARTS"),
    "hcssp.dual.value_surface": ("MAX_POINTS",),
    "hcssp.files.problem_file.records": ("MOST_KEPT",),
    "hcssp.proofs.potential_store": ("MAX_SEARCHES",),
}
"""The constants that say how much is kept, by module."""

UPDATED = {"hcssp.ssp.policy_evaluation": ("MAX_DENSE_STATES",)}
"""Small problems are to use the updates that are kept for large ones."""

BYTES = {"hcssp.ssp.policy_evaluation": ("COLUMN_MEMORY",)}
"""Those that say so in bytes; what they limit is set where it is used."""


def shrink_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all caches hold two things."""
    for module, names in (CACHES | UPDATED).items():
        for name in names:
            monkeypatch.setattr(importlib.import_module(module), name, SIZE)
    initialise = PolicySystem.__init__

    def with_two_columns(self: PolicySystem, *arguments: Any, **options: Any) -> None:
        initialise(self, *arguments, **options)
        self._capacity = SIZE

    monkeypatch.setattr(PolicySystem, "__init__", with_two_columns)
