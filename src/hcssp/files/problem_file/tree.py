"""A document as a tree whose every value knows its line, whether it was YAML or JSON.

Nothing is ever constructed but text, numbers, truth values, lists and mappings. Nobody changes any of it;
still the records are not frozen, because making one then takes three times as long, and a large file has
hundreds of thousands of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from hcssp.files.problem_file.findings import Findings
from hcssp.files.problem_file.parameters import NO_PARAMETERS, Parameters


@dataclass(slots=True, eq=False)
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

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return _KIND_OF_VALUE[type(self.value)]


@dataclass(slots=True, eq=False)
class Items:
    """A list."""

    kind: ClassVar[str] = "a list"

    items: list[Node]
    line: int


@dataclass(slots=True, eq=False)
class Entries:
    """A mapping; the keys are texts, each with its line."""

    kind: ClassVar[str] = "a mapping"

    entries: dict[str, Node]
    key_lines: dict[str, int]
    line: int


Node = Scalar | Items | Entries

_KIND_OF_VALUE = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "nothing",
}

HARD_TO_READ = re.compile(r"[.:\[\]'\" ]")
"""What would be taken for a part of the path."""


Way = tuple["Way | None", str | int]
"""The key or position that leads to a value, after the way to what holds it; None to the whole document."""


@dataclass(slots=True, eq=False)
class Field:
    """A value with its place: the path of keys that leads to it, and its line.

    Attributes
    ----------
    node, way, line
        The value and where it stands.
    findings
        Where mistakes are noted.
    parameters
        What the names in it stand for, where it is arithmetic.
    """

    node: Node
    way: Way | None
    line: int
    findings: Findings
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def root(cls, node: Node, findings: Findings) -> Field:
        """The whole document."""
        return cls(node, None, node.line, findings)

    def wrong(self, message: str) -> None:
        """Note a mistake at this place."""
        self.findings.add(self.line, self.path, message)

    def expected(self, what: str, remedy: str = "") -> None:
        """Note that this is something else than `what`."""
        told = f"{self.shown} is not {what}{remedy}"
        self.wrong(f"nothing is given here; give {what}" if self.kind == "nothing" else told)

    @property
    def path(self) -> str:
        """The keys and positions that lead to it, for messages."""
        steps: list[str | int] = []
        way = self.way
        while way is not None:
            way, step = way
            steps.append(step)
        path = ""
        for step in reversed(steps):
            path = f"{path}[{step}]" if isinstance(step, int) else joined(path, step)
        return path

    @property
    def kind(self) -> str:
        """What it is: "a text", "a number", "a truth value", "nothing", "a list" or "a mapping"."""
        return self.node.kind

    @property
    def shown(self) -> str:
        """The value as messages show it."""
        return shown(self.node)

    @property
    def value(self) -> str | int | float | bool | None:
        """The value of a scalar; None of anything else."""
        return self.node.value if isinstance(self.node, Scalar) else None

    def items(self) -> list[Field]:
        """The items of a list; none of anything else."""
        if not isinstance(self.node, Items):
            return []
        # An item is as good as its line: aliases aside, that is where it stands.
        return [
            Field(item, (self.way, index), item.line, self.findings, self.parameters)
            for index, item in enumerate(self.node.items)
        ]

    def members(self) -> dict[str, Field]:
        """The values of a mapping; none of anything else."""
        node = self.node
        if not isinstance(node, Entries):
            return {}
        way, lines, findings, parameters = self.way, node.key_lines, self.findings, self.parameters
        return {
            key: Field(value, (way, key), lines[key], findings, parameters)
            for key, value in node.entries.items()
        }

    def key(self, key: str) -> Field:
        """One of the keys of a mapping as a value of its own."""
        member = self.at(key)
        return replace(member, node=Scalar(key, member.line, key, member.line))

    def __contains__(self, key: str) -> bool:
        return isinstance(self.node, Entries) and key in self.node.entries

    def at(self, *keys: str | int) -> Field:
        """What the keys and positions lead to, as far as there is something."""
        field = self
        for key in keys:
            node, way = field.node, field.way
            if isinstance(node, Entries):
                if isinstance(key, str) and key in node.entries:
                    value, line = node.entries[key], node.key_lines[key]
                    field = Field(value, (way, key), line, self.findings, self.parameters)
            elif isinstance(node, Items) and isinstance(key, int) and key < len(node.items):
                item = node.items[key]
                field = Field(item, (way, key), item.line, self.findings, self.parameters)
        return field


def joined(path: str, key: str) -> str:
    """The path of a field; keys that would be hard to read in it are quoted."""
    return f"{path}.{_in_path(key)}" if path else _in_path(key)


def _in_path(key: str) -> str:
    plain = key.isprintable() and key and not HARD_TO_READ.search(key)
    shortened = key if len(key) <= 60 else key[:57] + "..."
    return shortened if plain else repr(shortened)


def shown(node: Node) -> str:
    """A value, for messages: short, and on one line."""
    if not isinstance(node, Scalar):
        return node.kind
    text = repr(node.value) if isinstance(node.value, str) else (node.source or "null")
    return text if len(text) <= 60 else text[:57] + "..."
