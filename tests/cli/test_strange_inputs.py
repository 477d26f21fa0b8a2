"""Hundreds of inputs that nobody should give: each is a clear message and the right exit code, never a fault.

They are generated: every option with values that are none of its kind, every output with targets that
cannot be written, every value of a problem and of a plan replaced by values of other kinds.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hcssp.cli import main

pytestmark = pytest.mark.slow

PROBLEM = """\
format: hcssp-problem
version: 1
name: small
description: a grid, a table and a choice
costs: [time, damage]
models:
  room:
    grid: {map: "#####\\nS.~.G\\n#####\\n", hazards: {"~": {damage: 5}}, slip: 0.1, step_cost: {time: 1}}
activities:
  cross: {model: room}
  lift:
    table:
      called:
        wait: {to: {below: 0.5, called: 0.5}, costs: {time: 1}}
        stairs: {to: below, costs: {time: 4, damage: 2}}
    start: called
    goal: below
procedure:
  start: begin
  end: out
  events:
    begin: {go: {runs: cross, to: landing}}
    landing:
      down: {runs: lift, to: out}
      jump: [{probability: 0.5, to: out}, {probability: 0.5, to: landing}]
constraints:
  damage: {at_most: 9, counts: {cross: damage, lift: damage}}
"""
KINDS: tuple[Any, ...] = (None, -1, 1e999, "strange", [], {}, [[]], {"strange": {"strange": -1}}, True)
NO_NUMBERS = ("", "x", "nan", "-1", "1,5", "--", "∞")
LONG = "n" * 5000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(PROBLEM, encoding="utf-8")
    return tmp_path


class Judge:
    """Runs commands, and collects what is wrong with their answers."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.count = 0
        self.wrong: list[str] = []
        self._capsys = capsys

    def __call__(self, *arguments: str, codes: tuple[int, ...] = (2,), says: str = "") -> None:
        self.count += 1
        self._capsys.readouterr()
        code = main(arguments)
        told = self._capsys.readouterr().err
        clear = code != 2 or ("hcssp: error: " in told and len(told) < 6000 and says in told)
        if code not in codes or not clear or "a bug in hcssp" in told or "Traceback" in told:
            shown = [each[:60] for each in arguments]
            self.wrong.append(f"{shown}: exit code {code}, {told[:300]!r}")


@pytest.fixture
def judge(capsys: pytest.CaptureFixture[str]) -> Judge:
    return Judge(capsys)


NUMBERS = {
    "solve small.yaml": ("--gap", "--time-limit", "--scale", "--feasibility-tolerance"),
    "solve small.yaml --method budget-allocation": ("--iterations",),
    "simulate small.yaml plan.json": ("--runs", "--seed"),
    "curve small.yaml --from 0 --to 1": ("--points", "--gap", "--time-limit"),
    "report small.yaml": ("--points", "--curve-time-limit", "--time-limit", "--seed", "--gap"),
}


def test_what_is_no_number_is_refused_by_name(judge: Judge) -> None:
    for command, options in NUMBERS.items():
        for option in options:
            for value in NO_NUMBERS:
                judge(*command.split(), "-q", f"{option}={value}", says=option)
    for value in (*NO_NUMBERS[:3], "damage", "=1", "damage=", "damage=x", "damage=nan", "damage=-inf", LONG):
        judge("solve", "small.yaml", "-q", f"--bound={value}", says="--bound")
    assert not judge.wrong, "\n".join(judge.wrong)
    assert judge.count >= 110


COMMANDS = (
    "", "sole", "solve", "-x", "solve a b", "solve small.yaml --strange", "solve small.yaml --method",
    "solve small.yaml --method exat", "solve small.yaml --mode sharp", "solve small.yaml --iterations 1",
    "solve small.yaml --bound damag=1", "solve small.yaml --bound damage=1 --bound damage=2",
    "solve small.yaml --scale 2", "solve small.yaml -q -v", "solve nothing", "solve nothing.yaml", "solve .",
    "solve ./", "solve /", "solve /dev/null", "solve small.yaml/x", "evaluate small.yaml", "check small.yaml",
    "evaluate small.yaml nothing.json", "evaluate small.yaml .", "check small.yaml nothing.cert",
    "simulate small.yaml small.yaml", "check small.yaml small.yaml", "solve small.yaml --resume small.yaml",
    "solve small.yaml --resume nothing.json", "report small.yaml nothing.json",
    "report small.yaml --constraint x",
    "report small.yaml --certificate x", "report small.yaml --points 61", "report small.yaml --points 1e300",
    "curve small.yaml --from 2 --to 1", "curve small.yaml --from inf --to inf", "new nothing",
    "curve small.yaml --from 0 --to 1 --points 1000000", "curve small.yaml --from 0 --to 1 --constraint x",
    "table --bound x", "table --mode x", "solve evacuation --scale 1000000000", "schema x", "methods x",
    "solve small-building --scale 1e9", "show small.yaml --plot x.doc", "solve small.yaml --plot x",
)  # fmt: skip


def test_commands_that_make_no_sense(judge: Judge) -> None:
    for command in COMMANDS:
        judge(*command.split())
    for name in (LONG, f"{LONG}.yaml", f"{LONG}/x.yaml", "\ud800.yaml", "a\nb.yaml", "*.yaml"):
        judge("solve", name, "-q")
        judge("evaluate", "small.yaml", name, "-q")
    assert not judge.wrong, "\n".join(judge.wrong)


TARGETS = ("no/such/x{}", ".", "small.yaml/x{}", f"{LONG}{{}}", f"{LONG}/x{{}}", "/proc/no/x{}")
OUTPUTS = {
    "solve small.yaml -q --out": ".json",
    "solve small.yaml -q --certificate": ".cert",
    "solve small.yaml -q --plot": ".png",
    "curve small.yaml --from 1 --to 1 -q --csv": ".csv",
    "curve small.yaml --from 1 --to 1 -q --plot": ".svg",
    "show small.yaml -q --plot": ".pdf",
    "show small.yaml --quiet --plot": ".dot",
    "report small.yaml -q --out": ".html",
}


def test_targets_that_cannot_be_written(judge: Judge) -> None:
    for command, suffix in OUTPUTS.items():
        for target in TARGETS:
            judge(*command.split(), target.format(suffix))
    assert not judge.wrong, "\n".join(judge.wrong)
    assert judge.count >= 45


INPUTS = (
    "solve {} -q",
    "solve small.yaml -q --resume {}",
    "solve no.ppddl -q --domain {}",
    "evaluate small.yaml {} -q",
    "check small.yaml {} -q",
    "robust small.yaml {} -q",
    "simulate small.yaml {} -q",
    "why small.yaml {} --at begin -q",
    "report small.yaml {} -q",
    "replan small.yaml {} -q",
    "sweep {} --bound damage=1 -q",
    "sweep small.yaml --bound damage=1 -q --out {}",
)
"""Commands that read a file."""


def test_files_that_cannot_be_read(judge: Judge) -> None:
    Path("folder").mkdir()
    for command in INPUTS:
        for name in (".", "..", "folder/", "", "no/such/file", "small.yaml/x", LONG, "a\0b"):
            judge(*(each.format(name) for each in command.split()))
    assert not judge.wrong, "\n".join(judge.wrong)
    assert judge.count >= 90


def places(tree: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values of a document."""
    if way:
        yield way
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in children:
        yield from places(value, (*way, key))


def with_value(tree: Any, way: tuple[Any, ...], value: Any) -> Any:
    """The document with another value in one place."""
    changed = copy.deepcopy(tree)
    at = changed
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    return changed


def test_every_value_of_a_problem_replaced_by_another_kind(judge: Judge) -> None:
    document = yaml.safe_load(PROBLEM)
    for number, way in enumerate(places(document)):
        changed = with_value(document, way, KINDS[number % len(KINDS)])
        Path("mine.json").write_text(json.dumps(changed).replace("Infinity", "1e999"))
        judge("show", "mine.json", "-q", codes=(0, 2), says="mine.json:")
    assert not judge.wrong, "\n".join(judge.wrong)
    assert judge.count >= 45


def test_every_value_of_a_plan_replaced_by_another_kind(judge: Judge) -> None:
    commands = ("evaluate small.yaml mine.json", "solve small.yaml --resume mine.json")
    assert main(["solve", "small.yaml", "-q", "--out", "plan.json"]) == 0
    document = json.loads(Path("plan.json").read_text())
    del document["trace"][1:]
    for number, way in enumerate(places(document)):
        Path("mine.json").write_text(json.dumps(with_value(document, way, KINDS[number % len(KINDS)])))
        judge(*commands[number % 4 == 3].split(), "-q", codes=(0, 1, 2), says="mine.json")
    for broken in ("", "{", "[]", "null", '"x"', "\x00", "[" * 100_000, "{}", '{"format": "hcssp-plan"}'):
        Path("mine.json").write_text(broken)
        judge(*commands[0].split(), "-q", says="mine.json")
    assert not judge.wrong, "\n".join(judge.wrong)
    assert judge.count >= 40


def test_certificates_that_are_none(judge: Judge) -> None:
    assert main(["solve", "small.yaml", "-q", "--certificate", "proof.cert", "--out", "plan.json"]) == 0
    whole = Path("proof.cert").read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 15)):
        Path("mine.cert").write_bytes(whole[:length])
        judge("check", "small.yaml", "mine.cert", "-q", codes=(1, 2))
        Path("mine.cert").write_bytes(whole[:length] + b"\xff" + whole[length + 1 :])
        judge("evaluate", "small.yaml", "plan.json", "--certificate", "mine.cert", "-q", codes=(1, 2))
    assert not judge.wrong, "\n".join(judge.wrong)
