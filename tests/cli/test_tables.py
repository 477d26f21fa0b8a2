"""What all commands print for people: lines that fit a terminal, and figures that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hcssp.cli import main
from hcssp.reports.figures import Measure
from hcssp.reports.plan_text import WIDTH, aligned, wrapped

COMMANDS = (
    "solve {} --out plan.json --certificate proof.cert",
    "evaluate {} plan.json",
    "check {} proof.cert",
    "simulate {} plan.json --runs 200",
    "robust {} plan.json",
    "why {} plan.json --at {}",
    "replan {} plan.json --out rest.json",
    "curve {} --constraint {} --points 3",
    "sweep {} --bound {}=1,3",
    "show {}",
    "methods",
    "problems",
)
FIGURE = re.compile(r"(?<![\w.,:=<-])-?\d+\.\d+(?:e[-+]\d+)?(?![\w.])")


def significant(figure: str) -> int:
    mantissa = figure.lstrip("-").split("e")[0]
    return len(mantissa.replace(".", "").strip("0"))


@pytest.mark.parametrize(
    ("problem", "place", "constraint"),
    [("small-building", "start", "damage"), ("patient", "diagnosis", "toxicity")],
)
def test_lines_fit_and_figures_of_tables_are_short(
    problem: str,
    place: str,
    constraint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        first, *rest = command.replace("{}", problem, 1).split()
        words = [first, *(word.replace("{}", place if first == "why" else constraint) for word in rest)]
        quiet = [] if words[0] in ("methods", "problems") else ["--quiet"]
        assert main([*words, *quiet]) in (0, 1), words
        lines = capsys.readouterr().out.splitlines()
        assert lines, words
        for line in lines:
            # Titles at the margin name files, which may be long.
            assert len(line) <= WIDTH or not line.startswith(" "), (words, line)
            # Three figures or more in columns make a table.
            figures = FIGURE.findall(line)
            if len(figures) > 2 and "  " in line.strip():
                assert max(map(significant, figures)) <= 6, (words, line)


def test_a_table_that_is_too_wide_goes_on_below() -> None:
    rows = [["name", *(f"column {index}" for index in range(20))], ["first", *map(str, range(20))]]
    lines = aligned(rows).splitlines()
    assert max(map(len, lines)) <= WIDTH
    found = [word for line in lines if line.startswith("  first") for word in line.split()[1:]]
    assert found == [str(index) for index in range(20)]


def test_a_long_line_goes_on_below_and_loses_no_word() -> None:
    line = "    " + "word " * 60
    assert max(map(len, wrapped(line).splitlines())) <= WIDTH
    assert wrapped(line).split() == line.split()


@pytest.mark.parametrize("probability", [5.9e-30, 9.9e-10])
def test_a_trace_of_a_probability_is_printed_as_one(probability: float) -> None:
    measure = Measure("crash", "probability of crash", is_probability=True)
    assert measure.rounded(probability) == measure.in_table(probability) == "< 1e-9"
    assert measure.used(probability, 0.01) == "< 1e-9"
    assert measure.rounded(0.0) == "0%"
    assert measure.rounded(1e-8) == "0.000001%"
