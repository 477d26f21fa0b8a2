"""Planting a mistake in code that is imported already: what functions do is exchanged, the functions stay.

Whoever has imported a function, or keeps it in a table, calls the one with the mistake from then on. A
mistake in what is done while a module is imported cannot be planted like this: it is out of reach.
"""

from __future__ import annotations

import ast
import gc
import inspect
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

from mutants.mutations import mutated_tree

_AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

Place = tuple[str, str, int]
"""A function: its file, its qualified name, its first line."""


class OutOfReach(Exception):
    """A mistake in what is done while a module is imported."""


def place_of(code: CodeType) -> Place:
    """Where a piece of code is from."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def functions_by_place(folder: str) -> dict[Place, list[FunctionType]]:
    """All functions from a folder that exist now, but for those that the collector of garbage is to spare."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(folder):
            found[place_of(each.__code__)].append(each)
    return found


def changed_code(file: str, source: str, index: int) -> list[CodeType]:
    """The outermost functions that a mistake changes, with the mistake.

    Raises
    ------
    OutOfReach
        If it changes what is done on import.
    """
    before = compile(ast.parse(source), file, "exec", dont_inherit=True)
    after = compile(mutated_tree(source, index), file, "exec", dont_inherit=True)
    return list(_changed(before, after))


def lines_of(code: CodeType) -> set[int]:
    """The lines of a function and of what is inside it."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return lines.union(*(lines_of(each) for each in _inner(code)))


def swap(functions: dict[Place, list[FunctionType]], changed: list[CodeType]) -> None:
    """Exchange what the functions do, wherever they are known, with all functions inside them.

    Raises
    ------
    OutOfReach
        If one of them does not exist, or not in the same form; nothing may be made of this process then.
    """
    for outermost in changed:
        if place_of(outermost) not in functions:
            raise OutOfReach(outermost.co_qualname)
        for code in (outermost, *_all_inner(outermost)):
            for function in functions.get(place_of(code), ()):
                try:
                    function.__code__ = code
                except ValueError as error:
                    raise OutOfReach(code.co_qualname) from error


def _changed(before: CodeType, after: CodeType) -> Iterator[CodeType]:
    """The outermost functions that differ, below code that does not."""
    if before == after:
        return
    inner = _inner(before), _inner(after)
    if _own(before) != _own(after) or len(inner[0]) != len(inner[1]):
        raise OutOfReach(after.co_qualname)
    for old, new in zip(*inner, strict=True):
        if old == new:
            continue
        # Bodies of classes and what is listed between braces run on import.
        if new.co_flags & inspect.CO_NEWLOCALS and new.co_name not in _AT_ONCE:
            yield new
        else:
            yield from _changed(old, new)


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _all_inner(code: CodeType) -> Iterator[CodeType]:
    for each in _inner(code):
        yield each
        yield from _all_inner(each)


def _own(code: CodeType) -> tuple[object, ...]:
    """What a piece of code does itself, apart from the functions in it."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
