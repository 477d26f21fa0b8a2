"""Values as JSON has them, and the shapes of JSON that comes from elsewhere.

Shapes are declared as types: ``list[int]``, ``float | None``, records. A record is a
:class:`typing.TypedDict`; a key that may be missing is ``NotRequired``. One declaration gives the check,
which names every key that is wrong, and the JSON Schema.

>>> from typing import NotRequired, TypedDict
>>> class Door(TypedDict):
...     "A door."
...
...     width: float
...     colours: NotRequired[list[str]]
>>> list(mistakes({"width": "wide", "colours": ["red", 7]}, Door))
['width: "wide" is not a number', 'colours[1]: 7 is not a text']
>>> schema_of(list[int], {})
{'type': 'array', 'items': {'type': 'integer'}}
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache
from math import inf, isfinite
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from hcssp.errors import InvalidPlan, InvalidProblem
from hcssp.files.atomic import read_json

Json = dict[str, Any]

_SHOWN = 60
"""Letters of a value in a message."""


def plain(value: float | None) -> float | None:
    """A number that JSON knows, or None: numpy's types become Python's, infinities nothing.

    >>> plain(float("inf")) is None
    True
    """
    return None if value is None or not isfinite(value) else float(value)


def document(value: Any, *names: str) -> Any:
    """A value as JSON has it, infinities being nothing; with `names`, an object of these attributes of it.

    >>> from math import inf
    >>> document({"bounds": (1, inf)}), document(3 + 4j, "real", "imag")
    ({'bounds': [1, None]}, {'real': 3.0, 'imag': 4.0})
    """
    if names:
        return {name: document(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: document(each) for name, each in value.items()}
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [document(each) for each in value]
    return plain(value) if isinstance(value, float) else value


@cache
def members(shape: Any) -> dict[str, tuple[Any, bool]]:
    """The types of a record's keys, and whether they are required.

    ``__required_keys__`` does not say so where annotations are postponed.
    """
    hints = get_type_hints(shape, include_extras=True)
    return {
        name: (get_args(hint)[0], False) if get_origin(hint) is NotRequired else (hint, True)
        for name, hint in hints.items()
    }


_PLAIN: dict[Any, tuple[Json, str]] = {
    str: ({"type": "string"}, "a text"),
    int: ({"type": "integer"}, "a whole number"),
    float: ({"type": "number"}, "a number"),
    bool: ({"type": "boolean"}, "true or false"),
    type(None): ({"type": "null"}, "null"),
}


def schema_of(shape: Any, parts: Json) -> Json:
    """The JSON Schema of a type; records are put into `parts` and referred to."""
    if is_typeddict(shape):
        if shape.__name__ not in parts:
            record: Json = {"type": "object", "additionalProperties": False}
            parts[shape.__name__] = record
            record["description"] = (shape.__doc__ or "").replace("``", "`")
            record["properties"] = {
                name: schema_of(hint, parts) for name, (hint, _) in members(shape).items()
            }
            record["required"] = [name for name, (_, needed) in members(shape).items() if needed]
        return {"$ref": f"#/components/schemas/{shape.__name__}"}
    origin, inside = get_origin(shape), get_args(shape)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, parts) for each in inside]}
    if origin is Literal:
        return {"enum": list(inside)}
    if origin is list:
        return {"type": "array", "items": schema_of(inside[0], parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inside[1], parts)}
    return dict(_PLAIN[shape][0]) if shape in _PLAIN else {}


def mistakes(value: Any, shape: Any, where: str = "", *, closed: bool = True) -> Iterator[str]:
    """What keeps a value from being of a shape, each with the place; nothing if it is.

    Parameters
    ----------
    value, shape
        What is checked, and the type that it should be of.
    where
        Where the value stands, such as ``trace[0]``.
    closed
        Whether records have no other keys than those that are declared.
    """
    origin, inside = get_origin(shape), get_args(shape)
    if is_typeddict(shape):
        if not isinstance(value, dict):
            yield _wrong(where, value, "an object")
            return
        known = members(shape)
        if closed and (unknown := [name for name in value if name not in known]):
            there_are = ", ".join(known) or "none"
            yield f"{_at(where, unknown[0])}: there is no such key; available: {there_are}"
        for name, (hint, needed) in known.items():
            if name in value:
                yield from mistakes(value[name], hint, _at(where, name), closed=closed)
            elif needed:
                yield f"{_at(where, name)}: this key is missing"
    elif origin in (Union, types.UnionType):
        found = [list(mistakes(value, each, where, closed=closed)) for each in inside]
        if all(found):
            # What is wrong inside says more than that the whole is wrong.
            deeper = (each for each in found if not each[0].startswith(f"{where}: "))
            yield from next(deeper, [_wrong(where, value, " or ".join(map(_called, inside)))])
    elif origin is Literal:
        if not isinstance(value, str) or value not in inside:
            yield _wrong(where, value, "one of " + ", ".join(map(str, inside)))
    elif origin is list:
        if not isinstance(value, list):
            yield _wrong(where, value, "a list")
        elif inside[0] is not int or not all(type(each) is int for each in value):
            # Long lists of whole numbers are looked at once.
            for index, each in enumerate(value):
                yield from mistakes(each, inside[0], f"{where}[{index}]", closed=closed)
    elif origin is dict:
        if not isinstance(value, dict):
            yield _wrong(where, value, "an object")
            return
        for name, each in value.items():
            yield from mistakes(each, inside[1], _at(where, name), closed=closed)
    elif shape in _PLAIN:
        if not (_is_number(value) if shape is float else type(value) is shape):
            yield _wrong(where, value, _PLAIN[shape][1])
        elif shape is str and not value.isascii() and _HALF.search(value):
            yield f"{where}: there is half of a character in it; write the whole one"


_HALF = re.compile("[\ud800-\udfff]")


def _is_number(value: Any) -> bool:
    """Whether it is a finite number; a whole one may be too large for a computer."""
    try:
        return type(value) in (int, float) and isfinite(value)
    except OverflowError:
        return False


def _called(shape: Any) -> str:
    if shape in _PLAIN:
        return _PLAIN[shape][1]
    return "a list" if get_origin(shape) is list else "an object"


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, value: Any, wanted: str) -> str:
    return f"{where}: {shown(value)} is not {wanted}" if where else f"{shown(value)} is not {wanted}"


def shown(value: Any) -> str:
    """A value for a message: short, and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


class About(TypedDict):
    """Which problem a file is about."""

    name: NotRequired[str | None]
    fingerprint: str


class AboutProblem(TypedDict):
    """What the files about a problem begin with."""

    format: str
    problem: About
    bounds: dict[str, float | None]


Document = TypeVar("Document", bound=AboutProblem)


def head(
    name: str, version: int, problem: str, fingerprint: str, bounds: Mapping[str, float]
) -> dict[str, Any]:
    """What the files about a problem begin with: their format, which problem, and under which bounds."""
    about = {"name": problem, "fingerprint": fingerprint}
    return {"format": name, "version": version, "problem": about, "bounds": document(bounds)}


def read_document(file: str, name: str, versions: Sequence[int], shape: type[Document]) -> Document:
    """Read a file about a problem that must be of a format, in one of some versions, and of a shape.

    Raises
    ------
    InvalidPlan
        If it is not; with everything that is wrong with its shape.
    """
    content = read_json(file)
    with naming(file):
        found = content.get("format") if isinstance(content, dict) else None
        if found != name:
            raise InvalidPlan(f"format: {shown(found)} is not {name!r}; this is no {_kind(name)}")
        version = content.get("version")
        if version not in versions or isinstance(version, bool):
            known = " and ".join(map(str, versions))
            raise InvalidPlan(f"version: {shown(version)} cannot be read; this hcssp reads version {known}")
        return shaped(content, shape)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Let errors about a file begin with what the user calls it."""
    try:
        yield
    except (InvalidPlan, InvalidProblem) as error:
        raise InvalidPlan(f"{file}: {each}" for each in error.violations) from error


def shaped(content: Json, shape: type[Document]) -> Document:
    """What a file holds, if it is of a shape.

    Raises
    ------
    InvalidPlan
        If it is not; with everything that is wrong.
    """
    wrong = list(mistakes(content, shape, closed=False))
    if wrong:
        raise InvalidPlan(wrong)
    return cast("Document", content)


def check_problem(document: AboutProblem, fingerprint: str) -> None:
    """Refuse a file about another problem.

    Raises
    ------
    InvalidPlan
        If the fingerprint is another one.
    """
    about = document["problem"]
    if about["fingerprint"] != fingerprint:
        called = f", called {about['name']!r}" if about.get("name") else ""
        kind = _kind(document["format"])
        raise InvalidPlan(
            f"this {kind} is for another problem{called} (its fingerprint is "
            f"{about['fingerprint'][:12]}, that of this problem is {fingerprint[:12]}); solve this problem, "
            f"or name the problem of the {kind}, with the same scale"
        )


def _kind(name: str) -> str:
    return name.removeprefix("hcssp-")


def bounds_of(document: AboutProblem, names: Sequence[str]) -> dict[str, float]:
    """The bounds that a file was made for, by the names of the problem's constraints.

    Raises
    ------
    InvalidPlan
        If they are those of other constraints.
    """
    given = document["bounds"]
    if set(given) != set(names):
        wanted = ", ".join(map(repr, names)) or "none"
        raise InvalidPlan(f"bounds: {shown(list(given))} is not the constraints of this problem, {wanted}")
    return {name: inf if (bound := given[name]) is None else float(bound) for name in names}
