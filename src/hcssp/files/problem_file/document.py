"""A document as a tree of values with their lines, and the errors found in it, reported together.

>>> findings = Findings("mine.yaml")
>>> findings.add(12, "activities.cross.slip", "1.4 is not a probability between 0 and 1")
>>> findings.raise_if_any()
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: mine.yaml:12: activities.cross.slip: 1.4 is not a probability between 0 and 1

Files as texts: how large they may be, how they are encoded, and which ones a problem file may name.

The limits lie far above what can be solved; a problem beyond them is better built with the library.

Nothing is ever constructed but text, numbers, truth values, lists and mappings. The records of the tree are
not frozen: creating one would take three times as long, and a large file has hundreds of thousands of them.

From a text to a tree: YAML by the parser of PyYAML, and JSON by the same way.

Only the parser is used, never what constructs objects from tags; tags are refused. Plain values mean what
YAML 1.2 says, not 1.1: ``1e-3`` is a number, ``no`` and ``on`` are texts, ``12:30`` is no count of seconds.

A JSON text is turned into the YAML that says the same, line for line (:func:`as_yaml`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, NoReturn

from hcssp.errors import InvalidProblem
from hcssp.files.atomic import read_text
from hcssp.files.problem_file.arithmetic import NO_PARAMETERS, Parameters

MOST_FINDINGS = 25
"""Findings beyond this many are counted instead of listed."""


ENOUGH_FINDINGS = 1000
"""After this many, a file is not read any further: finding them takes time, too."""


class Violation(str):
    """A violation of a document, with its place.

    Attributes
    ----------
    file, line, path
        Where, as the text says it.
    message
        The value and the remedy.
    """

    file: str
    line: int
    path: str
    message: str

    @classmethod
    def at(cls, file: str, line: int, path: str, message: str) -> Violation:
        """What is wrong at a place, on one line."""
        where = f"{path}: " if path else ""
        violation = cls(" ".join(f"{file}:{line}: {where}{message}".splitlines()))
        violation.file, violation.line, violation.path, violation.message = file, line, path, message
        return violation


class Findings:
    """What has been found wrong so far.

    Parameters
    ----------
    file
        What the user calls the file.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._files = [file]
        self._found: dict[tuple[int, int, Violation], None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, line: int, path: str, message: str, file: str | None = None) -> None:
        """Note that something is wrong.

        Parameters
        ----------
        line
            Where, counted from 1.
        path
            The field, such as ``activities.cross.slip``; empty for the whole document.
        message
            The value and the remedy.
        file
            The file beside the document that it is wrong in; None: the document.

        Raises
        ------
        InvalidProblem
            If that makes very many.
        """
        place = self.file if file is None else file
        if place not in self._files:
            self._files.append(place)
        violation = Violation.at(place, line, path, message)
        self._found[self._files.index(place), line, violation] = None
        if len(self._found) >= ENOUGH_FINDINGS:
            self.raise_if_any()

    def fatal(self, line: int, path: str, message: str, file: str | None = None) -> NoReturn:
        """Note what makes the rest unreadable, and report everything."""
        self.add(line, path, message, file)
        self.raise_if_any()
        raise InvalidProblem(message)  # not reached: something has just been noted

    def raise_if_any(self) -> None:
        """Report everything, file by file and line by line.

        Raises
        ------
        InvalidProblem
            If anything has been noted.
        """
        if not self._found:
            return
        # Sorting is stable: mistakes on one line keep the order in which they were found.
        detail: list[str] = [text for _, _, text in sorted(self._found, key=lambda found: found[:2])]
        more = len(detail) - MOST_FINDINGS
        if more > 0:
            least = "at least " if len(detail) >= ENOUGH_FINDINGS else ""
            detail = [*detail[:MOST_FINDINGS], f"... and {least}{more} more"]
        raise InvalidProblem(detail)


@dataclass(frozen=True)
class Limits:
    """What a file may ask for, so that none, by mistake or malice, takes all memory or all day.

    Attributes
    ----------
    document_bytes
        The size of a problem file.
    table_bytes
        The size of a table beside it.
    nodes
        The values of a document, each counted as often as aliases repeat it.
    depth
        How deep lists and mappings may be nested.
    activities
        The activities of all procedures, each counted as often as it is used.
    states
        The states of all activities together; a grid counts with width times height.
    transitions
        The transitions of all activities together; a grid counts with 16 for every cell.
    """

    document_bytes: int = 8 * 2**20
    table_bytes: int = 256 * 2**20
    nodes: int = 1_000_000
    depth: int = 32
    activities: int = 10_000
    states: int = 5_000_000
    transitions: int = 80_000_000


class Unreadable(Exception):
    """A file beside a problem file cannot be read; the message says why."""


def read_beside(folder: Path, name: str, limits: Limits) -> tuple[str, str]:
    """What to call a file beside a problem file, and its text; it must lie in `folder` or below.

    Raises
    ------
    Unreadable
        If there is none, or it lies elsewhere.
    """
    path = find_beside(folder, name)
    try:
        return str(path), read_text(path, limits.table_bytes)
    except InvalidProblem as error:
        raise Unreadable("; ".join(error.violations)) from error


def find_beside(folder: Path, name: str) -> Path:
    """A file beside a problem file, which must lie in `folder` or below.

    Raises
    ------
    Unreadable
        If there is none, or it lies elsewhere.
    """
    relative = PurePosixPath(name)
    if "\\" in name or ":" in name or relative.is_absolute() or ".." in relative.parts:
        raise Unreadable(
            f"{name!r} leads out of the problem's folder; name a file inside, with / between folders"
        )
    path = folder / relative
    try:
        # A link may lead anywhere, so it is followed before anything is opened.
        inside = path.resolve().is_relative_to(folder.resolve())
        regular = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise Unreadable(f"{name!r} cannot be read: {error}") from error
    if not inside:
        raise Unreadable(
            f"{name!r} is a link that leads out of the problem's folder; put the file itself there"
        )
    if not regular:
        raise Unreadable(f"there is no file {name!r} beside the problem file")
    return path


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
"""Characters that a reader would take for a part of the path."""


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
        detail = f"{self.shown} is not {what}{remedy}"
        self.wrong(f"nothing is given here; give {what}" if self.kind == "nothing" else detail)

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


# Whatever may be among that: escapes, control characters, a colon away from its key, a key that is not short.
_UNLIKE_YAML = re.compile(r'[\\\x00-\x09\x0b-\x1f\x7f]|"\s+:|"[^"]{1000}')


def parse_document(text: str, findings: Findings, limits: Limits, *, json: bool = False) -> Node:
    """The tree of a text; keys that repeat or are not texts are noted in `findings`.

    Raises
    ------
    InvalidProblem
        If it cannot be parsed or exceeds a limit, or an alias stands for nothing or for itself.
    """
    return _Composer(as_yaml(text, findings) if json else text, findings, limits).document()


class _Composer:
    """Makes a tree of a stream of events; the limits hold while it grows.

    So a document that repeats itself through aliases is refused before it has been unfolded. There are
    hundreds of thousands of events in a large file: which kind each is of is asked once, and where it stands
    is put into words only if something is wrong with it.
    """

    def __init__(self, text: str, findings: Findings, limits: Limits) -> None:
        import yaml

        self._yaml = yaml
        # What comes most often, by names that are looked up at once.
        self._scalar, self._list, self._alias = yaml.ScalarEvent, yaml.SequenceStartEvent, yaml.AliasEvent
        self._text = text
        self._findings = findings
        self._limits = limits
        self._next: Callable[[], Any] = lambda: None
        self._counted = 0
        # The keys and positions that lead to what is being read.
        self._way: list[str | int] = []
        # What anchors stand for, and how many values that is; None while it is being read.
        self._anchors: dict[str, tuple[Node, int] | None] = {}

    def document(self) -> Node:
        """The only document of the text; several, and tags, are refused."""
        try:
            # The parser written in C is ten times faster, where there is one.
            loader = getattr(self._yaml, "CSafeLoader", self._yaml.SafeLoader)(self._text)
            try:
                self._next = loader.get_event
                return self._only_document()
            finally:
                loader.dispose()
        except self._yaml.YAMLError as error:
            self._unparsed(error)

    def _only_document(self) -> Node:
        root: Node | None = None
        while (event := self._next()) is not None:
            if not isinstance(event, self._yaml.DocumentStartEvent):
                continue
            if root is not None:
                detail = "a second document begins here ('---'); a file holds one problem"
                self._findings.fatal(event.start_mark.line + 1, "", detail)
            root = self._node(self._next())
        if root is None:
            self._findings.fatal(1, "", "the file is empty; it must begin with 'format: hcssp-problem'")
        return root

    def _unparsed(self, error: Any) -> NoReturn:
        """Say what keeps a text from being YAML."""
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        # For a character that YAML forbids, its position is given and not its line.
        place = getattr(error, "position", None) or 0
        line = mark.line + 1 if mark is not None else self._text.encode()[:place].count(b"\n") + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        context = getattr(error, "context", None)
        detail = f"{context}, {problem}" if isinstance(context, str) else problem
        if "\t" in "".join(self._text.split("\n")[line - 1 : line])[: mark.column + 1 if mark else None]:
            detail = "there is a tab in this line; indent with spaces"
        self._findings.fatal(line, "", f"this is not YAML: {detail}")

    def _node(self, event: Any) -> Node:
        """The value that begins with `event`."""
        kind = type(event)
        line = event.start_mark.line + 1
        if kind is self._alias:
            return self._aliased(event.anchor, line)
        if event.tag is not None:
            self._findings.fatal(line, "", f"the tag {event.tag!r} is not allowed; remove it")
        before = self._counted
        self._count(1, line)
        anchor = event.anchor
        if kind is self._scalar:
            source = event.value
            value = resolved(source) if event.implicit[0] else source
            node: Node = Scalar(value, line, source, line + 1 if event.style in _BLOCK else line)
        else:
            if len(self._way) >= self._limits.depth:
                detail = f"nested more than {self._limits.depth} deep, which no problem needs"
                self._findings.fatal(line, self._path()[:100], detail)
            if anchor is not None:
                self._anchors[anchor] = None
            node = self._items(line) if kind is self._list else self._entries(line)
        if anchor is not None:
            self._anchors[anchor] = (node, self._counted - before)
        return node

    def _path(self, way: Sequence[str | int] | None = None) -> str:
        """Where what is being read stands, or what `way` leads to."""
        path = ""
        for step in self._way if way is None else way:
            path = f"{path}[{step}]" if isinstance(step, int) else joined(path, step)
        return path

    def _items(self, line: int) -> Items:
        items: list[Node] = []
        end, way = self._yaml.SequenceEndEvent, self._way
        way.append(0)
        while type(event := self._next()) is not end:
            way[-1] = len(items)
            items.append(self._node(event))
        way.pop()
        return Items(items, line)

    def _entries(self, line: int) -> Entries:
        entries: dict[str, Node] = {}
        key_lines: dict[str, int] = {}
        following, end, way = self._next, self._yaml.MappingEndEvent, self._way
        way.append("?")
        while type(event := following()) is not end:
            way[-1] = "?"
            at, key = self._key(event)
            way[-1] = "?" if key is None else key
            value = self._node(following())
            if key is None:
                continue
            if key in entries:
                detail = f"this key stands here a second time; the first is on line {key_lines[key]}"
                self._findings.add(at, self._path(), detail)
                continue
            entries[key] = value
            key_lines[key] = at
        way.pop()
        return Entries(entries, key_lines, line)

    def _key(self, event: Any) -> tuple[int, str | None]:
        """The line of the key that begins with `event`, and the key, if it can be one."""
        if type(event) is self._scalar and event.tag is None and event.anchor is None:
            line, source = event.start_mark.line + 1, event.value
            if not event.implicit[0] or isinstance(resolved(source), str):
                self._count(1, line)
                return line, source
        node = self._node(event)
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.line, node.value
        path = self._path(self._way[:-1])
        if not isinstance(node, Scalar):
            self._findings.add(node.line, path, "a list or mapping cannot be a key; write a text")
            return node.line, None
        detail = f"the key {shown(node)} is {node.kind}, not a text; put it in quotes"
        self._findings.add(node.line, path, detail)
        return node.line, node.source

    def _aliased(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            detail = f"the alias *{anchor} stands for nothing; there is no &{anchor} before"
            self._findings.fatal(line, "", detail)
        aliased = self._anchors[anchor]
        if aliased is None:
            self._findings.fatal(line, "", f"the alias *{anchor} stands for something that contains it")
        node, size = aliased
        self._count(size, node.line)
        return node

    def _count(self, values: int, line: int) -> None:
        self._counted += values
        if self._counted > self._limits.nodes:
            self._findings.fatal(
                line,
                "",
                f"the document has more than {self._limits.nodes:,} values, those that aliases repeat "
                "counted each time; put large tables into a CSV or DRN file",
            )


@lru_cache(maxsize=10_000)
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


def is_json(text: str) -> bool:
    """Whether a text can be read as JSON."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def as_yaml(text: str, findings: Findings) -> str:
    r"""The YAML that says the same as a JSON text, with everything on the same line.

    YAML is said to contain JSON, but its parsers know no pairs of surrogates and no raw control characters,
    do not take a tab for a space, and want a key to be short and its colon to stand beside it, unless a
    question mark precedes it. A text with nothing of all that is left as it is.

    >>> as_yaml('{"a":\t["\\ud83d\\ude00", 1e5]}', Findings("it"))
    '{? "a": ["😀", 1e5]}'
    >>> as_yaml('{"a":["b", 1e5]}', Findings("it"))
    '{"a":["b", 1e5]}'

    Raises
    ------
    InvalidProblem
        If it is not JSON.
    """
    constants: list[str] = []
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=constants.append)
    except json.JSONDecodeError as error:
        findings.fatal(error.lineno, "", f"this is not JSON: {error.msg} (column {error.colno})")
    except RecursionError:
        findings.fatal(1, "", "nested far too deep for a problem")
    if text.isascii() and not constants and not _UNLIKE_YAML.search(text):
        # So are most files that programs write, and to look at every string takes as long as to parse it.
        return text

    def place(start: int) -> tuple[int, int]:
        return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)

    def translated(piece: re.Match[str]) -> str:
        string, colon, constant = piece.group("string", "colon", "constant")
        if constant:
            line, column = place(piece.start())
            detail = f'{constant} is not JSON; write a number, or "inf" for a bound that is none'
            findings.fatal(line, "", f"{detail} (column {column})")
        if string is None:
            return " "
        if "\\" in string or not string.isprintable():
            content = json.loads(string)
            if _HALF.search(content):
                line, column = place(piece.start())
                detail = f"{string[:60]} has half of a character in it; write the whole one"
                findings.add(line, "", f"{detail} (column {column})")
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
