"""The page about the exact method names functions that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from hcssp.dual import ascent
from hcssp.methods import best_first, incumbents, policy_branching
from hcssp.proofs import search_record

PAGE = (Path(__file__).parents[2] / "docs" / "algorithm.md").read_text(encoding="utf-8")
PSEUDOCODE = PAGE[PAGE.index("```text") : PAGE.index("## What each step does")]
PLACES = (
    *(policy_branching, policy_branching.PolicySearch, policy_branching.OpenDuals),
    *(best_first.BestFirst, incumbents, ascent, search_record),
)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\b(\w+)\(", PSEUDOCODE))))
def test_the_pseudocode_names_functions(name: str) -> None:
    assert any(callable(getattr(place, name, None)) for place in PLACES)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\[(hcssp(?:\.\w+)+)\]", PAGE))))
def test_what_the_page_refers_to_exists(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


def test_the_loop_fits_on_a_screen() -> None:
    import inspect

    assert len(inspect.getsource(policy_branching.PolicySearch.run).splitlines()) <= 40
