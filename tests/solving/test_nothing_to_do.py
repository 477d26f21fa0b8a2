"""A procedure that ends where it starts, and activities that start in their goal: there is nothing to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hcssp.cli import main
from hcssp.files.problem_file.loading import load_text
from hcssp.solving.registry import METHODS
from hcssp.solving.solve import solve

HEAD = "format: hcssp-problem\nversion: 1\ncosts: [time, damage]\n"
PROBLEMS = {
    "ends where it starts": "activities: {}\nprocedure: {start: a, end: a, events: {}}\n",
    "a grid's start is its goal": (
        "activities: {go: {grid: {width: 2, height: 2}, start: [1, 1], goal: [1, 1]}}\n"
    ),
    "a table's start is its goal": "activities: {go: {table: {a: {x: {to: z}}}, start: z, goal: z}}\n",
    "one of two starts is the goal": (
        "activities: {go: {table: {a: {x: {to: z, costs: {time: 1}}}}, goal: z,"
        " start: [{at: a, probability: 0.5}, {at: z, probability: 0.5}]}}\n"
    ),
    "skipped in a procedure": (
        "activities: {go: {grid: {width: 2, height: 2}, start: [1, 1], goal: [1, 1]},"
        " walk: {table: {a: {x: {to: z, costs: {time: 2}}}}, start: a, goal: z}}\n"
        "procedure: {start: s, end: e, events: {s: {c: {runs: go, to: m}}, m: {c: {runs: walk, to: e}}}}\n"
    ),
}
COSTS = dict(zip(PROBLEMS, (0.0, 0.0, 0.0, 0.5, 2.0), strict=True))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_that_it_costs_nothing(name: str, method: str) -> None:
    plan = solve(load_text(HEAD + PROBLEMS[name]), METHODS[method].make())
    assert plan.cost(plan.problem.primary_name) == pytest.approx(COSTS[name])
    assert plan.lower_bound == pytest.approx(COSTS[name], abs=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_command_tells_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(HEAD + PROBLEMS[name])
    for command in (
        "solve mine.yaml --out plan.json --certificate proof.cert",
        "evaluate mine.yaml plan.json",
        "simulate mine.yaml plan.json --runs 10",
        "check mine.yaml proof.cert",
        "show mine.yaml --plot -",
        "report mine.yaml plan.json --points 3",
    ):
        assert main([*command.split(), "-q"]) == 0, capsys.readouterr().err
