"""JSON as events: the standard library says whether it is JSON, then its pieces are counted by lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from hcssp.files.reading.findings import Findings
from hcssp.files.reading.tree import Event, Scalar

# Of a text that is known to be JSON. Line breaks cannot occur inside strings there.
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>true|false|null)'
    r"|(?P<begin>[\[{])|(?P<end>[\]}])|(?P<line>\n)"
)
_WORDS = {"true": True, "false": False, "null": None}


def json_events(text: str, findings: Findings) -> Iterator[Event]:
    """The events of a JSON document.

    Raises
    ------
    InvalidProblem
        If it is not JSON.
    """
    try:
        json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        findings.fatal(error.lineno, "", f"this is not JSON: {error.msg} (column {error.colno})")
    except _Constant as constant:
        line = _line_of(text, str(constant))
        findings.fatal(line, "", f'{constant} is not JSON; write a number, or "inf" for a bound that is none')
    except RecursionError:
        findings.fatal(1, "", "nested far too deep for a problem")
    line = 1
    for token in _TOKEN.finditer(text):
        kind, source = token.lastgroup, token[0]
        if kind == "line":
            line += 1
        elif kind == "begin":
            yield Event("list" if source == "[" else "map", line)
        elif kind == "end":
            yield Event("end", line)
        elif kind == "string":
            value = json.loads(source)
            yield Event("scalar", line, Scalar(value, line, value, line))
        elif kind == "number":
            yield Event("scalar", line, Scalar(_number(source), line, source, line))
        else:
            yield Event("scalar", line, Scalar(_WORDS[source], line, source, line))


def _number(source: str) -> int | float:
    whole = len(source) <= 18 and not set(source) & set(".eE")
    return int(source) if whole else float(source)


class _Constant(Exception):
    """NaN, Infinity or -Infinity, which only look like JSON."""


def _no_constant(name: str) -> NoReturn:
    raise _Constant(name)


def _line_of(text: str, constant: str) -> int:
    """The line of the first value `constant`: outside of strings, which are cut out."""
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text)
    return bare[: bare.find(constant)].count("\n") + 1
