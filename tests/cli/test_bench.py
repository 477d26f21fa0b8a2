from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hcssp
from hcssp.cli import main
from hcssp.comparison import measuring
from hcssp.comparison.solvers import Measurement
from hcssp.comparison.suite import suite

BENCH = [
    "bench",
    "--problem",
    "small-building",
    "--method",
    "exact",
    "--method",
    "lp",
    "--peer",
    "none",
    "-q",
]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Solvers that answer at once; the first has a plan that the second says is impossible."""
    asked: list[str] = []

    def measure(pairs: Sequence[Any], limit: float, executor: Any = None) -> Iterator[Measurement]:
        for instance, solver in pairs:
            asked.append(solver)
            about = (instance.name, instance.domain, 64, solver, limit, "optimal")
            if solver == "exact":
                yield Measurement(*about, 5.0, 5.0, 4.0, 0.1, 0.1, 0.5, 0.5)
            else:
                yield Measurement(*about, randomised=6.0 if limit == 1.0 else 4.0, seconds=0.2)

    monkeypatch.setattr(measuring, "measure_all", measure)
    return asked


def test_everything_is_written_and_measured_once(
    measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert main([*BENCH, "--out", str(folder)]) == 0
    assert "All values agree." in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {
        "bench.html",
        "bench.csv",
        "ratios.md",
        "results.jsonl",
    }
    assert measured == ["exact", "lp"]
    assert main([*BENCH, "--out", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["solver"] for each in document["measurements"]] == ["exact", "lp"]
    assert measured == ["exact", "lp"]
    assert all(each["note"].startswith("claimed by a results file") for each in document["measurements"])
    assert main([*BENCH, "--out", str(folder)]) == 0
    told = "2 of 2 measurements are claims of a results file"
    assert told in capsys.readouterr().out
    assert told in (folder / "bench.html").read_text(encoding="utf-8")
    # Numbers that are none are measured again.
    results = folder / "results.jsonl"
    results.write_text(results.read_text().replace('"states": 64', '"states": "many"'))
    assert main([*BENCH, "--out", str(folder)]) == 0
    assert told not in capsys.readouterr().out
    del measured[:2]
    assert main([*BENCH, "--out", str(folder), "--fresh"]) == 0
    assert len(measured) == 4


def test_values_that_disagree_are_an_error(
    measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BENCH, "--out", str(tmp_path), "--time-limit", "1"]) == 1
    told = capsys.readouterr().out
    assert told.startswith("2 disagreements\n")
    assert "randomised optimum: exact says 4 and lp 6" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--peer", "strom"], "did you mean 'storm'"),
        (["--method", "exat"], "did you mean 'exact'"),
        (["--method", "budget-allocation:mod=sharp"], "did you mean 'mode'"),
        (["--method", "budget-allocation:mode"], "write mode=VALUE"),
        (["--problem", "nowhere.yaml"], "there is no such file"),
        (["--problem", "evacuaton"], "did you mean 'evacuation'"),
        (["--suite", "large"], "invalid choice: 'large'"),
        (["--jobs", "2", "--scheduler", "tcp://localhost:8786"], "--jobs and --scheduler: give one of them"),
    ],
)
def test_who_is_not_there_is_not_measured(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--out", str(tmp_path), *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_told_before_anything_is_measured(
    measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed", reason="pip install 'hcssp[dask]'")
    assert main([*BENCH, "--out", str(tmp_path), "--scheduler", "nowhere"]) == 2
    assert "scheduler 'nowhere': there is none" in capsys.readouterr().err
    assert measured == []


def test_without_dask_there_is_no_cluster(
    measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*BENCH, "--out", str(tmp_path), "--scheduler", "tcp://localhost:8786"]) == 2
    assert "pip install 'hcssp[dask]'" in capsys.readouterr().err


def test_own_files_methods_with_options_and_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(pairs: Sequence[Any], limit: float, executor: Any = None) -> Iterator[Measurement]:
        # Budget allocation does not close the gap, and exact must not run out of time.
        for instance, solver in pairs:
            yield replace(
                measuring.measured(instance, solver, limit if solver == "exact" else 0.1), time_limit=limit
            )

    monkeypatch.setattr(measuring, "measure_all", here)
    mine = tmp_path / "mine.yaml"
    assert main(["new", "small-building", "--out", str(mine)]) == 0
    published = "budget-allocation:mode=published"
    asked = [
        "--problem",
        str(mine),
        "--method",
        "exact",
        "--method",
        published,
        "--repeat",
        "3",
        "--time-limit",
        "3600",
    ]
    assert main(["bench", *asked, "--peer", "none", "-q", "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["measurements"]
    assert [(each["instance"].removeprefix(str(mine)), each["solver"]) for each in found] == [
        (repeat, solver) for repeat in ("", " #2", " #3") for solver in ("exact", published)
    ]
    # The same file each time, and its optimum is that of the built-in problem.
    optimum = hcssp.solve(hcssp.small_building()).upper_bound
    best = [each["upper_bound"] for each in found if each["solver"] == "exact"]
    assert best == pytest.approx([optimum] * 3, rel=1e-6)
    assert main(["bench", *asked, "--peer", "none", "-q", "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "quartiles" in told
    row, *_ = (line for line in told.splitlines() if line.startswith(f"  {mine}: exact "))
    assert row.split()[2:5] == ["3", "of", "3"]


def test_repeats_of_a_problem_with_a_seed_differ() -> None:
    first, second = suite("small", ["random"], 2)
    assert second.name == f"{first.name} #2"
    settings = {**first.settings, "seed": 1}
    assert second.problem() == hcssp.scenarios.random_procedure(**settings)
    assert first.problem() != second.problem()


def test_a_problem_file_is_compared_under_other_bounds_and_parameters(
    measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = suite("small", ["small-building"], settings={"locked": 0.5}, bounds={"damage": 3.0})
    assert [each.name for each in asked] == ["small-building (locked 0.5, damage at most 3)"]
    assert asked[0].problem().bounds.tolist() == [3.0]
    options = ["--set", "locked=0.5", "--bound", "damage=3", "--out", str(tmp_path)]
    assert main([*BENCH, *options]) == 0
    assert "damage at most 3" in capsys.readouterr().out
