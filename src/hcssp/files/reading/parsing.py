"""From a text to a tree: YAML by the parser of PyYAML, and JSON by the same way.

Only the parser is used, never what constructs objects from tags; tags are refused. Plain values mean what
YAML 1.2 says, not 1.1: ``1e-3`` is a number, ``no`` and ``on`` are texts, ``12:30`` is no count of seconds.

A JSON text is turned into the YAML that says the same, line for line (:func:`as_yaml`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hcssp.files.reading.findings import Findings
from hcssp.files.reading.limits import Limits
from hcssp.files.reading.tree import Event, Node, Scalar, grow

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = {".nan", ".NaN", ".NAN"}
_BLOCK = ("|", ">")

# What YAML takes otherwise, in a text that is known to be JSON; a string with a colon behind it is a key.
_PIECE = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|(?P<constant>NaN|-?Infinity)|\t')
_HALF = re.compile("[\ud800-\udfff]")


def parse_document(text: str, findings: Findings, limits: Limits, *, json: bool = False) -> Node:
    """The tree of a text.

    Raises
    ------
    InvalidProblem
        If it cannot be parsed, or exceeds a limit.
    """
    return grow(_events(as_yaml(text, findings) if json else text, findings), findings, limits)


def _events(text: str, findings: Findings) -> Iterator[Event]:
    """The events of a YAML document; several documents and tags are refused."""
    import yaml

    # The parser written in C is ten times faster, where there is one.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    findings.fatal(
                        line, "", "a second document begins here ('---'); a file holds one problem"
                    )
            elif isinstance(event, yaml.AliasEvent):
                yield Event("alias", line, None, event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                yield Event("end", line)
            elif isinstance(event, yaml.NodeEvent):
                if event.tag is not None:
                    findings.fatal(line, "", f"the tag {event.tag!r} is not allowed; remove it")
                if isinstance(event, yaml.ScalarEvent):
                    value = resolved(event.value) if event.implicit[0] else event.value
                    first_line = line + 1 if event.style in _BLOCK else line
                    yield Event("scalar", line, Scalar(value, line, event.value, first_line), event.anchor)
                else:
                    kind = "list" if isinstance(event, yaml.SequenceStartEvent) else "map"
                    yield Event(kind, line, None, event.anchor)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        # A character that YAML forbids is told by its place, not its line.
        place = getattr(error, "position", None) or 0
        line = mark.line + 1 if mark is not None else text.encode()[:place].count(b"\n") + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        context = getattr(error, "context", None)
        told = f"{context}, {problem}" if isinstance(context, str) else problem
        findings.fatal(line, "", f"this is not YAML: {told}")


def resolved(source: str) -> str | int | float | bool | None:
    """What a plain value means.

    >>> [resolved(source) for source in ("1e-3", "no", "true", "~", "-.inf", "007", "12:30")]
    [0.001, 'no', True, None, -inf, 7, '12:30']
    """
    if source in _NULL:
        return None
    if source in _TRUTH:
        return _TRUTH[source]
    if _NUMBER.fullmatch(source):
        # Numbers of very many digits are no counts of anything, and slow to turn into whole ones.
        return int(source) if _WHOLE.fullmatch(source) and len(source) <= 18 else float(source)
    if source in _NOT_A_NUMBER:
        return float("nan")
    infinite = _INFINITE.fullmatch(source)
    return float(f"{infinite[1]}inf") if infinite else source


def as_yaml(text: str, findings: Findings) -> str:
    r"""The YAML that says the same as a JSON text, with everything on the same line.

    YAML is said to contain JSON, but its parsers know no pairs of surrogates and no raw control characters,
    do not take a tab for a space, and want a key to be short and its colon to stand beside it, unless a
    question mark precedes it.

    >>> as_yaml('{"a":\t["\\ud83d\\ude00", 1e5]}', Findings("it"))
    '{? "a": ["😀", 1e5]}'

    Raises
    ------
    InvalidProblem
        If it is not JSON.
    """
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        findings.fatal(error.lineno, "", f"this is not JSON: {error.msg} (column {error.colno})")
    except RecursionError:
        findings.fatal(1, "", "nested far too deep for a problem")

    def place(start: int) -> tuple[int, int]:
        return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)

    def translated(piece: re.Match[str]) -> str:
        string, colon, constant = piece.group("string", "colon", "constant")
        if constant:
            line, column = place(piece.start())
            told = f'{constant} is not JSON; write a number, or "inf" for a bound that is none'
            findings.fatal(line, "", f"{told} (column {column})")
        if string is None:
            return " "
        if "\\" in string or not string.isprintable():
            content = json.loads(string)
            if _HALF.search(content):
                line, column = place(piece.start())
                told = f"{string[:60]} has half of a character in it; write the whole one"
                findings.add(line, "", f"{told} (column {column})")
                content = _HALF.sub("?", content)
            string = quoted(content)
        return string if colon is None else f"? {string}{colon}".replace("\t", " ")

    return _PIECE.sub(translated, text)


def quoted(text: str) -> str:
    r"""A text between the double quotes of YAML.

    >>> print(quoted('say "é" \x07'))
    "say \"é\" \u0007"
    """
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(character: str) -> str:
    """A character between YAML's quotes, which are JSON's but for characters beyond the first 65,536."""
    if character > "\uffff":
        return character if character.isprintable() else f"\\U{ord(character):08x}"
    return character if character > "~" and character.isprintable() else json.dumps(character)[1:-1]
