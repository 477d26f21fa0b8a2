"""A document as a tree whose every value knows its line, grown from a stream of events.

YAML and JSON are read into the same events, so that they mean the same. Nothing is ever constructed
but text, numbers, truth values, lists and mappings. The limits hold while the tree grows: a document
that repeats itself through aliases is refused before it has been unfolded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hcssp.files.reading.findings import Findings
from hcssp.files.reading.limits import Limits


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number, a truth value or nothing.

    Attributes
    ----------
    value
        What it means.
    line
        Where it stands, counted from 1.
    source
        How it is written.
    first_line
        Where the first line of a text of several lines stands.
    """

    value: str | int | float | bool | None
    line: int
    source: str
    first_line: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: list[Node]
    line: int


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping; the keys are texts, each with its line."""

    entries: dict[str, Node]
    key_lines: dict[str, int]
    line: int


Node = Scalar | Items | Entries


class Event(NamedTuple):
    """A piece of a document: a ``scalar``, an ``alias``, or the begin or the end of a ``list`` or ``map``."""

    kind: str
    line: int
    scalar: Scalar | None = None
    anchor: str | None = None


@dataclass(slots=True)
class _Open:
    """A list or mapping that has begun."""

    node: Items | Entries
    path: str
    anchor: str | None
    counted: int
    key: str | None = None
    skip: bool = False


def grow(events: Iterable[Event], findings: Findings, limits: Limits) -> Node:
    """The tree of `events`; keys that repeat or are not texts are noted in `findings`.

    Raises
    ------
    InvalidProblem
        If a limit is exceeded, or an alias stands for nothing or for itself.
    """
    grower = _Grower(findings, limits)
    for event in events:
        grower.take(event)
    if grower.root is None:
        findings.fatal(1, "", "the file is empty; it must begin with 'format: hcssp-problem'")
    return grower.root


class _Grower:
    def __init__(self, findings: Findings, limits: Limits) -> None:
        self.root: Node | None = None
        self._findings = findings
        self._limits = limits
        self._open: list[_Open] = []
        self._counted = 0
        # An anchor that is not closed yet has no size.
        self._anchors: dict[str, tuple[Node, int | None]] = {}

    def take(self, event: Event) -> None:
        kind, line, scalar, anchor = event
        if kind == "end":
            closed = self._open.pop()
            if closed.anchor is not None:
                self._anchors[closed.anchor] = (closed.node, self._counted - closed.counted)
            return
        if kind == "alias":
            self._place(*self._aliased(anchor or "", line))
            return
        node: Node = Items([], line) if kind == "list" else Entries({}, {}, line)
        if scalar is not None:
            node = scalar
        before = self._counted
        path = self._place(node, 1)
        if anchor is not None:
            self._anchors[anchor] = (node, 1 if scalar is not None else None)
        if not isinstance(node, Scalar):
            self._open.append(_Open(node, path, anchor, before))
            if len(self._open) > self._limits.depth:
                self._findings.fatal(
                    line, path[:100], f"nested more than {self._limits.depth} deep, which no problem needs"
                )

    def _aliased(self, anchor: str, line: int) -> tuple[Node, int]:
        if anchor not in self._anchors:
            self._findings.fatal(
                line, "", f"the alias *{anchor} stands for nothing; there is no &{anchor} before"
            )
        node, size = self._anchors[anchor]
        if size is None:
            self._findings.fatal(line, "", f"the alias *{anchor} stands for something that contains it")
        return node, size

    def _place(self, node: Node, size: int) -> str:
        """Put `node` where the next value belongs; the path of that place."""
        self._counted += size
        if self._counted > self._limits.nodes:
            self._findings.fatal(
                node.line,
                "",
                f"the document has more than {self._limits.nodes:,} values, those that aliases repeat "
                "counted each time; put large tables into a CSV or DRN file",
            )
        if not self._open:
            self.root = node
            return ""
        parent = self._open[-1]
        if isinstance(parent.node, Items):
            parent.node.items.append(node)
            return f"{parent.path}[{len(parent.node.items) - 1}]"
        if parent.key is None:
            parent.key = self._key(parent, parent.node, node)
            return joined(parent.path, parent.key)
        key, parent.key = parent.key, None
        if not parent.skip:
            parent.node.entries[key] = node
        return joined(parent.path, key)

    def _key(self, parent: _Open, mapping: Entries, node: Node) -> str:
        parent.skip = False
        if not isinstance(node, Scalar):
            self._findings.add(node.line, parent.path, "a list or mapping cannot be a key; write a text")
            parent.skip = True
            return "?"
        key = node.value if isinstance(node.value, str) else node.source
        if not isinstance(node.value, str):
            message = f"the key {shown(node)} is {kind_of(node)}, not a text; put it in quotes"
            self._findings.add(node.line, parent.path, message)
        if key in mapping.key_lines:
            message = f"this key stands here a second time; the first is on line {mapping.key_lines[key]}"
            self._findings.add(node.line, joined(parent.path, key), message)
            parent.skip = True
        else:
            mapping.key_lines[key] = node.line
        return key


def joined(path: str, key: str) -> str:
    """The path of a field; keys that would be hard to read in it are quoted."""
    plain = key.isprintable() and key and not set(key) & set(".:[]'\" ")
    shortened = key if len(key) <= 60 else key[:57] + "..."
    text = shortened if plain else repr(shortened)
    return f"{path}.{text}" if path else text


def kind_of(node: Node) -> str:
    """What a value is, for messages."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Entries):
        return "a mapping"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return "a truth value"
    return "a text" if isinstance(node.value, str) else "a number"


def shown(node: Node) -> str:
    """A value, for messages: short, and on one line."""
    if not isinstance(node, Scalar):
        return kind_of(node)
    text = repr(node.value) if isinstance(node.value, str) else (node.source or "null")
    return text if len(text) <= 60 else text[:57] + "..."


def plain(node: Node) -> Any:
    """The bare value, for a validator of schemas."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}
