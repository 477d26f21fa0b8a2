"""Every way to get a problem file wrong that we could think of, each with exactly what is said about it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load

HERE = Path(__file__).parent
VALID = (HERE / "valid.yaml").read_text(encoding="utf-8")
CASES: list[dict[str, Any]] = yaml.safe_load((HERE / "malformed.yaml").read_text(encoding="utf-8"))


def told(name: str) -> tuple[str, ...]:
    with pytest.raises(InvalidProblem) as caught:
        load(name)
    return caught.value.violations


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(HERE / "slide.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60


def test_the_file_that_is_changed_is_valid() -> None:
    Path("mine.yaml").write_text(VALID, encoding="utf-8")
    assert load("mine.yaml").num_activities == 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['change'].strip()} > {case['to'].strip()}")
def test_a_mistake_is_told_with_file_line_and_field(case: dict[str, Any]) -> None:
    assert VALID.count(case["change"]) == 1
    Path("mine.yaml").write_text(VALID.replace(case["change"], case["to"]), encoding="utf-8")
    # How a parser words a mistake in the syntax is its own affair, and there are two of them.
    ours, expected = (
        [text.partition("not YAML:")[0] for text in texts] for texts in (told("mine.yaml"), case["says"])
    )
    assert ours == expected


JSON_CASES = [
    ('"version": 1', '"version": 1,}', "mine.json:1: this is not JSON: "),
    ('"width": 3', '"width": NaN', "mine.json:4: NaN is not JSON"),
    (
        '"width": 3',
        '"width": 3, "width": 4',
        "mine.json:4: activities.cross.grid.width: this key stands here",
    ),
    ('"width": 3', '"width": true', "mine.json:4: activities.cross.grid.width: true is not a whole number"),
    (
        '"width": 3',
        '"width": null',
        "mine.json:4: activities.cross.grid.width: nothing is given here; give a",
    ),
    ('"width": 3', '"width": 1e400', "mine.json:4: activities.cross.grid.width: 1e400 is not a whole number"),
    ('"goal": [4, 2]', '"goal": "[4, 2]"', "mine.json:5: activities.cross.goal: there is no place '[4, 2]'"),
    ('"time"', "'time'", "mine.json:2: this is not JSON: "),
    (
        '"time"',
        '"\\ud83d"',
        'mine.json:2: "\\ud83d" has half of a character in it; write the whole one (column',
    ),
    ('"time"', '"a\\tb"', "mine.json:2: costs[0]: the name 'a\\tb' has a character that cannot be printed"),
]
JSON = """{"format": "hcssp-problem", "version": 1,
 "costs": ["time"],
 "activities": {"cross": {
   "grid": {"width": 3, "height": 2},
   "start": [0, 1], "goal": [4, 2]}}}
"""


def test_the_json_that_is_changed_is_valid() -> None:
    Path("mine.json").write_text(JSON, encoding="utf-8")
    assert load("mine.json").events == ("start", "end")


@pytest.mark.parametrize(("change", "to", "says"), JSON_CASES)
def test_a_mistake_in_json_is_told(change: str, to: str, says: str) -> None:
    assert JSON.count(change) == 1
    Path("mine.json").write_text(JSON.replace(change, to), encoding="utf-8")
    assert told("mine.json")[0].startswith(says)


def test_all_mistakes_are_told_together_in_the_order_of_their_lines() -> None:
    text = (
        VALID.replace("slip: 0.2", "slip: 1.4")
        .replace("at_most: 30", "at_most: x")
        .replace("width: 5", "width: 0")
    )
    Path("mine.yaml").write_text(text, encoding="utf-8")
    assert [violation.split(": ")[0] for violation in told("mine.yaml")] == [
        "mine.yaml:10",
        "mine.yaml:15",
        "mine.yaml:60",
    ]


def test_very_many_mistakes_are_counted() -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(150))
    Path("mine.yaml").write_text(VALID + keys, encoding="utf-8")
    assert len(told("mine.yaml")) == 26
    assert told("mine.yaml")[-1] == "... and 125 more"


def test_after_very_many_mistakes_nobody_looks_further() -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(20_000))
    Path("mine.yaml").write_text(VALID + keys, encoding="utf-8")
    assert told("mine.yaml")[-1] == "... and at least 975 more"
    states = "".join(f"s{number},go,t{number},0.5\n" for number in range(5_000))
    Path("slide.csv").write_text("state,action,next,probability\n" + states, encoding="utf-8")
    Path("mine.yaml").write_text(VALID, encoding="utf-8")
    assert told("mine.yaml")[-1] == "... and at least 975 more"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "mine.yaml:1: the file is empty; it must begin with 'format: hcssp-problem'"),
        (b"# nothing\n", "mine.yaml:1: the file is empty; it must begin with 'format: hcssp-problem'"),
        (b"- 1\n", "mine.yaml:1: a list is not a problem; begin with 'format: hcssp-problem'"),
        (b"hello\n", "mine.yaml:1: 'hello' is not a problem; begin with 'format: hcssp-problem'"),
        (b"\nformat: \xff\n", "mine.yaml:2: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"\n\nformat: \x07\n", "mine.yaml:3: this is not YAML: "),
        (b"\x00\x01\x02", "mine.yaml:1: this is not YAML: "),
    ],
)
def test_what_is_no_problem_file_at_all(content: bytes, says: str) -> None:
    Path("mine.yaml").write_bytes(content)
    assert told("mine.yaml")[0].startswith(says)


def test_a_file_that_cannot_be_read() -> None:
    assert told("none.yaml") == ("none.yaml: there is no such file",)
    Path("folder.yaml").mkdir()
    assert told("folder.yaml")[0].startswith("folder.yaml: it cannot be read: ")
    assert told("a\0b.yaml")[0].endswith("embedded null byte")
