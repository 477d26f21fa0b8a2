"""Streams that are closed, full or of a poor encoding, and targets that cannot be written."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from hcssp.cli import main
from hcssp.cli.terminal import Streams
from hcssp.errors import CannotWrite

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")
UNICODE = """\
format: hcssp-problem
version: 1
costs: [time]
activities:
  火災: {table: {a: {go: {to: z, costs: {time: 1}}}}, start: a, goal: z}
"""


class Full(io.StringIO):
    """A stream on a full disk: nothing gets through."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "command",
    ["solve small-building --gap 0.5 -q", "problems", "methods", "schema", "--help", "solve --help"],
)
@pytest.mark.parametrize("out", [Full(), None])
def test_an_answer_that_cannot_be_written_is_an_error(
    command: str, out: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", told)
    assert main(command.split()) == 2
    why = "it is closed" if out is None else "No space left on device"
    assert told.getvalue() == f"hcssp: error: standard output: it cannot be written: {why}\n"


@pytest.mark.parametrize("err", [Full(), None])
def test_who_cannot_be_told_the_progress_still_gets_the_answer(
    err: io.StringIO | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["solve", "small-building", "--gap", "0.5"]) == 0
    assert "Stopped because" in capsys.readouterr().out
    assert main(["solve", "no-such-problem"]) == 2


def test_what_an_encoding_cannot_hold_is_written_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, written = tmp_path / "fire.yaml", io.BytesIO()
    path.write_text(UNICODE, encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="cp1252"))
    assert main(["solve", str(path), "-q"]) == 0
    assert rb"\u706b\u707d" in written.getvalue()


def test_the_streams_are_put_back() -> None:
    before = sys.stdout, sys.stderr
    with Streams():
        assert (sys.stdout, sys.stderr) != before
    assert (sys.stdout, sys.stderr) == before


def test_a_reader_that_has_gone_is_no_error_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["problems"]) == 141


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "solve small-building --gap 0.5 -q --out /dev/full",
        "solve small-building --gap 0.5 -q --certificate /dev/full",
        "curve small-building --from 4 --to 4 --gap 0.5 -q --csv /dev/full",
        "report small-building --gap 0.5 -q --points 0 --out /dev/full",
    ],
)
def test_a_full_target_is_an_error_after_the_answer(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(command.split()) == 2
    assert "/dev/full: it cannot be written: No space left on device" in capsys.readouterr().err
    assert FULL.is_char_device()


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "solve small-building --gap 0.5 -q --plot",
        "show small-building -q --plot",
        "curve small-building --from 4 --to 4 --gap 0.5 -q --plot",
    ],
)
def test_a_full_disk_takes_no_picture(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "picture.png"
    target.symlink_to(FULL)
    assert main([*command.split(), str(target)]) == 2
    assert "picture.png: it cannot be written: No space left on device" in capsys.readouterr().err


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_an_answer_that_meets_a_full_disk_when_the_interpreter_ends_is_told_once() -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hcssp", "problems"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"No space left on device" in done.stderr


def test_a_closed_stream_takes_no_file_of_ours(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    command = f"{sys.executable} -m hcssp solve small-building --gap 0.5 -q --out {plan} >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 2
    assert plan.read_text().startswith("{")


def test_cannot_write_says_what_and_why() -> None:
    with Streams():
        sys.stdout._stream = Full()  # type: ignore[attr-defined]
        with pytest.raises(CannotWrite, match="standard output: it cannot be written: No space"):
            sys.stdout.write("told")
