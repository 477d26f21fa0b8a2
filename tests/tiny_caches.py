"""Every cache of the library at size 2: what is evicted must be learnt again, and not be mixed up.

Small problems fill no cache, so that a mistake in eviction shows only where nobody looks. The fixture of the
same name in ``conftest.py`` makes all of them overflow.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from hcssp.dual.event_chain import EVENTS
from hcssp.dual.value_cache import DEFAULT_PARAMETERS
from hcssp.evaluation.linear_systems import EVALUATION
from hcssp.ssp.policy_evaluation import PolicySystem

SIZE = 2

CACHES = {
    "hcssp.proofs.potentials": ("MAX_SEARCHES",),
}
"""The constants that say how much is kept, by module."""

PARAMETERS = ("max_regions", "max_points", "max_group_entries", "max_plans")
"""The same of planners, see :class:`~hcssp.dual.value_cache.PlannerParameters`."""


def shrink_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all caches hold two things."""
    for module, names in CACHES.items():
        for name in names:
            monkeypatch.setattr(importlib.import_module(module), name, SIZE)
    for name in PARAMETERS:
        monkeypatch.setitem(vars(DEFAULT_PARAMETERS), name, SIZE)
    for name in ("max_chains", "max_chain_states"):
        monkeypatch.setitem(vars(EVENTS), name, SIZE)
    # Small problems are to use the updates that are kept for large ones.
    monkeypatch.setitem(vars(EVALUATION), "max_dense_states", SIZE)
    initialise = PolicySystem.__init__

    def with_two_columns(self: PolicySystem, *arguments: Any, **options: Any) -> None:
        initialise(self, *arguments, **options)
        self._capacity = SIZE

    monkeypatch.setattr(PolicySystem, "__init__", with_two_columns)
