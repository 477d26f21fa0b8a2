"""Edits of a text by operations: they mean what they say, and leave everything else as it is."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from hcssp.scenarios.scenario import STARTERS
from hcssp.serve.edits import CannotEdit, document_of, edited
from serve_client import SMALL
from volume import examples

ODD = """\
# head
a:   # comment a
  - x: 1   # one
    y: 2
  # between
  - {z: 3, w: [1, 2,  3]} # flow
  -   # dash comment
    q: |   # literal
      abc
      def
    # after literal
    r: >-
      fold
b: {c: 1,   # in flow
    d: [],
    e: {}}
empty:
é: "ü # no comment"   # ümlaut
m: |
  ###
  S.G
# tail comment
n: [[1,1,2,2],
    [3, 3, 1, 1]]   # rows
last:
- no indent
-  two blanks  # here
"""

TEXTS = [ODD, SMALL, *(path.read_text() for path in sorted(STARTERS.glob("*.yaml")))]

VALUES: list[Any] = [
    *(1, 0.25, -3e-7, "text", "10%", "a: b", "# no comment", "yes", "é", "", True, None, [], {}),
    *([1, [2, 3]], {"k": {"l": 1}}, "###\nS.G\n###\n", {"map": "#.#\n...\n"}),
    [{"at": [1, 2, 3, 4], "costs": {"damage": 5}}],
]


def places(document: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    if isinstance(document, dict):
        found += [each for key, value in document.items() for each in places(value, (*path, key))]
    elif isinstance(document, list):
        found += [each for index, value in enumerate(document) for each in places(value, (*path, index))]
    return found


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def drawn(document: Any, draw: random.Random) -> dict[str, Any]:
    """An operation that fits the document."""
    path = draw.choice([each for each in places(document) if each])
    here, last, value = at(document, path), path[-1], draw.choice(VALUES)
    kinds = ["set", "delete", "rename" if isinstance(last, str) else "insert"]
    kinds += ["add"] if isinstance(here, dict | list) else []
    kind = draw.choice(kinds)
    if kind == "add" and isinstance(here, dict):
        return {"op": "set", "path": [*path, "a new key"], "value": value}
    if kind == "add":
        return {"op": "insert", "path": [*path, len(here)], "value": value}
    if kind == "rename":
        return {"op": "rename", "path": list(path), "to": "another name"}
    return {"op": kind, "path": list(path)} | ({} if kind == "delete" else {"value": value})


def meant(document: Any, operation: dict[str, Any]) -> Any:
    """The document after an operation, by Python's own lists and dictionaries."""
    whole = json.loads(json.dumps(document))
    *above, last = operation["path"]
    holder = at(whole, tuple(above))
    match operation["op"]:
        case "delete":
            del holder[last]
        case "rename":
            items = [(operation["to"] if key == last else key, value) for key, value in holder.items()]
            holder.clear()
            holder.update(items)
        case "insert" if isinstance(holder, list):
            holder.insert(last, operation["value"])
        case _:
            holder[last] = operation["value"]
    return whole


def stripped(document: Any) -> Any:
    """Without the line breaks at the end of texts, which a literal block has anyway."""
    if isinstance(document, dict):
        return {key: stripped(value) for key, value in document.items()}
    if isinstance(document, list):
        return [stripped(value) for value in document]
    return document.rstrip("\n") if isinstance(document, str) else document


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_random_edits_mean_what_they_say_and_keep_the_rest(number: int) -> None:
    text, draw = TEXTS[number], random.Random(number)
    document, refused, count = document_of(text), 0, examples(200, one_in=8)
    for _ in range(count):
        operation = drawn(document, draw)
        try:
            changed = edited(text, [operation])
        except CannotEdit:
            # Around an alias only: then the text must have some.
            assert re.search(r"[ \[]\*\w", text)
            refused += 1
            continue
        assert stripped(document_of(changed)) == stripped(meant(document, operation))
        before, after = text.split("\n"), changed.split("\n")
        first = next((at for at, pair in enumerate(zip(before, after, strict=False)) if len({*pair}) > 1), 0)
        same = 0
        while same < min(len(before), len(after)) - first and before[-1 - same] == after[-1 - same]:
            same += 1
        # Whole-line comments survive unless what they stand in was replaced.
        if operation["op"] in ("insert", "rename"):
            lost = [line for line in before[first : len(before) - same] if line.strip().startswith("# ")]
            assert all(line in changed for line in lost)
    assert refused < count


def test_comments_and_layout_stay() -> None:
    changed = edited(ODD, [{"op": "set", "path": ["a", 0, "x"], "value": 7}])
    assert changed == ODD.replace("x: 1   # one", "x: 7   # one")
    changed = edited(ODD, [{"op": "set", "path": ["n", 1, 2], "value": 9}])
    assert changed == ODD.replace("[3, 3, 1, 1]", "[3, 3, 9, 1]")
    changed = edited(ODD, [{"op": "delete", "path": ["a", 1]}])
    assert changed == ODD.replace("  - {z: 3, w: [1, 2,  3]} # flow\n", "")
    changed = edited(ODD, [{"op": "insert", "path": ["last", 1], "value": "one and a half"}])
    assert changed == ODD.replace("- no indent\n", "- no indent\n- one and a half\n")


def test_a_map_is_painted_in_its_block() -> None:
    rows = "#######\nS..~..#\n#..#..G\n#.....#\n#######\n"
    changed = edited(SMALL, [{"op": "set", "path": ["activities", "cross", "grid", "map"], "value": rows}])
    assert changed == SMALL.replace("#..~..G", "#..#..G")


def test_several_operations_are_one_edit() -> None:
    operations = [
        {"op": "insert", "path": ["costs", 2], "value": "battery"},
        {"op": "set", "path": ["constraints", "battery"], "value": {"at_most": 5}},
        {
            "op": "set",
            "path": ["activities", "cross", "grid", "step_cost"],
            "value": {"time": 1, "battery": 0.25},
        },
        {"op": "delete", "path": ["constraints", "damage"]},
        {"op": "rename", "path": ["activities", "cross"], "to": "go over"},
    ]
    document = document_of(edited(SMALL, operations))
    assert document["costs"] == ["time", "damage", "battery"]
    assert document["constraints"] == {"battery": {"at_most": 5}}
    assert document["activities"]["go over"]["grid"]["step_cost"] == {"time": 1, "battery": 0.25}


def test_json_is_edited_as_a_whole() -> None:
    text = json.dumps(document_of(SMALL))
    changed = edited(
        text, [{"op": "set", "path": ["constraints", "damage", "at_most"], "value": 3}], json=True
    )
    assert json.loads(changed)["constraints"] == {"damage": {"at_most": 3}}


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "set", "path": ["nowhere", "x"], "value": 1}, "nowhere: there is no such place"),
        ({"op": "delete", "path": ["costs", 7]}, "costs.7: there is no such place"),
        ({"op": "insert", "path": ["costs", 7], "value": 1}, "the list has 2 items; insert at 0 to 2"),
        ({"op": "insert", "path": ["costs"], "value": 1}, "this key is there already; set it"),
        ({"op": "rename", "path": ["costs"], "to": "activities"}, "there is a key 'activities' beside it"),
        ({"op": "rename", "path": ["costs", 0], "to": "x"}, "has no positions"),
        ({"op": "set", "path": [], "value": 1}, "an operation needs a path"),
        ({"op": "set", "path": ["costs", "x"], "value": 1}, "has no keys"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(CannotEdit, match=re.escape(why)):
        edited(SMALL, [operation])


def test_an_alias_is_left_to_people() -> None:
    text = "a: &one {x: 1}\nb: *one\n"
    with pytest.raises(CannotEdit, match="anchors, aliases"):
        edited(text, [{"op": "set", "path": ["b", "x"], "value": 2}])
    with pytest.raises(CannotEdit, match="nested far too deep"):
        edited(text, [{"op": "set", "path": ["b"], "value": nested(2000)}], json=False)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value
