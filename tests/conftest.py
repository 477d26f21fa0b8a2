"""What holds for all tests: hypothesis draws the same examples everywhere and never looks at the clock."""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from tiny_caches import shrink_caches
from volume import FULL, examples

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what is there to stay: thousands of tests and all that they import."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In a full run, how many forgeries of each rule the checker refused, and how many were true."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            counts.update(value if FULL and name == "forgeries" else {})
    for rule, count in sorted(counts.items()):
        terminalreporter.write_line(f"forgeries, {rule}: {count}")


@pytest.fixture
def tiny_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """All caches at size 2, see :mod:`tiny_caches`."""
    shrink_caches(monkeypatch)
