"""Whatever is done to a valid file, loading it succeeds or says InvalidProblem; nothing else ever."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Limits
from hcssp.files.problem_file.dumping import to_json, to_yaml
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load_text
from hcssp.files.problem_file.tables import read_csv_table, read_drn_table
from plain_documents import plain_document
from volume import examples

HERE = Path(__file__).parent
VALID = (HERE / "valid.yaml").read_text(encoding="utf-8")
DOCUMENT = yaml.safe_load(VALID)
# Small, so that a mutation which makes a room large costs no time.
LIMITS = Limits(states=5000, transitions=50_000, nodes=5000)

SCHEMA = jsonschema.Draft202012Validator(json_module.loads(schema_text()))

PIECES = st.sampled_from(
    [
        *"\n :[]{},#|>?'\"\t0",
        "  ",
        "- ",
        "&a ",
        "*a",
        "!!str ",
        "-1",
        "1e9",
        ".nan",
        "null",
        "cross",
        "<<: ",
        "---\n",
    ]
)
VALUES = st.sampled_from(
    yaml.safe_load(
        """
        [null, true, -1, 0, 1, 2, 0.5, 1.0e+300, 1000000000, 1000000000000000000000000000000, .inf, "", x,
        cross, hall, entrance, time, damage, "[0, 1]", "(3, 4)", slide.csv, ../slide.csv, [], [1], [1, 2],
        [1, 2, 3, 4], [[1, 1, 1, 1]], [a, b], {}, {at: [1, 1], probability: 1}, {to: below}, {to: {x: 1}},
        {damage: 1}, {left: 0.1, right: 0.1}, [{to: out, probability: 1}]]
        """
    )
)


def accepted(text: str, *, json: bool = False) -> bool:
    """Whether a text is a problem; any other error than InvalidProblem fails the test."""
    try:
        load_text(text, HERE, json=json, limits=LIMITS)
    except InvalidProblem as error:
        told = error.violations
    else:
        return True
    assert told
    assert all(line.startswith(("problem", str(HERE), "... and")) for line in told), told
    return False


@settings(max_examples=examples(300))
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(VALID)), st.integers(0, 12), PIECES | st.text(max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_edits_of_the_text(edits: list[tuple[int, int, str]]) -> None:
    text = VALID
    for place, removed, inserted in edits:
        text = text[:place] + inserted + text[place + removed :]
    accepted(text)


@settings(max_examples=examples(150))
@given(text=st.text(max_size=200))
def test_any_text(text: str) -> None:
    accepted(text)
    accepted(text, json=True)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


PLACES = places(DOCUMENT)[1:]


def changed(value: Any, path: tuple[Any, ...], how: str, new: Any) -> Any:
    """A copy of a document with the value at `path` replaced, removed, or its key renamed."""
    key, *rest = path
    if rest:
        copy = dict(value) if isinstance(value, dict) else list(value)
        copy[key] = changed(value[key], tuple(rest), how, new)
        return copy
    if isinstance(value, list):
        kept = [new] if how == "replace" else []
        return [*value[:key], *kept, *value[key + 1 :]]
    renamed = {"replace": key, "rename": str(new)[:20]}
    return {
        renamed.get(how, name) if name == key else name: new if name == key and how == "replace" else each
        for name, each in value.items()
        if not (name == key and how == "remove")
    }


@settings(max_examples=examples(400))
@given(
    path=st.sampled_from(PLACES),
    how=st.sampled_from(["replace", "remove", "rename"]),
    new=VALUES,
    json=st.booleans(),
)
def test_changes_of_the_structure(path: tuple[Any, ...], how: str, new: Any, json: bool) -> None:
    document = changed(DOCUMENT, path, how, new)
    text = to_json(document) if json else to_yaml(document)
    if accepted(text, json=json):
        # The schema may let pass what the loader refuses, but not the other way round.
        SCHEMA.validate(plain_document(text, json=json))


CSV = (HERE / "slide.csv").read_text(encoding="utf-8")
DRN = """\
@type: MDP
@reward_models
time
@nr_states
2
@model
state 0 [1] init
\taction a [1]
\t\t1 : 1
state 1 goal
"""


@pytest.mark.parametrize(("text", "read"), [(CSV, read_csv_table), (DRN, read_drn_table)])
@given(data=st.data())
@settings(max_examples=examples(200))
def test_edits_of_tables(text: str, read: Any, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        inserted = data.draw(
            st.sampled_from([",", "\n", '"', "0", ":", "[", "]", "-", "state 1", "@", "/", "1e9"])
        )
        text = text[:place] + inserted + text[place + data.draw(st.integers(0, 5)) :]
    found: list[tuple[int, str, str]] = []
    table = read(text, ("time", "damage"), lambda *finding: found.append(finding), 1000)
    assert table is not None or found
    assert all(line >= 1 for line, _, _ in found)
