"""Every block of docs/file-format.md is true: files load and can be solved, and code prints what it says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from hcssp import Gap, PolicyBranching, solve
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load
from plain_documents import plain_document

PAGE = (Path(__file__).parents[3] / "docs" / "file-format.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)```', re.DOTALL)
BLOCKS = list(BLOCK.finditer(PAGE))
FILES = [block["text"] for block in BLOCKS if block["kind"] == "yaml"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        if block["title"]:
            Path(block["title"]).write_text(block["text"], encoding="utf-8")
    return tmp_path


def test_the_page_has_files() -> None:
    assert len(FILES) == PAGE.count("```yaml") >= 6


@pytest.mark.parametrize("text", FILES)
def test_a_file_loads_fits_the_schema_and_can_be_solved(text: str) -> None:
    Path("mine.yaml").write_text(text, encoding="utf-8")
    loaded = load("mine.yaml")
    assert solve(loaded, PolicyBranching(), stop=[Gap(1e-2)]).found_policy is not None
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(plain_document(text))


def test_the_code_prints_what_the_page_says() -> None:
    (code,) = (index for index, block in enumerate(BLOCKS) if block["kind"] == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCKS[code]["text"], "file-format.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == BLOCKS[code + 1]["text"]


def test_the_messages_are_what_the_page_says() -> None:
    (text,) = (text for text in FILES if "two rooms" in text)
    for change, to in (
        ("height: 2, slip: 0.2", "height: 2, slip: 1.4"),
        ("to: at the door}", "to: at the dor}"),
        ("{at_most: 3}", "{atmost: 3}"),
    ):
        assert text.count(change) == 1
        text = text.replace(change, to)
    Path("mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblem) as caught:
        load("mine.yaml")
    assert f"```text\nhcssp: error: {caught.value}\n```" in PAGE


def test_every_key_of_the_schema_is_explained() -> None:
    schema = json.loads(schema_text())
    keys = set(schema["properties"])
    for definition in schema["$defs"].values():
        keys |= set(definition.get("properties", {}))
    assert {key for key in keys if f"`{key}`" not in PAGE and f"`{key}:" not in PAGE} == set()
