"""From a text to a tree: YAML by the parser of PyYAML, and JSON by the same way.

Only the parser is used, never what constructs objects from tags; tags are refused. Plain values mean what
YAML 1.2 says, not 1.1: ``1e-3`` is a number, ``no`` and ``on`` are texts, ``12:30`` is no count of seconds.

A JSON text is turned into the YAML that says the same, line for line (:func:`as_yaml`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from hcssp.files.problem_file.findings import Findings
from hcssp.files.problem_file.source import Limits
from hcssp.files.problem_file.tree import Entries, Items, Node, Scalar, joined, shown

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
                told = "a second document begins here ('---'); a file holds one problem"
                self._findings.fatal(event.start_mark.line + 1, "", told)
            root = self._node(self._next())
        if root is None:
            self._findings.fatal(1, "", "the file is empty; it must begin with 'format: hcssp-problem'")
        return root

    def _unparsed(self, error: Any) -> NoReturn:
        """Say what keeps a text from being YAML."""
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        # A character that YAML forbids is told by its place, not its line.
        place = getattr(error, "position", None) or 0
        line = mark.line + 1 if mark is not None else self._text.encode()[:place].count(b"\n") + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        context = getattr(error, "context", None)
        told = f"{context}, {problem}" if isinstance(context, str) else problem
        if "\t" in "".join(self._text.split("\n")[line - 1 : line])[: mark.column + 1 if mark else None]:
            told = "there is a tab in this line; indent with spaces"
        self._findings.fatal(line, "", f"this is not YAML: {told}")

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
                told = f"nested more than {self._limits.depth} deep, which no problem needs"
                self._findings.fatal(line, self._path()[:100], told)
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
                told = f"this key stands here a second time; the first is on line {key_lines[key]}"
                self._findings.add(at, self._path(), told)
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
        told = f"the key {shown(node)} is {node.kind}, not a text; put it in quotes"
        self._findings.add(node.line, path, told)
        return node.line, node.source

    def _aliased(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            told = f"the alias *{anchor} stands for nothing; there is no &{anchor} before"
            self._findings.fatal(line, "", told)
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
