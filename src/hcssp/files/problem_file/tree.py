"""A document as a tree whose every value knows its line, whether it was YAML or JSON.

Nothing is ever constructed but text, numbers, truth values, lists and mappings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hcssp.files.problem_file.findings import Findings
from hcssp.files.problem_file.parameters import NO_PARAMETERS, Parameters


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

HARD_TO_READ = re.compile(r"[.:\[\]'\" ]")
"""What would be taken for a part of the path."""


@dataclass(frozen=True, slots=True)
class Field:
    """A value with its place: the path of keys that leads to it, and its line.

    Attributes
    ----------
    node, path, line
        The value and where it stands.
    findings
        Where mistakes are noted.
    parameters
        What the names in it stand for, where it is arithmetic.
    """

    node: Node
    path: str
    line: int
    findings: Findings
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def root(cls, node: Node, findings: Findings) -> Field:
        """The whole document."""
        return cls(node, "", node.line, findings)

    def wrong(self, message: str) -> None:
        """Note a mistake at this place."""
        self.findings.add(self.line, self.path, message)

    def expected(self, what: str, remedy: str = "") -> None:
        """Note that this is something else than `what`."""
        told = f"{self.shown} is not {what}{remedy}"
        self.wrong(f"nothing is given here; give {what}" if self.kind == "nothing" else told)

    @property
    def kind(self) -> str:
        """What it is: "a text", "a number", "a truth value", "nothing", "a list" or "a mapping"."""
        return kind_of(self.node)

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
        return (
            [self.at(index) for index in range(len(self.node.items))] if isinstance(self.node, Items) else []
        )

    def members(self) -> dict[str, Field]:
        """The values of a mapping; none of anything else."""
        return {key: self.at(key) for key in self.node.entries} if isinstance(self.node, Entries) else {}

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
            node = field.node
            if isinstance(node, Items) and isinstance(key, int) and key < len(node.items):
                item = node.items[key]
                # An item is as good as its line: aliases aside, that is where it stands.
                field = Field(item, f"{field.path}[{key}]", item.line, self.findings, self.parameters)
            elif isinstance(node, Entries) and isinstance(key, str) and key in node.entries:
                path = joined(field.path, key)
                line = node.key_lines[key]
                field = Field(node.entries[key], path, line, self.findings, self.parameters)
        return field


def joined(path: str, key: str) -> str:
    """The path of a field; keys that would be hard to read in it are quoted."""
    plain = key.isprintable() and key and not HARD_TO_READ.search(key)
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
