"""A document as a text that people like to read: short things on one line, long things below each other.

Floats are written with the fewest digits that give the same float again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from hcssp.files.problem_file.parsing import quoted, resolved

WIDTH = 100
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ")
# What YAML 1.1, which other tools read, takes for something else than a text.
_MISREAD = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


class Line(dict[str, Any]):
    """A mapping that is written on one line, if it fits there."""


def to_json(document: Mapping[str, Any]) -> str:
    """The document as JSON."""
    return _json(document, 0) + "\n"


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML, with an empty line between its parts."""
    parts: list[str] = []
    for key, value in document.items():
        lines = _yaml_entry(key, value, 0)
        large = len(lines) > 1
        parts.append(("\n" if large and parts else "") + "\n".join(lines))
    return "\n".join(parts) + "\n"


def _yaml_entry(key: str, value: Any, depth: int) -> list[str]:
    indent = "  " * depth
    head = f"{indent}{_text(key)}:"
    if isinstance(value, str) and "\n" in value.strip("\n") and value.isascii():
        body = value.strip("\n").split("\n")
        if all(line.strip() and line == line.rstrip() and not line.startswith(" ") for line in body):
            return [f"{head} |", *(f"{indent}  {line}" for line in body)]
    flow = f"{head} {_flow(value)}"
    block = isinstance(value, Mapping) and value and not isinstance(value, Line)
    rows = isinstance(value, Sequence) and any(isinstance(item, Mapping) for item in value)
    if not (block or rows) and (len(flow) <= WIDTH or not isinstance(value, Mapping | list | tuple)):
        return [flow]
    if isinstance(value, Mapping):
        return [head, *(line for each in value.items() for line in _yaml_entry(*each, depth + 1))]
    return [head, *(f"{indent}  - {_flow(item)}" for item in value)]


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    if isinstance(value, str):
        return _text(value)
    return ".inf" if value == inf else _number(value)


def _text(text: str) -> str:
    """A text as YAML: bare if nobody can take it for anything else, else in quotes."""
    bare = set(text) <= _PLAIN and text[:1].isalpha() and not text.endswith((" ", "."))
    if bare and text.lower() not in _MISREAD and isinstance(resolved(text), str):
        return text
    return quoted(text)


def _number(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    number = float(value)
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    # Tools that read YAML 1.1 take 1e-05 for a text, but not 1.0e-05.
    text = repr(number)
    return text if "." in text else text.replace("e", ".0e")


def _json(value: Any, depth: int) -> str:
    one_line = _json_line(value)
    indent = "  " * (depth + 1)
    block = isinstance(value, Mapping) and value and not isinstance(value, Line)
    nested = isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)
    fits = len(one_line) + len(indent) + 20 <= WIDTH
    if not isinstance(value, Mapping | list | tuple) or (fits and not block and not nested):
        return one_line
    if isinstance(value, Mapping):
        inner = [f"{indent}{json.dumps(key)}: {_json(each, depth + 1)}" for key, each in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + indent[:-2] + "}"
    inner = [indent + _json(each, depth + 1) for each in value]
    return "[\n" + ",\n".join(inner) + "\n" + indent[:-2] + "]"


def _json_line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_json_line(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_json_line(each) for each in value) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return '"inf"' if value == inf else _number(value)
