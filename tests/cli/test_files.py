from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from hcssp.cli import main
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load, load_text
from tiny_scenarios import TINY

HERE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_schema_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "schema") == schema_text()


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_new_file_gives_the_figures_of_the_built_in_problem(
    capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    options = ["--json"] if suffix == "json" else []
    Path(f"mine.{suffix}").write_text(printed(capsys, "new", "small-building", *options), encoding="utf-8")
    ours = json.loads(printed(capsys, "solve", f"mine.{suffix}", "--json", "-q", "--gap", "0.5"))
    theirs = json.loads(printed(capsys, "solve", "small-building", "--json", "-q", "--gap", "0.5"))
    for key in ("status", "lower_bound", "upper_bound", "constraints", "choices", "activities"):
        assert ours[key] == theirs[key], key


# All of them are written and read again in the tests of the files.
@pytest.mark.parametrize("name", ["campus", "evacuation", "rover"])
def test_a_built_in_problem_can_be_written(capsys: pytest.CaptureFixture[str], name: str) -> None:
    small = [word for parameter, value in TINY[name].items() for word in ("--set", f"{parameter}={value}")]
    Path("mine.yaml").write_text(printed(capsys, "new", name, *small), encoding="utf-8")
    assert load("mine.yaml").name == name


def test_a_blank_file_has_comments_and_can_be_solved(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "new", "--blank", "--out", "mine.yaml") == ""
    assert Path("mine.yaml").read_text(encoding="utf-8").count("# ") >= 8
    loose, tight = (
        json.loads(printed(capsys, "solve", "mine.yaml", "--json", "-q", "--bound", f"damage={bound}"))
        for bound in ("inf", "0")
    )
    assert loose["upper_bound"] < tight["upper_bound"]
    assert tight["constraints"]["damage"]["expected"] == 0.0
    # Without slips the shortest way past the hazard takes 9 steps; the lift takes 2.
    assert main(["solve", "mine.yaml", "--json", "-q", "--set", "slip=0"]) == 0
    assert json.loads(capsys.readouterr().out)["upper_bound"] == pytest.approx(11.0)


def test_a_new_file_may_be_scaled(capsys: pytest.CaptureFixture[str]) -> None:
    assert "width: 12\n" in printed(capsys, "new", "small-building", "--scale", "3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new"], "name a built-in PROBLEM (hcssp problems lists them), or use --blank"),
        (["new", "--blank", "campus"], "--blank: leave PROBLEM"),
        (["new", "evacuatoin"], "there is no problem 'evacuatoin'; did you mean 'evacuation'?"),
        (["solve", "none.yaml"], "none.yaml: there is no such file"),
        (["solve", "./none"], "none: there is no such file"),
        (["solve", "bad.yaml"], "bad.yaml:1: format: 'plan' is not a problem file"),
        (["solve", "two.yml"], "  - two.yml:4: costs[1]: the cost 'a' is named twice"),
        (["solve", "bad.yaml", "--scale", "2"], "--scale 2: only built-in problems can be scaled"),
    ],
)
def test_what_is_wrong_with_a_file(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("bad.yaml").write_text("format: plan\n", encoding="utf-8")
    Path("two.yml").write_text("format: hcssp-problem\nversion: 1\nx: 1\ncosts: [a, a]\n", encoding="utf-8")
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert "Traceback" not in told.err


def test_they_need_nothing_that_they_do_not_need() -> None:
    code = (
        "import sys\n"
        "from hcssp.cli import main\n"
        "for arguments in (['new', '--help'], ['schema', '--help'], ['schema']):\n"
        "    assert main(arguments) == 0\n"
        "    heavy = {'scipy.optimize', 'highspy', 'matplotlib', 'yaml'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=HERE
    )
    assert answer.returncode == 0, answer.stderr


class _Piped:
    """Standard input with a problem in it."""

    def __init__(self, content: bytes) -> None:
        self.buffer = BytesIO(content)


@pytest.mark.parametrize("style", ["yaml", "json"])
def test_a_problem_may_come_by_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    text = printed(capsys, "new", "small-building", *(["--json"] if style == "json" else []))
    monkeypatch.setattr(sys, "stdin", _Piped(text.encode()))
    shown = printed(capsys, "show", "-")
    Path(f"mine.{style}").write_text(text, encoding="utf-8")
    assert shown.replace("-:", f"mine.{style}:", 1) == printed(capsys, "show", f"mine.{style}")


def test_a_mistake_in_standard_input_has_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", _Piped(b"format: hcssp-problem\nversion: 7\n"))
    assert main(["solve", "-"]) == 2
    assert "standard input:2: version: version 7 cannot be read" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["solve", "-"]) == 2
    assert "there is no standard input" in capsys.readouterr().err


def test_a_file_to_begin_with_is_small_unless_its_size_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "random"]) == 0
    written = capsys.readouterr()
    assert written.err == "a small one, to begin with: --set activities=4 --set states=12\n"
    assert len(written.out) < 500_000
    problem = load_text(written.out)
    assert problem.flattening.num_states < 300
