from __future__ import annotations

import io
import json
import os
import re
import struct
from collections.abc import Iterator
from math import inf

import pytest

from hcssp.cli import main, terminal
from hcssp.cli.terminal import ProgressPrinter, Talk, style_of
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
        (Terminal(), False, False, Talk.DISPLAY),
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
    text = printed(Terminal(), Talk.DISPLAY, count=20, every=1.0)
    assert "19 nodes   lower bound 100.1900   incumbent 181.0000   gap 44.6%" in text
    assert text.endswith("\x1b[2K")


def test_a_terminal_is_not_flooded() -> None:
    # Each update writes the line again from its beginning.
    assert printed(Terminal(), Talk.DISPLAY, count=1000, every=0.001).count("\r") < 30


def test_no_color_leaves_only_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*m", printed(Terminal(), Talk.DISPLAY, count=5, every=1.0))
    assert not style_of(Terminal()).enabled


def test_without_rich_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "find_spec", lambda name: None)
    assert Talk.suited_to(Terminal(), quiet=False, verbose=False) is Talk.FEW_LINES


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


def test_programs_get_a_json_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "small-building", "--json", "--progress", "jsonl"]) == 0
    printed = capsys.readouterr()
    plan, events = json.loads(printed.out), [json.loads(line) for line in printed.err.splitlines()]
    assert events[0] == {"event": "note", "text": "reading small-building"}
    search = [event for event in events if event["event"] == "search"]
    assert [search[-1][key] for key in ("lower_bound", "upper_bound")] == pytest.approx(
        [plan["lower_bound"], plan["upper_bound"]]
    )
    assert all(each["lower_bound"] <= plan["upper_bound"] + 1e-9 for each in search)
    assert main(["curve", "small-building", "--points", "3", "--progress", "jsonl"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    steps = [(event["done"], event["total"]) for event in events if event["event"] == "step"]
    assert steps == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("talk", [Talk.FEW_LINES, Talk.DISPLAY])
def test_a_long_search_says_once_how_to_take_its_plan(talk: Talk) -> None:
    stream = Terminal()
    printer = ProgressPrinter(stream, talk, hint=True)
    for step in steps(30, every=1.0):
        printer(step)
    assert stream.getvalue().count("hcssp: ") == 1
    # After 10 steps: from 100.1 to 190.
    assert "after 10 s the plan is within 47.32% of the best" in stream.getvalue()
    assert "--gap 1e+00" not in stream.getvalue()


def test_a_short_search_gives_no_hint() -> None:
    assert "hcssp" not in printed(io.StringIO(), Talk.FEW_LINES, count=9, every=1.0)


def test_rich_draws_a_bar_where_the_end_is_known() -> None:
    stream = Terminal()
    printer = ProgressPrinter(stream, Talk.DISPLAY)
    printer.note("reading")
    for done in (1, 2):
        printer.step(done, 2, "a point")
    printer.close()
    text = stream.getvalue()
    assert "2 of 2: a point" in text
    assert "━" in text
    assert text.endswith("\x1b[2K")


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
            printer = ProgressPrinter(stream, Talk.DISPLAY)
            printer.note("x" * 100)
            printer.close()
            written = ""
            # At its end the display shows the cursor again.
            while "\x1b[?25h" not in written:
                written += os.read(reader, 4096).decode()
    finally:
        os.close(writer)
        os.close(reader)
    lines = [line for line in re.split(r"[\r\n]|\x1b\[[?0-9;]*[a-zA-Z]", written) if "x" in line]
    assert lines
    assert max(map(len, lines)) in (columns - 1, columns)
