from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from math import inf

import pytest

from hcssp.cli import main
from hcssp.cli.progress import ProgressPrinter, Talk
from hcssp.cli.terminal import style_of
from hcssp.contract.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)


def steps(count: int, every: float) -> Iterator[Progress]:
    for index in range(count):
        upper = inf if index < 3 else 200.0 - index
        yield Progress(
            seconds=every * index, iterations=index, lower_bound=100.0 + index / 100, upper_bound=upper
        )


def printed(stream: io.StringIO, talk: Talk, count: int, every: float) -> str:
    printer = ProgressPrinter(stream, talk)
    for step in steps(count, every):
        printer(step)
    printer.close()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("stream", "quiet", "verbose", "talk"),
    [
        (Terminal(), False, False, Talk.REWRITTEN_LINE),
        (io.StringIO(), False, False, Talk.FEW_LINES),
        (Terminal(), True, False, Talk.NOTHING),
        (Terminal(), False, True, Talk.EVERY_CHANGE),
    ],
)
def test_how_much_is_told(stream: io.StringIO, quiet: bool, verbose: bool, talk: Talk) -> None:
    assert Talk.suited_to(stream, quiet=quiet, verbose=verbose) is talk


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert Talk.suited_to(Terminal(), quiet=False, verbose=False) is Talk.FEW_LINES


def test_a_terminal_gets_one_line_that_is_removed_in_the_end() -> None:
    text = printed(Terminal(), Talk.REWRITTEN_LINE, count=20, every=1.0)
    assert "\n" not in text
    assert text.count("\r") == 21
    assert "19 nodes   lower bound 100.1900   incumbent 181.0000   gap 44.6%" in text
    assert text.endswith("\r\x1b[K")


def test_a_terminal_is_not_flooded() -> None:
    assert printed(Terminal(), Talk.REWRITTEN_LINE, count=1000, every=0.001).count("\r") < 15


def test_a_narrow_terminal_gets_a_line_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = printed(Terminal(), Talk.REWRITTEN_LINE, count=5, every=1.0).split("\r\x1b[K")
    assert max(map(len, lines)) == 29


def test_no_color_leaves_only_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(Terminal(), Talk.REWRITTEN_LINE, count=5, every=1.0)
    assert "\x1b" not in text.replace("\r\x1b[K", "")
    assert not style_of(Terminal()).enabled


def test_emphasis_is_for_terminals() -> None:
    assert style_of(Terminal()).strong("x") == "\x1b[1mx\x1b[0m"
    assert style_of(io.StringIO()).strong("x") == "x"


def test_elsewhere_lines_come_at_a_modest_rate() -> None:
    lines = printed(io.StringIO(), Talk.FEW_LINES, count=6000, every=0.1).splitlines()
    assert 5 < len(lines) < 30
    assert "no plan yet" in lines[0]
    assert "incumbent 197.0000" in lines[1]
    assert not any("\r" in line or "\x1b" in line for line in lines)


def test_verbose_tells_every_change() -> None:
    assert len(printed(io.StringIO(), Talk.EVERY_CHANGE, count=50, every=0.0).splitlines()) == 50


def test_quiet_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(Terminal(), Talk.NOTHING, count=50, every=1.0) == ""
    assert main(["solve", "small-building", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_progress_goes_to_stderr_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "--json"]) == 0
    told = capsys.readouterr()
    assert "lower bound" in told.err
    assert told.out.startswith("{")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
@pytest.mark.parametrize("columns", [20, 50])
def test_a_line_is_as_wide_as_the_terminal_that_it_is_written_to(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stdout may be a file, or another terminal."""
    import fcntl
    import termios

    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("NO_COLOR", "1")
    reader, writer = os.openpty()
    try:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with open(writer, "w", encoding="utf-8", closefd=False) as stream:
            ProgressPrinter(stream, Talk.REWRITTEN_LINE).note("x" * 100)
        written = os.read(reader, 4096).decode()
    finally:
        os.close(writer)
        os.close(reader)
    assert written.count("x") == columns - 2
