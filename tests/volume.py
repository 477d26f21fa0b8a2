"""How many of the random cases a run of the tests draws: some, or all if ``HCSSP_TESTS=full`` asks for them.

``make test`` draws some, ``make fuzz`` all. What is not random is no matter of volume: it is always there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

FULL = os.environ.get("HCSSP_TESTS") == "full"


def some(cases: Sequence[Case], one_in: int = 4) -> Sequence[Case]:
    """The first of the cases, one in so many; all of them in a full run."""
    return cases[: examples(len(cases), one_in)]


def examples(count: int, one_in: int = 4) -> int:
    """How many cases are drawn, where a full run draws `count`."""
    return count if FULL else -(-count // one_in)
