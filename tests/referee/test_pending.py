"""What is not true yet, see :mod:`referee.pending`. What begins to hold fails here: take its line out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from other_units import check_units
from referee.oracle_bounds import check_oracle
from referee.pending import PENDING, PENDING_KINDS
from referee.verdicts import check_kind, check_verdict
from reproductions import CHECKS

KINDS: dict[str, Callable[[str], list[str]]] = {
    "kind": check_kind,
    "verdict": check_verdict,
    "oracle": check_oracle,
    "units": check_units,
    "reproduction": lambda name: CHECKS[name](),
}


EVERY = {**PENDING, **{f"kind | {kind}": why for kind, why in PENDING_KINDS.items()}}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xfail(reason=why)) for name, why in EVERY.items()]
)
def test_not_yet(name: str) -> None:
    kind, _, about = name.partition(" | ")
    assert KINDS[kind](about) == []
