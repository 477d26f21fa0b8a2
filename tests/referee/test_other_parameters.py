"""The parameters of the algorithms decide the pace only: with other values, still nothing false is said."""

from __future__ import annotations

import gc
import pkgutil
from dataclasses import fields, is_dataclass
from importlib import import_module

import numpy as np
import pytest

from referee.oracle_bounds import NAMES as ORACLES
from referee.oracle_bounds import check_oracle
from referee.pending import settled
from referee.verdicts import NAMES, check_verdict
from volume import FULL

CORE = ("cssp", "dual", "evaluation", "methods", "proofs", "solving", "ssp")
SEEDS = range(4 if FULL else 1)


def parameter_classes() -> list[type]:
    """The parameters dataclass of every algorithm."""
    found = set()
    for folder in CORE:
        package = import_module(f"hcssp.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for each in vars(import_module(module.name)).values():
                if isinstance(each, type) and is_dataclass(each) and each.__name__.endswith("Parameters"):
                    found.add(each)
    return sorted(found, key=lambda each: each.__name__)


CLASSES = parameter_classes()


def other(value: float, rng: np.random.Generator) -> float:
    """A number of the same kind, of another size."""
    if isinstance(value, int):
        return max(1, value + int(rng.integers(-2, 3)))
    scaled = value * float(rng.choice([0.1, 1.0, 10.0]))
    # A share stays a share.
    return min(scaled, (1.0 + value) / 2.0) if value < 1.0 else max(scaled, 1.0 + (value - 1.0) / 2.0)


def change_parameters(monkeypatch: pytest.MonkeyPatch, seed: int) -> int:
    """Change the defaults of all classes, and all instances that exist; says how many numbers changed."""
    rng, changed = np.random.default_rng(seed), 0
    for kind in CLASSES:
        values = {}
        for field in fields(kind):
            if type(field.default) in (int, float):
                values[field.name] = other(field.default, rng)
                changed += values[field.name] != field.default
        defaults = tuple(values.get(each.name, each.default) for each in fields(kind))
        monkeypatch.setattr(kind.__init__, "__defaults__", defaults)
        for instance in gc.get_objects():
            if type(instance) is kind:
                for name, value in values.items():
                    monkeypatch.setitem(vars(instance), name, value)
    return changed


def test_there_are_parameters() -> None:
    assert {"AscentParameters", "SearchParameters"} <= {each.__name__ for each in CLASSES}


@pytest.mark.parametrize("name", settled("verdict", NAMES)[:: 1 if FULL else 13])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_false_is_said(seed: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert change_parameters(monkeypatch, seed) > 0
    assert check_verdict(name) == []


@pytest.mark.parametrize("family", settled("oracle", ORACLES)[:: 1 if FULL else 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_under_weights_is_too_high(seed: int, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change_parameters(monkeypatch, seed)
    assert check_oracle(family) == []
