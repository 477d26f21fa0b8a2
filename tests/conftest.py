"""What holds for all tests: hypothesis draws the same examples everywhere and never looks at the clock."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tiny_caches import shrink_caches

settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture
def tiny_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """All caches at size 2, see :mod:`tiny_caches`."""
    shrink_caches(monkeypatch)
