"""How many cases a run of the tests draws: ``HCSSP_TESTS`` is ``full``, ``quick``, or not set.

``make test`` draws some of the random cases, ``make fuzz`` (``full``) all of them. What is not random always
runs, except in ``make quick`` (``quick``), see ``conftest.py``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

FULL = os.environ.get("HCSSP_TESTS") == "full"
QUICK = os.environ.get("HCSSP_TESTS") == "quick"


def some(cases: Sequence[Case], one_in: int = 4) -> Sequence[Case]:
    """The first of the cases, one in so many; all of them in a full run."""
    return cases[: examples(len(cases), one_in)]


def examples(count: int, one_in: int = 4) -> int:
    """How many cases are drawn, where a full run draws `count`."""
    return count if FULL else -(-count // one_in)
