"""The constants that are said to decide nothing but the pace: with others, still nothing false is said.

They are those that ``tools/mutants/survivors.txt`` excuses from the mistakes that tests are to notice: the
excuse is a claim, and it is tested.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

from mutants.__main__ import SURVIVORS, read_survivors
from referee.oracle_bounds import NAMES as ORACLES
from referee.oracle_bounds import check_oracle
from referee.pending import settled
from referee.verdicts import NAMES, check_verdict
from volume import FULL

PACE = [
    (path, name)
    for key in read_survivors(SURVIVORS)
    for path, names, what in [key.split(": ", 2)]
    for name in names.split(", ")
    if what == "*" and name.isupper()
]
"""The file and the name of each."""

SEEDS = range(4 if FULL else 1)


def other(value: Any, rng: np.random.Generator) -> Any:
    """A number of the same kind, of another size."""
    if isinstance(value, tuple):
        return tuple(other(each, rng) for each in value)
    if isinstance(value, int):
        return max(1, value + int(rng.integers(-2, 3)))
    return value * float(rng.choice([0.1, 1.0, 10.0]))


def change_constants(monkeypatch: pytest.MonkeyPatch, seed: int) -> int:
    """Let all of them be others, wherever they were imported to; says how many are."""
    rng, changed = np.random.default_rng(seed), 0
    for path, name in PACE:
        module = importlib.import_module(f"hcssp.{path.removesuffix('.py').replace('/', '.')}")
        before = getattr(module, name)
        after = other(before, rng)
        changed += after != before
        for place, user in list(sys.modules.items()):
            if place.startswith("hcssp.") and getattr(user, name, None) is before:
                monkeypatch.setattr(user, name, after)
    return changed


@pytest.mark.parametrize("name", settled("verdict", NAMES)[:: 1 if FULL else 13])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_false_is_said(seed: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert change_constants(monkeypatch, seed) > len(PACE) // 3
    assert check_verdict(name) == []


@pytest.mark.parametrize("family", settled("oracle", ORACLES)[:: 1 if FULL else 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_under_weights_is_too_high(seed: int, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change_constants(monkeypatch, seed)
    assert check_oracle(family) == []
