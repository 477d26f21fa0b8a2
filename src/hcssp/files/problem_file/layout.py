"""A document as a text that people like to read: short things on one line, long things below each other.

Floats are written with the fewest digits that give the same float again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from hcssp.files.problem_file.parsing import quoted, resolved

WIDTH = 100
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ")
# What YAML 1.1, which other tools read, takes for something else than a text.
_MISREAD = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


class Line(dict[str, Any]):
    """A mapping that is written on one line, if it fits there."""


class Arithmetic(str):
    """A text that stands for a number, and is written without quotes where that is possible."""


def to_json(document: Mapping[str, Any]) -> str:
    """The document as JSON."""
    return _json(document, "") + "\n"


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML, with an empty line between its parts."""
    parts: list[str] = []
    for key, value in document.items():
        lines = _yaml_entry(key, value, "")
        parts.append(("\n" if len(lines) > 1 and parts else "") + "\n".join(lines))
    return "\n".join(parts) + "\n"


def _yaml_entry(key: str, value: Any, indent: str) -> list[str]:
    head, inner = f"{indent}{_yaml_text(key)}:", indent + "  "
    if isinstance(value, str) and "\n" in value.strip("\n") and value.isascii():
        body = value.strip("\n").split("\n")
        if all(line.strip() and line == line.rstrip() and not line.startswith(" ") for line in body):
            return [f"{head} |", *(inner + line for line in body)]
    flow = f"{head} {_flow(value, _yaml_text)}"
    if not _is_block(value) and (len(flow) <= WIDTH or not isinstance(value, Mapping | list | tuple)):
        return [flow]
    if isinstance(value, Mapping):
        return [head, *(line for each in value.items() for line in _yaml_entry(*each, inner))]
    return [head, *(f"{inner}- {_flow(item, _yaml_text)}" for item in value)]


def _json(value: Any, indent: str) -> str:
    flow, inner = _flow(value, json.dumps), indent + "  "
    fits = len(flow) + len(inner) + 20 <= WIDTH
    if not isinstance(value, Mapping | list | tuple) or (fits and not _is_block(value)):
        return flow
    if isinstance(value, Mapping):
        held = [f"{json.dumps(key)}: {_json(each, inner)}" for key, each in value.items()]
    else:
        held = [_json(each, inner) for each in value]
    begin, end = "{}" if isinstance(value, Mapping) else "[]"
    return begin + ",".join(f"\n{inner}{each}" for each in held) + f"\n{indent}{end}"


def _is_block(value: Any) -> bool:
    """Whether a value has lines of its own, even if it is short."""
    if isinstance(value, Mapping):
        return bool(value) and not isinstance(value, Line)
    return isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)


def _flow(value: Any, text: Callable[[str], str]) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(key)}: {_flow(each, text)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each, text) for each in value) + "]"
    if isinstance(value, Arithmetic) and text is _yaml_text:
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if value == inf:
        # JSON knows no infinity.
        return '"inf"' if text is json.dumps else ".inf"
    number = float(value)
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    # Tools that read YAML 1.1 take 1e-05 for a text, but not 1.0e-05.
    written = repr(number)
    return written if "." in written else written.replace("e", ".0e")


def _yaml_text(text: str) -> str:
    """A text as YAML: bare if nobody can take it for anything else, else in quotes."""
    bare = set(text) <= _PLAIN and text[:1].isalpha() and not text.endswith((" ", "."))
    if bare and text.lower() not in _MISREAD and isinstance(resolved(text), str):
        return text
    return quoted(text)
