"""JSON means what it says, though it is read by the way of YAML: the same tree, with the same lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Entries, Findings, Items, Limits, Node, parse_document
from plain_documents import plain
from volume import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DOCUMENTS = st.recursive(
    TEXTS | st.integers(-(10**16), 10**16) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
    | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.fixture(params=["C", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML has two parsers, and which one there is depends on how it was installed."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def tree(text: str) -> Node:
    findings = Findings("it.json")
    root = parse_document(text, findings, Limits(), json=True)
    findings.raise_if_any()
    return root


def told(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidProblem) as caught:
        tree(text)
    return caught.value.violations


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=DOCUMENTS, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3, "\t"]))
def test_every_document_is_read_as_the_standard_library_reads_it(
    document: Any, ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    read = plain(tree(text))
    assert read == document
    # True equals 1, and 2.0 equals 2, so what is written must be the same, too.
    assert json.dumps(read) == json.dumps(document)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1e5, 1E5, 1e+5, 1.5e-3, -0, 0.1]", [1e5, 1e5, 1e5, 0.0015, 0, 0.1]),
        ('{"a":1,"b":[true,false,null]}', {"a": 1, "b": [True, False, None]}),
        ('\t{\t"a"\t:\t[\t1\t,\t2\t]\t}\t', {"a": [1, 2]}),
        ('{"a"\n\t:\n\t1}', {"a": 1}),
        ('["no", "1e5", "~", "NaN: Infinity", "# a", "*a", "&a", "!a", "a: b", "? a"]',
         ["no", "1e5", "~", "NaN: Infinity", "# a", "*a", "&a", "!a", "a: b", "? a"]),
        (r'["\u00e9\/\"\\\b\f\n\r\t\u0000"]', ['é/"\\\b\f\n\r\t\0']),
        (r'{"\ud83d\ude00": "\uD83D\uDE00"}', {"😀": "😀"}),
        ('["\x7f\x85\u2028\ufeff\ufffe"]', ["\x7f\x85\u2028\ufeff\ufffe"]),
        (f'{{"{"x" * 3000}": 1}}', {"x" * 3000: 1}),
        ("[123456789012345678901234567890, 1e400, -1e400]", [123456789012345678901234567890.0, float("inf"),
                                                             -float("inf")]),
        *((f'{{"a":{{"{"x" * length}":{{"b":1}}}}}}', {"a": {"x" * length: {"b": 1}}})
          for length in (0, 998, 999, 1000, 1020, 1024, 1100)),
        ('{"a":\n1,"b":\n{"c":[]\n,"d":{}}}', {"a": 1, "b": {"c": [], "d": {}}}),
        ("7", 7),
    ],
)  # fmt: skip
def test_what_yaml_would_take_otherwise(text: str, value: Any) -> None:
    assert plain(tree(text)) == value


def test_a_number_of_very_many_digits_is_read_at_once() -> None:
    assert plain(tree(f"[{'9' * 100_000}]")) == [float("inf")]


def test_every_value_and_every_key_has_its_line() -> None:
    root = tree('{\n"a"\n:\n[1,\n{"b": 2}\n],\n\n"c": "\\u000a"}')
    assert isinstance(root, Entries)
    assert root.key_lines == {"a": 2, "c": 8}
    items = root.entries["a"]
    assert isinstance(items, Items)
    assert [item.line for item in items.items] == [4, 5]
    assert root.entries["c"].line == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n"a": 1,\n}', "it.json:3: this is not JSON: Expecting property name enclosed in double quotes"),
        ('{"a": 1} # it', "it.json:1: this is not JSON: Extra data (column 10)"),
        ("{'a': 1}", "it.json:1: this is not JSON: "),
        ("{a: 1}", "it.json:1: this is not JSON: "),
        ('["a\tb"]', "it.json:1: this is not JSON: Invalid control character at (column 4)"),
        ("[01]", "it.json:1: this is not JSON: "),
        ("[.5]", "it.json:1: this is not JSON: "),
        ("[+1]", "it.json:1: this is not JSON: "),
        ("", "it.json:1: this is not JSON: "),
        ('["NaN",\n NaN]',
         'it.json:2: NaN is not JSON; write a number, or "inf" for a bound that is none (column 2)'),
        ('{"a": -Infinity}', "it.json:1: -Infinity is not JSON; write a number"),
        ('{"a": {"b": 1,\n"b": 2}}',
         "it.json:2: a.b: this key stands here a second time; the first is on line 1"),
        ('[1,\n "a \\udE00"]',
         'it.json:2: "a \\udE00" has half of a character in it; write the whole one (column 2)'),
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        ("[" * 100_000, "nested far too deep for a problem"),
    ],
)  # fmt: skip
def test_mistakes_name_line_and_place(text: str, says: str) -> None:
    assert says in told(text)[0]


def test_very_many_values() -> None:
    with pytest.raises(InvalidProblem, match="more than 1,000 values"):
        parse_document(json.dumps([[0] * 100] * 10), Findings("it"), Limits(nodes=1000), json=True)
