"""Mistakes that are planted in functions that exist already."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mutants.mutations import mutations
from mutants.swapping import OutOfReach, changed_code, functions_by_place, lines_of, swap

SOURCE = """
from functools import cached_property, lru_cache

STEP = 1 + 1

def plain(a, limit=3 + 4):
    return a + 10

@lru_cache
def cached(a):
    return [each + 20 for each in a]

def outer(a):
    def inner(b):
        return a + b + 30
    return inner

KEPT = outer(0)

class Thing:
    size = 40 + 1

    @cached_property
    def length(self):
        return 50 + 1

    @staticmethod
    def fixed():
        return sum(60 + each for each in (1, 2))

def guarded(a, flag):
    def inner():
        if flag:
            return a
        return -a - 70
    return inner

TAKEN = guarded(1, True)
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "somewhere.py"
    file.write_text(SOURCE)
    specification = importlib.util.spec_from_file_location("somewhere", file)
    assert specification is not None
    assert specification.loader is not None
    found = importlib.util.module_from_spec(specification)
    sys.modules["somewhere"] = found
    specification.loader.exec_module(found)
    yield found
    del sys.modules["somewhere"]


def plant(module: ModuleType, before: str, after: str) -> None:
    (index,) = [each.index for each in mutations(SOURCE) if each.before == before and each.after == after]
    file = str(module.__file__)
    swap(functions_by_place(str(Path(file).parent)), changed_code(file, SOURCE, index))


@pytest.mark.parametrize(
    ("before", "after", "ask", "right", "wrong"),
    [
        ("a + 10", "a - 10", lambda module: module.plain(0), 10, -10),
        ("each + 20", "each - 20", lambda module: module.cached((0,)), [20], [-20]),
        ("a + b + 30", "a + b - 30", lambda module: module.outer(0)(0), 30, -30),
        ("a + b + 30", "a + b - 30", lambda module: module.KEPT(0), 30, -30),
        ("50 + 1", "50 - 1", lambda module: module.Thing().length, 51, 49),
        ("60 + each", "60 - each", lambda module: module.Thing.fixed(), 123, 117),
        ("-a - 70", "-a + 70", lambda module: module.guarded(0, False)(), -70, 70),
    ],
)
def test_whoever_knows_a_function_calls_the_one_with_the_mistake(
    module: ModuleType,
    before: str,
    after: str,
    ask: Callable[[ModuleType], object],
    right: object,
    wrong: object,
) -> None:
    known = dict(vars(module))
    assert ask(module) == right
    module.cached.cache_clear()
    plant(module, before, after)
    assert ask(module) == wrong
    assert dict(vars(module)) == known


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1 + 1", "1 - 1"),
        ("3 + 4", "3 - 4"),
        ("40 + 1", "40 - 1"),
        # Without its condition the function inside knows one name less.
        ("if flag", "if False"),
    ],
)
def test_what_is_done_on_import_is_out_of_reach(module: ModuleType, before: str, after: str) -> None:
    with pytest.raises(OutOfReach):
        plant(module, before, after)


def test_the_lines_of_a_function_are_those_of_what_is_inside_it_too() -> None:
    (index,) = [each.index for each in mutations(SOURCE) if each.after == "a + b - 30"]
    (code,) = changed_code("somewhere.py", SOURCE, index)
    lines = SOURCE.splitlines()
    assert {lines[line - 1].strip() for line in lines_of(code)} == {
        "def outer(a):",
        "def inner(b):",
        "return a + b + 30",
        "return inner",
    }
