"""What the package offers: the exact list of its names, and that whatever they speak of is on it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NewType, get_args, get_origin, get_type_hints

import pytest

import hcssp
from hcssp import extend

PLACES = (hcssp, hcssp.extend, hcssp.errors)
PUBLIC = {name: getattr(place, name) for place in PLACES for name in dir(place) if not name.startswith("_")}
EXPORTED = {id(value) for value in PUBLIC.values()}

_SPECIAL = ("__init__", "__call__", "__iter__", "__getitem__")


def test_names_are_few_and_have_one_home() -> None:
    """They are listed in the stubs; a change goes into the list of changes."""
    assert len(hcssp.__all__) <= 70
    assert not set(hcssp.__all__) & set(hcssp.extend.__all__)
    assert set(re.findall(r"``(\w+)``", extend.__doc__ or "")) == {"hcssp", *extend.__all__}
    for place in (hcssp, hcssp.extend):
        assert set(place.__all__) <= set(dir(place)) | {"__version__"}
        assert [name for name in place.__all__ if getattr(place, name) is None] == []


def test_the_list_of_ready_made_problems() -> None:
    assert sorted(hcssp.scenarios.__all__) == [
        "aircraft",
        "campus",
        "delivery",
        "elevators",
        "evacuation",
        "evacuation_rooms",
        "evacuation_text",
        "patient",
        "racetrack",
        "random_cssp",
        "random_procedure",
        "routing",
        "rover",
        "search_and_rescue",
        "small_building",
    ]


@cache
def for_type_checkers(module: str) -> dict[str, Any]:
    """The names that a module imports for its annotations only."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(inspect.getsource(import_module(module)))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for imported in node.body:
                assert isinstance(imported, ast.ImportFrom)
                assert imported.module is not None
                home = import_module(imported.module)
                found |= {alias.asname or alias.name: getattr(home, alias.name) for alias in imported.names}
    return found


def functions_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods and properties of a class, as far as they are ours."""
    for base in kind.__mro__:
        if not base.__module__.startswith("hcssp"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") and name not in _SPECIAL:
                continue
            if name == "__init__" and is_dataclass(base):
                # Made from the fields, which are looked at themselves.
                continue
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            elif isinstance(member, property):
                member = member.fget
            elif isinstance(member, cached_property):
                member = member.func
            if inspect.isfunction(member) and member.__module__.startswith("hcssp"):
                yield f"{kind.__name__}.{name}", member


def spoken_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Where a public name speaks of types, and the types."""
    if inspect.isfunction(value):
        for hint in get_type_hints(value, localns=for_type_checkers(value.__module__)).values():
            yield name, hint
    elif inspect.isclass(value):
        # The bases of a TypedDict are not in its order of resolution; what they speak of is public.
        names = PUBLIC | for_type_checkers(value.__module__)
        for base in value.__mro__:
            if base.__module__.startswith("hcssp"):
                names |= for_type_checkers(base.__module__)
        for field, hint in get_type_hints(value, localns=names).items():
            if not field.startswith("_"):
                yield f"{name}.{field}", hint
        for where, function in functions_of(value):
            yield from spoken_of(where, function)
    else:
        yield name, value


def classes_in(hint: Any) -> Iterator[Any]:
    """The classes, and what has a type of its own like them, that a type is made of."""
    if get_origin(hint) is None:
        if inspect.isclass(hint) or isinstance(hint, NewType):
            yield hint
        return
    yield from classes_in(get_origin(hint))
    for part in get_args(hint):
        for each in part if isinstance(part, list) else [part]:
            yield from classes_in(each)


def missing(name: str) -> list[str]:
    return [
        f"{where} speaks of {kind.__module__}.{kind.__qualname__}"
        for where, hint in spoken_of(name, PUBLIC[name])
        for kind in classes_in(hint)
        if kind.__module__.startswith("hcssp") and id(kind) not in EXPORTED
    ]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_whatever_a_public_name_speaks_of_is_public(name: str) -> None:
    assert missing(name) == []


RECORDS = [
    *(hcssp.CSSP, hcssp.HCSSP, hcssp.Plan, hcssp.Run, hcssp.Decision),
    *(hcssp.DeterministicPolicy, extend.ProcedurePolicy, extend.RandomisedPolicy),
    *(extend.Evaluation, extend.ProcedureEvaluation, extend.Simulation, extend.Robustness, extend.TradeOff),
    *(extend.Sweep, extend.Reasons, extend.Trace, extend.ProcedurePlan, extend.ExpandedCSSP),
]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_methods_are_typed_and_name_their_options(kind: type) -> None:
    loose = []
    for where, function in functions_of(kind):
        for option in inspect.signature(function).parameters.values():
            # Bounds and measured amounts are called as the problem calls them: keywords of type float.
            open_ended = option.kind is option.VAR_KEYWORD and not re.match(
                r"float$|Unpack\[", option.annotation
            )
            if "Any" in re.findall(r"\w+", str(option.annotation)) or open_ended:
                loose.append(f"{where}: {option}")
        if "Any" in re.findall(r"\w+", str(function.__annotations__.get("return"))):
            loose.append(where)
    assert loose == []
