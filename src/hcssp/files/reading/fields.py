"""A value of a document with its place: what is asked of it is given, or noted as wrong and None.

A reader goes on after a mistake, so that a user mends a file in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf, isfinite, isnan

from hcssp.errors import listed
from hcssp.files.reading.findings import Findings
from hcssp.files.reading.tree import Entries, Items, Node, Scalar, joined, shown

LONGEST_NAME = 200
LARGEST_COST = 1e100


@dataclass(frozen=True, slots=True)
class Field:
    """A value, the path of keys that leads to it, its line, and where mistakes are noted."""

    node: Node
    path: str
    line: int
    findings: Findings

    @classmethod
    def root(cls, node: Node, findings: Findings) -> Field:
        """The whole document."""
        return cls(node, "", node.line, findings)

    def wrong(self, message: str) -> None:
        """Note a mistake at this place."""
        self.findings.add(self.line, self.path, message)

    @property
    def shown(self) -> str:
        """The value as messages show it."""
        return shown(self.node)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, Items)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, Entries)

    @property
    def is_nothing(self) -> bool:
        return isinstance(self.node, Scalar) and self.node.value is None

    @property
    def value(self) -> str | int | float | bool | None:
        """The value of a scalar; None of anything else."""
        return self.node.value if isinstance(self.node, Scalar) else None

    def items(self, what: str) -> list[Field] | None:
        """The items of a list; `what` says in a message what is expected."""
        if not isinstance(self.node, Items):
            self._expected(what)
            return None
        # An item is as good as its line: aliases aside, that is where it stands.
        return [
            Field(item, f"{self.path}[{index}]", item.line, self.findings)
            for index, item in enumerate(self.node.items)
        ]

    def members(self, what: str) -> dict[str, Field] | None:
        """The values of a mapping whose keys are names chosen by the user."""
        if not isinstance(self.node, Entries):
            self._expected(what)
            return None
        members = {}
        for key, node in self.node.entries.items():
            line = self.node.key_lines[key]
            member = Field(node, joined(self.path, key), line, self.findings)
            problem = name_problem(key)
            if problem:
                member.wrong(problem)
            members[key] = member
        return members

    def entries(
        self, what: str, required: Sequence[str] = (), optional: Sequence[str] = ()
    ) -> dict[str, Field] | None:
        """The values of a mapping whose keys are given; a missing or unknown one is noted."""
        if not isinstance(self.node, Entries):
            self._expected(what)
            return None
        known = [*required, *optional]
        found = {}
        meant = set()
        for key, node in self.node.entries.items():
            field = Field(node, joined(self.path, key), self.node.key_lines[key], self.findings)
            if key in known:
                found[key] = field
            else:
                nearest = get_close_matches(key, known, n=1)
                guess = (
                    f"did you mean {nearest[0]!r}?" if nearest else f"the keys here are {listed(known, 40)}"
                )
                field.wrong(f"there is no such key; {guess}")
                meant.update(nearest)
        for key in required:
            # A key that is misspelt is not missing as well.
            if key not in self.node.key_lines and key not in meant:
                self.wrong(f"the key {key!r} is missing")
        return found

    def text(self, what: str = "a text") -> str | None:
        """A text."""
        if isinstance(self.value, str):
            # Half a character, which JSON can spell and nobody can print.
            if any("\ud800" <= character <= "\udfff" for character in self.value):
                self.wrong(f"{self.shown} has half of a character in it; write the whole one")
                return None
            return self.value
        quoted = "; put it in quotes" if isinstance(self.node, Scalar) and self.value is not None else ""
        self._expected(what, quoted)
        return None

    def name(self, what: str) -> str | None:
        """A text that can name something."""
        text = self.text(what)
        if text is None:
            return None
        problem = name_problem(text)
        if problem:
            self.wrong(problem)
            return None
        return text

    def number(self, what: str, least: float = -inf, most: float = inf) -> float | None:
        """A finite number between `least` and `most`."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._expected(what)
            return None
        if isnan(value) or not isfinite(value) or not least <= value <= most:
            self.wrong(f"{self.shown} is not {what}")
            return None
        return float(value)

    def probability(self) -> float | None:
        """A number between 0 and 1."""
        return self.number("a probability between 0 and 1", 0.0, 1.0)

    def cost(self) -> float | None:
        """A number that is not negative, and not so large that sums overflow."""
        return self.number(f"a cost: a number from 0 to {LARGEST_COST:g}", 0.0, LARGEST_COST)

    def whole(self, what: str, least: int, most: int) -> int | None:
        """A whole number between `least` and `most`."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._expected(what)
            return None
        if not isfinite(value) or value != int(value) or not least <= value <= most:
            self.wrong(f"{self.shown} is not {what}")
            return None
        return int(value)

    def _expected(self, what: str, remedy: str = "") -> None:
        if self.is_nothing:
            self.wrong(f"nothing is given here; give {what}")
        else:
            self.wrong(f"{self.shown} is not {what}{remedy}")


def name_problem(name: str) -> str | None:
    """Why a text cannot name something, if so."""
    if not name.strip():
        return "a name must not be empty"
    if len(name) > LONGEST_NAME:
        return f"a name must not be longer than {LONGEST_NAME} characters, this has {len(name)}"
    if not name.isprintable():
        return f"the name {name!r} has a character that cannot be printed; remove it"
    if name != name.strip():
        return f"the name {name!r} begins or ends with a space; remove it"
    return None
