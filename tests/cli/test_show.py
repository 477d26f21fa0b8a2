from __future__ import annotations

import json
from pathlib import Path

import pytest

from hcssp.cli import main
from hcssp.scenarios import small_building


def test_sizes_and_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "small-building", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    rows = [line.split() for line in printed.out.splitlines()]
    assert "small-building: minimise the expected time" in printed.out
    assert "6 events, 6 choices, 5 activities; flattened: 64 states, 238 actions" in printed.out
    cssp = small_building().activities[0].cssp
    sizes = [cssp.num_states, cssp.num_rows, cssp.transitions.nnz, 1, 1]
    assert ["go-to-door", *map(str, sizes)] in rows
    assert "          0.2: reach door-locked" in printed.out
    assert "constraint damage <= 2: counts damage of go-to-door, " in printed.out


def test_the_same_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "small-building", "--bound", "damage=7", "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["start"], document["end"]) == ("start", "exit")
    assert document["constraints"]["damage"]["at_most"] == 7.0
    assert document["constraints"]["damage"]["counts"]["go-to-E"] == "damage"
    assert document["flattened"] == {"states": 64, "actions": 238}
    (door,) = [choice for choice in document["choices"] if choice["choice"] == "open-door"]
    assert [(o["probability"], o["runs"], o["reaches"]) for o in door["outcomes"]] == [
        (0.8, None, "door-open"),
        (0.2, None, "door-locked"),
    ]
    assert document["activities"]["go-to-E"]["states"] == 14


def test_the_graph_for_graphviz(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "procedure.dot"
    assert main(["show", "small-building", "--plot", str(path), "--quiet"]) == 0
    assert capsys.readouterr().out.endswith(f"The graph is in {path}.\n")
    assert main(["show", "small-building", "--plot", "-", "--quiet"]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert path.read_text().startswith('digraph "small-building" {\n')


@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_graph_as_a_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str, begins: bytes
) -> None:
    path = tmp_path / f"procedure.{suffix}"
    assert main(["show", "small-building", "--plot", str(path), "--quiet"]) == 0
    assert path.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no problem 'nowhere'"),
        (["small-building", "--plot", "x.doc"], "--plot x.doc: matplotlib cannot write .doc"),
        (["small-building", "--plot", "no/such/x.png"], "there is no folder no/such; make it first"),
        (["small-building", "--plot", "no/such/x.dot"], "there is no folder no/such; make it first"),
        (["small-building", "--plot", "no/x.pdf"], "there is no folder no; make it first"),
        (["small-building", "--bound", "x=1"], "there is no constraint 'x'"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["show", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
