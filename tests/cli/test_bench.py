from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hcssp.cli import main
from hcssp.comparison import measuring
from hcssp.comparison.measurement import Measurement

BENCH = ["bench", "--domain", "small-building", "--method", "exact", "--method", "lp", "--peer", "none", "-q"]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Contestants that answer at once; the first has a plan that the second says is impossible."""
    asked: list[str] = []

    def measure(pairs: Sequence[Any], limit: float, executor: Any = None) -> Iterator[Measurement]:
        for instance, contestant in pairs:
            asked.append(contestant)
            about = (instance.name, instance.domain, 64, contestant, limit, "optimal")
            if contestant == "exact":
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
    assert [each["contestant"] for each in document["measurements"]] == ["exact", "lp"]
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
    assert "with lots, exact says 4 and lp 6" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--peer", "strom"], "did you mean 'storm'"),
        (["--method", "exat"], "did you mean 'exact'"),
        (["--domain", "evacuaton"], "did you mean 'evacuation'"),
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
