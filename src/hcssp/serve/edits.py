r"""Edits of a problem file's text by paths into its document: everything else stays as it is, byte for byte.

Problem: a drawing changes a wall or a bound, and the text beside it has comments and a layout of its own.

Method: the parser says from where to where in the text each value reaches. Only these characters are
replaced, or a line is added or removed. A JSON text has neither comments nor a layout to keep, and is written
again as a whole.

Guarantee: the new text has the result of the operations. It is read again and compared with the old document
after the same operations; a text where these differ, as around anchors, is refused and must be edited by
hand.

>>> text = "costs: [time]  # the first is minimised\nconstraints:\n  damage: {at_most: 2}  # moderate\n"
>>> print(edited(text, [{"op": "set", "path": ["constraints", "damage", "at_most"], "value": 2.5}]), end="")
costs: [time]  # the first is minimised
constraints:
  damage: {at_most: 2.5}  # moderate
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import isfinite
from typing import Any

from hcssp.errors import HcsspError, InvalidProblem
from hcssp.files.problem_file.document import Entries, Findings, Limits, Node, Scalar, parse_document
from hcssp.files.problem_file.dumping import on_one_line, to_json, yaml_entry, yaml_text

Path = Sequence[str | int]


class CannotEdit(HcsspError):
    """An operation that does not fit the document; the message has the reason and the remedy."""


def document_of(text: str, *, json: bool = False) -> Any:
    """The document of a text as plain values.

    Raises
    ------
    InvalidProblem
        If it cannot be parsed.
    """
    findings = Findings("problem")
    tree = parse_document(text, findings, Limits(), json=json)
    findings.raise_if_any()
    return _plain(tree)


def _plain(node: Node) -> Any:
    if isinstance(node, Scalar):
        # JSON has no infinity and no NaN.
        odd = isinstance(node.value, float) and not isfinite(node.value)
        return node.source if odd else node.value
    if isinstance(node, Entries):
        return {key: _plain(each) for key, each in node.entries.items()}
    return [_plain(each) for each in node.items]


def edited(text: str, operations: Sequence[Mapping[str, Any]], *, json: bool = False) -> str:
    """The text after some operations, one after the other.

    Parameters
    ----------
    text
        A problem file, which may have mistakes as long as it can be parsed.
    operations
        Each has an ``op`` (``set``, ``insert``, ``delete`` or ``rename``), a ``path``, and a ``value`` or the
        new name ``to``.
    json
        Whether the text is JSON.

    Raises
    ------
    CannotEdit
        If the path of an operation leads nowhere, or the text must be edited by hand.
    InvalidProblem
        If the text cannot be parsed.
    """
    wanted = document_of(text, json=json)
    try:
        for operation in operations:
            wanted = _applied(wanted, operation)
            if not json:
                text = _Text(text).after(operation)
        if json:
            return to_json(wanted)
    except RecursionError:
        raise CannotEdit("the value is nested far too deep for a problem; write a simpler one") from None
    try:
        is_meant = _same(document_of(text), wanted)
    except InvalidProblem:
        is_meant = False
    if not is_meant:
        raise CannotEdit(
            "the text around this place uses anchors, aliases or a layout that operations cannot edit; edit "
            "the text"
        )
    return text


def _same(one: Any, other: Any) -> bool:
    """Whether two documents are equal; numbers are compared as numbers, and the order of keys counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, str) and isinstance(other, str):
        # A literal block ends with a line break, whether or not the text did.
        return one == other or ("\n" in one and one.rstrip("\n") == other.rstrip("\n"))
    comparable = type(one) is type(other) or (_number(one) and _number(other))
    return comparable and bool(one == other)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(path: Path) -> str:
    return ".".join(map(str, path)) or "the whole document"


def _applied(document: Any, operation: Mapping[str, Any]) -> Any:
    """A document after an operation, as plain values."""
    kind, path = operation["op"], operation["path"]
    if not path:
        raise CannotEdit("an operation needs a path; replace the whole document by its text")
    document = deepcopy(document)
    parent = document
    for step, key in enumerate(path[:-1]):
        parent = _held(parent, key, path[: step + 1])
    last = path[-1]
    if parent is None and kind in ("set", "insert") and isinstance(last, str):
        # A key without a value, such as "hazards:", holds nothing yet.
        return _applied(document, {"op": "set", "path": path[:-1], "value": {last: operation["value"]}})
    if isinstance(parent, dict) and isinstance(last, str):
        if kind in ("delete", "rename"):
            _held(parent, last, path)
        if kind == "insert" and last in parent:
            raise CannotEdit(f"{_shown(path)}: this key is there already; set it")
        if kind == "delete":
            del parent[last]
        elif kind == "rename":
            to = operation["to"]
            if to != last and to in parent:
                raise CannotEdit(
                    f"{_shown(path)}: there is a key {to!r} beside it already; choose another name"
                )
            items = [(to if key == last else key, value) for key, value in parent.items()]
            parent.clear()
            parent.update(items)
        else:
            parent[last] = operation["value"]
    elif isinstance(parent, list) and isinstance(last, int) and kind != "rename":
        if kind == "insert":
            if not 0 <= last <= len(parent):
                raise CannotEdit(
                    f"{_shown(path)}: the list has {len(parent)} items; insert at 0 to {len(parent)}"
                )
            parent.insert(last, operation["value"])
        else:
            _held(parent, last, path)
            if kind == "delete":
                del parent[last]
            else:
                parent[last] = operation["value"]
    else:
        raise CannotEdit(
            f"{_shown(path)}: what holds it has no {'position' if isinstance(last, int) else 'key'}s"
        )
    return document


def _held(parent: Any, key: str | int, path: Path) -> Any:
    is_there = (
        key in parent
        if isinstance(parent, dict) and isinstance(key, str)
        else isinstance(parent, list) and isinstance(key, int) and 0 <= key < len(parent)
    )
    if not is_there:
        raise CannotEdit(f"{_shown(path)}: there is no such place in the document")
    return parent[key]


class _Text:
    """A YAML text, and where each value stands in it."""

    def __init__(self, text: str) -> None:
        import yaml

        self._yaml = yaml
        self._text = text
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            self._root = loader.get_single_node()
        finally:
            loader.dispose()

    def after(self, operation: Mapping[str, Any]) -> str:
        """The text after an operation that fits the document."""
        path, kind = operation["path"], operation["op"]
        parent, last, in_flow = self._root, path[-1], False
        for key in path[:-1]:
            in_flow = in_flow or bool(parent.flow_style)
            parent = self._child(parent, key)
        if isinstance(parent, self._yaml.ScalarNode):
            # It holds nothing yet.
            return self.after({"op": "set", "path": path[:-1], "value": {last: operation["value"]}})
        in_flow = in_flow or bool(parent.flow_style)
        found = self._position(parent, last)
        if kind == "rename":
            key = parent.value[found][0]
            return self._replaced(key.start_mark.index, key.end_mark.index, yaml_text(operation["to"]))
        if kind == "delete":
            return self._deleted(parent, found, path)
        if isinstance(last, int):
            if kind == "insert":
                return self._inserted(parent, last, on_one_line(operation["value"], yaml_text))
            item = parent.value[last]
            return self._replaced(
                item.start_mark.index, self._end(item), on_one_line(operation["value"], yaml_text)
            )
        if found is None:
            return self._added(parent, last, operation["value"], in_flow)
        return self._set(parent, found, operation["value"], in_flow)

    def _replaced(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]

    def _position(self, parent: Any, key: str | int) -> Any:
        """Where in the node's list a key or position is; None where there is no such key."""
        if isinstance(key, int):
            return key
        return next((at for at, (each, _) in enumerate(parent.value) if each.value == key), None)

    def _child(self, parent: Any, key: str | int) -> Any:
        found = parent.value[self._position(parent, key)]
        return found if isinstance(key, int) else found[1]

    def _end(self, node: Any) -> int:
        """Where a value ends, without the comments and empty lines behind it."""
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, self._yaml.ScalarNode):
            return start + len(self._text[start:end].rstrip()) if node.style in ("|", ">") else int(end)
        if node.flow_style or not node.value:
            return int(end)
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (None, last)
        # An alias stands for a value that is elsewhere; the text is compared afterwards.
        return int(max(self._end(value), start if key is None else key.end_mark.index + 1))

    def _end_of_line(self, index: int) -> int:
        """The end of a line, its line break not included."""
        found = self._text.find("\n", index)
        return len(self._text) if found < 0 else found

    def _start_of_line(self, index: int) -> int:
        return self._text.rfind("\n", 0, index) + 1

    def _set(self, parent: Any, position: int, value: Any, in_flow: bool) -> str:
        key, old = parent.value[position]
        if in_flow:
            start = max(old.start_mark.index, key.end_mark.index + 1)
            blank = "" if self._text[start - 1] in " \n" else " "
            return self._replaced(start, max(start, self._end(old)), blank + on_one_line(value, yaml_text))
        colon = self._text.index(":", key.end_mark.index) + 1
        end = max(self._end(old), colon)
        lines = yaml_entry("key", value, " " * key.start_mark.column)
        head, body = lines[0].lstrip().removeprefix("key:"), lines[1:]
        # What stands behind the value on its line, or behind the key of a value with lines of its own.
        first = old.start_mark.index if old.start_mark.line == key.start_mark.line else colon
        has_lines = "\n" in self._text[first:end]
        of_head = self._text[first : self._end_of_line(first)] if has_lines else ""
        block_head = (
            of_head.lstrip("|>+-0123456789") if old.start_mark.line == key.start_mark.line else of_head
        )
        comment = block_head if has_lines and block_head.lstrip().startswith("#") else ""
        if has_lines:
            return self._replaced(colon, end, "\n".join([head + comment, *body]))
        behind = self._text[end : self._end_of_line(end)]
        if not body:
            return self._replaced(colon, end, head)
        return self._replaced(colon, end + len(behind), "\n".join([head + behind, *body]))

    def _added(self, parent: Any, key: str, value: Any, in_flow: bool) -> str:
        if in_flow:
            new = f"{yaml_text(key)}: {on_one_line(value, yaml_text)}"
            return self._into_flow(parent, len(parent.value), new)
        lines = yaml_entry(key, value, " " * parent.start_mark.column)
        place = self._end_of_line(self._end(parent))
        return self._replaced(
            place, place, "\n" + "\n".join(lines) + ("" if place < len(self._text) else "\n")
        )

    def _into_flow(self, parent: Any, position: int, new: str) -> str:
        spans = [self._span(each) for each in parent.value]
        if not spans:
            place = parent.start_mark.index + 1
            return self._replaced(place, place, new)
        if position < len(spans):
            place = spans[position][0]
            return self._replaced(place, place, f"{new}, ")
        place = spans[-1][1]
        return self._replaced(place, place, f", {new}")

    def _span(self, member: Any) -> tuple[int, int]:
        """From where to where an item, or a key with its value, reaches."""
        if isinstance(member, tuple):
            key, value = member
            return key.start_mark.index, max(self._end(value), key.end_mark.index)
        return member.start_mark.index, self._end(member)

    def _dashes(self, parent: Any) -> list[int]:
        """Where the dash of each item of a block list stands."""
        column, place = parent.start_mark.column, parent.start_mark.index
        found: list[int] = []
        for number, item in enumerate(parent.value):
            if number:
                # Comments may stand between two items; the dash is the last one in its column.
                place = self._start_of_line(item.start_mark.index)
                while (
                    self._text[place + column : place + column + 1] != "-"
                    or self._text[place : place + column].strip()
                ):
                    if place <= found[-1]:
                        raise CannotEdit(
                            "the layout of this list cannot be edited by operations; edit the text"
                        )
                    place = self._start_of_line(place - 1)
                place += column
            found.append(place)
        return found

    def _inserted(self, parent: Any, position: int, new: str) -> str:
        if parent.flow_style:
            return self._into_flow(parent, position, new)
        indent = " " * parent.start_mark.column
        if position < len(parent.value):
            place = self._dashes(parent)[position]
            return self._replaced(place, place, f"- {new}\n{indent}")
        place = self._end_of_line(self._end(parent))
        return self._replaced(place, place, f"\n{indent}- {new}")

    def _deleted(self, parent: Any, position: int, path: Path) -> str:
        members = parent.value
        if len(members) == 1 and (path[:-1] or parent.flow_style):
            return self._emptied(parent, path)
        spans = [self._span(each) for each in members]
        if parent.flow_style:
            if position + 1 < len(spans):
                return self._replaced(spans[position][0], spans[position + 1][0], "")
            return self._replaced(spans[position - 1][1], spans[position][1], "")
        starts = (
            self._dashes(parent) if isinstance(parent, self._yaml.SequenceNode) else [at for at, _ in spans]
        )
        start, end = starts[position], self._end_of_line(spans[position][1])
        line = self._start_of_line(start)
        if not self._text[line:start].strip():
            return self._replaced(line, min(end + 1, len(self._text)), "")
        # The first key behind a dash: the next one takes its place.
        return self._replaced(start, starts[position + 1], "")

    def _emptied(self, parent: Any, path: Path) -> str:
        empty = "[]" if isinstance(parent, self._yaml.SequenceNode) else "{}"
        start, end = parent.start_mark.index, self._end(parent)
        if parent.flow_style:
            return self._replaced(start, end, empty)
        if isinstance(path[-2], int):
            return self._replaced(start, end, empty)
        return self.after({"op": "set", "path": path[:-1], "value": [] if empty == "[]" else {}})
