"""YAML as events: only the parser of PyYAML is used, never what constructs objects from tags.

Plain values mean what YAML 1.2 says, not 1.1: ``1e-3`` is a number, ``no`` and ``on`` are texts, and
``12:30`` is no count of seconds. Tags are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hcssp.files.reading.findings import Findings
from hcssp.files.reading.tree import Event, Scalar

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = {".nan", ".NaN", ".NAN"}
_BLOCK = ("|", ">")


def yaml_events(text: str, findings: Findings) -> Iterator[Event]:
    """The events of a YAML document.

    Raises
    ------
    InvalidProblem
        If it is not YAML, or holds several documents or a tag.
    """
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
                    yield Event("scalar", line, _scalar(event, line), event.anchor)
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


def _scalar(event: Any, line: int) -> Scalar:
    value: str | int | float | bool | None = event.value
    if event.implicit[0]:
        value = resolved(event.value)
    return Scalar(value, line, event.value, line + 1 if event.style in _BLOCK else line)


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
