"""What holds for all tests: no clock, the same examples everywhere, and what a quick run leaves out."""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from hcssp.contract.progress import MaxRuntime
from hcssp.contract.proof import Ending, Reason
from tiny_caches import shrink_caches
from volume import FULL, QUICK, examples

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what a quick run runs: the first case of each test that is not slow."""
    if not QUICK:
        return
    kept: dict[str, pytest.Item] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            kept.setdefault(item.nodeid.partition("[")[0], item)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept.values())])
    items[:] = kept.values()


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


@pytest.fixture
def out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time limit ends a search at its first step, on any machine; give a limit of an hour."""
    monkeypatch.setattr(MaxRuntime, "__call__", lambda self, progress: Ending(Reason.TIME_LIMIT))
